"""Profiles of Caliper (``.cali``), by its own reader, and in JSON."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from caliperreader import CaliperReader as Library
from caliperreader.readererror import ReaderError  # type: ignore[import-untyped]

from perf_io.options import ProfileOptions
from perf_io.results.result_table import ARROW, Row, exclusive_of, inclusive_of, number_or_text, one_line, profile
from perf_io.text import decode_document, numbered_lines
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.measurements import Measurements
from perfcore.data.units import seconds_per
from perfcore.reading.source import Reader, Source

_REFERENCE = re.compile(r"(?:^|,)(id|parent)=([0-9]{1,20})(?=,|$)")
_DAMAGED = (ReaderError, LookupError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError)
_DEEPEST = 1000  # nodes between a record and the root; each level is a region that some code entered
_METRIC_TYPES = ("int", "uint", "double")
_INCLUSIVE = re.compile(r"inclusive[#.]|\(i(?:nc)?l?\)$", re.IGNORECASE)
_TIMER = re.compile(r"\btime\.(?:inclusive\.)?duration(\.ns)?$")  # nanoseconds, else microseconds
_PREFERRED = re.compile(r"avg#.*sum#|(sum#)")  # averages over ranks, then sums; other averages are over visits
_RANKS = ("jobsize", "mpi.world.size")
_JSON_SECONDS = re.compile(
    r"(?:(?:avg|min|max|total|sum)[ #])?time(?:/rank)?(?: \((?:exc|inc|e|i)l?\))?", re.IGNORECASE
)
_NO_METRICS = (*_RANKS, "mpi.rank", "rank", "path")


class CaliperRecords(io.TextIOBase):
    """Lines for the library, after a look at what it would follow for ever: a node that is above itself."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._depths: dict[str, int] = {}
        self.line = 0

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        for number, text in numbered_lines(self._source):
            self.line = number
            if text.startswith("__rec=node"):
                self._check_node(text.replace("\\", ""))
            if text.strip():
                yield text
        self.line = 0

    def error(self, error: Exception) -> InputError:
        problem = f"no record of Caliper: {type(error).__name__} {' '.join(str(error).split())[:120]}"
        return InputError(self._source.name, problem, line=self.line or None)

    def _check_node(self, text: str) -> None:
        fields = dict(_REFERENCE.findall(text))
        identifier, parent = fields.get("id", ""), fields.get("parent", "")
        depth = self._depths.get(parent, 0) + 1
        if identifier == parent or depth > _DEEPEST:
            problem = "is its own parent" if identifier == parent else f"is more than {_DEEPEST} levels deep"
            raise InputError(self._source.name, f"node {identifier or '?'} {problem}", line=self.line)
        self._depths[identifier] = depth


class CaliperProfileReader(Reader):
    """Read a profile by regions: a row for each call path, with its own time and that with all that it called.

    The value is the time of the average rank, or the metric that is named; global whole numbers are parameters.
    """

    Options = ProfileOptions

    def read(self, source: Source, options: ProfileOptions) -> Measurements:
        library = Library()
        lines = CaliperRecords(source)
        try:
            library.read(lines)
            attributes = {name: library.attribute(name) for name in library.attributes()}
            types = {name: attribute.attribute_type() for name, attribute in attributes.items()}
            names = {
                name: one_line(str(attributes[name].get("attribute.alias") or name))
                for name, type_ in types.items()
                if type_ in _METRIC_TYPES and attributes[name].is_value() and not attributes[name].is_global()
            }
            dates = {name for name, properties in attributes.items() if properties.get("adiak.type") == "date"}
            seconds = {name: each for name in names if (each := _seconds_of(name, attributes[name])) is not None}
        except _DAMAGED as error:
            raise lines.error(error) from error
        records = [one for one in library.records if one.get("spot.channel", "regionprofile") == "regionprofile"]
        present = {name: alias for name, alias in names.items() if any(name in record for record in records)}
        return _profile(records, present, seconds, _run(library.globals, types, dates), options.metric, source.name)


def _seconds_of(name: str, attribute: Any) -> float | None:
    """Return how long the unit of a metric is: as the file says, or else of Caliper's timers; None of other metrics."""
    unit = attribute.get("attribute.unit")
    if unit is not None:
        return seconds_per(str(unit))
    match = _TIMER.search(name)
    return None if match is None else 1e-9 if match[1] else 1e-6


def _profile(
    records: Sequence[Mapping[str, Any]], present: Mapping[str, str], seconds: Mapping[str, float], run: Row,
    metric_name: str | None, source: str,
) -> Measurements:  # fmt: skip
    metric = _chosen(metric_name, present, seconds, source)
    amounts = {path: amount * seconds.get(metric, 1.0) for path, amount in _amounts(records, metric, source).items()}
    named = {ARROW.join(path): amount for path, amount in amounts.items()}
    exclusive, inclusive = named, inclusive_of(amounts) if "sum#" in metric else {}
    if _INCLUSIVE.search(metric):
        exclusive, inclusive = exclusive_of(amounts), named
    value = "time_s" if metric in seconds else one_line(present[metric])
    names = [name for name in run if name != "cluster"]
    return profile(run, exclusive, inclusive, value, source, parameters=names, system=["cluster"])


class _Node(msgspec.Struct):
    label: str
    parent: int | None = None


class _Split(msgspec.Struct):
    data: list[list[Any]]
    columns: list[str]
    nodes: list[_Node] = []


class CaliperJsonReader(Reader):
    """Read a profile in Caliper's JSON: of ``hatchet-region-profile`` (json-split), or records of ``cali-query -j``.

    Source: Caliper, documentation, "OutputFormats"; ``src/reader/JsonSplitFormatter.cpp``.
    """

    Options = ProfileOptions

    def read(self, source: Source, options: ProfileOptions) -> Measurements:
        rows: list[Row]
        if source.head.lstrip().startswith(b"{"):
            content = decode_document(source, _Split, "JSON of Caliper")
            paths = _paths(content.nodes, source.name)
            rows = [dict(zip(content.columns, row, strict=False)) for row in content.data]
            for row in rows:
                number = row.get("path")
                row["path"] = paths[number] if type(number) is int and 0 <= number < len(paths) else ()
        else:
            rows = decode_document(source, list[dict[str, Any]], "JSON of Caliper")
            for row in rows:
                path = row.get("path", row.get("function", row.get("annotation", "")))
                row["path"] = tuple(filter(None, map(str, path if isinstance(path, list) else str(path).split("/"))))
        for row in rows:
            row["mpi.rank"] = row.get("mpi.rank", row.get("rank", ""))
        numbers = {name for row in rows for name, cell in row.items() if isinstance(number_or_text(cell), (int, float))}
        present = {name: one_line(name) for name in sorted(numbers.difference(_NO_METRICS))}
        ranks = {number_or_text(row[name]) for row in rows for name in _RANKS if row.get(name) is not None}
        run: Row = {"ranks": ranks.pop()} if len(ranks) == 1 else {}
        seconds = {name: 1.0 for name in present if _JSON_SECONDS.fullmatch(name)}
        records = [{name: value for name, value in row.items() if value is not None} for row in rows]
        return _profile(records, present, seconds, run, options.metric, source.name)


def _paths(nodes: Sequence[_Node], source: str) -> list[tuple[str, ...]]:
    """Return the path of each node; a parent stands before its children."""
    paths: list[tuple[str, ...]] = []
    for number, node in enumerate(nodes):
        if node.parent is not None and not 0 <= node.parent < number:
            raise InputError(source, f"node {number} has the parent {node.parent}, which is no node before it")
        above = () if node.parent is None else paths[node.parent]
        if len(above) >= _DEEPEST:
            raise InputError(source, f"node {number} is more than {_DEEPEST} levels deep")
        paths.append((*above, one_line(node.label)))
    return paths


def _chosen(metric_name: str | None, present: Mapping[str, str], seconds: Mapping[str, float], source: str) -> str:
    """Return the attribute that holds the wanted metric, or the time: of the average rank, or the first that is one."""
    if metric_name is not None:
        for name, alias in present.items():
            if metric_name in (name, alias):
                return name
        raise UnknownNameError("metric", metric_name, [*present.values()])
    timed = [name for name in present if name in seconds or "time" in name]
    if not (timed or present):
        raise InputError(source, "holds no record with a metric")
    preferred = [match for name in timed if (match := _PREFERRED.match(name))]
    preferred.sort(key=lambda match: match[1] is not None)
    return preferred[0].string if preferred else next(iter([*timed, *present]))


def _amounts(records: Sequence[Mapping[str, Any]], metric: str, source: str) -> dict[tuple[str, ...], float]:
    """Return the metric of each call path: summed within a rank, averaged over the ranks."""
    sums: dict[tuple[str, ...], dict[str, float]] = {}
    for record in records:
        if metric not in record:
            continue
        amount = number_or_text(record[metric])
        if not isinstance(amount, (int, float)) or not math.isfinite(amount):
            raise InputError(source, f"{metric[:60]} {str(record[metric])[:40]!r} is no number")
        path = tuple(one_line(str(region)) for region in record.get("path", ())) or ("(no region)",)
        of_rank = sums.setdefault(path, {})
        rank = str(record.get("mpi.rank", ""))
        of_rank[rank] = of_rank.get(rank, 0.0) + amount
    ranks = {rank for of_rank in sums.values() for rank in of_rank if rank}  # before MPI_Init none is known
    return {path: sum(of_rank.values()) / max(len(ranks), 1) for path, of_rank in sums.items()}


def _run(attributes: Mapping[str, Any], types: Mapping[str, str], dates: set[str]) -> Row:
    """Return what the file says of the run: whole numbers that set it up, and where it ran."""
    row: Row = {}
    for name, value in attributes.items():
        if name == "cluster":
            row[name] = str(value)
        elif types.get(name) in ("int", "uint") and name not in dates and not name.startswith(("cali.", "spot.")):
            number = number_or_text(value)
            if isinstance(number, (int, float)):
                # Adiak and Caliper each have their name for the number of ranks, which is mostly there twice.
                row["ranks" if name in _RANKS else one_line(name)] = number
    return row
