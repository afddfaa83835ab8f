"""What one more measurement is expected to leave open at the target."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_laws.path_laws import PathLaws

__all__ = ["expected_spread", "measurable"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Measurements at a candidate are sorted into so many bins of equal probability; within one, the target is what a
# measurement of that size leaves open. Of 512 draws, 32 are in a bin.
_BINS = 16


def expected_spread(model: PathLaws, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Floats:
    """Variance of the logarithm of the value at the target: now, and as expected after one measurement at each point.

    Parameters
    ----------
    model : PathLaws
    points : (C, q) array_like
    paths : sequence of int, optional
        Numbers of the paths to look at; all by default.

    Returns
    -------
    (K, 1 + C) float
    """
    places = np.vstack([model.target_point, np.asarray(points, dtype=np.float64)])
    draws = model.draws(places, paths)
    every = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    measured, _, laws = model.arrays
    counts = measured.counts[every]
    # Repeating a run does not help against what differs between points.
    runs = np.where(laws.scattered[every], 1.0, np.nanmedian(np.where(counts > 0.0, counts, np.nan), axis=1))
    logs = np.log(np.maximum(draws.values, 1e-300))
    met = logs[:, :, 1:] + (draws.noise / np.sqrt(runs)[:, None])[:, :, None]
    found = np.empty((len(logs), len(places)))
    found[:, 0] = _variance_within(np.zeros_like(logs[:, :, 0], dtype=np.int64), logs[:, :, 0], draws.weights)
    for place in range(len(places) - 1):
        order = np.argsort(met[:, :, place], axis=1)
        mass = np.cumsum(np.take_along_axis(draws.weights, order, axis=1), axis=1)
        bins = np.empty_like(order)
        np.put_along_axis(bins, order, np.minimum((mass * _BINS).astype(np.int64), _BINS - 1), axis=1)
        found[:, place + 1] = _variance_within(bins, logs[:, :, 0], draws.weights)
    return found


def _variance_within(group: Ints, values: Floats, weights: Floats) -> Floats:
    """Weighted variance about the mean of each group (K,), of groups of the columns of each row."""
    n_rows = len(values)
    cell = (group + np.arange(n_rows)[:, None] * _BINS).ravel()
    centred = values - (weights * values).sum(axis=1, keepdims=True)
    mass, sums, squares = (
        np.bincount(cell, (weights * centred**power).ravel(), minlength=n_rows * _BINS) for power in (0, 1, 2)
    )
    within = squares - np.divide(sums**2, mass, out=np.zeros_like(mass), where=mass > 0.0)
    return np.asarray(np.maximum(within, 0.0).reshape(n_rows, _BINS).sum(axis=1))


def measurable(model: PathLaws, largest: float) -> Floats:
    """Points that may be measured next (C, q): the largest level of each parameter, and steps of 2 beyond it."""
    top = model.measured.max(axis=0)
    steps = [1.0]
    while 2.0 * steps[-1] <= largest:
        steps.append(2.0 * steps[-1])
    if steps[-1] < largest:
        steps.append(largest)
    return np.array([top * factors for factors in itertools.product(steps, repeat=len(top))])
