"""Extra-P's JSON documents, the present and the older kind.

Source: "File format documentation" of Extra-P, section "JSON format"; the older kind, which numbers parameters, call
paths, metrics and coordinates, is what its example files hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec

from perf_io.results.extrap_experiment import Observation, as_measurements
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

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
        """Read all values.

        Raises
        ------
        InputError
            Neither kind, a point with the wrong number of coordinates, or an identifier that nothing has.
        """
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
