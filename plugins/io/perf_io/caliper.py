"""Profiles and event traces of Caliper (``.cali``), by its own reader."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caliperreader import CaliperReader as Library
from caliperreader import CaliperStreamReader  # type: ignore[import-untyped]
from caliperreader.readererror import ReaderError  # type: ignore[import-untyped]

from perf_io.options import ProfileOptions
from perf_io.results.result_table import ARROW, Row, exclusive_of, number_or_text, one_line, profile_rows, results
from perf_io.text import numbered_lines, parse_ns
from perf_io.traces.nested_states import NestedStates
from perfcore.base import progress
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace
from perfcore.data.units import same_unit
from perfcore.reading.source import Source

_REFERENCE = re.compile(r"(?:^|,)(id|parent)=([0-9]{1,20})(?=,|$)")
_DAMAGED = (ReaderError, LookupError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError)
_DEEPEST = 1000  # nodes between a record and the root; each level is a region that some code entered


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
        """What the library says of a damaged line."""
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


_STARTS = re.compile(rb"__rec=(?:node|ctx|globals|attr),")
_METRIC_TYPES = ("int", "uint", "double")
_INCLUSIVE = "inclusive#"
_RANKS = ("jobsize", "mpi.world.size")


class CaliperProfileReader(Reader):
    """A profile by regions: one row for each call path, with what was spent in it alone and with what it called.

    The call path is the category. The value is the time of the average rank, where the file has it, or the metric that
    is named. The global attributes that are whole numbers, such as ``problem_size`` and the number of ``ranks``, are
    parameters.
    Records of single ranks are averaged over the ranks.
    """

    Options = ProfileOptions

    def sniff(self, source: Source) -> float:
        return 0.95 if _STARTS.match(source.head) else 0.0

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
            seconds = {name for name in names if same_unit(str(attributes[name].get("attribute.unit"))) == "s"}
        except _DAMAGED as error:
            raise lines.error(error) from error
        records = [
            record for record in library.records if record.get("spot.channel", "regionprofile") == "regionprofile"
        ]
        present = {name: alias for name, alias in names.items() if any(name in record for record in records)}
        metric = _chosen(options.metric, present, seconds, source.name)
        amounts = _amounts(records, metric, source.name)
        named = {ARROW.join(path): amount for path, amount in amounts.items()}
        exclusive, inclusive = (exclusive_of(amounts), named) if _INCLUSIVE in metric else (named, {})
        value = "time_s" if metric in seconds else one_line(present[metric])
        run = _run(library.globals, types, dates)
        parameters = [name for name in run if name != "cluster"]
        return results(
            profile_rows(run, exclusive, inclusive, value),
            source.name,
            parameters=parameters,
            value=value,
            system=["cluster"],
            category=["callpath"],
        )


def _chosen(metric_name: str | None, present: Mapping[str, str], seconds: set[str], source: str) -> str:
    """The attribute that holds the wanted metric, or the time: of the average rank, or the first that is one."""
    if metric_name is not None:
        for name, alias in present.items():
            if metric_name in (name, alias):
                return name
        raise UnknownNameError("metric", metric_name, [*present.values()])
    timed = [name for name in present if name in seconds or "time" in name]
    if not (timed or present):
        raise InputError(source, "holds no record with a metric")
    return next((name for name in timed if name.startswith("avg#")), next(iter(timed), next(iter(present))))


def _amounts(records: Sequence[Mapping[str, Any]], metric: str, source: str) -> dict[tuple[str, ...], float]:
    """The metric of each call path: summed within a rank, averaged over the ranks."""
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
    ranks = {rank for of_rank in sums.values() for rank in of_rank}
    return {path: sum(of_rank.values()) / len(ranks) for path, of_rank in sums.items()}


def _run(attributes: Mapping[str, Any], types: Mapping[str, str], dates: set[str]) -> Row:
    """What the file says of the run: whole numbers that set it up, and where it ran."""
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


_BEGIN, _END = "event.begin#", "event.end#"
_TIMES = {"time.offset.ns": "ns", "time.offset": "us"}
_RANK_KEYS = ("mpi.rank", "rank")
_THREADS = ("omp.thread.id", "pthread.id", "thread.id")
# Attributes that begin and end and are no regions of the program.
_NOT_REGIONS = ("cali.", "iteration#", "cuda.", "omp.thread", "pthread", "mpi.rank")


class CaliperTraceReader(Reader):
    """Regions of the ranks and threads of a Caliper event trace.

    Choose it for what Caliper's ``event-trace`` writes.
    """

    def sniff(self, source: Source) -> float:
        """Surer than the reader of profiles where there are events with times."""
        is_caliper = source.head.startswith(b"__rec=")
        return 0.97 if is_caliper and b"event.begin#" in source.head and b"time.offset" in source.head else 0.0

    def read(self, source: Source, options: Any) -> Trace:
        records = CaliperRecords(source)
        events = _Events(records, source.name)
        try:
            with progress.bar(f"reading {source.name}"):
                CaliperStreamReader().read(records, events.take)
        except _DAMAGED as error:
            raise records.error(error) from None
        return events.trace()


class _Events:
    """What the records with events add up to."""

    def __init__(self, records: CaliperRecords, source: str) -> None:
        self._records, self._source = records, source
        self._states = NestedStates(source)
        self._regions: dict[str, int] = {}
        self._locations: dict[tuple[str, str], int] = {}
        self._passed_over = 0

    def take(self, record: Mapping[str, object]) -> None:
        unit = next((name for name in _TIMES if name in record), None)
        event = next((name for name in record if name.startswith((_BEGIN, _END))), None)
        kind = event.partition("#")[2] if event else ""
        if event is None or unit is None or kind.startswith(_NOT_REGIONS):
            self._passed_over += 1
            return
        line = self._records.line
        time = parse_ns(str(record[unit]), _TIMES[unit], self._source, line)
        rank, thread = (
            next((str(record[name]) for name in names if name in record), "") for names in (_RANK_KEYS, _THREADS)
        )
        location = self._locations.setdefault((rank, thread), len(self._locations))
        name = str(record[event])
        if event.startswith(_BEGIN):
            self._states.push(location, self._regions.setdefault(name, len(self._regions)), time, line)
        elif not self._states.pop(location, time, line):
            raise InputError(self._source, f"region {name[:60]!r} ends, and none was begun", line=line)

    def trace(self) -> Trace:
        """All regions; what was not left lasts until the location's last event."""
        self._states.finish()
        keys = list(self._locations)
        names = list(self._regions)
        notes = [f"{self._passed_over} records without regions passed over"] if self._passed_over else []
        return self._states.trace(
            [_label(*keys[code]) for code in self._states.locations], names, time_unit="us", notes=notes
        )


def _label(rank: str, thread: str) -> str:
    parts = [*([f"rank {rank}"] if rank else []), *([f"thread {thread}"] if thread else [])]
    return " / ".join(parts) or "process"
