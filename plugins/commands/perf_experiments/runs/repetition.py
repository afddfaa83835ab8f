"""How well the median of repeated runs is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_COVERAGE = 0.95
FEWEST_RUNS = 6  # from five runs no interval covers the median with 95 %: 1 - 2/2^5 = 93.75 %


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Bounds of the median with at least 95 % confidence, or None from fewer than six runs.

    Source: T. Hoefler, R. Belli, "Scientific benchmarking of parallel computing systems", SC 2015, section 3.1.3; J.-Y.
    Le Boudec, "Performance evaluation of computer and communication systems", 2010, theorem 2.1. The exact binomial
    probabilities are used and not the normal approximation that the first gives.
    """
    from scipy.stats import quantile_test

    if len(values) < FEWEST_RUNS:
        return None
    interval: Any = quantile_test(values, p=0.5).confidence_interval(_COVERAGE)
    return float(interval.low), float(interval.high)


def narrow_enough(values: Sequence[float], share: float) -> bool:
    """Whether half the width of the median's interval is at most ``share`` of the median."""
    bounds = median_interval(values)
    if bounds is None:
        return False
    return (bounds[1] - bounds[0]) / 2.0 <= share * abs(float(np.median(values)))
