"""Extra-P's JSON Lines: one object with ``params``, ``value`` and perhaps ``callpath`` and ``metric`` in each line.

Source: "File format documentation" of Extra-P, section "JSON Lines format".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from perf_io.results.extrap_experiment import (
    DEFAULT_CALLPATH,
    DEFAULT_METRIC,
    as_observations,
    columns_as_measurements,
)
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{[^\n]*"params"\s*:\s*\{')


class _Line(msgspec.Struct, gc=False):
    params: dict[str, float]
    value: float | list[float]
    callpath: str = DEFAULT_CALLPATH
    metric: str = DEFAULT_METRIC


_DECODER = msgspec.json.Decoder(_Line)
_BLOCK = 1 << 22


class ExtrapLinesReader(Reader):
    """Measurements in Extra-P's JSON Lines. Choose it where codes were measured at different points."""

    writes: ClassVar[bool] = True

    def sniff(self, source: Source) -> float:
        """Sure where the first line is an object with parameters."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values.

        Raises
        ------
        InputError
            A line that is no such object; with its number.
        """
        records: list[_Line] = []
        lines: list[int] = []
        for first, block in _blocks(source):
            numbers, decoded = _decoded(block, first, source.name)
            records += decoded
            lines += numbers
        values = [line.value for line in records if not isinstance(line.value, list)]
        if len(values) < len(records):  # a line holds several runs
            runs = [line.value if isinstance(line.value, list) else [line.value] for line in records]
            values = [value for line_runs in runs for value in line_runs]
            records = [line for line, line_runs in zip(records, runs, strict=True) for _ in line_runs]
            lines = [number for number, line_runs in zip(lines, runs, strict=True) for _ in line_runs]
        return columns_as_measurements(
            [line.params for line in records],
            [line.callpath for line in records],
            [line.metric for line in records],
            values,
            source.name,
            lines,
        )

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write measurements, one line for each value.

        Raises
        ------
        DataError
            Data that are no measurements of numbers at points.
        """
        encoder = msgspec.json.Encoder()
        lines = [
            {
                "params": observation.point,
                "callpath": observation.callpath,
                "metric": observation.metric,
                "value": observation.value,
            }
            for observation in as_observations(data)
        ]
        Path(path).write_bytes(encoder.encode_lines(lines))


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """Whole lines of some megabytes at once, with the number of the first."""
    number, size, buffer = 1, 0, list[bytes]()
    for _, raw in source.lines():
        buffer.append(raw)
        size += len(raw)
        if size >= _BLOCK:
            yield number, b"".join(buffer)
            number, size, buffer = number + len(buffer), 0, []
    if buffer:
        yield number, b"".join(buffer)


def _decoded(block: bytes, first: int, source: str) -> tuple[Sequence[int], list[_Line]]:
    """Numbers and objects of a block of lines; line by line only where one is wrong or empty."""
    raws = block.splitlines()
    try:
        decoded = _DECODER.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded = []
    if len(decoded) == len(raws):
        return range(first, first + len(raws)), decoded
    numbers, decoded = [], []
    for number, raw in enumerate(raws, start=first):
        if not raw.strip():
            continue
        try:
            decoded.append(_DECODER.decode(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(source, f"no object of Extra-P: {error}", line=number) from None
        numbers.append(number)
    return numbers, decoded
