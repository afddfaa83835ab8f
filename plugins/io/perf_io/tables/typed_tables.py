"""Tables whose columns have types: Parquet, and records in JSON."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perf_io.options import TableOptions, TableReader
from perfcore.base.errors import InputError
from perfcore.data.columns import is_called_rate, is_called_time, is_processors, is_run_identifier, is_size
from perfcore.reading.recognise import UNSURE
from perfcore.reading.source import HEAD_BYTES, Source

if TYPE_CHECKING:  # any file of JSON is sniffed here, which needs no database
    from perf_io.tables.duck import Database, Table

_MAGIC = b"PAR1"
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
# Equal values in sequence take next to no place, so a few kilobytes may stand for more rows than memory holds. Columns
# of measurements and traces shrink to a tenth or so.
_BYTES_PER_VALUE = 8
_LARGEST_GROWTH, _GROWTH_FROM_BYTES = 300, 1 << 29
_BOM = b"\xef\xbb\xbf"
_FEWEST_FIELDS = 2  # numbers or texts of the first record
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LEVEL = re.compile(r"[0-9]+(?:\.[0-9]+)?\s*[kKMG]?")
_RECORDS = re.compile(rf"({_STRING.pattern})\s*:\s*\[(?=\s*\{{)")


class ParquetReader(TableReader):
    """Read curves, series, traces and measurements from Parquet; a trace is neither parsed nor held in memory."""

    writes, file_format = True, "parquet"

    def read(self, source: Source, options: TableOptions) -> Any:
        if not source.head.startswith(_MAGIC):
            raise InputError(source.name, "is not a Parquet file: it does not begin with PAR1")
        from perf_io.tables.read_table import read_table

        with source.plain_file() as path:
            lasting = path == source.path and not source.is_stdin
            table = opened_parquet(source, path, lasting)
            ((n_rows,),) = table.database.rows(f"SELECT count(*) FROM {table.relation}")
            n_values, n_bytes = n_rows * len(table.columns), path.stat().st_size
            if n_values * _BYTES_PER_VALUE > max(_GROWTH_FROM_BYTES, n_bytes * _LARGEST_GROWTH):
                problem = f"says that its {n_bytes} bytes are {n_values} values, which would fill the memory"
                cure = "select the rows that you need and write them to a new file"
                raise InputError(table.source, f"{problem}; {cure}")
            return read_table(table, options)

    @classmethod
    def series(cls) -> Any:
        """Return the functions that read and write tables of many series in bounded memory."""
        from perf_io.tables import table_write

        return table_write


def opened_parquet(source: Source, path: Path, lasting: bool = True) -> Table:
    """Return a file as a table of which nothing but its columns was read."""
    from perf_io.tables.duck import Database, parquet_scan
    from perf_io.tables.table_write import TableFacts

    database = Database(source.name)
    link = database.link(path)
    noted = database.parquet_facts(link)
    if str(noted.get("schema", "")).startswith("perfcore-series"):
        raise InputError(source.name, "is a model, no data; `perf predict` and `perf compare` read it")
    facts: Mapping[str, Any] = {}
    with contextlib.suppress(msgspec.ValidationError):
        facts = msgspec.structs.asdict(msgspec.convert(noted, TableFacts)) if noted else {}
    return _typed_table(database, parquet_scan(link), lasting, facts)


def _typed_table(database: Database, relation: str, keeps: bool, facts: Mapping[str, Any] | None = None) -> Table:
    """Return a relation whose columns have types as a table."""
    from perf_io.tables.duck import Column, Table

    described = [(row[0], str(row[1])) for row in database.rows(f"DESCRIBE SELECT * FROM {relation}")]
    columns = tuple(Column(name, _kind(data_type)[0]) for name, data_type in described)

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        values = database.rows(f"SELECT COLUMNS(*)::VARCHAR FROM {relation} LIMIT 1 OFFSET {row}")[0]
        texts = ("" if value is None else value for value in values)
        return row + 1, dict(zip((name for name, _ in described), texts, strict=True))

    types = {name: _kind(data_type)[1] for name, data_type in described}
    return Table(database, relation, columns, types=types, at_row=at_row, facts=facts or {}, keeps=keeps)


def _kind(data_type: str) -> tuple[str, str]:
    """Return what a column's type is to `Column`, and to `perf_io.tables.duck.sql_ns`."""
    if data_type in _INTEGERS:
        return "number", "integer"
    if data_type.startswith("DECIMAL"):
        return "number", "text"
    if data_type in _FLOATS:
        return "number", "float"
    if data_type.startswith("TIMESTAMP") or data_type == "DATE":
        return "timestamp", "timestamp"
    return ("text" if data_type == "VARCHAR" else "other"), "text"


class JsonRecordsReader(TableReader):
    """Read records in JSON Lines or in an array, also in a field of one object, or rows by name, or columns."""

    def sniff(self, source: Source) -> float:
        from perf_io.exported_formats import export_command  # which most files do without

        if export_command(source) is not None:
            return 0.0
        return self._sniff_records(source) or (UNSURE if _named_records(source) else 0.0)

    def _sniff_records(self, source: Source) -> float:
        text, field = _text_and_field(source)
        is_array = text.startswith("[") or field is not None
        start = (text[1:] if field is None else text[field.end() :]).lstrip() if is_array else text
        if not start.startswith("{"):
            return 0.0
        try:
            first, end = json.JSONDecoder().raw_decode(start)
        except (ValueError, RecursionError):
            return 0.0
        rest = start[end:].lstrip(" \t\r\n" if is_array else " \t\r")
        follows = rest.startswith((",", "]")) if is_array else rest.startswith("\n") and "\n" not in start[:end]
        plain = [value for value in first.values() if isinstance(value, (int, float, str))]
        is_record = len(plain) >= _FEWEST_FIELDS and (is_array or rest.lstrip().startswith("{"))
        return 0.51 if follows and is_record else 0.0  # formats of benchmarks are surer of their files

    def read(self, source: Source, options: TableOptions) -> Any:
        from perf_io.tables.duck import Database, quoted_name
        from perf_io.tables.read_table import read_table

        text, field = _text_and_field(source)
        for note, records in ({} if self._sniff_records(source) else _named_records(source)).items():
            with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
                (path := Path(folder) / "records").write_text(json.dumps(records))
                relation = f"read_json({(database := Database(source.name)).link(path)}, format = 'array')"
                return read_table(replace(_typed_table(database, relation, False), notes=(note,) * bool(note)), options)
        with source.plain_file() as path:
            database = Database(source.name)
            if field is None:
                layout = "array" if text.startswith("[") else "newline_delimited"
                relation = f"read_json({database.link(path)}, format = '{layout}')"
            else:
                size = max(path.stat().st_size, 1 << 16)
                whole = f"read_json({database.link(path)}, format = 'unstructured', maximum_object_size = {size})"
                relation = f"(SELECT unnest({quoted_name(json.loads(field[1]))}, max_depth := 2) FROM {whole})"
            return read_table(_typed_table(database, relation, path == source.path and not source.is_stdin), options)


def _named_records(source: Source) -> dict[str, list[dict[str, Any]]]:
    """Return the records of a small object that holds them by name or column by column, below a note on them.

    One that holds neither is the record of one run, if a number is called a time or a rate.
    """
    try:
        document = json.loads(source.head) if len(source.head) < HEAD_BYTES else {}
        if records := _records_of(document, ""):
            return records
        leaves = _leaves(document, ())
    except (ValueError, RecursionError):
        return {}
    counts = Counter(path[-1] for path in leaves)
    row = {path[-1] if counts[path[-1]] == 1 else "_".join(path): value for path, value in leaves.items()}
    measured = [name for name, value in row.items() if type(value) in (int, float) and not is_run_identifier(name)]
    has_result = len(measured) > 1 and any(is_called_time(name) or is_called_rate(name) for name in measured)
    return {"": [row]} if has_result else {}


def _leaves(cell: Any, path: tuple[str, ...]) -> dict[tuple[str, ...], Any]:
    if isinstance(cell, dict):
        return {place: value for key, inner in cell.items() for place, value in _leaves(inner, (*path, key)).items()}
    return {path: cell} if path and isinstance(cell, (int, float, str)) else {}


def _records_of(document: Any, field: str) -> dict[str, list[dict[str, Any]]]:
    fields = document if isinstance(document, dict) else {}
    cells, of = list(fields.values()), f" of {field!r}" if field else ""
    columns = {name: cell for name, cell in fields.items() if isinstance(cell, list)}
    if len(columns) > 1 and len({*map(len, columns.values())}) == 1:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        kinds = [{type(value) for value in cell if value is not None} for cell in columns.values()]
        is_table = any(k <= {int, float} for k in kinds) and all(k <= {int, float} or k <= {str, bool} for k in kinds)
        return {f"each array{of} is a column": rows} if len(rows) > 1 and is_table else {}
    if len(cells) > 1 and all(isinstance(cell, dict) for cell in cells):
        numbers = [{name for name, value in cell.items() if type(value) in (int, float)} for cell in cells]
        if set.intersection(*numbers):
            is_known = is_processors(field) or is_size(field)
            are_whole = all(map(str.isdecimal, fields))
            are_nested = any(key.isdecimal() for cell in cells for key in cell)  # by size, then, and by processors
            levels = "p" if are_whole and not are_nested else "n" if all(map(_LEVEL.fullmatch, fields)) else ""
            name = field if is_known else levels or field or "name"
            rows = [{name: int(key) if are_whole else key, **cell} for key, cell in fields.items()]
            return {f"each object{of} is a row, and its name is {name}": rows}
    return next(filter(None, (_records_of(cell, name) for name, cell in fields.items())), {})


def _text_and_field(source: Source) -> tuple[str, re.Match[str] | None]:
    """Return how a document begins, and the first field of it as one object that holds an array of objects."""
    text = source.head.removeprefix(_BOM).decode("utf-8", errors="replace").lstrip()
    field = _RECORDS.search(text) if text.startswith("{") else None
    before = _STRING.sub("", text[: field.start()]) if field else ""
    is_outer = before.count("{") == before.count("}") + 1 and before.count("[") == before.count("]")
    return text, field if is_outer else None
