"""Bounds of functions of independent models, against exact distributions and random draws."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import optimize, stats

from perf_structural.composed_models import bounds_of_function

HERE = [0.0]


class Distributed:
    """Predicts the median and central bounds of a distribution of scipy."""

    def __init__(self, distribution):
        self.distribution = distribution

    def predict(self, points, interval):
        levels = (0.5, 0.5 - 0.5 * interval, 0.5 + 0.5 * interval)
        return np.tile(self.distribution.ppf(levels), (len(points), 1))


def bounds(function, distributions, coverage):
    models = [Distributed(distribution) for distribution in distributions]
    return bounds_of_function(function, models, [HERE] * len(models), coverage)[0]


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("count", "tolerance"), [(1, 0.002), (2, 0.005), (5, 0.01), (20, 0.02)])
def test_sums_of_normals_are_normal(count, tolerance, coverage):
    rng = np.random.default_rng(count)
    means, spreads = rng.uniform(-5.0, 20.0, count), rng.uniform(0.2, 2.0, count)
    half = stats.norm.ppf(0.5 + 0.5 * coverage) * np.sqrt((spreads**2).sum())
    expected = means.sum() + half * np.array([-1.0, 1.0])
    found = bounds(sum, map(stats.norm, means, spreads), coverage)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * half)


@pytest.mark.parametrize("coverage", [0.5, 0.95, 0.99])
def test_distributions_of_a_maximum_multiply(coverage):
    one, other = stats.norm(10.0, 1.0), stats.norm(10.5, 2.0)
    expected = [
        optimize.brentq(lambda x, q=q: one.cdf(x) * other.cdf(x) - q, 0.0, 30.0)
        for q in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
    ]
    np.testing.assert_allclose(bounds(lambda drawn: np.maximum(*drawn), [one, other], coverage), expected, rtol=1e-3)


class TestAgainstRandomDraws:
    CASES: ClassVar = {
        "product": ([stats.norm(10.0, 1.0), stats.norm(5.0, 1.0)], lambda drawn: drawn[0] * drawn[1]),
        "heavy tails": ([stats.t(3, 10.0, 1.0), stats.t(4, 5.0, 2.0)], lambda drawn: drawn[0] + drawn[1]),
        "skewed": ([stats.lognorm(0.5), stats.lognorm(1.0)], lambda drawn: drawn[0] + drawn[1]),
        "one of them twice": (
            [stats.norm(10.0, 1.0), stats.t(5, 5.0, 1.0), stats.lognorm(0.5)],
            lambda drawn: np.maximum(drawn[0], drawn[1] * drawn[2]) + drawn[0],
        ),
    }

    @pytest.mark.parametrize("coverage", [0.5, 0.95, 0.99])
    @pytest.mark.parametrize("case", CASES)
    def test_agree(self, case, coverage):
        distributions, function = self.CASES[case]
        rng = np.random.default_rng(5)
        drawn = function([distribution.rvs(10**6, random_state=rng) for distribution in distributions])
        middle, *expected = np.quantile(drawn, [0.5, 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        distances = (bounds(function, distributions, coverage) - middle) / (np.array(expected) - middle)
        # 10^6 draws themselves err by up to 0.5 % here.
        np.testing.assert_allclose(distances, 1.0, atol=0.015)


def test_a_model_without_bounds_leaves_none():
    class Unsure:
        def predict(self, points, interval):
            return np.array([[1.0, np.nan, np.nan], [1.0, 0.5, 1.5]])

    sure = Distributed(stats.norm(2.0, 1.0))
    found = bounds_of_function(sum, [sure, Unsure()], [[0.0, 0.0]] * 2, 0.9)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
