"""The interval of the median: ranks by exact fractions, and how often it covers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from perf_experiments.run_records import median_interval


@pytest.mark.parametrize("count", range(6, 41))
def test_ranks_by_counting_outcomes(count):
    """Among 2^n equally likely outcomes, fewer than k values lie below the median in sum_{i<k} C(n, i) of them."""
    missed = [Fraction(2 * sum(math.comb(count, i) for i in range(k)), 2**count) for k in range(1, count)]
    rank = sum(share <= Fraction(5, 100) for share in missed)
    values = np.random.default_rng(0).permutation(count) + 1.0
    assert median_interval(values) == (rank, count + 1 - rank)
