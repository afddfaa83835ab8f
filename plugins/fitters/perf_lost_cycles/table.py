"""From what a fitter of categories is given to a table by category, and the weights of its points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from perf_lost_cycles.options import CategoryOptions
from perf_tables.category_table import CategoryTable, by_category, with_call_paths
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.columns import guess_roles
from perfcore.data.measurements import Measurements


def category_table(data: Any, options: CategoryOptions, fitter: str, absent: str) -> tuple[CategoryTable, str]:
    """Return the data by category without those that are 0 throughout, and the first column that names one."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        data = Measurements(data, source="table")
    if not isinstance(data, Measurements):
        raise DataError(f"{fitter} fits measurements, or a pandas table of them, not {type(data).__name__}")
    parameters = _parameters(data, options.parameter)
    data = data.with_roles(parameters, options.value, category=options.category, unit=options.unit)
    if options.where:
        data = data.where(options.where)
    data = with_call_paths(data)
    table = by_category(
        data, total=options.total, aggregate=options.aggregate, duplicates=options.duplicates, absent=absent
    )
    positive = np.asarray((table.values > 0.0).any(axis=0))
    if not positive.all() and positive.any():
        names = [name for name, is_positive in zip(table.categories, positive.tolist(), strict=True) if not is_positive]
        note = f"0 at every point and left out: {listing(names, 6)}"
        table = replace(table.only(positive), notes=(*table.notes, note))
    return table, data.roles.category[0]


def _parameters(data: Measurements, option: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return parameters as the user names them; those that count no processors keep their names in formulas."""
    words = data.given_roles.get("parameters") if option is None else option
    if words is None or isinstance(words, Mapping):
        return option
    parameters = []
    for word in words.split(",") if isinstance(words, str) else words:
        name = word.strip()
        column = next((c for c in data.table.columns if c.strip().lower() == name.lower()), name)
        counts_processors = bool(guess_roles([column], {column}).parameters)
        keeps_name = "=" not in name and not counts_processors
        parameters.append(f"{re.sub(r'[^A-Za-z0-9_]', '_', column)}={name}" if keeps_name else name)
    return tuple(parameters)


def root_weights(table: CategoryTable, weights: str) -> Floats:
    """Return the square roots of the points' weights (n,), which all categories share."""
    if weights == "relative":
        if not table.total.all():
            where = table.describe(int(np.argmin(table.total)))
            raise DataError(f"{table.source}: all categories are 0 at {where}; leave the point out, or --weights equal")
        return np.asarray(1.0 / table.total)
    if weights == "repetitions":
        if (table.repetitions < 2).all():
            raise OptionError(f"--weights repetitions needs repeated runs, and no point of {table.source} has several")
        return np.asarray(np.sqrt(table.repetitions / table.repetitions.mean()))
    return np.ones(len(table))
