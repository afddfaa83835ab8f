"""Options of the readers of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfcore.data.units import NANOSECONDS
from perfcore.hooks.options import option

KINDS = ("auto", "curve", "trace", "series", "measurements", "samples")


@dataclass(frozen=True)
class TableOptions:
    """Which column is what, where the names do not tell."""

    kind: str = option("auto", "what the table is; samples: at times a series, even of one column", choices=KINDS)
    time: str | None = option(None, "column of sampling times", metavar="COLUMN")
    start: str | None = option(None, "column of start times", metavar="COLUMN")
    end: str | None = option(None, "column of end times", metavar="COLUMN")
    duration: str | None = option(None, "column of durations, where starts or ends are missing", metavar="COLUMN")
    change: str | None = option(None, "column that says whether a row enters or leaves a state", metavar="COLUMN")
    location: tuple[str, ...] = option(
        (), "column naming the process, thread or stream; several together with commas", metavar="COLUMNS"
    )
    state: str | None = option(None, "column naming the state", metavar="COLUMN")
    value: tuple[str, ...] = option((), "value column, or several with commas", metavar="COLUMN")
    parameters: tuple[str, ...] = option(
        (), "measurements: columns that were varied, also as SYMBOL=COLUMN", metavar="COLUMNS"
    )
    code: tuple[str, ...] | None = option(None, "measurements: columns that name the code", metavar="COLUMNS")
    system: tuple[str, ...] | None = option(None, "measurements: columns that name the system", metavar="COLUMNS")
    category: tuple[str, ...] | None = option(
        None, "measurements: columns that name what the time was spent in", metavar="COLUMNS"
    )
    failed: bool = option(False, "measurements: keep rows of runs that did not complete, by their state or exit code")
    time_unit: str | None = option(
        None,
        "unit of times; by default the ending of the column's name (_s, _ms, _us, _ns), else us",
        choices=tuple(NANOSECONDS),
    )
    overlap: str = option(
        "refuse",
        "overlapping intervals of one location: refuse them, count each, or their union, where the one that began "
        "last counts",
        choices=("refuse", "count", "union"),
    )


@dataclass(frozen=True)
class TextTableOptions(TableOptions):
    """Which column is what, and how numbers are written."""

    decimal: str = option(".", "decimal sign of numbers; with a comma, a point makes none", choices=(".", ","))


def options_of_tables(wanted: Sequence[type]) -> Mapping[str, Any]:
    """Options with which a table is read as one of the types wanted."""
    from perfcore.data.measurements import Measurements
    from perfcore.data.series import Series

    if list(wanted) == [Measurements]:
        return {"kind": "measurements"}
    return {"kind": "samples"} if wanted and wanted[0] is Series else {}
