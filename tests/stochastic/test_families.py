"""Samples with a smooth tail, against scipy, numpy and the distributions that samples were drawn of."""

import numpy as np
import pytest
from scipy import stats

from perf_stochastic.empirical import beyond, excess_of, fitted_excess
from perfcore.base.errors import DataError
from perfcore.stochastic import representation_named

Empirical, Gamma, Lognormal = map(representation_named, ("empirical", "gamma", "lognormal"))

LEVELS = np.array([0.001, 0.05, 0.5, 0.95, 0.999])


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4])
def test_the_tail_is_that_of_scipy_and_found_again(shape):
    tail = stats.genpareto(shape, scale=2.0)
    share = np.array([0.9, 0.1, 1e-6])
    np.testing.assert_allclose(excess_of(share, 2.0, shape), tail.isf(share), rtol=1e-9)
    np.testing.assert_allclose(beyond(tail.isf(share), 2.0, shape), share, rtol=1e-9)
    # Standard errors of the most likely scale and shape (R. Smith, 1987), four of them.
    scale, found = fitted_excess(tail.rvs(2000, random_state=6))
    assert found == pytest.approx(shape, abs=4.0 * (1.0 + shape) / np.sqrt(2000))
    assert scale == pytest.approx(2.0, abs=4.0 * 2.0 * np.sqrt(2.0 * (1.0 + shape) / 2000))


def test_a_smooth_tail_foretells_what_samples_do_not_reach():
    """p99.9 of 500 lognormal samples, over 60 draws: a smaller error than the largest samples' interpolation."""
    truth = stats.lognorm(1.0).ppf(0.999)
    off = np.array(
        [
            [np.log(Empirical.from_samples(drawn).quantile(0.999) / truth), np.log(np.quantile(drawn, 0.999) / truth)]
            for drawn in np.random.default_rng(2).lognormal(0.0, 1.0, (60, 500))
        ]
    )
    smooth, plain = np.sqrt((off**2).mean(axis=0))
    assert smooth < plain


def test_no_tail_is_made_of_a_gap():
    drawn = np.concatenate([np.random.default_rng(9).normal(10, 1, 450), np.linspace(90, 91, 50)])
    value = Empirical.from_samples(drawn)
    assert (value.scale, value.support[1], value.mean) == (0.0, 91.0, pytest.approx(drawn.mean(), rel=1e-3))
    assert value.notes == ("no tail fits the largest samples: it ends with the largest",)
    assert repr(value) == f"Empirical(502 quantiles from {drawn.min():.6g} to 91)"


def test_samples_stay_what_they_are():
    """Few have no tail; equal ones keep their probability; moments are those of numbers between quantiles."""
    few = Empirical.from_samples([1.0, 2.0, 2.0, 5.0])
    assert (few.scale, few.support, float(few.cdf(2.0))) == (0.0, (1.0, 5.0), 0.625)
    drawn = np.random.default_rng(3).gamma(2.0, 1.0, 5000)
    value = Empirical.from_samples(drawn)
    assert np.abs(value.cdf(np.sort(drawn)) - (np.arange(5000) + 0.5) / 5000).max() < 0.002
    middle = (np.arange(200_000) + 0.5) / 200_000
    assert value.mean == pytest.approx(value.quantile(middle).mean(), rel=1e-4)
    assert value.std == pytest.approx(value.quantile(middle).std(), rel=1e-3)
    for wrong in (([0.0], [1.0], 0, 0), ([0.1, 1], [1, 2], 0, 0), ([0, 0.9], [1, 2], 0, 0), ([0, 0.9], [1, 2], 1, 1)):
        with pytest.raises(DataError, match="empirical: "):
            Empirical(*wrong)


@pytest.mark.parametrize(
    ("kind", "one", "other"), [(Gamma, 1e300, 4e9), (Gamma, 1.0, 1e200), (Lognormal, 3.0, 1.7e308), (Gamma, 0.0, 1.0)]
)
def test_what_floats_cannot_hold_is_refused(kind, one, other):
    with pytest.raises(DataError):
        kind(one, other)


def test_a_gamma_of_large_values():
    assert Gamma(1e199, 1e199).quantile(0.5) == pytest.approx(1e199 * np.log(2))
