"""GPU work of a trace (Kineto, Nsight Systems, rocprofv3, XPlane), its launches, and the operators around these.

A piece is a kernel, copy or memset, its launch the runtime call of the same correlation number, and its owner the
innermost operator (``cpu_op``) that encloses the launch on its thread. Times are whole nanoseconds.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from perf_io.traces.chrome import ChromeReader
from perf_io.traces.converted import by_process
from perf_io.traces.gpu_tables import GpuTableReader
from perf_io.traces.intervals import UNLAUNCHED, clip_at_next, clock_jumps, first_calls, launch_of
from perf_io.traces.json_array import ArrayPieces, TraceEvent
from perf_io.traces.nsight import NsightReader
from perf_io.traces.rocprofv3 import RocprofReader
from perf_io.traces.trace_events import CALLS, LibraryEvents, Numbering, TimeError, correlation_of, times_of
from perf_io.traces.xplane import XplaneReader
from perf_statistics.kernels import kernel
from perf_traces.messages.communication import RankCalls
from perfcore.base import grouped, progress
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, InputError
from perfcore.data.units import readable
from perfcore.reading.source import Source

OPERATOR, CALL, PIECE, MARKER, SYNC, MEMORY = range(6)
_MEMORY = "[memory]"  # instants that have the name
BEFORE, NO_OPERATOR = "(launched before the trace)", "(no operator)"
WAITING, _AFTERWARDS = "waiting for the host", "after its last work"
KERNEL, COPY, MEMSET = range(3)
_PIECES = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": MEMSET, "memcpy": COPY, "memset": MEMSET,
           "mtia_ccp_events": KERNEL}  # fmt: skip
_OTHER, _SURE, _LETTERS = -1, 0.5, 60
_KINDS = {"cpu_op": OPERATOR, "user_annotation": MARKER, "cuda_sync": SYNC, **dict.fromkeys(CALLS, CALL),
          **dict.fromkeys(_PIECES, PIECE)}  # fmt: skip
_DIMS = re.compile(rb'"Input Dims"\s*:\s*([^"}]*)')
_TYPES = re.compile(rb'"Input type"\s*:\s*(\[[^\]]*\])')
_EVENTS = msgspec.json.Decoder(list[TraceEvent])
_CORRELATED = (CALL, PIECE)
_NEARLY_ALL = 0.9
_COUNT, _STEP, _LEAST_STEPS = re.compile(r"#\d+$"), "ProfilerStep", 3
_LAST_EMPTY = re.compile(rb"(?:,\[\])+\]$")
_TYPE = re.compile(rb'"([^"]*)"')
_GRAPH = re.compile("(cuda|hip|cu)GraphLaunch")
_CAPTURE_BEGINS, _CAPTURE_ENDS = (re.compile(f"(cuda|hip|cu)Stream{edge}Capture") for edge in ("Begin", "End"))
_CAPTURED = re.compile("(cuda|hip|cu)(Ext)?(Module)?(Launch|Mem(cpy|set))")
_PYTHON, _MODULE = "python_function", "nn.Module: "
Scope = Literal["operator", "module", "function"]
_ROWS = ("location", "name", "start", "end", "correlation", "category", "shape", "text")


class Sync(msgspec.Struct, gc=False):
    """What the host, or a stream, waits for (Kineto's ``cuda_sync``)."""

    correlation: int = -1
    kind: str = msgspec.field(name="cuda_sync_kind", default="")
    device: int | str | None = None
    stream: int | str | None = None
    awaited_stream: int | str | None = msgspec.field(name="wait_on_stream", default=None)
    record: int = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=-1)


_SYNC = msgspec.json.Decoder(Sync)


@dataclass(frozen=True, eq=False)
class GpuActivity:
    """Columns of host events and of pieces, sorted by thread or stream and begin."""

    source: str
    names: tuple[str, ...]
    shapes: tuple[str, ...]
    locations: tuple[tuple[int | str, int | str], ...]
    host: dict[str, Ints]  # operators and runtime calls: location, name, start, end, correlation, kind, shape, parent
    pieces: dict[str, Ints]  # location, name, start, end, correlation, kind, launch and owner (rows of host or -1)
    markers: tuple[tuple[str, int, int], ...]
    syncs: tuple[Sync, ...]
    span_ns: tuple[int, int]  # from the first to the last event of any kind
    notes: tuple[str, ...] = ()
    texts: tuple[bytes, ...] = ()  # arguments of the operators, or changes of memory, that were asked for
    memory: dict[str, Ints] = field(default_factory=dict)  # changes of memory: location, start, text
    transfers: RankCalls | None = None  # what kernels of NCCL and RCCL transfer, on the clock of the pieces
    has_shapes: bool = False  # whether the file has shapes of operators, read or not

    @functools.cached_property
    def time_ns(self) -> Ints:
        return self.pieces["end"] - self.pieces["start"]

    @property
    def has_operators(self) -> bool:
        """Whether any piece was launched within an operator."""
        return bool((self.pieces["owner"] >= 0).any())

    def keys(self, by: str) -> tuple[list[str], Ints]:
        """Return what groups pieces, and the group of each: its kernel, its operator, or that with its shapes."""
        pieces, host = self.pieces, self.host
        if by == "kernel":
            return list(self.names), pieces["name"]
        labels, of_host = self._operators(by == "shape")
        owner, n = pieces["owner"], len(labels)
        group = np.where(owner >= 0, of_host[owner], np.where(pieces["launch"] >= 0, n + 1, n)) if len(
            host["name"]) else np.full(len(owner), n)  # fmt: skip
        return [*labels, BEFORE, NO_OPERATOR], group

    def _operators(self, with_shapes: bool) -> tuple[list[str], Ints]:
        if not with_shapes:
            return list(self.names), self.host["name"]
        pairs, of_host = np.unique(np.stack([self.host["name"], self.host["shape"]]), axis=1, return_inverse=True)
        labels = [f"{self.names[name]} {self.shapes[shape]}".strip() for name, shape in pairs.T.tolist()]
        return labels, of_host.ravel()

    @property
    def groups_of_host(self) -> Ints:
        """The group by shape of each host event, as `keys` numbers them."""
        return self._operators(True)[1]

    def within(self, by: str) -> tuple[Ints, Ints, Ints]:
        """Return pieces, groups and operator calls of all operators around each piece."""
        _, of_host = self._operators(by == "shape")
        piece, call = np.arange(len(self.time_ns)), self.pieces["owner"]
        rows: list[tuple[Ints, Ints, Ints]] = []
        while (call >= 0).any():
            piece, call = piece[call >= 0], call[call >= 0]
            rows.append((piece, of_host[call], call))
            call = self.host["parent"][call]
        columns = zip(*rows, strict=True) if rows else [(np.empty(0, np.int64),)] * 3
        pieces, groups, calls = (np.concatenate(column) for column in columns)
        return pieces, groups, calls

    @functools.cached_property
    def _of_devices(self) -> list[tuple[Ints, Ints, Ints]]:
        """Pieces of each device in the order of time, and begins and ends of the stretches in which it is busy."""
        start, end, place = (self.pieces[name] for name in ("start", "end", "location"))
        places = np.unique(place)
        _, device = np.unique([str(self.locations[each][0]) for each in places.tolist()], return_inverse=True)
        of_piece = device.reshape(-1)[np.searchsorted(places, place)]
        order = np.lexsort((start, of_piece))
        parts = np.split(order, np.flatnonzero(np.diff(of_piece[order])) + 1)
        return [(rows, *united(start[rows], end[rows])) for rows in parts]

    @property
    def n_devices(self) -> int:
        """How many GPUs have work."""
        return len(self._of_devices)

    @property
    def busy_ns(self) -> int:
        """How long any stream of a device is busy, summed over devices."""
        return sum(int((ends - begins).sum()) for _, begins, ends in self._of_devices)

    @functools.cached_property
    def _idle(self) -> tuple[dict[str, int], list[tuple[Ints, Ints]]]:
        """Idle time by cause, and begins and ends of the stretches in which each device waits for the host."""
        first_ns, last_ns = int(self.pieces["start"].min()), int(self.pieces["end"].max())
        idle = dict.fromkeys((WAITING, "launched, not started", "idle, launch not recorded", _AFTERWARDS), 0)
        waits = []
        for rows, begins, ends in self._of_devices:
            gaps_from, gaps_to = np.append(first_ns, ends[:-1]), begins
            launch = self.pieces["launch"][rows[np.searchsorted(self.pieces["start"][rows], gaps_to)]]
            known = launch >= 0
            returned = np.clip(self.host["end"][launch], gaps_from, gaps_to) if known.any() else gaps_from
            times = (returned - gaps_from)[known], (gaps_to - returned)[known], (gaps_to - gaps_from)[~known]
            for cause, time in zip(idle, (*times, last_ns - ends[-1:]), strict=True):
                idle[cause] += int(time.sum())
            waits.append((gaps_from[known], returned[known]))
        return idle, waits

    def idle_ns(self) -> dict[str, int]:
        """Return idle time of all devices by the launch of the piece that ends it."""
        return {cause: time for cause, time in self._idle[0].items() if time or cause != _AFTERWARDS}

    def host_while_waiting(self) -> tuple[str, float] | None:
        """Return the operator or marker without launches in which GPUs wait longest, and its share; the shortest of
        nearly equal.
        """
        outer = np.flatnonzero((self.host["category"] == OPERATOR) & (self.host["parent"] < 0))
        named = {name: code for code, name in enumerate(self.names)}
        marked = np.array([(named[name], *span) for name, *span in self.markers], np.int64).reshape(-1, 3)
        columns = np.concatenate([np.stack([self.host[key][outer] for key in ("name", "start", "end")], 1), marked])
        launch = self.pieces["launch"]
        launched = np.sort(self.host["start"][np.unique(launch[launch >= 0])])
        first, last = (np.searchsorted(launched, columns[:, k]) for k in (1, 2))
        name, start, end = columns[first == last].T
        within, whole = np.zeros(len(name)), 0
        for begins, ends in self._idle[1]:
            passed = np.append(0, np.cumsum(ends - begins))
            edges = np.stack([begins, ends], axis=1).ravel()
            until = np.stack([passed[:-1], passed[1:]], axis=1).ravel()
            whole += int(passed[-1])
            if len(edges):
                zero = edges[0]
                within += np.subtract(*(np.interp(at - zero, edges - zero, until) for at in (end, start)))
        if not len(name) or not whole:
            return None
        spent, lasting = np.bincount(name, within), np.bincount(name, end - start)
        large = np.flatnonzero(spent >= _NEARLY_ALL * spent.max())
        found = int(large[lasting[large].argmin()])
        return self.names[found], min(float(spent[found]) / whole, 1.0)

    def longest_silence(self) -> tuple[int, int]:
        """Return begin and end of the longest time in which nothing is recorded of the host and the GPU."""
        columns = ([self.host[name], self.pieces[name]] for name in ("start", "end"))
        begins, ends = united(*(np.concatenate(each) for each in columns))
        longest = int(np.argmax(begins[1:] - ends[:-1])) if len(begins) > 1 else 0
        return int(ends[longest]), int(begins[min(longest + 1, len(begins) - 1)])

    def elapsed_ns(self) -> int:
        """From the begin of the first to the end of the last piece, summed over devices."""
        return self.n_devices * int(self.pieces["end"].max() - self.pieces["start"].min())

    def step_spans(self) -> tuple[Ints, Ints]:
        """Return begins and ends of the steps of the run, none without such markers: ``ProfilerStep#``, or else
        those of one name that occurs three times or more and covers at least half of the run.
        """
        families = grouped((_COUNT.sub("", name), (start, end)) for name, start, end in self.markers)
        covered = {name: sum(end - start for start, end in spans) for name, spans in families.items()}
        least = (self.span_ns[1] - self.span_ns[0]) / 2
        repeated = [name for name, spans in families.items() if len(spans) >= _LEAST_STEPS and covered[name] >= least]
        name = _STEP if _STEP in families else max(repeated, key=lambda each: covered[each], default="")
        starts, ends = np.array(sorted(families.get(name, [])), np.int64).reshape(-1, 2).T
        ends = np.maximum.accumulate(ends)  # threads and processes may mark the same step
        apart = starts[1:] >= ends[:-1]
        return starts[np.append(True, apart)[: len(starts)]], ends[np.append(apart, True)[: len(ends)]]

    def steps(self) -> tuple[Ints, Ints]:
        """Return the step of each piece by the begin of its launch (-1: none), and lengths of the steps."""
        starts, ends = self.step_spans()
        if not len(starts):
            return np.full(len(self.time_ns), -1), starts
        launch = self.pieces["launch"]
        begin = self.host["start"][launch] if len(self.host["start"]) else self.pieces["start"]
        moment = np.where(launch >= 0, begin, self.pieces["start"])
        step = np.searchsorted(starts, moment, "right") - 1
        return np.where((step >= 0) & (moment < ends[step]), step, -1), ends - starts


def united(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the union of intervals."""
    order = np.argsort(start, kind="stable")
    start, last = start[order], np.maximum.accumulate(end[order])
    fresh = np.append(True, start[1:] > last[:-1])
    return start[fresh], last[np.append(np.flatnonzero(fresh)[1:] - 1, len(last) - 1)]


def read_gpu_activity(
    path: str | os.PathLike[str], arguments_of: re.Pattern[str] | None = None, *, with_shapes: bool = True,
    scope: Scope = "operator",
) -> GpuActivity | None:  # fmt: skip
    """Read the GPU activity of a file, with the arguments of operators of these names; None if it has no work of
    GPUs.

    ``scope`` says what counts as operators: PyTorch's, or instead of them modules or functions of Python.
    """
    if not Path(path).is_file():
        return None
    with contextlib.closing(Source(path)) as named:
        converters = RocprofReader(), GpuTableReader(), XplaneReader(), NsightReader()
        converter = next((each for each in converters if each.sniff(named)), None)
        source = converter.convert(named) if converter else by_process(named)
        return None if ChromeReader().sniff(source) < _SURE else _activity(source, arguments_of, with_shapes, scope)


def require_gpu_activity(
    path: str | os.PathLike[str], arguments_of: re.Pattern[str] | None = None, *, scope: Scope = "operator"
) -> GpuActivity:
    """Return the same; refuse other data."""
    activity = read_gpu_activity(path, arguments_of, scope=scope)
    if activity is None:
        raise DataError(
            f"{os.fspath(path)}: no kernels, copies or memsets of a GPU; give a trace of PyTorch's or JAX's "
            "profiler, an SQLite export of Nsight Systems or JSON of `rocprofv3 --runtime-trace`"
        )
    return activity


def _kind_of(event: TraceEvent, scope: Scope) -> int:
    """Return what an event is if operators are modules or functions of Python."""
    kind = _KINDS.get(event.cat.lower(), _OTHER)
    if event.cat == _PYTHON and (scope == "function" or event.name.startswith(_MODULE)):
        return OPERATOR
    return _OTHER if kind == OPERATOR else kind


def _activity(
    source: Source, arguments_of: re.Pattern[str] | None, with_shapes: bool, scope: Scope
) -> GpuActivity | None:
    locations: Numbering[Any] = Numbering()
    names, shapes = Numbering[str](), Numbering[bytes]()
    shapes[b""]
    texts: list[bytes] = []
    library = LibraryEvents()
    of_memory = arguments_of is not None and arguments_of.fullmatch(_MEMORY) is not None
    columns = {name: bytearray() for name in _ROWS}  # each grows in place, so that no row is held twice
    syncs: list[Sync] = []
    has_shapes = False
    with source.open() as stream, progress.bar(f"reading {source.name}") as advance:
        array = ArrayPieces(stream, source.name, "traceEvents")
        for events, text in array.decoded(_EVENTS):
            advance(len(text))
            has_shapes = has_shapes or b'"Input Dims"' in text
            if scope == "operator":
                kept = [(row, kind) for row, event in enumerate(events)
                        if event.ph == "X" and (kind := _KINDS.get(event.cat.lower(), _OTHER)) != _OTHER]  # fmt: skip
            else:
                kept = [(row, kind) for row, event in enumerate(events)
                        if event.ph == "X" and (kind := _kind_of(event, scope)) != _OTHER]  # fmt: skip
            if of_memory:
                kept += [(row, MEMORY) for row, event in enumerate(events) if event.name == _MEMORY]
            if not kept:
                continue
            rows, kinds = zip(*kept, strict=True)
            chosen = [events[row] for row in rows]
            try:
                start, duration = times_of(chosen, text, rows)
            except TimeError as error:
                raise InputError(source.name, str(error), line=array.line) from None
            part = np.empty((len(rows), len(_ROWS)), np.int64)
            part[:, 0] = [locations[event.pid, event.tid] for event in chosen]
            part[:, 1] = [names[event.name] for event in chosen]
            part[:, 2], part[:, 3] = start, start + duration
            part[:, 4] = [correlation_of(event) if kind in _CORRELATED else -1
                          for event, kind in zip(chosen, kinds, strict=True)]  # fmt: skip
            part[:, 5] = kinds
            part[:, 6] = [shapes[_shape(event.args)] if kind == OPERATOR and with_shapes else
                          _PIECES.get(event.cat.lower(), 0)
                          for event, kind in zip(chosen, kinds, strict=True)]  # fmt: skip
            part[:, 7] = -1
            for k, event in enumerate(chosen) if arguments_of else ():
                if kinds[k] in (OPERATOR, MEMORY) and arguments_of and arguments_of.fullmatch(event.name):
                    part[k, 7] = len(texts)
                    texts.append(bytes(event.args) or b"{}")
            for event in (event for event, kind in zip(chosen, kinds, strict=True) if kind == SYNC):
                with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                    syncs.append(_SYNC.decode(event.args))
            library.add(chosen, dict(zip(_ROWS, part.T, strict=True)), names)
            for name, column in zip(_ROWS, part.T, strict=True):
                columns[name] += column[duration >= 0].tobytes()
        notes = ["the file is cut short: what stands before its end is read"] if array.cut else []
    table: dict[str, Ints] = {name: np.frombuffer(columns.pop(name), np.int64) for name in _ROWS}
    if not (table["category"] == PIECE).any():
        return None
    order = np.lexsort((table["category"], -table["end"], table["start"], table["location"]))
    code, span = table["category"][order], (int(table["start"].min()), int(table["end"].max()))
    rows_of = [code <= CALL, code == PIECE, code == MARKER, code == MEMORY]
    split: list[dict[str, Ints]] = [{}, {}, {}, {}]
    for name in _ROWS:
        column = table.pop(name)[order]
        for rows_of_kind, is_of_kind in zip(split, rows_of, strict=True):
            rows_of_kind[name] = column[is_of_kind]
    host, pieces, marked, memory = split
    markers = list(zip(*(marked[name].tolist() for name in ("name", "start", "end")), strict=True))
    del column, order, code, rows_of
    longest = clip_at_next(pieces["location"], pieces["start"], pieces["end"], np.ones(len(pieces["end"]), np.bool_))
    if longest is not None:
        name = list(names)[pieces["name"][longest[0]]][:_LETTERS]
        notes.append(f"pieces of GPU work that outlast the next of their stream are clipped at its begin: {longest[2]} "
                     f"(most: {name!r}, by {readable(longest[1], 'ns')})")  # fmt: skip
    host["parent"] = _parents(*(host[name] for name in ("location", "start", "end", "category")))
    pieces["kind"] = pieces.pop("shape")
    pieces["launch"] = _launches(host, pieces["correlation"])
    launched = pieces["launch"] >= 0
    notes += clock_jumps(pieces, launched, list(names))
    pieces["owner"] = np.where(launched, host["parent"][pieces["launch"]], -1) if len(host["start"]) else (
        pieces["launch"])  # fmt: skip
    # Kernels of a graph that no operator launches belong to the operators that captured it, or to its launch.
    is_graph = np.array([_GRAPH.match(name) is not None for name in names], bool)
    if len(host["start"]) and is_graph.any():
        alone = launched & (pieces["owner"] < 0) & is_graph[host["name"][pieces["launch"]]]
        pieces["owner"] = np.where(alone, pieces["launch"], pieces["owner"])
        if captures := _captures(host, list(names)):
            of_graphs = np.flatnonzero(alone)
            of_graphs = of_graphs[np.lexsort((pieces["start"][of_graphs], pieces["launch"][of_graphs]))]
            _, firsts = np.unique(pieces["launch"][of_graphs], return_index=True)
            for of_graph in np.split(of_graphs, firsts[1:]):
                if (owners := captures.get(len(of_graph))) is not None:
                    pieces["owner"][of_graph] = np.where(owners >= 0, owners, pieces["owner"][of_graph])
    threads = tuple(locations)
    if n_lacking := int((~launched).sum()):
        lacking = int((pieces["end"] - pieces["start"])[~launched].sum())
        notes.append(f"{n_lacking:,} of {len(launched):,} pieces of GPU work ({readable(lacking, 'ns')}) {UNLAUNCHED}")
    called = tuple(names)
    return GpuActivity(
        source.name, called, tuple(shape.decode(errors="replace") for shape in shapes), threads, host, pieces,
        tuple((called[name], start, end) for name, start, end in markers), tuple(syncs),
        span, tuple(notes), tuple(texts), memory, _transfers(library, host, pieces, len(threads)), has_shapes,
    )  # fmt: skip


def _transfers(library: LibraryEvents, host: dict[str, Ints], pieces: dict[str, Ints], n: int) -> RankCalls | None:
    """Return what kernels of the library transfer; their locations are those of the pieces."""
    calls = (host["category"] == CALL) & (host["correlation"] >= 0)
    launches = first_calls(*(host[name][calls] for name in ("correlation", "end", "location")))
    place = np.full(n, -1, np.int64)
    place[pieces["location"]] = pieces["location"]
    return library.rank_calls(launches, place, 0)


def _shape(text: msgspec.Raw) -> bytes:
    """Return dimensions of the inputs of an operator that have any, and their types."""
    match = _DIMS.search(text)
    if match is None:
        return b""
    dims = _LAST_EMPTY.sub(b"]", b"".join(match[1].split()).rstrip(b","))
    types = _TYPES.search(text)
    kinds = dict.fromkeys(_TYPE.findall(types[1])) if types else {}
    named = [kind.rpartition(b"::")[2].lower() for kind in kinds if kind and not kind.startswith(b"Scalar")]
    return b" ".join([dims, b",".join(named)]).strip() if dims not in (b"[]", b"[[]]") else b""


@kernel(small=20_000)
def _parents(location: Ints, start: Ints, end: Ints, category: Ints) -> Ints:  # pragma: no cover
    """Return the innermost operator around each host event of its thread, -1 outside of all; events are sorted."""
    parent = np.full(len(start), -1, np.int64)
    stack = np.empty(len(start), np.int64)
    depth = 0
    for row in range(len(start)):
        if row and location[row] != location[row - 1]:
            depth = 0
        while depth and (
            end[stack[depth - 1]] < start[row] or (end[stack[depth - 1]] == start[row] and start[row] < end[row])
        ):
            depth -= 1
        for above in range(depth - 1, -1, -1):
            if end[stack[above]] >= end[row]:
                parent[row] = stack[above]
                break
        if category[row] == OPERATOR:
            stack[depth] = row
            depth += 1
    return parent


def _captures(host: dict[str, Ints], names: list[str]) -> dict[int, Ints]:
    """Return the operators of the launches of captured graphs, by their number; none if two graphs of it differ."""
    begins, ends, launches = (
        np.flatnonzero((host["category"] == CALL) & np.array([pattern.match(name) is not None for name in names])[
            host["name"]])
        for pattern in (_CAPTURE_BEGINS, _CAPTURE_ENDS, _CAPTURED)
    )  # fmt: skip
    captures: dict[int, Ints] = {}
    for row in begins.tolist():  # host events are sorted by thread and begin
        end = next((end for end in ends.tolist() if end > row), row)
        of_thread = host["location"][end] == host["location"][row]
        owners = host["parent"][launches[(launches > row) & (launches < end) & of_thread]]
        before = captures.setdefault(len(owners), owners)
        labels, earlier = (np.where(each >= 0, host["name"][each], -1) for each in (owners, before))
        if (labels != earlier).any():
            captures[len(owners)] = np.full(len(owners), -1)
    captures.pop(0, None)
    return captures


def _launches(host: dict[str, Ints], correlation: Ints) -> Ints:
    """Return the runtime call with each correlation number, -1 if there is none; of several the earliest."""
    calls = np.flatnonzero((host["category"] == CALL) & (host["correlation"] >= 0))
    calls = calls[np.lexsort((host["start"][calls], host["correlation"][calls]))]
    return np.append(calls, -1)[launch_of(host["correlation"][calls], correlation)]
