"""Several measured columns of one table as paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perf_tables.confounders import spread_columns
from perfcore.base.errors import DataError
from perfcore.data.measurements import Measurements
from perfcore.data.roles import named_columns
from perfcore.data.units import unit_of

if TYPE_CHECKING:
    import pandas as pd


_SPREADS = {"deviation": "sd", "error": "sem", "confidence": "ci95"}
OF_VALUE = "value of"  # the column that says which of the measured ones a row is from


def with_values(data: Measurements, columns: Sequence[str] | str | None, path: Sequence[str] | None) -> Measurements:
    """Measurements of one column, or of several, each of which is then a path."""
    others: dict[str, Any] = {} if path is None else {"code": tuple(path), "system": (), "category": ()}
    names = [columns] if isinstance(columns, str) else list(columns or ())
    exact = [column for column in data.table.columns if re.split(r"\s*,\s*", column) == names]
    names = exact or list(named_columns(names, list(data.table.columns)))
    if len(names) < 2:
        return data.with_roles(value=names[0] if names else None, **others)
    import pandas as pd

    units = {unit_of(name) for name in names}
    if len(units) > 1:
        described = ", ".join(f"{name} [{unit_of(name) or 'no unit'}]" for name in names)
        raise DataError(
            f"{data.source}: --value: several columns are paths of one unit, not of {described}; fit each alone"
        )
    value = "value" if None in units else f"value_{next(iter(units))}"
    for column in (value, OF_VALUE):
        if column in data.table.columns:
            raise DataError(
                f"{data.source}: several values are joined in a column {column!r}, which is there; rename it"
            )
    table = pd.concat([_rows_of(data, name, names, value) for name in names], ignore_index=True)
    lines = [data.line(row) for row in range(len(data.table))]
    roles = dict(data.with_roles(**others).given_roles)
    roles |= {"value": value, "code": (*(roles.get("code", data.roles.code)), OF_VALUE)}
    roles |= {role: getattr(data.roles, role) for role in ("parameters", "system", "category") if role not in roles}
    roles.pop("unit", None)
    source_lines = [line for line in lines if line is not None]
    return Measurements(
        table, **roles, source=data.source, lines=source_lines * len(names) if len(source_lines) == len(lines) else None
    )


def _rows_of(data: Measurements, name: str, names: Sequence[str], value: str) -> pd.DataFrame:
    """The rows of one of several values, with its own spread alone."""
    spreads = {each: spread_columns(data.with_roles(value=each), named=True) for each in names}
    dropped = [*names, *(columns.spread for columns in spreads.values() if columns is not None)]
    rows = data.table.drop(columns=dropped).copy()
    rows[OF_VALUE], rows[value] = name, data.table[name]
    if (value_spread := spreads[name]) is not None:
        rows[_SPREADS[value_spread.kind]] = data.table[value_spread.spread]
    return rows
