"""Stretches of time: what intervals cover together, leave free, and share; each disjoint and in order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perf_analysis.categories import GPU, STANDARD, STREAMS, CategorySet, StateClasses, read_categories
from perf_traces.joined_trace import run_of
from perf_traces.levels import LocatedTrace, level_names, parts_of
from perf_traces.messages.communication import Communication
from perfcore.base import grouped
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace

Stretches = tuple[Ints, Ints]

WAITING_CATEGORY = "waiting for other ranks"  # in the set for GPUs
_ACTIVITIES = {"computing": ("computing",), "communicating": ("communicating", "waiting"), "copying": ("transferring",)}
_HIDEABLE = ("communicating", "copying")
# Classes in which a thread has nothing to do with the others', and those in which it is with them or at work.
_ABSENT = ("idle", "not_running")
_OUTSIDE = ("computing", "synchronizing", "contending", "runtime", "idle")


def union(start: Ints, end: Ints) -> Stretches:
    """The disjoint stretches that intervals cover together."""
    lasting = end > start
    start, end = start[lasting], end[lasting]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.append(True, start[1:] > end[:-1])[: len(start)]
    return start[begins], end[np.append(begins[1:], True)[: len(start)]]


def complement(stretches: Stretches, first: int, last: int) -> Stretches:
    """What disjoint stretches leave free from ``first`` to ``last``."""
    start, end = (np.clip(each, first, last) for each in stretches)
    begins, ends = np.append(first, end), np.append(start, last)
    lasting = ends > begins
    return begins[lasting], ends[lasting]


def overlap(one: Stretches, other: Stretches, first: int, last: int) -> Stretches:
    """What two sets of disjoint stretches share from ``first`` to ``last``."""
    free = (complement(each, first, last) for each in (one, other))
    return complement(union(*map(np.concatenate, zip(*free, strict=True))), first, last)


def measure(stretches: Stretches, starts: Ints, ends: Ints) -> Ints:
    """How much of each window disjoint stretches cover (n_windows,)."""
    first, last = stretches
    total = np.concatenate([[0], np.cumsum(last - first)])

    def until(times: Ints) -> Ints:
        positions = np.searchsorted(first, times, side="right")
        sums: Ints = total[positions]
        inside = positions > 0
        sums[inside] -= np.maximum(last[positions[inside] - 1] - times[inside], 0)
        return sums

    return until(ends) - until(starts)


@dataclass(frozen=True)
class DeviceTimes:
    """What the streams of one GPU do, in nanoseconds."""

    device: str
    n_streams: int
    span_ns: int  # from the first beginning to the last end of what its streams do
    computing_ns: int  # while at least one stream does so
    communicating_ns: int
    hidden_communication_ns: int  # while a stream communicates, or copies, and another one computes
    copying_ns: int
    hidden_copies_ns: int
    idle_ns: int  # of the run, while no stream does anything of these


@dataclass(frozen=True)
class Unions:
    """When any stream of one GPU is in the states of a group: disjoint stretches, in order."""

    device: str
    n_streams: int
    stretches: dict[str, tuple[Ints, Ints]]

    def within(self, group: str, starts: Ints, ends: Ints) -> Ints:
        """How much of each window is covered (n_windows,)."""
        return measure(self.stretches[group], starts, ends)

    def hidden(self, activity: str, starts: Ints, ends: Ints) -> Ints:
        """How much of ``communicating`` or ``copying`` runs in each window while another stream computes."""
        both = self.within(f"computing or {activity}", starts, ends)
        return self.within("computing", starts, ends) + self.within(activity, starts, ends) - both


def devices_of(trace: Trace) -> tuple[str, ...] | None:
    """The location that each recorded stream belongs to; None unless all that was recorded are streams of GPUs."""
    recorded = trace.recorded if isinstance(trace, LocatedTrace) else trace
    names = level_names(recorded, "device")
    if not all(names):
        return None
    return tuple(trace.locations[place] for place in trace.place.tolist()) if isinstance(trace, LocatedTrace) else names


def unions_of(trace: Trace, names: StateClasses) -> tuple[Unions, ...]:
    """What runs at once on each GPU; empty unless all that was recorded are streams."""
    devices = devices_of(trace)
    if devices is None:
        return ()
    recorded = trace.recorded if isinstance(trace, LocatedTrace) else trace
    kinds = np.array([names.classes[code] for code in names.class_of[:-1]])
    masks = {name: np.isin(kinds, group)[: len(recorded.states)] for name, group in _ACTIVITIES.items()}
    for name in ("communicating", "copying"):
        masks[f"computing or {name}"] = masks["computing"] | masks[name]
    masks["any"] = masks["computing"] | masks["communicating"] | masks["copying"]
    pieces: dict[str, list[dict[str, tuple[Ints, Ints]]]] = {device: [] for device in devices}
    for first, part in parts_of(recorded):
        owners = devices[first : first + len(part.locations)]
        for device in dict.fromkeys(owners):
            on_device = np.array([each == device for each in owners])[part.location]
            start, end, state = part.start_ns[on_device], part.end_ns[on_device], part.state[on_device]
            pieces[device].append({name: union(start[mask[state]], end[mask[state]]) for name, mask in masks.items()})
    unions = []
    for device, parts in pieces.items():
        stretches = parts[0]
        if len(parts) > 1:  # of several ranks
            both = ((name, zip(*(part[name] for part in parts), strict=True)) for name in masks)
            stretches = {name: union(*map(np.concatenate, columns)) for name, columns in both}
        unions.append(Unions(device, devices.count(device), stretches))
    return tuple(unions)


def device_times(unions: Sequence[Unions], run: tuple[int, int]) -> tuple[DeviceTimes, ...]:
    """What each GPU does in the run, from its start to its end in nanoseconds."""
    starts, ends = np.array([run[0]]), np.array([run[1]])
    times = []
    for each in unions:
        first, last = each.stretches["any"]
        total = {name: int(each.within(name, starts, ends)[0]) for name in each.stretches}
        span = int(last[-1] - first[0]) if len(first) else 0
        communication, copies = (int(each.hidden(name, starts, ends)[0]) for name in _HIDEABLE)
        times.append(DeviceTimes(
            each.device, each.n_streams, span, total["computing"], total["communicating"], communication,
            total["copying"], copies, run[1] - run[0] - total["any"],
        ))  # fmt: skip
    return tuple(times)


@dataclass(frozen=True)
class MarkerTimes:
    """What lies within the markers of one name."""

    name: str
    count: int
    elapsed_ns: int  # of the run within them; where they overlap, once
    cycles_ns: tuple[int, ...]  # of all locations, by category
    hidden_communication_ns: int = 0  # of all GPUs, next to computing
    hidden_copies_ns: int = 0

    @classmethod
    def sum(cls, parts: Sequence[MarkerTimes]) -> MarkerTimes:
        """Those of several GPUs as one."""
        hidden = {name: sum(getattr(part, name) for part in parts) for name in
                  ("hidden_communication_ns", "hidden_copies_ns")}  # fmt: skip
        cycles = tuple(map(sum, zip(*(part.cycles_ns for part in parts), strict=True)))
        return replace(parts[0], cycles_ns=cycles, **hidden)


@dataclass(frozen=True)
class MarkedStretches:
    """The run, cut wherever a marker begins or ends."""

    edges_ns: Ints  # on the clock of the trace
    windows: dict[str, tuple[int, Ints, Ints]]

    @classmethod
    def of(cls, trace: Trace) -> MarkedStretches:
        """Those of a trace's markers, as far as they lie within the run."""
        start, end = run_of(trace)
        inside = ((name, (max(first, start), min(last, end))) for name, first, last in trace.markers)
        intervals = grouped((name, (first, last)) for name, (first, last) in inside if last > first)
        windows = {name: (len(each), *union(*np.array(each, dtype=np.int64).T)) for name, each in intervals.items()}
        edges = np.unique(np.concatenate([[start, end], *(part for _, *parts in windows.values() for part in parts)]))
        return cls(edges, windows)

    def times(self, pieces_ns: Ints, unions: Sequence[Unions]) -> tuple[MarkerTimes, ...]:
        """What lies within markers, by name, the longest first."""
        until = np.concatenate([np.zeros((len(pieces_ns), 1), np.int64), pieces_ns.cumsum(axis=1)], axis=1)
        marker_times = []
        for name, (count, starts, ends) in self.windows.items():
            first, last = np.searchsorted(self.edges_ns, starts), np.searchsorted(self.edges_ns, ends)
            cycles = tuple((until[:, last] - until[:, first]).sum(axis=1).tolist())
            hidden = (int(sum(each.hidden(activity, starts, ends).sum() for each in unions)) for activity in _HIDEABLE)
            marker_times.append(MarkerTimes(name, count, int((ends - starts).sum()), cycles, *hidden))
        return tuple(sorted(marker_times, key=lambda each: -each.elapsed_ns))


@dataclass(frozen=True)
class ThreadTimes:
    """One process, times in nanoseconds."""

    process: str
    n_threads: int
    computing_ns: int  # of all its threads
    outside_ns: int  # while the process is outside of calls
    regions_ns: int  # of these, in parallel regions
    longest_ns: int  # in each parallel region the computing of the thread that computes longest, summed
    serial_ns: int  # computing outside of calls and of parallel regions


def threads_beside(trace: Trace, communication: Communication | None) -> tuple[str, ...] | None:
    """The process of each location, where a run that calls MPI has several threads in some; else None."""
    if communication is None or not len(communication.calls) or any(level_names(trace, "device")):
        return None
    processes = level_names(trace, "process")
    return processes if all(processes) and len(set(processes)) < len(processes) else None


def thread_times(
    trace: Trace, communication: Communication, processes: Sequence[str], states: Mapping[str, Sequence[str]]
) -> tuple[ThreadTimes, ...]:
    """Times of each process."""
    by_state = {name: kind for kind, names in states.items() for name in names}
    kinds = np.array([by_state[name] for name in trace.states], object)
    masks = {"computing": kinds == "computing"}
    masks |= {"elsewhere": ~np.isin(kinds, _OUTSIDE), "present": ~np.isin(kinds, _ABSENT)}
    order = np.argsort(trace.location, kind="stable")
    first = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1))
    rows = [order[a:b] for a, b in itertools.pairwise(first)]

    def stretches(location: int, mask: str) -> Stretches:
        selected = rows[location][masks[mask][trace.state[rows[location]]]]
        return union(trace.start_ns[selected], trace.end_ns[selected])

    calls = communication.first_call
    times = []
    for process, threads in grouped(zip(processes, range(len(processes)), strict=True)).items():
        caller = next((each for each in threads if calls[each + 1] > calls[each]), threads[0])
        own = slice(calls[caller], calls[caller + 1])
        own_calls = communication.calls.enter_ns[own], communication.calls.leave_ns[own]
        inside = _joined(own_calls, stretches(caller, "elsewhere"))
        computing = [stretches(each, "computing") for each in threads]
        of_caller = computing[threads.index(caller)]
        others = [stretches(each, "present") for each in threads if each != caller]
        outside = _joined(complement(inside, *trace.span_ns), of_caller)  # computing is outside
        regions = overlap(outside, _joined(*others), *trace.span_ns)
        by_thread = np.array([measure(each, *regions) for each in computing])
        serial = _lasting(of_caller) - int(by_thread[threads.index(caller)].sum())
        times.append(ThreadTimes(
            process, len(threads), sum(map(_lasting, computing)), _lasting(outside), _lasting(regions),
            int(by_thread.max(axis=0).sum()), serial,
        ))  # fmt: skip
    return tuple(times)


def _joined(*several: Stretches) -> Stretches:
    """Return what several sets of stretches cover together."""
    nothing = np.zeros(0, np.int64)
    return union(*map(np.concatenate, zip((nothing, nothing), *several, strict=True)))


def _lasting(stretches: Stretches) -> int:
    return int((stretches[1] - stretches[0]).sum())


def usual_categories(trace: Trace) -> CategorySet:
    """The set that is taken where none is named: one for GPUs, one for their streams, else the standard."""
    devices = devices_of(trace)
    if devices is None:
        return read_categories(STANDARD)
    # A summary keeps GPUs, and none of their streams.
    return read_categories(GPU if isinstance(trace, LocatedTrace) or devices == trace.locations else STREAMS)
