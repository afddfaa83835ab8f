"""The unit of times that nothing names: times since 1970 are told by their size, others are microseconds."""

from __future__ import annotations

import datetime

from perf_io.tables.column_names import split_name
from perf_io.tables.columns import Column, Roles, one_line
from perf_io.tables.table import Table
from perfcore.data.units import NANOSECONDS


_DEFAULT = "us"
# From 2010 to 2035, and within a month: a clock that counts microseconds from the start of a machine is there for
# some minutes once. Chrome and Perfetto call such times `ts`, so these are never taken for dates.
_FIRST_S, _LAST_S, _LONGEST_S = 1.26e9, 2.05e9, 31 * 86400.0
_ROWS = 10_000  # that tell
_OF_TRACERS = frozenset({"ts"})


def with_unit(table: Table, roles: Roles, chosen_unit: str | None) -> tuple[str, tuple[str, ...]]:
    """The unit of a table's times, and what to say about it."""
    times = [column for column in (roles.start, roles.end) if column is not None]
    if chosen_unit is not None:
        return chosen_unit, ()
    if any(column.kind == "timestamp" for column in times):
        return "s", ("times are dates, counted in s since 1970 (UTC where they have no offset)",)
    if not roles.time_unit:
        since, unit = _since_1970(table, times[0])
        name = one_line(times[0].name)
        if since is not None:
            moment = datetime.datetime.fromtimestamp(since, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
            others = "|".join(other for other in NANOSECONDS if other != unit)
            return unit, (
                f"{name} has no unit: its times are taken in {unit} since 1970, as they begin at {moment} UTC; if not: "
                f"-r time_unit={others}",
            )
        others = "|".join(other for other in NANOSECONDS if other != _DEFAULT)
        return _DEFAULT, (f"{name} has no unit: its times are taken in {_DEFAULT}; if not: -r time_unit={others}",)
    if roles.duration is not None and times and not any(_says_unit(column) for column in times):
        name, of = one_line(times[0].name), one_line(roles.duration.name)
        return roles.time_unit, (f"{name} has no unit: its times are taken in {roles.time_unit}, as {of} is",)
    return roles.time_unit, ()


def _says_unit(column: Column) -> bool:
    return split_name(column.name).unit is not None


def _since_1970(table: Table, column: Column) -> tuple[float | None, str]:
    """First time in seconds where all are times since 1970 in some unit, and that unit."""
    if column.name.strip().lower() in _OF_TRACERS:
        return None, _DEFAULT
    number = f"TRY_CAST({table.number(column)} AS DOUBLE)"
    rows = f"SELECT {number} AS t FROM {table.relation} LIMIT {_ROWS}"
    first, last = table.database.rows(f"SELECT min(t), max(t) FROM ({rows})")[0]
    for unit, ns in NANOSECONDS.items():
        factor = ns / 1e9
        if first is not None and _FIRST_S <= first * factor <= last * factor <= _LAST_S:
            return (first * factor, unit) if (last - first) * factor <= _LONGEST_S else (None, _DEFAULT)
    return None, _DEFAULT
