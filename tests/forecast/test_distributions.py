"""Distributions of what may come: samples, quantiles, scores, and how wide they are made."""

import numpy as np
import pytest
from scipy import integrate, stats

from perf_forecast.horizon import (
    LEVELS,
    Resampling,
    centrality,
    crps_of_samples,
    dispersion_of,
    quantiles_of,
    redispersed,
    resolution_of,
)

RNG = np.random.default_rng(11)
NO_BOUNDS = (-np.inf, np.inf)


def test_the_score_of_samples_by_integration():
    """Gneiting and Raftery (2007), equation 20: the integral of the squared difference of distribution functions."""
    samples, actual = RNG.normal(size=(1, 9)), np.array([0.4])
    points = sorted([*samples[0], 0.4])

    def difference(x):
        return (np.mean(samples <= x) - (x >= 0.4)) ** 2

    expected, _ = integrate.quad(difference, points[0], points[-1], points=points, limit=200)
    assert crps_of_samples(samples, actual)[0] == pytest.approx(expected, rel=1e-6)


def test_quantiles_of_many_samples_are_those_of_their_distribution():
    found = quantiles_of(RNG.normal(size=200_000), np.ones(200_000), 0.0, NO_BOUNDS)
    inner = (LEVELS > 0.0) & (LEVELS < 1.0)
    np.testing.assert_allclose(found[inner], stats.norm.ppf(LEVELS[inner]), atol=0.03)


def test_few_samples_are_no_bounds_and_what_none_can_be_is_not():
    nine = np.arange(1.0, 10.0)
    found = quantiles_of(nine, np.ones(9), 0.0, NO_BOUNDS)
    # A tenth sample is outside of nine with probability 2/10: 80% lie between the outermost ones.
    np.testing.assert_allclose(found[[6, -7]], [1.0, 9.0])
    assert LEVELS[6] == 0.1
    bounded = quantiles_of(nine, np.ones(9), 0.0, (0.0, 9.0))
    assert (bounded.min(), bounded.max()) == (0.0, 9.0)


def test_weights_count_as_copies():
    once = quantiles_of(np.array([1.0, 2.0, 2.0, 2.0, 4.0, 4.0] * 50), np.ones(300), 0.0, NO_BOUNDS)
    weighted = quantiles_of(np.array([1.0, 2.0, 4.0] * 50), np.array([1.0, 3.0, 2.0] * 50), 0.0, NO_BOUNDS)
    np.testing.assert_allclose(once[3:-3], weighted[3:-3], atol=0.05)


def test_rounded_values_stand_for_what_is_rounded_to_them():
    rounded = np.round(RNG.uniform(0.0, 1.0, 5000), 1)
    assert resolution_of(rounded) == pytest.approx(0.1)
    found = quantiles_of(rounded, np.ones(5000), 0.1, (0.0, np.inf))
    np.testing.assert_allclose(found[6:-5], LEVELS[6:-5], atol=0.03)
    idle = quantiles_of(np.r_[np.zeros(90), np.ones(10)], np.ones(100), 1.0, (0.0, np.inf))
    assert idle[LEVELS <= 0.85].max() == 0.0  # at a bound a value keeps its probability
    assert resolution_of(RNG.normal(size=100)) == 0.0


def test_how_central_a_value_is():
    quantiles = np.where(LEVELS < 0.3, 5.0 * LEVELS, 2.0)  # 2 has the probability 0.7
    assert centrality(quantiles, 2.0) == 0.0
    assert centrality(quantiles, 0.5) == pytest.approx(0.8)
    assert centrality(quantiles, -1.0) == centrality(quantiles, 3.0) == 1.0


@pytest.mark.parametrize("true", [0.8, 1.2])
def test_what_is_too_wide_or_too_narrow_is_found_and_mended(true):
    places = RNG.uniform(size=4000) ** (1.0 / true)  # intervals of coverage c hold c^g
    found = dispersion_of(places)
    assert found == pytest.approx(true, abs=0.04)
    mended = redispersed(2.0 * LEVELS - 1.0, found)
    for coverage in (0.5, 0.8):
        assert np.mean(places <= np.interp(0.5 + 0.5 * coverage, LEVELS, mended)) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("carried", ["errors", "scaled errors", "values"])
@pytest.mark.parametrize("nearest", [None, 5])
def test_no_sample_knows_what_comes_after_its_origin(carried, nearest):
    values = RNG.normal(size=80)
    forecasts, origins = np.concatenate([[0.0], values[:-1]]), np.array([50, 60])
    changed, changed_forecasts = values.copy(), forecasts.copy()
    changed[61:], changed_forecasts[61:] = 99.0, 99.0
    resampling = Resampling(carried, 20, nearest)
    found = resampling.samples(forecasts, values, origins, 3, 0)
    np.testing.assert_allclose(found, resampling.samples(changed_forecasts, changed, origins, 3, 0), rtol=1e-9)
    assert found.shape == (2, 20 if nearest is None else 5)


def test_the_most_alike_forecasts_say_what_follows():
    values = np.tile([0.0, 10.0], 40)
    samples = Resampling("values", 50, 10).samples(values, values, np.array([70, 71]), 1, 0)
    assert (samples == [[10.0], [0.0]]).all()
