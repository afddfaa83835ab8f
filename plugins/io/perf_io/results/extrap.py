"""Files of Extra-P: JSON documents of the present and the older kind, JSON Lines, and its text format."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from perf_io.text import decode_document
from perfcore.base.errors import DataError, InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

# What Extra-P itself shows where a file names none.
DEFAULT_CALLPATH = "<root>"
DEFAULT_METRIC = "<default>"


class Observation(NamedTuple):
    """One value: point, call path, metric."""

    point: Mapping[str, float]
    callpath: str
    metric: str
    value: float


class Summary(NamedTuple):
    """What an experiment holds of the runs of one call path at one point, besides or instead of the runs."""

    point: Mapping[str, float]
    callpath: str
    metric: str
    runs: Sequence[float]  # single runs; empty where there is only their mean
    mean: float
    median: float | None
    minimum: float | None
    maximum: float | None
    std: float | None  # standard deviation of a sample of runs
    repetitions: int | None


def sample_deviation(deviation: float | None, repetitions: int | None) -> float | None:
    """The standard deviation of a sample, of that of the runs themselves (over N, as Extra-P 4 stores it)."""
    if deviation is None or repetitions is None or repetitions < 2:
        return deviation
    return deviation * math.sqrt(repetitions / (repetitions - 1))


def summaries_as_measurements(summaries: Sequence[Summary], source: str, unit: str | None = None) -> Measurements:
    """Runs as rows; where there are none, a row with the mean, the spread, and how many runs they are of."""
    rows = [(summary, run, False) for summary in summaries for run in summary.runs]
    rows += [(summary, summary.mean, True) for summary in summaries if not summary.runs]
    figures = ("median", "minimum", "maximum", "std", "repetitions")
    return columns_as_measurements(
        [summary.point for summary, _, _ in rows],
        [summary.callpath for summary, _, _ in rows],
        [summary.metric for summary, _, _ in rows],
        [value for _, value, _ in rows],
        source,
        None,
        further={name: [getattr(summary, name) if alone else None for summary, _, alone in rows] for name in figures},
        unit=unit,
    )


def as_measurements(observations: Sequence[Observation], source: str, lines: Sequence[int] | None) -> Measurements:
    """A table of observations; see `columns_as_measurements`."""
    points, callpaths, metrics, values = zip(*observations, strict=True) if observations else ((), (), (), ())
    return columns_as_measurements(points, callpaths, metrics, values, source, lines)


def columns_as_measurements(
    points: Sequence[Mapping[str, float]],
    callpaths: Sequence[str],
    metrics: Sequence[str],
    values: Sequence[float],
    source: str,
    lines: Sequence[int] | None,
    *,
    further: Mapping[str, Sequence[float | None]] | None = None,
    unit: str | None = None,
) -> Measurements:
    """A table with columns for parameters, ``callpath``, ``repetition``, and the metric or ``metric`` and ``value``."""
    import pandas as pd

    if not values:
        raise InputError(source, "has no values")
    parameters = list(dict.fromkeys(name for names in dict.fromkeys(map(tuple, points)) for name in names))
    metric_names = list(dict.fromkeys(metrics))
    several = len(metric_names) > 1
    value = "value" if several else metric_names[0]
    more = {name: column for name, column in (further or {}).items() if any(number is not None for number in column)}
    reserved = ["callpath", "repetition", *(["metric"] if several else []), *more, value]
    for name in reserved:
        if name in parameters or reserved.count(name) > 1:
            raise InputError(source, f"{name!r} is the name of a parameter and of another column; rename the parameter")
    columns: dict[str, object] = {name: [point.get(name) for point in points] for name in parameters}
    columns["callpath"] = callpaths
    if several:
        columns["metric"] = metrics
    table = pd.DataFrame(columns)
    table["repetition"] = table.groupby(list(columns), sort=False, dropna=False).cumcount() + 1
    if more and table["repetition"].max() == 1:  # there are means of runs, and no runs
        del table["repetition"]
    table[value] = values
    for name, column in more.items():
        table[name] = pd.array(column, dtype="Float64").to_numpy(dtype=float, na_value=float("nan"))
    code = ["callpath", "metric"] if several else ["callpath"]
    return Measurements(table, parameters, value, code=code, system=(), unit=unit, source=source, lines=lines)


def as_observations(data: Measurements) -> list[Observation]:
    """The values of a table, its code and category as call path and its value column as metric."""
    import pandas as pd

    if not isinstance(data, Measurements):
        raise DataError(f"Extra-P's formats hold measurements, not {type_in_words(data)}")
    roles = data.roles
    if not roles.parameters or roles.value is None:
        raise DataError(f"{data.source}: Extra-P's formats need parameters and a value column; name them")
    metric = roles.value
    # A name must not hold blanks; then the symbol that formulas use stands for it.
    names = {column if len(column.split()) == 1 else symbol: column for symbol, column in roles.parameters.items()}
    columns = {name: pd.to_numeric(data.table[column], errors="coerce") for name, column in names.items()}
    numbers = pd.to_numeric(data.table[metric], errors="coerce")
    named = [data.table[column].astype(str).tolist() for column in (*roles.code, *roles.system, *roles.category)]
    observations = []
    for row, value in enumerate(numbers.tolist()):
        point = {name: float(column.iloc[row]) for name, column in columns.items()}
        for name, number in {**point, metric: value}.items():
            if not abs(number) < float("inf"):
                data.refuse(row, f"{name} is no finite number, which Extra-P's formats need")
        callpath = "->".join(parts[row] for parts in named) or DEFAULT_CALLPATH
        observations.append(Observation(point, callpath, metric, float(value)))
    return observations


_PRESENT = re.compile(rb'\s*\{\s*"parameters"\s*:\s*\[')
_OLDER = re.compile(rb'"(?:callpath|coordinate|metric|parameter)s?_?(?:id|value_pairs|value)"\s*:')
_FIRST_KEYS = re.compile(rb'\s*\{\s*"(?:callpaths|coordinates|measurements|metrics|parameters)"\s*:')

T = TypeVar("T")


class _Values(msgspec.Struct):
    point: list[float] | float
    values: list[float] | float


class _Present(msgspec.Struct):
    parameters: list[str]
    measurements: dict[str, dict[str, list[_Values]]]


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


class _Either(msgspec.Struct):
    callpaths: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class ExtrapJsonReader(Reader):
    """Measurements in Extra-P's JSON. For JSON Lines there is ``extrap-lines``."""

    def sniff(self, source: Source) -> float:
        """Sure by the first keys; a list of parameters begins the present kind, identifiers are in the older one."""
        head = source.head
        present = _PRESENT.match(head) and b'"measurements"' in head and b'"point"' in head
        return 0.95 if present or (_FIRST_KEYS.match(head) and _OLDER.search(head)) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values."""
        description = "JSON of Extra-P"
        older = bool(bytes(decode_document(source, _Either, description).callpaths))
        observations = (
            _of_older(decode_document(source, _Older, description), source.name)
            if older
            else _of_present(decode_document(source, _Present, description), source.name)
        )
        return as_measurements(list(observations), source.name, None)


def _of_present(document: _Present, source: str) -> Iterator[Observation]:
    for callpath, metrics in document.measurements.items():
        for metric, measured in metrics.items():
            for index, measurement in enumerate(measured):
                levels = measurement.point if isinstance(measurement.point, list) else [measurement.point]
                if len(levels) != len(document.parameters):
                    place = f"`$.measurements[{callpath[:40]!r}][{metric[:40]!r}][{index}]`"
                    counts = f"{len(levels)} coordinates for {len(document.parameters)} parameters"
                    raise InputError(source, f"the point at {place} has {counts}")
                point = dict(zip(document.parameters, levels, strict=True))
                values = measurement.values if isinstance(measurement.values, list) else [measurement.values]
                for value in values:
                    yield Observation(point, callpath, metric, value)


def _of_older(document: _Older, source: str) -> Iterator[Observation]:
    parameters = {item.id: item.name for item in document.parameters}
    callpaths = {item.id: item.name for item in document.callpaths}
    metrics = {item.id: item.name for item in document.metrics}
    points: Mapping[int, Mapping[str, float]] = {
        item.id: {
            _known(parameters, pair.parameter_id, f"coordinates[{index}]", source): pair.parameter_value
            for pair in sorted(item.parameter_value_pairs, key=lambda pair: pair.parameter_id)
        }
        for index, item in enumerate(document.coordinates)
    }
    for index, item in enumerate(document.measurements):
        place = f"measurements[{index}]"
        yield Observation(
            _known(points, item.coordinate_id, place, source),
            _known(callpaths, item.callpath_id, place, source),
            _known(metrics, item.metric_id, place, source),
            item.value,
        )


def _known(named: Mapping[int, T], identifier: int, place: str, source: str) -> T:
    if identifier not in named:
        raise InputError(source, f"`$.{place}` refers to the identifier {identifier}, which nothing has")
    return named[identifier]


_LINES_START = re.compile(rb'\s*\{[^\n]*"params"\s*:\s*\{')


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
        return 0.95 if _LINES_START.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values."""
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
        """Write measurements, one line for each value."""
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


_TEXT_STARTS = re.compile(rb"(?:\s*#[^\n]*\n)*\s*PARAMETER[ \t]+\S")
_POINT = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)|([^()\s]+)")


class ExtrapTextReader(Reader):
    """Measurements in Extra-P's text format.

    It holds one metric in writing and any number in reading. Repeated runs of a point stand in one line.
    """

    writes: ClassVar[bool] = True

    def sniff(self, source: Source) -> float:
        """Sure where the first line that is no comment names a parameter."""
        return 0.95 if _TEXT_STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values."""
        parsed = _Parsed(source.name)
        for number, raw in source.lines():
            parsed.line(raw.decode(errors="replace").strip(), number)
        parsed.check_region(None)
        return columns_as_measurements(
            parsed.at, parsed.callpaths, parsed.metrics, parsed.values, source.name, parsed.lines
        )

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        """Write measurements; every code needs values at every point, which the format demands."""
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
