"""Extra-P's JSON Lines: one object with ``params``, ``value`` and perhaps ``callpath`` and ``metric`` in each line.

Source: "File format documentation" of Extra-P, section "JSON Lines format".
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from perf_io.extrap_experiment import (
    DEFAULT_CALLPATH,
    DEFAULT_METRIC,
    Observation,
    as_measurements,
    as_observations,
)
from perfcore.contracts import NoOptions, Reader
from perfcore.errors import InputError
from perfcore.measurements import Measurements
from perfcore.source import Source

__all__ = ["ExtrapLinesReader"]

_STARTS = re.compile(rb'\s*\{[^\n]*"params"\s*:\s*\{')


class _Line(msgspec.Struct):
    params: dict[str, float]
    value: float | list[float]
    callpath: str = DEFAULT_CALLPATH
    metric: str = DEFAULT_METRIC


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
        found: list[Observation] = []
        lines: list[int] = []
        with source.open() as stream:
            for number, raw in enumerate(stream, start=1):
                if not raw.strip():
                    continue
                try:
                    line = msgspec.json.decode(raw, type=_Line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise InputError(source.name, f"no object of Extra-P: {error}", line=number) from None
                values = line.value if isinstance(line.value, list) else [line.value]
                found += [Observation(line.params, line.callpath, line.metric, value) for value in values]
                lines += [number] * len(values)
        return as_measurements(found, source.name, lines)

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write measurements, one line for each value.

        Raises
        ------
        DataError
            Data that are no measurements of numbers at points.
        """
        encoder = msgspec.json.Encoder()
        lines = [
            {"params": one.point, "callpath": one.callpath, "metric": one.metric, "value": one.value}
            for one in as_observations(data)
        ]
        Path(path).write_bytes(encoder.encode_lines(lines))
