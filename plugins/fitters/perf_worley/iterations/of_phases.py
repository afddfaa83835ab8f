"""Iterations beside phases: what a phase model keeps of them, and what its table says of each phase."""

from __future__ import annotations

from collections.abc import Sequence

from perf_worley.iterations.iterations import iterations_of
from perf_worley.iterations.presenter import in_a_line
from perf_worley.phase_model import Phase, Repetition
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import readable

__all__ = ["period_text", "repetition"]

_FEWEST = 2.0  # periods of a phase in which iterations are said to be


def repetition(
    curve: UtilizationCurve, trace: Trace | None, busy: Sequence[str] | None, idle: Sequence[str] | None
) -> Repetition | None:
    """The iterations of a run, for its model; None where there are none.

    Parameters
    ----------
    curve : UtilizationCurve
    trace : Trace, optional
        That the curve is of.
    busy, idle : sequence of str, optional
        As for `Trace.utilization`.
    """
    found = iterations_of(curve, trace, busy=busy, idle=idle)
    if found.period is None:
        return None
    return Repetition(
        count=found.count,
        period=found.period,
        spread=found.spread or 0.0,
        start=float(found.starts[0]),
        end=float(found.ends[-1]),
        text=in_a_line(found.count, found.period, found.spread, found.time_unit, found.unusual),
    )


def period_text(phase: Phase, iterations: Repetition, unit: str) -> str:
    """How many iterations lie in a phase, and how long they are; empty where fewer than two do."""
    inside = min(phase.end, iterations.end) - max(phase.start, iterations.start)
    number = inside / iterations.period
    return f"{number:.0f} x {readable(float(f'{iterations.period:.4g}'), unit)}" if number >= _FEWEST else ""
