"""Quantities of codes or systems, such as operation counts or peak rates: from columns, formulas or small tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula, FormulaError
from perf_tables.categories.unread_cells import no_number
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of


# NPB prints a rate with two decimals, so that rate times time gives the operation count to some 1e-4 only; what
# differs by more within one code is not a quantity of the code.
_SPREAD = 0.01


def quantities_of(words: Sequence[str], data: Measurements, role: str, option: str) -> tuple[str, dict[str, float]]:
    """One positive number for each code, or for each system."""
    if all("=" in word for word in words):
        return option, _listed(words, option)
    word = words[0]
    path, _, column = word.rpartition(":") if ":" in word else (word, "", "")
    if word not in data.table.columns and Path(path).is_file():
        table = _small_table(path, data, role)
        return _by_label(table, _quantity_column(table, column, role), role, option)
    return _by_label(data, word, role, option)


def _listed(words: Sequence[str], option: str) -> dict[str, float]:
    quantities: dict[str, float] = {}
    for word in words:
        label, _, text = word.rpartition("=")
        name = label.strip()
        try:
            value = _positive(float(text))
        except ValueError:
            value = None
        if value is None or not name:
            raise OptionError(f"{option} {word!r}: NAME=VALUE with a positive number is expected")
        if name in quantities:
            raise OptionError(f"{option}: {name} is given twice")
        quantities[name] = value
    return quantities


def _small_table(path: str, data: Measurements, role: str) -> Measurements:
    """The table of a file, with the columns that name the codes or systems of the measurements."""
    from perfcore.reading.recognise import read

    table = read(path, wanted=(Measurements,))
    columns: tuple[str, ...] = getattr(data.roles, role)
    if not columns:
        raise OptionError(f"{path}: the measurements have no column that names the {role}; give --{role} COLUMN")
    missing = [column for column in columns if column not in table.table.columns]
    if missing:
        raise DataError(
            f"{path}: has no column {missing[0]!r}, by which the {role} of the measurements is named; its columns are "
            f"{listing(table.table.columns)}"
        )
    roles: dict[str, Any] = {"code": (), "system": (), role: columns}
    return cast(Measurements, table).with_roles(parameters=(), **roles)


def _quantity_column(table: Measurements, column: str, role: str) -> str:
    """The column named, else the only one of numbers beside those that name the role."""
    if column:
        return column
    named = getattr(table.roles, role)
    numbers = [c for c in table.table.columns if table.table[c].dtype.kind in "iuf" and c not in named]
    if len(numbers) != 1:
        raise OptionError(
            f"{table.source}: say which column to take, {table.source}:COLUMN; of numbers it has {listing(numbers)}"
        )
    return str(numbers[0])


def _by_label(data: Measurements, column: str, role: str, option: str) -> tuple[str, dict[str, float]]:
    """Mean of a column or formula for each code or system, which must be the same there."""
    values = _evaluated(data, column, option)
    kept = np.ones(len(values), dtype=np.bool_)
    labels, index = labels_of(data, role, kept)
    means = {}
    for number, label in enumerate(labels):
        rows = np.flatnonzero((index == number) & ~np.isnan(values))
        group = values[rows]
        if not len(rows):
            data.refuse(int(np.argmax(index == number)), f"{column} is empty; a positive number is expected")
        wrong = ~((group > 0.0) & (group < np.inf))
        if wrong.any():
            data.refuse(
                int(rows[np.argmax(wrong)]),
                f"{column} of {role} {label} is {group[wrong][0]:g}; a positive number is expected",
            )
        if group.max() - group.min() > _SPREAD * group.min():
            raise DataError(
                f"{data.source}: {column} of {role} {label} is between {group.min():g} and {group.max():g}; a quantity "
                f"of the {role} must be the same in all its rows: name the {role} by more columns, or give a table"
            )
        means[label] = float(group.mean())
    return column, means


def _evaluated(data: Measurements, column: str, option: str) -> npt.NDArray[np.float64]:
    table = data.table
    if column in table.columns:
        formula, names = None, [column]
    else:
        try:
            formula = Formula(column)
        except FormulaError as error:
            raise OptionError(f"{option} {column!r}: neither a column, nor a file, nor a formula: {error}") from None
        names = list(formula.names)
    arrays = {}
    for name in names:
        if name not in table.columns:
            raise UnknownNameError(
                f"column of {data.source} (and there is no such file)", name, map(str, table.columns)
            )
        arrays[name] = _numbers(data, name)
    if formula is None:
        return arrays[column]
    return np.broadcast_to(formula.evaluate(arrays), len(table))


def _numbers(data: Measurements, name: str) -> npt.NDArray[np.float64]:
    """A column as numbers (n,); NaN where it is empty."""
    import pandas as pd

    column = data.table[name]
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    texts = np.isnan(numbers) & column.notna().to_numpy()
    if texts.any():
        row = int(np.argmax(texts))
        data.refuse(row, no_number(name, str(column.iloc[row]).strip()))
    return numbers


def _positive(number: float) -> float:
    if not 0.0 < number < float("inf"):
        raise ValueError
    return number
