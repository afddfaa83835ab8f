"""Tables of measurements: every column is kept, since any may name a code, select rows, or hold operation counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import quoted_name
from perf_io.tables.options import TableOptions
from perf_io.tables.table import Table
from perfcore.base.errors import InputError, OptionError
from perfcore.data.measurements import Measurements

__all__ = ["read_measurements"]


def read_measurements(table: Table, options: TableOptions) -> Measurements:
    """Read the whole table; a column is one of numbers where all its values are.

    Raises
    ------
    InputError
        The table has no rows.
    OptionError
        More than one value column was named.
    """
    import pandas as pd

    if len(options.value) > 1:
        raise OptionError(f"measurements have one value column, not {', '.join(options.value)}")
    fields = []
    for column in table.columns:
        name = quoted_name(column.name)
        plain = column.kind == "number" and table.types[column.name] in ("integer", "float")
        fields.append(name if plain else f"CAST({name} AS VARCHAR) AS {name}")
    loaded = table.database.columns(f"SELECT {', '.join(fields)} FROM {table.relation}")
    count = len(loaded[table.columns[0].name])
    if not count:
        raise InputError(table.source, "has column names but no rows", line=1)
    kept = table.facts.get("roles") or {}
    return Measurements(
        pd.DataFrame({name: _as_numbers(values) for name, values in loaded.items()}),
        options.parameters or kept.get("parameters"),
        options.value[0] if options.value else kept.get("value"),
        code=kept.get("code") if options.code is None else options.code,
        system=kept.get("system") if options.system is None else options.system,
        category=kept.get("category") if options.category is None else options.category,
        unit=kept.get("unit"),
        source=table.source,
        lines=range(1, count + 1) if table.lines is None else table.lines(),
    )


def _as_numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Texts as numbers where all are, and where different texts are different numbers; None for a missing text.

    A version such as 1.10 is not 1.1, and a code that is called 01 not 1; numbers that remain texts are still read as
    numbers where a parameter or a value is wanted.
    """
    missing = np.ma.getmaskarray(values)
    if values.dtype.kind in "iuf":
        return np.ma.filled(values.astype(np.float64), np.nan) if missing.any() else np.asarray(values)
    given = np.asarray(np.ma.getdata(values), dtype=object)
    numbers = np.full(len(given), np.nan)
    texts = given[~missing].tolist()
    try:
        numbers[~missing] = [_number(text) for text in texts]
    except (TypeError, ValueError):
        pass
    else:
        different = set(texts)
        if len({_number(text) for text in different}) == len(different):
            return numbers
    given[missing] = None
    return given


def _number(text: str) -> float:
    if "_" in text:  # Python's own way of grouping digits, which no table means
        raise ValueError
    return float(text)
