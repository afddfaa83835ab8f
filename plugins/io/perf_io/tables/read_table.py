"""A table that becomes data: what CSV and Parquet have in common once their columns are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perf_io.monitors.samples import read_samples, read_steps
from perf_io.tables.columns import Roles, assign_roles, unit_of_duration
from perf_io.tables.duck import quoted_name
from perf_io.tables.event_table import read_event_table
from perf_io.tables.measurement_table import read_measurements
from perf_io.tables.options import TableOptions
from perf_io.tables.state_table import StateTable, read_states
from perf_io.tables.table import Table
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace

__all__ = ["read_table"]


def read_table(table: Table, options: TableOptions) -> Trace | UtilizationCurve | Series | Measurements:
    """Read a table as what its columns, or the options, say it is.

    Raises
    ------
    InputError
        Columns of no accepted set, no rows, or a value that does not belong; with its line.
    """
    roles = assign_roles(table.columns, _with_facts(options, table.facts), table.source)
    if roles.kind == "measurements":
        return read_measurements(table, options)
    if roles.kind == "events":
        return read_event_table(table, roles)
    if roles.kind == "trace":
        return _trace(table, roles)
    return read_samples(table, roles) if roles.end is None else read_steps(table, roles)


def _with_facts(options: TableOptions, facts: Mapping[str, Any]) -> TableOptions:
    """The kind that the file itself states, unless an option overrides it."""
    if options.kind == "auto" and facts.get("kind") in ("series", "measurements"):
        return replace(options, kind=facts["kind"])
    return options


def _trace(table: Table, roles: Roles) -> Trace:
    start, end, location, state = roles.start, roles.end or roles.duration, roles.location, roles.state
    assert start is not None
    assert end is not None
    assert location is not None
    assert state is not None

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        line, texts = table.at_row(row)
        names = {"start": start, "end": end, "location": location, "state": state}
        return line, {role: texts.get(column.name, "") for role, column in names.items()}

    start_ns = table.ns(start, roles.time_unit)
    end_ns = (
        table.ns(end, roles.time_unit)
        if roles.end is not None
        else f"({start_ns}) + ({table.ns(end, unit_of_duration(end, roles.time_unit))})"
    )
    return read_states(
        StateTable(
            database=table.database,
            query=(
                f"SELECT CAST({quoted_name(location.name)} AS VARCHAR) AS location, "
                f"CAST({quoted_name(state.name)} AS VARCHAR) AS state, "
                f"{start_ns} AS start_ns, {end_ns} AS end_ns "
                f"FROM {table.relation}"
            ),
            at_row=at_row,
            keeps=table.keeps,
            time_unit=roles.time_unit,
            decimal=table.decimal,
            **_trace_facts(table.facts),
        )
    )


def _trace_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    known = ("locations", "states", "busy_states", "span_ns")
    return {name: facts[name] for name in known if facts.get(name) is not None}
