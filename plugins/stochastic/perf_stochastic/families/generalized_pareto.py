"""The generalized Pareto distribution: what lies beyond a high threshold of nearly any quantity.

Source: J. Zhang and M. A. Stephens, "A new and efficient estimation method for the generalized Pareto distribution",
Technometrics 51, 2009: an average over the profile likelihood, which always exists and is as precise as the maximum.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import softmax


Floats = npt.NDArray[np.float64]

_LEAST_SHAPE = 1e-9  # below, it is exponential to the precision of floats
_PRIOR_QUANTILE, _PRIOR_SCALE = 0.25, 3.0  # section 3 of the paper
_FEWEST_PLACES = 30  # section 3 too, with the square root of the number of samples beside


def fitted_excess(excesses: Floats) -> tuple[float, float]:
    """Scale and shape of what samples exceed a threshold by."""
    ordered = np.sort(excesses)
    count = _FEWEST_PLACES + int(math.sqrt(len(ordered)))
    quartile = float(ordered[int(_PRIOR_QUANTILE * len(ordered) + 0.5) - 1])
    rates = 1.0 / ordered[-1] + (1.0 - np.sqrt(count / (np.arange(count) + 0.5))) / (_PRIOR_SCALE * quartile)
    rates = rates[rates != 0.0]
    shapes = np.log1p(-rates[:, None] * ordered).mean(axis=1)
    likelihoods = len(ordered) * (np.log(-rates / shapes) - shapes - 1.0)
    rate = float(softmax(likelihoods) @ rates)
    shape = float(np.log1p(-rate * ordered).mean())
    return -shape / rate, shape


def excess_of(share: Floats, scale: float, shape: float) -> Floats:
    """By what the threshold is exceeded with a probability (...), among what exceeds it; at 0 where the tail ends."""
    with np.errstate(divide="ignore", over="ignore"):
        if abs(shape) < _LEAST_SHAPE:
            return np.asarray(-scale * np.log(share))
        return np.asarray(scale * np.expm1(-shape * np.log(share)) / shape)


def beyond(excess: Floats, scale: float, shape: float) -> Floats:
    """Probability of a larger excess (...), among what exceeds the threshold."""
    with np.errstate(over="ignore"):
        scaled = np.maximum(excess, 0.0) / scale
    if abs(shape) < _LEAST_SHAPE:
        return np.asarray(np.exp(-scaled))
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(-np.log(np.maximum(1.0 + shape * scaled, 0.0)) / shape))
