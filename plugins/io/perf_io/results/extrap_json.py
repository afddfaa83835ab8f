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

__all__ = ["ExtrapJsonReader"]

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
        what = "JSON of Extra-P"
        older = bool(bytes(decode_document(source, _Either, what).callpaths))
        observations = (
            _of_older(decode_document(source, _Older, what), source.name)
            if older
            else _of_present(decode_document(source, _Present, what), source.name)
        )
        return as_measurements(list(observations), source.name, None)


def _of_present(document: _Present, source: str) -> Iterator[Observation]:
    for callpath, metrics in document.measurements.items():
        for metric, measured in metrics.items():
            for at, one in enumerate(measured):
                levels = one.point if isinstance(one.point, list) else [one.point]
                if len(levels) != len(document.parameters):
                    place = f"`$.measurements[{callpath[:40]!r}][{metric[:40]!r}][{at}]`"
                    counts = f"{len(levels)} coordinates for {len(document.parameters)} parameters"
                    raise InputError(source, f"the point at {place} has {counts}")
                point = dict(zip(document.parameters, levels, strict=True))
                values = one.values if isinstance(one.values, list) else [one.values]
                for value in values:
                    yield Observation(point, callpath, metric, value)


def _of_older(document: _Older, source: str) -> Iterator[Observation]:
    parameters = {one.id: one.name for one in document.parameters}
    callpaths = {one.id: one.name for one in document.callpaths}
    metrics = {one.id: one.name for one in document.metrics}
    points: Mapping[int, Mapping[str, float]] = {
        one.id: {
            _known(parameters, pair.parameter_id, f"coordinates[{at}]", source): pair.parameter_value
            for pair in sorted(one.parameter_value_pairs, key=lambda pair: pair.parameter_id)
        }
        for at, one in enumerate(document.coordinates)
    }
    for at, one in enumerate(document.measurements):
        place = f"measurements[{at}]"
        yield Observation(
            _known(points, one.coordinate_id, place, source),
            _known(callpaths, one.callpath_id, place, source),
            _known(metrics, one.metric_id, place, source),
            one.value,
        )


def _known(named: Mapping[int, T], identifier: int, place: str, source: str) -> T:
    if identifier not in named:
        raise InputError(source, f"`$.{place}` refers to the identifier {identifier}, which nothing has")
    return named[identifier]
