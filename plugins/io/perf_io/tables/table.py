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

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Columns in a database, before anyone knows what they mean.

    Parameters
    ----------
    database : Database
    relation : str
        FROM item that gives the columns, in the order of the file.
    columns : tuple of Column
    types : mapping
        For each column what its values are to `perf_io.shared.times.sql_ns`.
    at_row : callable
        For a row counted from 0: its line in the file, and its texts by column name.
    facts : mapping
        What the file says about its data beside the columns (only Parquet does).
    lines : callable, optional
        Gives the line in the file of each row; without it the first row is line 1. Call it before the file is closed.
    keeps : bool
        The relation can be read again later; if not, it is copied into the database.
    decimal : {".", ","}
        Decimal sign of numbers in texts.
    """

    database: Database
    relation: str
    columns: tuple[Column, ...]
    types: Mapping[str, str]
    at_row: Callable[[int], tuple[int, Mapping[str, str]]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    lines: Callable[[], Sequence[int]] | None = None
    keeps: bool = False
    decimal: str = "."

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
