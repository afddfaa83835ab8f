"""XPlane files of JAX and TensorFlow (``*.xplane.pb``), read as the same trace by PyTorch's profiler.

The streams of a GPU hold its kernels and copies. Its other lines repeat these; one of them, XLA Ops, is read where no
streams are recorded, as on TPUs. Events of the host are calls where they have a correlation id, else operators; those
that have the number of a step are markers, too.
Source: OpenXLA, ``xplane.proto`` and ``xplane_schema.cc``; Protocol Buffers, "Encoding".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from perf_io.traces.converted import Converted, Row
from perf_io.traces.rocprofv3 import RocprofReader
from perfcore.base.errors import InputError
from perfcore.reading.source import Source

_DEVICE = re.compile(r"/device:[GT]PU:(\d{1,9})")
_LARGEST, _PIECE = 1 << 31, 1 << 20  # bytes of a file, and of what is read at once
_FIXED = {1: 8, 5: 4}  # bytes of integers by types of fields
# Tags (number of a field << 3 | its type) of any message; of planes; lines and events; stats.
_ID, _NAME, _VALUE, _PLANE = 0x08, 0x12, 0x12, 0x0A
_LINE, _EVENT_NAMES, _STAT_NAMES, _FACT = 0x1A, 0x22, 0x2A, 0x32
_BEGAN_NS, _EVENT, _LINE_SHOWN, _OFFSET_PS, _DURATION_PS, _STAT, _COUNT = 0x18, 0x22, 0x5A, 0x10, 0x18, 0x22, 0x28
_UNSIGNED, _SIGNED, _TEXT, _REFERENCE, _EVENT_SHOWN = 0x18, 0x20, 0x2A, 0x38, 0x22
_CORRELATION, _STEP = "correlation_id", "step_num"
_KINDS = {"memcpy_details": "gpu_memcpy", "Memset_details": "gpu_memset", "memalloc_details": "", "MemFree_details": "",
          "MemoryResidency_details": "", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}  # fmt: skip
_DESCRIPTIONS = ("gpu_device_name", "device_type_string", "device_vendor")


class XplaneReader(RocprofReader):
    """Read kernels of GPU streams, operations of TPUs, or events of the host's threads, by JAX and TensorFlow."""

    def convert(self, source: Source) -> Converted:
        data = bytearray()
        with source.open() as stream:  # in pieces: `read` would take memory for as much as it may return
            while len(data) < _LARGEST and (piece := stream.read(_PIECE)):
                data += piece
        data += bytes(2)  # which end numbers that are cut short
        gpus: dict[int, str] = {}
        try:
            planes = _Message(data, 0, len(data) - 2).each(_PLANE)
            rows = [row for plane in planes for row in _rows(plane, gpus)]
        except EOFError as error:
            raise InputError(source.name, f"is damaged or cut short: no field of an XPlane file at {error}") from None
        return Converted(source, rows, gpus, "events of GPUs, TPUs or the host")


class _Message(defaultdict[int, list[Any]]):
    """Integers, or begins and ends of texts and messages, by the tags of their fields."""

    def __init__(self, data: bytearray, at: int, end: int) -> None:
        super().__init__(list)
        self.data = data
        while at < end:
            begin = at
            tag, at = (data[at], at + 1) if data[at] < 128 else _varint(data, at)
            value, after = (data[at], at + 1) if data[at] < 128 else _varint(data, at)
            kind = tag & 7
            at = after if kind == 0 else after + value if kind == 2 else at + _FIXED.get(kind, _LARGEST)
            self[tag].append((after, at) if kind == 2 else value)
            if at > end or tag < 8:  # fields count from 1
                raise EOFError(f"byte {begin}")

    def number(self, tag: int) -> int:
        value: int = self[tag][-1] if tag in self else 0
        return value if value < 1 << 63 else value - (1 << 64)

    def text(self, tag: int) -> str:
        return self.data[slice(*self[tag][-1])].decode(errors="replace") if tag in self else ""

    def each(self, tag: int) -> Iterator[_Message]:
        return (_Message(self.data, *span) for span in self.get(tag, ()))


def _varint(data: bytearray, at: int) -> tuple[int, int]:
    """Return an integer in groups of 7 bits, the lowest first, and where it ends."""
    value = shift = 0
    while (byte := data[at]) > 127 and shift < 63:
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
    return value | byte << shift, at + 1


def _rows(plane: _Message, gpus: dict[int, str]) -> Iterator[Row]:
    """Yield events of a device or the host."""
    device = _DEVICE.fullmatch(plane.text(_NAME))
    if not device and not plane.text(_NAME).startswith("/host:"):
        return
    names, stats = (
        {entry.number(_ID): each.text(_EVENT_SHOWN) or each.text(_NAME)
         for entry in plane.each(tag) for each in entry.each(_VALUE)}
        for tag in (_EVENT_NAMES, _STAT_NAMES)
    )  # fmt: skip
    if device:
        facts = {stats.get(each.number(_ID)): each.text(_TEXT) or stats.get(each.number(_REFERENCE), "")
                 for each in plane.each(_FACT)}  # fmt: skip
        gpus[int(device[1])] = next((facts[name] for name in _DESCRIPTIONS if facts.get(name)), "")
    wanted = {number: name for number, name in stats.items() if name in {_CORRELATION, _STEP, *_KINDS}}
    first = {number % 128 | 128 if number > 127 else number for number in wanted}  # bytes of their numbers
    lines = [(line, line.text(_LINE_SHOWN) or line.text(_NAME)) for line in plane.each(_LINE)]
    work = "Stream" if any(title.startswith("Stream") for _, title in lines) else "XLA Ops"
    for line, title in lines if not device else [each for each in lines if each[1].startswith(work)]:
        began, number = line.number(_BEGAN_NS), line.number(_ID)
        place = (int(device[1]), number) if device else ("host", f"{title} {number}")
        for event in line.each(_EVENT):
            near = [(at, end) for at, end in event[_STAT] if plane.data[at] != _ID or plane.data[at + 1] in first]
            found = {wanted.get(stat.number(_ID)): stat.number(_UNSIGNED) or stat.number(_SIGNED)
                     for stat in (_Message(plane.data, *span) for span in near)}  # fmt: skip
            name, offset = names.get(event.number(_ID), ""), event.number(_OFFSET_PS) + 500
            duration = -1000 if _COUNT in event else event.number(_DURATION_PS)  # of several events
            times = began + offset // 1000, began + (offset + duration) // 1000, found.get(_CORRELATION, 0)
            kinds = ["driver" if _CORRELATION in found else "cpu_op", "user_annotation" if _STEP in found else ""]
            if device:
                kinds = [*(_KINDS[each] for each in (*found, name[:6]) if each in _KINDS), "kernel"][:1]
            yield from ((kind, name, *place, *times) for kind in kinds if kind)
