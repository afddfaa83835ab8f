"""The adapter to DuckDB: tables larger than memory, from text and Parquet, whose meaning nobody knows yet.

This is the only module that imports DuckDB. Measured on two cores: 10^7 rows of a trace as text (311 MB) are checked
in 4 s, 10^8 rows of Parquet become a curve in 24 s and 0.35 GiB.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from perf_tables import thread_count
from perfcore.base import pd, progress
from perfcore.base.arrays import Codes
from perfcore.base.errors import InputError
from perfcore.data.columns import words
from perfcore.data.units import nanoseconds_per

if TYPE_CHECKING:
    import duckdb
MEMORY_LIMIT = "512MB"  # for DuckDB's buffers; beyond it sorts and groups go to the temporary folder
METADATA_KEY = "perfcore"  # of the facts that Parquet files carry with their columns
_MAX_THREADS = 8  # each scanning thread has buffers, some 40 MB with text
_POLL_SECONDS = 0.1
_VECTORS_PER_CHUNK = 64  # of 2,048 rows: some hundred thousand rows at a time
# A byte that no line of text contains: the whole line is then the one field of its row.
_NO_DELIMITER = "\\x01"

_LINE_OF_TEXT = re.compile(r"CSV Error on Line: (\d+)")

_OF_THE_DISK = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS))

_FARTHEST_NS = 1 << 62  # from 0, so that differences of two times fit into 64 bits
T = TypeVar("T")
Columns = dict[str, npt.NDArray[Any]]
DECIMAL_COMMA = re.compile(r"\s*[+-]?(?:[0-9]*|[1-9][0-9]{0,2}(?:\.[0-9]{3})+),[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})+\s*")
FIRST_ROWS = 10_000  # by which a column is classified
ENTER, LEAVE, _NEITHER = (frozenset(words("trace", change)) for change in ("enter", "leave", "neither"))
POINTED_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?\s*")  # 10.200 with a decimal comma
_SWAPPED = str.maketrans(".,", ",.")
_FEWEST_LEVELS, _LEAST_FOLD = 2, 1.5  # of what was varied; a clock is hardly ever at 1.5 times its last reading
LARGEST_FOLD = 1e4  # between ways to run at one point
_MOST_ONCE = 1_000  # levels of which none need come again; more are samples of something


class Texts(NamedTuple):
    """A column of texts."""

    numbers: Codes  # of the text of each row, -1 of a missing one
    distinct: list[str]


class TableError(InputError):
    """DuckDB could not read or write a table."""


class Database:
    """Tables in a temporary folder that is removed with this object."""

    def __init__(self, source: str) -> None:
        global duckdb  # noqa: PLW0603 (imported when a table is first read)
        import duckdb

        self.source = source
        self._folder = Path(tempfile.mkdtemp(prefix="perfcore-"))
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._idle: list[duckdb.DuckDBPyConnection] = []
        try:
            self._connection = _connected(self._folder)
        except duckdb.Error as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise self._problem(error) from None
        weakref.finalize(self, _discard, self._thread, self._connection, self._folder)

    def link(self, path: Path, number: int = 0) -> str:
        """Return a SQL literal that names an input, one of several by its number, without wildcards and endings."""
        name = self._folder / (f"input{number}" if number else "input")
        name.symlink_to(path.resolve())
        return quoted(str(name))

    def run(self, sql: str, parameters: Sequence[Any] = (), label: str = "reading") -> duckdb.DuckDBPyConnection:
        """Run one statement in another thread, so that progress shows and Ctrl-C interrupts it."""
        cursor = self._session()
        with progress.bar(f"{label} {self.source}", 100) as advance:
            try:
                work = self._thread.submit(cursor.execute, sql, list(parameters))
            except RuntimeError as error:  # no memory for a thread
                raise TableError(self.source, f"{error}; allow more memory and threads (ulimit -v, -u)") from None
            reported = 0
            try:
                while not concurrent.futures.wait([work], _POLL_SECONDS).done:
                    percent = int(cursor.query_progress())
                    if percent > reported:
                        advance(percent - reported)
                        reported = percent
                work.result()
            except (duckdb.ParserException, duckdb.CatalogException):  # our mistakes
                raise
            except duckdb.Error as error:
                raise self._problem(error) from None
            except (KeyboardInterrupt, SystemExit):  # of signals
                cursor.interrupt()
                concurrent.futures.wait([work])
                raise
        return cursor

    def _session(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor whose last result was fetched, or a new one."""
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        cursor = self._connection.cursor()
        # Progress is asked for, not printed: so printing goes off before counting goes on.
        cursor.execute(
            "SET TimeZone = 'UTC'; SET enable_progress_bar_print = false; SET enable_progress_bar = true; "
            "SET progress_bar_time = 0"
        )
        return cursor

    def _problem(self, error: Exception) -> TableError:
        """Return one line of the several that DuckDB says."""
        text = str(error).strip() or type(error).__name__
        match = _LINE_OF_TEXT.search(text)
        # About text: place, line, what is wrong, what could be done. Otherwise the first line.
        telling = text.split("\nPossible")[0].strip().splitlines()[-1 if match else 0]
        message = telling.partition("Error: ")[2] or telling
        message = message.replace(f"{self._folder}{os.sep}", "").replace(' in file "input"', "").rstrip(" .!")
        advice = "the file may be damaged"
        if isinstance(error, duckdb.FatalException) or any(each in text for each in _OF_THE_DISK):
            advice = f"make room, also in {self._folder.parent}, or name another folder for temporary files in TMPDIR"
        return TableError(self.source, f"{message}; {advice}", line=int(match[1]) if match else None)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._fetched(sql, lambda cursor: cursor.fetchall())

    def _fetched(self, sql: str, fetch: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        cursor = self.run(sql)
        try:
            fetched = fetch(cursor)
        except (duckdb.Error, UnicodeDecodeError) as error:  # the result is streamed
            raise self._problem(error) from None
        self._idle.append(cursor)
        return fetched

    def columns(self, sql: str) -> Columns:
        """Return the result as arrays; NULL becomes NaN among floats and is masked elsewhere."""
        arrays: dict[str, Any] = self._fetched(sql, lambda cursor: cursor.fetchnumpy())
        for name, array in arrays.items():
            if isinstance(array, np.ma.MaskedArray) and array.dtype.kind == "f":
                arrays[name] = array.filled(np.nan)
        return arrays

    def distinct(self, sql: str) -> dict[str, Texts | npt.NDArray[Any]]:
        """Return the result as arrays of numbers, with NaN for NULL, and as texts of which each is held once."""
        numbers: dict[str, list[npt.NDArray[Any]]] = {}
        texts: dict[str, dict[str, int]] = {}
        frames = itertools.chain(self.frames(sql, _VECTORS_PER_CHUNK), [self.frame(f"SELECT * FROM ({sql}) LIMIT 0")])
        for frame in frames:
            for name in frame.columns:
                cells, column = frame[name], numbers.setdefault(str(name), [])
                if cells.dtype.kind not in "iufb":
                    found, distinct = pd.factorize(cells.to_numpy(dtype=object))
                    known = texts.setdefault(str(name), {})
                    order = [known.setdefault(text, len(known)) for text in distinct.tolist()]
                    column.append(np.array([*order, -1], dtype=np.int32)[found])
                else:
                    column.append(cells.to_numpy())
        joined: dict[str, Texts | npt.NDArray[Any]] = {}
        for name in list(numbers):
            parts = numbers.pop(name)
            array = np.concatenate(parts[:-1]) if len(parts) > 1 else parts[0]
            joined[name] = Texts(array, list(texts[name])) if name in texts else array
        return joined

    def chunks(self, sql: str, total: int, label: str) -> Iterator[Columns]:
        """Yield the result as arrays of some hundred thousand rows at a time, in order."""
        cursor = self._session()
        try:
            with progress.bar(f"{label} {self.source}", total) as advance:
                cursor.execute(sql)
                while len(frame := cursor.fetch_df_chunk(_VECTORS_PER_CHUNK)):
                    yield {name: frame[name].to_numpy() for name in frame.columns}
                    advance(len(frame))
        except duckdb.Error as error:
            raise self._problem(error) from None

    def parquet_facts(self, link: str) -> dict[str, Any]:
        """Return what our writers noted in a Parquet file; nothing if it is of others, or the note is damaged."""
        for key, value in self.rows(f"SELECT key, value FROM parquet_kv_metadata({link})"):
            if bytes(key) == METADATA_KEY.encode():
                with contextlib.suppress(ValueError, RecursionError):
                    facts = json.loads(value)
                    return facts if isinstance(facts, dict) else {}
        return {}

    def frame(self, sql: str) -> pd.DataFrame:
        """Return the result as a table of pandas."""
        return self._fetched(sql, lambda cursor: cursor.df())

    def frames(self, sql: str, vectors: int) -> Iterator[pd.DataFrame]:
        """Yield the result as tables of so many times 2,048 rows."""
        cursor = self.run(sql)
        try:
            with progress.bar(f"reading {self.source}") as advance:
                while len(frame := cursor.fetch_df_chunk(vectors)):
                    yield frame
                    advance(len(frame))
        except duckdb.Error as error:
            raise self._problem(error) from None

    def add(self, table: str, columns: pd.DataFrame | Columns, *, is_new: bool = True) -> None:
        """Make ``table`` of rows of pandas or of arrays of equal length, in their order, or add them to it."""
        cursor = self._session()
        cursor.register("arrays", columns)
        try:
            cursor.execute(f"CREATE TABLE {table} AS FROM arrays" if is_new else f"INSERT INTO {table} FROM arrays")
        except duckdb.Error as error:  # the disk is full, as a rule
            raise self._problem(error) from None

    def add_names(self, table: str, names: Sequence[str]) -> None:
        """Make ``table`` (code, name), and an enumeration type of the same name whose codes are the positions."""
        rows = "SELECT unnest(range(len($1)))::INTEGER AS code, unnest($1::VARCHAR[]) AS name"
        self.run(f"CREATE TABLE {table} AS {rows}", [list(names)])
        self.run(f"CREATE TYPE {table} AS ENUM (SELECT name FROM {table} ORDER BY code)")

    def copy(self, query: str, path: Path, file_format: str, metadata: Mapping[str, Any] | None = None) -> None:
        options = "FORMAT csv, HEADER true" if file_format == "csv" else "FORMAT parquet, COMPRESSION zstd"
        if metadata is not None and file_format == "parquet":
            options += f", KV_METADATA {{{METADATA_KEY}: {quoted(json.dumps(metadata))}}}"
        self.run(f"COPY ({query}) TO {quoted(str(path))} ({options})", label="writing")


def _connected(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        str(folder / "tables.duckdb"),
        config={
            "memory_limit": MEMORY_LIMIT,
            "threads": thread_count(_MAX_THREADS),
            "temp_directory": str(folder / "spill"),
            "autoinstall_known_extensions": "false",  # reading a file never asks the network
            "autoload_known_extensions": "false",
        },
    )
    # DuckDB 2.0 moves a TRY_CAST into the scan of text, where a bad value fails instead of being NULL.
    optimizers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    if ("type_pushdown",) in optimizers:
        connection.execute("SET disabled_optimizers = 'type_pushdown'")
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # the folder is removed then
    return connection


def _discard(thread: concurrent.futures.Executor, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    thread.shutdown(wait=False)
    with contextlib.suppress(duckdb.Error):  # that a query still runs, where a signal ends the program
        connection.close()
    shutil.rmtree(folder, ignore_errors=True)


def quoted(text: str) -> str:
    """Return a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return the name of a column as SQL takes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'


def csv_scan(link: str, columns: Sequence[str], delimiter: str, skip: int) -> str:
    """Return a FROM item: text with delimiters, every column as text, nothing guessed."""
    types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in columns)
    return (
        f"read_csv({link}, columns={{{types}}}, delim={quoted(delimiter)}, quote='\"', escape='\"', skip={skip}, "
        "header=false, auto_detect=false, nullstr='', compression='none')"
    )


def lines_scan(link: str) -> str:
    """Return a FROM item: the lines of a text in column ``line``, empty ones as NULL."""
    return (
        f"read_csv({link}, columns={{'line': 'VARCHAR'}}, delim=E'{_NO_DELIMITER}', quote='', escape='', "
        "header=false, auto_detect=false, compression='none')"
    )


def parquet_scan(link: str) -> str:
    """Return a FROM item: the columns of a Parquet file, none of them from the names of its folders."""
    return f"read_parquet({link}, hive_partitioning = false)"


def decimal_hint(text: str, decimal: str) -> str:
    """Return what to add to the message about a text that is a number with the other decimal sign; else nothing."""
    if decimal == "." and _GROUPED.fullmatch(text):
        plain = text.strip().replace(",", "")
        return f"; if its comma is a decimal sign, give -r decimal=, and if it separates thousands, write {plain}"
    if decimal == "." and DECIMAL_COMMA.fullmatch(text):
        return "; it has a decimal comma, which the option decimal reads: -r decimal=,"
    if decimal == "," and DECIMAL_COMMA.fullmatch(text.translate(_SWAPPED)) and not POINTED_THOUSANDS.fullmatch(text):
        return "; it has a point, which is no decimal sign with decimal=,"
    return ""


def sql_number(name: str, decimal: str) -> str:
    """Return SQL for a column of texts as numbers are spelt in SQL."""
    cell = quoted_name(name)
    if decimal != ",":
        return cell
    grouped = f"regexp_full_match({cell}, {quoted(POINTED_THOUSANDS.pattern)})"
    return f"translate(CASE WHEN {grouped} THEN replace({cell}, '.', '') ELSE {cell} END, '.,', ',.')"


def number_of(text: str, decimal: str = ".") -> float:
    """Return the number that a text is."""
    if "_" in text:  # Python's own way of grouping digits, which no table means
        raise ValueError
    if decimal == "," and POINTED_THOUSANDS.fullmatch(text):
        text = text.replace(".", "")
    return float(text.translate(_SWAPPED) if decimal == "," else text)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str  # as the file spells it
    kind: str  # what its values are; a text column of numbers is "number"


def sql_ns(column: str, kind: str, time_unit: str) -> str:
    """Return a SQL expression for whole nanoseconds, NULL where a value is no time or does not fit 64 bits."""
    if kind == "text timestamp":
        # Only one type heeds an offset from UTC and only the other keeps nanoseconds, which no offset changes.
        zoned = f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ)) * 1000"
        below_microsecond = f"(epoch_ns(TRY_CAST({column} AS TIMESTAMP_NS)) % 1000 + 1000) % 1000"
        return f"({zoned} + {below_microsecond})"
    if kind == "timestamp":
        return f"epoch_ns({column})"
    factor = nanoseconds_per(time_unit)
    if kind == "float":
        scaled = f"{column} * {factor}"
        return f"CASE WHEN abs({scaled}) < {_FARTHEST_NS} THEN TRY_CAST(round({scaled}) AS BIGINT) END"
    if kind == "integer":
        largest = (_FARTHEST_NS - 1) // factor
        return f"CASE WHEN {column} BETWEEN {-largest} AND {largest} THEN CAST({column} AS BIGINT) * {factor} END"
    digits = len(str(factor)) - 1
    # 19 digits before the point hold any int64, and the product stays within the 38 digits that there are.
    long = f"TRY_CAST({column} AS DECIMAL({19 + digits}, {digits})) * {factor}::DECIMAL({digits + 1}, 0)"
    # Such decimals take 128 bits and five times as long, so float64 goes first, where it cannot round wrongly: below
    # 2^49 ns (six days) its three roundings are off by less than 0.2 ns, which decides what is as near to whole.
    quick = f"(TRY_CAST({column} AS DOUBLE) * {factor})"
    safe = f"abs({quick}) < {1 << 49} AND abs({quick} - round({quick})) < 0.2"
    within = f"WHEN abs({quick}) < {_FARTHEST_NS} THEN TRY_CAST({long} AS BIGINT)"
    return f"CASE WHEN {safe} THEN CAST(round({quick}) AS BIGINT) {within} END"


def one_line(name: str) -> str:
    """Return a column's name as a message shows it."""
    return " ".join(name.split())[:60]


@dataclass(frozen=True)
class Table:
    """Columns in a database, before anyone knows what they mean."""

    database: Database
    relation: str  # FROM item that gives the columns, in the order of the file
    columns: tuple[Column, ...]
    types: Mapping[str, str]  # for each column what its values are to `sql_ns`
    at_row: Callable[[int], tuple[int, Mapping[str, str]]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    lines: Callable[[], Iterator[int]] | None = None  # gives the line in the file of each row
    keeps: bool = False  # the relation can be read again later; if not, it is copied into the database
    decimal: str = "."  # decimal sign of numbers in texts
    notes: tuple[str, ...] = ()  # what was done to the file's table, for a person

    @property
    def source(self) -> str:
        return self.database.source

    def number(self, column: Column) -> str:
        return sql_number(column.name, self.decimal if self.types[column.name] == "text" else ".")

    def ns(self, column: Column, time_unit: str) -> str:
        return sql_ns(self.number(column), self.types[column.name], time_unit)

    def refuse(self, row: int, column: Column, problem: str) -> NoReturn:
        line, texts = self.at_row(row)
        text = texts.get(column.name, "")
        description = "is empty" if text == "" else f"is {text[:40]!r}"
        hint = decimal_hint(text, self.decimal)
        raise InputError(self.source, f"{one_line(column.name)} {description}{problem}{hint}", line=line)

    def report(self, *notes: str) -> tuple[str, ...]:
        """Return what was done to the table, which is reported, too."""
        for note in (together := (*self.notes, *notes)):
            progress.note(f"{self.source}: {note}")
        return together

    def steps_follow(self, start: Column, end: Column) -> bool:
        """Return whether each row begins where the one before ended."""
        sides = ", ".join(f"{self.ns(column, 's')} AS {name}" for column, name in ((start, "a"), (end, "b")))
        before = f"SELECT a, lag(b) OVER () AS b FROM ({self._first_rows(sides)})"
        return not self.database.rows(f"SELECT 1 FROM ({before}) WHERE a <> b LIMIT 1")

    def tells_changes(self, column: Column) -> bool:
        """Return whether all values of a column are words for entering and leaving."""
        rows = self._first_rows(f"{quoted_name(column.name)} AS word")
        found = self.database.rows(f"SELECT DISTINCT lower(trim(word)) FROM ({rows}) WHERE word IS NOT NULL")
        distinct = {word for (word,) in found}
        return bool(distinct & ENTER) and bool(distinct & LEAVE) and distinct <= ENTER | LEAVE | _NEITHER

    def goes_back(self, time: Column) -> bool:
        """Return whether a time is not later than the one before, as no moment is."""
        moments = self._first_rows(f"{self.ns(time, 's')} AS t")
        rows = moments if time.kind == "timestamp" else self._first_numbers(t=time)
        steps = f"SELECT t - lag(t) OVER () AS t FROM ({rows})"
        return bool(self.database.rows(f"SELECT min(t) <= 0 FROM ({steps})")[0][0])

    def holds_levels(self, column: Column) -> bool:
        """Return whether numbers come in any order, repeat, or grow by leaps: what was varied, no time."""
        steps = f"SELECT x, lag(x) OVER () AS before FROM ({self._first_numbers(x=column)})"
        facts = f"count(*), count(DISTINCT x), min(x - before) <= 0 OR min(x / before) >= {_LEAST_FOLD}"
        ((count, levels, is_varied),) = self.database.rows(f"SELECT {facts} FROM ({steps})")
        return bool(is_varied) and _FEWEST_LEVELS <= levels <= max(count / 2, _MOST_ONCE)

    def are_results(self, column: Column, others: Sequence[Column]) -> bool:
        """Return whether fractions never come twice though numbers of other columns do, as of what was measured."""
        x = f"TRY_CAST({self.number(column)} AS DOUBLE)"
        names = ", ".join(f"count(DISTINCT {quoted_name(other.name)})" for other in others)
        facts = f"count({x}), count(DISTINCT {x}), max(abs({x} % 1)) > 0, least({names or 'NULL'})"
        ((count, levels, are_fractions, fewest),) = self.database.rows(f"SELECT {facts} FROM {self.relation}")
        return bool(are_fractions) and levels == count and fewest is not None and 2 * fewest <= count

    def is_constant(self, column: Column) -> bool:
        """Return whether all rows have the same value."""
        query = f"SELECT count(DISTINCT {quoted_name(column.name)}) < 2 FROM {self.relation}"
        return bool(self.database.rows(query)[0][0])

    def are_alike(self, columns: Sequence[Column]) -> bool:
        """Return whether no number comes twice in a column, and those behind the first are of one magnitude."""
        numbers = [f"TRY_CAST({self.number(column)} AS DOUBLE)" for column in columns]
        counts = ", ".join(f"count(DISTINCT {number}) = count({number})" for number in numbers)
        fold = f"median(greatest({', '.join(numbers[1:])}) / least({', '.join(numbers[1:])}))"
        facts = f"SELECT count(*) = count({numbers[0]}), {fold}, {counts} FROM ({self._first_rows('*')})"
        ((is_whole, fold, *differ),) = self.database.rows(facts)
        return is_whole and all(differ) and fold is not None and 0 < fold <= LARGEST_FOLD

    def names_rows(self, *columns: Column) -> bool:
        """Return whether most rows have texts of their own."""
        rows = self._first_rows(f"({', '.join(quoted_name(column.name) for column in columns)}) AS name")
        ((count, names),) = self.database.rows(f"SELECT count(*), count(DISTINCT name) FROM ({rows})")
        return bool(2 * names > count > 1)

    def alternates(self, name: Column, time: Column) -> bool:
        """Return whether few names come again and again, each at times that increase."""
        columns = f"CAST({quoted_name(name.name)} AS VARCHAR) AS name, {self.ns(time, 's')} AS t"
        rows = f"SELECT {columns} FROM {self.relation} LIMIT {FIRST_ROWS // 100}"
        numbered = f"SELECT *, row_number() OVER () AS n FROM ({rows})"  # windows keep no order of their own
        step = "t - lag(t) OVER (PARTITION BY name ORDER BY n) AS step"
        steps = f"SELECT name, {step}, lag(name) OVER (ORDER BY n) <> name AS other FROM ({numbered})"
        query = f"SELECT count(*), count(DISTINCT name), min(step) > 0, count(*) FILTER (other) FROM ({steps})"
        ((count, names, increase, changes),) = self.database.rows(query)
        return bool(increase) and names > 1 and 2 * names <= count <= 2 * changes + 2

    def is_sweep(self, varied: Column, time: Column) -> bool:
        """Return whether the first is in order, as what was varied is, or the times are not, as moments would be."""
        rows = self._first_numbers(x=varied, t=time)
        steps = f"SELECT x - lag(x) OVER () AS x, t - lag(t) OVER () AS t FROM ({rows})"
        falls, rises, goes_back = self.database.rows(f"SELECT min(x) < 0, max(x) > 0, min(t) <= 0 FROM ({steps})")[0]
        return bool(goes_back) or not (falls and rises)

    def _first_numbers(self, **columns: Column) -> str:
        numbers = (f"TRY_CAST({self.number(column)} AS DOUBLE) AS {name}" for name, column in columns.items())
        return self._first_rows(", ".join(numbers))

    def _first_rows(self, columns: str) -> str:
        return f"SELECT {columns} FROM {self.relation} LIMIT {FIRST_ROWS}"
