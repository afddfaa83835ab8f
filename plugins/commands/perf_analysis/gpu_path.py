"""The critical path through host and GPU, and the replay of a run of both at other speeds.

The path is walked back by last arrival (Barford and Crovella, "Critical path analysis of TCP transactions", 2000;
Böhme et al., "Identifying the root causes of wait states", 2010). Causes are the order of a host thread, launches, the
order of a stream, waits of a stream for an event, waits of the host for the GPU, and a full launch queue. All times are
whole nanoseconds.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from perf_io.traces.gpu_activity import CALL, COPY, KERNEL, GpuActivity
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError

GPU, OPERATOR, NO_OPERATOR, RUNTIME_CALL = "GPU", "operators", "no operator", "runtime calls"
GAP, LAUNCH, RETURN, UNKNOWN = "gaps of the GPU", "launch", "return from waiting", "launch not recorded"
_WAITS = re.compile(r"(?:cuda|hip|cu)(?:Device|Ctx|Stream|Event)Synchronize(?:_\w+)?")
_FULL_QUEUE, _NEARLY = 1000, 4  # launched, not begun: the least maximum that is a limit, and what counts as full
_PIECE_END, _WAIT_END, _END, _BEGIN, _LAUNCH, _WAIT = range(6)  # kinds of nodes, in the order of one moment
_MOST_AT_ONCE = 20  # nodes of one moment that wait for each other
_NEVER = np.iinfo(np.int64).min


class HostGpuTrace:
    """What pieces of GPU work and calls of the host wait for, in a whole trace."""

    def __init__(self, activity: GpuActivity) -> None:
        host, pieces = activity.host, activity.pieces
        self.activity, n = activity, len(pieces["start"])
        self.launch_ns, self.returned_ns = pieces["start"].copy(), pieces["start"].copy()
        known = np.flatnonzero(pieces["launch"] >= 0)
        self.launch_ns[known] = host["start"][pieces["launch"][known]]
        self.returned_ns[known] = host["end"][pieces["launch"][known]]
        early = self.launch_ns > pieces["start"]
        self.launched = (pieces["launch"] >= 0) & ~early
        self.n_early = int(early.sum())
        same = np.append(False, pieces["location"][1:] == pieces["location"][:-1])
        same &= np.roll(pieces["end"], 1) <= pieces["end"]  # else it runs beside the one before, and does not follow it
        self.before = np.where(same, np.arange(n) - 1, -1)
        self._full: list[tuple[Ints, Ints]] = []  # calls that find a queue full, and whether they launch a kernel
        self.other = self._stream_waits()
        waits = self._waits()
        self.waiting = np.array(sorted(waits), np.int64)
        self.awaited = np.array([waits[row] for row in sorted(waits)], np.int64)

    @functools.cached_property
    def _streams(self) -> dict[int, tuple[Ints, Ints, Ints]]:
        """Of each stream its pieces in the order of launches, their launches, and the sorted begins."""
        place, streams = self.activity.pieces["location"], {}
        for code in np.unique(place).tolist():
            rows = np.flatnonzero(place == code)
            begun = self.activity.pieces["start"][rows]
            rows = rows[np.argsort(self.launch_ns[rows], kind="stable")]
            streams[code] = rows, self.launch_ns[rows], begun
        return streams

    @functools.cached_property
    def _calls(self) -> dict[int, int]:
        """Calls by their correlation number; of several the one that began first."""
        host = self.activity.host
        rows = np.flatnonzero((host["category"] == CALL) & (host["correlation"] >= 0))[::-1]
        return dict(zip(host["correlation"][rows].tolist(), rows.tolist(), strict=True))

    def _latest_launched(self, place: int, before_ns: int) -> int:
        """The last piece of a stream that was launched before a moment, -1 for none."""
        if place not in self._streams:
            return -1
        rows, launches, _ = self._streams[place]
        k = int(np.searchsorted(launches, before_ns)) - 1
        return int(rows[k]) if k >= 0 else -1

    def _stream_waits(self) -> Ints:
        """Of each piece the one that its stream was told to wait for, -1 for none."""
        activity, start, end = self.activity, self.activity.pieces["start"], self.activity.pieces["end"]
        other = np.full(len(start), -1)
        places: dict[Any, int] = {key: code for code, key in enumerate(activity.locations)}
        for _, _, _, args in activity.syncs:
            wait, record = (
                self._calls.get(args.get(key, -1)) for key in ("correlation", "wait_on_cuda_event_record_corr_id")
            )
            here, there = (places.get((args.get("device"), args.get(key)), -1) for key in ("stream", "wait_on_stream"))
            if wait is None or record is None or here not in self._streams:
                continue
            source = self._latest_launched(there, int(activity.host["start"][record]))
            rows, launches, _ = self._streams[here]
            k = int(np.searchsorted(launches, activity.host["start"][wait]))
            if source < 0 or k == len(rows):
                continue
            known = other[rows[k]]
            if end[source] <= start[rows[k]] and (known < 0 or end[known] < end[source]):
                other[rows[k]] = source
        return other

    def _waits(self) -> dict[int, int]:
        """Calls in which the host waits, and the piece that each waits for."""
        activity, host, pieces = self.activity, self.activity.host, self.activity.pieces
        start, end = host["start"], host["end"]
        waits = self._full_queues()
        named = np.array([bool(_WAITS.fullmatch(name)) for name in activity.names])
        details = {args.get("correlation"): args for *_, args in activity.syncs}
        for row in np.flatnonzero((host["category"] == CALL) & named[host["name"]]).tolist():
            args = details.get(int(host["correlation"][row]), {})
            stream = args.get("stream") if args.get("cuda_sync_kind") == "Stream Sync" else args.get("wait_on_stream")
            record = self._calls.get(args.get("wait_on_cuda_event_record_corr_id", -1))
            before = int(start[row if record is None else record])
            candidates = [
                piece for place in self._streams
                if activity.locations[place][0] == args.get("device", activity.locations[place][0])
                and stream in (None, activity.locations[place][1])
                and (piece := self._latest_launched(place, before)) >= 0
                and start[row] <= pieces["end"][piece] <= end[row]
            ]  # fmt: skip
            if candidates:
                waits[row] = max(candidates, key=lambda piece: int(pieces["end"][piece]))
        copies = np.flatnonzero((pieces["kind"] == COPY) & self.launched)
        launch = pieces["launch"][copies]
        blocking = pieces["end"][copies] <= end[launch]
        return waits | dict(zip(launch[blocking].tolist(), copies[blocking].tolist(), strict=True))

    def _full_queues(self) -> dict[int, int]:
        """Launch calls that find the queue of their stream full, and the last piece that ended within each."""
        host, pieces = self.activity.host, self.activity.pieces
        ended = np.argsort(pieces["end"], kind="stable")
        ends = pieces["end"][ended]
        waits: dict[int, int] = {}
        for rows, launches, begun in self._streams.values():
            queue = np.arange(1, len(rows) + 1) - np.searchsorted(begun, launches, "right")
            if queue.max() < _FULL_QUEUE:
                continue
            full = rows[(queue >= queue.max() - _NEARLY) & self.launched[rows]]
            call = pieces["launch"][full]
            k = np.searchsorted(ends, host["end"][call], "right") - 1
            within = (k >= 0) & (ends[k] >= host["start"][call])
            waits |= dict(zip(call[within].tolist(), ended[k[within]].tolist(), strict=True))
            self._full.append((call[within], pieces["kind"][full[within]] == KERNEL))
        return waits

    def full_queue(self, begin: int, end: int) -> dict[str, int]:
        """Calls between two moments that find their queue full, those that launch kernels, and how long they take."""
        start, time = self.activity.host["start"], self.activity.host["end"] - self.activity.host["start"]
        totals = Counter[str]()
        for calls, of_kernel in self._full:
            inside = (start[calls] >= begin) & (start[calls] < end)
            for name, chosen in (("calls", calls[inside]), ("launches", calls[inside & of_kernel])):
                totals[name] += len(chosen)
                totals[f"{name}_ns"] += int(time[chosen].sum())
        return dict(totals) if totals["calls"] else {}


@dataclass(frozen=True)
class CriticalPath:
    """What determines the end of a window: times by class, which add up to it; by kernel, and by host activity."""

    by_class: dict[str, int]
    by_kernel: dict[str, int]
    by_host: dict[str, int]
    n_pieces: int

    @property
    def host_ns(self) -> int:
        """Time of the host in operators, in calls of the run-time system, and in neither."""
        return sum(self.by_class.get(name, 0) for name in (OPERATOR, NO_OPERATOR, RUNTIME_CALL))


class HostGpuRun:
    """What host and GPU did between two moments, as nodes and the edges between them.

    Nodes are moments of threads at which a launch, a wait or an event outside of all others begins or ends, and ends of
    pieces. The window is by default from the first to the last event.
    """

    def __init__(self, trace: HostGpuTrace, window: tuple[int, int] | None = None) -> None:
        self.trace, self.activity = trace, trace.activity
        spans = [
            (e["start"].min(), e["end"].max()) for e in (self.activity.host, self.activity.pieces) if len(e["start"])
        ]
        whole = int(min(first for first, _ in spans)), int(max(last for _, last in spans))
        self.begin, self.end = whole if window is None else window
        if self.end <= self.begin:
            raise DataError(f"{self.activity.source}: the part of the run has no duration")
        self._predecessors()
        tops, ended = self._host_segments()
        self._nodes(tops, ended, None if window is None else self.end)
        self._edges: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        self._cause, self._on = np.zeros(len(self._time), np.int64), self._place.copy()
        self._thread_edges()
        self._piece_edges()
        self._sort_edges()

    @property
    def runtime_ns(self) -> int:
        """Length of the window."""
        return self.end - self.begin

    def _predecessors(self) -> None:
        """Which pieces wait for the one before them, and which for their launch."""
        trace, pieces = self.trace, self.activity.pieces
        start, end = pieces["start"], pieces["end"]
        before, other = trace.before, trace.other
        delay = start - trace.launch_ns
        empty = trace.launched & (trace.launch_ns >= self.begin) & (end <= self.end)
        empty &= (before < 0) | (end[before] <= trace.launch_ns)
        least = np.full(len(start), delay[empty].min() if empty.any() else 0)
        for kind in np.unique(pieces["kind"][empty]).tolist():
            of_kind = pieces["kind"] == kind
            least[of_kind] = delay[of_kind & empty].min()
        self._least_delay = np.minimum(least, delay)
        arrival = np.where(before >= 0, np.minimum(end[before], start), _NEVER)
        later = (other >= 0) & (end[other] > arrival)
        self._last = np.where(later, other, before)
        arrival = np.where(later, end[other], arrival)
        ready = np.minimum(trace.returned_ns, trace.launch_ns + least)
        self._follows = (self._last >= 0) & ((arrival >= ready) | ~trace.launched)

    def _host_segments(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Stretches of each thread with the innermost event of each, -1 for none; where outermost events are."""
        host = self.activity.host
        rows = np.flatnonzero((host["end"] > self.begin) & (host["start"] < self.end) & (host["end"] > host["start"]))
        start, end = (np.clip(host[name][rows], self.begin, self.end) for name in ("start", "end"))
        n = len(rows)
        place, time, step = np.tile(host["location"][rows], 2), np.concatenate([start, end]), np.repeat([1, -1], n)
        order = np.lexsort((np.concatenate([start - end, -start]), step, time, place))  # the outer begins first
        place, time, step, event = place[order], time[order], step[order], np.tile(rows, 2)[order]
        depth = np.cumsum(step)
        opened = np.flatnonzero(step > 0)
        opened = opened[np.lexsort((opened, depth[opened]))]
        latest = np.searchsorted(depth[opened] * (2 * n + 1) + opened, depth * (2 * n + 1) + np.arange(2 * n), "right")
        innermost = np.where(depth > 0, event[opened[np.maximum(latest - 1, 0)]], -1)
        to_next = np.flatnonzero(place[1:] == place[:-1])
        self._seg_place, self._seg_event = place[to_next], innermost[to_next]
        self._seg_start, self._seg_end = time[to_next], time[to_next + 1]
        tops, ended = (step > 0) & (depth == 1), (step < 0) & (depth == 0)
        return (place[tops], time[tops]), (place[ended], time[ended])

    def _nodes(self, tops: tuple[Ints, Ints], ended: tuple[Ints, Ints], end_ns: int | None) -> None:
        """Nodes in the order of time, of which the first is the begin of the window."""
        host, pieces, trace = self.activity.host, self.activity.pieces, self.trace
        self.pieces = np.flatnonzero((pieces["end"] > self.begin) & (pieces["end"] <= self.end))
        beyond = np.flatnonzero((pieces["end"] > self.end) & (trace.launch_ns < self.end))
        self.n_beyond = len(beyond)
        self.beyond_ns = int(pieces["end"][beyond].max(initial=self.end)) - self.end
        launch = np.unique(pieces["launch"][self.pieces[trace.launched[self.pieces]]])
        launch = launch[(host["start"][launch] >= self.begin) & (host["start"][launch] < self.end)]
        start, end = np.maximum(host["start"][trace.waiting], self.begin), host["end"][trace.waiting]
        wait = np.flatnonzero((end > start) & (end <= self.end))
        wait = wait[np.lexsort((start[wait], host["location"][trace.waiting[wait]]))]
        of = host["location"][trace.waiting[wait]]
        inner = np.append(False, (of[1:] == of[:-1]) & (start[wait][1:] < end[wait][:-1])) if len(wait) else wait > 0
        wait, of = wait[~inner], of[~inner]
        last = int(host["end"].max(initial=self.begin)) if end_ns is None else end_ns
        home = ended[0][np.argmax(ended[1])] if len(ended[0]) else -1
        parts = [
            (np.full(len(self.pieces), -1), pieces["end"][self.pieces], _PIECE_END, self.pieces),
            (of, end[wait], _WAIT_END, wait),
            (*ended, _END, ended[0]),
            (*tops, _BEGIN, tops[0]),
            (host["location"][launch], host["start"][launch], _LAUNCH, launch),
            (of, start[wait], _WAIT, wait),
            (np.array([home]), np.array([last]), _BEGIN, np.array([-2])),
        ]
        columns = zip(*((place, time, np.full(len(time), kind), ref) for place, time, kind, ref in parts), strict=True)
        place, time, kinds, ref = (np.concatenate(column) for column in columns)
        order = np.lexsort((ref, kinds, time))
        self._place, self._kind, self._ref = (np.append(-3, each[order]) for each in (place, kinds, ref))
        self._time = np.append(self.begin, time[order])
        self._final = int(np.flatnonzero((self._kind == _BEGIN) & (self._ref == -2))[0])
        self._of_piece = np.zeros(len(pieces["start"]), np.int64)
        self._piece_nodes = np.flatnonzero(self._kind == _PIECE_END)
        self._of_piece[self._ref[self._piece_nodes]] = self._piece_nodes

    def _thread_edges(self) -> None:
        """Each moment of a thread follows the one before.

        After a stretch outside of all events it follows the thread that was in one last: that of the event which ended
        last, or a thread that is within an event at the time.
        """
        place, time, kind, trace = self._place, self._time, self._kind, self.trace
        nodes = np.flatnonzero(kind > _PIECE_END)
        nodes = nodes[np.lexsort((nodes, place[nodes]))]
        before = np.append(0, nodes[:-1])
        before[place[before] != place[nodes]] = 0
        begins, waits = kind[nodes] == _BEGIN, kind[nodes] == _WAIT_END
        ended = np.append(0, np.flatnonzero(kind == _END))
        last = ended[np.searchsorted(ended, nodes) - 1]
        crosses = begins & (time[last] > time[before])
        source, on = np.where(crosses, last, before), place[nodes]
        for code in np.unique(on).tolist():
            mine = np.append(0, nodes[place[nodes] == code])
            within = np.cumsum((kind[mine] == _BEGIN).astype(int) - (kind[mine] == _END))
            k = np.searchsorted(mine, nodes) - 1
            inside = begins & (place[nodes] != code) & (time[nodes] > time[before]) & (within[k] > 0)
            source, on, crosses = np.where(inside, mine[k], source), np.where(inside, code, on), crosses | inside
        self._cause[nodes], self._on[nodes] = source, on
        runs, waits = nodes[~waits], nodes[waits]
        self._add(runs, source[~np.isin(nodes, waits)], of_host=True)
        self._add(nodes[crosses], before[crosses])
        awaited = trace.awaited[self._ref[waits]]
        ended_ns = np.maximum(self.activity.pieces["end"][awaited], self.begin)
        self._add(waits, before[np.isin(nodes, waits)], time[waits] - ended_ns)
        self._add(waits, self._of_piece[awaited], time[waits] - ended_ns)
        self._cause[waits] = self._of_piece[awaited]

    def _piece_edges(self) -> None:
        """Pieces begin after their launch, in the order of their stream, and after what their stream waits for."""
        trace, pieces, time, nodes = self.trace, self.activity.pieces, self._time, self._piece_nodes
        piece = self._ref[nodes]
        begin = np.maximum(pieces["start"][piece], self.begin)
        of_launch = np.zeros(len(self.activity.host["start"]) + 1, np.int64)
        launches = np.flatnonzero(self._kind == _LAUNCH)
        of_launch[self._ref[launches]] = launches
        launched, follows = trace.launched[piece], self._follows[piece]
        launch = np.where(launched, of_launch[pieces["launch"][piece]], 0)
        earliest = np.where(launched, trace.launch_ns[piece] + self._least_delay[piece], self.begin)
        self._add(nodes, launch, np.where(follows, np.clip(earliest, time[launch], begin), begin) - time[launch], piece)
        cause = launch
        for sources in (trace.before, trace.other):
            earlier = sources[piece]
            node = np.where(earlier >= 0, self._of_piece[earlier], 0)
            is_last = follows & (earlier >= 0) & (earlier == self._last[piece])
            cause = np.where(is_last, node, cause)
            ended = np.where(node > 0, pieces["end"][earlier], self.begin)
            fixed = np.where(is_last | (ended > begin), begin - ended, 0)
            known = earlier >= 0
            self._add(nodes[known], node[known], fixed[known], piece[known])
        self._cause[nodes] = cause

    def _add(
        self, target: Ints, source: Ints, fixed: Ints | None = None, piece: Ints | None = None, *, of_host: bool = False
    ) -> None:
        nothing = np.zeros(len(target), np.int64)
        host = self._time[target] - self._time[source] if of_host else nothing
        self._edges.append(
            (target, source, nothing if fixed is None else fixed, host, nothing - 1 if piece is None else piece)
        )

    def _sort_edges(self) -> None:
        """Edges in the order of the nodes that they lead to; of the host with the segments within each."""
        target, source, fixed, host, piece = (np.concatenate(column) for column in zip(*self._edges, strict=True))
        rank = np.arange(len(self._time))
        same = self._time[source] == self._time[target]
        if (same & (source > target)).any():  # at one moment causes come first, whatever their kind
            level = rank.copy()
            for _ in range(_MOST_AT_ONCE):
                np.maximum.at(level, target[same], level[source[same]] + 1)
            rank[np.lexsort((level, self._time))] = np.arange(len(rank))
        order = np.argsort(rank[target], kind="stable")
        order = order[rank[source[order]] < rank[target[order]]]
        target, source, self._fixed = target[order], source[order], fixed[order]
        self._host, self._piece = host[order], piece[order]
        self._target, self._source = target.tolist(), source.tolist()
        starts, pieces = self.activity.pieces["start"], self.activity.pieces["end"]
        length = pieces[self._piece] - np.maximum(starts[self._piece], self.begin)
        self._length = np.where(self._piece >= 0, length, 0)
        on, timed = self._on[target], self._host > 0
        self._first, self._after = np.zeros_like(target), np.zeros_like(target)
        for code in np.unique(self._seg_place).tolist():
            first, last = np.searchsorted(self._seg_place, [code, code + 1])
            mine = timed & (on == code)
            since, until = self._time[source[mine]], self._time[target[mine]]
            self._first[mine] = first + np.searchsorted(self._seg_start[first:last], since)
            self._after[mine] = first + np.searchsorted(self._seg_end[first:last], until, "right")
        self._after = np.maximum(self._after, self._first)

    def replay(self, host: float = 1.0, gpu: float | Floats = 1.0) -> Floats:
        """When each node is reached, counted from the begin, with host and pieces so many times as fast."""
        divisor = gpu if isinstance(gpu, float) else gpu[self._piece]
        segment = self._seg_end - self._seg_start
        whole, scaled = (np.append(0, np.cumsum(each)) for each in (segment, np.floor(segment / host)))
        rest = self._host - (whole[self._after] - whole[self._first])
        of_host = scaled[self._after] - scaled[self._first] + np.floor(rest / host)
        weights = (self._fixed + of_host + np.floor(self._length / divisor)).tolist()
        reached = [0.0] * len(self._time)
        for target, source, weight in zip(self._target, self._source, weights, strict=True):
            moment = reached[source] + weight
            if moment > reached[target]:  # noqa: PLR1730 - much faster than max
                reached[target] = moment
        return np.array(reached)

    def runtime_with(self, host: float = 1.0, gpu: float | Floats = 1.0) -> int:
        """How long the window takes with host and pieces so many times as fast."""
        reached = self.replay(host, gpu)
        return round(float(max(reached[self._final], reached[self._piece_nodes].max(initial=0.0))))

    def largest_error_ns(self) -> int:
        """By how much a replay without any change misses the recorded moments."""
        return int(np.abs(self.replay() - (self._time - self.begin)).max())

    def path(self) -> CriticalPath:
        """Walk back from the end of the window."""
        starts, names, of = self.activity.pieces["start"], self.activity.names, self.activity.pieces["name"]
        time, kinds, causes, on = (each.tolist() for each in (self._time, self._kind, self._cause, self._on))
        node = self._final
        if len(self._piece_nodes) and time[self._piece_nodes[-1]] > time[node]:
            node = int(self._piece_nodes[-1])
        by_class, kernels, n_pieces = Counter[str](), Counter[str](), 0
        stretches: list[tuple[int, int, int]] = []
        while node:
            source = causes[node]
            if kinds[node] == _PIECE_END:
                piece, n_pieces = int(self._ref[node]), n_pieces + 1
                begin = max(int(starts[piece]), self.begin)
                kind = UNKNOWN if not self.trace.launched[piece] else GAP if self._follows[piece] else LAUNCH
                by_class[kind] += begin - min(time[source], begin)
                kernels[names[of[piece]]] += time[node] - max(begin, min(time[source], time[node]))
            elif kinds[node] == _WAIT_END:
                by_class[RETURN] += time[node] - time[source]
            else:
                stretches.append((on[node], time[source], time[node]))
            node = source
        by_class[GPU] = sum(kernels.values())
        by_host = self._on_host(stretches, by_class)
        return CriticalPath(dict(by_class), dict(kernels.most_common()), by_host, n_pieces)

    def _on_host(self, stretches: list[tuple[int, int, int]], by_class: Counter[str]) -> dict[str, int]:
        """Times of host activities on stretches of the path; adds their classes."""
        host = self.activity.host
        spent, kinds = np.zeros(len(self.activity.names), np.int64), np.zeros(2, np.int64)
        table = np.array(stretches[::-1], np.int64).reshape(-1, 3)
        for place in np.unique(table[:, 0]).tolist():
            first, last = table[table[:, 0] == place, 1:].T
            covered = np.append(0, np.cumsum(last - first))
            chosen = (self._seg_place == place) & (self._seg_event >= 0)
            until = []
            for moment in (self._seg_start[chosen], self._seg_end[chosen]):
                k = np.maximum(np.searchsorted(first, moment, "right") - 1, 0)
                until.append(covered[k] + np.clip(moment - first[k], 0, (last - first)[k]))
            event = self._seg_event[chosen]
            np.add.at(spent, host["name"][event], until[1] - until[0])
            np.add.at(kinds, host["category"][event], until[1] - until[0])
        by_class[OPERATOR], by_class[RUNTIME_CALL] = kinds.tolist()
        by_class[NO_OPERATOR] = int((table[:, 2] - table[:, 1]).sum() - kinds.sum())
        return {self.activity.names[k]: int(spent[k]) for k in np.argsort(-spent, kind="stable").tolist() if spent[k]}

    def busiest_stream_ns(self, divisor: float | Floats = 1.0) -> int:
        """Work of the stream that has most of it."""
        pieces = self.activity.pieces
        time = np.floor((pieces["end"] - np.maximum(pieces["start"], self.begin)) / divisor)[self.pieces]
        return int(np.bincount(pieces["location"][self.pieces], time).max(initial=0))
