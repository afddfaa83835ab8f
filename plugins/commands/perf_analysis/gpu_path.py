"""The critical path through host and GPU, and the replay of a run of both with other speeds.

The path is walked back by last arrival (Barford and Crovella, "Critical path analysis of TCP transactions", 2000;
Böhme et al., "Identifying the root causes of wait states", 2010). Causes are the order of a host thread, launches, the
order of a stream, waits of a stream for an event, waits of the host for the GPU, and a full launch queue.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_io.traces.gpu_activity import CALL, COPY, KERNEL, OPERATOR, GpuActivity
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError

COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
GPU, HOST_OPERATOR, NO_OPERATOR, HOST_CALL, GAP, LAUNCH, RETURN, UNKNOWN = (
    "GPU", "operator", "no operator", "call", "gap", "launch", "return", "launch not recorded",
)  # fmt: skip
_WAITS = re.compile(r"(?:cuda|hip|cu)(?:Device|Ctx|Stream|Event)Synchronize(?:_\w+)?")
_FULL_QUEUE, _NEARLY = 1000, 4  # launched, not begun: the least maximum that is a limit, and what counts as full
_WAIT_END, _END, _BEGIN, _LAUNCH, _WAIT = range(5)  # what happens on a thread, in the order of one moment
_PIECE_END = -1
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class CriticalPath:
    """What determines the end of the window: times by class, by kernel and by host activity, which add up to it."""

    by_class: dict[str, int]
    by_kernel: dict[str, int]
    by_host: dict[str, int]
    n_pieces: int


class HostGpuRun:
    """What host and GPU did between two moments, and what each waited for."""

    def __init__(self, activity: GpuActivity, window: tuple[int, int] | None = None) -> None:
        host, pieces = activity.host, activity.pieces
        self.activity = activity
        times = [(each["start"].min(), each["end"].max()) for each in (host, pieces) if len(each["start"])]
        whole = int(min(first for first, _ in times)), int(max(last for _, last in times))
        self.begin, self.end = whole if window is None else window
        if self.end <= self.begin:
            raise DataError(f"{activity.source}: the window has no duration")
        self._launched = pieces["launch"] >= 0
        row = np.where(self._launched, pieces["launch"], 0)
        known = self._launched & bool(len(host["start"]))
        self._launch_ns = np.where(known, host["start"][row], pieces["start"]) if known.any() else pieces["start"]
        self._returned_ns = np.where(known, host["end"][row], pieces["start"]) if known.any() else pieces["start"]
        self.n_early = int((known & (self._launch_ns > pieces["start"])).sum())
        self._launched = known & (self._launch_ns <= pieces["start"])
        self._predecessors()
        waits = self._waits()
        inside = (host["end"] > self.begin) & (host["start"] < self.end)
        self._rows = np.flatnonzero(inside)
        self._host_segments()
        self._anchors(waits, None if window is None else self.end)
        self._edges()

    def _predecessors(self) -> None:
        """The piece before each on its stream, the one its stream waits for, and which of them it follows if any."""
        pieces = self.activity.pieces
        n, start, end, place = len(pieces["start"]), pieces["start"], pieces["end"], pieces["location"]
        same = np.append(False, place[1:] == place[:-1])
        before = np.where(same, np.arange(n) - 1, -1)
        overlap = same & (end[before] > start)
        self.n_overlapping = int(overlap.sum())
        within = (self._launch_ns >= self.begin) & (end <= self.end)
        empty = self._launched & within & ((before < 0) | (end[before] <= self._launch_ns))
        delay = start - self._launch_ns
        least = np.full(n, delay[empty].min() if empty.any() else 0)
        for kind in np.unique(pieces["kind"][empty]).tolist():
            of_kind = pieces["kind"] == kind
            least[of_kind] = delay[of_kind & empty].min()
        self._least_delay = np.minimum(least, delay)
        other = self._stream_waits()
        arrival = np.where(before >= 0, np.minimum(end[before], start), np.iinfo(np.int64).min)
        later = (other >= 0) & (end[other] > arrival)
        self._before, self._other = before, other
        self._last = np.where(later, other, before)
        arrival = np.where(later, end[other], arrival)
        self._gap = np.where(self._last >= 0, start - arrival, 0)
        ready = np.minimum(self._returned_ns, self._launch_ns + least)
        self._follows = (self._last >= 0) & ((arrival >= ready) | ~self._launched)

    def _stream_waits(self) -> Ints:
        """Of each piece the one that its stream was told to wait for, -1 for none."""
        activity, pieces = self.activity, self.activity.pieces
        other = np.full(len(pieces["start"]), -1)
        calls = self._calls_by_correlation()
        places = {key: code for code, key in enumerate(activity.locations)}
        for _, _, _, args in activity.syncs:
            if "Wait Event" not in str(args.get("cuda_sync_kind", "")):
                continue
            wait, record = (calls.get(args.get(key, -1)) for key in ("correlation", "wait_on_cuda_event_record_corr_id"))
            here, there = (places.get((args.get("device"), args.get(key)), -1) for key in ("stream", "wait_on_stream"))
            if wait is None or record is None:
                continue
            source = self._latest_launched(there, int(activity.host["start"][record]))
            after = np.flatnonzero((pieces["location"] == here) & (self._launch_ns >= activity.host["start"][wait]))
            if source < 0 or not len(after):
                continue
            piece = after[np.argmin(self._launch_ns[after])]
            known = other[piece]
            if pieces["end"][source] <= pieces["start"][piece] and (
                known < 0 or pieces["end"][known] < pieces["end"][source]
            ):
                other[piece] = source
        return other

    def _calls_by_correlation(self) -> dict[int, int]:
        host = self.activity.host
        rows = np.flatnonzero((host["category"] == CALL) & (host["correlation"] >= 0))[::-1]
        return dict(zip(host["correlation"][rows].tolist(), rows.tolist(), strict=True))

    def _latest_launched(self, place: int, before_ns: int) -> int:
        """The last piece of a stream that was launched before a moment."""
        rows, launches, _ = self._by_stream().get(place, (_NONE, _NONE, _NONE))
        k = int(np.searchsorted(launches, before_ns)) - 1
        return int(rows[k]) if k >= 0 else -1

    def _by_stream(self) -> dict[int, tuple[Ints, Ints, Ints]]:
        """Of each stream its pieces in the order of launches, when they were launched, and when pieces began."""
        if not hasattr(self, "_streams"):
            place = self.activity.pieces["location"]
            self._streams = {}
            for code in np.unique(place).tolist():
                rows = np.flatnonzero(place == code)
                begun = self.activity.pieces["start"][rows]
                rows = rows[np.argsort(self._launch_ns[rows], kind="stable")]
                self._streams[code] = rows, self._launch_ns[rows], begun
        return self._streams

    def _waits(self) -> dict[int, int]:
        """Calls in which the host waits, and the piece that each waits for."""
        activity, host, pieces = self.activity, self.activity.host, self.activity.pieces
        start, end = host["start"], host["end"]
        waits = self._full_queues()
        named = np.array([bool(_WAITS.fullmatch(name)) for name in activity.names] or [False])
        details = {args.get("correlation"): args for *_, args in activity.syncs}
        calls = self._calls_by_correlation() if details else {}
        for row in np.flatnonzero((host["category"] == CALL) & named[host["name"]]).tolist():
            args = details.get(int(host["correlation"][row]), {})
            stream = args.get("stream", -1) if args.get("cuda_sync_kind") == "Stream Sync" else -1
            before = int(start[row])
            if "wait_on_stream" in args:
                stream = args["wait_on_stream"]
                record = calls.get(args.get("wait_on_cuda_event_record_corr_id", -1))
                before = before if record is None else int(start[record])
            candidates = [
                piece for place in self._by_stream()
                if activity.locations[place][0] == args.get("device", activity.locations[place][0])
                and stream in (-1, activity.locations[place][1])
                and (piece := self._latest_launched(place, before)) >= 0
                and start[row] <= pieces["end"][piece] <= end[row]
            ]  # fmt: skip
            if candidates:
                waits[row] = max(candidates, key=lambda piece: int(pieces["end"][piece]))
        copies = np.flatnonzero((pieces["kind"] == COPY) & self._launched)
        launch = pieces["launch"][copies]
        blocking = (pieces["end"][copies] <= end[launch]) if len(copies) else np.empty(0, bool)
        return waits | dict(zip(launch[blocking].tolist(), copies[blocking].tolist(), strict=True))

    def _full_queues(self) -> dict[int, int]:
        """Launch calls that find the queue of their stream full, and the last piece that ended within each."""
        host, pieces = self.activity.host, self.activity.pieces
        ended = np.argsort(pieces["end"], kind="stable")
        ends = pieces["end"][ended]
        waits: dict[int, int] = {}
        for rows, launches, begun in self._by_stream().values():
            if len(rows) < _FULL_QUEUE:
                continue
            queue = np.arange(1, len(rows) + 1) - np.searchsorted(begun, launches, "right")
            if queue.max() >= _FULL_QUEUE:
                full = rows[(queue >= queue.max() - _NEARLY) & self._launched[rows]]
                call = pieces["launch"][full]
                k = np.searchsorted(ends, host["end"][call], "right") - 1
                within = (k >= 0) & (ends[k] >= host["start"][call])
                waits |= dict(zip(call[within].tolist(), ended[k[within]].tolist(), strict=True))
        self.full_queue = np.array(sorted(waits), np.int64)
        return waits

    def _host_segments(self) -> None:
        """Stretches of each thread with the innermost event of each, -1 for none."""
        host, rows = self.activity.host, self._rows
        start, end = (np.clip(host[name][rows], self.begin, self.end) for name in ("start", "end"))
        lasting = end > start
        rows, start, end = rows[lasting], start[lasting], end[lasting]
        n = len(rows)
        place = np.tile(host["location"][rows], 2)
        time, begins = np.concatenate([start, end]), np.repeat([1, -1], n)
        inner = np.concatenate([start - end, end - start])  # longer ones begin first and end last
        inner[n:] = -start
        order = np.lexsort((inner, begins, time, place))
        place, time, begins = place[order], time[order], begins[order]
        depth = np.cumsum(begins)
        event = np.tile(rows, 2)[order]
        opened = np.flatnonzero(begins > 0)
        opened = opened[np.lexsort((opened, depth[opened]))]
        key = depth[opened] * (2 * n + 1) + opened
        found = np.searchsorted(key, depth * (2 * n + 1) + np.arange(2 * n), "right") - 1
        innermost = np.where(depth > 0, event[opened[np.maximum(found, 0)]] if n else -1, -1)
        follows = np.append(place[1:] == place[:-1], False) if n else np.empty(0, bool)
        self._seg_place, self._seg_event = place[follows], innermost[follows]
        self._seg_start, self._seg_end = time[follows], time[1:][follows[:-1]] if n else time
        tops, closed = (begins > 0) & (depth == 1), (begins < 0) & (depth == 0)
        self._top = place[tops], time[tops], host["category"][event[tops]]
        self._closed = place[closed], time[closed]

    def _anchors(self, waits: dict[int, int], end_ns: int | None) -> None:
        """Nodes in the order of time: the begin of the window, moments of threads, ends of pieces."""
        host, pieces = self.activity.host, self.activity.pieces
        piece = np.flatnonzero((pieces["end"] > self.begin) & (pieces["end"] <= self.end))
        self.n_beyond = int(((pieces["end"] > self.end) & (self._launch_ns < self.end)).sum())
        launch = np.unique(pieces["launch"][piece[self._launched[piece]]])
        launch = launch[(host["start"][launch] >= self.begin) & (host["start"][launch] < self.end)]
        call = np.array(sorted(waits, key=lambda row: (host["location"][row], host["start"][row])), np.int64)
        call = call[(host["end"][call] > self.begin) & (host["end"][call] <= self.end)]
        call = call[host["end"][call] > np.maximum(host["start"][call], self.begin)]
        if len(call):
            inner = np.append(False, (host["location"][call][1:] == host["location"][call][:-1])
                              & (host["start"][call][1:] < host["end"][call][:-1]))  # fmt: skip
            call = call[~inner]
        home = self._closed[0][np.argmax(self._closed[1])] if len(self._closed[1]) else -1
        last = self._closed[1].max() if end_ns is None and len(self._closed[1]) else self.end
        parts = [
            (np.full(len(piece), -2), pieces["end"][piece], _PIECE_END, piece),
            (*self._top[:2], _BEGIN, np.full(len(self._top[0]), -1)),
            (*self._closed, _END, self._top[2]),
            (host["location"][launch], host["start"][launch], _LAUNCH, launch),
            (host["location"][call], np.maximum(host["start"][call], self.begin), _WAIT, call),
            (host["location"][call], host["end"][call], _WAIT_END, call),
            (np.array([home]), np.array([last]), _BEGIN, np.array([-2])),
        ]
        place, time, phase, ref = (np.concatenate(column) for column in zip(
            *((a, b, np.full(len(a), c), d) for a, b, c, d in parts), strict=True))  # fmt: skip
        order = np.lexsort((ref, phase, time))
        root = np.array([-3])
        self._place, self._phase, self._ref = (np.append(root, each[order]) for each in (place, phase, ref))
        self._time = np.append(self.begin, time[order])
        self._waits_for = waits
        self._final = int(np.flatnonzero((self._phase == _BEGIN) & (self._ref == -2))[0])

    def _edges(self) -> None:
        """What each node waits for, with the part of the time between that is fixed, of the host, and of the GPU."""
        host, pieces = self.activity.host, self.activity.pieces
        n = len(self._time)
        place, time, phase, ref = self._place, self._time, self._phase, self._ref
        of_piece = np.zeros(len(pieces["start"]), np.int64)
        nodes = np.flatnonzero(phase == _PIECE_END)
        of_piece[ref[nodes]] = nodes
        of_launch = np.zeros(len(host["start"]) + 1, np.int64)
        of_launch[ref[phase == _LAUNCH]] = np.flatnonzero(phase == _LAUNCH)
        self._cause = np.zeros(n, np.int64)
        edges: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []

        def add(target: Ints, source: Ints, fixed: Ints, of_host: Ints, piece: Ints) -> None:
            edges.append((target, source, fixed, of_host, piece))

        # Threads: each moment follows the one before; after a stretch outside of all events, the thread that was in one
        # last, which is that of the event that ended last, or one that is within an event at the time.
        moments = np.flatnonzero(phase >= 0)
        thread = moments[np.lexsort((moments, place[moments]))]
        before = np.append(0, thread[:-1])
        before[place[before] != place[thread]] = 0
        begins, waiting = phase[thread] == _BEGIN, phase[thread] == _WAIT_END
        ended = np.flatnonzero(phase == _END)
        k = np.searchsorted(ended, thread) - 1
        last = ended[np.maximum(k, 0)] if len(ended) else np.zeros_like(thread)
        crosses = begins & (k >= 0) & (time[last] > time[before])
        source, on = np.where(crosses, last, before), place[thread]
        for code in np.unique(on).tolist():
            mine = thread[place[thread] == code]
            within = np.cumsum((phase[mine] == _BEGIN).astype(int) - (phase[mine] == _END))
            k = np.searchsorted(mine, thread) - 1
            inside = begins & (place[thread] != code) & (k >= 0) & (time[thread] > time[before])
            inside &= within[np.maximum(k, 0)] > 0
            source, on = np.where(inside, mine[np.maximum(k, 0)], source), np.where(inside, code, on)
            crosses |= inside
            self._split(code, time[thread[inside]])
        self._cause[thread], self._on = source, place.copy()
        self._on[thread] = on
        nothing, none, plain = np.zeros_like(thread), np.full(len(thread), -1), ~waiting
        add(thread[plain], source[plain], nothing[plain], (time[thread] - time[source])[plain], none[plain])
        add(thread[crosses], before[crosses], nothing[crosses], nothing[crosses], none[crosses])
        awaited = np.array([self._waits_for[row] for row in ref[thread[waiting]].tolist()], np.int64)
        back = time[thread[waiting]] - pieces["end"][awaited]
        add(thread[waiting], before[waiting], back, nothing[waiting], none[waiting])
        add(thread[waiting], of_piece[awaited], back, nothing[waiting], none[waiting])
        self._cause[thread[waiting]] = of_piece[awaited]
        # Pieces: launched, in the order of their stream, and after what their stream waits for.
        piece = ref[nodes]
        begin = np.maximum(pieces["start"][piece], self.begin)
        launch = np.where(self._launched[piece], of_launch[pieces["launch"][piece]], 0)
        follows = self._follows[piece]
        moment = np.where(self._launched[piece], self._launch_ns[piece] + self._least_delay[piece], self.begin)
        delay = np.where(follows, np.clip(moment, time[launch], begin) - time[launch], begin - time[launch])
        zero = np.zeros_like(piece)
        add(nodes, launch, delay, zero, piece)
        cause = launch.copy()
        for sources in (self._before, self._other):
            earlier = sources[piece]
            node = np.where(earlier >= 0, of_piece[earlier], 0)
            is_last = follows & (earlier >= 0) & (earlier == self._last[piece])
            cause[is_last] = node[is_last]
            ended = np.where(node > 0, pieces["end"][earlier], self.begin)
            fixed = np.where(is_last | (ended > begin), begin - ended, 0)
            add(nodes[earlier >= 0], node[earlier >= 0], fixed[earlier >= 0], zero[earlier >= 0], piece[earlier >= 0])
        self._cause[nodes] = cause
        target, source, fixed, of_host, piece = (np.concatenate(column) for column in zip(*edges, strict=True))
        order = np.argsort(target, kind="stable")
        order = order[source[order] < target[order]]
        self._target, self._source = target[order].tolist(), source[order].tolist()
        self._fixed, self._of_host, self._piece = fixed[order], of_host[order], piece[order]
        # Segments of a thread between the two moments of an edge, of which each is scaled in whole nanoseconds.
        of = self._on[target[order]]
        self._first = self._segment_at(of, time[source[order]], self._seg_start)
        self._after = np.maximum(self._segment_at(of, time[target[order]] + 1, self._seg_end), self._first)
        length = pieces["end"][self._piece] - np.maximum(pieces["start"][self._piece], self.begin)
        self._length = np.where(self._piece >= 0, length, 0)

    def _split(self, place: int, times: Ints) -> None:
        """Cut segments of a thread at moments at which another thread goes on from there."""
        at = np.unique(times)
        row = self._segment_at(np.full(len(at), place), at + 1, self._seg_end)
        starts, ends = np.insert(self._seg_start, row + 1, at), np.insert(self._seg_end, row, at)
        chosen = np.insert(np.arange(len(self._seg_start)), row, row)
        self._seg_place, self._seg_event = self._seg_place[chosen], self._seg_event[chosen]
        self._seg_start, self._seg_end = starts, ends

    def _segment_at(self, place: Ints, time: Ints, of_segments: Ints) -> Ints:
        """The first segment of each thread that begins, or ends, at a moment or later."""
        found = np.zeros(len(place), np.int64)
        for code in np.unique(self._seg_place).tolist():
            first, last = np.searchsorted(self._seg_place, [code, code + 1])
            mine = place == code
            found[mine] = first + np.searchsorted(of_segments[first:last], time[mine])
        return found

    def replay(self, host: float = 1.0, gpu: float | Floats = 1.0) -> Floats:
        """When each node is reached if times of the host and of pieces are multiplied by these."""
        factor = gpu if isinstance(gpu, float) else gpu[self._piece]
        segment = self._seg_end - self._seg_start
        whole, scaled = (np.append(0, np.cumsum(each)) for each in (segment, np.floor(segment * host)))
        rest = self._of_host - (whole[self._after] - whole[self._first]) * (self._of_host > 0)
        of_host = np.where(self._of_host > 0, scaled[self._after] - scaled[self._first], 0) + np.floor(rest * host)
        weights = (self._fixed + of_host + np.floor(self._length * factor)).tolist()
        reached = [0.0] * len(self._time)
        for target, source, weight in zip(self._target, self._source, weights, strict=True):
            moment = reached[source] + weight
            if moment > reached[target]:
                reached[target] = moment
        return np.array(reached)

    def runtime_ns(self, host: float = 1.0, gpu: float | Floats = 1.0) -> int:
        """How long the window takes then."""
        reached = self.replay(host, gpu)
        ends = self._phase == _PIECE_END
        return round(float(max(reached[self._final], reached[ends].max(initial=0.0))))

    def n_unlike(self) -> int:
        """Moments that a replay without any change does not reach when they were recorded."""
        return int((self.replay() != self._time - self.begin).sum())

    def path(self) -> CriticalPath:
        """Walk back from the end of the window."""
        pieces, time, phase, cause = self.activity.pieces, self._time.tolist(), self._phase.tolist(), self._cause
        causes, places, refs = cause.tolist(), self._on.tolist(), self._ref.tolist()
        ends = np.flatnonzero(self._phase == _PIECE_END)
        node = self._final
        if len(ends) and time[ends[-1]] > time[node]:
            node = int(ends[-1])
        by_class: Counter[str] = Counter()
        on_path: list[int] = []
        stretches: list[tuple[int, int, int]] = []
        while node:
            source = causes[node]
            if phase[node] == _PIECE_END:
                piece = refs[node]
                on_path.append(piece)
                begin = max(int(pieces["start"][piece]), self.begin)
                kind = GAP if self._follows[piece] else LAUNCH if self._launched[piece] else UNKNOWN
                by_class[kind] += begin - min(time[source], begin)
            elif phase[node] == _WAIT_END:
                by_class[RETURN] += time[node] - time[source]
            else:
                stretches.append((places[node], time[source], time[node]))
            node = source
        times = np.minimum(pieces["end"], self.end) - np.maximum(pieces["start"], self.begin)
        kernels: Counter[str] = Counter()
        for piece in on_path:
            kernels[self.activity.names[pieces["name"][piece]]] += int(times[piece])
        by_class[GPU] = sum(kernels.values())
        by_host = self._on_host(stretches, by_class)
        return CriticalPath(dict(by_class), dict(kernels.most_common()), by_host, len(on_path))

    def _on_host(self, stretches: list[tuple[int, int, int]], by_class: Counter[str]) -> dict[str, int]:
        """Times of host activities on stretches of the path; adds their classes."""
        host = self.activity.host
        spent = np.zeros(len(self.activity.names), np.int64)
        table = np.array(stretches, np.int64).reshape(-1, 3)
        kinds = np.zeros(2, np.int64)
        for place in np.unique(table[:, 0]).tolist():
            mine = table[table[:, 0] == place][::-1]
            edges = np.append(mine[:, 1], mine[-1, 2])
            covered = np.append(0, np.cumsum(mine[:, 2] - mine[:, 1]))

            def until(moment: Ints, edges: Ints = edges, covered: Ints = covered, mine: Ints = mine) -> Ints:
                k = np.clip(np.searchsorted(edges, moment, "right") - 1, 0, len(mine) - 1)
                inside: Ints = covered[k] + np.clip(moment - mine[k, 1], 0, mine[k, 2] - mine[k, 1])
                return inside

            chosen = (self._seg_place == place) & (self._seg_event >= 0)
            event = self._seg_event[chosen]
            time = until(self._seg_end[chosen]) - until(self._seg_start[chosen])
            np.add.at(spent, host["name"][event], time)
            np.add.at(kinds, host["category"][event], time)
        by_class[HOST_OPERATOR], by_class[HOST_CALL] = kinds.tolist()
        by_class[NO_OPERATOR] = int((table[:, 2] - table[:, 1]).sum() - kinds.sum())
        ranked = np.argsort(-spent, kind="stable")
        return {self.activity.names[k]: int(spent[k]) for k in ranked.tolist() if spent[k]}


def is_collective(activity: GpuActivity) -> npt.NDArray[np.bool_]:
    """Which pieces are collectives or messages of NCCL or RCCL."""
    named = np.array([bool(COLLECTIVE.search(name)) for name in activity.names])
    return named[activity.pieces["name"]]
