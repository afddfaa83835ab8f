"""A table that becomes data: what CSV and Parquet have in common once their columns are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from perf_io.monitors.samples import read_samples, read_steps
from perf_io.tables.cells import with_plain_numbers
from perf_io.tables.columns import Column, Roles, assign_roles, one_line, unit_of_times
from perf_io.tables.duck import quoted, quoted_name
from perf_io.tables.event_table import are_changes, read_event_table
from perf_io.tables.measurement_table import read_measurements
from perf_io.tables.options import TableOptions
from perf_io.tables.state_table import StateTable, read_states
from perf_io.tables.table import Table
from perf_io.tables.time_units import with_unit
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace


_STATE = "running"  # of intervals without a state
_EXACT_NS = 1 << 53  # to which a float64 holds every nanosecond: 104 days
_ROWS = 10_000  # that tell what names do not


def read_table(table: Table, options: TableOptions) -> Trace | UtilizationCurve | Series | Measurements:
    """Read a table as what its columns, or the options, say it is."""
    table = with_plain_numbers(table)
    options = _with_facts(options, table.facts)
    roles = assign_roles(table.columns, options, table.source, _Rows(table))
    if roles.kind == "measurements":
        return read_measurements(table, _with_sweep(options, roles, table.facts))
    unit, notes = with_unit(table, roles, options.time_unit)
    roles = replace(roles, time_unit=unit, notes=notes)
    if roles.kind == "events":
        return read_event_table(table, roles)
    if roles.kind == "trace":
        return _trace(table, roles, unit, options.overlap)
    return read_samples(table, roles) if roles.end is None else read_steps(table, roles)


@dataclass(frozen=True)
class _Rows:
    """What the first rows of a table say."""

    table: Table

    def steps_follow(self, start: Column, end: Column) -> bool:
        sides = ", ".join(f"{self.table.ns(column, 's')} AS {name}" for column, name in ((start, "a"), (end, "b")))
        rows = f"SELECT {sides} FROM {self.table.relation} LIMIT {_ROWS}"
        before = f"SELECT a, lag(b) OVER () AS b FROM ({rows})"
        torn = self.table.database.rows(f"SELECT 1 FROM ({before}) WHERE a <> b LIMIT 1")
        return not torn

    def tells_changes(self, column: Column) -> bool:
        name = quoted_name(column.name)
        rows = f"SELECT {name} AS word FROM {self.table.relation} LIMIT {_ROWS}"
        words = self.table.database.rows(f"SELECT DISTINCT lower(trim(word)) FROM ({rows}) WHERE word IS NOT NULL")
        return are_changes(word for (word,) in words)

    def goes_back(self, time: Column) -> bool:
        rows = f"SELECT TRY_CAST({self.table.number(time)} AS DOUBLE) AS t FROM {self.table.relation} LIMIT {_ROWS}"
        ((goes_back,),) = self.table.database.rows(
            f"SELECT min(t) <= 0 FROM (SELECT t - lag(t) OVER () AS t FROM ({rows}))"
        )
        return bool(goes_back)

    def is_sweep(self, varied: Column, time: Column) -> bool:
        number, moment = (f"TRY_CAST({self.table.number(column)} AS DOUBLE)" for column in (varied, time))
        rows = f"SELECT {number} AS x, {moment} AS t FROM {self.table.relation} LIMIT {_ROWS}"
        steps = f"SELECT x - lag(x) OVER () AS x, t - lag(t) OVER () AS t FROM ({rows})"
        falls, rises, goes_back = self.table.database.rows(
            f"SELECT min(x) < 0, max(x) > 0, min(t) <= 0 FROM ({steps})"
        )[0]
        return bool(goes_back) or not (falls and rises)


def _with_facts(options: TableOptions, facts: Mapping[str, Any]) -> TableOptions:
    """The kind that the file itself states, unless an option overrides it."""
    if options.kind in ("auto", "samples") and facts.get("kind") in ("curve", "series", "measurements"):
        return replace(options, kind=facts["kind"])
    return options


def _with_sweep(options: TableOptions, roles: Roles, facts: Mapping[str, Any]) -> TableOptions:
    """What was varied and measured, where the order of the columns told and the file does not."""
    if facts.get("roles"):
        return options
    parameters = options.parameters if roles.varied is None else (roles.varied.name,)
    return replace(options, parameters=parameters, value=options.value or tuple(column.name for column in roles.values))


def _trace(table: Table, roles: Roles, unit: str, overlap: str) -> Trace:
    start, end, duration, location, state = roles.start, roles.end, roles.duration, roles.location, roles.state
    length = "" if duration is None else table.ns(duration, unit_of_times([duration], table.source) or unit)
    start_ns = "" if start is None else table.ns(start, unit)
    end_ns = f"({start_ns}) + ({length})" if end is None else table.ns(end, unit)
    if start is None:  # also where the end is missing, so that this and not the start is what gets reported
        start_ns = f"coalesce({end_ns}, 0) - ({length})"
    sides = {"start": start or duration, "end": end or duration}

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, texts = table.at_row(row)
        fields = {role: texts.get(column.name, "") for role, column in sides.items() if column is not None}
        fields["location"] = "/".join(texts.get(column.name, "") for column in location)
        fields["state"] = _STATE if state is None else texts.get(state.name, "")
        if start is None:
            fields["since"] = f"{fields['end'].strip()} - {fields['start'].strip()}"
        if end is None:
            fields["until"] = f"{fields['start'].strip()} + {fields['end'].strip()}"
        return line, fields

    parts = (f"CAST({quoted_name(column.name)} AS VARCHAR)" for column in location)
    name = " || '/' || ".join(parts) or "''"
    kind = quoted(_STATE) if state is None else f"CAST({quoted_name(state.name)} AS VARCHAR)"
    notes = list(roles.notes)
    if len(location) > 1:
        notes.append(f"a location is {'/'.join(one_line(column.name) for column in location)}")
    curve_unit = unit
    dates = any(column is not None and column.kind == "timestamp" for column in (start, end))
    if dates and unit != "ns" and _has_fine_dates(table, start_ns):
        curve_unit = "ns"
        notes.append(
            f"times are given to the nanosecond: curves count in ns, as since 1970 {unit} are good to 0.2 us only"
        )
    if state is None:
        notes.append("no column names a state: each interval is computing")
    return read_states(
        StateTable(
            database=table.database,
            query=(
                f"SELECT {name} AS location, {kind} AS state, {start_ns} AS start_ns, {end_ns} AS end_ns "
                f"FROM {table.relation}"
            ),
            at_row=at_row,
            keeps=table.keeps,
            time_unit=curve_unit,
            notes=tuple(notes),
            decimal=table.decimal,
            cure="; to count each: -r overlap=count, to count the location once: -r overlap=union",
            overlap=overlap if location else "count",
            columns={} if duration is None else {"start" if start is None else "end": "duration"},
            **_trace_facts(table.facts),
        )
    )


def _has_fine_dates(table: Table, start_ns: str) -> bool:
    """Whether times are too large for a float64 of another unit to tell the nanoseconds that they have."""
    rows = f"SELECT {start_ns} AS start_ns FROM {table.relation} LIMIT {_ROWS}"
    fine = f"SELECT 1 FROM ({rows}) WHERE abs(start_ns) > {_EXACT_NS} AND start_ns % 1000 <> 0 LIMIT 1"
    return bool(table.database.rows(fine))


def _trace_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    names = ("locations", "states", "busy_states", "span_ns")
    return {name: facts[name] for name in names if facts.get(name) is not None}
