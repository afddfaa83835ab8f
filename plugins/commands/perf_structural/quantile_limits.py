"""How well samples know a quantile: limits from their order alone, whatever they are distributed like.

Source: H. A. David and H. N. Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1: the number of samples below
the true quantile is binomial.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95


def samples_needed(level: float) -> int:
    """How many independent samples have an order statistic on each side of a quantile with enough confidence."""
    outside = 0.5 * (1.0 - CONFIDENCE)
    return math.ceil(math.log(outside) / math.log(max(level, 1.0 - level)))


def limits_of_quantile(ordered: npt.NDArray[np.float64], level: float, count: int) -> tuple[float, float]:
    """Between which samples the true quantile lies, with probability 0.95 at least."""
    from scipy.stats import binom

    outside = 0.5 * (1.0 - CONFIDENCE)
    # P(the l-th is above the quantile) = P(fewer than l are below it), likewise from above.
    below = int(binom.ppf(outside, count, level))
    above = int(binom.isf(outside, count, level)) + 1
    while below > 0 and binom.cdf(below - 1, count, level) > outside:
        below -= 1
    scale = len(ordered) / count
    low = float(ordered[min(max(math.floor((below - 1) * scale), 0), len(ordered) - 1)]) if below >= 1 else math.nan
    high = float(ordered[min(math.ceil(above * scale) - 1, len(ordered) - 1)]) if above <= count else math.nan
    return low, high
