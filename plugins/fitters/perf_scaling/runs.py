"""From single runs to means, how many runs they stand for, and how far these lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A run further from the median of its point than this many robust standard deviations counts less; of few runs these
# are known so badly that the limit is wider. Of paths with normal noise then less than 1 % have such a run.
_OUTLYING, _FEW = 5.0, 3.0
_NORMAL = 1.4826  # a standard deviation in medians of the distance


@dataclass(frozen=True)
class Runs:
    """Repeated runs, joined."""

    means: Floats  # mean of the runs of path k at point i; NaN where there are none
    counts: Floats  # how many runs, of which outliers count less than one
    variances: Floats  # variance of the runs relative to their squared mean; 0 for one run
    outliers: Ints  # runs that count less

    def of_paths(self, paths: slice) -> Runs:
        """The same of some paths."""
        return Runs(self.means[paths], self.counts[paths], self.variances[paths], self.outliers[paths])


def runs_of(path: Ints, point: Ints, value: Floats, shape: tuple[int, int]) -> Runs:
    """Join the runs of each path at each point."""
    n_paths, n = shape
    cell = path * n + point
    size = np.bincount(cell, minlength=n_paths * n)
    weight = np.ones(len(value))
    if (size > 2).any():
        weight = _without_outliers(cell, path, value, size, n_paths)
    counts = np.bincount(cell, weight, minlength=n_paths * n).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(cell, weight * value, minlength=n_paths * n) / counts
        relative = (value / means[cell] - 1.0) ** 2
        freedom = np.maximum(counts - 1.0, 0.0)
        relative = np.where(np.isfinite(relative), relative, 0.0)
        # As far as the limit and no further, as in the mean: one run that is 20 times as long is not the usual noise.
        squares = np.bincount(cell, weight**2 * relative, minlength=n_paths * n)
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
    sorted_values = value[order]
    low = np.minimum(first + (size - 1) // 2, len(value) - 1)
    high = np.minimum(first + size // 2, len(value) - 1)
    median = 0.5 * (sorted_values[low] + sorted_values[high])
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(value / median[cell] - 1.0)
    distance[~np.isfinite(distance)] = 0.0
    several = size[cell] > 2
    # One run of each point is as near to the median as can be, whatever the noise: the others tell how far is usual.
    telling = several.copy()
    telling[order[low[size > 2]]] = False
    typical = _medians(path[telling], distance[telling], n_paths)
    limit = _OUTLYING * _NORMAL * typical * (1.0 + _FEW / np.maximum(np.bincount(path[telling], minlength=n_paths), 1))
    limit = limit[path]
    far = several & (distance > limit) & (limit > 0.0)
    return np.where(far, limit / np.where(far, distance, 1.0), 1.0)


def _medians(group: Ints, value: Floats, n_groups: int) -> Floats:
    """Median of each group; 0 of an empty one."""
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
    order = np.argsort(group, kind="stable")
    first = np.cumsum(size) - size
    for count in np.unique(size[size > 1]).tolist():
        places = first[size == count][:, None] + np.arange(count)
        rows = order[places]
        order[places] = np.take_along_axis(rows, np.argsort(value[rows], axis=1, kind="stable"), axis=1)
    return order
