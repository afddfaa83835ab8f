"""rocprofv3's JSON (``rocprofv3 --output-format json``), read as the same trace by PyTorch's profiler.

Kernels and copies are work of GPU streams, or of queues; calls of HIP and HSA launch it. Ranges of ROCTx are markers,
those of a thread, and calls of RCCL, operators too. Source: ROCprofiler-SDK, "Using rocprofv3", and the fields of
``lib/output/generateJSON.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from perf_io.options import GpuOptions
from perf_io.text import decode_document
from perf_io.traces.chrome import ChromeReader
from perf_io.traces.converted import Converted, Row
from perfcore.base.errors import InputError
from perfcore.data.trace import Trace
from perfcore.reading.source import Reader, Source

_KEY = "rocprofiler-sdk-tool"
_LARGEST, _GPU = 1 << 30, (2, "GPU")  # bytes, types of agents
_CALLS = {"hip_api": "hip_runtime", "hsa_api": "hip_driver", "rccl_api": "cpu_op"}
_OF_THREADS = ("roctxThreadRange", "roctxRangePush")


class _Id(msgspec.Struct, frozen=True):
    handle: int = 0
    internal: int = 0


class _Dispatch(msgspec.Struct):
    agent_id: int | _Id = 0
    queue_id: int | _Id = 0
    kernel_id: int = -1


class _Record(msgspec.Struct):
    start_timestamp: int
    end_timestamp: int
    kind: int | str = ""
    operation: int | str = ""
    thread_id: int = 0
    correlation_id: int | _Id = 0
    stream_id: int | _Id | None = None
    src_agent_id: int | _Id = 0
    dst_agent_id: int | _Id = 0
    dispatch_info: _Dispatch | None = None


class _Entry(msgspec.Struct):
    """An agent, a kernel, the names of a kind of records, or a message."""

    id: int | _Id = 0
    type: int | str = 0
    name: str = ""
    product_name: str = ""
    kernel_id: int = -1
    formatted_kernel_name: str = ""
    kernel_name: str = ""
    kind: str = ""
    operations: list[str] = []
    key: int = 0
    value: str = ""


class _Names(msgspec.Struct):
    buffer_records: list[_Entry] = []
    marker_api: list[_Entry] = []


class _Records(msgspec.Struct):
    kernel_dispatch: list[_Record] = []
    memory_copy: list[_Record] = []
    hip_api: list[_Record] = []
    hsa_api: list[_Record] = []
    rccl_api: list[_Record] = []
    marker_api: list[_Record] = []


class _Process(msgspec.Struct):
    metadata: dict[str, Any] = {}
    agents: list[_Entry] = []
    strings: _Names = msgspec.field(default_factory=_Names)
    kernel_symbols: list[_Entry] = []
    buffer_records: _Records = msgspec.field(default_factory=_Records)


class RocprofReader(ChromeReader):
    """Read kernels and copies of GPU streams, or calls of HIP and HSA of threads, with ranges of ROCTx."""

    Options = GpuOptions  # type: ignore[assignment]
    writes: ClassVar[bool] = False

    sniff = Reader.sniff

    def read(self, source: Source, options: GpuOptions) -> Trace:  # type: ignore[override]
        return super().read(self.convert(source), GpuOptions(locations=options.locations))

    def convert(self, source: Source) -> Source:
        """Return what Kineto would have written."""
        processes = decode_document(source, dict[str, list[_Process]], "JSON of rocprofv3", _LARGEST).get(_KEY, [])
        if len(processes) != 1:
            raise InputError(source.name, f"holds {len(processes)} processes; give the file of one")
        gpus = [agent for agent in processes[0].agents if agent.type in _GPU]
        rows = list(_rows(processes[0], {_number(gpu.id): number for number, gpu in enumerate(gpus)}))
        names = {number: gpu.product_name or gpu.name for number, gpu in enumerate(gpus)}
        return Converted(
            source, rows, names, "kernel dispatches, copies or calls; `rocprofv3 --runtime-trace` records them"
        )


def _number(identifier: int | _Id | None) -> int:
    return identifier.handle or identifier.internal if isinstance(identifier, _Id) else identifier or 0


def _rows(process: _Process, gpus: dict[int, int]) -> Iterator[Row]:
    pid, records = str(process.metadata.get("pid", 0)), process.buffer_records  # a text is no number of a GPU
    kinds, messages = process.strings.buffer_records, {each.key: each.value for each in process.strings.marker_api}
    kernels = {each.kernel_id: each.formatted_kernel_name or each.kernel_name for each in process.kernel_symbols}

    def named(record: _Record) -> tuple[str, str]:
        kind, operation = record.kind, record.operation
        entry = kinds[kind] if isinstance(kind, int) and 0 <= kind < len(kinds) else _Entry(kind=str(kind))
        if isinstance(operation, int):
            in_list = 0 <= operation < len(entry.operations)
            operation = entry.operations[operation] if in_list else f"operation {operation}"
        return entry.kind, operation

    def row(record: _Record, category: str, name: str, pid: int | str, tid: int | str) -> Row:
        start = record.start_timestamp
        end = record.end_timestamp if start > 0 else start - 1
        return category, name, pid, tid, start, end, _number(record.correlation_id)

    work = [*records.kernel_dispatch, *records.memory_copy]
    streams = {_number(record.stream_id) for record in work if record.stream_id is not None}
    queues = {_number(record.dispatch_info.queue_id) for record in work if record.dispatch_info}
    # Programs without HIP run on queues, and their stream is always 0.
    by_stream = bool(streams) and (streams != {0} or len(queues) < 2)
    for record in work:
        dispatch = record.dispatch_info
        agents = [dispatch.agent_id] if dispatch else [record.dst_agent_id, record.src_agent_id]
        gpu = next((gpus[_number(agent)] for agent in agents if _number(agent) in gpus), 0)
        tid = _number(record.stream_id) if by_stream else _number(dispatch.queue_id) if dispatch else "copies"
        name = kernels.get(dispatch.kernel_id) or f"kernel {dispatch.kernel_id}" if dispatch else named(record)[1]
        yield row(record, "kernel" if dispatch else "gpu_memcpy", name, gpu, tid)
    for key, category in _CALLS.items():
        for record in getattr(records, key):
            yield row(record, category, named(record)[1], pid, record.thread_id)
    for record in records.marker_api:
        kind, operation = named(record)
        message = messages.get(_number(record.correlation_id))  # ends of ranges and control of the profiler have none
        if message is not None and kind.startswith("MARKER_CORE"):
            for category in ("user_annotation", "cpu_op")[: 1 + operation.startswith(_OF_THREADS)]:
                yield row(record, category, message, pid, record.thread_id)
