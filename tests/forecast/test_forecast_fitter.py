"""The fitter `forecast`: distributions of the next values, horizons, bounds, and what is refused."""

import numpy as np
import pytest

import perfcore
from perf_forecast.options import support_of
from perfcore import Series
from perfcore.base.errors import DataError, OptionError


@pytest.fixture
def rng():
    """Samples of each test by itself, so that its order among others does not count."""
    return np.random.default_rng(7)


def series(values, **facts):
    return Series(np.arange(len(values)), {"cpu": values}, "s", source="cpu.csv", **facts)


def forecast(values, **options):
    return perfcore.fit(series(values), fitter="forecast", **options)


def test_noise_around_a_level_is_forecast_as_such(rng):
    """Half of all normal values are within 0.674 standard deviations; quartiles of 100 samples err by 0.27."""
    values = rng.normal(10.0, 2.0, 4000)
    model = forecast(values[:2000], horizon=3)
    for steps in (1, 3):
        assert model.predict([steps], 0.5)[0] == pytest.approx([10.0, 10.0 - 1.349, 10.0 + 1.349], abs=0.6)
        _, lower, upper = model.predict([steps], 0.95)[0]
        assert np.mean((values[2000:] >= lower) & (values[2000:] <= upper)) == pytest.approx(0.95, abs=0.025)
    assert model.seasons == ()


def test_a_random_walk_is_forecast_near_its_last_value_and_spreads_by_the_root_of_the_steps(rng):
    walk = np.cumsum(rng.normal(0.0, 1.0, 6000))
    model = forecast(walk, horizon=16)
    assert model.forecast == pytest.approx(walk[-1], abs=0.5)
    widths = np.ptp(model.predict([1, 4, 16], 0.8)[:, 1:], axis=1)
    np.testing.assert_allclose(widths, 2 * 1.2816 * np.sqrt([1, 4, 16]), rtol=0.3)


def test_outliers_move_the_tail_alone(rng):
    values = rng.normal(1.0, 0.01, 1000)
    values[::25] = 30.0
    model = forecast(values, horizon=2)
    assert model.forecast == pytest.approx(1.0, abs=0.01)
    assert model.predict([2], 0.8)[0, 2] < 1.1
    assert model.predict([2], 0.99)[0, 2] > 29.0


def test_a_season_is_found_and_foretold():
    places = np.arange(24 * 40 + 12)
    values = 10.0 + 5.0 * (places % 24 < 8) + np.random.default_rng(7).normal(0.0, 0.5, len(places))
    model = forecast(values[:-12], horizon=12)
    assert model.seasons == (24,)
    _, lower, upper = model.predict(np.arange(1, 13), 0.99).T
    assert np.mean((lower <= values[-12:]) & (values[-12:] <= upper)) >= 11 / 12
    assert (upper - lower).max() < 4.0  # a single level would need the 5 between day and night


def test_past_forecasts_hold_what_they_say(rng):
    values = np.zeros(3000)
    for place, noise in enumerate(rng.standard_t(4, 3000)):
        values[place] = 0.8 * values[place - 1] + noise
    model = forecast(values, horizon=1)
    assert model.ahead[0].judged == 64
    # Three standard errors of 64 independent samples.
    for share, held in zip((0.5, 0.8, 0.95), model.ahead[0].held, strict=True):
        assert held == pytest.approx(share, abs=3 * (share * (1 - share) / 64) ** 0.5)


def test_the_value_is_a_histogram_with_the_same_quantiles(rng):
    model = forecast(rng.exponential(2.0, 300), horizon=2)
    value = model.value(2)
    assert value.central_interval(0.8) == pytest.approx(tuple(model.predict([2], 0.8)[0, 1:]))
    assert value.support[0] >= 0.0


@pytest.mark.parametrize(
    ("values", "within", "names", "expected"),
    [
        ([0.1, 0.9], "auto", "cpu all busy", (0.0, 1.0)),
        ([3.0, 99.0], "auto", "value ec2_cpu_utilization.csv", (0.0, 100.0)),
        ([3.0, 399.0], "auto", "cpu %", (0.0, np.inf)),
        ([3.0, 99.0], "auto", "bytes", (0.0, np.inf)),
        ([-3.0, 99.0], "auto", "cpu %", (-np.inf, np.inf)),
        ([3.0, 99.0], "none", "cpu %", (-np.inf, np.inf)),
        ([3.0, 99.0], "0,120", "cpu %", (0.0, 120.0)),
    ],
)
def test_supports(values, within, names, expected):
    assert support_of(values, within, names)[0] == expected


def test_no_value_outside_of_its_support(rng):
    busy = np.clip(rng.normal(0.9, 0.2, 400), 0.0, 1.0)
    at = np.array([ahead.quantiles for ahead in forecast(busy, within="0,1", horizon=4).ahead])
    assert at.min() >= 0.0
    assert at.max() == 1.0


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        ([1.0, 2.0], {}, DataError, "2 samples of 'cpu'; a forecast needs 3 or more"),
        ([np.nan] * 4, {}, DataError, "no value of 'cpu'"),
        ([1.0] * 4, {"window": "soon"}, OptionError, "duration 'soon': a positive number with one of"),
        ([1.0] * 4, {"horizon": 0}, OptionError, "must be at least 1"),
        ([1.0] * 4, {"within": "1,0"}, OptionError, "within '1,0': a lower and a higher upper bound are expected"),
        ([0.5, 1.5, 2.0], {"within": "0,1"}, DataError, "cpu.csv: 'cpu': sample 2 of 3 is 1.5, outside of 0 to 1"),
        ([1.0] * 4, {"column": "cpi"}, OptionError, "did you mean 'cpu'"),
    ],
)
def test_what_is_refused(values, options, error, message):
    with pytest.raises(error, match=message):
        forecast(values, **options)


def test_a_value_with_a_probability_of_its_own_is_said_to_have_it(rng):
    """A disk that mostly writes nothing: the 50% interval holds as much as 0 has."""
    rng = np.random.default_rng(8)
    model = forecast(np.where(rng.random(600) < 0.8, 0.0, rng.exponential(1e6, 600)))
    value, probability = model.likeliest(1)
    assert (value, probability) == (0.0, pytest.approx(0.8, abs=0.07))
    assert f"0 comes with probability {probability:.2g} by itself" in str(model)
    assert model.remarks([1])[0].startswith("0 with probability 0.")
    noise = forecast(rng.normal(10.0, 1.0, 200))
    assert noise.likeliest(1)[1] == 0.0
    assert noise.remarks([1]) == []
