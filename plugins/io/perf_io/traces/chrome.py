"""Chrome's trace-event JSON, as Perfetto, PyTorch's profiler (Kineto) and many tracers write it.

Read are complete events (X), begin and end events (B, E) and names of processes and threads (M); others are counted.
A location is one ``pid`` and ``tid``; of overlapping events the one counts that began last. Streams of GPUs are known
by Kineto's categories; if launches are recorded too, gaps tell whether a stream waits for the host. Times count from
the first event, in exact whole nanoseconds. Traces of any format are written for Perfetto, without loss.

Source: "Trace Event Format", Google, 2016; categories by Kineto's ``ActivityType``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.options import GpuOptions
from perf_io.text import decode_json
from perf_io.traces import intervals
from perf_io.traces.converted import by_process
from perf_io.traces.json_array import ArrayPieces, TraceEvent
from perf_io.traces.trace_events import CALLS, COUNTED, MORE_NAMES, EventColumns, TimeError
from perf_traces.chrome_json import MOST_EVENTS, write_chrome_json
from perf_traces.messages.communication import OF_RANK, RankCalls, carry, communication_of_ranks
from perf_traces.nesting import BACKGROUND, Nesting, keep_nesting, nesting_of_pieces
from perf_traces.options import WARNING, recorded_by
from perf_traces.states import MARKER, class_of
from perfcore.base import progress
from perfcore.base.arrays import Codes, Ints
from perfcore.base.errors import InputError, OptionError
from perfcore.data import type_in_words
from perfcore.data.trace import Trace
from perfcore.data.units import NANOSECONDS, readable
from perfcore.reading.source import Reader, Source

_ARRAY = "traceEvents"
_OF_STREAMS = re.compile("kernel|gpu_.*|memcpy|memset|mtia_ccp_events", re.IGNORECASE | re.DOTALL)  # categories
# Keys that only this format has where the events come late; tools write them before.
_OTHER_KEYS = (b'"displayTimeUnit"', b'"distributedInfo"', b'"deviceProperties"', b'"systemTraceEvents"')
# Categories of Kineto that no thread and no stream executes: its own span over everything, and what users and the
# profiler write in addition to the work.
_SUM = "Total "  # begins the names of what clang sums up
_MOST_MARKERS = 100_000  # that are kept
_ROUNDING = 1_000  # kernels that overlap by less than this part of the trace are noted, and not warned of
_MARKERS = ("trace", "user_annotation", "gpu_user_annotation")
_MOST_THREAD_NAMES = 1 << 20
_EVENTS = msgspec.json.Decoder(list[TraceEvent])
Columns = dict[str, npt.NDArray[Any]]


class _Arguments(msgspec.Struct):
    name: Any = None
    location: Any = None  # as `write` calls a thread whose name is that of a location


class _Run(msgspec.Struct):
    """What `write` says of the run, as the format has no place for it."""

    span_ns: tuple[int, int]
    time_unit: Literal[tuple(NANOSECONDS)]  # type: ignore[valid-type]
    busy_states: frozenset[str]


class _Distributed(msgspec.Struct):
    rank: Any = None
    world_size: Any = None


class _Document(msgspec.Struct):
    """Facts other than events: Kineto's description of the job, and the moment from which times count."""

    distributedInfo: _Distributed | None = None  # noqa: N815 - the key in the file
    deviceProperties: Any = None  # noqa: N815
    baseTimeNanoseconds: int = 0  # noqa: N815
    beginningOfTime: Any = None  # noqa: N815 - of clang's -ftime-trace
    perfcore: _Run | None = None


class _Metadata(msgspec.Struct):
    ph: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    args: _Arguments | None = None


_METADATA = msgspec.json.Decoder(list[_Metadata])


class ChromeReader(Reader):
    """Read states of threads or GPU streams of PyTorch, JAX, Chrome, VizTracer, clang's ``-ftime-trace`` and others."""

    Options = GpuOptions
    writes: ClassVar[bool] = True
    keeps: ClassVar[tuple[str, ...]] = ("markers", "calls within calls")

    def sniff(self, source: Source) -> float:
        """Sure by the array of events; less so by the first event alone, or by keys that come before the array."""
        start = source.head.lstrip()[:1]
        if start == b"{" and b'"traceEvents"' in source.head:
            return 0.95
        if start == b"[" and all(key in source.head for key in (b'"ph"', b'"ts"', b'"pid"')):
            return 0.9
        return 0.6 if start == b"{" and any(key in source.head for key in _OTHER_KEYS) else 0.0

    def read(self, source: Source, options: GpuOptions) -> Trace:
        return _trace(source.name, *_collect(by_process(source)), options)

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write a trace, for Perfetto and chrome://tracing; see `perf_traces.chrome_json.write_chrome_json`."""
        if not isinstance(data, Trace):
            problem = f"Chrome's JSON holds traces, and this is {type_in_words(data)}; write it as .csv or .parquet"
            raise OptionError(problem)
        with Path(path).open("wb") as stream:
            write_chrome_json(data, stream)
        if data.n_intervals > MOST_EVENTS:
            progress.note(
                f"{data.n_intervals:,} intervals: Perfetto opens some {MOST_EVENTS:,}; --from and --to write a part"
            )


class _Names:
    """Names of processes and threads, from metadata."""

    def __init__(self) -> None:
        self._processes: dict[str, str] = {}
        self._threads: dict[tuple[str, str], str] = {}
        self._locations: dict[tuple[str, str], str] = {}

    def add(self, text: bytes) -> None:
        """Take in the metadata of a piece; what is damaged in it names nothing."""
        try:
            events = _METADATA.decode(text)
        except (msgspec.ValidationError, UnicodeDecodeError):
            return
        for event in events:
            if event.ph != "M" or event.args is None or not isinstance(event.args.name, str):
                continue
            if len(self._processes) + len(self._threads) >= _MOST_THREAD_NAMES:
                return
            if event.name == "process_name":
                self._processes[str(event.pid)] = event.args.name.strip()
            elif event.name == "thread_name":
                self._threads[str(event.pid), str(event.tid)] = event.args.name.strip()
                if isinstance(event.args.location, str):
                    self._locations[str(event.pid), str(event.tid)] = event.args.location

    def label(self, process: int | str, thread: int | str, *, stream: bool) -> str:
        """Return both with their numbers, which make them unique; of what `write` wrote the location."""
        if (location := self._locations.get((str(process), str(thread)))) is not None:
            return location
        name = self._threads.get((str(process), str(thread)), "stream" if stream else "thread")
        return f"{self.process(process, stream=stream)} / {_numbered(name, thread)}"

    def process(self, process: int | str, *, stream: bool = False) -> str:
        return _numbered(self._processes.get(str(process), "GPU" if stream else "process"), process)


def _numbered(name: str, number: int | str) -> str:
    return name if str(number) in name.split() else f"{name} {number}".rstrip()


def _collect(source: Source) -> tuple[EventColumns, _Names, _Document]:
    """Return events, names, and further facts of the file."""
    columns, names = EventColumns(), _Names()
    with source.open() as stream, progress.bar(f"reading {source.name}") as advance:
        array = ArrayPieces(stream, source.name, _ARRAY)
        for events, text in array.decoded(_EVENTS):
            n_metadata = columns.passed_over["M"]
            try:
                columns.add(events, text)
            except TimeError as error:
                raise InputError(source.name, str(error), line=array.line) from None
            if columns.passed_over["M"] > n_metadata:
                names.add(text)
            advance(len(text))
        if array.cut:
            columns.notes.append(f"{WARNING}the file is cut short: what stands before its end is read")
        elif not array.closed:
            columns.notes.append("the array of events has no end: the tracer was stopped")
        if n_ranges := columns.passed_over.pop(COUNTED, 0):
            sums = ", ".join(f"{name} {count:,}" for name, count in columns.counted.items() if count)
            columns.notes += [
                f"{intervals.REPLAYED} ({n_ranges} ranges): times say nothing here",
                f"sums of counters: {sums or 'all 0'}",
            ]
        if array.has_non_finite:
            columns.notes.append(f"{WARNING}NaN and inf, which JSON does not have, are read as missing")
        return columns, names, _described(array.around())


def _described(text: bytes) -> _Document:
    """Return what the document says; nothing if it says it in another form than Kineto."""
    try:
        document: _Document = decode_json(text, _Document) if text else _Document()
        return document
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Document()


def _facts(document: _Document, first: int, devices: Iterable[str]) -> dict[str, Any]:
    distributed = document.distributedInfo or _Distributed()
    numbers = {"rank": distributed.rank, "world_size": distributed.world_size}
    facts: dict[str, Any] = {name: value for name, value in numbers.items() if type(value) is int and value >= 0}
    known = document.deviceProperties if isinstance(document.deviceProperties, list) else []
    named = {str(each.get("id")): str(each["name"]) for each in known if isinstance(each, dict) and each.get("name")}
    used = [named[number] for device in dict.fromkeys(devices) if (number := device.removeprefix("GPU ")) in named]
    counts = Counter(used or (list(named.values())[:1] if len({*named.values()}) == 1 else []))
    if counts:
        facts["gpu"] = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())
    return {**facts, "epoch_ns": document.baseTimeNanoseconds + first}


def _trace(source: str, columns: EventColumns, names: _Names, document: _Document, options: GpuOptions) -> Trace:
    is_marker = {category: category.strip().lower() in _MARKERS for category in columns.categories}
    is_stream = {
        category: not is_marker[category] and bool(_OF_STREAMS.fullmatch(category)) for category in columns.categories
    }
    location_kind = recorded_by(options.locations, any(is_stream.values()))

    def wanted(category: str) -> bool:
        if category == COUNTED:
            return False
        stream = is_stream.get(category, False)
        return is_marker.get(category, False) or location_kind == "both" or stream == (location_kind == "streams")

    launches = columns.launches()
    events = columns.intervals(wanted)
    events, annotations = _apart(events, columns, is_marker)
    if events and document.beginningOfTime is not None:  # sums of clang stand on threads of their own
        is_sum = np.array([name.startswith(_SUM) for name in [*columns.names, MORE_NAMES]])[events["name"]]
        events = {name: column[~is_sum] for name, column in events.items()}
        columns.notes.append(f"{is_sum.sum()} sums ({_SUM}...) left out")
    columns.notes += [
        f"{n} events of kind {kind or '(none)'} passed over" for kind, n in sorted(columns.passed_over.items())
    ]
    if not events or not (events["end"] > events["start"]).any():
        problem = f"contains no events of {'threads' if location_kind == 'both' else location_kind} that last"
        raise InputError(source, "; ".join([problem, *(note.removeprefix(WARNING) for note in columns.notes)]))
    on_stream = np.array([*is_stream.values(), False])[events["category"]]
    if not on_stream.any():
        events = _with_outside(events, columns)
        on_stream = np.zeros(len(events["start"]), bool)
    first = int(events["start"].min())
    longest = intervals.clip_at_next(events["location"], events["start"], events["end"], on_stream)
    if longest is not None:
        row, excess, count = longest
        mark = "" if excess * _ROUNDING < int(events["end"].max()) - first else WARNING
        name, time = [*columns.names, MORE_NAMES][events["name"][row]][:60], int(events["start"][row]) - first
        columns.notes.append(
            f"{mark}a stream runs its kernels in order, and {count} outlast the next: clipped at its begin "
            f"(most: {name!r} at {readable(time, 'ns')}, by {readable(excess, 'ns')})"
        )
    launched = on_stream & np.isin(events["correlation"], launches[0])
    columns.notes += [WARNING + note for note in intervals.clock_jumps(events, launched, [*columns.names, MORE_NAMES])]
    last = int(events["end"].max())
    run = document.perfcore
    span = (0, last - first)
    if run is not None:
        span = min(run.span_ns[0], first), max(run.span_ns[1], last)
        first = 0
    launched = intervals.launch_ends(launches[0], launches[1] - first, np.where(on_stream, events["correlation"], -1))
    markers = _markers(annotations, columns, first, (events, launched) if location_kind == "streams" else None)
    events["start"] -= first
    events["end"] -= first
    interval, start, end = intervals.latest_running(events["location"], events["start"], events["end"])
    callers, is_call = nesting_of_pieces(events["start"], events["end"], interval, start, end)
    location_codes, location = _renumbered(events["location"][interval], len(columns.locations))
    outside = columns.names.get(intervals.OUTSIDE, -1)
    callers = callers[np.isin(events["location"][callers], location_codes) & (events["name"][callers] != outside)]
    calling = {name: events[name][callers] for name in ("location", "name", "start", "end")}
    del events["start"], events["end"]
    keys = list(columns.locations)
    states = [*columns.names, MORE_NAMES]
    used, state = _renumbered(np.concatenate([events["name"][interval], calling["name"]]), len(states))
    state, calling["name"] = state[: len(interval)], state[len(interval) :]
    streams = set(events["location"][on_stream].tolist())
    named = [states[code] for code in used.tolist()]
    has_launch = launched > intervals.UNKNOWN_NS
    if has_launch.any():
        columns_of = location, state, start, end, is_call, launched[interval]
        location, state, start, end, is_call = intervals.add_launch_gaps(*columns_of, 0, named)
    notes: list[str] = []
    if run is None and first:
        notes.append(f"times count from the first event, at {first / 1000:.3f} us")
    if any(is_marker.values()):
        notes.append(f"annotations ({', '.join(c for c, mark in is_marker.items() if mark)}) are markers, no states")
    if streams and not has_launch.any():
        notes.append(intervals.WITHOUT_LAUNCHES)
    elif n_lacking := int((on_stream & ~has_launch).sum()):
        notes.append(f"{n_lacking:,} of {int(on_stream.sum()):,} kernels, copies and memsets {intervals.UNLAUNCHED}")
    notes += columns.notes
    used_keys = [keys[code] for code in location_codes.tolist()]
    are_streams = [code in streams for code in location_codes.tolist()]
    levels = _levels(used_keys, are_streams, names, {keys[code] for code in np.unique(launches[2]).tolist()})
    facts = _facts(document, first, levels.get("device", ()))
    facts |= {BACKGROUND: intervals.OUTSIDE} if intervals.OUTSIDE in named else {}
    columns_of_trace = location, state, start, end
    trace = Trace(
        *columns_of_trace,
        _unique([names.label(*key, stream=stream) for key, stream in zip(used_keys, are_streams, strict=True)]),
        named, time_unit="us" if run is None else run.time_unit,
        busy_states=None if run is None else [name for name in named if name in run.busy_states],
        span_ns=span, source=source, notes=notes, markers=markers, facts=facts, levels=levels,
    )  # fmt: skip
    where = np.searchsorted(location_codes, calling["location"]).astype(np.int32)
    keep_nesting(trace, Nesting(where, calling["name"], calling["start"], calling["end"], is_call))
    place = np.full(len(keys), -1, np.int64)
    place[location_codes] = np.arange(len(location_codes))
    return with_calls(trace, columns.of_library.rank_calls(launches, place, first))


def with_calls(trace: Trace, calls: RankCalls | None) -> Trace:
    """Return the trace with what its rank sends and receives, as far as known without the files of other ranks."""
    if calls is None:
        return trace
    rank, size = trace.facts.get("rank", 0), trace.facts.get("world_size")
    trace.facts = {**trace.facts, OF_RANK: calls}
    parts = [(rank, 0, 0, calls)]
    return carry(trace, lambda: communication_of_ranks(parts, trace.locations, trace.span_ns, trace.source, size))


def _levels(
    keys: Sequence[tuple[int | str, int | str]], is_stream: Sequence[bool], names: _Names,
    callers: set[tuple[int | str, int | str]],
) -> dict[str, list[str]]:  # fmt: skip
    """Return GPU and process of each location; of streams, whose ``pid`` is the GPU, the process that launches work."""
    processes = {process for process, _ in callers}
    host = names.process(processes.pop()) if len(processes) == 1 else ""
    levels = {
        "device": [f"GPU {process}" if stream else "" for (process, _), stream in zip(keys, is_stream, strict=True)],
        "process": [
            host if stream else names.process(process) for (process, _), stream in zip(keys, is_stream, strict=True)
        ],
    }
    return {level: values for level, values in levels.items() if any(values)}


def _with_outside(events: Columns, columns: EventColumns) -> Columns:
    """Let threads of which nothing but calls of CUDA or HIP is recorded compute outside of them."""
    is_call = np.array([*(name.lower() in CALLS for name in columns.categories), False])[events["category"]]
    threads = np.setdiff1d(events["location"][is_call], events["location"][~is_call])
    rows = np.flatnonzero(np.isin(events["location"], threads))
    rows = rows[np.argsort(events["location"][rows], kind="stable")]
    first = np.searchsorted(events["location"][rows], threads)
    if not len(rows):
        return events
    added = {name: column[rows[first]] for name, column in events.items()}
    added["name"] = np.full(len(threads), columns.names[intervals.OUTSIDE], np.int32)
    added["start"] = np.minimum.reduceat(events["start"][rows], first)
    added["end"] = np.maximum.reduceat(events["end"][rows], first)
    return {name: np.concatenate([column, added[name]]) for name, column in events.items()}


def _apart(events: Columns, columns: EventColumns, is_marker: dict[str, bool]) -> tuple[Columns, Columns]:
    """Return events that are states, and those that annotate."""
    named = np.array([class_of(name) == MARKER for name in [*columns.names, MORE_NAMES]])
    annotates = np.array([*is_marker.values(), False])[events["category"]] | named[events["name"]]
    if not annotates.any():
        return events, {}
    states, annotations = ({name: column[mask] for name, column in events.items()} for mask in (~annotates, annotates))
    return states, annotations


def _markers(
    annotations: Columns, columns: EventColumns, first: int, work: tuple[Columns, Ints] | None
) -> list[tuple[str, int, int]]:
    """Return name, start and end of annotations, counted from the first event; of the GPU's own where its work is read.

    Those of ROCm may end with the first kernel. Where the GPU's markers of a name cover less than half of the pieces
    launched within the host's, each of the host's counts from the first to the last of its pieces.
    """
    if not annotations:
        return []
    categories = np.array([*(name.strip().lower().startswith("gpu_") for name in columns.categories), False])
    of_gpu = categories[annotations["category"]]
    on_gpu = work is not None and of_gpu.any()
    names = [*columns.names, MORE_NAMES]
    chosen = np.flatnonzero(of_gpu if on_gpu else ~of_gpu)[:_MOST_MARKERS]
    rows = zip(*(annotations[name][chosen].tolist() for name in ("name", "start", "end")), strict=True)
    markers = [(names[code], start - first, end - first) for code, start, end in rows]
    if work is None or not on_gpu or (work[1] == intervals.UNKNOWN_NS).all():
        return markers
    order = np.argsort(work[1], kind="stable")[int((work[1] == intervals.UNKNOWN_NS).sum()) :]
    launched, begins, ends = work[1][order], work[0]["start"][order] - first, work[0]["end"][order] - first
    for code in np.unique(annotations["name"][chosen]).tolist():
        same = annotations["name"] == code
        at = np.sort(np.stack([annotations[each][same & of_gpu] for each in ("start", "end")]) - first)
        on_host = (annotations[each][same & ~of_gpu] - first for each in ("start", "end"))
        slices = [(low, high) for low, high in np.searchsorted(launched, list(on_host)).T.tolist() if low < high]
        within = np.concatenate([begins[low:high] for low, high in slices]) if slices else begins[:0]
        which = np.searchsorted(at[0], within, "right") - 1
        if 2 * int(((which >= 0) & (within < at[1][which])).sum()) < len(within):
            markers = [each for each in markers if each[0] != names[code]]
            markers += [(names[code], int(begins[a:b].min()), int(ends[a:b].max())) for a, b in slices]
    return markers


def _renumbered(codes: Codes, n_codes: int) -> tuple[Ints, Codes]:
    """Return the codes that occur, and for each one given its position among them."""
    used = np.flatnonzero(np.bincount(codes, minlength=n_codes))
    position = np.zeros(n_codes, np.int32)
    position[used] = np.arange(len(used))
    return used, position[codes]


def _unique(labels: list[str]) -> list[str]:
    """Return labels with a number behind those that were met before."""
    counts: dict[str, int] = {}
    for place, label in enumerate(labels):
        count = counts[label] = counts.get(label, 0) + 1
        if count > 1:
            labels[place] = f"{label} #{count}"
    return labels
