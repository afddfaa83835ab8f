"""The fitter `forecast`: distributions of the next values, horizons, bounds, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import perfcore
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
    walk = np.cumsum(rng.normal(0.0, 1.0, 2500))
    model = perfcore.fit(series(walk), fitter="forecast", horizon=16, window="all", within="none")
    middle, low, high = model.predict_array([1, 4, 16], 0.8).T
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


def test_the_later_half_of_the_samples_judges_what_the_first_of_them_choose(rng):
    """Of 40 samples those after the 20th to the 38th, and of these 19 the last ten."""
    assert forecast(rng.normal(size=40), horizon=1).ahead[0].judged == 10


def test_the_value_is_a_histogram_with_the_same_quantiles(rng):
    model = forecast(rng.exponential(2.0, 300), horizon=2)
    value = model.value(2)
    assert value.central_interval(0.8) == pytest.approx(tuple(model.predict_array([2], 0.8)[0, 1:]))
    assert value.support[0] >= 0.0


def test_no_value_outside_of_its_support(rng):
    busy = np.clip(rng.normal(0.9, 0.2, 400), 0.0, 1.0)
    at = np.array([ahead.quantiles for ahead in forecast(busy, within="0,1", horizon=4).ahead])
    assert at.min() >= 0.0
    assert at.max() == 1.0


@pytest.mark.parametrize(("values", "options", "error", "message"), [
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
])  # fmt: skip
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


@pytest.mark.real_data
def test_taxi_passengers_have_days_and_weeks(real_data):
    passengers = pd.read_csv(real_data / "timeseries/nyc_taxi.csv")["value"].to_numpy()
    assert perfcore.fit(series(passengers), fitter="forecast", window="all", horizon=1).seasons == (48, 336)
