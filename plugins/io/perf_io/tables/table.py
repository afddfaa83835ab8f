"""A table whose columns are known and whose meaning is not yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from perf_io.tables.duck import Database, quoted, quoted_name
from perf_io.text import sql_ns
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.data.columns import words

_WITH_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})+\s*")
FIRST_ROWS = 10_000  # by which a column is classified
ENTER, LEAVE, _NEITHER = (frozenset(words("trace", change)) for change in ("enter", "leave", "neither"))
_POINTED = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?\s*")  # 10.200 with a decimal comma
_SWAPPED = str.maketrans(".,", ",.")
_FEWEST_LEVELS, _LEAST_FOLD = 2, 1.5  # of what was varied; a clock is hardly ever at 1.5 times its last reading
LARGEST_FOLD = 100.0  # between ways to run at one point
_MOST_ONCE = 1_000  # levels of which none need come again; more are samples of something


def has_decimal_comma(text: str) -> bool:
    """Whether a text is a number if its comma is a decimal sign."""
    return _WITH_COMMA.fullmatch(text) is not None


def decimal_hint(text: str, decimal: str) -> str:
    """What to add to the message about a text that is a number with the other decimal sign; else nothing."""
    if decimal == "." and _GROUPED.fullmatch(text):
        plain = text.strip().replace(",", "")
        return f"; if its comma is a decimal sign, give -r decimal=, and if it separates thousands, write {plain}"
    if decimal == "." and has_decimal_comma(text):
        return "; it has a decimal comma, which the option decimal reads: -r decimal=,"
    if decimal == "," and has_decimal_comma(text.translate(_SWAPPED)) and not _POINTED.fullmatch(text):
        return "; it has a point, which is no decimal sign with decimal=,"
    return ""


def sql_number(name: str, decimal: str) -> str:
    """SQL for a column of texts as numbers are spelt in SQL."""
    cell = quoted_name(name)
    if decimal != ",":
        return cell
    grouped = f"regexp_full_match({cell}, {quoted(_POINTED.pattern)})"
    return f"translate(CASE WHEN {grouped} THEN replace({cell}, '.', '') ELSE {cell} END, '.,', ',.')"


def has_pointed_thousands(text: str) -> bool:
    """Whether a text is a number whose points separate thousands, if its comma is a decimal sign."""
    return _POINTED.fullmatch(text) is not None


def number_of(text: str, decimal: str = ".") -> float:
    """The number that a text is."""
    if "_" in text:  # Python's own way of grouping digits, which no table means
        raise ValueError
    if decimal == "," and _POINTED.fullmatch(text):
        text = text.replace(".", "")
    return float(text.translate(_SWAPPED) if decimal == "," else text)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str  # as the file spells it
    kind: str  # what its values are; a text column of numbers is "number"


def one_line(name: str) -> str:
    """A column's name as a message shows it."""
    return " ".join(name.split())[:60]


@dataclass(frozen=True)
class Table:
    """Columns in a database, before anyone knows what they mean."""

    database: Database
    relation: str  # FROM item that gives the columns, in the order of the file
    columns: tuple[Column, ...]
    types: Mapping[str, str]  # for each column what its values are to `perf_io.text.sql_ns`
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
        """What was done to the table, which is reported, too."""
        for note in (together := (*self.notes, *notes)):
            progress.note(f"{self.source}: {note}")
        return together

    def steps_follow(self, start: Column, end: Column) -> bool:
        """Whether each row begins where the one before ended."""
        sides = ", ".join(f"{self.ns(column, 's')} AS {name}" for column, name in ((start, "a"), (end, "b")))
        before = f"SELECT a, lag(b) OVER () AS b FROM ({self._first_rows(sides)})"
        return not self.database.rows(f"SELECT 1 FROM ({before}) WHERE a <> b LIMIT 1")

    def tells_changes(self, column: Column) -> bool:
        """Whether all values of a column are words for entering and leaving."""
        rows = self._first_rows(f"{quoted_name(column.name)} AS word")
        found = self.database.rows(f"SELECT DISTINCT lower(trim(word)) FROM ({rows}) WHERE word IS NOT NULL")
        distinct = {word for (word,) in found}
        return bool(distinct & ENTER) and bool(distinct & LEAVE) and distinct <= ENTER | LEAVE | _NEITHER

    def goes_back(self, time: Column) -> bool:
        """Whether a time is not later than the one before, as no moment is."""
        rows = self._first_rows(f"TRY_CAST({self.number(time)} AS DOUBLE) AS t")
        ((goes_back,),) = self.database.rows(f"SELECT min(t) <= 0 FROM (SELECT t - lag(t) OVER () AS t FROM ({rows}))")
        return bool(goes_back)

    def holds_levels(self, column: Column) -> bool:
        """Whether numbers come in any order, repeat, or each is far above the one before: what was varied, no time."""
        rows = self._first_rows(f"TRY_CAST({self.number(column)} AS DOUBLE) AS x")
        steps = f"SELECT x, lag(x) OVER () AS before FROM ({rows})"
        facts = f"count(*), count(DISTINCT x), min(x - before) <= 0 OR min(x / before) >= {_LEAST_FOLD}"
        ((count, levels, is_varied),) = self.database.rows(f"SELECT {facts} FROM ({steps})")
        return bool(is_varied) and _FEWEST_LEVELS <= levels <= max(count / 2, _MOST_ONCE)

    def are_alike(self, columns: Sequence[Column]) -> bool:
        """Whether no number comes twice in a column, and those behind the first are of one magnitude in most rows."""
        numbers = [f"TRY_CAST({self.number(column)} AS DOUBLE)" for column in columns]
        counts = ", ".join(f"count(DISTINCT {number})" for number in numbers)
        fold = f"median(greatest({', '.join(numbers[1:])}) / least({', '.join(numbers[1:])}))"
        ((count, fold, *distinct),) = self.database.rows(
            f"SELECT count(*), {fold}, {counts} FROM ({self._first_rows('*')})"
        )
        return all(number == count for number in distinct) and fold is not None and 0 < fold <= LARGEST_FOLD

    def alternates(self, name: Column, time: Column) -> bool:
        """Whether few names come again and again, each at times that increase."""
        columns = f"CAST({quoted_name(name.name)} AS VARCHAR) AS name, {self.ns(time, 's')} AS t"
        rows = f"SELECT {columns} FROM {self.relation} LIMIT {FIRST_ROWS // 100}"
        step = "t - lag(t) OVER (PARTITION BY name) AS step"
        steps = f"SELECT name, {step}, lag(name) OVER () <> name AS other FROM ({rows})"
        query = f"SELECT count(*), count(DISTINCT name), min(step) > 0, count(*) FILTER (other) FROM ({steps})"
        ((count, names, increase, changes),) = self.database.rows(query)
        return bool(increase) and names > 1 and 2 * names <= count <= 2 * changes + 2

    def is_sweep(self, varied: Column, time: Column) -> bool:
        """Whether the first is in order, as what was varied is, or the times are not, as moments would be."""
        number, moment = (f"TRY_CAST({self.number(column)} AS DOUBLE)" for column in (varied, time))
        rows = self._first_rows(f"{number} AS x, {moment} AS t")
        steps = f"SELECT x - lag(x) OVER () AS x, t - lag(t) OVER () AS t FROM ({rows})"
        falls, rises, goes_back = self.database.rows(f"SELECT min(x) < 0, max(x) > 0, min(t) <= 0 FROM ({steps})")[0]
        return bool(goes_back) or not (falls and rises)

    def _first_rows(self, columns: str) -> str:
        return f"SELECT {columns} FROM {self.relation} LIMIT {FIRST_ROWS}"
