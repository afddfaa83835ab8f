"""From means of paths at points to what they leave open: the one way in for one parameter and for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perf_scaling.posterior.posterior import Posterior
from perf_scaling.posterior.prior import run_variance
from perf_scaling.runs import Runs

Floats = npt.NDArray[np.float64]

_MANY = 30  # levels from which on more than one may deviate
_ROUNDS = 2
_FREEDOM = 4.0


def fit_paths(
    points: Floats,
    runs: Runs,
    exponents: Sequence[str] | None = None,
    logarithms: Sequence[int] | None = None,
    reciprocal: bool = False,
) -> Posterior:
    """What the runs of K paths at points (n, q) leave open."""
    counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
    spread = run_variance(runs.variances, counts)
    return weigh(points, runs.means, counts, spread, exponents, logarithms, reciprocal)


def weigh(
    points: Floats,
    means: Floats,
    counts: Floats,
    spread: Floats,
    exponents: Sequence[str] | None,
    logarithms: Sequence[int] | None,
    reciprocal: bool = False,
) -> Posterior:
    """As `fit_paths`, of means (K, n), how many runs each is of (K, n), and the relative variance of a run (K,).

    Of tens of levels several deviate, and not one at most: those that are far from what is predicted count for less, as
    they would if their noise were Student's t of four degrees of freedom.
    """
    if reciprocal:
        of_times = weigh(points, 1.0 / means, counts, spread, exponents, logarithms)
        return replace(of_times, means=means, reciprocal=True)
    posterior = _weighed(points, means, counts, spread, exponents, logarithms)
    many = np.flatnonzero((counts > 0.0).sum(axis=1) >= _MANY)
    for _ in range(_ROUNDS if len(many) else 0):
        fitted = posterior.of_paths(many).quantiles(points, (0.5,))[:, :, 0]
        counts = posterior.counts.copy()
        counts[many] = _counting_less(np.log(means[many] / fitted), counts[many])
        posterior = _weighed(points, means, counts, spread, exponents, logarithms)
    return posterior


def _counting_less(residuals: Floats, counts: Floats) -> Floats:
    """Counts of means by their residuals, those of few deviations as they are."""
    scale = 1.4826 * np.nanmedian(np.abs(residuals), axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = (_FREEDOM + (residuals / scale) ** 2) / (_FREEDOM + 1.0)
    return np.asarray(counts / np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0))


def _weighed(
    points: Floats,
    means: Floats,
    counts: Floats,
    spread: Floats,
    exponents: Sequence[str] | None,
    logarithms: Sequence[int] | None,
) -> Posterior:
    if points.shape[1] == 1:
        from perf_scaling.posterior.one_parameter import weigh_one_parameter

        return weigh_one_parameter(points[:, 0], means, counts, spread, exponents, logarithms)
    from perf_scaling.posterior.several import weigh_several

    return weigh_several(points, means, counts, spread, exponents, logarithms)
