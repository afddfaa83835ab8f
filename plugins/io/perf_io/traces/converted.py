"""Traces of other formats as Kineto would have written them: work of GPUs, its launches, and what is around these.

JSON of JAX and of rocprof v1 has no categories: processes of GPUs have names, ``/device:GPU:0`` and ``GPU0``. Lanes of
JAX that repeat its streams are passed over; without streams, ``XLA Ops`` holds the work. Calls and work have a
correlation id, or a flow from the end of the call to the begin of the work.
Source: OpenXLA, ``trace_events_to_json.cc``; ROCm/rocprofiler, ``bin/tblextr.py``.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from perf_io.traces.json_array import ArrayPieces
from perfcore.base.errors import InputError
from perfcore.reading.source import HEAD_BYTES, Source

# Category, name, pid, tid, start, end, and the correlation number or all arguments.
Row = tuple[str, str, int | str, int | str, int, int, int | dict[str, Any]]
_BY_PROCESS = re.compile(rb'"name"\s*:\s*"(?:/device:[GT]PU:[0-9]|CPU H(?:IP|SA) API"|GPU[0-9]+")')
_DEVICE, _COPIES = re.compile(r"(?:/device:[GT]PU:|GPU)([0-9]{1,9})\b.*"), "COPY"
_COPY = re.compile("mem(cpy|set)", re.IGNORECASE)
_OF_CALLS = {"CPU HIP API": "hip_runtime", "CPU HSA API": "hip_driver", "Markers and Ranges": "user_annotation"}


class Converted(Source):
    """A file with other content: events, and names of GPUs. Times count from ``base``, or from the first event."""

    def __init__(
        self, source: Source, rows: Iterable[Row], gpus: dict[int, str], content: str, base: int | None = None
    ) -> None:
        self.name, self.suffix = source.name, source.suffix
        if base is None:
            rows = list(rows)
            base = min((start for *_, start, end, _ in rows if end >= start), default=None)
        if base is None:
            raise InputError(source.name, f"holds no {content}")
        described = [{"id": number, "name": name} for number, name in gpus.items()]
        facts = msgspec.json.encode({"baseTimeNanoseconds": base, "deviceProperties": described})
        text, encode = io.BytesIO(), msgspec.json.Encoder().encode  # which hands over its buffer without a copy
        text.write(facts[:-1] + b',"traceEvents":[')
        for number, (category, name, pid, tid, start, end, args) in enumerate(rows):
            text.write(b"," * (number > 0) + encode({
                "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": (start - base) / 1000,
                "dur": (end - start) / 1000,
                "args": args if isinstance(args, dict) else {"correlation": args} if args > 0 else {},
            }))  # fmt: skip
        text.write(b"]}")
        self._text = text.getvalue()
        self.head = self._text[:HEAD_BYTES]

    @contextlib.contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        yield io.BufferedReader(io.BytesIO(self._text))  # type: ignore[arg-type]


class _Arguments(msgspec.Struct, gc=False):
    name: Any = None
    pid: Any = None
    begin: Any = msgspec.field(name="BeginNs", default=None)
    end: Any = msgspec.field(name="EndNs", default=None)
    device: Any = msgspec.field(name="dev-id", default=0)
    stream: Any = msgspec.field(name="stream-id", default=None)
    correlation: Any = msgspec.field(name="correlation_id", default=None)
    step: Any = msgspec.field(name="step_num", default=None)


class _Event(msgspec.Struct, gc=False):
    """What is read of each event; rocprof writes numbers as texts."""

    ph: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: float = 0.0
    dur: float = 0.0
    id: int | str = 0
    args: _Arguments | None = None


_EVENTS = msgspec.json.Decoder(list[_Event], strict=False)


def by_process(source: Source) -> Source:
    """Return what Kineto would have written of a file whose GPUs are known by their processes; else the file."""
    if not _BY_PROCESS.search(source.head):
        return source
    with source.open() as stream:
        array = ArrayPieces(stream, source.name, "traceEvents")
        rows = list(_rows([event for events, _ in array.decoded(_EVENTS) for event in events]))
    return Converted(source, rows, {}, "events that last")


def _rows(events: list[_Event]) -> Iterator[Row]:
    processes, threads, flows = dict[str, str](), dict[tuple[str, str], str](), dict[tuple[str, str, float], int]()
    numbers: dict[Any, int] = {}
    for event in events:
        key = str(event.pid), str(event.tid)
        if event.ph == "M" and event.args is not None:
            title = str(event.args.name)
            if event.name == "process_name":
                processes[key[0]] = title
            elif event.name == "thread_name":
                threads[key] = title
        elif event.ph in ("s", "t", "f"):
            flows[*key, event.ts] = numbers.setdefault(event.id, len(numbers) + 1)
    with_streams = {pid for (pid, _), title in threads.items() if title.startswith("Stream")}
    for event in events:
        if event.ph != "X":
            continue
        args = event.args or _Arguments()
        pid, tid = str(event.pid), str(event.tid)
        process, title = processes.get(pid, ""), threads.get((pid, tid), "")
        times = [round(1000 * time) for time in (event.ts, event.ts + event.dur)]
        start, end = (_whole(exact, time) for exact, time in zip((args.begin, args.end), times, strict=True))
        device = _DEVICE.fullmatch(process)
        at = event.ts if device else event.ts + event.dur
        number = _whole(args.correlation, 0) or flows.get((pid, tid, at), 0)
        if device or process == _COPIES:
            work = "Stream" if pid in with_streams else "XLA Ops" if process.startswith("/device:") and title else ""
            copy = _COPY.match(event.name)
            kind = f"gpu_mem{copy[1].lower()}" if copy else "kernel" if device else "gpu_memcpy"
            gpu = _whole(device[1] if device else args.device, 0)
            if title.startswith(work):
                yield kind, event.name, gpu, (args.stream or tid) if device else "copies", start, end, number
        else:
            kinds = [_OF_CALLS.get(process, "cpu_op" if args.correlation is None else "driver")]
            for kind in kinds + ["user_annotation"] * (args.step is not None):
                yield kind, event.name, str(args.pid or process or pid), title or tid, start, end, number


def _whole(value: Any, otherwise: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return otherwise
