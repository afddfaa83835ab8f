"""Whether phases say more than a level that wanders would, as a random walk or 1/f noise does.

Such noise has no scale: whatever the length of its stretches, the level of one differs from that of the next, so phases
gain far more than noise that is forgotten after a while. So two models are compared that have such noise, which is
autoregressive with an error of its own in each cell (a state-space model; J. Durbin, S. J. Koopman, Time Series
Analysis by State Space Methods, 2012, chapters 2 and 7): one curve, and the phases. Each has its likeliest correlation
and error; what phases must gain is G. Schwarz' criterion (Annals of Statistics 6, 1978). Deviations: means are by least
squares; the price has a factor; cells on both sides of a break do not count, as the break may lie within them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perf_worley.choice.bounded_search import BoundedModels
from perf_worley.choice.long_run_variance import residuals
from perfcore.base.kernels import announce_compilation, kernel

__all__ = ["likeliest", "wanders"]

Floats = npt.NDArray[np.float64]

_CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])  # of neighbouring cells
_STEPS = np.geomspace(1e-4, 100.0, 14)  # variance of what is new in the level, over that of the error of a cell
_STILL, _OFTEN = 1e-9, 0.25  # a change that is rounding, beside all changes; share of the cells
# In halves of ln(cells) for each parameter, of each further phase and once more, as the best of many places for a break
# is taken. Set on 25 runs each of random walks, 1/f^1.5, AR(0.95) with errors, and benchmarks/phases_simulated.py.
_PRICE, _ONCE = 0.9, 1.0


def wanders(values: Floats, models: Mapping[int, BoundedModels], degree: int, n_phases: int) -> int | None:
    """The degree of the one curve about which a wandering level says as much as several phases; None where these do.

    Nothing wanders that often stands still from one cell to the next: such a curve is made of few steps.

    Parameters
    ----------
    values : (n,) float
        Of cells.
    models : mapping of int to BoundedModels
        By degree.
    degree, n_phases : int
        Of the model in question; two phases or more.
    """
    n = len(values)
    if np.mean(np.abs(np.diff(values)) <= _STILL * np.ptp(values)) > _OFTEN:
        return None
    announce_compilation(likeliest)
    counts = np.ones(n, dtype=np.bool_)
    breaks = models[degree].breaks[n_phases - 1]
    counts[breaks[1:-1] - 1] = counts[breaks[1:-1]] = False
    errors = np.empty(n)
    residuals(values, breaks, np.full(n_phases, degree), errors)
    parameters = 0.5 * math.log(n)
    price = parameters * (degree + 2) * (_PRICE * (n_phases - 1) + _ONCE)
    several_likelihood = likeliest(errors, counts, _CORRELATIONS, _STEPS) - price
    single = {}
    for one in models:
        residuals(values, models[one].breaks[0], np.full(1, one), errors)
        single[one] = likeliest(errors, counts, _CORRELATIONS, _STEPS) - parameters * (one + 1)
    best = max(single, key=single.__getitem__)
    return None if several_likelihood > single[best] else best


@kernel
def likeliest(errors, counts, correlations, steps):  # type: ignore[no-untyped-def]
    """Largest log-likelihood of residuals (n,), those that ``counts`` marks, over what their level may do."""
    best = _likelihood(errors, counts, 0.0, 0.0)
    for correlation in correlations:
        for step in steps:
            best = max(best, _likelihood(errors, counts, correlation, step))
    return best


@kernel
def _likelihood(errors, counts, correlation, step):  # type: ignore[no-untyped-def]
    """By Kalman's filter, with the likeliest variance of the error."""
    level, variance = 0.0, step / (1.0 - correlation * correlation)
    squares = logarithms = 0.0
    n = 0
    for i in range(errors.shape[0]):
        gain = 0.0
        missed = errors[i] - level
        if counts[i]:
            expected = variance + 1.0
            squares += missed * missed / expected
            logarithms += np.log(expected)
            gain = variance / expected
            n += 1
        level = correlation * (level + gain * missed)
        variance = correlation * correlation * variance * (1.0 - gain) + step
    return -0.5 * (n * np.log(max(squares / max(n, 1), 1e-300)) + logarithms)
