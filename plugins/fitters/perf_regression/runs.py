"""The runs that a regression is fitted to: which rows count, and their groups, weights and clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np

from perf_regression.options import MeasuredOptions, RegressionOptions
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.columns import existing_column
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of, numbers_of, values_of, without_duplicates


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs that have coefficients of their own: names by column of ``--by``, points by variable."""

    names: tuple[str, ...]
    points: dict[str, tuple[float, ...]]
    value: tuple[float, ...]
    weights: tuple[float, ...] | None = None
    clusters: tuple[int, ...] | None = None
    estimates: tuple[float, ...] = ()


def measured(data: Measurements, options: MeasuredOptions, used: Collection[str] = ()) -> Measurements:
    """The rows that count, with the roles that the options give; the value may be the one column that is left."""
    runs = data.with_roles(parameters=options.parameter, value=options.value, unit=options.unit)
    runs = runs.where(options.where) if options.where else runs
    if runs.roles.value is None:
        numbers = [str(name) for name in runs.table.select_dtypes("number").columns]
        left = [name for name in numbers if name not in {*used, *runs.roles.parameters.values()}]
        if len(left) != 1:
            raise OptionError(f"{runs.source}: which column was measured? Give --value COLUMN, of {listing(numbers)}")
        runs = runs.with_roles(value=left[0])
    return runs


def groups_of(runs: Measurements, options: RegressionOptions) -> Iterator[Group]:
    """The runs of each group, with their weights and clusters; rows without a value are left out."""
    import pandas as pd

    runs.require_roles()
    columns = list(runs.table.columns)
    is_positive = options.family == "gamma" or options.weights == "relative"
    y = values_of(runs, notes := list[str](), zeros=not is_positive, signed=not is_positive, minus_one=is_positive)
    kept = ~np.isnan(y)
    kept &= without_duplicates(runs, kept, notes=notes)
    for note in notes:
        progress.note(f"{runs.source}: {note}")
    table = pd.DataFrame({s: numbers_of(runs, c, kept, signed=True) for s, c in runs.roles.parameters.items()})
    names = {f"by {c}": names_of(runs, existing_column(c, columns)) for c in options.by} or {"": np.zeros(len(table))}
    table = table.assign(**names, **{"value =": y})
    if options.weights == "relative":
        table["weights ="] = y**-2
    elif options.weights == "1/variance":
        spread = table[kept].groupby([*names, *runs.roles.parameters])["value ="].transform("var")
        if not (spread > 0.0).all():
            raise DataError(f"{runs.source}: --weights 1/variance needs runs of different values at every point")
        table["weights ="] = 1.0 / spread
    elif options.weights != "equal":
        table["weights ="] = numbers_of(runs, existing_column(options.weights, columns), kept)
    if options.errors.startswith("cluster:"):
        column = existing_column(options.errors.partition(":")[2], columns)
        table["clusters ="] = pd.factorize(names_of(runs, column))[0]
    for group, rows in table[kept].groupby(list(names)):
        further: list[Any] = [tuple(rows[n].tolist()) if n in rows else None for n in ("weights =", "clusters =")]
        points = {symbol: tuple(rows[symbol].tolist()) for symbol in runs.roles.parameters}
        yield Group(tuple(map(str, group)) if options.by else (), points, tuple(rows["value ="].tolist()), *further)


def names_of(runs: Measurements, column: str) -> Any:
    """Texts of a column, one for each row."""
    everything = np.ones(len(runs.table), dtype=np.bool_)
    names, index = labels_of(runs.with_roles(code=(column,), system=(), category=()), "code", everything)
    return np.array(names)[index]
