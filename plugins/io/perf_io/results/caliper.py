"""Profiles that Caliper wrote (``.cali``), by its own reader.

Source: Caliper, documentation, "Caliper file format" and "Configuration manager"; the package caliper-reader.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from caliperreader import CaliperReader as Library
from caliperreader.readererror import ReaderError

from perf_io.results.call_paths import ARROW, exclusive_of, profile_rows
from perf_io.results.options import ProfileOptions
from perf_io.results.result_table import Row, number_or_text, one_line, results
from perf_io.shared.caliper_records import CaliperRecords
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.data.units import same_unit
from perfcore.reading.source import Source

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
        """Sure by the first record."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: ProfileOptions) -> Measurements:
        """Read the profile."""
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
        except (ReaderError, LookupError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError) as error:
            problem = f"no record of Caliper: {type(error).__name__} {' '.join(str(error).split())[:120]}"
            raise InputError(source.name, problem, line=lines.line or None) from error
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
