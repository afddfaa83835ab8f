"""Events of the Chrome trace format as columns of whole nanoseconds."""

from __future__ import annotations

import contextlib
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.traces.intervals import first_calls, launch_of, pair_events
from perf_io.traces.json_array import MISSING, TraceEvent
from perf_traces.messages.communication import COLLECTIVE, COLUMNS, ITSELF, RECEIVE, SEND, UNTOLD, RankCalls
from perf_traces.messages.kernels import last_not_after
from perf_traces.options import WARNING
from perfcore.base.arrays import Codes, Ints
from perfcore.data.selection import is_number

# Collectives, sends and receives of NCCL and RCCL: a kernel says in its arguments what it transfers, or the operation
# of the host that launched it (``record_param_comms``, or an annotation such as ``nccl:all_reduce`` with the shapes
# of its input, within ``c10d::_allgather_base_`` with those of its output). Bytes are those put in or got out,
# whichever are more. Source: PyTorch, ``torch/csrc/profiler/util.cpp`` (``saveNcclMeta``); Kineto,
# ``libkineto/src/output_json.cpp``.

_OF_LIBRARY = re.compile(r"nccl|rccl|record_param_comms$|c10d::", re.IGNORECASE)
_NAMED = b'"Collective name"'
_HOST, _ANNOTATED, _CALLED = "record_param_comms", "nccl:", "c10d::"
_FIELDS = (
    "host", "location", "start", "end", "correlation", "kind", "operation", "group", "size", "number", "bytes", "peer",
)  # fmt: skip
_TOLD_FIELDS = _FIELDS[5:]
_KERNEL, _RECORD, _ANNOTATION, _CALL = range(4)  # what ``host`` says
_UNNAMED = "nccl kernel"  # those of sends and receives, too
_OPERATION = re.compile("[nr]ccl.*?(AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast|Reduce)", re.I)
_BATCH = "coalesced"
_KINDS = {"send": SEND, "recv": RECEIVE}
_NO_DATA = frozenset({"wait", "init", "finalize"})  # that the host records, too, and that transfer nothing
_NOT_REPLAYED = "streams of GPUs wait for the host and for one another, and the trace does not tell for what"
_OF_UNKNOWN_SIZE = "transfers are of an unknown size or type, and their bytes count as 0"
_MOST_NAMES = 1 << 16
_MOST_BYTES, _LARGEST, _UNKNOWN = 1 << 50, 1 << 50, -1
# By the names of C++ and of PyTorch, small letters, without namespaces.
_BYTES = {
    name: size
    for size, names in {
        1: "byte char bool signedchar unsignedchar int8 uint8 qint8 quint8 float8_e5m2 float8_e4m3fn float8_e5m2fnuz "
           "float8_e4m3fnuz float8_e8m0fnu",
        2: "short half bfloat16 int16 uint16 shortint unsignedshort",
        4: "int float int32 uint32 qint32 complexhalf unsignedint",
        8: "long double int64 uint64 longint longlong unsignedlong complexfloat",
        16: "complexdouble",
    }.items()
    for name in names.split()
}  # fmt: skip
Columns = Mapping[str, Ints]
K = TypeVar("K", bound=Hashable)
MORE_NAMES, _NO_NAME = "(more names)", "(no name)"
_NS_PER_US = 1000
# Doubles below this are less than 2^-12 us off, a quarter of a nanosecond, so that rounding gives what was written.
_EXACT_US = float(1 << 41)
# Below, doubles are less than half a nanosecond from times of at most three digits behind the point.
_NEARLY_EXACT_US = float(1 << 43)
_DIGITS = re.compile(rb"\.[0-9]{4}")  # of any number, which is found faster than those of times
_MORE_DIGITS = re.compile(rb'"(?:ts|dur)"\s*:\s*"?[-+]?[0-9]*\.[0-9]{4}')
_LARGEST_US = (1 << 62) // _NS_PER_US
_DURATIONS = frozenset("XBE")
_COMPLETE = ord("X")
_TYPES = {
    "phase": np.uint8, "location": np.int32, "name": np.int32, "category": np.int32, "start": np.int64,
    "end": np.int64, "correlation": np.int64,
}  # fmt: skip
# Categories of calls that launch work on GPUs, and of that work, by Kineto; both have a number in common.
CALLS = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime", "driver", "mtia_runtime"})
COUNTED = "cuda_profiler_range"  # kernels that were run again and again to count
_CORRELATED = CALLS | {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events"}
_CORRELATION = re.compile(rb'"correlation"\s*:\s*"?([0-9]{1,18})[^0-9]')


class _Told(msgspec.Struct, gc=False):
    """Arguments of a kernel or of the host's record."""

    name: str = msgspec.field(name="Collective name", default="")
    type: str = msgspec.field(name="dtype", default="")
    sent: int = msgspec.field(name="In msg nelems", default=0)
    received: int = msgspec.field(name="Out msg nelems", default=0)
    size: int = msgspec.field(name="Group size", default=-1)
    group: str | int = msgspec.field(name="Process Group Name", default="")
    ranks: str | list[int] = msgspec.field(name="Process Group Ranks", default="")
    number: int = msgspec.field(name="Seq", default=-1)
    sender: int = msgspec.field(name="Src Rank", default=-1)
    receiver: int = msgspec.field(name="Dst Rank", default=-1)


class _Shapes(msgspec.Struct, gc=False):
    shapes: list[Any] = msgspec.field(name="Input Dims", default_factory=list)
    types: list[str] = msgspec.field(name="Input type", default_factory=list)


_TOLD, _SHAPES = msgspec.json.Decoder(_Told, strict=False), msgspec.json.Decoder(_Shapes)


def _operation_of(kernel: str) -> str:
    """Return the collective that a kernel is named after."""
    match = _OPERATION.search(kernel)
    return _ANNOTATED + match[1].lower() if match else _UNNAMED


def calls_by_name(states: Sequence[str], location: Ints, state: Ints, start: Ints, end: Ints) -> RankCalls | None:
    """Return the collectives that kernels are named after, of formats that record no more of them; None without any."""
    named = [_operation_of(name) for name in states]
    operations = list(dict.fromkeys(name for name in named if name != _UNNAMED))
    operation = np.array([operations.index(name) if name in operations else -1 for name in named], np.int64)[state]
    rows = np.flatnonzero((operation >= 0) & (location >= 0))
    if not len(rows):
        return None
    known = {
        "location": location, "enter_ns": start, "leave_ns": end, "operation": operation, "bytes": np.zeros_like(start),
        "kind": np.full_like(start, COLLECTIVE), "tag": np.zeros_like(start), "done": np.full_like(start, ITSELF),
    }  # fmt: skip
    columns = np.column_stack([known[name][rows] if name in known else np.full(len(rows), -1) for name in COLUMNS])
    return RankCalls(columns, tuple(operations), (), {_OF_UNKNOWN_SIZE: len(rows)}, _NOT_REPLAYED)


class LibraryEvents:
    """Kernels of the library and what the host says of them, in 96 bytes each."""

    def __init__(self) -> None:
        self._rows = array("q")
        self._is_name = bytearray()
        self._operations: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._damaged = 0

    def add(self, events: Sequence[TraceEvent], table: Mapping[str, Any], names: Mapping[str, int]) -> None:
        """Take those of a piece; ``table`` has their columns, and ``names`` all names met so far with their codes."""
        for name in itertools.islice(names, len(self._is_name), None):
            self._is_name.append(_OF_LIBRARY.search(name) is not None)
        flags = np.frombuffer(bytes(self._is_name) + b"\0", np.bool_)
        columns = table["location"], table["start"], table["end"], table["correlation"]
        for row in np.flatnonzero(flags[table["name"]]).tolist():
            event = events[row]
            if event.ph == "X" and (description := self._transfer_of(event)) is not None:
                host, *fields = description
                self._rows.extend((host, *(int(column[row]) for column in columns), *fields))

    def _transfer_of(self, event: TraceEvent) -> tuple[int, ...] | None:
        """Return what an event says: who, and kind, operation, group and so on; None of one that says nothing."""
        if event.cat.lower() == "kernel":
            transfer = self._by_arguments(event.args)
            self._damaged += transfer is None and _NAMED in bytes(event.args)
            by_name = UNTOLD, self._operation(_operation_of(event.name)), -1, -1, -1, _UNKNOWN, -1
            return _KERNEL, *(transfer or by_name)
        if event.name == _HOST:
            transfer = self._by_arguments(event.args)
            return None if transfer is None else (_RECORD, *transfer)
        if event.cat.lower().startswith("gpu"):
            return None
        name = event.name.split()[0]
        if name.startswith(_CALLED):
            return _CALL, COLLECTIVE, 0, -1, -1, -1, max(_sizes(event.args), default=0), -1
        if not name.startswith(_ANNOTATED) or name.removeprefix(_ANNOTATED) in (*_KINDS, _BATCH):
            return None  # the group of sends and receives is not recorded, and what a batch is made of
        sizes = _sizes(event.args)
        n_bytes = min(sum(sizes), _MOST_BYTES) if sizes and min(sizes) >= 0 else _UNKNOWN
        return _ANNOTATION, COLLECTIVE, self._operation(name), -1, -1, -1, n_bytes, -1

    def _operation(self, name: str) -> int:
        if len(self._operations) >= _MOST_NAMES:
            name = next(iter(self._operations))
        return self._operations.setdefault(name, len(self._operations))

    def _by_arguments(self, text: msgspec.Raw) -> tuple[int, ...] | None:
        """By arguments; None if they say nothing of a transfer, or are damaged."""
        if _NAMED not in bytes(text):
            return None
        try:
            arguments = _TOLD.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return None
        kind = _KINDS.get(arguments.name, COLLECTIVE)
        peer = {SEND: arguments.receiver, RECEIVE: arguments.sender}.get(kind, -1)
        elements = arguments.sent, arguments.received
        valid = max(*elements, arguments.size, arguments.number, peer) < _LARGEST and min(*elements) >= 0
        if not valid or not arguments.name or arguments.name in _NO_DATA:
            return None
        ranks = arguments.ranks if isinstance(arguments.ranks, str) else str(arguments.ranks)
        group = -1
        if arguments.group != "" and len(self._groups) < _MOST_NAMES:
            group = self._groups.setdefault(f"{arguments.group} {ranks}".rstrip(), len(self._groups))
        size, number, peer = (max(value, -1) for value in (arguments.size, arguments.number, peer))
        n_bytes = bytes_of(arguments.type, max(elements))
        return kind, self._operation(_ANNOTATED + arguments.name), group, size, number, n_bytes, peer

    def rank_calls(self, launches: Sequence[npt.NDArray[Any]], place: Ints, first: int) -> RankCalls | None:
        """Return kernels of streams that are in the trace, with what is recorded of them; None if nothing is."""
        rows = np.array(self._rows, np.int64).reshape(-1, len(_FIELDS))
        is_kernel = rows[:, 0] == _KERNEL
        kernel_rows = rows[is_kernel]
        kernel_rows = kernel_rows[place[kernel_rows[:, 1]] >= 0]  # of locations that are in the trace
        host, kernels = (dict(zip(_FIELDS, part.T, strict=True)) for part in (rows[~is_kernel], kernel_rows))
        launched = _launched(kernels, launches)
        alone = 0
        for kind in (_RECORD, _ANNOTATION):
            records = {name: column[host["host"] == kind] for name, column in host.items()}
            by = _launched_within(records, launched)
            described = (by >= 0) & (kernels["kind"] == UNTOLD)
            for name in _TOLD_FIELDS:
                kernels[name][described] = records[name][by[described]]
            if kind == _RECORD:
                messages = np.setdiff1d(np.flatnonzero(np.isin(records["kind"], (SEND, RECEIVE))), by)
                kernels, alone = _with_batches(kernels, {name: records[name][messages] for name in _FIELDS}, launched)
                launched = _launched(kernels, launches)
        calls = {name: column[host["host"] == _CALL] for name, column in host.items()}
        by = _launched_within(calls, launched)
        annotated = (by >= 0) & (kernels["kind"] == COLLECTIVE) & (kernels["group"] < 0)
        sizes = kernels["bytes"]
        sizes[annotated] = np.maximum(sizes[annotated], calls["bytes"][by[annotated]])
        # Names of kernels say what is done, and of the others nothing is recorded.
        named = np.array([name != _UNNAMED for name in self._operations], bool)[kernels["operation"]]
        kernels["kind"] = np.where((kernels["kind"] == UNTOLD) & named, COLLECTIVE, kernels["kind"])
        unknown = (sizes == _UNKNOWN) & (kernels["kind"] != UNTOLD)
        sizes[sizes == _UNKNOWN] = 0
        n_untold = int((kernels["kind"] == UNTOLD).sum())
        if n_untold == len(sizes):
            return None
        kernels |= {
            "location": place[kernels["location"]], "enter_ns": kernels["start"] - first,
            "leave_ns": kernels["end"] - first, "tag": np.zeros(len(sizes), np.int64),
            "done": np.full(len(sizes), ITSELF, np.int64),
        }  # fmt: skip
        unmatched = {
            "kernels of NCCL do not say what they transfer": n_untold,
            "descriptions of transfers are damaged": self._damaged,
            _OF_UNKNOWN_SIZE: int(unknown.sum()),
            "sends or receives have no kernel of their own": alone,
        }
        columns = np.column_stack([kernels[name] for name in COLUMNS])
        return RankCalls(columns, tuple(self._operations), tuple(self._groups), unmatched, _NOT_REPLAYED)


def _sizes(text: msgspec.Raw) -> list[int]:
    """Return bytes of each tensor whose shape is known; nothing if they are damaged."""
    try:
        arguments = _SHAPES.decode(text)
        pairs = zip(arguments.shapes, arguments.types, strict=False)
        return [bytes_of(kind, _elements(shape)) for shape, kind in pairs if shape]
    except (msgspec.MsgspecError, TypeError, RecursionError):
        return []


def _elements(shape: Sequence[Any]) -> int:
    if isinstance(shape[0], list):
        return sum(_elements(each) for each in shape if each)
    product = 1
    for length in shape:
        if not isinstance(length, int) or length < 0:
            raise TypeError(length)
        product = min(product * length, _LARGEST)
    return product


def bytes_of(kind: str, elements: int) -> int:
    """Return bytes of elements of a type, at most `_MOST_BYTES`; `_UNKNOWN` if there are any of unknown type."""
    each = _BYTES.get(kind.rpartition("::")[2].replace(" ", "").lower())
    if each is None:
        return _UNKNOWN if elements else 0
    return min(each * elements, _MOST_BYTES)


def _launched(kernels: Columns, launches: Sequence[npt.NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return when and on which thread each kernel was launched; the thread is -1 where that is not known."""
    numbers, returned, thread = launches
    launch = launch_of(numbers, kernels["correlation"])
    return np.append(returned, 0)[launch], np.append(thread, -1)[launch].astype(np.int64)


def _launched_within(records: Columns, launched: tuple[Ints, Ints]) -> Ints:
    """Return for each kernel the record of the host during which it was launched; -1 if there is none."""
    moment, thread = launched
    # Records of one thread do not overlap: the last one that began before the launch is the only one that can be meant.
    record = _last_before((thread, moment), (records["location"], records["start"]))
    is_within = (record >= 0) & (thread >= 0)
    is_within[is_within] = moment[is_within] <= records["end"][record[is_within]]
    return np.where(is_within, record, -1)


def _with_batches(kernels: Columns, records: Columns, launched: tuple[Ints, Ints]) -> tuple[dict[str, Ints], int]:
    """Return the kernels with one more for each message of a batch, and how many messages have none."""
    moment, thread = launched
    # Backwards in time the next one is the last before.
    kernel = _last_before((records["location"], -records["end"]), (thread, -moment))
    fits = kernel >= 0
    fits[fits] = kernels["kind"][kernel[fits]] == UNTOLD
    replaced = kernel[fits]
    kept = np.setdiff1d(np.arange(len(moment)), replaced)
    merged = {
        name: np.concatenate(
            [column[kept], records[name][fits] if name in _TOLD_FIELDS else column[replaced]]
        )
        for name, column in kernels.items()
    }  # fmt: skip
    return merged, int((~fits).sum())


def _last_before(queries: tuple[Ints, Ints], entries: tuple[Ints, Ints]) -> Ints:
    """Return for each wanted thread and time the last entry of that thread that is not later; -1 if none is."""
    order = np.lexsort((entries[1], entries[0]))
    threads = entries[0][order]
    first = np.searchsorted(threads, np.arange(threads.max(initial=-1) + 2))
    index = last_not_after(first, entries[1][order], queries[0], queries[1])
    return np.asarray(np.append(order, -1)[index])


class _ExactEvent(msgspec.Struct, gc=False):
    ph: str = ""
    ts: Decimal | None = Decimal(MISSING)  # None of a NaN
    dur: Decimal | None = Decimal(0)


_EXACT = msgspec.json.Decoder(list[_ExactEvent])


class TimeError(Exception):
    """An event of a piece has no usable time."""


class Numbering(dict[K, int], Generic[K]):
    """Numbers from 0 for keys in the order in which they are met."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, key: K) -> int:
        if self._most is not None and len(self) >= self._most:
            return self._most
        code = self[key] = len(self)
        return code


class EventColumns:
    """All events that last, in 41 bytes each: X has its duration, B and E begin and end one; others are counted."""

    def __init__(self) -> None:
        self.locations: Numbering[tuple[int | str, int | str]] = Numbering()
        self.names: Numbering[str] = Numbering(_MOST_NAMES)
        self.categories: Numbering[str] = Numbering(_MOST_NAMES)
        self.passed_over: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()  # sums of counters over profiler ranges
        self.notes: list[str] = []
        self._first_wrong: TraceEvent | None = None
        self._n_wrong = 0
        self.of_library = LibraryEvents()
        # They grow in place, where pieces would need as much memory again to become one array.
        self._columns = {name: bytearray() for name in _TYPES}

    def add(self, events: list[TraceEvent], text: bytes) -> None:
        phases = [event.ph for event in events]
        rows = events
        # Nearly all traces have complete events only, which need no sorting out.
        if is_mixed := phases.count("X") < len(phases):
            kinds = Counter(phases)
            if others := kinds.keys() - _DURATIONS:
                self.passed_over.update({kind: kinds[kind] for kind in others})
                rows = [event for event in events if event.ph in _DURATIONS]
        if not rows:
            return
        start, duration = times_of(rows, text)
        if (wrong := duration < 0).any():
            self._first_wrong = self._first_wrong or rows[int(np.argmax(wrong))]
            self._n_wrong += int(wrong.sum())
            rows = [rows[k] for k in np.flatnonzero(~wrong).tolist()]
            start, duration = start[~wrong], duration[~wrong]
        threads = zip([event.pid for event in rows], [event.tid for event in rows], strict=True)
        columns = {
            "phase": "".join([event.ph for event in rows]).encode() if is_mixed else b"X" * len(rows),
            "location": np.fromiter(map(self.locations.__getitem__, threads), np.int32, len(rows)),
            "name": np.array([self.names[event.name or _NO_NAME] for event in rows], np.int32),
            "category": np.array([self.categories[event.cat] for event in rows], np.int32),
            "start": start,
            "end": start + duration,
            "correlation": np.fromiter(map(correlation_of, rows), np.int64, len(rows)),
        }
        self.of_library.add(rows, columns, self.names)
        if COUNTED in self.categories:
            self._count([event for event in rows if event.cat == COUNTED])
        for name, values in columns.items():
            self._columns[name].extend(values)

    def _count(self, ranges: list[TraceEvent]) -> None:
        self.passed_over[COUNTED] += len(ranges)
        for event in ranges:
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                counters = msgspec.json.decode(event.args, type=dict[str, Any])
                self.counted.update({name: n for name, n in counters.items() if type(n) in (int, float)})

    def launches(self) -> tuple[Ints, Ints, Codes]:
        """Return sorted correlations of the calls that launch work, when each returned, and on which location."""
        is_call = np.array([*(name.lower() in CALLS for name in self.categories), False])
        columns = {name: np.frombuffer(self._columns[name], _TYPES[name]) for name in _TYPES}
        calls = is_call[columns["category"]] & (columns["correlation"] >= 0) & (columns["phase"] == _COMPLETE)
        return first_calls(*(columns[name][calls] for name in ("correlation", "end", "location")))

    def intervals(self, is_wanted: Callable[[str], bool]) -> dict[str, npt.NDArray[Any]]:
        """Hand over the intervals of the categories that are wanted."""
        chosen = np.array([is_wanted(name) for name in [*self.categories, MORE_NAMES]])
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.frombuffer(column, _TYPES[name]) for name, column in self._columns.items()
        }
        self._columns = {}
        if (wrong := self._first_wrong) is not None:
            self.notes.append(
                f"{WARNING}left out, without a time or with a negative duration: {self._n_wrong} events (the first: "
                f"{wrong.name[:60]!r} at {wrong.ts} us, duration {wrong.dur} us)"
            )
        complete = columns["phase"] == _COMPLETE
        # Partners are found first: an end need not repeat the category of its beginning.
        kept = chosen[columns["category"]] | ~complete
        if not kept.all():
            complete = complete[kept]
            columns = {name: columns.pop(name)[kept] for name in _TYPES}
        if complete.all():
            return columns
        paired = self._paired({name: column[~complete] for name, column in columns.items()}, int(columns["end"].max()))
        mask = chosen[paired["category"]]
        return {name: np.concatenate([columns.pop(name)[complete], paired[name][mask]]) for name in _TYPES}

    def _paired(self, columns: dict[str, npt.NDArray[Any]], end: int) -> dict[str, npt.NDArray[Any]]:
        """Return intervals of begin and end events; those without an end last until that of the trace."""
        begins = columns["phase"] == ord("B")
        order, partner = pair_events(columns["location"], columns["start"], begins)
        columns = {name: column[order] for name, column in columns.items()}
        begins = begins[order]
        columns["end"] = np.where(partner >= 0, columns["start"][partner], end)
        if n_open := int((begins & (partner < 0)).sum()):
            self.notes.append(f"{WARNING}{n_open} begin events have no end: they last until the end of the trace")
        if n_ends := int((~begins & (partner < 0)).sum()):
            self.notes.append(f"{n_ends} end events without a begin passed over")
        return {name: column[begins] for name, column in columns.items()}


def times_of(events: list[TraceEvent], text: bytes, rows: Sequence[int] | None = None) -> tuple[Ints, Ints]:
    """Return begin and duration, in nanoseconds, of the events of a text with durations, or of those in some rows."""
    start = _nanoseconds([event.ts for event in events], text)
    duration = _nanoseconds([event.dur for event in events], text)
    if start is not None and duration is not None:
        return start, duration
    try:
        exact = _EXACT.decode(text)
    except msgspec.ValidationError as error:  # an event has one time twice, or spaces in it
        raise TimeError(f"a time is no number of microseconds ({error})") from None
    exact = [event for event in exact if event.ph in _DURATIONS] if rows is None else [exact[row] for row in rows]
    durations = [-1 if event.ts is None or event.dur is None else _exactly(event.dur) for event in exact]
    return np.array([0 if event.ts is None else _exactly(event.ts) for event in exact]), np.array(durations)


def correlation_of(event: TraceEvent) -> int:
    """Return the number that a launch and what it launches have in common; -1 for all else."""
    if event.cat.lower() not in _CORRELATED:
        return -1
    match = _CORRELATION.search(event.args)
    return -1 if match is None else int(match[1])


def _nanoseconds(values: list[int | float | str | None], text: bytes) -> Ints | None:
    """Return whole nanoseconds of microseconds that were read from a text; None if doubles cannot tell them exactly."""
    try:
        column = np.array(values, np.float64)
    except OverflowError:
        return None
    except ValueError:
        wrong = next(value for value in values if isinstance(value, str) and not is_number(value))
        raise TimeError(f"{wrong[:40]!r} is no time in microseconds") from None
    if np.abs(column).max() < _EXACT_US:
        nearest: Ints = np.rint(column * _NS_PER_US).astype(np.int64)
        return nearest
    if np.abs(column).max() < _NEARLY_EXACT_US and not (_DIGITS.search(text) and _MORE_DIGITS.search(text)):
        whole = np.floor(column)
        return whole.astype(np.int64) * _NS_PER_US + np.rint((column - whole) * _NS_PER_US).astype(np.int64)
    integers: npt.NDArray[Any] = np.array(values)
    if integers.dtype.kind != "i" or integers.min() < -_LARGEST_US or integers.max() > _LARGEST_US:
        return None
    exact: Ints = integers.astype(np.int64) * _NS_PER_US
    return exact


def _exactly(value: Decimal) -> int:
    """Return whole nanoseconds of microseconds."""
    if value == MISSING:
        raise TimeError("an event has no time 'ts'")
    if not (value.is_finite() and abs(value) < _LARGEST_US):
        raise TimeError(f"time {str(value)[:40]!r} is beyond 64 bits of nanoseconds")
    return round(value * _NS_PER_US)
