"""Options of the readers, and what readers of tables share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from perfcore.data.selection import DUPLICATES
from perfcore.data.units import NANOSECONDS
from perfcore.hooks.options import option
from perfcore.reading.source import Reader

KINDS = ("auto", "curve", "trace", "series", "measurements", "samples")
_WHOSE_EVENTS = "whose events to read: streams of GPUs, threads, or both; auto: streams if there are any, else threads"
_MEASURES = ("busy", "available", "iowait", "steal")


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
    kilo: str = option("auto", "what K, M and G in cells such as 4K are powers of", choices=("auto", "1000", "1024"))
    duplicates: str = option(
        "refuse", "measurements: rows that repeat earlier ones, as in a file joined with itself", choices=DUPLICATES
    )
    failed: bool = option(False, "measurements: keep rows of runs that did not complete, by their state or exit code")
    time_unit: str | None = option(
        None,
        "unit of times; by default the ending of the column's name (_s, _ms, _us, _ns), else us",
        choices=tuple(NANOSECONDS),
    )
    overlap: str = option(
        "auto",
        "overlapping intervals of one location: refuse them, count each, or their union, where the one that began "
        "last counts (auto: union where those of a thread are nested, else refuse)",
        choices=("auto", "refuse", "count", "union"),
    )


@dataclass(frozen=True)
class TextTableOptions(TableOptions):
    """Which column is what, and how numbers are written."""

    decimal: str = option(
        "auto", "decimal sign of numbers (auto: a comma where no number has a point)", choices=("auto", ".", ",")
    )


class TableReader(Reader):
    """A format of tables, whose columns say what they are."""

    Options: ClassVar[Any] = TableOptions
    file_format: ClassVar[str] = ""  # as `perf_io.tables.table_write` calls it

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        names = [kind.__name__ for kind in wanted]  # whose modules a table of another type need not import
        if names == ["Measurements"]:
            return {"kind": "measurements"}
        return {"kind": "samples"} if names[:1] == ["Series"] else {}

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        from perf_io.tables.table_write import write_table

        write_table(data, Path(path), self.file_format)


def _levels() -> tuple[str, ...]:
    from perf_traces.options import LEVELS

    return LEVELS


@dataclass(frozen=True)
class GpuOptions:
    """Whose events to read of traces that hold both sides."""

    locations: str = option("auto", _WHOSE_EVENTS, choices=_levels)


@dataclass(frozen=True)
class PajeOptions:
    """What the format does not say."""

    kind: str = option(
        "auto",
        "what to read: states of locations as a trace, or variables as a series; auto: states if there are any",
        choices=("auto", "states", "variables"),
    )
    time_unit: str | None = option(
        None, "unit of the times; by default s, and ms of StarPU's and StarVZ's traces", choices=tuple(NANOSECONDS)
    )
    state_type: str | None = option(None, "which states to read where a file has several types of them", metavar="TYPE")


@dataclass(frozen=True)
class PjDumpOptions(PajeOptions):
    """What the lines do not say; those with a header line, as StarVZ has it, are in ms."""

    nested: str | None = option(
        None,
        "which of nested states counts; by default the outermost with a header line, since StarVZ counts a task "
        "whole, else the innermost",
        choices=("innermost", "outermost"),
    )


@dataclass(frozen=True)
class SacctOptions:
    """Which jobs count, and what the fields of a table without names are."""

    duplicates: str = option(
        "refuse", "measurements: rows that repeat earlier ones, as in a file joined with itself", choices=DUPLICATES
    )
    failed: bool = option(False, "keep jobs that did not complete, with the time until they ended")
    fields: str | None = option(
        None, "names of the fields, where the first line does not give them", metavar="JOBID,STATE,..."
    )


@dataclass(frozen=True)
class MessageOptions:
    """Which messages count."""

    empty: bool = option(False, "keep messages of 0 bytes, of which no power or logarithm can be taken")


@dataclass(frozen=True)
class ProfileOptions:
    """Which metric of a profile is read."""

    metric: str | None = option(None, "metric to read (default: the time)", metavar="NAME")


@dataclass(frozen=True)
class ServingOptions:
    """What of a benchmark of serving is a row."""

    requests: bool = option(False, "a row for each request, where the file holds their times")


@dataclass(frozen=True)
class CpuOptions:
    """Which shares become columns."""

    measures: tuple[str, ...] = option(
        ("busy",),
        "shares of each processor's time, with commas: busy (neither idle nor waiting for I/O), available (1 - busy), "
        "iowait, steal",
        choices=_MEASURES,
        metavar="NAME,...",
    )
