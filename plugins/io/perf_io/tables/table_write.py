"""Data to tables, so that reading them back gives the same data, and many series in bounded memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from perf_io.tables.duck import Database, parquet_scan, quoted_name
from perf_io.tables.state_table import TabularTrace
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, InputError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per

_FORMULA = re.compile(rb'(?:^|[,\n\t])"?([=@][^,"\n\t]+|[+-](?!inf|nan)[A-Za-z(][^,"\n\t]*)')
_VECTORS = 12  # of 2,048 rows that are read at a time
_ANSWERS = "answers"  # the table of what was written


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
    with path.open("rb") as file:  # what begins as formulas do, which spreadsheets run, is kept as it is
        cell = _FORMULA.search(file.read(1 << 20)) if path.suffix.lower() in (".csv", ".tsv") else None
    if cell is not None:
        text = cell[1][:40].decode(errors="replace")
        progress.note(f"cells such as {text!r} are formulas to a spreadsheet; import them as text")


_Written = tuple[Database, str, TableFacts]


def _curve(curve: UtilizationCurve) -> _Written:
    database = Database(curve.source)
    database.add("steps", {"edge": curve.edges, "height": np.append(curve.heights, np.nan)})
    columns = f"edge AS time_{curve.time_unit}, CASE WHEN NOT isnan(height) THEN height END AS value"
    return database, f"SELECT {columns} FROM steps", TableFacts("curve", n_locations=curve.n_locations)


def _trace(trace: Trace) -> _Written:
    if isinstance(trace, TabularTrace):
        database, intervals = trace.database, trace.query
    else:
        database = Database(trace.source)
        database.add(
            "intervals", {"l": trace.location, "s": trace.state, "start_ns": trace.start_ns, "end_ns": trace.end_ns}
        )
        for table, names in (("location_list", trace.locations), ("state_list", trace.states)):
            database.run(f"CREATE TABLE {table} AS SELECT $1 AS names", [list(names)])
        intervals = (
            "SELECT (SELECT names FROM location_list)[l + 1] AS location, "
            "(SELECT names FROM state_list)[s + 1] AS state, start_ns, end_ns FROM intervals"
        )
    largest = max(map(abs, trace.span_ns))
    start, end = (_decimal(f"{side}_ns", trace.time_unit, largest) for side in ("start", "end"))
    times = f"{start} AS start_{trace.time_unit}, {end} AS end_{trace.time_unit}"
    facts = TableFacts("trace", None, trace.locations, trace.states, trace.busy_states, trace.span_ns)
    return database, f"SELECT {times}, location, state FROM ({intervals})", facts


def _decimal(column: str, time_unit: str, largest_ns: int) -> str:
    """Return a SQL expression that turns whole nanoseconds into an exact decimal of ``time_unit``."""
    digits = len(str(nanoseconds_per(time_unit))) - 1
    if digits == 0:
        return column
    width = 18 if largest_ns < 10**18 else 19
    return f"CAST({column} * 1e-{digits}::DECIMAL({digits + 1}, {digits}) AS DECIMAL({width}, {digits}))"


def _series(series: Series) -> _Written:
    time = f"time_{series.time_unit}"
    if time in (name.lower() for name in series.columns):
        raise DataError(f"{series.source}: a column is called {time}, which the times are written under; rename it")
    database = Database(series.source)
    names = {f"v{number}": name for number, name in enumerate(series.columns)}
    arrays = {safe: series.columns[name] for safe, name in names.items()}
    database.add("samples", {"t": series.times, **arrays})
    values = (f"CASE WHEN NOT isnan({safe}) THEN {safe} END AS {quoted_name(name)}" for safe, name in names.items())
    return database, f"SELECT t AS {time}, {', '.join(values)} FROM samples", TableFacts("series")


def _measurements(data: Measurements) -> _Written:
    names: dict[str, str] = {}
    for name in data.table.columns:
        if names.setdefault(name.lower(), name) != name:
            raise DataError(f"{data.source}: columns {names[name.lower()]} and {name} differ in case only; rename one")
    database = Database(data.source)
    database.add("runs", {name: data.table[name].to_numpy() for name in data.table.columns})
    roles = {name: getattr(data.roles, name) for name in ("value", "code", "system", "category", "unit")}
    facts = TableFacts("measurements", roles={"parameters": dict(data.roles.parameters), **roles})
    return database, "SELECT * FROM runs", facts


_TABLES: dict[type, Callable[[Any], _Written]] = {
    Trace: _trace, UtilizationCurve: _curve, Series: _series, Measurements: _measurements,
}  # fmt: skip


class SeriesTable:
    """A Parquet or CSV file, read by series."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(str(path), "there is no such file")
        self.database = Database(str(path))
        link = self.database.link(path)
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        self.relation = parquet_scan(link) if is_parquet else f"read_csv({link})"

    def head(self, count: int) -> pd.DataFrame:
        """Return the first rows."""
        return self.database.frame(f"SELECT * FROM {self.relation} LIMIT {count}")

    def blocks(self, by: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield tens of thousands of rows at a time, those of a series together, in the order of their names."""
        keys, left = list(by), None
        order = ", ".join(map(quoted_name, keys))
        for frame in self.database.frames(f"SELECT * FROM {self.relation} ORDER BY {order}", _VECTORS):
            rows = frame if left is None else pd.concat([left, frame], ignore_index=True)
            is_last = (rows[keys] == rows[keys].iloc[-1]).all(axis=1)  # its other rows may follow
            left = rows[is_last]
            if not is_last.all():
                yield rows[~is_last].reset_index(drop=True)
        if left is not None:
            yield left.reset_index(drop=True)


def answers_bytes(rows: pd.DataFrame, facts: Mapping[str, Any]) -> bytes:
    """Return a Parquet file of some rows."""
    database = Database("answers")
    database.add(_ANSWERS, rows)
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        path = Path(folder) / "answers.parquet"
        database.copy(f"SELECT * FROM {_ANSWERS}", path, "parquet", facts)
        return path.read_bytes()


def join_answers(files: Sequence[Path], path: Path, facts: Mapping[str, Any]) -> None:
    """Write the rows of several Parquet files to one, in their order."""
    database = Database(str(path))
    links = ", ".join(database.link(file, number) for number, file in enumerate(files))
    database.copy(f"SELECT * FROM {parquet_scan(f'[{links}]')}", path, "parquet", facts)


def facts_of(path: Path) -> Mapping[str, Any]:
    """Return what `answers_bytes` noted in a file; nothing of files of others."""
    database = Database(str(path))
    return database.parquet_facts(database.link(path))


def read_answers(path: Path, order: str, most: int) -> pd.DataFrame:
    """Return the rows with the largest values in a column, at most so many."""
    database = Database(str(path))
    relation = parquet_scan(database.link(path))
    return database.frame(f"SELECT * FROM {relation} ORDER BY {quoted_name(order)} DESC NULLS LAST LIMIT {most}")
