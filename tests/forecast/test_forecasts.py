"""Predictors: each against its definition in plain Python, and the choice between them."""

import statistics
import time

import numpy as np
import pytest
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.holtwinters import Holt, SimpleExpSmoothing

from perf_forecast.predictors import autoregression, damped_trend, forecasts_ahead, one_step_forecasts

RNG = np.random.default_rng(8)
VALUES = np.round(np.cumsum(RNG.normal(0, 1, 120)), 2)


def trimmed_mean(window):
    cut = int(0.3 * len(window))
    return statistics.fmean(sorted(window)[cut : len(window) - cut])


DEFINITIONS = {
    "last value": lambda before: before[-1],
    "running mean": statistics.fmean,
    "mean of 5": lambda before: statistics.fmean(before[-5:]),
    "mean of 50": lambda before: statistics.fmean(before[-50:]),
    "median of 11": lambda before: statistics.median(before[-11:]),
    "median of 51": lambda before: statistics.median(before[-51:]),
    "trimmed mean of 11": lambda before: trimmed_mean(before[-11:]),
    "trimmed mean of 51": lambda before: trimmed_mean(before[-51:]),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_predictors_by_their_definitions(name):
    found = one_step_forecasts(VALUES)[name]
    values = VALUES.tolist()
    expected = [DEFINITIONS[name](values[:k]) for k in range(1, len(values) + 1)]
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gain", [0.05, 0.3, 0.9])
def test_smoothing_as_statsmodels_does_it(gain):
    model = SimpleExpSmoothing(VALUES, initialization_method="known", initial_level=VALUES[0])
    fitted = model.fit(smoothing_level=gain, optimized=False)
    found = one_step_forecasts(VALUES)[f"smoothing {gain:g}"]
    np.testing.assert_allclose(found[1:-1], fitted.fittedvalues[1:], rtol=1e-10, atol=1e-10)
    assert found[-1] == pytest.approx(fitted.forecast(1)[0], rel=1e-10)


def test_no_forecast_knows_what_comes_after():
    changed = VALUES.copy()
    changed[60:] += 100.0
    for name, forecast in one_step_forecasts(VALUES).items():
        np.testing.assert_array_equal(forecast[:61], one_step_forecasts(changed)[name][:61], err_msg=name)


def test_adaptive_windows_shorten_when_the_level_changes():
    values = np.concatenate([RNG.normal(0, 1, 300), RNG.normal(50, 1, 30)])
    found = one_step_forecasts(values)
    # Ten samples after the change a window of 50 still mixes both levels; the adaptive one has left it.
    assert abs(found["mean of 50"][310] - 50) > 20
    assert abs(found["adaptive mean"][310] - 50) < 2
    assert abs(found["adaptive median"][310] - 50) < 2


def test_constant_samples_are_forecast_exactly():
    found = one_step_forecasts(np.full(70, 0.1))
    for name in ("last value", "running mean", "mean of 20", "median of 21", "smoothing 0.3"):
        assert (found[name][1:] == 0.1).all(), name


def test_autoregressions_as_statsmodels_does_them():
    lags = [1, 2, 5]
    fitted = AutoReg(VALUES, lags).fit()
    # Of the last origin alone, so that the coefficients are those of all samples.
    found = autoregression(VALUES, lags, 4, len(VALUES) - 1)
    np.testing.assert_allclose(found[:, 0], fitted.forecast(4), rtol=1e-8)


def test_damped_trends_as_statsmodels_does_them():
    model = Holt(VALUES, damped_trend=True, initialization_method="known", initial_level=VALUES[0], initial_trend=0.0)
    fitted = model.fit(smoothing_level=0.3, smoothing_trend=0.1, damping_trend=0.9, optimized=False)
    found = damped_trend(VALUES, 0.3, 0.1, 0.9, 5)
    np.testing.assert_allclose(found[0, :-1], fitted.fittedvalues[1:], rtol=1e-8)
    np.testing.assert_allclose(found[:, -1], fitted.forecast(5), rtol=1e-8)


def test_a_season_is_continued_by_what_came_at_the_same_place():
    values = np.tile([1.0, 5.0, 2.0, 7.0, 3.0], 8)
    found = forecasts_ahead(values, 7, (5,), 30)
    expected = [[values[origin + steps - 10] for origin in range(30, 40)] for steps in range(1, 8)]
    for name, forecast in found.items():
        if name.startswith("season"):
            np.testing.assert_allclose(forecast, expected, err_msg=name)


def test_no_moving_forecast_knows_what_comes_after():
    changed = VALUES.copy()
    changed[100:] += 100.0
    before, after = (forecasts_ahead(values, 9, (7,), 20) for values in (VALUES, changed))
    for name, forecast in before.items():
        np.testing.assert_array_equal(forecast[:, :80], after[name][:, :80], err_msg=name)


def test_a_hundred_thousand_samples_in_about_a_second():
    values = RNG.normal(size=100_000)
    start = time.perf_counter()
    one_step_forecasts(values)
    assert time.perf_counter() - start < 5.0  # 0.4 s where it was measured; a loop over samples takes a minute
