"""The critical path through host and GPU, and the replay of a run of both at other speeds.

The path is walked back by last arrival (Barford and Crovella, "Critical path analysis of TCP transactions", 2000;
Böhme et al., "Identifying the root causes of wait states", 2010). Causes are the order of a host thread, launches, the
order of a stream, waits of a stream for an event, waits of the host for the GPU, and a full launch queue. Ranks of one
run meet in collectives, which begin when the last rank enters. All times are whole nanoseconds.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.traces.gpu_activity import CALL, COPY, GpuActivity, Sync
from perf_io.traces.gpu_activity import OPERATOR as OPERATOR_KIND
from perf_statistics.kernels import kernel
from perf_traces.messages.communication import earliest_of, latest_of
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError
from perfcore.data.units import readable

GPU, OPERATOR, NO_OPERATOR, RUNTIME_CALL = "GPU", "operators", "no operator", "runtime calls"
GAP, LAUNCH, RETURN, UNKNOWN = "gaps of the GPU", "launch", "return from waiting", "launch not recorded"
LATE = "late start of a rank"
_OF_DEVICE = re.compile(r"(?:Device|Ctx)Synchronize")
_WAITS = re.compile(r"(?:cuda|hip|cu)(?:Device|Ctx|Stream|Event)Synchronize(?:_\w+)?")
_FULL_QUEUE, _NEARLY = 1000, 4  # launched, not begun: the least maximum that is a limit, and what counts as full
_PIECE_END, _WAIT_END, _END, _BEGIN, _LAUNCH, _WAIT, _MEETING = range(7)  # kinds of nodes, as ordered at one moment
_NEVER = np.iinfo(np.int64).min
_MOSTLY_SILENT = 0.9  # share of a run without any event, from which on it is hardly loading of data or the like
_CLOCKS_NS = 50_000  # by which clocks of host and GPU may differ
_EVENT_NS = 10_000  # in which a stream notices that what it waited for has ended
_STREAM_WAIT = "Stream Wait Event"
COLLECTIVES = re.compile(r"nccl|rccl", re.IGNORECASE)
_LEAST_LAUNCH_NS = 1_000  # work that follows sooner was launched while the work before ran


Edges = tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]]  # source, target, delay, whether the host works meanwhile


def silence(activity: GpuActivity) -> str:
    """Say when nothing was recorded, if that is most of the run; else return an empty text."""
    begin, (first, last) = activity.span_ns[0], activity.longest_silence()
    share = (last - first) / max(activity.span_ns[1] - begin, 1)
    if share < _MOSTLY_SILENT:
        return ""
    times = " to ".join(readable(time - begin, "ns") for time in (first, last))
    return (
        f"no event of host or GPU from {times} ({share:.1%} of the run): a clock jumped, or what the host did is not "
        "recorded"
    )


class HostGpuTrace:
    """What pieces of GPU work and calls of the host wait for, in a whole trace.

    A piece whose launch is not recorded was launched before the next one of its stream, and a synchronization awaits it
    if it ends within. Times of a GPU are moved to the clock of the host by the least shift with which no piece begins
    before its launch, or ends after a call that waited for it.
    """

    def __init__(self, activity: GpuActivity) -> None:
        host, pieces = activity.host, activity.pieces
        self.activity, known = activity, pieces["launch"] >= 0
        self.start, self.end = pieces["start"].copy(), pieces["end"].copy()
        self._launch_ns = np.full(len(known), _NEVER)
        self._launch_ns[known] = host["start"][pieces["launch"][known]]
        self._codes, self._first = np.unique(pieces["location"], return_index=True)
        self._of_stream = np.repeat(np.arange(len(self._codes)), np.diff(np.append(self._first, len(known))))
        self._keys: dict[Any, int] = {activity.locations[code]: k for k, code in enumerate(self._codes.tolist())}
        devices = [device for device, _ in self._keys]
        self._devices = {device: k for k, device in enumerate(dict.fromkeys(devices))}
        self._of_device = np.array([self._devices[device] for device in devices])
        rows = np.flatnonzero((host["category"] == CALL) & (host["correlation"] >= 0))[::-1]
        self._calls = dict(zip(host["correlation"][rows].tolist(), rows.tolist(), strict=True))
        syncs = self._synchronizations()
        self._match_launches()
        self.shifts_ns = self._clock_shifts(syncs)
        if self.shifts_ns.any():
            by = self.shifts_ns[self._of_device[self._of_stream]]
            self.start, self.end = self.start + by, self.end + by
            self._match_launches()
        # Of each piece the one of its stream that ends last before it; -1 if it runs beside that, or is the first.
        numbers = np.arange(len(self.end))
        is_last = self._ended.is_highest
        last = np.append(-1, np.maximum.accumulate(np.where(is_last, numbers, -1))[:-1])
        self.before = np.where(is_last & (last >= self._first[self._of_stream]), last, -1)
        # Nsight Systems records that streams wait for events, and which ones only with --cuda-event-trace.
        records = [sync.record for sync in activity.syncs if sync.kind == _STREAM_WAIT]
        self.knows_waits = bool(activity.syncs) and (not records or max(records) >= 0)
        self.other = self._stream_waits() if self.knows_waits else self._inferred_waits()
        self.n_inferred = 0 if self.knows_waits else int((self.other >= 0).sum())
        waits: dict[int, Ints] = {call: np.array([piece]) for call, piece in self._full_queues().items()}
        self.full = np.array(sorted(waits), np.int64)  # launch calls that find their queue full
        self.n_contradicting = int((self._launch_ns > self.start).sum())  # pieces that begin or end when they cannot
        waits |= self._host_waits(syncs)
        self.waiting = np.array(sorted(waits), np.int64)
        at, ended = host["location"][self.waiting], host["end"][self.waiting]
        inner = (at[1:] == at[:-1]) & (host["start"][self.waiting[1:]] < ended[:-1])
        self.waiting = np.append(self.waiting[:1], self.waiting[1:][~inner])
        awaited = [waits[row] for row in self.waiting.tolist()]
        self.n_awaited = np.array([len(each) for each in awaited], np.int64)
        self.awaited = np.concatenate([np.zeros(0, np.int64), *awaited])  # of each wait the piece that ends last first
        self.n_awaited_unlaunched = int((~self.launched[self.awaited]).sum())

    def _match_launches(self) -> None:
        """Pieces whose launch is known, the latest launch up to each in its stream, and the latest end."""
        host, pieces, n = self.activity.host, self.activity.pieces, len(self.start)
        self.launched = (self._launch_ns > _NEVER) & (self._launch_ns <= self.start) & (self._launch_ns < self.end)
        self.launch_ns = np.where(self.launched, self._launch_ns, self.start)
        self.returned_ns = self.start.copy()
        self.returned_ns[self.launched] = host["end"][pieces["launch"][self.launched]]
        self._launches = _StreamOrder(self._of_stream, np.where(self.launched, self.launch_ns, _NEVER))
        self._ended = _StreamOrder(self._of_stream, self.end)
        self._last_launched = np.maximum.accumulate(np.where(self.launched, np.arange(n), -1))

    def _synchronizations(self) -> list[tuple[int, int, Ints, bool]]:
        """Calls that wait for the GPU: row, moment before which what they wait for is launched, streams, if known."""
        activity, host = self.activity, self.activity.host
        named = np.array([bool(_WAITS.fullmatch(name)) for name in activity.names])
        details = {sync.correlation: sync for sync in activity.syncs}
        everywhere, found = np.arange(len(self._codes)), []
        for row in np.flatnonzero((host["category"] == CALL) & named[host["name"]]).tolist():
            sync = details.get(int(host["correlation"][row]), Sync())
            device = sync.device if sync.device is not None else self._used_device(row)
            stream = sync.stream if sync.kind == "Stream Sync" else sync.awaited_stream
            streams = everywhere if device is None else np.flatnonzero(self._of_device == self._devices.get(device, -1))
            name = activity.names[host["name"][row]]
            is_whole = _OF_DEVICE.search(name) is not None
            if not is_whole and stream not in (None, -1):  # Kineto's -1 is an unknown stream
                of_name = [k for k in streams.tolist() if activity.locations[self._codes[k]][1] == stream]
                streams = np.array(of_name, int)
            is_known = is_whole or stream not in (None, -1) or (len(streams) == 1 and "Stream" in name)
            found.append((row, int(host["start"][self._calls.get(sync.record, row)]), streams, is_known))
        return found

    @functools.cached_property
    def _host_order(self) -> tuple[Ints, int, int, Ints, Ints]:
        """Return threads, first moment, duration; ascending numbers of begins, and of the latest ends up to each."""
        host = self.activity.host
        _, thread = np.unique(host["location"], return_inverse=True)
        first = int(host["start"].min())
        length = int(host["end"].max()) - first + 1
        begun, ended = (thread * length + host[name] - first for name in ("start", "end"))
        return np.arange(int(thread[-1]) + 1), first, length, begun, np.maximum.accumulate(ended)

    def host_events(self, begin: int, end: int) -> Ints:
        """Return the host events, in their order, that last within a window."""
        host = self.activity.host
        if not len(host["start"]):
            return np.zeros(0, np.int64)
        threads, zero, length, begun, ended = self._host_order
        low = np.searchsorted(ended, threads * length + min(max(begin - zero, 0), length - 1), "right")
        low = np.maximum(low, np.searchsorted(begun, threads * length))
        high = np.searchsorted(begun, threads * length + min(max(end - zero, 0), length))
        count = np.maximum(high - low, 0)
        rows: Ints = np.repeat(low - np.cumsum(count) + count, count) + np.arange(count.sum())
        return rows[(host["end"][rows] > begin) & (host["end"][rows] > host["start"][rows])]

    @functools.cached_property
    def _devices_of_processes(self) -> dict[Any, set[Any]]:
        """Devices on which each process of the host launched work."""
        activity, pieces = self.activity, self.activity.pieces
        known = pieces["launch"] >= 0
        pairs = np.stack([activity.host["location"][pieces["launch"][known]], pieces["location"][known]])
        used: dict[Any, set[Any]] = {}
        for place, stream in np.unique(pairs, axis=1).T.tolist():
            used.setdefault(activity.locations[place][0], set()).add(activity.locations[stream][0])
        return used

    def _used_device(self, row: int) -> Any:
        """The device of the process that makes a call; None if it uses several, or none is known."""
        used = self._devices_of_processes.get(self.activity.locations[self.activity.host["location"][row]][0], set())
        return next(iter(used or self._devices)) if len(used or self._devices) == 1 else None

    def _latest(self, streams: Ints, before_ns: int, until_ns: int) -> Ints:
        """The last piece of each stream that was launched before a moment; -1 for none.

        Pieces without a recorded launch were launched in time if they end until another moment.
        """
        last, ended = self._launches.before(streams, before_ns), self._ended.before(streams, until_ns + 1)
        first, known = self._first[streams], np.maximum(last, 0)
        last = np.where(self.launched[known], last, np.maximum(np.minimum(last, ended), self._last_launched[known]))
        return np.where(last >= first, last, -1)

    def _clock_shifts(self, syncs: list[tuple[int, int, Ints, bool]]) -> Ints:
        """What to add to times of each device, so that work lies between its launch and the wait for it."""
        host, pieces, n = self.activity.host, self.activity.pieces, len(self._devices)
        of_device = self._of_device[self._of_stream]
        known = self._launch_ns > _NEVER
        late = np.where(known, self._launch_ns - self.start, -_CLOCKS_NS)
        least, most = np.full(n, -_CLOCKS_NS), np.full(n, _CLOCKS_NS)
        near = late <= _CLOCKS_NS
        np.maximum.at(least, of_device[near], late[near])
        for row, before, streams, is_known in syncs:
            if not is_known:
                continue
            end = int(host["end"][row])
            piece = self._latest(streams, before, end + _CLOCKS_NS)
            piece = piece[piece >= 0]
            slack = end - self.end[piece]
            following = np.minimum(piece + 1, len(self.end) - 1)
            queued = (self._of_stream[following] == self._of_stream[piece]) & (following > piece)
            queued &= ~self.launched[following] & (self.start[following] < self.end[piece] + _LEAST_LAUNCH_NS)
            fits = (slack >= -_CLOCKS_NS) & (self.launched[piece] | ~queued)
            np.minimum.at(most, of_device[piece[fits]], slack[fits])
        copies = np.flatnonzero(known & (pieces["kind"] == COPY))
        call = pieces["launch"][copies]
        slack = host["end"][call] - self.end[copies]
        blocks = (host["end"][call] - host["start"][call] > _CLOCKS_NS) & (np.abs(slack) <= _CLOCKS_NS)
        np.minimum.at(most, of_device[copies[blocks]], slack[blocks])
        shift = np.where(least > 0, least, np.where(most < 0, most, 0))
        return np.where((least <= shift) & (shift <= most), shift, 0)

    def _stream_waits(self) -> Ints:
        """Of each piece the one that its stream was told to wait for, -1 for none."""
        begun = self.activity.host["start"]
        other = np.full(len(self.before), -1)
        for sync in self.activity.syncs:
            wait, record = self._calls.get(sync.correlation), self._calls.get(sync.record)
            if wait is None or record is None:
                continue
            device = sync.device if sync.device is not None else self._used_device(wait)
            here, there = (self._keys.get((device, stream), -1) for stream in (sync.stream, sync.awaited_stream))
            if here < 0 or there < 0:
                continue
            target = int(self._launches.before(np.array([here]), int(begun[wait]))[0]) + 1
            if target >= len(other) or self._of_stream[target] != here:
                continue
            source = int(self._latest(np.array([there]), int(begun[record]), int(self.start[target]))[0])
            if source >= 0 and self.end[source] <= self.start[target]:
                known = other[target]
                other[target] = max((known, source), key=lambda k: self.end[k] if k >= 0 else _NEVER)
        return other

    def _inferred_waits(self) -> Ints:
        """Of each piece what its stream evidently waits for if no waits are recorded: -1, or another stream's last end.

        Libraries let a collective wait for computation launched before it, and computation for a collective.
        """
        is_collective = np.array([bool(COLLECTIVES.search(name)) for name in self.activity.names], bool)
        is_collective = is_collective[self.activity.pieces["name"]]
        device, zero = self._of_device[self._of_stream], int(self.start.min(initial=0))
        length = int(self.end.max(initial=0)) - zero + 1
        ended = np.argsort(device * length + self.end - zero, kind="stable")
        ends = (device * length + self.end - zero)[ended]
        last = ended[np.maximum(np.searchsorted(ends, device * length + self.start - zero, "right") - 1, 0)]
        waits = (device[last] == device) & (self._of_stream[last] != self._of_stream) & self.launched
        waits &= (is_collective[last] != is_collective) & self.launched[last] & (self.launch_ns[last] < self.launch_ns)
        waits &= (self.end[last] <= self.start) & (self.start - self.end[last] <= _EVENT_NS)
        least = (self.start - self.launch_ns)[self.launched].min(initial=_CLOCKS_NS)  # what a launch takes
        waits &= self.end[last] > np.maximum(self.returned_ns, self.launch_ns + least + _EVENT_NS)
        return np.where(waits, last, -1)

    def _host_waits(self, syncs: list[tuple[int, int, Ints, bool]]) -> dict[int, Ints]:
        """Calls in which the host waits, and the pieces that each waits for, of which the last to end is the first."""
        host, pieces = self.activity.host, self.activity.pieces
        copies = np.flatnonzero((pieces["kind"] == COPY) & self.launched)
        copies = copies[self.end[copies] <= self.returned_ns[copies]]
        waits = {call: np.array([piece]) for call, piece in
                 zip(pieces["launch"][copies].tolist(), copies.tolist(), strict=True)}  # fmt: skip
        known: dict[int, Ints] = {}  # what each thread has waited for, by stream: only what is new is awaited again
        for row, before, streams, is_known in syncs:
            start, end = int(host["start"][row]), int(host["end"][row])
            piece = self._latest(streams, before, end)
            piece = piece[piece >= 0]
            self.n_contradicting += int((self.end[piece] > end).sum()) if is_known else 0
            piece = piece[self.end[piece] <= end]
            if not len(piece) or self.end[piece].max() < start:
                continue
            piece = piece[np.argsort(-self.end[piece], kind="stable")]
            seen = known.setdefault(int(host["location"][row]), np.full(len(self._codes), -1))
            fresh = seen[self._of_stream[piece]] < piece
            fresh[0] = True
            waits[row] = piece[fresh] if is_known else piece[:1]
            np.maximum.at(seen, self._of_stream[waits[row]], waits[row])
        return waits

    def _full_queues(self) -> dict[int, int]:
        """Launch calls that find the queue of their stream full, and the last piece that ended within each."""
        host, pieces = self.activity.host, self.activity.pieces
        ended = np.argsort(self.end, kind="stable")
        waits: dict[int, int] = {}
        for first, stop in itertools.pairwise([*self._first.tolist(), len(self.end)]):
            if stop - first < _FULL_QUEUE:
                continue
            rows = first + np.argsort(self.launch_ns[first:stop], kind="stable")
            begun = np.sort(self.start[rows])
            queue = np.arange(1, len(rows) + 1) - np.searchsorted(begun, self.launch_ns[rows], "right")
            full = rows[(queue >= max(queue.max() - _NEARLY, _FULL_QUEUE)) & self.launched[rows]]
            call = pieces["launch"][full]
            last = ended[np.searchsorted(self.end[ended], host["end"][call], "right") - 1]
            within = (self.end[last] >= host["start"][call]) & (self.end[last] <= host["end"][call])
            waits |= dict(zip(call[within].tolist(), last[within].tolist(), strict=True))
        return waits


class _StreamOrder:
    """Moments of pieces, each not before those of the earlier ones of its stream, to search in all streams at once."""

    def __init__(self, of_stream: Ints, times: Ints) -> None:
        order = np.argsort(times, kind="stable")
        self._sorted, rank = times[order], np.empty(len(order), np.int64)
        rank[order] = np.searchsorted(self._sorted, self._sorted)
        own = of_stream * (len(order) + 1) + rank
        self._keys: Ints = np.maximum.accumulate(own)
        self.is_highest = own == self._keys  # of each piece, whether none of the earlier ones of its stream is later

    def before(self, streams: Ints, moment: int) -> Ints:
        """The last piece of each stream with a time before a moment; that of a stream before it if there is none."""
        rank = np.searchsorted(self._sorted, moment)
        return np.searchsorted(self._keys, streams * (len(self._sorted) + 1) + rank) - 1


@dataclass(frozen=True)
class CriticalPath:
    """What determines the end of a window: times by class, which add up to it; by kernel, and by host activity."""

    by_class: dict[str, int]
    by_kernel: dict[str, int]
    by_host: dict[str, int]
    by_rank: tuple[int, ...]

    @property
    def host_ns(self) -> int:
        """Time of the host in operators, in calls of the run-time system, and in neither."""
        return sum(self.by_class[name] for name in (OPERATOR, NO_OPERATOR, RUNTIME_CALL))


class HostGpuRun:
    """What host and GPU did between two moments, as nodes and what each waits for.

    Nodes are moments of threads at which a launch, a wait or an event outside of all others begins or ends, and ends of
    pieces. Each waits for up to three others. The window is by default from the first to the last event.
    """

    def __init__(self, trace: HostGpuTrace, window: tuple[int, int] | None = None) -> None:
        self.trace, self.activity, host = trace, trace.activity, trace.activity.host
        recorded = self.activity.pieces["start"] if window else trace.start
        self.begin = window[0] if window else min(int(host["start"].min(initial=-_NEVER - 1)), int(recorded.min()))
        self.end = window[1] if window else max(int(host["end"].max(initial=_NEVER)), int(trace.end.max()))
        if self.end <= self.begin:
            raise DataError(f"{self.activity.source}: the part of the run has no duration")
        # What began before the window is cut, but not what only another clock dates before its first event.
        self._begun = np.where(recorded < self.begin, self.begin, trace.start)
        tops, ended = self._host_segments()
        self._nodes(tops, ended, self.end if window else int(host["end"].max(initial=self.begin)))
        n = len(self._time)
        self._host, self._length, self._cause = (np.zeros(n, np.int64) for _ in range(3))
        edges = [*self._thread_edges(), *self._piece_edges()]
        self.source, self.target, self._fixed, self._in_host = (
            np.concatenate(column) for column in zip(*edges, strict=True))  # fmt: skip

    def _host_segments(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Stretches of each thread with the innermost event of each, -1 for none; where outermost events are."""
        host = self.activity.host
        rows = self.trace.host_events(self.begin, self.end)
        start, end = (np.clip(host[name][rows], self.begin, self.end) for name in ("start", "end"))
        n, on = len(rows), host["location"][rows].astype(np.int32)
        place, time = np.tile(on, 2), np.concatenate([start, end])
        step = np.repeat(np.array([1, -1], np.int8), n)
        order = np.lexsort((np.concatenate([start - end, -start]), step, time, place))  # the outer begins first
        place, time, step, event = place[order], time[order], step[order], np.tile(rows.astype(np.int32), 2)[order]
        del order
        depth, innermost = np.empty((2, 2 * n), np.int32)
        _innermost(step, event, depth, innermost)
        to_next = np.flatnonzero(place[1:] == place[:-1])
        self._seg_place, self._seg_event = place[to_next], innermost[to_next]
        self._seg_start, self._seg_end = time[to_next], time[to_next + 1]
        tops, ended = (step > 0) & (depth == 1), (step < 0) & (depth == 0)
        return (place[tops], time[tops]), (place[ended], time[ended])

    def _nodes(self, tops: tuple[Ints, Ints], ended: tuple[Ints, Ints], last_ns: int) -> None:
        """Nodes in the order of time, of which the first is the begin of the window."""
        host, pieces, trace = self.activity.host, self.activity.pieces, self.trace
        piece = np.flatnonzero((trace.end > self.begin) & (trace.end <= self.end))
        beyond = trace.end[(trace.end > self.end) & (trace.launch_ns < self.end)]
        self.n_beyond, self.beyond_ns = len(beyond), int(beyond.max(initial=self.end)) - self.end
        launch = np.unique(pieces["launch"][piece[trace.launched[piece]]])
        launch = launch[host["start"][launch] >= self.begin]
        start, end = np.maximum(host["start"][trace.waiting], self.begin), host["end"][trace.waiting]
        wait = np.flatnonzero((end > start) & (end <= self.end))
        at = host["location"][trace.waiting[wait]]
        home = ended[0][np.argmax(ended[1])] if len(ended[0]) else -1
        parts: list[tuple[Any, Any, Any, Any]] = [
            (np.full(len(piece), -1), trace.end[piece], _PIECE_END, piece), (at, end[wait], _WAIT_END, wait),
            (*ended, _END, ended[0]), (*tops, _BEGIN, tops[0]), (at, start[wait], _WAIT, wait),
            (host["location"][launch], host["start"][launch], _LAUNCH, launch), ([home], [last_ns], _BEGIN, [-2]),
        ]  # fmt: skip
        rows = ((place, time, np.full(len(time), kind), ref) for place, time, kind, ref in parts)
        place, time, kinds, ref = (np.concatenate(column) for column in zip(*rows, strict=True))
        order = np.lexsort((ref, kinds, time))
        self._place, self._kind, self._ref = (np.append(-3, each[order]) for each in (place, kinds, ref))
        self._time = np.append(self.begin, time[order])
        self._final = int(np.flatnonzero((self._kind == _BEGIN) & (self._ref == -2))[0])
        self._ends, self._of_piece = np.flatnonzero(self._kind == _PIECE_END), np.zeros(len(trace.end), np.int64)
        self._of_piece[self._ref[self._ends]] = self._ends

    def _thread_edges(self) -> list[Edges]:
        """Each moment of a thread follows the one before, and the end of a wait also what is waited for."""
        # After a stretch outside of all events it follows the thread that was in one last, or is in one at the time.
        place, time, kind = self._place, self._time, self._kind
        nodes = np.flatnonzero(kind > _PIECE_END)
        nodes = nodes[np.lexsort((nodes, place[nodes]))]
        before = np.append(0, nodes[:-1])
        before[place[before] != place[nodes]] = 0
        ended = np.append(0, np.flatnonzero(kind == _END))
        last, idle = ended[np.searchsorted(ended, nodes) - 1], (kind[nodes] == _BEGIN) & (time[nodes] > time[before])
        source, on = np.where(idle & (time[last] > time[before]), last, before), place[nodes]
        for code in np.unique(on).tolist():
            mine = np.append(0, nodes[place[nodes] == code])
            within = np.cumsum((kind[mine] == _BEGIN).astype(int) - (kind[mine] == _END))
            k = np.searchsorted(mine, nodes) - 1
            inside = idle & (place[nodes] != code) & (within[k] > 0)
            source, on = np.where(inside, mine[k], source), np.where(inside, code, on)
        self._cause[nodes], self._host[nodes], self._on = source, time[nodes] - time[source], place.copy()
        self._on[nodes] = on
        is_wait = kind[nodes] == _WAIT_END
        waits, entered, trace = nodes[is_wait], before[is_wait], self.trace
        first = np.append(0, np.cumsum(trace.n_awaited))
        last = trace.awaited[first[self._ref[waits]]]
        back = time[waits] - np.maximum(np.maximum(trace.end[last], time[entered]), self.begin)
        self._cause[waits], self._host[waits] = self._of_piece[last], 0
        count = trace.n_awaited[self._ref[waits]]
        before_each = first[self._ref[waits]] - np.append(0, np.cumsum(count))[:-1]
        numbers = np.repeat(before_each, count) + np.arange(count.sum())
        awaited = self._of_piece[trace.awaited[numbers]]
        others, behind = nodes[~is_wait], (~is_wait) & (before > 0) & (before != source)
        edges = [
            (source[~is_wait], others, np.zeros_like(others), np.ones(len(others), bool)),
            (before[behind], nodes[behind], np.zeros(behind.sum(), np.int64), np.zeros(behind.sum(), bool)),
            (entered, waits, back, np.zeros(len(waits), bool)),
            (awaited, np.repeat(waits, count), np.repeat(back, count), np.zeros(len(awaited), bool)),
        ]
        self._first, self._after = np.zeros_like(time), np.zeros_like(time)  # segments from its cause to each node
        for code in np.unique(self._seg_place).tolist():
            first, stop = np.searchsorted(self._seg_place, [code, code + 1])
            mine = np.flatnonzero((self._on == code) & (self._host > 0))
            since, until = time[self._cause[mine]], time[mine]
            self._first[mine] = first + np.searchsorted(self._seg_start[first:stop], since)
            self._after[mine] = first + np.searchsorted(self._seg_end[first:stop], until, "right")
        self._after = np.maximum(self._after, self._first)
        whole = np.append(0, np.cumsum(self._seg_end - self._seg_start))
        self._rest = self._host - (whole[self._after] - whole[self._first])
        return edges

    def _piece_edges(self) -> list[Edges]:
        """Pieces begin after their launch, in the order of their stream, and after what their stream waits for."""
        trace, pieces, nodes, piece = self.trace, self.activity.pieces, self._ends, self._ref[self._ends]
        start, end = trace.start[piece], trace.end
        launch_ns, launched = trace.launch_ns[piece], trace.launched[piece]
        before, other, begin = trace.before[piece], trace.other[piece], self._begun[piece]
        self._length[nodes] = self._time[nodes] - begin
        empty = launched & (launch_ns >= self.begin) & ((before < 0) | (end[before] <= launch_ns))
        delay, least = start - launch_ns, np.zeros_like(start)
        for kind in range(3):
            of_kind = pieces["kind"][piece] == kind
            pool = empty & of_kind if (empty & of_kind).any() else empty
            least[of_kind] = np.minimum(delay[of_kind], delay[pool].min() if pool.any() else 0)
        arrival = np.where(before >= 0, np.minimum(end[before], start), _NEVER)
        later = (other >= 0) & (end[other] > arrival)
        arrival = np.where(later, end[other], arrival)
        self._follows = np.zeros(len(self._time), bool)
        ready = np.minimum(trace.returned_ns[piece], launch_ns + least)
        follows = self._follows[nodes] = (arrival > _NEVER) & ((arrival >= ready) | ~launched)
        of_launch = np.zeros(len(self.activity.host["start"]) + 1, np.int64)
        launches = np.flatnonzero(self._kind == _LAUNCH)
        of_launch[self._ref[launches]] = launches
        launch = np.where(launched, of_launch[pieces["launch"][piece]], 0)
        since, earliest = self._time[launch], np.where(launched, launch_ns + least, self.begin)
        self._cause[nodes] = launch
        fixed, in_host = np.where(follows, np.clip(earliest, since, begin), begin) - since, np.zeros(len(nodes), bool)
        edges = [(launch, nodes, fixed, in_host)]
        for earlier, is_last in ((before, follows & ~later), (other, follows & later)):
            node = np.where(earlier >= 0, self._of_piece[earlier], 0)
            gap = begin - np.where(node > 0, end[earlier], self.begin)
            fixed = np.where(is_last, gap, np.minimum(gap, 0))
            exists = (node > 0) | (fixed > 0)
            edges.append((node[exists], nodes[exists], fixed[exists], in_host[exists]))
            self._cause[nodes] = np.where(is_last, node, self._cause[nodes])
        return edges

    def delays(self, host: float, gpu: float | Floats) -> tuple[Floats, Floats]:
        """Delays of the edges up to the begin of a piece or to a moment; how many times as fast each node is."""
        divisor = np.ones(len(self._time))
        divisor[self._ends] = gpu if isinstance(gpu, float) else gpu[self._ref[self._ends]]
        scaled = np.append(0, np.cumsum(np.floor((self._seg_end - self._seg_start) / host)))
        in_host = scaled[self._after] - scaled[self._first] + np.floor(self._rest / host)
        return self._fixed + np.where(self._in_host, in_host[self.target], 0.0), divisor

    def host_activities(self, nodes: Ints, by_class: Counter[str]) -> Counter[str]:
        """Times of host activities on the stretches that end at nodes; adds their classes."""
        host, names = self.activity.host, self.activity.names
        on_path = np.zeros(len(self._seg_event) + 1, np.int64)
        np.add.at(on_path, self._first[nodes], 1)
        np.add.at(on_path, self._after[nodes], -1)
        within = nodes[(self._on[nodes] != self._place[nodes]) & (self._rest[nodes] != 0)]
        event = np.append(self._seg_event, self._seg_event[self._after[within]])
        time = np.append((self._seg_end - self._seg_start) * np.cumsum(on_path)[:-1], self._rest[within])
        event, time = event[event >= 0], time[event >= 0]
        kinds = np.bincount(host["category"][event], time, 2).astype(np.int64)
        by_class[OPERATOR] += int(kinds[OPERATOR_KIND])
        by_class[RUNTIME_CALL] += int(kinds[CALL])
        by_class[NO_OPERATOR] += int(self._host[nodes].sum() - kinds.sum())
        spent = np.bincount(host["name"][event], time, len(names))
        return Counter({names[k]: int(spent[k]) for k in np.flatnonzero(spent).tolist()})

    def busiest_stream_ns(self, time_ns: Ints) -> int:
        """Work of the stream that has most of it, with pieces that take at most these times."""
        piece = self._ref[self._ends]
        before = self.trace.before[piece]
        overlap = np.where(before >= 0, np.maximum(self.trace.end[before] - self.trace.start[piece], 0), 0)
        work = np.maximum(np.minimum(time_ns[piece], self._length[self._ends]) - overlap, 0)
        return int(np.bincount(self.activity.pieces["location"][piece], work).max(initial=0))


@dataclass(frozen=True, eq=False)
class Meetings:
    """Collectives of a run: of each member its collective, its rank (counted from 0) and its piece there."""

    of: Ints
    rank: Ints
    piece: Ints


@kernel(small=2_000)
def _innermost(step: Any, event: Any, depth: Any, innermost: Any) -> None:  # pragma: no cover
    """Fill how many events last from each moment on, and the one that began last at this depth, -1 for none."""
    stack, count = np.empty(len(step), np.int64), 0
    for row in range(len(step)):
        if step[row] > 0:
            stack[count] = event[row]
        count += step[row]
        depth[row] = count
        innermost[row] = stack[count - 1] if count else -1


@kernel(small=20_000)
def _reach(target: Ints, source: Ints, weight: Floats, reached: Floats) -> None:  # pragma: no cover
    """Set when each node is reached: by the last of its edges, of which those of earlier nodes come first."""
    for edge in range(len(target)):
        reached[target[edge]] = max(reached[target[edge]], reached[source[edge]] + weight[edge])


@kernel(small=20_000)
def _walk_back(causes: Ints, members: Ints, is_start: Any, node: int, chain: Ints) -> int:  # pragma: no cover
    """Fill the nodes that lead to a node, each before its cause, and return how many there are."""
    count = 0
    while not is_start[node]:
        chain[count] = node
        count += 1
        node = causes[members[node]]
    chain[count] = node
    return count + 1


class Replay:
    """One or several ranks of a run, with the collectives in which they meet.

    A collective begins when its last rank enters, and takes as long as that of the rank that is in it for the shortest
    time. How long each rank stays in it beyond that is kept.
    """

    def __init__(
        self, runs: Sequence[HostGpuRun], shifts_ns: Sequence[int] = (0,), met: Meetings | None = None
    ) -> None:
        self.runs, counts = tuple(runs), [len(run._time) for run in runs]
        self.begin_ns = min(run.begin + shift for run, shift in zip(runs, shifts_ns, strict=True))
        self._first, self._run = list(itertools.accumulate(counts, initial=0)), np.repeat(np.arange(len(runs)), counts)
        times = [run._time + shift - self.begin_ns for run, shift in zip(runs, shifts_ns, strict=True)]
        self._time, self._length = np.concatenate(times), np.concatenate([run._length for run in runs])
        self.runtime_ns = max(run.end + shift - self.begin_ns for run, shift in zip(self.runs, shifts_ns, strict=True))
        self._last = [int(end) for first, run in zip(self._first, runs, strict=False)
                      for end in (first + run._final, *(first + run._ends[-1:]))]  # fmt: skip
        begun = self._join(met or Meetings(*(np.zeros(0, np.int64),) * 3))
        source, self._target = (
            np.concatenate([first + getattr(run, name) for first, run in zip(self._first, runs, strict=False)])
            for name in ("source", "target")
        )
        own = np.zeros(len(self._time), np.int64)  # the meeting that a node is a member of
        own[self._member] = self._meeting
        self._is_member = own[self._target] > 0
        time, kinds = np.append(self._time, begun), np.concatenate([run._kind for run in runs])
        order = np.lexsort((np.arange(len(time)), np.append(kinds, np.full(len(begun), _MEETING)), time))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        target = np.append(np.where(self._is_member, own[self._target], self._target), self._member)
        self._order = np.argsort(position[target], kind="stable")
        source = np.append(source, self._meeting)
        self._leading = target[self._order], source[self._order]
        self._n = len(time)

    def _join(self, met: Meetings) -> Ints:
        """Keep collectives that two or more ranks are in at one time; return when each begins."""
        members = zip(met.rank.tolist(), met.piece.tolist(), strict=True)
        nodes = np.array([self._first[rank] + self.runs[rank]._of_piece[k] for rank, k in members], np.int64)
        inside = self._length[nodes] > 0 if len(nodes) else np.zeros(0, bool)
        nodes, of = nodes[inside], met.of[inside]
        n, end, length = int(met.of.max(initial=-1)) + 1, self._time[nodes], self._length[nodes]
        begun, ended, shortest = latest_of(of, end - length, n), earliest_of(of, end, n), earliest_of(of, length, n)
        several = np.bincount(of, minlength=n) > 1
        good = several & (ended > begun)
        self.n_met, self.n_apart = int(good.sum()), int((several & ~good).sum())
        kept = good[of]
        of = of[kept]
        self._member: Ints = nodes[kept]
        self._meeting: Ints = len(self._time) + (np.cumsum(good) - 1)[of]
        self._shortest = shortest[of]
        self._rest = self._time[self._member] - begun[of] - self._shortest
        entered = self._time[self._member] - self._length[self._member]
        last = np.full(n, -1)
        last[of[entered == begun[of]]] = self._member[entered == begun[of]]
        self._last_in: Ints = np.arange(len(self._time))  # of a member of a collective the one that enters last
        self._last_in[self._member] = last[of]
        return begun[good]

    def replay(self, host: float = 1.0, gpu: float | Sequence[Floats] = 1.0) -> Floats:
        """When each node is reached with host stretches and pieces so many times as fast, in whole nanoseconds."""
        gpus: Sequence[float | Floats] = [gpu] * len(self.runs) if isinstance(gpu, float) else gpu
        delays = [run.delays(host, each) for run, each in zip(self.runs, gpus, strict=True)]
        divisor = np.concatenate([each for _, each in delays])
        length = np.floor(self._length / divisor)
        weight = np.concatenate([before for before, _ in delays]) + np.where(self._is_member, 0.0, length[self._target])
        weight = np.append(weight, self._rest + np.floor(self._shortest / divisor[self._member]))
        reached = np.zeros(self._n)
        reached[self._first[:-1]] = self._time[self._first[:-1]]
        # Once it is compiled, that is faster also for the short steps of a long run, and says the same: whole numbers.
        reach = _reach.compiled if "compiled" in vars(_reach) else _reach
        reach(*self._leading, weight[self._order], reached)
        return reached[: len(self._time)]

    def runtime_with(self, host: float = 1.0, gpu: float | Sequence[Floats] = 1.0) -> int:
        """How long the run takes with host and pieces so many times as fast."""
        reached = self.replay(host, gpu)
        finals = [first + run._final for first, run in zip(self._first, self.runs, strict=False)]
        ends = [first + run._ends for first, run in zip(self._first, self.runs, strict=False)]
        return round(float(reached[np.concatenate([finals, *ends])].max()))

    def largest_error_ns(self) -> int:
        """By how much a replay without any change misses the recorded moments."""
        return int(np.abs(self.replay() - self._time).max())

    def path(self) -> CriticalPath:
        """Walk back from the end of the run."""
        runs = self.runs
        causes = np.concatenate([run._cause + first for run, first in zip(runs, self._first, strict=False)])
        kinds, follows, refs = (np.concatenate([getattr(run, name) for run in runs]) for name in
                                ("_kind", "_follows", "_ref"))  # fmt: skip
        node = max(self._last, key=lambda k: (self._time[k], kinds[k] == _BEGIN))
        is_start = np.zeros(len(causes), bool)
        is_start[self._first[:-1]] = True
        nodes = np.empty(len(causes), np.int64)  # the last one is the first of a run
        nodes = nodes[: _walk_back(causes, self._last_in, is_start, node, nodes)]
        start, nodes = int(nodes[-1]), nodes[:-1]
        members = self._last_in[nodes]
        sources, ranks = causes[members], self._run[members]
        spent = self._time[nodes] - self._time[sources]
        by_rank = np.bincount(ranks, spent, len(runs)).astype(np.int64)
        by_rank[self._run[start]] += self._time[start]
        by_class, kernels, by_host = Counter[str](), Counter[str](), Counter[str]()
        by_class[LATE] = int(self._time[start])
        is_piece, is_wait = kinds[nodes] == _PIECE_END, kinds[nodes] == _WAIT_END
        if is_wait.any():
            by_class[RETURN] = int(spent[is_wait].sum())
        for rank, run in enumerate(runs):
            ends = np.flatnonzero(is_piece & (ranks == rank))
            begins = np.maximum(self._time[members[ends]] - self._length[members[ends]], self._time[sources[ends]])
            waited, piece = begins - self._time[sources[ends]], refs[members[ends]]
            launched, after = run.trace.launched[piece], follows[members[ends]]
            for name, chosen in ((GAP, launched & after), (LAUNCH, launched & ~after), (UNKNOWN, ~launched)):
                if chosen.any():
                    by_class[name] += int(waited[chosen].sum())
            names, place, of = np.unique(run.activity.pieces["name"][piece], return_index=True, return_inverse=True)
            times = np.bincount(of, self._time[nodes[ends]] - begins, len(names)).astype(np.int64)
            for k in np.argsort(place).tolist():
                kernels[run.activity.names[names[k]]] += int(times[k])
            of_host = nodes[(ranks == rank) & ~is_piece & ~is_wait] - self._first[rank]
            by_host += run.host_activities(of_host, by_class)
        by_class[GPU] = sum(kernels.values())
        return CriticalPath(
            dict(by_class), dict(kernels.most_common()), dict(by_host.most_common()), tuple(by_rank.tolist())
        )
