"""Between what a quantile lies that no sample reaches, if the tail goes on as the largest samples show it.

Source: S. Coles, "An Introduction to Statistical Modeling of Extreme Values", 2001, section 4.3.3: the profile
likelihood of a quantile beyond a threshold, whose limits are as unequal as what is known of either side. Ours are the
wider of two thresholds', since one alone takes what it left out for certain; and there are none where the tail does
not fit, by Kolmogorov's and Smirnov's distance, as of samples of few different values or with a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from perf_stochastic.families.generalized_pareto import beyond, fitted_excess


Floats = npt.NDArray[np.float64]

_DROP = 0.5 * 3.841  # of the logarithm of the likelihood, to the limits: chi-squared of one degree, 95 %
FARTHEST_FIT = 0.85  # of `misfit`: a fitted exponential tail is farther away in one case of eight or so
# From a tail that ends as a uniform one does to one that has no mean; 0, the exponential one, lies between two.
_SHAPES: Floats = np.linspace(-0.985, 0.985, 80)
_STEP = 0.3  # of the logarithm of the excess, on the way to a limit
_MOST_STEPS = 60
_PRECISION = 1e-3


def limits_in_tail(excesses: Floats, share: float) -> tuple[float, float]:
    """Limits of the excess over a threshold that a share of all excesses is beyond, with probability 0.95 or so."""
    if misfit(excesses, *fitted_excess(excesses)) > FARTHEST_FIT:
        return math.nan, math.nan
    middle = len(excesses) // 2
    upper = excesses[middle:] - excesses[middle - 1]
    whole = _profile_limits(excesses, share)
    half = _profile_limits(upper[upper > 0.0], share * len(excesses) / np.count_nonzero(upper > 0.0))
    return min(whole[0], excesses[middle - 1] + half[0]), max(whole[1], excesses[middle - 1] + half[1])


def misfit(excesses: Floats, scale: float, shape: float) -> float:
    """Largest distance between the distribution of excesses and a tail, times the root of their number."""
    count = len(excesses)
    levels = 1.0 - beyond(excesses, scale, shape)
    after = np.arange(1, count + 1) / count
    distances = np.maximum(np.abs(after - levels), np.abs(after - 1.0 / count - levels))
    return math.sqrt(count) * float(distances.max())


def _profile_limits(excesses: Floats, share: float) -> tuple[float, float]:
    from scipy.optimize import brentq, minimize_scalar

    likelihood = _profile(excesses, share)
    start = math.log(float(excesses.mean()) * -math.log(share))
    optimum = minimize_scalar(
        lambda place: -likelihood(place), bounds=(start - 4.0, start + 5.0), method="bounded", options={"xatol": 1e-3}
    )
    best = float(optimum.x)

    def missing(place: float) -> float:
        return likelihood(best) - likelihood(place) - _DROP

    limits = []
    for step in (-_STEP, _STEP):
        near, far = best, best + step
        for _ in range(_MOST_STEPS):
            if missing(far) > 0.0:
                break
            near, far = far, far + step
        limits.append(math.exp(brentq(missing, near, far, xtol=_PRECISION)))
    return limits[0], limits[1]


def _profile(excesses: Floats, share: float) -> Callable[[float], float]:
    """By the logarithm of the excess: the logarithm of the largest likelihood of all shapes that have it there."""
    growth = np.expm1(-_SHAPES * math.log(share))  # the excess over the scale, times the shape

    def likelihood(place: float) -> float:
        excess = math.exp(place)
        inner = 1.0 + np.outer(growth / excess, excesses)
        possible = inner[:, -1] > 0.0
        logs = np.log(inner[possible]).sum(axis=1)
        shapes, scales = _SHAPES[possible], excess * (_SHAPES / growth)[possible]
        log_likelihoods = -len(excesses) * np.log(scales) - (1.0 + 1.0 / shapes) * logs
        return float(log_likelihoods.max(initial=-np.inf))

    return likelihood
