"""Counters by function, location and part: what was counted until a reading belongs to where the location then was.

A reading counts what passed since the one before it, and tracers read when a region is entered or left. So all of it
was counted in the state that ends there, and functions sum to the trace's total. Where a reading covers several states,
as samples do, it stands in the last of them, and it is said how much that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_analysis.profile.inclusive import UnitedCalls
from perf_analysis.profile.stretches import Stretches
from perf_traces.messages import bursts as papi
from perf_traces.messages.bursts import Readings
from perf_traces.messages.kernels import last_not_after
from perfcore.base.errors import listing
from perfcore.data.trace import Trace

INSTRUCTIONS, CYCLES = "instructions", "cycles"  # columns
_COLUMNS = {papi.INSTRUCTIONS: INSTRUCTIONS, papi.CYCLES: CYCLES}
_LEAST_SHARE = 0.01  # of a counter, that is said

Integers = npt.NDArray[np.int64]


class Counted(NamedTuple):
    """What the counters of a trace counted, and what a reader of the numbers must know."""

    exclusive: Mapping[str, Integers]  # by counter, in functions themselves and with their callees
    inclusive: Mapping[str, Integers]
    notes: tuple[str, ...]


def counted_by_function(
    trace: Trace,
    function: npt.NDArray[np.int32],
    no_state: int,
    stretches: Stretches,
    shape: tuple[int, ...],
    united: UnitedCalls | None = None,
) -> Counted:
    """What the counters of a trace counted in each function."""
    counters = getattr(trace, "facts", {}).get(papi.FACT)
    if counters is None or not counters.names:
        return Counted({}, {}, ())
    if counters.locations != trace.locations:
        return Counted({}, {}, ("counters are left out: they belong to the run's own locations; read it as it is",))
    order = _by_time(trace)
    first = np.searchsorted(trace.location[order], np.arange(shape[1] + 1)).astype(np.int64)
    intervals = (first, trace.start_ns[order], trace.end_ns[order], function[trace.state[order]].astype(np.int64))
    lasting = np.unique(trace.location[trace.end_ns > trace.start_ns])
    exclusive: dict[str, Integers] = {}
    inclusive: dict[str, Integers] = {}
    notes = []
    for name, readings in counters.read(counters.names).items():
        column = _COLUMNS.get(name, name)
        contained = _within(readings, stretches)
        if not contained.value.any():
            continue
        if len(lacking := np.setdiff1d(lasting, contained.location)):
            notes.append(
                f"{column} are left out: {name} was read at {len(lasting) - len(lacking)} of {len(lasting)} locations, "
                f"not at {listing([trace.locations[location] for location in lacking.tolist()], 4)}"
            )
            continue
        exclusive[column], share = _summed(contained, intervals, no_state, stretches, shape)
        inclusive[column] = (
            exclusive[column] if united is None else united.counted(exclusive[column], _passed(contained, shape[1]))
        )
        if share >= _LEAST_SHARE:
            notes.append(f"{share:.1%} of {column} were counted over several functions, and stand in the last of them")
    return Counted(exclusive, inclusive, tuple(notes))


def _passed(readings: Readings, n_locations: int) -> Callable[[Integers, Integers], Integers]:
    """What was counted of a location until a time, up to what no difference of two times shows."""
    first = np.searchsorted(readings.location, np.arange(n_locations + 1)).astype(np.int64)
    total = np.concatenate([[0], np.cumsum(readings.value)])

    def passed(location: Integers, time_ns: Integers) -> Integers:
        positions = last_not_after(first, readings.time_ns, location, time_ns)
        return np.asarray(total[np.where(positions >= 0, positions + 1, first[location])])

    return passed


def _by_time(trace: Trace) -> Any:
    """The intervals by location and time; a slice where they are in that order."""
    same = trace.location[1:] == trace.location[:-1]
    if (trace.location[1:] >= trace.location[:-1]).all() and (trace.start_ns[1:] >= trace.start_ns[:-1])[same].all():
        return slice(None)
    return np.lexsort((trace.start_ns, trace.location))


def _within(readings: Readings, stretches: Stretches) -> Readings:
    """Those of the run, or of a part of it that was read."""
    begin, end = stretches.edges_ns[[0, -1]]
    inside = (readings.time_ns >= begin) & (readings.time_ns <= end)
    return Readings(readings.location[inside], readings.time_ns[inside], readings.value[inside])


def _summed(
    readings: Readings,
    intervals: tuple[Integers, Integers, Integers, Integers],
    no_state: int,
    stretches: Stretches,
    shape: tuple[int, ...],
) -> tuple[Integers, float]:
    """Sums of one counter, and which share of it was counted over several functions."""
    first, start, end, function = intervals
    # The state that lasts until a reading began before it.
    positions = last_not_after(first, start, readings.location, readings.time_ns - 1)
    inside = (positions >= 0) & (end[positions] >= readings.time_ns)
    functions = np.where(inside, function[positions], no_state)
    stretch = np.searchsorted(stretches.edges_ns, readings.time_ns, "left") - 1
    part = stretches.part[np.clip(stretch, 0, len(stretches.part) - 1)]
    total = np.zeros(shape, np.int64)
    np.add.at(total, (functions, readings.location, part), readings.value)
    before = np.roll(readings.time_ns, 1)
    follows = np.zeros(len(before), bool)
    follows[1:] = readings.location[1:] == readings.location[:-1]
    several = follows & inside & (before < start[positions])
    return total, float(readings.value[several].sum() / max(1, readings.value.sum()))
