"""A table whose columns are known and whose meaning is not yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from perf_io.shared.times import sql_ns
from perf_io.tables.columns import Column, one_line
from perf_io.tables.decimals import decimal_hint, sql_number
from perf_io.tables.duck import Database
from perfcore.base.errors import InputError


@dataclass(frozen=True)
class Table:
    """Columns in a database, before anyone knows what they mean."""

    database: Database
    relation: str  # FROM item that gives the columns, in the order of the file
    columns: tuple[Column, ...]
    types: Mapping[str, str]  # for each column what its values are to `perf_io.shared.times.sql_ns`
    at_row: Callable[[int], tuple[int, Mapping[str, str]]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    lines: Callable[[], Sequence[int]] | None = None  # gives the line in the file of each row
    keeps: bool = False  # the relation can be read again later; if not, it is copied into the database
    decimal: str = "."  # decimal sign of numbers in texts

    @property
    def source(self) -> str:
        """The input as the user named it."""
        return self.database.source

    def number(self, column: Column) -> str:
        """SQL for the column as what SQL reads numbers from."""
        return sql_number(column.name, self.decimal if self.types[column.name] == "text" else ".")

    def ns(self, column: Column, time_unit: str) -> str:
        """SQL for the column in whole nanoseconds."""
        return sql_ns(self.number(column), self.types[column.name], time_unit)

    def refuse(self, row: int, column: Column, problem: str) -> NoReturn:
        """Raise the error for the value met in one place."""
        line, texts = self.at_row(row)
        text = texts.get(column.name, "")
        description = "is empty" if text == "" else f"is {text[:40]!r}"
        hint = decimal_hint(text, self.decimal)
        raise InputError(self.source, f"{one_line(column.name)} {description}{problem}{hint}", line=line)
