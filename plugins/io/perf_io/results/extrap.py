"""Files of Extra-P: JSON of the present and the older kind, JSON Lines, text, and experiments that version 4 saved.

Source: "File format documentation" of Extra-P, and its example files. An experiment (``.extra-p``) is an archive:
`experiment.json` has means and deviations (over N) at coordinates, by call path and metric.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from perf_io.text import LARGEST_DOCUMENT, decode_content, decode_document, decode_json, json_problem
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, InputError, listing
from perfcore.contracts import NoOptions, Reader
from perfcore.data import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

# What Extra-P itself shows where a file names none.
DEFAULT_CALLPATH = "<root>"
DEFAULT_METRIC = "<default>"
_FIGURES = ("median", "minimum", "maximum", "std", "repetitions")

T = TypeVar("T")
_PRESENT = re.compile(rb'\s*\{\s*"parameters"\s*:\s*\[')
_Number = float | None | str  # numbers that are not finite stand as texts
_DOCUMENT = "experiment.json"
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
_LINES = 1 << 15  # that are decoded at once
_POINT = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)|([^()\s]+)")


class _Values:
    """Values of a metric at points, for each call path, and what is known of the runs that a value is the mean of."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.points: list[Mapping[str, float]] = []
        self.callpaths: list[str] = []
        self.metrics: list[str] = []
        self.values: list[float | None] = []
        self.lines: list[int] = []
        self.figures: dict[int, Mapping[str, float | None]] = {}  # by the position of the value

    def add(self, point: Mapping[str, float], callpath: str, metric: str, values: Sequence[float]) -> None:
        self.points += [point] * len(values)
        self.callpaths += [callpath] * len(values)
        self.metrics += [metric] * len(values)
        self.values += values

    def measurements(self) -> Measurements:
        """Return columns of parameters, ``callpath``, ``repetition``, and the metric, or ``metric`` and ``value``."""
        if not self.values:
            raise InputError(self.source, "has no values")
        parameters = list(dict.fromkeys(name for names in dict.fromkeys(map(tuple, self.points)) for name in names))
        metric_names = list(dict.fromkeys(self.metrics))
        several = len(metric_names) > 1
        value = "value" if several else metric_names[0]
        figures = [f for f in _FIGURES if any(figure[f] is not None for figure in self.figures.values())]
        reserved = ["callpath", "repetition", *(["metric"] if several else []), *figures, value]
        for name in reserved:
            if name in parameters or reserved.count(name) > 1:
                problem = f"{name!r} is the name of a parameter and of another column; rename the parameter"
                raise InputError(self.source, problem)
        columns: dict[str, object] = {name: [point.get(name) for point in self.points] for name in parameters}
        columns |= {"callpath": self.callpaths, **({"metric": self.metrics} if several else {})}
        table = pd.DataFrame(columns)
        table["repetition"] = table.groupby(list(columns), sort=False, dropna=False).cumcount() + 1
        if figures and table["repetition"].max() == 1:  # there are means of runs, and no runs
            del table["repetition"]
        table[value] = self.values
        for name in figures:
            numbers = (self.figures.get(row, {}).get(name) for row in range(len(table)))
            table[name] = [math.nan if number is None else float(number) for number in numbers]
        named = ["callpath"] if {*self.callpaths} - {DEFAULT_CALLPATH} else []  # else there is one path, without a name
        code = [*named, "metric"] if several else named
        lines = self.lines or None
        roles: Any = {"code": code, "system": (), **({} if named else {"category": ()})}
        return Measurements(table, parameters, value, **roles, source=self.source, lines=lines)


class _Point(msgspec.Struct):
    point: list[float] | float
    values: list[float] | float


class _Present(msgspec.Struct):
    parameters: list[str]
    measurements: dict[str, dict[str, list[_Point]]]


class _Summary(msgspec.Struct):
    point: list[float] | float = msgspec.field(name="coordinate")
    mean: _Number = None
    median: _Number = None
    minimum: _Number = None
    maximum: _Number = None
    std: _Number = None
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class _Experiment(msgspec.Struct):
    parameters: list[str]
    measurements: dict[str, dict[str, list[_Summary]]]


class _Named(msgspec.Struct):
    id: int
    name: str


class _Pair(msgspec.Struct):
    parameter_id: int
    parameter_value: float


class _Coordinate(msgspec.Struct):
    id: int
    parameter_value_pairs: list[_Pair]


class _Value(msgspec.Struct):
    callpath_id: int
    coordinate_id: int
    metric_id: int
    value: float


class _Older(msgspec.Struct):
    callpaths: list[_Named]
    coordinates: list[_Coordinate]
    metrics: list[_Named]
    parameters: list[_Named]
    measurements: list[_Value]


class ExtrapJsonReader(Reader):
    """Read measurements in Extra-P's JSON; ``extrap-lines`` reads JSON Lines."""

    def read(self, source: Source, options: NoOptions) -> Measurements:
        found, description = _Values(source.name), "JSON of Extra-P"
        if _PRESENT.match(source.head):
            document = decode_document(source, _Present, description)
            for _, point, callpath, metric, measured in _points(document, source.name):
                found.add(point, callpath, metric, _as_list(measured.values))
        else:
            _add_older(found, decode_document(source, _Older, description))
        return found.measurements()


def _as_list(values: list[float] | float) -> list[float]:
    return values if isinstance(values, list) else [values]


def _points(document: Any, source: str) -> Iterator[tuple[str, Mapping[str, float], str, str, Any]]:
    """Yield the place, point, call path, metric and measurement of each point."""
    for callpath, metrics in document.measurements.items():
        for metric, measured in metrics.items():
            for index, measurement in enumerate(measured):
                place = f"`$.measurements[{callpath[:40]!r}][{metric[:40]!r}][{index}]`"
                levels = _as_list(measurement.point)
                if len(levels) != len(document.parameters):
                    counts = f"{len(levels)} coordinates for {len(document.parameters)} parameters"
                    raise InputError(source, f"the point at {place} has {counts}")
                yield place, dict(zip(document.parameters, levels, strict=True)), callpath, metric, measurement


def _add_older(found: _Values, document: _Older) -> None:
    parameters, callpaths, metrics = (
        {item.id: item.name for item in items} for items in (document.parameters, document.callpaths, document.metrics)
    )
    try:
        points = {
            item.id: {parameters[pair.parameter_id]: pair.parameter_value for pair in item.parameter_value_pairs}
            for item in document.coordinates
        }
        for item in document.measurements:
            point = points[item.coordinate_id]
            found.add(point, callpaths[item.callpath_id], metrics[item.metric_id], [item.value])
    except KeyError as error:
        raise InputError(found.source, f"refers to the identifier {error}, which nothing has") from None


class ExtrapArchiveReader(Reader):
    """An experiment of Extra-P 4: means with their standard deviations and numbers of runs."""

    def read(self, source: Source, options: NoOptions) -> Measurements:
        with source.plain_file() as path:
            try:
                with zipfile.ZipFile(path) as archive:
                    content = _member(archive, _DOCUMENT, source.name)
                    experiment = decode_content(content, _Experiment, "an experiment of Extra-P", source.name)
                    found = _summaries(experiment, source.name)
            except _DAMAGED as error:
                problem = f"is no experiment of Extra-P, or damaged: {' '.join(str(error).split())[:120]}"
                raise InputError(source.name, problem) from error
        return found.measurements()


def _member(archive: zipfile.ZipFile, name: str, source: str) -> bytes:
    """Return one file of the archive, as long as it is not made to fill the memory."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise InputError(source, f"is no experiment of Extra-P: the archive has no {name}") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for any memory
        raise InputError(source, f"{name} is compressed in a way that Extra-P does not use; save the experiment again")
    with archive.open(info) as stream:
        content = stream.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise InputError(source, f"{name} is larger than {LARGEST_DOCUMENT >> 20} MiB, which experiments never are")
    return content


def _summaries(experiment: _Experiment, source: str) -> _Values:
    found = _Values(source)
    for place, point, callpath, metric, measured in _points(experiment, source):
        mean, count = _finite(measured.mean), measured.repetitions
        if mean is None:
            raise InputError(source, f"the point at {place} has no mean that is finite")
        figures = {name: _finite(getattr(measured, name)) for name in _FIGURES} | {"repetitions": count}
        if figures["std"] is not None and count is not None and count > 1:
            figures["std"] *= math.sqrt(count / (count - 1))  # it is stored over N
        found.figures[len(found.values)] = figures
        found.add(point, callpath, metric, [mean])
    return found


def _finite(number: _Number) -> float | None:
    return number if isinstance(number, float) and math.isfinite(number) else None


class _Line(msgspec.Struct, gc=False):
    params: dict[str, float]
    value: float | list[float | None] | None  # None of a NaN
    callpath: str = DEFAULT_CALLPATH
    metric: str = DEFAULT_METRIC


_DECODER = msgspec.json.Decoder(_Line)


class ExtrapLinesReader(Reader):
    """Measurements in Extra-P's JSON Lines. Choose it where codes were measured at different points."""

    writes: ClassVar[bool] = True

    def read(self, source: Source, options: NoOptions) -> Measurements:
        found, records, lines = _Values(source.name), list[_Line](), list[int]()
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
        found.points, found.values, found.lines = [line.params for line in records], values, lines
        found.callpaths, found.metrics = [line.callpath for line in records], [line.metric for line in records]
        return found.measurements()

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        Path(path).write_bytes(msgspec.json.Encoder().encode_lines(_lines_of(data)))


def _lines_of(data: Any) -> list[dict[str, Any]]:
    """Return the values of a table, its code and category as call path and its value column as metric."""
    if not isinstance(data, Measurements):
        raise DataError(f"Extra-P's JSON Lines hold measurements, not {type_in_words(data)}")
    roles = data.roles
    if not roles.parameters or roles.value is None:
        raise DataError(f"{data.source}: Extra-P's JSON Lines need parameters and a value column; name them")
    metric = roles.value
    # A name must not hold blanks; then the symbol that formulas use stands for it.
    names = {column if len(column.split()) == 1 else symbol: column for symbol, column in roles.parameters.items()}
    columns = {name: pd.to_numeric(data.table[column], errors="coerce") for name, column in names.items()}
    numbers = pd.to_numeric(data.table[metric], errors="coerce")
    parts_of_path = *roles.code, *roles.system, *roles.category
    named = [data.table[column].astype(str).tolist() for column in parts_of_path]
    if lost := [str(name) for name in data.table if name not in (*names.values(), *parts_of_path, metric)]:
        holds = f"a line holds parameters ({', '.join(names)}), a call path and a value"
        progress.note(f"left out of {data.source}: {listing(lost, 5)}; {holds}")
    lines = []
    for row, value in enumerate(numbers.tolist()):
        point = {name: float(column.iloc[row]) for name, column in columns.items()}
        for name, number in {**point, metric: value}.items():
            if not abs(number) < float("inf"):
                data.refuse(row, f"{name} is no finite number, which Extra-P's JSON Lines need")
        callpath = "->".join(parts[row] for parts in named) or DEFAULT_CALLPATH
        lines.append({"params": point, "callpath": callpath, "metric": metric, "value": value})
    return lines


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield many lines at once, with the number of the first."""
    number, lines = 1, source.lines()
    while raws := [raw for _, raw in itertools.islice(lines, _LINES)]:
        yield number, b"".join(raws)
        number += len(raws)


def _decoded(block: bytes, first: int, source: str) -> tuple[Sequence[int], list[_Line]]:
    """Return numbers and objects of a block of lines; line by line only where one is wrong or empty."""
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
            decoded.append(decode_json(raw, _Line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(source, f"no object of Extra-P: {json_problem(raw, error)[0]}", line=number) from None
        numbers.append(number)
    return numbers, decoded


class ExtrapTextReader(Reader):
    """Measurements in Extra-P's text format; repeated runs of a point stand in one line."""

    def read(self, source: Source, options: NoOptions) -> Measurements:
        parsed = _Parsed(source.name)
        for number, raw in source.lines():
            parsed.line(raw.decode(errors="replace").strip(), number)
        parsed.check_region(None)
        return parsed.measurements()


class _Parsed(_Values):
    """What was read so far of a text."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.parameters: list[str] = []
        self.declared: list[tuple[float, ...]] = []
        self.metric, self.callpath = DEFAULT_METRIC, DEFAULT_CALLPATH
        self.next_point: int | None = None  # of the region that is being read

    def line(self, text: str, number: int) -> None:
        if not text or text.startswith("#"):
            return
        word, rest = (*text.split(maxsplit=1), "")[:2]  # a blank or a tab
        match word:
            case "PARAMETER":
                if self.declared:
                    raise InputError(self.source, "PARAMETER after POINTS; name all parameters before", line=number)
                self.parameters += rest.split()
            case "POINTS":
                self.declared += [self.point(groups, number) for groups in _POINT.findall(rest)]
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
                problem = f"{word[:40]!r} is no section; PARAMETER, POINTS, METRIC, REGION or DATA is expected"
                raise InputError(self.source, problem, line=number)

    def point(self, groups: tuple[str, str], line: int) -> tuple[float, ...]:
        """Return one point with its coordinates, each of which may stand in parentheses."""
        texts = (groups[0] or groups[1]).replace("(", " ").replace(")", " ").split()
        if len(texts) != len(self.parameters):
            problem = f"a point has {len(texts)} coordinates for {len(self.parameters)} parameters"
            raise InputError(self.source, problem, line=line)
        return tuple(self.number(text, line) for text in texts)

    def number(self, text: str, line: int) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise InputError(self.source, f"{text[:40]!r} is no finite number", line=line)
        return value

    def data(self, text: str, line: int) -> None:
        index = self.next_point or 0
        if index >= len(self.declared):
            raise InputError(self.source, f"a DATA line too many: there are {len(self.declared)} points", line=line)
        point = dict(zip(self.parameters, self.declared[index], strict=True))
        if not text:
            raise InputError(self.source, "DATA without a value", line=line)
        values = [self.number(word, line) for word in text.split()]
        self.add(point, self.callpath, self.metric, values)
        self.lines += [line] * len(values)
        self.next_point = index + 1

    def check_region(self, line: int | None) -> None:
        """Refuse a region that ended before its last point; METRIC and REGION may follow each other."""
        if self.next_point and self.next_point < len(self.declared):
            problem = f"region {self.callpath!r} has {self.next_point} DATA lines for {len(self.declared)} points"
            raise InputError(self.source, problem, line=line)
