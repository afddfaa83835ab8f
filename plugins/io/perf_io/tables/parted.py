"""Measurements of very many paths in parts on disk: all rows of one path in one part, in bounded memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import Database, TableError, parquet_scan, quoted, quoted_name
from perf_io.tables.measurement_table import sql_fields
from perf_io.tables.parquet import ParquetReader, opened_parquet
from perf_io.tables.table import Table
from perfcore.base.errors import DataError, InputError
from perfcore.data.kinds import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.reading.many_files import named_files
from perfcore.reading.recognise import read_named
from perfcore.reading.source import Source

_SAMPLE_ROWS = 10_000  # that tell what the columns are
_LINE, _FILE, _PART = "perfcore_line", "file", "perfcore_part"
_ROWS_AT_ONCE = 1 << 13  # that are held for each part before they are written

Strings = Sequence[str]


class PartedMeasurements:
    """Rows of a file, a folder or a pattern in parts by what names a path; removed from disk with this object."""

    def __init__(
        self,
        name: str,
        key: Callable[[Measurements], Strings],
        rows_of_part: int,
        folder: Path,
        how: Mapping[str, Any],
    ) -> None:
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=".perfcore-parts-", dir=folder))
        except OSError as error:
            problem = f"cannot be written, and parts are kept there meanwhile: {error.strerror or error}"
            raise InputError(folder, problem) from error
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        database = Database(name)
        files = named_files(name)
        unchanged = _Unchanged(files or [Path(name)])
        tables = _parquet_tables(files or [Path(name)], how)
        if tables:
            rows, kept = _rows_of(tables, several=files is not None and len(files) > 1)
        else:
            rows, kept = "SELECT * FROM gathered", _gather(database, name, files, how)
            unchanged = _Unchanged([])  # they were read once
        with unchanged:
            self.sample = _measurements(database.columns(f"SELECT * FROM ({rows}) LIMIT {_SAMPLE_ROWS}"), name, kept)
        with unchanged:
            ((self.n_rows,),) = database.rows(f"SELECT count(*) FROM ({rows})")
        count = max(1, -(-self.n_rows // rows_of_part))
        names = ", ".join(map(quoted_name, key(self.sample)))
        number = f"hash({names}) % {count}" if names else "0"
        database.set("partitioned_write_flush_threshold", _ROWS_AT_ONCE)
        with unchanged:
            database.run(
                f"COPY (SELECT *, {number} AS {quoted_name(_PART)} FROM ({rows})) TO {quoted(str(self._folder))} "
                f"(FORMAT parquet, PARTITION_BY ({quoted_name(_PART)}), OVERWRITE_OR_IGNORE)",
                label="sorting the rows of",
            )
        self.parts = tuple(sorted(path for path in self._folder.iterdir() if path.is_dir()))


class _Unchanged:
    """Files that stay as they are: after each pass over them one that changed is refused, also where that failed."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._noted = {file: _stamp(file) for file in files}

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, TableError):
            for file, stamp in self._noted.items():
                if _stamp(file) != stamp:
                    raise InputError(file, "changed while it was read; begin anew when it is finished") from None


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """What tells one content of a file from another; None where there is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_part(folder: Path, source: str, roles: Mapping[str, Any]) -> Measurements:
    """The rows of one part, with the lines of the file that they came from."""
    database = Database(source)
    relation = parquet_scan(quoted(str(folder / "*.parquet")))
    return _measurements(database.columns(f"SELECT * FROM {relation}"), source, roles)


def _parquet_tables(files: Sequence[Path], how: Mapping[str, Any]) -> list[Table]:
    """The files as tables that are not loaded; none where one of them is no plain Parquet file."""
    if how.get("from_name") is not None or how.get("reader") not in (None, "parquet"):
        return []
    tables = []
    for file in files:
        with Source(file) as source, source.plain_file() as path:
            if not ParquetReader().sniff(source) or path != source.path:
                return []
            tables.append(opened_parquet(source, path))
    return tables


def _rows_of(tables: Sequence[Table], several: bool) -> tuple[str, Mapping[str, Any]]:
    """SQL of the rows of tables with their numbers, and what the file says of their roles."""
    selects = []
    for table in tables:
        of_file = f", {quoted(table.source)} AS {_FILE}" if several and _FILE not in table.types else ""
        selects.append(
            f"SELECT {', '.join(sql_fields(table))}{of_file}, row_number() OVER () AS {quoted_name(_LINE)} "
            f"FROM {table.relation}"
        )
    return " UNION ALL BY NAME ".join(selects), tables[0].facts.get("roles") or {}


def _gather(database: Database, name: str, files: Sequence[Path] | None, how: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write the rows of files to a table, one file, or piece of one, after the other; what their readers told."""
    first_roles: dict[str, Any] = {}
    parameters: dict[str, str] = {}
    columns: list[str] = []
    for file in files or [Path(name)]:
        piece = _read(str(file), how)
        table = piece.table
        if files and len(files) > 1 and _FILE not in table.columns:
            table = table.assign(**{_FILE: str(file)})
        table = table.assign(**{_LINE: [piece.line(row) or row + 1 for row in range(len(table))]})
        if first_roles and (piece.roles.value, piece.roles.unit) != (first_roles["value"], first_roles["unit"]):
            raise DataError(f"{file}: measures {piece.roles.value}, and the files before it {first_roles['value']}")
        roles = piece.roles
        first_roles = first_roles or {
            role: getattr(roles, role) for role in ("value", "unit", "code", "system", "category")
        }
        parameters |= roles.parameters
        columns = _append(database, columns, table)
    levels = {symbol: f"count(DISTINCT {quoted_name(column)})" for symbol, column in parameters.items()}
    if files and len(files) > 1 and levels:  # what is the same in all files was not varied
        (counts,) = database.rows(f"SELECT {', '.join(levels.values())} FROM gathered")
        varied = {symbol for symbol, count in zip(levels, counts, strict=True) if count > 1}
        parameters = {symbol: column for symbol, column in parameters.items() if symbol in varied or not varied}
    return {**first_roles, "parameters": parameters or None}


def _read(file: str, how: Mapping[str, Any]) -> Measurements:
    """The measurements of a file."""
    data = read_named(file, **how).data
    if not isinstance(data, Measurements):
        raise DataError(f"{file}: holds {type_in_words(data)}, and laws are fitted to measurements")
    return data


def _append(database: Database, columns: list[str], table: Any) -> list[str]:
    """Add the rows of a frame, and what columns it has more than those before it; all columns."""
    arrays = {name: table[name].to_numpy() for name in table.columns}
    if not columns:
        database.add_arrays("gathered", arrays)
        return list(arrays)
    for name, values in arrays.items():
        if name not in columns:
            kind = "DOUBLE" if values.dtype.kind in "iuf" else "VARCHAR"
            database.run(f"ALTER TABLE gathered ADD COLUMN {quoted_name(name)} {kind}")
            columns = [*columns, name]
    database.append_by_name("gathered", arrays)
    return columns


def _measurements(columns: dict[str, npt.NDArray[Any]], source: str, roles: Mapping[str, Any]) -> Measurements:
    import pandas as pd

    lines = np.asarray(columns.pop(_LINE), dtype=np.int64)
    columns.pop(_PART, None)
    table = pd.DataFrame({name: _filled(values) for name, values in columns.items()})
    return Measurements(table, source=source, lines=lines.tolist(), **roles)


def _filled(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Without a mask: None among texts, NaN among numbers."""
    if values.dtype.kind in "iuf":
        missing = np.ma.getmaskarray(values)
        return np.ma.filled(values.astype(np.float64), np.nan) if missing.any() else np.ma.getdata(values)
    return np.ma.filled(values.astype(object), None)
