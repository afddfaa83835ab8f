"""From single runs to means and noise: what repetitions say, and what paths say about each other.

Noise is relative to the mean. The variance of a path is shrunk towards that of all paths (G. K. Smyth, "Linear models
and empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3, 2004): few runs of one
function say little, those of thousands say what noise is usual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Runs", "common_variance", "noise_of", "runs_of", "smooth_means"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Before any data: noise of 1 %, known as well as one observation would tell.
_BEFOREHAND = (1e-4, 1.0)

# A run further from the median of its point than this many robust standard deviations counts less.
_OUTLYING = 5.0

# The spread of the runs at one point is shrunk to that of the path as if the path's were of this many runs.
_LIKE_RUNS = 10.0

_MOST_FREEDOM = 1e3


@dataclass(frozen=True)
class Runs:
    """Repeated runs, joined.

    Attributes
    ----------
    means : (K, n) float
        Mean of the runs of path k at point i; NaN where there are none.
    counts : (K, n) float
        How many runs, of which outliers count less than one.
    variances : (K, n) float
        Variance of the runs relative to their squared mean; 0 for one run.
    outliers : (K,) int
        Runs that count less.
    """

    means: Floats
    counts: Floats
    variances: Floats
    outliers: Ints


def runs_of(path: Ints, point: Ints, value: Floats, shape: tuple[int, int]) -> Runs:
    """Join the runs of each path at each point.

    Parameters
    ----------
    path, point : (N,) int
    value : (N,) float
        Finite.
    shape : (K, n)
    """
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
        squares = np.bincount(cell, weight * np.where(np.isfinite(relative), relative, 0.0), minlength=n_paths * n)
        variances = np.divide(squares, freedom, out=np.zeros(len(size)), where=freedom > 0.0)
    return Runs(
        means=means.reshape(shape),
        counts=counts.reshape(shape),
        variances=variances.reshape(shape),
        outliers=np.bincount(path[weight < 1.0], minlength=n_paths),
    )


def _without_outliers(cell: Ints, path: Ints, value: Floats, size: Ints, n_paths: int) -> Floats:
    """Weight of each run: 1, or less where it is far from the median of its point."""
    order = np.lexsort((value, cell))
    first = np.cumsum(size) - size
    sorted_values = value[order]
    low = np.minimum(first + (size - 1) // 2, len(value) - 1)
    high = np.minimum(first + size // 2, len(value) - 1)
    median = 0.5 * (sorted_values[low] + sorted_values[high])
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(value / median[cell] - 1.0)
    distance[~np.isfinite(distance)] = 0.0
    several = size[cell] > 2
    typical = _medians(path[several], distance[several], n_paths)
    # Of the deviations of r runs from their median about one is 0, which makes their median too small by 1 - 1/r.
    cells = np.bincount(path[several], 1.0 / size[cell][several], minlength=n_paths)
    runs_each = np.bincount(path[several], minlength=n_paths) / np.maximum(cells, 1.0)
    scale = 1.4826 * typical / (1.0 - 1.0 / np.maximum(runs_each, 2.0))
    limit = _OUTLYING * scale[path]
    far = several & (distance > limit) & (limit > 0.0)
    return np.where(far, limit / np.where(far, distance, 1.0), 1.0)


def _medians(group: Ints, value: Floats, n_groups: int) -> Floats:
    """Median of each group; 0 of an empty one."""
    size = np.bincount(group, minlength=n_groups)
    ordered = value[np.lexsort((value, group))]
    first = np.cumsum(size) - size
    found = np.zeros(n_groups)
    some = size > 0
    low, high = first[some] + (size[some] - 1) // 2, first[some] + size[some] // 2
    found[some] = 0.5 * (ordered[low] + ordered[high])
    return found


def noise_of(runs: Runs) -> tuple[Floats, Floats, Floats]:
    """Noise of each path.

    Returns
    -------
    within, freedom : (K,) float
        Relative squares about the means and their degrees of freedom, with what the other paths say.
    roots : (K, n) float
        One over the standard deviation of each mean, in units of the noise of one run of this path, relative to the
        mean; 0 where there are no runs.
    """
    freedoms = np.maximum(runs.counts - 1.0, 0.0)
    freedom = freedoms.sum(axis=1)
    squares = (runs.variances * freedoms).sum(axis=1)
    variance = np.divide(squares, freedom, out=np.zeros(len(freedom)), where=freedom > 0.0)
    shared, known = common_variance(variance, freedom)
    within, freedom = squares + shared * known, freedom + known
    usual = variance[:, None]  # of this path alone, so that on average a mean weighs as many runs as it has
    of_point = (runs.variances * freedoms + _LIKE_RUNS * usual) / (freedoms + _LIKE_RUNS)
    ratio = np.divide(usual, of_point, out=np.ones(of_point.shape), where=of_point > 0.0)
    return within, freedom, np.sqrt(runs.counts * ratio)


def smooth_means(means: Floats, noise: Floats, points: Floats) -> Floats:
    """Means that weights can be taken of: between what was measured and a power law through all of a path's points.

    Weights are one over squared means. Of the measured means those that are too low by chance would count most, of a
    power law alone those far from it too little; so the logarithms are averaged, each by how uncertain the other is.

    Parameters
    ----------
    means : (K, n) float
        NaN where a path was not measured.
    noise : (K,) float
        Variance of a mean, relative; NaN where it is not known, which counts as half of the misses of the power law.
    points : (n, q) float
    """
    logs, found = np.log(means), means.copy()
    levels = np.log(points)
    patterns, pattern = np.unique(np.isfinite(means), axis=0, return_inverse=True)
    for number, measured in enumerate(patterns):
        paths = np.flatnonzero(pattern.ravel() == number)
        here = np.ix_(paths, np.flatnonzero(measured))
        design = np.column_stack([np.ones(int(measured.sum())), levels[measured]])
        fitted = logs[here] @ np.linalg.pinv(design).T @ design.T
        left = max(len(design) - design.shape[1], 1)
        misses = ((logs[here] - fitted) ** 2).sum(axis=1) / left
        chance = np.where(np.isnan(noise[paths]), 0.5 * misses, noise[paths])
        curved = np.maximum(misses - chance, 0.0)  # what of the misses is not noise: the law is no power law
        share = chance / np.maximum(chance + curved, 1e-300)
        found[here] = np.exp(logs[here] + share[:, None] * (fitted - logs[here]))
    return found


def common_variance(variance: Floats, freedom: Floats) -> tuple[float, float]:
    """The variance that is usual among paths, and how many degrees of freedom that is worth.

    Parameters
    ----------
    variance, freedom : (K,) float
        Of each path; those without freedom say nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> freedom = np.full(4000, 8.0)
    >>> drawn = 10 * 0.04 / rng.chisquare(10, 4000)  # 10 degrees of freedom of a variance of 0.04
    >>> shared, known = common_variance(drawn * rng.chisquare(8, 4000) / 8, freedom)
    >>> round(shared, 2), round(known)
    (0.04, 10)
    """
    from scipy.special import digamma, polygamma

    floor = 1e-12
    some = (freedom >= 1.0) & (variance > floor)
    if some.sum() < 10:  # too few to say how paths differ
        return _BEFOREHAND
    half = 0.5 * freedom[some]
    logs = np.log(variance[some]) - digamma(half) + np.log(half)
    spread = float(np.var(logs, ddof=1) - polygamma(1, half).mean())
    known = _MOST_FREEDOM if spread <= 0.0 else min(2.0 * _trigamma_inverse(spread), _MOST_FREEDOM)
    shared = float(np.exp(logs.mean() + digamma(0.5 * known) - np.log(0.5 * known)))
    return shared, known


def _trigamma_inverse(value: float) -> float:
    """Where the trigamma function has a value > 0, by Newton's method on its reciprocal, which is nearly linear."""
    from scipy.special import polygamma

    x = 0.5 + 1.0 / value
    for _ in range(50):
        now = float(polygamma(1, x))
        step = now * (1.0 - now / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-8 * x:
            break
    return x
