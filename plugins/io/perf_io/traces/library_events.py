"""Collectives, sends and receives of NCCL and RCCL, taken while PyTorch's traces are read.

A kernel of the library says in its arguments what it transfers, among whom and as which operation of its process group;
where it does not, the operation of the host that launched it may: ``record_param_comms`` with the same arguments, or,
of older versions, an annotation such as ``nccl:all_reduce`` with the shapes of its input, within an operation such as
``c10d::_allgather_base_`` with those of its output, too. Bytes are those that the rank puts in or gets out, whichever
are more: elements times the size of their type.

Source: PyTorch, ``torch/csrc/profiler/util.cpp`` (``saveNcclMeta``, which abbreviates ranks of groups beyond 30), and
Kineto, ``libkineto/src/output_json.cpp``.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_traces.messages.matching import COLLECTIVE, COLUMNS, ITSELF, RECEIVE, SEND, UNTOLD, RankCalls
from perfcore.base.arrays import Ints

if TYPE_CHECKING:
    from perf_io.traces.json_array import TraceEvent


_OF_LIBRARY = re.compile(r"nccl|rccl|record_param_comms$|c10d::", re.IGNORECASE)
_NAMED = b'"Collective name"'
_HOST, _ANNOTATED, _CALLED = "record_param_comms", "nccl:", "c10d::"
_FIELDS = (
    "host", "location", "start", "end", "correlation", "kind", "operation", "group", "size", "number", "bytes", "peer",
)  # fmt: skip
_TOLD_FIELDS = _FIELDS[5:]
_KERNEL, _RECORD, _ANNOTATION, _CALL = range(4)  # what ``host`` says
_KINDS = {"send": SEND, "recv": RECEIVE}
_NO_DATA = frozenset({"wait", "init", "finalize"})  # that the host records, too, and that transfer nothing
_NOT_REPLAYED = "streams of GPUs wait for the host and for one another, and the trace does not tell for what"
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
    """Arguments of an annotation."""

    shapes: list[Any] = msgspec.field(name="Input Dims", default_factory=list)
    types: list[str] = msgspec.field(name="Input type", default_factory=list)


_TOLD, _SHAPES = msgspec.json.Decoder(_Told, strict=False), msgspec.json.Decoder(_Shapes)

Columns = Mapping[str, Ints]


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
        """What an event says: who, and kind, operation, group and so on; None of one that says nothing."""
        if event.cat.lower() == "kernel":
            transfer = self._by_arguments(event.args)
            self._damaged += transfer is None and _NAMED in bytes(event.args)
            return (_KERNEL, *(transfer or (UNTOLD, self._operation("nccl kernel"), -1, -1, -1, 0, -1)))
        if event.name == _HOST:
            transfer = self._by_arguments(event.args)
            return None if transfer is None else (_RECORD, *transfer)
        if event.cat.lower().startswith("gpu") or b'"Input Dims"' not in bytes(event.args):
            return None
        name = event.name.split()[0]
        if name.startswith(_CALLED):
            return _CALL, COLLECTIVE, 0, -1, -1, -1, max(_sizes(event.args), default=0), -1
        if not name.startswith(_ANNOTATED) or name.removeprefix(_ANNOTATED) in _KINDS:
            return None  # the group of sends and receives is not recorded
        sizes = _sizes(event.args)
        n_bytes = min(sum(sizes), _MOST_BYTES) if sizes and min(sizes) >= 0 else _UNKNOWN
        return _ANNOTATION, COLLECTIVE, self._operation(name), -1, -1, -1, n_bytes, -1

    def _operation(self, name: str) -> int:
        if len(self._operations) >= _MOST_NAMES:
            name = next(iter(self._operations))
        return self._operations.setdefault(name, len(self._operations))

    def _by_arguments(self, text: msgspec.Raw) -> tuple[int, ...] | None:
        """By arguments; None where they say nothing of a transfer, or are damaged."""
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
        n_bytes = _bytes_of(arguments.type, max(elements))
        return kind, self._operation(_ANNOTATED + arguments.name), group, size, number, n_bytes, peer

    def rank_calls(
        self, launches: Sequence[npt.NDArray[Any]], place: npt.NDArray[np.int64], first: int
    ) -> RankCalls | None:
        """Kernels of streams that are locations of the trace, with what is recorded of them; None where nothing is."""
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
        unknown = sizes == _UNKNOWN
        sizes[unknown] = 0
        n_untold = int((kernels["kind"] == UNTOLD).sum())
        if n_untold == len(sizes):
            return None
        kernels |= {
            "location": place[kernels["location"]],
            "enter_ns": kernels["start"] - first,
            "leave_ns": kernels["end"] - first,
            "tag": np.zeros(len(sizes), np.int64),
            "done": np.full(len(sizes), ITSELF, np.int64),
        }
        unmatched = {
            "kernels of NCCL do not say what they transfer": n_untold,
            "descriptions of transfers are damaged": self._damaged,
            "transfers are of an unknown size or type, and their bytes count as 0": int(unknown.sum()),
            "sends or receives have no kernel of their own": alone,
        }
        columns = np.column_stack([kernels[name] for name in COLUMNS])
        return RankCalls(columns, tuple(self._operations), tuple(self._groups), unmatched, _NOT_REPLAYED)


def _sizes(text: msgspec.Raw) -> list[int]:
    """Bytes of each tensor whose shape is known; nothing where they are damaged."""
    try:
        arguments = _SHAPES.decode(text)
        pairs = zip(arguments.shapes, arguments.types, strict=False)
        return [_bytes_of(kind, _elements(shape)) for shape, kind in pairs if shape]
    except (msgspec.MsgspecError, TypeError, RecursionError):
        return []


def _elements(shape: Sequence[Any]) -> int:
    """Elements of a tensor, or of several."""
    if isinstance(shape[0], list):
        return sum(_elements(each) for each in shape if each)
    product = 1
    for length in shape:
        if not isinstance(length, int) or length < 0:
            raise TypeError(length)
        product = min(product * length, _LARGEST)
    return product


def _bytes_of(kind: str, elements: int) -> int:
    """Bytes of elements of a type, at most `_MOST_BYTES`; `_UNKNOWN` where there are any, and their type is unknown."""
    each = _BYTES.get(kind.rpartition("::")[2].replace(" ", "").lower())
    if each is None:
        return _UNKNOWN if elements else 0
    return min(each * elements, _MOST_BYTES)


def _launched(kernels: Columns, launches: Sequence[npt.NDArray[Any]]) -> tuple[Ints, Ints]:
    """When and on which thread each kernel was launched; the thread is -1 where that is not known."""
    numbers, returned, thread = launches
    count = len(kernels["start"])
    if not len(numbers):
        return np.zeros(count, np.int64), np.full(count, -1, np.int64)
    launch = np.minimum(np.searchsorted(numbers, kernels["correlation"]), len(numbers) - 1)
    has_launch = (kernels["correlation"] >= 0) & (numbers[launch] == kernels["correlation"])
    return returned[launch], np.where(has_launch, thread[launch], -1).astype(np.int64)


def _launched_within(records: Columns, launched: tuple[Ints, Ints]) -> Ints:
    """For each kernel the record of the host during which it was launched; -1 where there is none."""
    moment, thread = launched
    # Records of one thread do not overlap: the last one that began before the launch is the only one that can be meant.
    record = _last_before((thread, moment), (records["location"], records["start"]))
    is_within = (record >= 0) & (thread >= 0)
    is_within[is_within] = moment[is_within] <= records["end"][record[is_within]]
    return np.where(is_within, record, -1)


def _with_batches(kernels: Columns, records: Columns, launched: tuple[Ints, Ints]) -> tuple[dict[str, Ints], int]:
    """The kernels with one more for each message of a batch, and how many messages have none."""
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
    """For each wanted thread and time the last of those there, of the same thread and not later; -1 where none is."""
    n_entries = len(entries[0])
    thread, time = (np.concatenate(both) for both in zip(entries, queries, strict=True))
    is_query = np.arange(len(thread)) >= n_entries
    order = np.lexsort((is_query, time, thread))
    last = np.maximum.accumulate(np.where(is_query[order], -1, np.arange(len(order))))
    entry = np.empty(len(order), np.int64)
    entry[order] = np.where(last >= 0, order[last], -1)
    entry = entry[n_entries:]
    same = entry >= 0
    same[same] = entries[0][entry[same]] == queries[0][same]
    return np.where(same, entry, -1)
