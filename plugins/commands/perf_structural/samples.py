"""Samples, predictions and what then happened, from the files in which a user keeps them."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perf_structural.bounds import Range, check_within
from perf_tables.series import Window, take_window
from perfcore.base import pd
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, UnknownNameError, listing
from perfcore.data.columns import existing_column, is_called_time
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.observations import without_duplicates
from perfcore.data.selection import parse_conditions, rows_that_meet
from perfcore.data.series import Series
from perfcore.data.units import unit_in_name, unit_of_text
from perfcore.reading import Read, read_file
from perfcore.reading.source import Source, without_compressed_ending
from perfcore.stochastic import StochasticValue, as_value, from_dict, of_bounds

_ACCEPTED = (
    'a value as `perf stochastic summarize` writes it, a number, or {"lower": ..., "upper": ...} as '
    "`perf predict --interval --json` prints it, is expected"
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_HEAD = 4096  # characters by which a file of numbers is recognized
KINDS = (Series, UtilizationCurve, Measurements)  # that a reader may give
_FEWEST_OF_WINDOW = 10  # samples, below which all of the series are used
FEWEST = 20  # samples: with as many a 90 % interval leaves out one on each side


def read_predictions(path: str | os.PathLike[str], most: int | None = None) -> list[StochasticValue]:
    """Return the values, or the first ones, of a file: JSON documents in a row, each a value or a list of them."""
    name, values = os.fspath(path), []
    for number, entry in enumerate(itertools.islice(_entries(path), most), start=1):
        try:
            values.append(_value(entry))
        except PerfError as error:
            raise InputError(name, f"prediction {number}: {error}") from None
    if not values:
        raise InputError(name, f"holds no predictions; {_ACCEPTED}")
    return values


def _entries(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Return what the JSON documents of a file hold, lists entry by entry; commands print those below ``rows``."""

    def refuse(word: str) -> float:
        raise ValueError(f"{word} is met; a prediction is made of finite numbers")

    name, text = os.fspath(path), read_text(path)
    decoder, position = json.JSONDecoder(parse_constant=refuse), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        try:
            document, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            problem = f"is not JSON: {error.msg}, column {error.colno}"
            raise InputError(name, problem, line=error.lineno) from None
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, position) + 1
            problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InputError(name, f"is not JSON: {problem}", line=line) from None
        entries = document.get("rows", document) if isinstance(document, dict) else document
        yield from entries if isinstance(entries, list) else [entries]


def _value(entry: Any) -> StochasticValue:
    if isinstance(entry, bool) or not isinstance(entry, (int, float, dict)):
        raise DataError(f"{str(entry)[:40]!r} is met; {_ACCEPTED}")
    if isinstance(entry, (int, float)):
        return as_value(float(entry))
    if isinstance(entry.get("value"), dict):
        entry = entry["value"]
    if "representation" not in entry and {"lower", "upper"} <= set(entry):
        return of_bounds(entry["lower"], entry["upper"])
    return from_dict(entry)


def read_actual(
    path: str | os.PathLike[str], column: str | None = None, at: str | None = None
) -> tuple[str, Floats, Floats | None]:
    """Return measured values from one column of a CSV table, a row for each run, in the order of the predictions."""
    name = os.fspath(path)
    if read_text(path).lstrip()[:1] in ("[", "{"):
        raise InputError(
            name, "is JSON, and the ACTUAL values are a CSV table; name the file of PREDICTIONS first", line=1
        )
    rows = read_rows(path)
    names = list(rows[0][1])
    if column is None:
        candidates = [title for title in names if title != at and is_number(rows[0][1].get(title, ""))]
        called = [title for title in candidates if title.lower().partition("_")[0] == "actual"]
        chosen = called if len(called) == 1 else candidates
        if len(chosen) != 1:
            raise OptionError(f"{name}: name the column of actual values (--column NAME): {listing(names)}")
        column = chosen[0]
    for required in (column, at):
        if required is not None and required not in names:
            raise UnknownNameError(f"column of {name}", required, names)
    return column, _column(rows, column, name), None if at is None else _column(rows, at, name)


def read_rows(path: str | os.PathLike[str], name: str = "") -> list[tuple[int, Mapping[str, str]]]:
    """Return the rows of a table of text, by the names in its first line, and the line of each."""
    name, text = name or os.fspath(path), read_text(path)
    first = text.lstrip().partition("\n")[0]
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), skipinitialspace=True)
    rows: list[tuple[int, Mapping[str, str]]] = []
    titles: list[str] = []
    try:
        for row in filter(None, lines):
            if titles and len(row) != len(titles):
                number = "more" if len(row) > len(titles) else "fewer"
                problem = f"the row has {number} fields than there are columns ({', '.join(titles)[:120]})"
                raise InputError(name, problem, line=lines.line_num)
            if titles:
                rows.append((lines.line_num, dict(zip(titles, row, strict=True))))
            titles = titles or [title.strip() for title in row]
    except csv.Error as error:
        raise InputError(name, f"the table cannot be read: {error}", line=lines.line_num) from None
    if not rows:
        raise InputError(name, "holds no rows; a line of column names and a row for each run are expected", line=1)
    return rows


def _column(rows: list[tuple[int, Mapping[str, str]]], column: str, name: str) -> Floats:
    for line, row in rows:
        if not is_number(row[column]):
            raise InputError(name, f"{column} is {row[column][:40]!r}; expected a finite number", line=line)
    return np.array([float(row[column]) for _, row in rows])


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def read_text(path: str | os.PathLike[str]) -> str:
    """Return contents of a text file; errors take one line."""
    name = os.fspath(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(name, "there is no such file") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InputError(name, "is not UTF-8 text") from None


@dataclass(frozen=True)
class RunSamples:
    """Samples in no order."""

    column: str  # what was measured
    values: Floats  # finite
    source: str
    missing: int = 0  # rows without a value
    notes: tuple[str, ...] = ()  # what a reader of a result must know

    @property
    def variation(self) -> float:
        """Largest minus smallest value."""
        return float(np.ptp(self.values))

    def describe(self) -> str:
        """Return one line: how many samples, of what, from where."""
        gaps = f", {self.missing} missing" if self.missing else ""
        count = len(self.values)
        return f"{count} sample{'s' if count > 1 else ''}{gaps} of {self.column!r}, from {self.source}"


def read_numbers(
    source: Source, column: str | None = None, where: str | Iterable[str] | None = None
) -> RunSamples | None:
    """Return a file of one number a line, each with the same unit or none; None of any other.

    Empty lines and lines that begin with ``#`` count for nothing; a first line of text is the name, without one the
    file's. A unit, as in ``3.1 ms``, is added to the name.
    """
    head = source.head[:_HEAD].decode("utf-8-sig", errors="replace")
    first = [line.strip() for line in head.splitlines() if line.strip() and not line.startswith("#")][:3]
    named = bool(first) and _quantity(first[0]) is None
    if len(first) < 1 + named or any(_quantity(line) is None for line in first[named:]):
        return None
    if named and any(mark in first[0] for mark in ",;\t"):
        return None
    values: list[float] = []
    unit = ""
    name = "value" if source.is_stdin else Path(without_compressed_ending(source.name)).stem
    if column is None and where is None and not head.lstrip().startswith("#"):
        with source.plain_file() as file, contextlib.suppress(ValueError):  # which the loop below words
            numbers = np.loadtxt(file, encoding="utf-8-sig", skiprows=int(named), ndmin=1)
            if numbers.ndim == 1 and np.isfinite(numbers).all():
                return RunSamples(first[0] if named else name, numbers, source.name)
    for number, line in source.lines():
        word = line.decode("utf-8-sig", errors="replace").strip()
        if not word or word.startswith("#"):
            continue
        quantity = _quantity(word)
        if quantity is None and not values and named:
            name = word
            continue
        if quantity is None or not np.isfinite(quantity[0]):
            raise InputError(source.name, f"{word[:40]!r} is met; one finite number a line is expected", line=number)
        if not values:
            unit = quantity[1]
        if quantity[1] != unit:
            before = f"are in {unit!r}" if unit else "have no unit"
            raise InputError(source.name, f"{word[:40]!r} is met, and the lines before it {before}", line=number)
        values.append(quantity[0])
    shown = f"{name} [{unit}]" if unit and unit_in_name(name) is None else name
    if column not in {None, name, shown}:
        raise InputError(source.name, f"it has one number a line, {name!r}, and no column {column!r}")
    if where is not None:
        raise InputError(source.name, f"it has one number a line; --where {where!r} picks rows of a table")
    return RunSamples(shown, np.array(values), source.name)


def _quantity(line: str) -> tuple[float, str] | None:
    """Return a number and its unit, empty where there is none; None of any other text."""
    number = _NUMBER.match(line)
    with contextlib.suppress(ValueError):
        return float(line), ""
    unit = line[number.end() :].strip() if number else ""
    if number is None or unit_of_text(unit) is None:
        return None
    return float(number[0]), unit


def samples_of_table(
    table: pd.DataFrame, column: str | None, where: str | Iterable[str] | None, source: str, factors: Sequence[str] = ()
) -> RunSamples:
    """Return one column of a table, of the rows that meet conditions; ``factors`` are what runs differ in."""
    if column is None:
        numeric = [name for name in table.columns if pd.to_numeric(table[name], errors="coerce").notna().any()]
        if len(numeric) != 1:
            raise OptionError(f"{source}: name a column (--column NAME): {listing(list(table.columns))}")
        column = numeric[0]
    try:
        column = existing_column(column, list(table.columns))
    except UnknownNameError:
        raise UnknownNameError(f"column of {source}", column, list(table.columns)) from None
    if where is not None:
        try:
            conditions = parse_conditions(where)
        except ValueError as error:
            raise OptionError(f"--where: {error}") from None
        table = table[rows_that_meet(table, conditions)]
        if not len(table):
            raise DataError(f"{source}: no row meets {where!r}")
    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(values)
    if not finite.any():
        raise DataError(f"{source}: column {column!r} holds no numbers")
    notes: list[str] = []
    kinds = table.loc[finite, list(factors)].drop_duplicates()
    if factors and len(kinds) > 1:
        differing = [name for name in factors if kinds[name].nunique(dropna=False) > 1]
        notes.append(f"samples of {len(kinds)} kinds of runs, which differ in {listing(differing)}; --where picks some")
    return RunSamples(column, values[finite], source, int((~finite).sum()), notes=tuple(notes))


Samples = Window | RunSamples


def _read_any(path: str | os.PathLike[str], column: str | None, where: str | Iterable[str] | None, read: Read) -> Any:
    """Return numbers, a column of a table of text, or what a reader gives."""
    if os.fspath(path) == "-" or Path(path).is_file():
        with Source(path) as source:
            samples = read_numbers(source, column, where)
            if samples is not None:
                return samples
            with _as_stdin(source):
                try:
                    return read(os.fspath(path), KINDS)
                except InputError as error:
                    # A table of text whose names say nothing needs no more than them, if a column is named or is to be.
                    is_table = error.line == 1 and _has_named_numbers(source.head)
                    if column is None and where is None and not is_table:
                        raise
            table = _plain_table(source, path, read)
            return samples_of_table(table, column, where, source.name)
    return read(os.fspath(path), KINDS)


def _plain_table(source: Source, path: str | os.PathLike[str], read: Read) -> Any:
    """Return a table of text as its reader reads cells, or, where none knows the file, as it is."""
    try:
        with _as_stdin(source):
            return read(os.fspath(path), (Measurements,)).table
    except InputError as error:
        if error.line not in (None, 1):
            raise
    with source.plain_file() as file:
        return pd.DataFrame([row for _, row in read_rows(file, source.name)])


def _has_named_numbers(head: bytes) -> bool:
    """Return whether a file begins as a table of several named columns, some of numbers: naming one helps."""
    lines = head[:_HEAD].decode("utf-8-sig", errors="replace").splitlines()[:2]
    mark = max(",;\t", key=lines[0].count) if lines else ","
    names, *rows = ([word.strip() for word in line.split(mark)] for line in lines)
    has_columns = bool(rows) and len(names) == len(rows[0]) > 1
    return has_columns and not any(map(is_number, names)) and any(map(is_number, rows[0]))


@contextlib.contextmanager
def _as_stdin(source: Source) -> Iterator[None]:
    """What was taken from standard input once, for who reads it himself; nothing of a file."""
    if not source.is_stdin:
        yield
        return
    before = sys.stdin
    with source.path.open() as stream:
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = before


def read_samples(
    source: Any,
    window: str,
    column: str | None = None,
    until: float | str | None = None,
    where: str | Iterable[str] | None = None,
    read: Read | None = None,
    within: Range | None = None,
) -> tuple[Samples, tuple[str, ...]]:
    """Return samples of a file, or of data in memory, and warnings about them."""
    data = source
    if isinstance(source, (str, os.PathLike)):
        data = _read_any(source, column, where, read or read_file)
        if isinstance(data, Series) and where is not None:
            data = samples_of_table(pd.DataFrame({"time": data.times, **data.columns}), column, where, data.source)
    if isinstance(data, Measurements):
        roles = data.roles
        if column is None and roles.value is None:
            raise OptionError(f"{data.source}: name a column (--column NAME): {listing(list(data.table.columns))}")
        factors = [*roles.parameters.values(), *roles.code, *roles.system, *roles.category]
        notes = list[str]()
        table = data.table[without_duplicates(data, np.ones(len(data.table), dtype=np.bool_))]
        name = str(column or roles.value)
        if name in table and is_called_time(name):
            zero = (times := pd.to_numeric(table[name], errors="coerce")) == 0.0
            if zero.any() and (times > 0.0).any():  # as fits take it: no run takes no time
                table = table[~zero]
                notes.append(f"left out, {name} is 0: {int(zero.sum()):,} of {len(zero):,} rows")
        data = samples_of_table(table, name, where, data.source, factors)
        data = replace(data, notes=(*notes, *data.notes))
    if isinstance(data, RunSamples):
        if until is not None:
            raise OptionError(f"--to {until}: {data.source} is no series over time")
        samples: Samples = data
        warnings = (*few_samples(len(data.values)), *data.notes)
    elif where is not None:
        raise OptionError(f"--where {where!r} picks rows of a table; {data.source} is a series over time")
    else:
        samples = take_window(data, window, column, until)
        everything = take_window(data, "all", samples.column, until)
        count, of_all = len(samples.values), len(everything.values)
        warnings = few_samples(count, f"; --window all has {of_all}" if of_all > count else "")
        if count < min(_FEWEST_OF_WINDOW, of_all):
            note = f"--window {window} holds only {count} sample{'s' if count > 1 else ''}: all {of_all} are used"
            samples, warnings = everything, (note, *few_samples(of_all))
    try:
        check_within(samples.values, within, samples.column, samples.source)
    except DataError as error:
        raise DataError(f"{samples.source}, {samples.column!r}: {error}") from None
    return samples, warnings


def few_samples(count: int, enough: str = "") -> tuple[str, ...]:
    """Return the warning about a value that is made of few samples."""
    of_few = f"{count} sample{'s are' if count > 1 else ' is'} few: beyond them nothing is known; {FEWEST} would do"
    return (f"{of_few}{enough}",) if count < FEWEST else ()
