"""Tables of text: comma, semicolon, tab or bar separated, with a line of column names.

Blank lines and lines before the column names that begin with ``#`` are passed over.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from perf_io.exported_formats import export_command
from perf_io.options import TableOptions, TextTableOptions, options_of_tables
from perf_io.tables.columns import assign_roles
from perf_io.tables.duck import Database, TableError, csv_scan, quoted_name
from perf_io.tables.read_table import read_table
from perf_io.tables.table import Column, Table, sql_number
from perf_io.tables.table_write import write_table
from perf_io.text import is_number
from perf_io.traces.pj_dump import looks_like_pj_dump
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_LOOKED_AT = 4096  # bytes at the end, of which the first line may be a part
_DECIMALS = re.compile(r"[+-]?[0-9]*\.([0-9]*)(?:[eE][+-]?[0-9]+)?")
_BROKEN = re.compile(r"[+-]?[0-9]*(?:\.|\.?[0-9]+[eE][+-]?)|[+-]")
_FEWEST = 3  # numbers with as many decimals as one another, which a shorter one stands out from


def ends_within_line(path: Path) -> bool:
    """Whether the last line of a file has no end."""
    return bool(_tail(path)) and not _tail(path).endswith((b"\n", b"\r"))


def cut_cell(path: Path, delimiter: str) -> str | None:
    r"""The last number of a file whose last line has no end, where it breaks off or has fewer decimals than all
    above.
    """
    if not ends_within_line(path):
        return None
    lines = _tail(path).decode("utf-8", "replace").splitlines()
    *above, last = [line.rpartition(delimiter)[2].strip().strip('"') for line in lines]
    if _BROKEN.fullmatch(last):
        return last
    decimals = {len(match[1]) if (match := _DECIMALS.fullmatch(cell)) else 0 for cell in above[1:]}
    match = _DECIMALS.fullmatch(last)
    if len(above) <= _FEWEST or len(decimals) != 1 or not re.fullmatch(r"[+-]?[0-9.]+", last):
        return None
    return last if (len(match[1]) if match else 0) < decimals.pop() else None


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LOOKED_AT))
        return file.read()


_DELIMITERS = ",;\t|"
_INDEX = "(unnamed)"  # the first column where only it has no name: numbers of rows, as pandas writes them
_SAMPLE_ROWS = 200  # rows that tell whether a column holds numbers


@dataclass(frozen=True)
class _Layout:
    """Where the table begins in its text and how its fields are separated."""

    names: tuple[str, ...]
    delimiter: str
    first_line: int  # of the column names, counted from 1
    skip: int  # lines up to and with the column names


class CsvReader(Reader):
    """Curves, series, traces and measurements from text.

    Choose it for anything that a spreadsheet or a script wrote. Times without a unit in their column's name are
    microseconds; ISO timestamps become seconds since 1970 (UTC where no offset is given). State times are taken to
    whole nanoseconds by decimal arithmetic.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.read("examples/step.csv", reader="csv").mean
    2.3333333333333335
    """

    Options = TextTableOptions
    writes: ClassVar[bool] = True

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        return options_of_tables(wanted)

    def sniff(self, source: Source) -> float:
        """Sure where the columns have known names; unsure where only the ending says so."""
        if looks_like_pj_dump(source.head):
            return 0.0
        if export_command(source) is not None:
            return 0.8
        # Unsure is still the best guess for these endings: the message of `read` then says what is wrong.
        guess = 0.3 if source.suffix in (".csv", ".tsv") and b"\0" not in source.head else 0.0
        try:
            columns = [Column(name, "number") for name in _layout(source).names if name != _INDEX]
            assign_roles(columns, TableOptions(), source.name)
        except InputError:
            return guess
        return 0.8

    def read(self, source: Source, options: TextTableOptions) -> Any:
        if (cure := export_command(source)) is not None:
            raise InputError(source.name, cure)
        layout = _layout(source)
        with source.plain_file() as path:
            try:
                data = read_table(_open(source, path, layout, options.decimal), options)
            except TableError as error:
                _explain(path, source, layout, error)
            if (cell := cut_cell(path, layout.delimiter)) is not None:
                progress.note(
                    f"{source.name}: the last line has no end, and its last number, {cell[:40]}, is shorter than those "
                    "above: was the file cut short?"
                )
            return data

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        write_table(data, Path(path), "csv")


def _open(source: Source, path: Path, layout: _Layout, decimal: str) -> Table:
    database = Database(source.name)
    relation = csv_scan(database.link(path), layout.names, layout.delimiter, layout.skip)
    # Numbers with the other decimal sign count as numbers: that is what is wrong with them, and then gets said. Between
    # commas 0,1 is as often a list of two.
    signs = (decimal,) if layout.delimiter == "," else (decimal, "," if decimal == "." else ".")
    columns, types = [], {}
    for name in layout.names:
        if name == _INDEX:
            continue
        kind = _kind(database, relation, name, signs)
        columns.append(Column(name, kind))
        types[name] = "text timestamp" if kind == "timestamp" else "text"

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        for number, (line, fields) in enumerate(_records(path, layout)):
            if number == row:
                return line, dict(zip(layout.names, fields, strict=False))
        raise IndexError(row)

    def lines() -> list[int]:
        return [line for line, _ in _records(path, layout)]

    return Table(database, relation, tuple(columns), types, at_row, lines=lines, decimal=decimal)


def _kind(database: Database, relation: str, name: str, decimals: Sequence[str]) -> str:
    """What the first rows of a column hold; the majority decides, so that a bad value is refused, not believed."""
    column = quoted_name(name)
    numbers_in = ", ".join(f"TRY_CAST({sql_number(name, decimal)} AS DOUBLE)" for decimal in decimals)
    n_values, numbers, moments = database.rows(
        f"SELECT count({column}), count(coalesce({numbers_in})), count(TRY_CAST({column} AS TIMESTAMP)) "
        f"FROM (SELECT {column} FROM {relation} LIMIT {_SAMPLE_ROWS})"
    )[0]
    if 2 * numbers >= n_values:  # also without any value: then what is missing is what gets reported
        return "number"
    return "timestamp" if 2 * moments > n_values else "text"


def _layout(source: Source) -> _Layout:
    text = _decoded(source)
    lines = text.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        raise InputError(source.name, "contains no table, only blank lines and comments", line=1)
    delimiter = max(_DELIMITERS, key=lines[first].count)
    reader = csv.reader(io.StringIO("".join(lines[first:]), newline=""), delimiter=delimiter)
    try:
        names = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        raise InputError(source.name, f"the column names cannot be read: {error}", line=first + 1) from None
    skip = first + reader.line_num
    # The first name may begin as a comment does: `#Cores,time_s`, or `# p  time` above columns for gnuplot.
    above = _names_behind_mark(lines[first - 1], delimiter) if first and any(map(is_number, names)) else ()
    if 1 < len(above) == len(names) and not any(map(is_number, above)):
        names, skip, first = above, first, first - 1
    if all(is_number(name) for name in names):
        raise InputError(
            source.name,
            f"the first line {lines[first].strip()[:40]!r} holds no column names; put a line such as time,value above",
            line=first + 1,
        )
    if len(names) > 1 and not names[0]:
        names = (_INDEX, *names[1:])
    if len({name.casefold() for name in names}) < len(names) or not all(len(name.splitlines()) == 1 for name in names):
        raise InputError(
            source.name,
            f"the column names {', '.join(names)[:120]!r} must be one line each, not empty, and differ in more "
            "than case",
            line=first + 1,
        )
    return _Layout(names, delimiter, first + 1, skip)


def _names_behind_mark(line: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line that begins with the mark of a comment, without it; none of another line."""
    if not line.startswith("#"):
        return ()
    try:
        return tuple(name.strip() for name in next(csv.reader([line.lstrip("# ")], delimiter=delimiter), []))
    except csv.Error:
        return ()


def _decoded(source: Source) -> str:
    if b"\0" in source.head:
        raise InputError(source.name, "is binary, not a table of text", line=1)
    try:
        # The head may end within a character; what follows the last line end is not needed.
        complete = source.head[: source.head.rfind(b"\n") + 1] or source.head
        return complete.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.head.count(b"\n", 0, error.start) + 1
        raise InputError(source.name, f"is not UTF-8 text: byte {error.object[error.start]:#04x}", line=line) from None


def _records(path: Path, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row, as DuckDB counts rows: blank lines are none."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        for _ in range(layout.skip):
            text.readline()
        reader = csv.reader(text, delimiter=layout.delimiter)
        line = layout.skip + 1
        for fields in reader:
            if fields:
                yield line, fields
            line = layout.skip + reader.line_num + 1


def _explain(path: Path, source: Source, layout: _Layout, error: TableError) -> NoReturn:
    """Say where the text is at fault, which DuckDB says in many lines of its own."""
    try:
        records = _records(path, layout)
        for line, fields in records:
            if any("\ufffd" in field for field in fields):
                raise InputError(source.name, "is not UTF-8 text", line=line)
            if len(fields) != len(layout.names):
                problem = f"has {len(fields)} fields, but there are {len(layout.names)} columns"
                is_last = len(fields) < len(layout.names) and next(records, None) is None
                cut = (
                    "; it is the last, and has no end: was the file cut short?"
                    if is_last and ends_within_line(path)
                    else ""
                )
                raise InputError(source.name, f"{problem} ({', '.join(layout.names)[:120]}){cut}", line=line)
    except csv.Error as problem:
        raise InputError(source.name, f"the table cannot be read: {problem}") from None
    raise error
