"""What one more measurement is expected to leave open at the target."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_scaling.path_laws import PathLaws
from perf_scaling.posterior.prior import changes

Floats = npt.NDArray[np.float64]

# Measurements at a candidate are sorted into so many bins of equal probability; within one, the target is what a
# measurement of that size leaves open. Of 512 draws, 32 are in a bin.
_BINS = 16


def expected_spread(model: PathLaws, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Floats:
    """Variance of the logarithm of the value at the target: now, and as expected after one measurement at each
    point.
    """
    places = np.vstack([model.target_point, np.asarray(points, dtype=np.float64)])
    draws = model.draws(places, paths)
    every = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    counts = model.posterior.counts[every]
    runs = np.nanmedian(np.where(counts > 0.0, counts, np.nan), axis=1)
    logs = np.log(draws.unchanged())
    lowest, highest = model.posterior.of_paths(every).measured_range
    # Repeating a run does not help against the scatter of its level.
    simulated = logs[:, :, 1:] + (draws.scatter + draws.noise / np.sqrt(runs)[:, None])[:, :, None]
    variances = np.empty((len(logs), len(places)))
    variances[:, 0] = logs[:, :, 0].var(axis=1) + _by_changes(lowest, highest, places[:1])
    for place in range(len(places) - 1):
        order = np.argsort(simulated[:, :, place], axis=1)
        binned = np.take_along_axis(logs[:, :, 0], order, axis=1).reshape(len(logs), _BINS, -1)
        variances[:, place + 1] = binned.var(axis=2).mean(axis=1)
        point = places[place + 1]  # up to where it is then known that no slope has changed
        variances[:, place + 1] += _by_changes(np.minimum(lowest, point), np.maximum(highest, point), places[:1])
    return variances


def _by_changes(lowest: Floats, highest: Floats, target: Floats) -> Floats:
    """Variance (K,) of the logarithm at the target (1, q) by changes of the slope beyond what was measured."""
    rate, deviation = changes(lowest, highest, target)
    return np.asarray(rate * deviation**2)[:, 0]


def measurable(model: PathLaws, largest: float) -> Floats:
    """Points that may be measured next (C, q): the largest level of each parameter, and steps of 2 up to the target."""
    top = model.measured.max(axis=0)
    steps = [1.0]
    while 2.0 * steps[-1] <= largest:
        steps.append(2.0 * steps[-1])
    if steps[-1] < largest:
        steps.append(largest)
    points = np.array([top * factors for factors in itertools.product(steps, repeat=len(top))])
    # The target itself is what is to be told from points that cost less.
    limit = np.where(model.target_point > top, model.target_point, np.inf)
    is_before = (points <= limit).all(axis=1) & ~(points == model.target_point).all(axis=1)
    return points[is_before] if is_before.any() else points
