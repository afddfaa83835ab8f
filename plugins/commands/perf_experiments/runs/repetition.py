"""How well the median of repeated runs is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["FEWEST_RUNS", "median_interval", "narrow_enough"]

_COVERAGE = 0.95
FEWEST_RUNS = 6  # from five runs no interval covers the median with 95 %: 1 - 2/2^5 = 93.75 %


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Bounds of the median with at least 95 % confidence, or None from fewer than six runs.

    They are the k-th smallest and the k-th largest value, for the largest k that suffices. Nothing is assumed about
    the distribution but that runs are independent; run times are skewed, so that an interval around the mean with a
    normal's quantiles would mislead.

    Parameters
    ----------
    values : (n,) float

    Notes
    -----
    Source: T. Hoefler, R. Belli, "Scientific benchmarking of parallel computing systems", SC 2015, section 3.1.3;
    J.-Y. Le Boudec, "Performance evaluation of computer and communication systems", 2010, theorem 2.1. The exact
    binomial probabilities are used and not the normal approximation that the first gives.

    Examples
    --------
    >>> median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    (1.0, 6.0)
    """
    from scipy.stats import quantile_test

    if len(values) < FEWEST_RUNS:
        return None
    interval: Any = quantile_test(values, p=0.5).confidence_interval(_COVERAGE)
    return float(interval.low), float(interval.high)


def narrow_enough(values: Sequence[float], share: float) -> bool:
    """Whether half the width of the median's interval is at most ``share`` of the median.

    Stopping as soon as this holds makes the interval cover a little less often than 95 %: it is looked at again and
    again, and luck is taken.

    Examples
    --------
    >>> narrow_enough([1.0, 1.0, 1.01, 0.99, 1.0, 1.0], 0.02), narrow_enough([1.0, 1.0], 0.02)
    (True, False)
    """
    bounds = median_interval(values)
    if bounds is None:
        return False
    return (bounds[1] - bounds[0]) / 2.0 <= share * abs(float(np.median(values)))
