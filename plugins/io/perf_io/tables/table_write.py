"""Data to tables, so that reading them back gives the same data."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from perf_io.tables.duck import Database, quoted_name
from perf_io.tables.state_table import TabularTrace
from perf_io.text import sql_decimal
from perfcore.base import progress
from perfcore.base.errors import DataError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace

_FORMULA = re.compile(rb'(?:^|[,\n\t])"?([=@][^,"\n\t]+|[+-](?!inf|nan)[A-Za-z(][^,"\n\t]*)')


class TableFacts(msgspec.Struct, omit_defaults=True):
    """What columns alone do not say; Parquet files carry it."""

    kind: str
    n_locations: int | None = None
    locations: tuple[str, ...] | None = None
    states: tuple[str, ...] | None = None
    busy_states: tuple[str, ...] | None = None
    span_ns: tuple[int, int] | None = None
    roles: dict[str, Any] | None = None


def write_table(data: Any, path: Path, file_format: str) -> None:
    """Write a curve as ``time,value``, a trace as ``start,end,location,state``, other data as their columns."""
    table = next((table for kind, table in _TABLES.items() if isinstance(data, kind)), None)
    if table is None:
        raise DataError(f"cannot write {type(data).__name__} as a table; data that a reader gives are expected")
    database, query, facts = table(data)
    database.copy(query, path, file_format, msgspec.to_builtins(facts))
    _note_formulas(path)


def _note_formulas(path: Path) -> None:
    """Say where cells begin as formulas do, which spreadsheets run; they are kept as they are."""
    with path.open("rb") as file:
        cell = _FORMULA.search(file.read(1 << 20)) if path.suffix.lower() in (".csv", ".tsv") else None
    if cell is not None:
        text = cell[1][:40].decode(errors="replace")
        progress.note(f"cells such as {text!r} are formulas to a spreadsheet; import them as text")


_Written = tuple[Database, str, TableFacts]


def _curve(curve: UtilizationCurve) -> _Written:
    database = Database(curve.source)
    database.add_arrays("steps", {"edge": curve.edges, "height": np.append(curve.heights, np.nan)})
    columns = f"edge AS time_{curve.time_unit}, CASE WHEN NOT isnan(height) THEN height END AS value"
    return database, f"SELECT {columns} FROM steps", TableFacts("curve", n_locations=curve.n_locations)


def _trace(trace: Trace) -> _Written:
    if isinstance(trace, TabularTrace):
        database, intervals = trace.database, trace.query
    else:
        database = Database(trace.source)
        database.add_arrays(
            "intervals", {"l": trace.location, "s": trace.state, "start_ns": trace.start_ns, "end_ns": trace.end_ns}
        )
        for table, names in (("location_list", trace.locations), ("state_list", trace.states)):
            database.run(f"CREATE TABLE {table} AS SELECT $1 AS names", [list(names)])
        intervals = (
            "SELECT (SELECT names FROM location_list)[l + 1] AS location, "
            "(SELECT names FROM state_list)[s + 1] AS state, start_ns, end_ns FROM intervals"
        )
    largest = max(map(abs, trace.span_ns))
    start, end = (sql_decimal(f"{side}_ns", trace.time_unit, largest) for side in ("start", "end"))
    times = f"{start} AS start_{trace.time_unit}, {end} AS end_{trace.time_unit}"
    facts = TableFacts("trace", None, trace.locations, trace.states, trace.busy_states, trace.span_ns)
    return database, f"SELECT {times}, location, state FROM ({intervals})", facts


def _series(series: Series) -> _Written:
    time = f"time_{series.time_unit}"
    if time in (name.lower() for name in series.columns):
        raise DataError(f"{series.source}: a column is called {time}, which the times are written under; rename it")
    database = Database(series.source)
    names = {f"v{number}": name for number, name in enumerate(series.columns)}
    arrays = {safe: series.columns[name] for safe, name in names.items()}
    database.add_arrays("samples", {"t": series.times, **arrays})
    values = (f"CASE WHEN NOT isnan({safe}) THEN {safe} END AS {quoted_name(name)}" for safe, name in names.items())
    return database, f"SELECT t AS {time}, {', '.join(values)} FROM samples", TableFacts("series")


def _measurements(data: Measurements) -> _Written:
    names: dict[str, str] = {}
    for name in data.table.columns:
        if names.setdefault(name.lower(), name) != name:
            raise DataError(f"{data.source}: columns {names[name.lower()]} and {name} differ in case only; rename one")
    database = Database(data.source)
    database.add_arrays("runs", {name: data.table[name].to_numpy() for name in data.table.columns})
    roles = {name: getattr(data.roles, name) for name in ("value", "code", "system", "category", "unit")}
    facts = TableFacts("measurements", roles={"parameters": dict(data.roles.parameters), **roles})
    return database, "SELECT * FROM runs", facts


_TABLES: dict[type, Callable[[Any], _Written]] = {
    Trace: _trace,
    UtilizationCurve: _curve,
    Series: _series,
    Measurements: _measurements,
}
