"""Scores against direct integration of their definitions, and against what makes a score proper."""

import numpy as np
import pytest
from scipy import integrate, stats

from perf_stochastic.histogram import crps_piecewise_linear
from perf_stochastic.normal import crps_of_normals
from perfcore.stochastic.quadrature import crps_of


def crps_by_definition(cdf, actual, low, high):
    """The integral of (F(x) - [x >= actual])^2, by adaptive quadrature on both sides of the jump."""
    left = integrate.quad(lambda x: cdf(x) ** 2, low, actual, epsabs=1e-12, limit=200)[0]
    right = integrate.quad(lambda x: (1.0 - cdf(x)) ** 2, actual, high, epsabs=1e-12, limit=200)[0]
    return left + right


@pytest.mark.parametrize("actual", [-4.0, 1.0, 2.5, 9.0])
def test_crps_of_a_normal(actual):
    normal = stats.norm(2.0, 1.5)
    expected = crps_by_definition(normal.cdf, actual, -15.0, 20.0)
    assert float(crps_of_normals(2.0, 1.5, actual)) == pytest.approx(expected, abs=1e-9)
    assert crps_of(normal.ppf, normal.cdf(actual), actual) == pytest.approx(expected, abs=1e-9)


def test_crps_of_a_normal_without_spread_is_the_absolute_error():
    np.testing.assert_array_equal(crps_of_normals([1.0, 1.0], [0.0, 0.0], [3.0, 1.0]), [2.0, 0.0])


@pytest.mark.parametrize("actual", [0.0, 1.0, 2.0, 3.5, 5.0, 6.0, 9.0])
def test_crps_of_a_histogram(actual):
    # Masses 1/4, 0 and 3/4: a bin, a gap, a bin.
    knots, cdf = [1.0, 3.0, 4.0, 6.0], [0.0, 0.25, 0.25, 1.0]
    expected = crps_by_definition(lambda x: np.interp(x, knots, cdf), actual, -1.0, 10.0)
    assert crps_piecewise_linear(knots, cdf, actual) == pytest.approx(expected, abs=1e-8)


def test_crps_of_a_jump_is_the_absolute_error():
    assert crps_piecewise_linear([2.0, 2.0], [0.0, 1.0], 5.0) == 3.0
    assert crps_piecewise_linear([2.0, 2.0], [0.0, 1.0], 2.0) == 0.0
    # A jump of one half at 0 and another at 1: a quarter of the way is wrong by one half everywhere.
    for actual in (0.0, 0.3, 1.0):
        assert crps_piecewise_linear([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], actual) == pytest.approx(0.25)
    # A jump of one half in the middle of an even distribution, at the jump itself.
    expected = crps_by_definition(lambda x: np.clip(x / 4 + 0.5 * (x >= 1), 0, 1), 1.0, 0.0, 2.0)
    assert crps_piecewise_linear([0.0, 1.0, 1.0, 2.0], [0.0, 0.25, 0.75, 1.0], 1.0) == pytest.approx(expected)


def test_crps_is_least_for_the_true_distribution():
    samples = np.random.default_rng(4).normal(10.0, 2.0, 4000)
    right = crps_of_normals(10.0, 2.0, samples).mean()
    assert right < min(crps_of_normals(10.0, 1.0, samples).mean(), crps_of_normals(10.0, 4.0, samples).mean())
    assert right < crps_of_normals(11.0, 2.0, samples).mean()
    # In expectation it is std / sqrt(pi).
    assert right == pytest.approx(2.0 / np.sqrt(np.pi), rel=0.03)
