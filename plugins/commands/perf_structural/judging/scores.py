"""Figures of many predictions at once: the score of central intervals, and ranks of bins.

Source: T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the
American Statistical Association 102 (2007). All scores here are losses, in the unit of the quantity: less is better.
What a single prediction scores, `perfcore.stochastic.StochasticValue.crps`, it knows itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def interval_score(lower: npt.ArrayLike, upper: npt.ArrayLike, coverage: float, actual: npt.ArrayLike) -> Floats:
    """Score of central prediction intervals (the source's equation 43): width, and a fine for what lies outside."""
    low, high, x = (np.asarray(argument, dtype=np.float64) for argument in (lower, upper, actual))
    fine = 2.0 / (1.0 - coverage)
    return (high - low) + fine * np.maximum(low - x, 0.0) + fine * np.maximum(x - high, 0.0)


def quantile_loss(quantile: npt.ArrayLike, level: float, actual: npt.ArrayLike) -> Floats:
    """Loss of a predicted quantile (the source's equation 42): the distance, by the share on the side where it is."""
    distance = np.asarray(actual, dtype=np.float64) - np.asarray(quantile, dtype=np.float64)
    return np.maximum(level * distance, (level - 1.0) * distance)


def shares_by_rank(masses: npt.ArrayLike, bin_of_actual: int | None) -> Floats:
    """Which of the bins, ordered from the most to the least probable, the actual value fell into."""
    probability = np.asarray(masses, dtype=np.float64)
    shares = np.zeros(len(probability) + 1)
    if bin_of_actual is None:
        shares[-1] = 1.0
        return shares
    ranked = np.sort(probability)[::-1]
    ties = np.isclose(ranked, probability[bin_of_actual], rtol=1e-12, atol=0.0)
    shares[:-1][ties] = 1.0 / ties.sum()
    return shares
