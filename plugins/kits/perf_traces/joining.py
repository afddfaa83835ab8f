"""Files of traces to what they are together: one run of several ranks, or runs of one program side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_traces.levels import located
from perf_traces.options import CurveOptions, TraceOptions
from perf_traces.windows import wanted_part
from perfcore.data.trace import Trace
from perfcore.hooks.registry import registry

__all__ = ["join_traces"]

_CURVES = "perfcore.data.curve:UtilizationCurve"


def join_traces(
    parts: Iterable[tuple[Path, Trace]], fields: Sequence[Mapping[str, Any]], name: str, options: TraceOptions
) -> Any:
    """The part of a run that is asked for; of several runs what is registered for joining their curves.

    Parameters
    ----------
    parts : iterable of (Path, Trace)
        At least one.
    fields : sequence of mapping of str to int, float or str
        What the name of each file says.
    name : str
        How the user names the set.
    options : TraceOptions
    """
    if len(fields) == 1 and not fields[0]:
        (_, trace), = parts  # fmt: skip
        return located(wanted_part(trace, options), options.locations)
    curves = ((path, located(wanted_part(trace, options), options.locations).utilization()) for path, trace in parts)
    return registry().load("joins", _CURVES)(curves, fields, name, CurveOptions())
