"""Samples of one quantity that have no times: numbers one a line, columns of tables, and counts in buckets."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError, listing
from perfcore.data.roles import existing_column
from perfcore.data.selection import parse_conditions, rows_that_meet
from perfcore.data.units import unit_in_name, unit_of_text
from perfcore.reading.compression import without_compressed_ending

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.data.measurements import Measurements
    from perfcore.reading.source import Source


Floats = npt.NDArray[np.float64]

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_HEAD = 4096  # characters by which a file of numbers is told from others


@dataclass(frozen=True)
class RunSamples:
    """Samples in no order."""

    column: str  # what was measured
    values: Floats  # finite
    source: str
    missing: int = 0  # rows without a value
    count: int = 0  # how many were measured: more than ``values`` where these stand for counts in buckets
    notes: tuple[str, ...] = ()  # what a reader of a result must know

    @property
    def variation(self) -> float:
        """Largest minus smallest value."""
        return float(np.ptp(self.values))

    @property
    def size(self) -> int:
        """How many were measured."""
        return self.count or len(self.values)

    def describe(self) -> str:
        """One line: how many samples, of what, from where."""
        gaps = f", {self.missing} missing" if self.missing else ""
        return f"{self.size} sample{'s' if self.size > 1 else ''}{gaps} of {self.column!r}, from {self.source}"


def read_numbers(
    source: Source, column: str | None = None, where: str | Iterable[str] | None = None
) -> RunSamples | None:
    """A file of one number a line, each with the same unit or none; None of any other.

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
    """A number and its unit, empty where there is none; None of any other text."""
    number = _NUMBER.match(line)
    with contextlib.suppress(ValueError):
        return float(line), ""
    unit = line[number.end() :].strip() if number else ""
    if number is None or unit_of_text(unit) is None:
        return None
    return float(number[0]), unit


def samples_of_rows(
    measured: Measurements, column: str | None = None, where: str | Iterable[str] | None = None
) -> RunSamples:
    """One column of a table of runs: by default what was measured."""
    roles = measured.roles
    if column is None and roles.value is None:
        raise OptionError(f"{measured.source}: name a column (--column NAME): {listing(list(measured.table.columns))}")
    factors = [*roles.parameters.values(), *roles.code, *roles.system, *roles.category]
    return samples_of_table(measured.table, column or roles.value, where, measured.source, factors)


def samples_of_table(
    table: pd.DataFrame,
    column: str | None,
    where: str | Iterable[str] | None,
    source: str,
    factors: Sequence[str] = (),
) -> RunSamples:
    """One column of a table, of the rows that meet conditions; ``factors`` are columns that tell runs from one another.

    Raises
    ------
    OptionError, UnknownNameError, DataError
        As of `samples_of_rows`.
    """
    import pandas as pd

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
