"""Seconds of each category of lost cycles in several runs."""

from __future__ import annotations

from collections.abc import Iterable

from perf_gate.parts.table import WHOLE, PartTimes
from perfcore.data.trace import Trace

__all__ = ["category_times"]


def category_times(first: Iterable[Trace], second: Iterable[Trace]) -> PartTimes:
    """Processor seconds of each category, run by run; traces are taken one at a time.

    Parameters
    ----------
    first, second : iterable of Trace
    """
    return PartTimes("category", list(map(_seconds, first)), list(map(_seconds, second)))


def _seconds(trace: Trace) -> dict[str, float]:
    """Of a run by category, and of all together."""
    import perfcore

    table = perfcore.overheads([trace]).to_frame()
    found = {str(name): float(value) for name, value in zip(table["category"], table["time_s"], strict=True)}
    return {WHOLE: sum(found.values()), **found}
