"""Experiments that Extra-P 3 saved: a sequence of named binary objects.

Source: the files themselves and the order in which Extra-P 4 reads them: a mark of the order of bytes (the 16-bit
number 1), the words ``EXTRAP_EXPERIMENT`` and the version, then objects, each behind its name. Texts have their length
(32 bits) before them, integers 64 bits, numbers are doubles. Standard deviations are those of a sample (over N - 1):
in Extra-P's own example file three runs of 1,000,000 to 1,000,002 have 1.

Deviation: comments, generators and models, whose layouts depend on one another, are not taken apart but passed over by
looking for the name of the next point, whose size is known.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import NoReturn, TypeVar

from perf_io.results.extrap_experiment import Summary, summaries_as_measurements
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

T = TypeVar("T")

_QUALIFIER = b"EXTRAP_EXPERIMENT"
_BEGINS = {struct.pack(order + "h", 1) + struct.pack(order + "I", 17) + _QUALIFIER: order for order in ("<", ">")}
_LARGEST = 256 << 20  # two million points
_NO_PARENT = -1
_MOST_PARAMETERS = 100  # of a coordinate
_LONGEST_PATH = 10_000  # characters; a hostile chain of callers would make paths of any length
_UNKNOWN_UNIT = "unknown"
# Coordinate and number of runs; mean and its interval, deviation, median and its interval, minimum, maximum; metric and
# call path.
_POINT = "qq9dqq"


class ExtrapBinaryReader(Reader):
    """An experiment of Extra-P 3: means of runs with their number and standard deviation."""

    def sniff(self, source: Source) -> float:
        """Sure by the first words."""
        return 0.95 if any(source.head.startswith(begins) for begins in _BEGINS) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all points.

        Raises
        ------
        InputError
            No such file, one that is cut short or damaged, or larger than 256 MiB.
        """
        with source.open() as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            problem = f"is larger than {_LARGEST >> 20} MiB, which experiments of Extra-P 3 never are"
            raise InputError(source.name, problem)
        order = next((order for begins, order in _BEGINS.items() if content.startswith(begins)), None)
        if order is None:
            raise InputError(source.name, "does not begin as experiments of Extra-P 3 do")
        experiment = _Experiment(_Bytes(content, order, source.name))
        summaries = experiment.read()
        units = {unit for _, unit in experiment.metrics.values()}
        unit = next(iter(units)) if len(units) == 1 else ""
        known_unit = unit if unit and unit.casefold() != _UNKNOWN_UNIT else None
        return summaries_as_measurements(summaries, source.name, known_unit)


class _Bytes:
    """The content, taken from its beginning."""

    def __init__(self, content: bytes, order: str, source: str) -> None:
        self._content, self._order, self._source = content, order, source
        self.at = 2

    def take(self, kinds: str) -> tuple[float, ...]:
        """Numbers of these kinds, as `struct` names them."""
        layout = struct.Struct(self._order + kinds)
        if self.at + layout.size > len(self._content):
            self.refuse("the file is cut short")
        values = layout.unpack_from(self._content, self.at)
        self.at += layout.size
        return values

    def integer(self) -> int:
        (value,) = self.take("q")
        return int(value)

    def text(self) -> str:
        (size,) = self.take("I")
        end = self.at + int(size)
        if end > len(self._content):
            self.refuse("the file is cut short, or damaged: a text goes beyond its end")
        raw, self.at = self._content[self.at : end], end
        return " ".join(raw.decode(errors="replace").split())

    def skip_to(self, name: bytes) -> bool:
        """Go behind the next object's name, if there is one."""
        mark = struct.pack(self._order + "I", len(name)) + name
        position = self._content.find(mark, self.at)
        self.at = len(self._content) if position < 0 else position + len(mark)
        return position >= 0

    def refuse(self, problem: str) -> NoReturn:
        raise InputError(self._source, f"byte {self.at:,}: {problem}")


class _Experiment:
    """The definitions of a file, and its points."""

    def __init__(self, content: _Bytes) -> None:
        self._content = content
        self._parameters: list[str] = []
        self.metrics: dict[int, tuple[str, str]] = {}
        self._regions: dict[int, str] = {}
        self._times_named: dict[str, int] = {}
        self._callpaths: dict[int, str] = {}
        self._coordinates: dict[int, dict[str, float]] = {}

    def read(self) -> list[Summary]:
        """All points."""
        content = self._content
        content.text()
        content.text()  # the version
        definitions = {
            "Parameter": self._parameter,
            "Metric": self._metric,
            "Region": self._region,
            "Callpath": self._callpath,
            "Coordinate": self._coordinate,
        }
        begin = content.at
        while (name := content.text()) in definitions:
            definitions[name]()
            begin = content.at
        content.at = begin
        summaries = []
        while content.skip_to(b"ExperimentPoint"):
            summaries.append(self._point())
        return summaries

    def _parameter(self) -> None:
        self._content.integer()
        self._parameters.append(self._content.text())

    def _metric(self) -> None:
        number = self._content.integer()
        self.metrics[number] = (self._content.text() or "value", self._content.text())

    def _region(self) -> None:
        number, name = self._content.integer(), self._content.text()
        self._content.text()  # the file and line of its source
        self._content.integer()
        count = self._times_named.get(name, -1) + 1
        self._times_named[name] = count
        self._regions[number] = f"{name} #{count}" if count else name  # as Extra-P 4 tells them apart

    def _callpath(self) -> None:
        number, region, parent = self._content.take("qqq")
        name = self._known(self._regions, region, "region")
        if parent != _NO_PARENT:
            name = f"{self._known(self._callpaths, parent, 'call path')}->{name}"
        if len(name) > _LONGEST_PATH:
            self._content.refuse(f"a call path has more than {_LONGEST_PATH:,} characters; the file is damaged")
        self._callpaths[int(number)] = name

    def _coordinate(self) -> None:
        number, count = self._content.integer(), self._content.integer()
        if not 0 <= count <= _MOST_PARAMETERS:
            self._content.refuse(f"a point has {count} coordinates; the file is damaged")
        levels = {self._content.text(): float(self._content.take("d")[0]) for _ in range(count)}
        if set(levels) != set(self._parameters) or not all(map(math.isfinite, levels.values())):
            self._content.refuse("a point has not one finite coordinate for each parameter; the file is damaged")
        self._coordinates[number] = {name: levels[name] for name in self._parameters}

    def _point(self) -> Summary:
        coordinate, count, mean, _, _, deviation, median, _, _, least, most, metric, path = self._content.take(_POINT)
        if not math.isfinite(mean):
            self._content.refuse(f"the mean of a point is {mean}; a finite number is expected")
        return Summary(
            point=self._known(self._coordinates, coordinate, "coordinate"),
            callpath=self._known(self._callpaths, path, "call path"),
            metric=self._known(self.metrics, metric, "metric")[0],
            runs=(),
            mean=mean,
            median=median if math.isfinite(median) else None,
            minimum=least if math.isfinite(least) else None,
            maximum=most if math.isfinite(most) else None,
            std=deviation if math.isfinite(deviation) and deviation >= 0.0 and count > 1 else None,
            repetitions=int(count) if count > 0 else None,
        )

    def _known(self, named: Mapping[int, T], number: float, kind: str) -> T:
        if number not in named:
            self._content.refuse(f"{kind} {number} is named, which the file does not define; it is damaged")
        return named[int(number)]
