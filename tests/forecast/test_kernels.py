"""The kernels of forecasts: predictors by their definitions and statsmodels, scores by integration, seasons."""

import math
import re
import statistics

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.signal import lfilter
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.holtwinters import SimpleExpSmoothing

from perf_forecast.options import support_of
from perf_forecast.predictors import (
    LEVELS,
    Candidate,
    Mixer,
    Resampling,
    _crps,
    autoregression,
    centrality,
    crps_of_samples,
    damped_trend,
    dispersion_of,
    find_seasons,
    forecasts_ahead,
    mean_of_cycles,
    one_step_forecasts,
    quantiles_of,
    redispersed,
    resolution_of,
    theta,
)

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


@pytest.mark.parametrize(("name", "windows"), [("mean", (5, 10, 20, 50)), ("median", (5, 11, 21, 51))])
def test_adaptive_windows_are_those_with_the_least_recent_error(name, windows):
    """Squared errors of the samples known so far, each weighing 0.9 of the one after it."""
    values, middle = VALUES.tolist(), getattr(statistics, name)
    forecasts = {w: [0.0, *(middle(values[max(0, k - w) : k]) for k in range(1, 121))] for w in windows}
    found = one_step_forecasts(VALUES)[f"adaptive {name}"]
    for k in range(2, 121):
        weights = [0.9 ** (k - 1 - j) for j in range(1, k)]
        errors = {
            w: sum(weight * (forecasts[w][j] - values[j]) ** 2 for j, weight in enumerate(weights, 1)) for w in windows
        }
        assert found[k] == pytest.approx(forecasts[min(windows, key=errors.__getitem__)][k], abs=1e-9), k


@pytest.mark.parametrize("count", [10, 11, 12])
def test_trimmed_means_of_about_one_window(count):
    found = one_step_forecasts(VALUES[:count])["trimmed mean of 11"]
    assert found[1:] == pytest.approx([stats.trim_mean(VALUES[max(0, k - 11) : k], 0.3) for k in range(1, count + 1)])


def test_constant_samples_are_forecast_exactly():
    found = one_step_forecasts(np.full(70, 0.1))
    for name in ("last value", "running mean", "mean of 20", "median of 21", "smoothing 0.3"):
        assert (found[name][1:] == 0.1).all(), name


@pytest.mark.parametrize("count", [120, 2500])
def test_autoregressions_as_statsmodels_does_them(count):
    """Of the last 2000 samples, and what lies before these."""
    lags, values = [1, 2, 5], np.cumsum(np.random.default_rng(8).normal(0, 1, count))
    fitted = AutoReg(values[-2005:], lags).fit()
    # Of the last origin alone, so that the coefficients are those of all samples.
    found = autoregression(values, lags, 4, count - 1)
    np.testing.assert_allclose(found[:, 0], fitted.forecast(4), rtol=1e-8)


def test_autoregressions_know_enough_and_do_not_leave_what_was_seen_far_behind():
    """Three rows for each coefficient behind the longest lag; of 1, 2, 4 ... at most the range more than the last."""
    assert np.isnan(autoregression(VALUES, [1, 2, 5], 1, 0)[0]).sum() == 5 + 3 * 4
    assert autoregression(2.0 ** np.arange(20), [1], 3, 19)[:, 0] == pytest.approx([2.0**20 - 1] * 3)
    assert autoregression(-(2.0 ** np.arange(20)), [1], 3, 19)[:, 0] == pytest.approx([1 - 2.0**20] * 3)


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


@pytest.mark.parametrize("count", [6, 7, 40])
def test_means_of_cycles_by_their_definition(count):
    values = VALUES[:count].tolist()
    found = mean_of_cycles(np.array(values), 3, 2)
    for at in range(count + 3):
        before = [values[at - place] for place in (3, 6) if 0 <= at - place < count]
        assert found[at] == pytest.approx(statistics.fmean(before) if before else math.nan, nan_ok=True), at


def test_gains_are_shares_and_medians_are_samples():
    """A gain or a share kept above 1 makes a forecast that explodes; the median of an even window is no sample."""
    names = list(forecasts_ahead(VALUES, 1, (7,), 60))
    for name in names:
        if re.match("smoothing|damped|theta|season", name) and "off by" not in name:
            assert all(0.0 < float(number) <= 1.0 for number in re.findall(r"[0-9]\.[0-9]+", name)), name
        if "off by" in name:
            gain, kept = re.search(r"smoothing ([0-9.]+), ([0-9.]+) kept", name).groups()
            assert 0.0 < float(gain) <= 1.0 >= float(kept) > 0.0, name
        if "median of" in name or "trimmed" in name:
            assert int(name.split()[-1]) % 2 == 1, name
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "lags"), [
    ("autoregression of 4", [1, 2, 3, 4]), ("autoregression of 3 and 1 season of 7", [1, 2, 3, 6, 7, 8]),
    ("autoregression of 3 and 2 seasons of 7", [1, 2, 3, 6, 7, 8, 13, 14, 15]),
])  # fmt: skip
def test_autoregressions_have_the_lags_that_they_are_called_by(name, lags):
    """Of a season its length, and one sample more or less."""
    np.testing.assert_allclose(forecasts_ahead(VALUES, 3, (7,), 60)[name], autoregression(VALUES, lags, 3, 60))


@pytest.mark.parametrize(("actual", "expected"), [(-0.3, 0.3 + 1 / 3), (0.2, 0.2**2 - 0.2 + 1 / 3), (1.3, 1.3 - 2 / 3)])
def test_the_score_of_quantiles_of_a_uniform_distribution(actual, expected):
    """Gneiting and Raftery's integral, which is y^2 - y + 1/3 within 0 and 1."""
    assert _crps(LEVELS, actual) == pytest.approx(expected, abs=0.003)


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
    assert found[[0, -1]] == pytest.approx(stats.norm.ppf([5e-4, 1 - 5e-4]), abs=0.1)  # in place of infinite ones


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
    assert [resolution_of(np.array(values)) for values in ([3, 7, 3, 7.0], [5, 5, 5.0], [1, 2, 4.0])] == [4.0, 0.0, 0.0]


def test_quantiles_of_symmetric_samples_are_symmetric():
    """Also of rounded ones, each of which stands for the values half a step to either side."""
    for samples in ([1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0]):
        found = quantiles_of(np.array(samples), np.ones(len(samples)), 1.0, NO_BOUNDS)
        np.testing.assert_allclose(found + found[::-1], 2.0 * np.median(samples), atol=1e-9)


def test_a_quarter_lies_outside_of_three_samples():
    """One in n + 1, half of it on each side, and between them each sample has as much: 1/4, 1/2 and 3/4."""
    found = quantiles_of(np.array([-1.0, 0.0, 1.0]), np.ones(3), 0.0, NO_BOUNDS)
    np.testing.assert_allclose(np.interp([0.25, 0.5, 0.75], LEVELS, found), [-1.0, 0.0, 1.0], atol=1e-12)


def test_how_central_a_value_is():
    quantiles = np.where(LEVELS < 0.3, 5.0 * LEVELS, 2.0)  # 2 has the probability 0.7
    assert centrality(quantiles, 2.0) == 0.0
    assert centrality(quantiles, 0.5) == pytest.approx(0.8)
    assert centrality(quantiles, -1.0) == centrality(quantiles, 3.0) == 1.0


@pytest.mark.parametrize(("places", "expected"), [([0.6] * 30, 0.55 / 0.45), ([0.0] * 90, 0.75), ([1.0] * 90, 4 / 3)])
def test_the_dispersion_of_few_is_half_believed(places, expected):
    """The mean place is m = g / (1 + g), with thirty at 1/2 besides; widths are changed by a third at most."""
    assert dispersion_of(np.array(places)) == pytest.approx(expected)


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


def test_errors_are_scaled_by_how_large_they_were_lately():
    """Each absolute error weighs 0.95 of the one after it; a thousandth of the mean of all is added."""
    values = RNG_OF_DISTRIBUTIONS.normal(size=60) * np.linspace(0.1, 0.3, 60)
    forecasts, outcomes = np.concatenate([[0.0], values[:-1]]), np.append(values[1:], np.nan)
    errors = (outcomes - forecasts).tolist()

    def scale(origin):
        known = np.abs(errors[:origin])
        return np.average(known, weights=0.95 ** np.arange(origin)[::-1]) + 0.001 * known.mean()

    found = Resampling("scaled errors", 20).samples(forecasts, outcomes, np.array([50]), 1, 0)
    expected = [forecasts[50] + errors[at] * scale(50) / scale(at) for at in range(49, 29, -1)]
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)


def test_the_most_alike_forecasts_say_what_follows():
    values = np.tile([0.0, 10.0], 40)
    samples = Resampling("values", 50, 10).samples(values, np.roll(values, -1), np.array([70, 71]), 1, 0)
    assert (samples == [[10.0], [0.0]]).all()


def test_of_equally_alike_forecasts_the_latest_count():
    found = Resampling("values", 20, 5).samples(np.zeros(80), np.arange(80.0), np.array([70]), 1, 0)
    assert sorted(found[0]) == [65.0, 66.0, 67.0, 68.0, 69.0]


def test_a_choice_is_judged_by_the_later_half_of_its_origins():
    """Outcomes are 1 from the 300th on and forecasts 0: the last 64 of the 128 origins held out are off by 1."""
    mixer = Mixer({"last value": np.zeros(400)}, (np.arange(400) >= 300) * 1.0, 1, 0.0, NO_BOUNDS)
    assert mixer.choose(["last value"]).errors["last value"] == 1.0


class Recorded(Mixer):
    """A mixture that keeps the origins that judge it."""

    def scored(self, origins):
        object.__setattr__(self, "origins", origins)
        return super().scored(origins)


@pytest.mark.parametrize(("count", "steps", "first", "apart"), [
    (400, 1, 398 - 127, 1), (3000, 1, 2998 - 8 * 127, 8), (1200, 1, 1198 - 4 * 127, 4), (12, 1, 9, 1), (30, 2, 15, 1),
])  # fmt: skip
def test_judges_are_the_last_128_origins_of_the_later_half_up_to_8_apart(count, steps, first, apart):
    """Each has eight errors before it; the last one has an outcome that is known."""
    mixer = Recorded({"last value": np.zeros(count)}, np.zeros(count), steps, 0.0, NO_BOUNDS)
    mixer.choose()
    assert mixer.origins.tolist() == list(range(first, count - steps, apart))


def test_without_a_judge_the_last_value_is_as_wide_as_its_errors():
    choice = Mixer({"last value": np.zeros(9)}, np.arange(9.0), 1, 0.0, NO_BOUNDS).choose()
    assert [each.name for each in choice.candidates] == ["last value; errors of the last 1000"]
    assert (choice.dispersion, choice.judged, choice.errors) == (1.0, 0, {})
    assert all(map(math.isnan, (choice.crps, *choice.held)))


def test_the_six_best_predictors_and_the_last_value_are_tried_with_each_resampling():
    outcomes = RNG_OF_DISTRIBUTIONS.normal(size=1200)
    forecasts = {"last value": outcomes + 99.0} | {f"off by {k}": outcomes + k for k in range(9)}
    candidates, scores = Mixer(forecasts, outcomes, 1, 0.0, NO_BOUNDS).scored(np.arange(1100, 1190))
    assert scores.shape == (56, 90)
    tried = {}
    for candidate in candidates:
        tried.setdefault(candidate.predictor, []).append(candidate.name.partition("; ")[2])
    assert list(tried) == [*(f"off by {k}" for k in range(6)), "last value"]
    assert set(map(tuple, tried.values())) == {(
        "errors of the last 50", "errors of the last 300", "errors of the last 1000", "scaled errors of the last 1000",
        "errors at the 30 most alike forecasts of 1000", "errors at the 100 most alike forecasts of 1000",
        "what followed at the 30 most alike forecasts of 1000", "what followed at the 100 most alike forecasts of 1000",
    )}  # fmt: skip


def test_candidates_are_mixed_evenly_however_many_samples_they_have():
    """Five samples of 0, and fifty of which five are 0: 0 has the probability 0.55."""
    mixer = Mixer({"last value": np.zeros(80)}, (np.arange(80) < 65) * 1.0, 1, 0.0, NO_BOUNDS)
    candidates = [Candidate("last value", Resampling("values", window)) for window in (5, 50)]
    (found,) = mixer.mixed(candidates, np.array([70]))
    assert found[LEVELS == 0.5] == 0.0
    assert found[LEVELS == 0.6] == 1.0


# Seasons: found where there are some, and nowhere else.
NOISE = np.random.default_rng(21).normal(size=(5, 4000))
AT = np.arange(4000)


@pytest.mark.parametrize(("lengths", "shape"), [
    ((24,), np.sin(2 * np.pi * AT / 24)), ((48,), (AT % 48 < 16) * 2.0),
    ((24, 168), (AT % 24 < 8) * 3.0 * (AT % 168 < 120)), ((288,), 2.0 * (AT % 288 < 96)),
])  # fmt: skip
def test_seasons_in_noise(lengths, shape):
    for noise in NOISE[:2]:
        assert find_seasons(shape + noise) == pytest.approx(lengths, rel=0.01)


@pytest.mark.parametrize("series", [
    lambda noise: noise, np.cumsum, lambda noise: AT / 300 + noise, lambda noise: lfilter([1.0], [1.0, -0.9], noise),
    lambda noise: lfilter([1.0], [1.0, -1.6, 0.8], noise),  # swings without a fixed length
    lambda noise: (
        np.sin(2 * np.pi * np.cumsum(1 / (30 + 10 * np.sin(AT / 300)))) + 0.3 * noise
    ),  # of a changing one
    lambda noise: np.where(noise > 2.0, np.exp(noise), 0.0),
])  # fmt: skip
def test_no_season_is_invented(series):
    assert [find_seasons(series(noise)) for noise in NOISE] == [()] * len(NOISE)


def test_a_season_must_have_been_seen_ten_times():
    """A week of 168 hours needs 1,680 of them, a day of 24 has been seen often."""
    week = (AT % 24 < 8) * 3.0 * (AT % 168 < 120) + 0.3 * NOISE[0]
    assert find_seasons(week[:1679]) == (24,)
    assert find_seasons(week[:1680]) == (24, 168)
    assert find_seasons(week[:239]) == ()
    assert find_seasons(week[:240]) == (24,)


def test_too_few_or_equal_samples_have_none():
    assert find_seasons(np.tile([1.0, 2.0, 3.0, 4.0], 9)) == ()
    assert find_seasons(np.ones(500)) == ()


@pytest.mark.parametrize(("values", "within", "name", "expected"), [
    ([0.1, 0.9], "auto", ("cpu all busy", "x.csv"), (0.0, 1.0)),
    ([3.0, 99.0], "auto", ("value", "ec2_cpu_utilization.csv"), (0.0, 100.0)),
    ([3.0, 399.0], "auto", ("cpu %", "x.csv"), (0.0, np.inf)), ([3.0, 99.0], "auto", ("bytes", "x.csv"), (0.0, np.inf)),
    ([-3.0, 99.0], "auto", ("cpu %", "x.csv"), (-np.inf, np.inf)),
    ([3.0, 99.0], "none", ("cpu %", "x.csv"), (-np.inf, np.inf)),
    ([3.0, 99.0], "0,120", ("cpu %", "x.csv"), (0.0, 120.0)),
])  # fmt: skip
def test_supports(values, within, name, expected):
    assert support_of(values, within, " ".join(name))[0] == expected
