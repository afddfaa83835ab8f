"""Tables of GPU profilers: events of rocprofv3 and of Nsight Systems in CSV, and sums by kernel.

Events are read as the JSON of the same run is (`perf_io.traces.rocprofv3`); sums are a profile of kernels. Sources:
ROCprofiler-SDK, "Using rocprofv3"; Nsight Systems, "nsys stats"; PyTorch, ``torch/autograd/profiler_util.py``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from perf_io.results.result_table import Found, ResultReader
from perf_io.text import csv_fields, numbered_lines
from perf_io.traces.converted import Converted, Row
from perf_io.traces.rocprofv3 import RocprofReader
from perfcore.base.errors import InputError
from perfcore.data.units import NANOSECONDS, split_unit
from perfcore.reading.recognise import natural_order
from perfcore.reading.source import Source

_TO_HOST = ("DEVICE_TO_HOST", "Device-to-Host")
_EXACT = re.compile(r"[+-]?[0-9]{1,18}")
_IN_BRACKETS = re.compile(r"\[CUDA (?P<what>memcpy|memset)\b")
# `key_averages().table()` of PyTorch's profiler: fields are two blanks or more apart, times have units.
_TORCH = re.compile(rb"[-\s]*Name {2,}(?:Self CPU|CPU total)")
_NSYS = re.compile(rb'^[ \t]*"?Time ?\(%\)"?(?:,| {2,})"?Total Time(?: \((?P<unit>\w+)\))?"?(?:,| {2,})', re.MULTILINE)
_WITH_UNIT = re.compile(r"([0-9.]+)([num]?s)")
_TOTAL = ("Total Time", "TotalDurationNs", "TotalDuration")
_CALLS, _KERNELS = ("Instances", "Num Calls", "Count", "Calls"), ("Name", "Operation", "Range")


@dataclass(frozen=True)
class _Events:
    """A table of events: the columns of an event. Empty ones are not recorded."""

    start: str
    end: str = ""
    duration: str = ""
    name: Sequence[str] = ()  # the first that the table has
    device: Sequence[str] = ()  # of work of a GPU; the first that is one
    stream: str = ""
    queue: str = ""
    thread: str = ""  # of calls
    correlation: str = ""
    category: str = ""  # else by the names: copies and memsets are in square brackets


# Tables that rocprofv3 writes of one process, ``PID_kernel_trace.csv`` and more, of which these tell times.
_ANCHOR = "kernel_trace.csv"
_TIMED = ("memory_copy_trace.csv", "hip_api_trace.csv", "hsa_api_trace.csv", "rccl_api_trace.csv",
          "marker_api_trace.csv")  # fmt: skip
_UNTIMED = (
    "agent_info.csv", "counter_collection.csv", "domain_stats.csv", "kernel_stats.csv", "memory_allocation_trace.csv",
    "scratch_memory_trace.csv", *(each.replace("_trace", "_stats") for each in _TIMED),
)  # fmt: skip
_OF_NSYS = {"cuda_gpu_trace.csv": "cuda_api_trace.csv"}  # reports of nsys stats, as NAME_cuda_gpu_trace.csv
# Categories by the domain of a call; ranges of ROCTx are markers, too.
_DOMAINS = {"HSA": ("hip_driver",), "RCCL": ("cpu_op",), "MARKER_CORE": ("user_annotation", "cpu_op"), "MARKER": ()}

_EVENTS = (
    _Events(
        "Start_Timestamp", "End_Timestamp", name=("Kernel_Name",), device=("Agent_Id",), stream="Stream_Id",
        queue="Queue_Id", correlation="Correlation_Id", category="kernel",
    ),
    _Events(
        "Start_Timestamp", "End_Timestamp", name=("Direction", "Operation", "Name"),
        device=("Destination_Agent_Id", "Source_Agent_Id"), stream="Stream_Id", correlation="Correlation_Id",
        category="gpu_memcpy",
    ),
    _Events(
        "Start_Timestamp", "End_Timestamp", name=("Function",), thread="Thread_Id", correlation="Correlation_Id",
        category="hip_runtime",
    ),
    _Events("BeginNs", "EndNs", name=("KernelName",), device=("gpu-id",), queue="queue-id", category="kernel"),
    _Events(
        "Start", duration="Duration", name=("Name",), device=("Device",), stream="Strm", correlation="CorrId",
    ),
    _Events(
        "Start", duration="Duration", name=("Name",), thread="Tid", correlation="CorrID", category="cuda_runtime",
    ),
    _Events("Start", duration="Duration", name=("Name",), device=("Device",), stream="Stream"),  # of nvprof
)  # fmt: skip


class GpuTableReader(RocprofReader):
    """Read kernels and copies of GPU streams from CSV of ``rocprofv3``, rocprof, ``nsys stats`` and nvprof.

    With ``PID_kernel_trace.csv`` or ``NAME_cuda_gpu_trace.csv`` the tables of copies, calls and ranges next to it are
    read: they are one trace.
    """

    parts: ClassVar[tuple[str, ...]] = (*_TIMED, *_UNTIMED, *_OF_NSYS.values())
    anchors: ClassVar[tuple[str, ...]] = (_ANCHOR, *_OF_NSYS)

    def convert(self, source: Source) -> Source:
        if not self.sniff(source):
            raise InputError(source.name, "is no table of GPU events", line=1)
        tables = list(self._tables(source))
        devices = {_device(record, form) for _, form, records in tables for _, record in records}
        numbers = {device: number for number, device in enumerate(sorted(devices - {""}, key=natural_order))}
        streams = {record[form.stream] for _, form, records in tables for _, record in records if form.stream in record}
        queues = {record[form.queue] for _, form, records in tables for _, record in records if form.queue in record}
        # Programs without streams run on queues, and their stream is always 0.
        by_stream = bool(streams) and (streams != {"0"} or len(queues) < 2)
        rows = [
            row
            for of, form, records in tables
            for line, record in records
            for row in _rows(of, line, record, form, numbers, form.stream if by_stream else form.queue)
        ]
        names = {number: device for device, number in numbers.items()}
        return Converted(source, rows, names, "kernels, copies or calls")

    def _tables(self, source: Source) -> Iterator[tuple[Source, _Events, list[tuple[int, dict[str, str]]]]]:
        """Yield the table and those that belong to it, each with its form and records."""
        name = source.path.name
        parts_of = (
            {} if source.is_stdin else {_ANCHOR: _TIMED, **{events: [calls] for events, calls in _OF_NSYS.items()}}
        )
        others = [source.path.with_name(name.removesuffix(anchor) + each) for anchor, parts in parts_of.items()
                  if name.endswith(anchor) for each in parts]  # fmt: skip
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(Source(path)) for path in others if path.is_file()]
            for each in [source, *(one for one in opened if self.sniff(one))]:
                records = list(_records(each))
                columns = records[0][1] if records else {}
                shown = (form for form in _EVENTS if {form.start, form.correlation or form.start} <= columns.keys()
                         and not columns.keys().isdisjoint(form.name))  # fmt: skip
                yield each, next(shown, _EVENTS[0]), records


def _records(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and fields of each row by their headings, without units in brackets; times are in ns."""
    lines = numbered_lines(source)
    # `nsys stats` and nvprof say above what they do, without commas.
    first, heading = next((row for row in lines if row[1].count(",") > 1), (1, ""))
    headings = [name.strip() for name in csv_fields(heading, source.name, first)]
    split = [split_unit(name) if name.endswith(")") else (name, None) for name in headings]
    to_ns = {bare: round(unit.factor * 1e9) for bare, unit in split if unit is not None and unit.kind == "time"}
    for line, text in lines:
        if not text.strip():
            continue
        fields = csv_fields(text, source.name, line)
        if len(fields) != len(headings):
            raise InputError(source.name, f"has {len(fields)} fields for {len(headings)} columns", line=line)
        record = {bare: field.strip() for (bare, _), field in zip(split, fields, strict=True)}
        if (factor := NANOSECONDS.get(record.get("Start", ""))) is not None:  # units below the headings, of nvprof
            to_ns = dict.fromkeys(("Start", "Duration"), factor)
            continue
        for name, factor in to_ns.items():
            if factor != 1 and (number := _number(record[name])) is not None:
                record[name] = str(round(number * factor))
        yield line, record


def _device(record: Mapping[str, str], form: _Events) -> str:
    """Return the GPU of work: of copies the source if they go to the host, whose agent may have but a number."""
    present = [record[name] for name in form.device if record.get(name)]
    if any(record.get(name, "").endswith(_TO_HOST) for name in form.name):
        present.reverse()
    return next((device for device in present if "CPU" not in device), "")


def _rows(
    source: Source, line: int, record: Mapping[str, str], form: _Events, numbers: Mapping[str, int], place: str
) -> Iterator[Row]:
    start = _whole(source, line, record, form.start)
    length = form.duration or form.end
    end = _whole(source, line, record, length) + (start if form.duration else 0)
    name = next((record[key] for key in form.name if record.get(key)), "")
    if form.category == "gpu_memcpy" and "_TO_" in name:  # rocprofv3 of ROCm 6.2 wrote no more than the direction
        name = f"MEMORY_COPY_{name.removeprefix('MEMORY_COPY_')}"
    in_brackets = _IN_BRACKETS.match(name)
    category = form.category or (f"gpu_{in_brackets['what']}" if in_brackets else "kernel")
    identifier = record.get(form.correlation, "")
    correlation = int(identifier) if _EXACT.fullmatch(identifier) else 0
    if form.thread:
        domain = record.get("Domain", "")
        categories = next((each for key, each in _DOMAINS.items() if domain.startswith(key)), (category,))
        for each in categories:
            yield each, name, "0", record.get(form.thread, "0"), start, end, correlation
    else:
        gpu = numbers.get(_device(record, form), 0)
        yield category, name, gpu, record.get(place) or "copies", start, end, correlation


def _whole(source: Source, line: int, record: Mapping[str, str], name: str) -> int:
    text = record.get(name, "")
    if _EXACT.fullmatch(text) is None:
        raise InputError(source.name, f"{name} {text[:40]!r} is no whole number of nanoseconds", line=line)
    return int(text)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None


class GpuSummaryReader(ResultReader):
    """Read total time and calls of each kernel, copy or call.

    Choose it for ``nsys stats --report cuda_gpu_kern_sum``, rocprof's ``results.stats.csv``, and PyTorch's
    ``prof.key_averages().table()``: kernels if any ran, else the own times of operators.
    """

    value: ClassVar[str] = "time"
    unit: ClassVar[str | None] = "ns"
    category: ClassVar[Sequence[str]] = ("kernel",)

    def _content(self, source: Source) -> Any:
        if _NSYS.search(source.head):
            return _nsys_records(source)
        return _torch_records(source) if _TORCH.match(source.head) else _records(source)

    def _take(self, content: Any, found: Found, options: Any) -> None:
        for line, record in content:
            columns = (next((key for key in keys if key in record), "") for keys in (_TOTAL, _CALLS, _KERNELS))
            total, calls, name = (record.get(column, "") for column in columns)
            row = {"kernel": name, "time": found.number(total, "total time", line)}
            found.add(row | {"calls": found.number(calls, "calls", line)}, line=line)


def _nsys_records(source: Source) -> list[tuple[int, dict[str, str]]]:
    """Return the line and fields of kernels in what ``nsys stats`` prints or writes; of the first table without any."""
    title, headings, has_commas, factor = "", list[str](), False, 1
    tables: dict[str, list[tuple[int, dict[str, str]]]] = {}

    def cells() -> list[str]:
        return csv_fields(text, source.name, line) if has_commas else re.split(r"\s{2,}", text.strip())

    for line, text in numbered_lines(source):
        if match := _NSYS.match(text.encode()):
            has_commas, factor = "," in text, NANOSECONDS.get((match["unit"] or b"ns").decode(), 1)
            headings = [re.sub(r" \(\w+\)$", "", name.strip()) for name in cells()]
            tables[title] = []
        elif not text.strip():
            headings = headings if not tables.get(title) else []
        elif text.lstrip().startswith("**"):
            title, headings = text, []
        elif headings and text.strip(" -"):
            fields = [field.replace(",", "") if re.fullmatch(r"[0-9,.]+", field) else field for field in cells()]
            if len(fields) != len(headings):
                problem = f"has {len(fields)} fields for {len(headings)} columns; cut short?"
                raise InputError(source.name, problem, line=line)
            record = dict(zip(headings, fields, strict=True))
            if factor != 1 and (number := _number(record["Total Time"])) is not None:
                record["Total Time"] = str(number * factor)
            tables[title].append((line, record))
    return next((rows for name, rows in tables.items() if "kern" in name), next(iter(tables.values())))


def _torch_records(source: Source) -> list[tuple[int, dict[str, str]]]:
    """Return line and fields of kernels, with their own time in nanoseconds; of operators if no kernel ran."""
    headings, records = list[str](), list[tuple[int, dict[str, str]]]()
    for line, text in numbered_lines(source):
        cells = re.split(r"\s{2,}", text.strip())
        if not headings:
            headings = cells[: cells.index("# of Calls") + 1] if {"Name", "# of Calls"} <= {*cells} else []
        elif not text.strip(" -"):
            continue
        elif len(cells) >= len(headings):
            records.append((line, dict(zip(headings, cells, strict=False))))
        elif len(cells) > 1:
            raise InputError(source.name, f"has {len(cells)} fields for {len(headings)} columns; cut short?", line=line)

    def own_ns(record: Mapping[str, str], heading: str) -> float:
        match = _WITH_UNIT.fullmatch(record.get(heading, ""))
        return float(match[1]) * NANOSECONDS[match[2]] if match else 0.0

    device = next((h for h in headings if h.startswith("Self ") and not h.endswith(("%", "Mem", "CPU"))), "")
    on_device = [each for each in records if own_ns(each[1], device) > 0.0]
    kernels = [each for each in on_device if own_ns(each[1], "Self CPU") == 0.0]
    measured = device if on_device else "Self CPU"
    return [
        (line, {"Name": record["Name"], "Calls": record["# of Calls"], "Total Time": str(own_ns(record, measured))})
        for line, record in kernels or on_device or records
    ]
