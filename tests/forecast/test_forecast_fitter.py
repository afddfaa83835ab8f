"""The fitter `forecast`: which predictor wins, the spread, horizons, and what is refused."""

import math

import numpy as np
import pytest

import perfcore
from perfcore import Series, UtilizationCurve
from perfcore.base.errors import DataError, ModelFileError, OptionError

RNG = np.random.default_rng(3)


def series(values, **facts):
    return Series(np.arange(len(values)), {"cpu": values}, "s", source="cpu.csv", **facts)


def forecast(values, **options):
    return perfcore.fit(series(values), fitter="forecast", **options)


def test_noise_around_a_level_is_forecast_by_a_long_mean():
    model = forecast(RNG.normal(10.0, 2.0, 2000))
    assert model.predictors[0].name == "running mean"
    assert model.forecast == pytest.approx(10.0, abs=0.15)  # three standard errors
    # Every sample is 2 from the mean, at any distance.
    assert model.spread == pytest.approx([2.0] * 30, abs=0.1)


def test_a_random_walk_is_forecast_by_its_last_value_and_spreads_by_the_root_of_the_steps():
    walk = np.cumsum(RNG.normal(0.0, 1.0, 20_000))
    model = forecast(walk)
    assert model.predictors[0].name == "last value"
    assert model.forecast == walk[-1]
    np.testing.assert_allclose(model.spread, np.sqrt(np.arange(1, 31)), rtol=0.1)


def test_outliers_let_a_median_win_by_absolute_errors():
    values = RNG.normal(1.0, 0.01, 1000)
    values[::25] = 30.0
    model = forecast(values, criterion="mae")
    assert "median" in model.predictors[0].name
    assert model.forecast == pytest.approx(1.0, abs=0.01)
    best = model.predictors[0]
    assert model.spread[0] == math.sqrt(math.pi / 2) * best.mae
    assert [p.mae for p in model.predictors] == sorted(p.mae for p in model.predictors)


def test_bounds_cover_as_they_promise():
    """On noise of known spread: 90% of the samples that follow lie within."""
    values = RNG.normal(5.0, 1.0, 6000)
    _, lower, upper = forecast(values[:3000]).predict([1], interval=0.9)[0]
    inside = np.mean((values[3000:] >= lower) & (values[3000:] <= upper))
    assert inside == pytest.approx(0.9, abs=0.02)


def test_the_frame_has_a_row_for_each_step_ahead():
    model = forecast(RNG.normal(5.0, 1.0, 50), horizon=4)
    frame = model.to_frame()
    np.testing.assert_array_equal(frame["time"], [50.0, 51.0, 52.0, 53.0])  # samples are at 0, 1, ..., 49 s
    np.testing.assert_array_equal(frame[["value", "lower", "upper"]], model.predict([1, 2, 3, 4], interval=0.95))
    assert tuple(frame["spread"]) == model.spread
    assert len(repr(model).splitlines()) <= 10


def test_equal_samples_are_a_point():
    model = forecast([0.3] * 10)
    assert model.predict([1], interval=0.95).tolist() == [[0.3, 0.3, 0.3]]
    assert model.statistics["mse"] == 0.0


def test_missing_samples_are_left_out():
    model = forecast([1.0, np.nan, 1.0, 1.0])
    assert (model.n_samples, model.n_missing, model.forecast) == (3, 1, 1.0)


def test_a_window_forgets_what_is_older():
    model = forecast([0.0] * 100 + [1.0] * 100, window="50s")
    assert (model.n_samples, model.forecast, model.spread[0]) == (50, 1.0, 0.0)


def test_choosing_with_hindsight_never_errs_more():
    model = forecast(RNG.normal(size=300) + np.sin(np.arange(300) / 9))
    assert model.predictors[0].mse <= model.chosen_anew.mse


def test_the_horizon_ends_where_the_samples_do():
    assert len(forecast([1.0, 2.0, 4.0, 3.0]).spread) == 2
    assert len(forecast(np.arange(50.0), horizon=5).spread) == 5


@pytest.mark.parametrize("steps", [0, 31, 1.5, np.nan])
def test_steps_that_are_none(steps):
    with pytest.raises(OptionError, match="whole numbers from 1 to 30 are expected"):
        forecast(np.arange(50.0)).predict([steps])


def test_curves_are_series_too():
    curve = UtilizationCurve([0, 1, 2, 3, 4], [1, 2, 1, 2], "s")
    assert perfcore.fit(curve, fitter="forecast").column == "value"


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        ([1.0, 2.0], {}, DataError, "2 samples of 'cpu'; a forecast needs 3 or more"),
        ([np.nan] * 4, {}, DataError, "no value of 'cpu'"),
        ([1.0] * 4, {"window": "soon"}, OptionError, "duration 'soon': a positive number with one of"),
        ([1.0] * 4, {"horizon": 0}, OptionError, "must be at least 1"),
        ([1.0] * 4, {"column": "cpi"}, OptionError, "did you mean 'cpu'"),
    ],
)
def test_what_is_refused(values, options, error, message):
    with pytest.raises(error, match=message):
        forecast(values, **options)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"time_unit": "s"', '"time_unit": "sec"', "time_unit 'sec' is none of"),
        ('"spread": [', '"spread": [-1.0, ', "spread -1.0: a standard deviation is not negative"),
    ],
)
def test_files_edited_by_hand(tmp_path, old, new, message):
    path = tmp_path / "model.json"
    forecast([1.0, 2.0, 4.0, 3.0]).save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        perfcore.load(path)
