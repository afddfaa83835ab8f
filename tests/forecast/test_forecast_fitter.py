"""The fitter `forecast`: distributions of the next values, horizons, bounds, and what is refused."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.signal import lfilter
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.holtwinters import SimpleExpSmoothing

import perfcore
from perf_forecast.fitter import distributions_ahead, mean_ahead
from perf_forecast.options import support_of
from perf_forecast.predictors import (
    LEVELS,
    Resampling,
    autoregression,
    centrality,
    crps_of_samples,
    damped_trend,
    dispersion_of,
    find_seasons,
    forecasts_ahead,
    one_step_forecasts,
    quantiles_of,
    redispersed,
    resolution_of,
    theta,
)
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
        assert model.predict_array([steps], 0.5)[0] == pytest.approx([10.0, 10.0 - 1.349, 10.0 + 1.349], abs=0.6)
        _, lower, upper = model.predict_array([steps], 0.95)[0]
        assert np.mean((values[2000:] >= lower) & (values[2000:] <= upper)) == pytest.approx(0.95, abs=0.025)
    assert model.seasons == ()


def test_a_random_walk_is_forecast_near_its_last_value_and_spreads_by_the_root_of_the_steps(rng):
    walk = np.cumsum(rng.normal(0.0, 1.0, 6000))
    rows = [ahead.quantiles for ahead in distributions_ahead(walk, (1, 4, 16), (), (-np.inf, np.inf))]
    low, middle, high = np.array([np.interp([0.1, 0.5, 0.9], LEVELS, row) for row in rows]).T
    assert middle[0] == pytest.approx(walk[-1], abs=0.5)
    np.testing.assert_allclose(high - low, 2 * 1.2816 * np.sqrt([1, 4, 16]), rtol=0.3)


def test_outliers_move_the_tail_alone(rng):
    values = rng.normal(1.0, 0.01, 1000)
    values[::25] = 30.0
    model = forecast(values, horizon=2)
    assert model.forecast == pytest.approx(1.0, abs=0.01)
    assert model.predict_array([2], 0.8)[0, 2] < 1.1
    assert model.predict_array([2], 0.99)[0, 2] > 29.0


def test_a_season_is_found_and_foretold():
    places = np.arange(24 * 25 + 12)
    values = 10.0 + 5.0 * (places % 24 < 8) + np.random.default_rng(7).normal(0.0, 0.5, len(places))
    model = forecast(values[:-12], horizon=12)
    assert model.seasons == (24,)
    _, lower, upper = model.predict_array(np.arange(1, 13), 0.99).T
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
    assert value.central_interval(0.8) == pytest.approx(tuple(model.predict_array([2], 0.8)[0, 1:]))
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
        ([1.0] * 4, {"at": "5s"}, OptionError, "a duration after the last sample is expected, such as"),
        ([1.0] * 4, {"at": "+9s"}, DataError, "9 steps, and 4 samples tell 2"),
        ([1.0] * 4, {"column": "cpi"}, OptionError, "did you mean 'cpu'"),
        ([1.0] * 4, {"by": "host"}, OptionError, "unknown column that separates the series 'host'"),
    ],
)
def test_what_is_refused(values, options, error, message):
    with pytest.raises(error, match=message):
        forecast(values, **options)


def test_the_answer_names_what_it_beats_and_by_how_much(rng):
    """Independent noise: persistence errs by sqrt(2) of what the level does, so MASE is 0.71 against 1."""
    model = perfcore.fit(series(rng.normal(10.0, 1.0, 1000)), fitter="forecast", horizon=5, at="+5s")
    assert model.target == {"steps": 5}
    ours, persistence = model.mases(5)
    assert ours == pytest.approx(0.5**0.5, abs=0.1)
    assert persistence == pytest.approx(1.0, abs=0.15)
    report = model.report()
    assert report.answer.startswith("cpu in 5s: ")
    assert f"{1 - ours / persistence:.0%} below that of persistence (MASE {ours:.2f} against" in report.answer


@pytest.fixture(scope="module")
def by_host():
    """Hosts around 10 and 20, and one without samples."""
    noise = np.random.default_rng(3).normal(0.0, 1.0, (2, 300))
    columns = {"cpu (host a)": 10.0 + noise[0], "cpu (host b)": 20.0 + noise[1], "cpu (host c)": np.full(300, np.nan)}
    return perfcore.fit(Series(np.arange(300), columns, "s"), fitter="forecast", by="host", horizon=4, at="+2s")


def test_each_value_of_a_column_gets_a_forecast(by_host, tmp_path):
    assert list(by_host.unfitted) == ["c"]
    predicted = by_host.predict_array({"steps": [1, 4, 2], "host": ["a", "b", "b"]}, 0.95)
    assert predicted[:, 0] == pytest.approx([10.0, 20.0, 20.0], abs=0.5)
    np.testing.assert_allclose(np.ptp(predicted[:, 1:], axis=1), 2 * 1.96, rtol=0.35)
    by_host.save(tmp_path / "hosts.json")
    assert perfcore.load(tmp_path / "hosts.json") == by_host
    report = by_host.report()
    assert report.answer.startswith("cpu in 2s, highest of 2 for host b: ")
    assert report.figures[0].value == predicted[2, 0]
    assert [row["host"] for row in report.brief_tables[0].frame().to_dict("records")] == ["b", "a"]
    assert any(note.text.startswith("c: ") for note in report.notes)
    with pytest.raises(OptionError, match="unknown host 'd'"):
        by_host.predict({"steps": 1, "host": ["d"]})


def test_far_ahead_means_are_forecast(rng):
    model = perfcore.fit(series(rng.normal(10.0, 1.0, 2500)), fitter="forecast", horizon=1, at="+10min")
    assert (model.averaged, model.step, model.at) == (10, 10.0, 60)
    _, lower, upper = model.predict_array([60], 0.95)[0]
    assert upper - lower == pytest.approx(2 * 1.96 / 10**0.5, rel=0.3)


def test_the_mean_of_a_run_spreads_less_than_single_samples(rng):
    """Of 16 independent samples a quarter as much."""
    levels, quantiles = mean_ahead(rng.normal(10.0, 2.0, 3000), 16, (-np.inf, np.inf))
    low, high = np.interp([0.1, 0.9], levels, quantiles)
    assert high - low == pytest.approx(2 * 1.2816 * 2.0 / 4.0, rel=0.25)


# Predictors: each against its definition in plain Python, and the choice between them.
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
    after = one_step_forecasts(changed)
    for name, forecast in one_step_forecasts(VALUES).items():
        np.testing.assert_array_equal(forecast[:61], after[name][:61], err_msg=name)


def test_adaptive_windows_shorten_when_the_level_changes():
    values = np.concatenate([RNG.normal(0, 1, 300), RNG.normal(50, 1, 30)])
    found = one_step_forecasts(values)
    # Ten samples after the change a window of 50 still mixes both levels; the adaptive one has left it.
    assert abs(found["mean of 50"][310] - 50) > 20
    assert abs(found["adaptive mean"][310] - 50) < 2
    assert abs(found["adaptive median"][310] - 50) < 2


def test_adaptive_windows_are_those_with_the_least_recent_error():
    """Squared errors of the samples known so far, each weighing 0.9 of the one after it."""
    windows, values = (5, 10, 20, 50), VALUES.tolist()
    forecasts = {w: [0.0, *(statistics.fmean(values[max(0, k - w) : k]) for k in range(1, 121))] for w in windows}
    found = one_step_forecasts(VALUES)["adaptive mean"]
    for k in range(2, 121):
        weights = [0.9 ** (k - 1 - j) for j in range(1, k)]
        errors = {
            w: sum(weight * (forecasts[w][j] - values[j]) ** 2 for j, weight in enumerate(weights, 1)) for w in windows
        }
        assert found[k] == pytest.approx(forecasts[min(windows, key=errors.__getitem__)][k], abs=1e-9), k


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


def test_damped_trends_by_their_recursion():
    """E. S. Gardner and E. McKenzie (1985), equations 1 to 3, in plain Python."""
    level, trend = VALUES[0], 0.0
    for value in VALUES[1:]:
        before, expected = level, level + 0.9 * trend
        level = 0.3 * value + 0.7 * expected
        trend = 0.1 * (level - before) + 0.9 * 0.9 * trend
    expected = [level + sum(0.9**k for k in range(1, steps + 1)) * trend for steps in range(1, 6)]
    np.testing.assert_allclose(damped_trend(VALUES, 0.3, 0.1, 0.9, 5)[:, -1], expected, rtol=1e-8)


def test_theta_as_statsmodels_does_it():
    fitted = ThetaModel(VALUES, period=1, deseasonalize=False).fit()
    found = theta(VALUES, fitted.params["alpha"], 5, len(VALUES) - 1)[:, 0]
    np.testing.assert_allclose(found, fitted.forecast(5), rtol=1e-6)


def test_a_season_is_continued_by_what_came_at_the_same_place():
    values = np.tile([1.0, 5.0, 2.0, 7.0, 3.0], 8)
    found = forecasts_ahead(values, 7, (5,), 30)
    expected = [[values[origin + steps - 10] for origin in range(30, 40)] for steps in range(1, 8)]
    for name, forecast in found.items():
        if name.startswith("season"):
            np.testing.assert_allclose(forecast, expected, err_msg=name)


def test_a_season_with_drift_by_its_definition():
    """The last known sample at the same place of the season, and what the series has been off it lately, fading out."""
    found = forecasts_ahead(VALUES, 7, (5,), 60)["season of 5, mean of 1, off by smoothing 0.5, 0.9 kept"]
    values = VALUES.tolist()
    lately = [0.0] * 5 + [values[5] - values[0]]
    for at in range(6, 120):
        lately.append(0.5 * lately[-1] + 0.5 * (values[at] - values[at - 5]))
    for origin in (60, 87, 119):
        expected = [values[origin + k - 5 * math.ceil(k / 5)] + 0.9**k * lately[origin] for k in range(1, 8)]
        np.testing.assert_allclose(found[:, origin - 60], expected, rtol=1e-9, atol=1e-9)


def test_no_moving_forecast_knows_what_comes_after():
    changed = VALUES.copy()
    changed[100:] += 100.0
    before, after = (forecasts_ahead(values, 9, (7,), 20) for values in (VALUES, changed))
    for name, forecast in before.items():
        np.testing.assert_array_equal(forecast[:, :80], after[name][:, :80], err_msg=name)


def test_no_autoregression_knows_the_next_sample():
    """Whatever comes behind an origin, its forecasts stay; of origins in sequence, so that fits are among them."""
    before = autoregression(VALUES, [1, 2], 2, 60)
    for cut in range(90, 100):
        changed = VALUES.copy()
        changed[cut:] += 100.0
        after = autoregression(changed, [1, 2], 2, 60)
        np.testing.assert_array_equal(before[:, : cut - 60], after[:, : cut - 60])


# Distributions of what may come: samples, quantiles, scores, and how wide they are made.
RNG_OF_DISTRIBUTIONS = np.random.default_rng(11)
NO_BOUNDS = (-np.inf, np.inf)


def test_the_score_of_samples_by_integration():
    """Gneiting and Raftery (2007), equation 20: the integral of the squared difference of distribution functions."""
    samples, actual = RNG_OF_DISTRIBUTIONS.normal(size=(1, 9)), np.array([0.4])
    points = sorted([*samples[0], 0.4])

    def difference(x):
        return (np.mean(samples <= x) - (x >= 0.4)) ** 2

    expected, _ = integrate.quad(difference, points[0], points[-1], points=points, limit=200)
    assert crps_of_samples(samples, actual)[0] == pytest.approx(expected, rel=1e-6)


def test_quantiles_of_many_samples_are_those_of_their_distribution():
    found = quantiles_of(RNG_OF_DISTRIBUTIONS.normal(size=200_000), np.ones(200_000), 0.0, NO_BOUNDS)
    inner = (LEVELS > 0.0) & (LEVELS < 1.0)
    np.testing.assert_allclose(found[inner], stats.norm.ppf(LEVELS[inner]), atol=0.03)


def test_weights_count_as_copies():
    once = quantiles_of(np.array([1.0, 2.0, 2.0, 2.0, 4.0, 4.0] * 50), np.ones(300), 0.0, NO_BOUNDS)
    weighted = quantiles_of(np.array([1.0, 2.0, 4.0] * 50), np.array([1.0, 3.0, 2.0] * 50), 0.0, NO_BOUNDS)
    np.testing.assert_allclose(once[3:-3], weighted[3:-3], atol=0.05)


def test_rounded_values_stand_for_what_is_rounded_to_them():
    rounded = np.round(RNG_OF_DISTRIBUTIONS.uniform(0.0, 1.0, 5000), 1)
    assert resolution_of(rounded) == pytest.approx(0.1)
    found = quantiles_of(rounded, np.ones(5000), 0.1, (0.0, np.inf))
    np.testing.assert_allclose(found[6:-5], LEVELS[6:-5], atol=0.03)
    idle = quantiles_of(np.r_[np.zeros(90), np.ones(10)], np.ones(100), 1.0, (0.0, np.inf))
    assert idle[LEVELS <= 0.85].max() == 0.0  # at a bound a value keeps its probability
    assert resolution_of(RNG_OF_DISTRIBUTIONS.normal(size=100)) == 0.0


def test_how_central_a_value_is():
    quantiles = np.where(LEVELS < 0.3, 5.0 * LEVELS, 2.0)  # 2 has the probability 0.7
    assert centrality(quantiles, 2.0) == 0.0
    assert centrality(quantiles, 0.5) == pytest.approx(0.8)
    assert centrality(quantiles, -1.0) == centrality(quantiles, 3.0) == 1.0


@pytest.mark.parametrize("true", [0.8, 1.2])
def test_what_is_too_wide_or_too_narrow_is_found_and_mended(true):
    places = RNG_OF_DISTRIBUTIONS.uniform(size=4000) ** (1.0 / true)  # intervals of coverage c hold c^g
    found = dispersion_of(places)
    assert found == pytest.approx(true, abs=0.04)
    mended = redispersed(2.0 * LEVELS - 1.0, found)
    for coverage in (0.5, 0.8):
        assert np.mean(places <= np.interp(0.5 + 0.5 * coverage, LEVELS, mended)) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("carried", ["errors", "scaled errors", "values"])
@pytest.mark.parametrize("nearest", [None, 5])
def test_no_sample_knows_what_comes_after_its_origin(carried, nearest):
    values = RNG_OF_DISTRIBUTIONS.normal(size=80)
    forecasts, origins = np.concatenate([[0.0], values[:-1]]), np.array([50, 60])
    changed, changed_forecasts = values.copy(), forecasts.copy()
    changed[61:], changed_forecasts[61:] = 99.0, 99.0
    resampling = Resampling(carried, 20, nearest)
    before, after = (np.append(each[3:], [np.nan] * 3) for each in (values, changed))
    found = resampling.samples(forecasts, before, origins, 3, 0)
    np.testing.assert_allclose(found, resampling.samples(changed_forecasts, after, origins, 3, 0), rtol=1e-9)
    assert found.shape == (2, 20 if nearest is None else 5)


def test_the_most_alike_forecasts_say_what_follows():
    values = np.tile([0.0, 10.0], 40)
    samples = Resampling("values", 50, 10).samples(values, np.roll(values, -1), np.array([70, 71]), 1, 0)
    assert (samples == [[10.0], [0.0]]).all()


# Seasons: found where there are some, and nowhere else.
NOISE = np.random.default_rng(21).normal(size=(5, 4000))
AT = np.arange(4000)


@pytest.mark.parametrize(
    ("lengths", "shape"),
    [
        ((24,), np.sin(2 * np.pi * AT / 24)),
        ((48,), (AT % 48 < 16) * 2.0),
        ((24, 168), (AT % 24 < 8) * 3.0 * (AT % 168 < 120)),
        ((288,), 2.0 * (AT % 288 < 96)),
    ],
)
def test_seasons_in_noise(lengths, shape):
    for noise in NOISE[:2]:
        assert find_seasons(shape + noise) == pytest.approx(lengths, rel=0.01)


@pytest.mark.parametrize(
    "series",
    [
        lambda noise: noise,
        np.cumsum,
        lambda noise: AT / 300 + noise,
        lambda noise: lfilter([1.0], [1.0, -0.9], noise),
        lambda noise: lfilter([1.0], [1.0, -1.6, 0.8], noise),  # swings without a fixed length
        lambda noise: np.where(noise > 2.0, np.exp(noise), 0.0),
    ],
)
def test_no_season_is_invented(series):
    assert [find_seasons(series(noise)) for noise in NOISE] == [()] * len(NOISE)


def test_too_few_or_equal_samples_have_none():
    assert find_seasons(np.tile([1.0, 2.0, 3.0, 4.0], 9)) == ()
    assert find_seasons(np.ones(500)) == ()


@pytest.mark.real_data
def test_taxi_passengers_have_days_and_weeks(real_data):
    passengers = pd.read_csv(real_data / "timeseries/nyc_taxi.csv")["value"]
    assert find_seasons(passengers) == (48, 336)
