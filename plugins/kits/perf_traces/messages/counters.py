"""Readings of hardware counters, and what computation took by them: instructions and cycles.

A reading counts what passed since the one before it. What a computing interval took is **the first reading in (start,
end]**: tracers read counters when a call is entered, which ends the interval, and when it is left. Readings of the same
counter at one moment of a location are one. Where every region is read, as in OTF2, it is the sum of all in (start,
end].

Source: the rules with which BSC's tools publish POP's factors; tested with the published ones of EPOCH.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, listing
from perfcore.data.trace import Trace

FACT = "counters"  # under which a trace's facts hold its `Counters`
INSTRUCTIONS, CYCLES = "PAPI_TOT_INS", "PAPI_TOT_CYC"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Readings:
    """What one counter counted since its last reading, by location and time."""

    location: Integers  # sorted
    time_ns: Integers  # increasing within each location
    value: Integers
    every: bool = False  # whether all readings in an interval count, where tracers read counters at every region

    @classmethod
    def of(cls, location: Integers, time_ns: Integers, value: Integers) -> Readings:
        """Readings in any order; of several at one moment of a location the first counts."""
        order = np.lexsort((time_ns, location))
        location, time_ns, value = location[order], time_ns[order], value[order]
        first = np.ones(len(order), bool)
        first[1:] = (location[1:] != location[:-1]) | (time_ns[1:] != time_ns[:-1])
        return cls(location[first], time_ns[first], value[first])

    def within(self, location: Integers, start_ns: Integers, end_ns: Integers, n_locations: int) -> Integers:
        """The first reading in (start, end] of each interval, or the sum of all; -1 where there is none."""
        from perf_traces.messages.search_kernels import last_not_after

        if not len(self.value):
            return np.full(len(location), -1, np.int64)
        first = np.searchsorted(self.location, np.arange(n_locations + 1)).astype(np.int64)
        before = last_not_after(first, self.time_ns, location, start_ns)
        index = np.where(before >= 0, before + 1, first[location])
        has_reading = index < first[location + 1]
        index = np.minimum(index, len(self.value) - 1)
        has_reading &= self.time_ns[index] <= end_ns
        if not self.every:
            return np.where(has_reading, self.value[index], -1)
        until = last_not_after(first, self.time_ns, location, end_ns)
        passed = np.concatenate([[0], np.cumsum(self.value)])
        return np.where(has_reading, passed[until + 1] - passed[index], -1)


@dataclass(frozen=True, eq=False)
class Counters:
    """The counters that a trace has, read when somebody asks for them."""

    locations: tuple[str, ...]  # as in the trace
    names: tuple[str, ...]  # as PAPI names them
    read: Callable[[Sequence[str]], Mapping[str, Readings]]  # from names to the readings of each


def counted_in(trace: Trace, rows: Integers) -> tuple[Integers, Integers] | None:
    """Instructions and cycles of some intervals of a trace; None where it has no such counters."""
    counters = getattr(trace, "facts", {}).get(FACT)
    if counters is None or not {INSTRUCTIONS, CYCLES} <= set(counters.names):
        return None
    if counters.locations != trace.locations:
        raise DataError(f"{trace.source}: counters belong to the run's own locations; read it as it is")
    readings = counters.read((INSTRUCTIONS, CYCLES))
    location = trace.location[rows].astype(np.int64)
    values = []
    for name in (INSTRUCTIONS, CYCLES):
        value = readings[name].within(location, trace.start_ns[rows], trace.end_ns[rows], len(trace.locations))
        _refuse_some_locations(trace, name, location, value)
        values.append(value)
    return (values[0], values[1]) if (values[0] >= 0).any() else None


def _refuse_some_locations(trace: Trace, name: str, location: Integers, value: Integers) -> None:
    computing, counted = np.unique(location), np.unique(location[value >= 0])
    if 0 < len(counted) < len(computing):
        lacking = [trace.locations[k] for k in np.setdiff1d(computing, counted).tolist()]
        raise DataError(
            f"{trace.source}: {name} was read at {len(counted)} of {len(computing)} locations that compute, not at "
            f"{listing(lacking, 4)}"
        )
