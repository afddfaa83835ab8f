"""Computation between calls: its time by state, its classes, its hardware counters, and POP's factors of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication, communication_of, once_more, sums_of
from perf_traces.messages.kernels import last_not_after
from perfcore.base.arrays import Booleans, Ints
from perfcore.base.errors import DataError, listing
from perfcore.data.trace import Trace

FACT = "counters"  # under which a trace's facts hold its `Counters`
INSTRUCTIONS, CYCLES = "PAPI_TOT_INS", "PAPI_TOT_CYC"

BEGIN, END, WITHIN = "(begin)", "(end)", "(within calls)"
# Of computing time, in which no counter was read; a factor can be wrong by as much, and is printed with four digits.
_MOST_UNCOUNTED = 0.01
Definition = Literal["strict", "bsc"]
IMBALANCE, SERIALISATION, TRANSFER, COMMUNICATION = "load imbalance", "serialisation", "transfer", "communication"
REGIONS, SCHEDULING, SERIAL = "OpenMP load imbalance", "OpenMP scheduling", "OpenMP serialisation"
RANKS, MPI = "MPI load imbalance", "MPI "
COPIES, ORCHESTRATION = "GPU communication", "GPU orchestration"

OF_OPENMP = (REGIONS, SCHEDULING, SERIAL)
_OF_NETWORK = (SERIALISATION, TRANSFER, COMMUNICATION)
OF_MPI = (RANKS, *(MPI + name for name in _OF_NETWORK))
LOST = frozenset({IMBALANCE, *_OF_NETWORK, *OF_OPENMP, *OF_MPI, COPIES, ORCHESTRATION})

# Factors that are the product of those of several steps.
_PRODUCTS = {
    "communication": (SERIALISATION, TRANSFER, COPIES, ORCHESTRATION),
    "MPI parallel": OF_MPI,
    "MPI communication": OF_MPI[1:],
    "OpenMP parallel": OF_OPENMP,
}
# Names, in the order of tables: a product stands before its factors.
FACTORS = (
    "global", "parallel", "load balance", "communication", "serialisation", "transfer",
    "MPI parallel", "MPI load balance", "MPI communication", "MPI serialisation", "MPI transfer",
    "OpenMP parallel", "OpenMP serialisation", "OpenMP load balance", "OpenMP scheduling",
    "GPU communication", "GPU orchestration",
    "computation scalability", "instruction scalability", "IPC scalability", "frequency scalability",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Readings:
    """What one counter counted since its last reading, by location and time."""

    location: Ints  # sorted
    time_ns: Ints  # increasing within each location
    value: Ints
    every: bool = False  # whether all readings in an interval count, where tracers read counters at every region

    @classmethod
    def of(cls, location: Ints, time_ns: Ints, value: Ints) -> Readings:
        """Return readings in any order; of several at one moment of a location the first counts."""
        order = np.lexsort((time_ns, location))
        location, time_ns, value = location[order], time_ns[order], value[order]
        first = np.ones(len(order), bool)
        first[1:] = (location[1:] != location[:-1]) | (time_ns[1:] != time_ns[:-1])
        return cls(location[first], time_ns[first], value[first])

    def within(self, location: Ints, start_ns: Ints, end_ns: Ints, n_locations: int) -> Ints:
        """Return the first reading in (start, end] of each interval, or the sum of all; -1 if there is none."""
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

    def at(self, chosen: Ints) -> Counters:
        """Those of some locations, in rising order."""

        def read(names: Sequence[str]) -> Mapping[str, Readings]:
            found = {}
            for name, all_of in self.read(names).items():
                rows = np.isin(all_of.location, chosen)
                location = np.searchsorted(chosen, all_of.location[rows]).astype(np.int64)
                found[name] = replace(all_of, location=location, time_ns=all_of.time_ns[rows], value=all_of.value[rows])
            return found

        return Counters(tuple(self.locations[k] for k in chosen.tolist()), self.names, read)


def carry_counters(
    trace: Trace, names: Sequence[str], source: str, read: Callable[[Sequence[str]], Mapping[str, Readings]]
) -> None:
    """Let a trace carry its counters, read when they are asked for; of a pipe at once, since it is gone later."""

    def read_later(chosen: Sequence[str]) -> Mapping[str, Readings]:
        with once_more(source):
            return read(chosen)

    if not Path(source).is_file():
        readings = read_later(names)
        trace.facts[FACT] = Counters(trace.locations, tuple(names), lambda chosen: {n: readings[n] for n in chosen})
    else:
        trace.facts[FACT] = Counters(trace.locations, tuple(names), read_later)


def counted_in(trace: Trace, rows: Ints) -> tuple[Ints, Ints] | None:
    """Return instructions and cycles of some intervals of a trace; None if it has no such counters."""
    counters = trace.facts.get(FACT)
    if counters is None or not {INSTRUCTIONS, CYCLES} <= set(counters.names):
        return None
    if counters.locations != trace.locations:
        raise DataError(f"{trace.source}: counters belong to the run's own locations; read it as it is")
    readings = counters.read((INSTRUCTIONS, CYCLES))
    location = trace.location[rows].astype(np.int64)
    values = []
    for name in (INSTRUCTIONS, CYCLES):
        value = readings[name].within(location, trace.start_ns[rows], trace.end_ns[rows], len(trace.locations))
        computing, counted = np.unique(location), np.unique(location[value >= 0])
        if 0 < len(counted) < len(computing):
            lacking = [trace.locations[k] for k in np.setdiff1d(computing, counted).tolist()]
            raise DataError(
                f"{trace.source}: {name} was read at {len(counted)} of {len(computing)} locations that compute, not at "
                f"{listing(lacking, 4)}"
            )
        values.append(value)
    return (values[0], values[1]) if (values[0] >= 0).any() else None


@dataclass(frozen=True, eq=False)
class BurstClasses:
    """Computing of a run by class of burst; every computing nanosecond is in one class."""

    names: tuple[str, ...]
    time_ns: Ints
    instructions: Ints | None = None  # of all locations; None where they were not counted
    cycles: Ints | None = None
    notes: tuple[str, ...] = ()  # why they are not known

    @property
    def total_ns(self) -> Mapping[str, int]:
        return dict(zip(self.names, self.time_ns.sum(axis=1).tolist(), strict=True))

    @property
    def calls(self) -> frozenset[str]:
        """Calls between which the bursts are."""
        ends = {end for name in self.names for end in name.split(" -> ")}
        return frozenset(ends - {BEGIN, END, WITHIN})

    def counted(self, name: str) -> tuple[int, int] | None:
        """Return instructions and cycles of a class; None if they were not counted."""
        if self.instructions is None or self.cycles is None or name not in self.names:
            return None
        index = self.names.index(name)
        return int(self.instructions[index]), int(self.cycles[index])

    def to_dict(self) -> list[dict[str, Any]]:
        rows = []
        for name, times in zip(self.names, self.time_ns, strict=True):
            instructions, cycles = self.counted(name) or (None, None)
            spent = {"time_ns": int(times.sum()), "longest_ns": int(times.max())}
            rows.append({"burst": name, **spent, "instructions": instructions, "cycles": cycles})
        return rows


def burst_classes(trace: Trace) -> BurstClasses | None:
    """Return computing of a run by class of burst; None if the trace has neither calls nor counters."""
    communication = communication_of(trace)
    if communication is not None and communication.not_replayed:  # not all that a location waits for is recorded
        communication = None
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)])[trace.state]
    rows = np.flatnonzero(busy & (trace.end_ns > trace.start_ns))
    counted, notes = None, []
    try:
        counted = counted_in(trace, rows)
    except DataError as error:
        notes.append(f"instructions, IPC and frequency are not known: {error}")
    if communication is None and counted is None:
        return None
    names, class_of = _classes(trace, communication, rows)
    length = trace.end_ns[rows] - trace.start_ns[rows]
    time_ns = sums_of((class_of, trace.location[rows]), length, (len(names), len(trace.locations)))
    if counted is None:
        return BurstClasses(names, time_ns, notes=tuple(notes))
    uncounted = int(length[(counted[0] < 0) | (counted[1] < 0)].sum())
    if uncounted > _MOST_UNCOUNTED * length.sum():
        share = uncounted / int(length.sum())
        notes.append(
            f"instructions, IPC and frequency are not known: {trace.source} has no reading of {INSTRUCTIONS} and "
            f"{CYCLES} for {share:.2%} of its computing time"
        )
        return BurstClasses(names, time_ns, notes=tuple(notes))
    instructions, cycles = (sums_of(class_of, np.maximum(each, 0), len(names)) for each in counted)
    return BurstClasses(names, time_ns, instructions, cycles)


def _classes(trace: Trace, communication: Communication | None, rows: Ints) -> tuple[tuple[str, ...], Ints]:
    if communication is None:
        return (f"{BEGIN} -> {END}",), np.zeros(len(rows), np.int64)
    calls, first = communication.calls, communication.first_call
    location, start = trace.location[rows].astype(np.int64), trace.start_ns[rows]
    last = last_not_after(first, calls.leave_ns, location, start)  # the last call that was left
    following = np.where(last >= 0, last + 1, first[location])
    has_next = following < first[location + 1]
    operation = np.append(calls.operation.astype(np.int64), -1)
    before = np.where(last >= 0, operation[last], -1)
    after = np.where(has_next, operation[np.minimum(following, len(calls))], -1)
    inside = has_next & (np.append(calls.enter_ns, 0)[np.minimum(following, len(calls))] < start)
    n_kinds = len(calls.operations) + 1
    code = np.where(inside, n_kinds * n_kinds, (before + 1) * n_kinds + after + 1)
    codes, class_of = np.unique(code, return_inverse=True)
    begins, ends = (BEGIN, *calls.operations), (END, *calls.operations)
    names = tuple(
        WITHIN if each == n_kinds * n_kinds else f"{begins[each // n_kinds]} -> {ends[each % n_kinds]}"
        for each in codes.tolist()
    )
    return names, class_of.reshape(-1).astype(np.int64)


class BurstTimes:
    """Times of bursts by state; a process is in a state while any of its threads is."""

    def __init__(self, trace: Trace, communication: Communication, processes: Sequence[str] | None = None) -> None:
        place = _callers(trace.locations, communication.locations, processes)[trace.location]
        order = np.lexsort((trace.start_ns, place))
        self._place, self._state = place[order], trace.state[order]
        self._start, self._end = trace.start_ns[order], trace.end_ns[order]
        calls = communication.calls.location.astype(np.int64)
        self.location = np.concatenate([calls, np.arange(len(communication.locations))])
        self.start_ns, self.end_ns = communication.bursts()

    def within(self, states: Booleans, bursts: npt.NDArray[np.integer] | None = None) -> Ints:
        """Return how long each burst is spent in the states of a mask, in nanoseconds."""
        chosen = slice(None) if bursts is None else bursts
        location = np.ascontiguousarray(self.location[chosen])
        rows = states[self._state]
        if not rows.any():
            return np.zeros(len(location), np.int64)
        place, start, end = self._place[rows], self._start[rows], self._end[rows]
        first = np.searchsorted(place, np.arange(self.location.max() + 2)).astype(np.int64)
        # Each begins where those before it at its location have ended: threads of a process overlap.
        apart = (place - place[0]) * (int(end.max()) - int(start.min()) + 1)
        ended = np.maximum.accumulate(end + apart)
        start[1:] = np.maximum(start[1:], (ended[:-1] - apart[1:]))
        length = np.maximum(end - start, 0)
        passed = np.concatenate([[0], np.cumsum(length)])

        def until(when: Ints) -> Ints:
            index = last_not_after(first, start, location, when)
            has_started = index >= 0
            index = np.where(has_started, index, np.minimum(first[location], len(length)))
            last = np.minimum(index, len(length) - 1)
            part = np.minimum(np.clip(when - start[last], 0, None), length[last])
            return np.asarray(passed[index] - passed[first[location]] + np.where(has_started, part, 0))

        return until(np.ascontiguousarray(self.end_ns[chosen])) - until(np.ascontiguousarray(self.start_ns[chosen]))


def _callers(names: Sequence[str], kept: Sequence[str], processes: Sequence[str] | None) -> Ints:
    """Return at which of the kept locations each location of a trace counts: its own, or that of its process."""
    place = {name: k for k, name in enumerate(kept)}
    if processes is None:
        return np.array([place[name] for name in names], np.int64)
    pairs = list(zip(names, processes, strict=True))
    of_process = {process: place[name] for name, process in reversed(pairs) if name in place}
    return np.array([place.get(name, of_process[process]) for name, process in pairs], np.int64)


def refuse_different_programs(called: Sequence[tuple[str, frozenset[str]]], noun: str = "call") -> None:
    """Runs that have calls, or functions, must share some of them with the first that has any."""
    having = [(source, calls) for source, calls in called if calls]
    for source, calls in having[1:]:
        first, its_calls = having[0]
        if not calls & its_calls:
            raise DataError(
                f"{first} and {source} have no {noun} in common, such as {min(its_calls)} and {min(calls)}; runs that "
                "are compared must be of one program"
            )


@dataclass(frozen=True)
class PopFactors:
    """Factors of one run, each in [0, 1]."""

    definition: Definition
    runtime_ns: int  # of the run, and on an ideal network
    ideal_ns: int
    load_balance: float  # mean over longest computation of a location
    serialisation: float  # times ``transfer``: longest computation over the run's time
    transfer: float
    contradictions: int  # calls that left before what the rules say they waited for, of how many
    calls: int


def pop_factors(
    trace: Trace, definition: Definition = "strict", processes: Sequence[str] | None = None
) -> PopFactors | None:
    """Return factors of a run from its trace alone; None if the trace has no calls of a communication library."""
    communication = communication_of(trace)
    if communication is None or not len(communication.calls):
        return None
    if processes is not None:
        communication = without_helpers(communication, processes)
    from perf_traces.messages.replay import Replay, bsc_rules

    is_strict = definition == "strict"
    replay = Replay(communication, None if is_strict else bsc_rules(communication), keeps_startup=is_strict)
    elapsed = trace.span_ns[1] - trace.span_ns[0]
    silent = elapsed - replay.runtime_ns()  # after the last record; no network makes it shorter
    ideal = replay.runtime_ns(0) + silent
    useful = computing_ns(trace)
    longest = int(useful.max())
    if not longest:
        return None
    outside = longest
    if definition == "bsc" and processes is None:  # the longest time that a location is outside of calls
        location = np.concatenate([communication.calls.location, np.arange(len(communication.locations))])
        outside = int(sums_of(location, replay.burst_ns, len(communication.locations)).max())
    serialisation = outside / ideal
    return PopFactors(
        definition, elapsed, ideal, float(useful.mean() / longest), serialisation, longest / elapsed / serialisation,
        replay.n_contradictions, len(communication.calls),
    )  # fmt: skip


def computing_ns(trace: Trace) -> Ints:
    """Return how long each location of a trace computes."""
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)])[trace.state]
    return sums_of(trace.location[busy], trace.end_ns[busy] - trace.start_ns[busy], len(trace.locations))


def without_helpers(communication: Communication, processes: Sequence[str]) -> Communication:
    """Return the calls without the threads that never call in processes with one that does."""
    calling = np.diff(communication.first_call) > 0
    with_caller = {process for process, calls in zip(processes, calling.tolist(), strict=True) if calls}
    kept = calling | np.array([process not in with_caller for process in processes])
    return communication.at(np.flatnonzero(kept))


def factors_of(computing: Any, lost: Mapping[str, Any], products: bool = True) -> dict[str, Any]:
    """Return parallel efficiency and its factors, in the order of tables."""
    limits, reached = {}, computing
    for name, time in lost.items():
        limits[name] = reached, reached + time
        reached = reached + time
    shares = {name.replace("imbalance", "balance"): inner / outer for name, (inner, outer) in limits.items()}
    if products:
        shares["parallel"] = computing / reached
        for product, members in _PRODUCTS.items():
            member_limits = [limits[name] for name in lost if name in members]
            if member_limits:
                shares[product] = member_limits[0][0] / member_limits[-1][1]
    return {name: shares[name] for name in FACTORS if name in shares}
