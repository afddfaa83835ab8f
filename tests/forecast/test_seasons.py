"""Seasons: found where there are some, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from perf_forecast.predictors import find_seasons

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
