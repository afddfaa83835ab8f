"""Ratios of independent draws, against laws that are known in closed form."""

import numpy as np
import pytest
from scipy.stats import norm

from perf_gate.comparison import probability_above, probability_beyond, ratio_bounds, sum_of_parts, surely
from perfcore.models.part_draws import N_DRAWS, Drawn

PLACES = norm.ppf((np.arange(N_DRAWS) + 0.5) / N_DRAWS)


def lognormal(median, spread):
    return median * np.exp(spread * PLACES)[None]


@pytest.mark.parametrize(("one", "other"), [(0.05, 0.05), (0.1, 0.3), (0.02, 0.0)])
def test_bounds_of_a_ratio_of_lognormals(one, other):
    """It is lognormal; its spread is the root of the sum of squares."""
    bounds = ratio_bounds(lognormal(2.0, one), lognormal(3.0, other))[0]
    spread = np.hypot(one, other)
    assert np.log(bounds / 1.5) / spread == pytest.approx([-1.96, 1.96], rel=0.04)


@pytest.mark.parametrize("factor", [1.0, 1.1, 1.5, 2.0])
def test_probability_that_a_ratio_is_above(factor):
    found = probability_above(lognormal(2.0, 0.1), lognormal(3.0, 0.2), factor)[0]
    assert found == pytest.approx(norm.cdf(np.log(1.5 / factor) / np.hypot(0.1, 0.2)), abs=0.003)


def test_small_probabilities():
    """Pairs resolve what either side alone could not: 1 in 2,000 with 256 draws."""
    found = probability_above(lognormal(1.0, 0.1), lognormal(1.0, 0.1), np.exp(3.29 * np.hypot(0.1, 0.1)))[0]
    assert found == pytest.approx(norm.sf(3.29), rel=0.3)


def test_values_that_agree_are_neither_larger_nor_smaller():
    exact = np.full((1, 64), 0.3)
    assert probability_above(exact, exact * (1.0 + 1e-12), 1.0).tolist() == [0.5]
    assert probability_above(exact, 1.1 * exact, 1.1).tolist() == [0.5]
    assert probability_above(exact, 1.2 * exact, 1.1).tolist() == [1.0]


def test_swapping_both_sides():
    one, other = lognormal(2.0, 0.1), lognormal(2.1, 0.2)
    assert probability_above(one, other, 1.0) + probability_above(other, one, 1.0) == pytest.approx([1.0])
    np.testing.assert_allclose(ratio_bounds(one, other), 1.0 / ratio_bounds(other, one)[:, ::-1], rtol=0.01)


def test_nothing_is_said_without_draws():
    missing = np.full((1, 64), np.nan)
    assert np.isnan(ratio_bounds(missing, missing)).all()
    assert np.isnan(probability_above(missing, np.ones((1, 64)), 1.0)).all()
    assert not surely(np.array([np.nan]), 0.5).any()


def test_zeros():
    """What takes no time in either version did not change."""
    zero = np.zeros((1, 64))
    assert ratio_bounds(zero, zero).tolist() == [[1.0, 1.0]]
    assert probability_above(zero, zero, 1.1).tolist() == [0.5]


def test_differences():
    found = probability_beyond(PLACES[None], PLACES[None] + 1.0, 0.5)[0]
    assert found == pytest.approx(norm.cdf(0.5 / np.sqrt(2.0)), abs=0.003)


def test_holm_by_hand():
    """Four statements at 0.95: they may be wrong by 0.0125, 0.0167, 0.025, 0.05 in turn."""
    assert surely(np.array([0.98, 0.99, 0.984, 0.94]), 0.95).tolist() == [True, True, True, False]
    assert surely(np.array([0.98, 0.99, 0.97, 0.96]), 0.95).tolist() == [False, True, False, False]
    assert surely(np.empty(0), 0.95).tolist() == []


def test_all_statements_together_are_seldom_wrong(monkeypatch):
    """Of 50 probabilities that are even where nothing changed, one is called sure in at most 5 % of the cases."""
    # statsmodels collects garbage in every call, which takes up to a second in a process that ran many tests.
    monkeypatch.setattr("gc.collect", lambda: 0)
    rng = np.random.default_rng(0)
    wrong = np.mean([surely(rng.uniform(size=50), 0.95).any() for _ in range(2000)])
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 2000)


def test_sum_of_independent_normals():
    draws = np.stack([10.0 + PLACES, 20.0 + 2.0 * PLACES, 30.0 + 2.0 * PLACES])[:, None]
    total = sum_of_parts(Drawn(np.array([[10.0], [20.0], [30.0]]), draws), np.array([True, True, True]), seed=3)
    assert total.values == pytest.approx([60.0], abs=0.2)
    assert np.quantile(total.draws[0], [0.025, 0.975]) == pytest.approx([60.0 - 5.88, 60.0 + 5.88], abs=0.5)
