"""What a model would have said of the largest measured level without it: the check that every fit prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.engine import weigh

if TYPE_CHECKING:
    from perf_scaling.path_laws import PathLaws

Floats = npt.NDArray[np.float64]


_LEAST_LEVELS = 3  # that are left
_MOST_PATHS = 200  # of which the median and the share are known well enough
_SIDES = (0.025, 0.975)


class LastLevelCheck(NamedTuple):
    """Predictions of the largest measured level by the others."""

    paths: int  # how many paths were looked at
    median_error: float  # relative, of the median; the median of all means at that level
    inside: float  # share of the means that the 95 % bounds of a run hold

    @property
    def text(self) -> str:
        """One line."""
        error = f"{100.0 * self.median_error:.2g} % off"
        if self.paths == 1:
            return f"the last level, left out: {error}, {'inside' if self.inside == 1.0 else 'outside'} the bounds"
        return f"the last level, left out: median {error}, {self.inside:.0%} inside the bounds ({self.paths:,} paths)"


def check_last_level(model: PathLaws) -> LastLevelCheck | None:
    """Fit each path without its largest level of the first parameter, and compare; the paths with the largest means.

    None where no path has four levels of that parameter.
    """
    measured = np.isfinite(model.means)
    levels = np.where(measured, model.measured[:, 0], np.nan)
    last = levels == np.nanmax(levels, axis=1)[:, None]
    usable = [_leaves_enough(model.measured[measured[k] & ~last[k]]) for k in range(len(measured))]
    paths = np.flatnonzero(usable)
    if not len(paths):
        return None
    paths = paths[np.argsort(-np.nanmean(model.means[paths], axis=1), kind="stable")][:_MOST_PATHS]
    options = model.origin.options
    posterior = model.posterior.of_paths(paths)
    refit = weigh(
        model.measured, np.where(last[paths], np.nan, posterior.means), np.where(last[paths], 0.0, posterior.counts),
        posterior.spread, options.get("exponents"), options.get("logarithms"),
        reciprocal=posterior.reciprocal,
    )  # fmt: skip
    last_points = np.flatnonzero(last[paths].any(axis=0))
    held_out, means = last[np.ix_(paths, last_points)], posterior.means[:, last_points]
    middle = refit.quantiles(model.measured[last_points], (0.5,))[:, :, 0]
    low, high = np.moveaxis(refit.quantiles(model.measured[last_points], _SIDES, run=True), 2, 0)
    errors = np.abs(middle[held_out] / means[held_out] - 1.0)
    inside = (low[held_out] <= means[held_out]) & (means[held_out] <= high[held_out])
    return LastLevelCheck(len(paths), float(np.median(errors)), float(inside.mean()))


def _leaves_enough(points: Floats) -> bool:
    """Three levels of the first parameter, two of the others."""
    counts = [len(np.unique(column)) for column in points.T]
    return counts[0] >= _LEAST_LEVELS and min(counts) > 1
