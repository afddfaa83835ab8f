"""Tables of text: comma, semicolon, tab or bar separated, with a line of column names.

Blank lines and lines before the column names that begin with ``#`` are passed over.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from perf_io.exported_formats import export_command
from perf_io.options import TableOptions, TextTableOptions, options_of_tables
from perf_io.tables.columns import assign_roles
from perf_io.tables.duck import Database, TableError, csv_scan, quoted_name
from perf_io.tables.layout import INDEX, Layout, layout_of, tail_of
from perf_io.tables.read_table import read_table
from perf_io.tables.table import Column, Table, sql_number
from perf_io.tables.table_write import write_table
from perf_io.traces.pj_dump import looks_like_pj_dump
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.reading.recognise import UNSURE
from perfcore.reading.source import Source

_LINE_END = "\r\n"
_DECIMALS = re.compile(r"[+-]?[0-9]*\.([0-9]*)(?:[eE][+-]?[0-9]+)?")
_BROKEN = re.compile(r"[+-]?[0-9]*(?:\.|\.?[0-9]+[eE][+-]?)|[+-]")
_FEWEST = 3  # numbers with as many decimals as one another, which a shorter one stands out from


def ends_within_line(path: Path) -> bool:
    """Whether the last line of a file has no end."""
    return bool(tail_of(path)) and not tail_of(path).endswith((b"\n", b"\r"))


def cut_cell(path: Path, delimiter: str) -> str | None:
    r"""The last number of a file whose last line has no end, where it breaks off or has fewer decimals than all
    above.
    """
    if not ends_within_line(path):
        return None
    lines = tail_of(path).decode("utf-8", "replace").splitlines()
    *above, last = [line.rpartition(delimiter)[2].strip().strip('"') for line in lines]
    if _BROKEN.fullmatch(last):
        return last
    decimals = {len(match[1]) if (match := _DECIMALS.fullmatch(cell)) else 0 for cell in above[1:]}
    match = _DECIMALS.fullmatch(last)
    if len(above) <= _FEWEST or len(decimals) != 1 or not re.fullmatch(r"[+-]?[0-9.]+", last):
        return None
    return last if (len(match[1]) if match else 0) < decimals.pop() else None


_AT_ONCE = 256  # columns that a query looks at
_SAMPLE_ROWS = 200  # rows that tell whether a column holds numbers


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
        """Sure where the columns have known names; unsure where only the ending or the shape of the lines says so."""
        if looks_like_pj_dump(source.head):
            return 0.0
        if export_command(source) is not None:
            return 0.8
        # Unsure is still the best guess for these endings: the message of `read` then says what is wrong.
        guess = 0.3 if source.suffix in (".csv", ".tsv") and b"\0" not in source.head else 0.0
        try:
            layout = layout_of(source)
            if not layout.is_plain or layout.holds_one_number:
                return guess or UNSURE  # formats of other readers are such tables, too
            if len(layout.names) == 1:
                return guess
            columns = [Column(name, "number") for name in layout.names if name != INDEX]
            assign_roles(columns, TableOptions(), source.name)
        except InputError:
            return guess
        return 0.8

    def read(self, source: Source, options: TextTableOptions) -> Any:
        if (cure := export_command(source)) is not None:
            raise InputError(source.name, cure)
        layout = layout_of(source, options.decimal)
        with source.plain_file() as path, _with_delimiters(path, layout) as plain:
            try:
                data = read_table(_open(source, plain, layout), options)
            except TableError as error:
                _explain(plain, source, layout, error)
            if (cell := cut_cell(plain, layout.delimiter)) is not None:
                progress.note(
                    f"{source.name}: the last line has no end, and its last number, {cell[:40]}, is shorter than those "
                    "above: was the file cut short?"
                )
            return data

    def write(self, data: Any, path: str | os.PathLike[str]) -> None:
        write_table(data, Path(path), "csv")


@contextlib.contextmanager
def _with_delimiters(path: Path, layout: Layout) -> Iterator[Path]:
    """The file, or a copy of it that has the same lines with delimiters."""
    if layout.is_plain:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        copy = Path(folder) / "table"
        with path.open(encoding=layout.encoding, errors="replace") as lines, copy.open("w", encoding="utf-8") as rows:
            rows.writelines(
                f"{(layout.rewrite(line) if layout.rewrite else line).rstrip(_LINE_END)}\n" for line in lines
            )
        yield copy


def _open(source: Source, path: Path, layout: Layout) -> Table:
    database = Database(source.name)
    relation = csv_scan(database.link(path), layout.names, layout.delimiter, layout.skip)
    if layout.has_empty_rows:
        relation = f"(SELECT * FROM {relation} WHERE coalesce({', '.join(map(quoted_name, layout.names))}) IS NOT NULL)"
    # Numbers with the other decimal sign count as numbers: that is the error to report. Between
    # commas 0,1 is as often a list of two.
    decimal = layout.decimal
    signs = (decimal,) if layout.delimiter == "," else (decimal, "," if decimal == "." else ".")
    unnamed = [name for name in layout.names if layout.is_unnamed(name)]
    counts = ", ".join(f"count({quoted_name(name)})" for name in unnamed)
    filled = dict(zip(unnamed, database.rows(f"SELECT {counts} FROM {relation}")[0], strict=True)) if unnamed else {}
    used = [name for name in layout.names if name != INDEX and filled.get(name) != 0]
    kinds = _kinds(database, relation, used, signs)
    columns = [Column(name, kind) for name, kind in zip(used, kinds, strict=True)]
    types = {column.name: "text timestamp" if column.kind == "timestamp" else "text" for column in columns}

    def at_row(row: int) -> tuple[int, Mapping[str, str]]:
        for number, (line, fields) in enumerate(_records(path, layout)):
            if number == row:
                return line, dict(zip(layout.names, fields, strict=False))
        raise IndexError(row)

    def lines() -> list[int]:
        return [line for line, _ in _records(path, layout)]

    empty = [name for name, count in filled.items() if not count]
    notes = (*layout.steps, *([f"{len(empty)} empty columns left out"] if empty else []))
    return Table(database, relation, tuple(columns), types, at_row, lines=lines, decimal=decimal, notes=notes)


def _kinds(database: Database, relation: str, names: Sequence[str], decimals: Sequence[str]) -> list[str]:
    """What the first rows of columns hold; the majority decides, so that a bad value is refused, not believed."""
    counts = [
        f"count({column}), count(coalesce({numbers_in})), count(TRY_CAST({column} AS TIMESTAMP))"
        for column, numbers_in in (
            (quoted_name(name), ", ".join(f"TRY_CAST({sql_number(name, sign)} AS DOUBLE)" for sign in decimals))
            for name in names
        )
    ]
    # Tables of thousands of columns take a query for some at a time: one for each would parse the rows that often.
    counted = [
        number
        for first in range(0, len(names), _AT_ONCE)
        for number in database.rows(
            f"SELECT {', '.join(counts[first : first + _AT_ONCE])} FROM (SELECT "
            f"{', '.join(map(quoted_name, names[first : first + _AT_ONCE]))} FROM {relation} LIMIT {_SAMPLE_ROWS})"
        )[0]
    ]
    # A column without any value is one of numbers: then what is missing is what gets reported.
    return [
        "number" if 2 * numbers >= n_values else "timestamp" if 2 * moments > n_values else "text"
        for n_values, numbers, moments in zip(counted[::3], counted[1::3], counted[2::3], strict=True)
    ]


def _records(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row, as DuckDB counts rows: blank lines are none."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        for _ in range(layout.skip):
            text.readline()
        reader = csv.reader(text, delimiter=layout.delimiter)
        line = layout.skip + 1
        for fields in reader:
            if any(fields) if layout.has_empty_rows else fields:
                yield line, fields
            line = layout.skip + reader.line_num + 1


def _explain(path: Path, source: Source, layout: Layout, error: TableError) -> NoReturn:
    """Say where the text is at fault, which DuckDB says in many lines."""
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
