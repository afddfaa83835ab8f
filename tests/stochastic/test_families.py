"""Mixtures and samples with a smooth tail, against scipy, numpy and the distributions that samples were drawn of."""

import numpy as np
import pytest
from scipy import stats

from perf_stochastic.families.empirical import Empirical, beyond, excess_of, fitted_excess
from perf_stochastic.families.gamma import Gamma
from perf_stochastic.families.lognormal import Lognormal
from perf_stochastic.families.mixture import Mixture
from perfcore.base.errors import DataError
from perfcore.stochastic import from_text

LEVELS = np.array([0.001, 0.05, 0.5, 0.95, 0.999])


@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_a_mixture_and_what_is_computed_with_it_are_those_of_draws(kind):
    """10^6 draws: four standard errors of each share and of the mean; the sum's 50 bins may miss a thousandth."""
    rng = np.random.default_rng(4)
    mixture = Mixture(kind, [0.8, 0.2], [1.0, 2.0], [0.1, 0.3])
    of_second = rng.random(1_000_000) < 0.2
    drawn = np.where(of_second, rng.normal(2.0, 0.3, 1_000_000), rng.normal(1.0, 0.1, 1_000_000))
    drawn = np.exp(drawn) if kind == "lognormal" else drawn
    error = 4.0 * np.sqrt(LEVELS * (1.0 - LEVELS) / len(drawn))
    other = Mixture.from_dict(mixture.to_dict())
    for value, samples, binned in ((mixture, drawn, 0.0), (mixture + other, drawn + rng.permutation(drawn), 1e-3)):
        below = (samples <= value.quantile(LEVELS)[:, None]).mean(axis=1)
        np.testing.assert_array_less(np.abs(below - LEVELS), error + binned)
        assert value.mean == pytest.approx(samples.mean(), abs=4.0 * samples.std() / 1000)
        assert value.std == pytest.approx(samples.std(), rel=0.01)
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(LEVELS)), LEVELS, rtol=1e-12)


@pytest.mark.parametrize(
    ("drawn", "components", "kind"),
    [
        (lambda rng: rng.normal(5.0, 1.0, 300), 1, "normal"),
        (lambda rng: rng.lognormal(0.0, 1.0, 300), 1, "lognormal"),
        (lambda rng: np.concatenate([rng.normal(5.0, 0.2, 200), rng.normal(8.0, 0.5, 100)]), 2, None),
        (lambda rng: np.concatenate([rng.normal(at, 0.3, 200) for at in (-5.0, 0.0, 5.0)]), 3, "normal"),
        (lambda rng: rng.normal(5.0, 1.0, 12), 1, "normal"),
    ],
)
def test_as_many_components_as_samples_support(drawn, components, kind):
    found = Mixture.from_samples(drawn(np.random.default_rng(8)))
    assert len(found.weights) == components
    assert kind in (None, found.kind)


def test_a_mixture_is_typed_as_it_is_written():
    typed = from_text("mixture:normal/0.9,0.1/10,20/1,2")
    assert typed == Mixture("normal", [0.9, 0.1], [10, 20], [1, 2])
    assert from_text(typed.to_text()) == typed
    for words, what in (
        ("student/1/0/1", "kind 'student'"),
        ("normal/0.5,0.4/1,2/1,1", "sum is 0.9"),
        ("normal/0.5,0.5/1,2/1", "as many weights"),
        ("normal/0.5,0.5/1,2/1,0", "above 0"),
    ):
        with pytest.raises(DataError, match=what):
            from_text(f"mixture:{words}")


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


def test_limits_in_the_tail_hold_what_no_sample_reaches():
    """p99.9 of 400 samples, 60 times each: within the limits in 95 % of the cases or so, and not by width alone."""
    rng, held, widths = np.random.default_rng(8), [], []
    for family in (stats.expon(), stats.lognorm(0.6), stats.norm(10, 1)):
        for drawn in family.rvs((60, 400), random_state=rng):
            low, high = Empirical.from_samples(drawn).tail_limits(drawn, 0.999)
            if np.isfinite(low):
                held.append(low <= family.ppf(0.999) <= high)
                widths.append(np.log(high / low))
    assert len(held) > 140
    assert 0.89 < np.mean(held) < 0.99
    assert np.median(widths) < 1.0
    assert np.isnan(Empirical.from_samples(drawn).tail_limits(drawn, 0.9)).all()  # of the samples' own


def test_limits_in_a_tail_that_ends_leave_open_what_may_be_beyond_all_samples():
    """p99.9 of 3,000 uniform samples is beyond the largest in 5 % of cases; of 5,000 in less than 1 %."""
    uniform = np.random.default_rng(3)
    for count, is_open in ((3000, True), (5000, False)):
        uppers = []
        for drawn in uniform.random((30, count)):
            uppers.append(Empirical.from_samples(drawn).tail_limits(drawn, 0.999)[1] - drawn.max())
        assert bool(np.nanmin(uppers) >= 0.0) is is_open


def test_no_tail_is_made_of_a_gap():
    drawn = np.concatenate([np.random.default_rng(9).normal(10, 1, 450), np.linspace(90, 91, 50)])
    value = Empirical.from_samples(drawn)
    assert (value.scale, value.support[1], value.mean) == (0.0, 91.0, pytest.approx(drawn.mean(), rel=1e-3))
    assert value.notes == ("no tail fits the largest samples: it ends with the largest",)
    assert np.isnan(value.tail_limits(drawn, 0.999)).all()
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
    ("kind", "one", "other"),
    [(Gamma, 1e300, 4e9), (Gamma, 1.0, 1e200), (Lognormal, 3.0, 1.7e308), (Gamma, 0.0, 1.0)],
)
def test_what_floats_cannot_hold_is_refused(kind, one, other):
    with pytest.raises(DataError):
        kind(one, other)


def test_a_gamma_of_large_values():
    assert Gamma(1e199, 1e199).quantile(0.5) == pytest.approx(1e199 * np.log(2))
