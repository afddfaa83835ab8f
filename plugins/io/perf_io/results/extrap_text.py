"""Extra-P's text format: PARAMETER, POINTS, and for each region one line of DATA for each point.

Source: "File format documentation" of Extra-P, section "Text file format", and its ABNF grammar.
"""

from __future__ import annotations

import math
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from perf_io.results.extrap_experiment import (
    DEFAULT_CALLPATH,
    DEFAULT_METRIC,
    as_observations,
    columns_as_measurements,
)
from perfcore.base.errors import DataError, InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb"(?:\s*#[^\n]*\n)*\s*PARAMETER[ \t]+\S")
_POINT = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)|([^()\s]+)")


class ExtrapTextReader(Reader):
    """Measurements in Extra-P's text format.

    It holds one metric in writing and any number in reading. Repeated runs of a point stand in one line.
    """

    writes: ClassVar[bool] = True

    def sniff(self, source: Source) -> float:
        """Sure where the first line that is no comment names a parameter."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values.

        Raises
        ------
        InputError
            A line that is none of the format's sections, or not one line of DATA for each point; with its line.
        """
        parsed = _Parsed(source.name)
        for number, raw in source.lines():
            parsed.line(raw.decode(errors="replace").strip(), number)
        parsed.check_region(None)
        return columns_as_measurements(
            parsed.at, parsed.callpaths, parsed.metrics, parsed.values, source.name, parsed.lines
        )

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write measurements; every code needs values at every point, which the format demands.

        Raises
        ------
        DataError
            A code lacks a point, or data that are no measurements of numbers at points.
        """
        Path(path).write_text(_text(data), encoding="utf-8")


class _Parsed:
    """What was read so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parameters: list[str] = []
        self.points: list[tuple[float, ...]] = []
        self.metric, self.callpath = DEFAULT_METRIC, DEFAULT_CALLPATH
        self.next_point: int | None = None  # of the region that is being read
        # Columns of the values.
        self.at: list[dict[str, float]] = []
        self.callpaths: list[str] = []
        self.metrics: list[str] = []
        self.values: list[float] = []
        self.lines: list[int] = []

    def line(self, text: str, number: int) -> None:
        """Take one line."""
        if not text or text.startswith("#"):
            return
        word, rest = (*text.split(maxsplit=1), "")[:2]  # a blank or a tab
        match word:
            case "PARAMETER":
                if self.points:
                    raise InputError(self.source, "PARAMETER after POINTS; name all parameters before", line=number)
                self.parameters += rest.split()
            case "POINTS":
                self.points += [self.point(groups, number) for groups in _POINT.findall(rest)]
            case "METRIC" | "REGION":
                self.check_region(number)
                if word == "METRIC":
                    self.metric = rest or DEFAULT_METRIC
                else:
                    self.callpath = rest or DEFAULT_CALLPATH
                self.next_point = 0
            case "DATA":
                self.data(rest, number)
            case _:
                raise InputError(
                    self.source,
                    f"{word[:40]!r} is no section; PARAMETER, POINTS, METRIC, REGION or DATA is expected",
                    line=number,
                )

    def point(self, groups: tuple[str, str], line: int) -> tuple[float, ...]:
        """One point with its coordinates, each of which may stand in parentheses of its own."""
        texts = (groups[0] or groups[1]).replace("(", " ").replace(")", " ").split()
        if len(texts) != len(self.parameters):
            raise InputError(
                self.source, f"a point has {len(texts)} coordinates for {len(self.parameters)} parameters", line=line
            )
        return tuple(self.number(text, line) for text in texts)

    def number(self, text: str, line: int) -> float:
        """A finite number."""
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise InputError(self.source, f"{text[:40]!r} is no finite number", line=line)
        return value

    def data(self, text: str, line: int) -> None:
        """The values at the region's next point."""
        index = self.next_point or 0
        if index >= len(self.points):
            raise InputError(self.source, f"a DATA line too many: there are {len(self.points)} points", line=line)
        point = dict(zip(self.parameters, self.points[index], strict=True))
        if not text:
            raise InputError(self.source, "DATA without a value", line=line)
        words = text.split()
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        if not values or not all(map(math.isfinite, values)):
            values = [self.number(word, line) for word in words]  # names the one that is wrong
        self.values += values
        self.at += [point] * len(values)
        self.callpaths += [self.callpath] * len(values)
        self.metrics += [self.metric] * len(values)
        self.lines += [line] * len(values)
        self.next_point = index + 1

    def check_region(self, line: int | None) -> None:
        """Refuse a region that ended before its last point; METRIC and REGION may follow each other."""
        if self.next_point and self.next_point < len(self.points):
            raise InputError(
                self.source,
                f"region {self.callpath!r} has {self.next_point} DATA lines for {len(self.points)} points",
                line=line,
            )


def _text(data: Any) -> str:
    observations = as_observations(data)
    parameters = list(observations[0].point)
    values: dict[str, dict[tuple[float, ...], list[float]]] = {}
    for observation in observations:
        values.setdefault(observation.callpath, {}).setdefault(tuple(observation.point.values()), []).append(
            observation.value
        )
    points = list(dict.fromkeys(tuple(observation.point.values()) for observation in observations))
    lines = [f"PARAMETER {name}" for name in parameters]
    lines += ["", *(f"POINTS ({' '.join(map(_number, point))})" for point in points), ""]
    lines.append(f"METRIC {observations[0].metric}")
    for callpath, of_region in values.items():
        lines += ["", f"REGION {callpath}"]
        for point in points:
            if point not in of_region:
                coordinates = ", ".join(
                    f"{name}={_number(level)}" for name, level in zip(parameters, point, strict=True)
                )
                raise DataError(
                    f"{data.source}: {callpath} has no value at {coordinates}; Extra-P's text format needs all points "
                    "for each code; write .jsonl instead"
                )
            lines.append(f"DATA {' '.join(map(_number, of_region[point]))}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """All digits without an exponent, which the grammar does not have."""
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")
