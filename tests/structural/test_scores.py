"""Scores of central intervals, and ranks of bins."""

import numpy as np
from scipy import stats

from perf_structural.recalibration import interval_score, shares_by_rank


def test_interval_score_is_least_for_the_true_quantiles():
    samples = np.random.default_rng(5).exponential(1.0, 20_000)
    low, high = stats.expon.ppf([0.1, 0.9])
    right = interval_score(low, high, 0.8, samples).mean()
    for lower, upper in ((0.0, high), (low, 2 * high), (2 * low, high), (low, high / 2)):
        assert right < interval_score(lower, upper, 0.8, samples).mean()


def test_ranks_of_bins():
    assert shares_by_rank([0.1, 0.6, 0.3], 1).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert shares_by_rank([0.1, 0.6, 0.3], 0).tolist() == [0.0, 0.0, 1.0, 0.0]
    assert shares_by_rank([0.1, 0.6, 0.3], None).tolist() == [0.0, 0.0, 0.0, 1.0]
    # Four alike: nobody can say which of them is the second.
    np.testing.assert_allclose(shares_by_rank([0.25] * 4, 2), [0.25, 0.25, 0.25, 0.25, 0.0])
