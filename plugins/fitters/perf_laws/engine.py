"""From means of paths at points to what they leave open: the one way in for one parameter and for several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_laws.posterior.posterior import Posterior
from perf_laws.posterior.prior import run_variance
from perf_laws.runs import Runs

__all__ = ["fit_paths", "weigh"]

Floats = npt.NDArray[np.float64]


def fit_paths(
    points: Floats, runs: Runs, exponents: Sequence[str] | None = None, logarithms: Sequence[int] | None = None
) -> Posterior:
    """What the runs of K paths at points (n, q) leave open.

    Parameters
    ----------
    points : (n, q) float
        Positive; each once.
    runs : Runs
        Of the paths at these points.
    exponents, logarithms : sequences, optional
        The only ones of laws, where they are named.
    """
    counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
    return weigh(points, runs.means, counts, run_variance(runs.variances, counts), exponents, logarithms)


def weigh(
    points: Floats,
    means: Floats,
    counts: Floats,
    spread: Floats,
    exponents: Sequence[str] | None,
    logarithms: Sequence[int] | None,
) -> Posterior:
    """As `fit_paths`, of means (K, n), how many runs each is of (K, n), and the relative variance of a run (K,)."""
    if points.shape[1] == 1:
        from perf_laws.posterior.one_parameter import weigh_one_parameter

        return weigh_one_parameter(points[:, 0], means, counts, spread, exponents, logarithms)
    from perf_laws.posterior.several import weigh_several

    return weigh_several(points, means, counts, spread, exponents, logarithms)
