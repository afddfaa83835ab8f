"""Measurements of several files as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.data.roles import guess_roles

if TYPE_CHECKING:
    import pandas as pd


# Fields of a name that tell runs of the same point apart; they are columns and no parameters.
_REPETITIONS = frozenset({"r", "rep", "repeat", "repetition", "run", "trial"})
_FILE = "file"


def join_measurements(
    parts: Iterable[tuple[Path, Measurements]], fields: Sequence[Mapping[str, Any]], name: str
) -> Measurements:
    """Measurements of several files as one table with what the files' names say."""
    import pandas as pd

    tables, parts = [], list(parts)
    for (path, data), name_fields in zip(parts, fields, strict=True):
        table = data.table
        duplicates = [field for field in (*name_fields, *([_FILE] if len(parts) > 1 else [])) if field in table.columns]
        if duplicates and duplicates[0] in name_fields:
            raise OptionError(f"--from-name: {path} has a column {duplicates[0]!r} already; call the field otherwise")
        extra = {**name_fields, _FILE: str(path)} if len(parts) > 1 and not duplicates else name_fields
        tables.append(table.assign(**extra))
    together = pd.concat(tables, ignore_index=True)
    value, unit = (
        _one([getattr(data.roles, attribute) for _, data in parts], parts, attribute) for attribute in ("value", "unit")
    )
    words = [field for field in fields[0] if field not in _REPETITIONS and isinstance(fields[0][field], str)]
    code, system, category = (
        list(dict.fromkeys(column for _, data in parts for column in getattr(data.roles, role)))
        for role in ("code", "system", "category")
    )
    first = parts[0][1]
    return Measurements(
        together,
        _parameters(together, parts, [f for f in fields[0] if f not in words and f not in _REPETITIONS]),
        value,
        code=[*words, *code],
        system=system,
        category=category,
        unit=unit,
        source=f"{name} ({len(parts)} files)" if len(parts) > 1 else first.source,
        lines=[first.line(row) or 0 for row in range(len(first.table))]
        if len(parts) == 1 and first.line(0) is not None
        else None,
    )


def _one(values: Sequence[str | None], parts: Sequence[tuple[Path, Any]], attribute: str) -> str | None:
    """What all files agree on."""
    for (path, _), value in zip(parts, values, strict=True):
        if value != values[0]:
            problem = f"{parts[0][0]} has the {attribute} {values[0]!r} and {path} {value!r}; read them as two sets"
            raise DataError(problem)
    return values[0]


def _parameters(table: pd.DataFrame, parts: Sequence[tuple[Path, Any]], named: Sequence[str]) -> dict[str, str]:
    """Symbols and columns of what was varied: those of the names first, then those of the files."""
    symbols = {column: symbol for _, data in parts for symbol, column in data.roles.parameters.items()}
    columns = list(dict.fromkeys([*named, *symbols]))
    kept = (varied_columns(table, columns, named) if len(parts) > 1 else columns) or columns
    processors = guess_roles(kept, set(kept)).parameters.values()
    parameters: dict[str, str] = {}
    for column in sorted(kept, key=lambda one: one not in processors):
        symbol = column if column in named else symbols[column]
        parameters[symbol if symbol not in parameters else column] = column
    if parameters and "p" not in parameters:
        symbol = next(iter(parameters))
        parameters = {"p": parameters.pop(symbol), **parameters}
    return parameters


def varied_columns(table: pd.DataFrame, columns: Sequence[str], named: Sequence[str] = ()) -> list[str]:
    """The columns that differ between rows, less those that repeat one before, such as nodes and tasks."""
    kept: list[str] = []
    for column in columns:
        levels = table[column].nunique()
        if levels < 2:
            continue
        same = any(levels == table[other].nunique() == len(table[[column, other]].drop_duplicates()) for other in kept)
        if column in named or not same:
            kept.append(column)
    return kept
