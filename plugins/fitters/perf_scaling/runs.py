"""From single runs, and several measured columns, to means of paths and how far runs lie apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_tables.meanings import spread_columns
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError
from perfcore.data.columns import named_columns
from perfcore.data.measurements import Measurements
from perfcore.data.units import unit_of

if TYPE_CHECKING:
    import pandas as pd


# A run further from the median of its point than this many robust standard deviations counts less; of few runs these
# are known so badly that the limit is wider. Of paths with normal noise then less than 1 % have such a run.
_OUTLYING, _FEW = 5.0, 3.0
_LONG = 10_000  # runs that are sorted alone
_NORMAL = 1.4826  # a standard deviation in medians of the distance
SPREAD_NAMES = {"deviation": "sd", "error": "sem", "confidence": "ci95"}
OF_VALUE = "value of"  # the column that says which of the measured ones a row is from


@dataclass(frozen=True)
class Runs:
    """Repeated runs, joined."""

    means: Floats  # mean of the runs of path k at point i; NaN where there are none
    counts: Floats  # how many runs, of which outliers count less than one
    variances: Floats  # variance of the runs relative to their squared mean; 0 for one run
    outliers: Ints  # runs that count less

    def of_paths(self, paths: slice) -> Runs:
        return Runs(self.means[paths], self.counts[paths], self.variances[paths], self.outliers[paths])


def runs_of(path: Ints, point: Ints, value: Floats, shape: tuple[int, int]) -> Runs:
    """Join the runs of each path at each point."""
    n_paths, n = shape
    cell = path * n + point if n_paths > 1 else point
    size = np.bincount(cell, minlength=n_paths * n)
    is_one = not (size > 2).any()
    weight = np.ones(len(value)) if is_one else _without_outliers(cell, path, value, size, n_paths)
    counts = np.bincount(cell, weight, minlength=n_paths * n).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cell, weight * value, minlength=n_paths * n) / counts
        relative = means[cell]  # in place: of 10^7 runs each array is 80 MB
        np.divide(value, relative, out=relative)
        relative -= 1.0
        freedom = np.maximum(counts - 1.0, 0.0)
        relative[~np.isfinite(relative)] = 0.0
        # As far as the limit and no further, as in the mean: one run that is 20 times as long is not the usual noise.
        relative *= weight
        relative *= relative
        squares = np.bincount(cell, relative, minlength=n_paths * n)
        variances = np.divide(squares, freedom, out=np.zeros(len(size)), where=freedom > 0.0)
    return Runs(
        means=means.reshape(shape),
        counts=counts.reshape(shape),
        variances=variances.reshape(shape),
        outliers=np.bincount(path[weight < 1.0], minlength=n_paths),
    )


def _without_outliers(cell: Ints, path: Ints, value: Floats, size: Ints, n_paths: int) -> Floats:
    """Weight of each run: 1, or less where it is far from the median of its point."""
    order = _in_order(cell, value, size)
    first = np.cumsum(size) - size
    low = np.minimum(first + (size - 1) // 2, len(value) - 1)
    high = np.minimum(first + size // 2, len(value) - 1)
    median = 0.5 * (value[order[low]] + value[order[high]])
    distance = median[cell]
    with np.errstate(invalid="ignore", divide="ignore"):
        np.divide(value, distance, out=distance)
    distance -= 1.0
    np.abs(distance, out=distance)
    distance[~np.isfinite(distance)] = 0.0
    several = (size > 2)[cell]
    # One run of each point is as near to the median as can be, whatever the noise: the others tell how far is usual.
    telling = several.copy()
    telling[order[low[size > 2]]] = False
    del order
    telling_paths = path[telling]
    typical = _medians(telling_paths, distance[telling], n_paths)
    limit = _OUTLYING * _NORMAL * typical * (1.0 + _FEW / np.maximum(np.bincount(telling_paths, minlength=n_paths), 1))
    del telling_paths
    far = np.flatnonzero(several & (distance > limit[path]) & (limit > 0.0)[path])
    weight = np.ones(len(value))
    weight[far] = limit[path[far]] / distance[far]
    return weight


def _medians(group: Ints, value: Floats, n_groups: int) -> Floats:
    """Median of each group, 0 of an empty one; the values lose their order."""
    if n_groups == 1 and len(value):
        return np.array([np.median(value, overwrite_input=True)])
    size = np.bincount(group, minlength=n_groups)
    ordered = value[_in_order(group, value, size)]
    first = np.cumsum(size) - size
    medians = np.zeros(n_groups)
    nonempty = size > 0
    low, high = first[nonempty] + (size[nonempty] - 1) // 2, first[nonempty] + size[nonempty] // 2
    medians[nonempty] = 0.5 * (ordered[low] + ordered[high])
    return medians


def _in_order(group: Ints, value: Floats, size: Ints) -> Ints:
    """Numbers of values, group by group, the smallest of each first; groups of one size are sorted at once."""
    order = np.argsort(group.astype(np.min_scalar_type(len(size))), kind="stable")  # the smallest type sorts fastest
    first = np.cumsum(size) - size
    for start, count in zip(first[size > _LONG].tolist(), size[size > _LONG].tolist(), strict=True):
        rows = order[start : start + count]
        order[start : start + count] = rows[np.argsort(value[rows], kind="stable")]
    for count in np.unique(size[(size > 1) & (size <= _LONG)]).tolist():
        places = first[size == count][:, None] + np.arange(count)
        rows = order[places]
        order[places] = np.take_along_axis(rows, np.argsort(value[rows], axis=1, kind="stable"), axis=1)
    return order


def with_values(data: Measurements, columns: Sequence[str] | str | None, path: Sequence[str] | None) -> Measurements:
    """Measurements of one column, or of several, each of which is then a path."""
    others: dict[str, Any] = {} if path is None else {"code": tuple(path), "system": (), "category": ()}
    names = [columns] if isinstance(columns, str) else list(columns or data.roles.alternatives)
    role = "code" if columns else "system"  # alternatives are never added up
    exact = [column for column in data.table.columns if re.split(r"\s*,\s*", column) == names]
    if len(names) > 1 and "run" in data.table.columns and set(names) == set(data.table["run"].unique()):
        names = []  # columns of repetitions, which the reader made rows
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
    roles |= {"value": value, role: (*(roles.get(role, getattr(data.roles, role))), OF_VALUE)}
    roles |= {
        role: getattr(data.roles, role) for role in ("parameters", "code", "system", "category") if role not in roles
    }
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
        rows[SPREAD_NAMES[value_spread.kind]] = data.table[value_spread.spread]
    return rows
