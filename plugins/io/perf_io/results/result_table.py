"""Rows that a benchmark's output was taken apart into, as measurements."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perf_formulas.formula import Formula
from perf_formulas.parser import FormulaError
from perf_io.shared.joining import varied_columns
from perfcore.base.errors import InputError
from perfcore.data.measurements import Measurements
from perfcore.data.roles import guess_roles
from perfcore.data.units import unit_of

if TYPE_CHECKING:
    import pandas as pd


Row = dict[str, Any]
SHARE = "share"  # unit of efficiencies

_LONGEST_NAME = 120
_UNNAMED = "unnamed"


def results(
    rows: Sequence[Row],
    source: str,
    *,
    parameters: Sequence[str],
    value: str,
    code: Sequence[str] = (),
    system: Sequence[str] = (),
    category: Sequence[str] = (),
    unit: str | None = None,
    lines: Sequence[int] | None = None,
) -> Measurements:
    """Measurements with the roles that a format suggests.

    Rows with the columns ``metric`` and ``unit`` hold one of several metrics each. Where all hold the same, these two
    columns go and the value is called by the metric's name; otherwise the metric is part of the code.
    """
    import pandas as pd

    if not rows:
        raise InputError(source, "holds no results")
    table = pd.DataFrame(list(rows))
    code = list(code)
    if "metric" in table.columns:
        only = one_line(rows[0]["metric"])
        if table[["metric", "unit"]].drop_duplicates().shape[0] == 1 and only not in table.columns:
            unit = rows[0]["unit"] or None
            table = table.drop(columns=["metric", "unit"]).rename(columns={value: only})
            value = only
        else:
            code.append("metric")
    present = [column for column in dict.fromkeys(parameters) if column in table.columns and column != value]
    numeric = [column for column in present if _all_numbers(table[column].dropna().tolist())]
    return Measurements(
        table,
        _symbols(varied_columns(table, numeric) or numeric),
        value,
        code=_naming(table, code),
        system=_naming(table, system),
        category=_naming(table, category),
        unit=_said_once(unit, value),
        source=source,
        lines=lines,
    )


def joined(columns: Row, user_columns: Mapping[str, Any], source: str) -> Row:
    """Columns of a format with columns that the user named, such as the parameters of a benchmark."""
    row = dict(columns)
    for name, value in user_columns.items():
        column = one_line(name)
        if column in row:
            raise InputError(source, f"the name {column!r} stands for two columns; rename the parameter")
        row[column] = number_or_text(value)
    return row


def number_or_text(value: Any) -> Any:
    """A finite number where a text is one; anything that is neither number nor text as a text."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    return int(text) if re.fullmatch(r"[-+]?[0-9]{1,15}", text) else number


def one_line(name: str) -> str:
    """A name that can stand in a message and above a column."""
    return " ".join(name.split())[:_LONGEST_NAME] or _UNNAMED


def _naming(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that name something, with a name in each row."""
    named = []
    for column in columns:
        if column not in table.columns:
            continue
        blank = table[column].isna() | (table[column].astype(str).str.strip() == "")
        if not blank.all():
            table[column] = table[column].astype(object).mask(blank, _UNNAMED)  # a name may be a number
            named.append(column)
    return named


def _said_once(unit: str | None, value: str) -> str | None:
    """The unit, unless the value's name says one: of a metric called ``time_s`` that is enough."""
    return None if unit_of(value) is not None else unit


def _all_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


def _symbols(columns: Sequence[str]) -> dict[str, str]:
    """What parameters are called in formulas: the number of processors, or else the first, is ``p``."""
    first = guess_roles(list(columns), set(columns)).parameters.values()
    ordered = [*first, *(column for column in columns if column not in first)]
    symbols: dict[str, str] = {}
    for column in ordered:
        symbol = column if symbols or "p" in columns else "p"
        if not _usable(symbol):
            symbol = "x_" + re.sub(r"\W", "_", column, flags=re.ASCII)[:_LONGEST_NAME]
        while symbol in symbols:
            symbol += "_"
        symbols[symbol] = column
    return symbols


def _usable(symbol: str) -> bool:
    try:
        return Formula(symbol).names == (symbol,)
    except FormulaError:
        return False
