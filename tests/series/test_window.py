"""The window of a series, and durations."""

import numpy as np
import pytest

import perfcore
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, UnknownNameError


def take_window(data, length="5min", **options):
    return perfcore.value(data, window=length, **options).window


def every_second(n, unit="s", factor=1):
    return Series(np.arange(n) * factor, {"cpu": np.arange(n) / n}, unit, source="x.csv")


def test_five_minutes_by_default():
    window = take_window(every_second(1000))
    assert window.times.tolist() == list(range(700, 1000))
    assert window.values[0] == 0.7
    assert (window.column, window.time_unit, window.missing) == ("cpu", "s", 0)


def test_of_several_columns_the_first_that_holds_a_value():
    data = Series([0, 1, 2], {"gap": [np.nan] * 3, "step": [5, 6, 7], "cpu": [1, 2, 2], "disk": [3, 4, 3]})
    with progress.collected() as notes:
        assert take_window(data).column == "cpu"
    assert notes == ["column: cpu (of 4; set with --column)"]
    assert data.curve().heights.tolist() == [1.0, 2.0, 2.0]
    assert take_window(data, column="disk").column == "disk"


def test_until_a_date():
    """Of UTC unless it says otherwise, also where times count in another unit."""
    hours = Series(1_700_006_400_000 + 3_600_000 * np.arange(72), {"a": np.arange(72.0)}, "ms")  # from 2023-11-15 on
    assert take_window(hours, "12h", until="2023-11-16 06:00").values.tolist() == list(range(19, 31))
    assert take_window(hours, "1d", until="2023-11-17T01:00+02:00").values.tolist() == list(range(24, 48))


def test_missing_and_infinite_samples_are_left_out_and_counted():
    window = take_window(Series([0, 1, 2, 3], {"a": [1.0, np.nan, np.inf, 4.0]}, source="x.csv"), "all")
    assert (window.values.tolist(), window.missing) == ([1.0, 4.0], 2)
    assert window.describe() == "2 samples, 2 missing of 'a' over 3 s, from x.csv"


def test_a_curve_is_the_series_of_its_heights():
    curve = UtilizationCurve(np.arange(31.0), np.arange(30.0), "s")
    assert take_window(curve, "20s").values.tolist() == np.arange(10.0, 30.0).tolist()


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (Series([], {"a": []}, source="x.csv"), {}, DataError, "x.csv: the series has no samples"),
        (Series([0, 900], {"a": [1, np.nan]}, source="x.csv"), {}, DataError,
         "no value of 'a' in the 5min until 900 s; the last one before is at 0 s; give a longer window="),
        (Series([0, 900], {"a": [np.nan, np.nan]}), {"length": "all"}, DataError, "900 s; it has none at all"),
        (Series([10], {"a": [1]}), {"until": 5}, DataError, "until 5 s; the first one is at 10 s; give a later"),
        (Series([1_700_000_000], {"a": [1]}), {"until": "2023-11-14"}, DataError,
         "in the 5min until 2023-11-14 00:00:00; the first one is at 2023-11-14 22:13:20; give a later to="),
        (every_second(2), {"until": "noon"}, OptionError, "to='noon': a number in the unit of the series, or a"),
        (every_second(2), {"column": "cpi"}, UnknownNameError, "did you mean 'cpu'"),
        (every_second(2), {"length": "5 minutes"}, OptionError, "duration '5 minutes': a positive number with one of"),
        (Trace([0], [0], [0], [1], ["a"], ["b"]), {}, DataError, "a series, not a trace"),
    ],
)  # fmt: skip
def test_what_is_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        take_window(data, **options)


@pytest.mark.parametrize(("text", "nanoseconds"), [
    ("1", 10**9), ("1.5ms", 1_500_000), (" 2 h ", 7200 * 10**9), ("1d", 86400 * 10**9), (".5us", 500), ("1ns", 1),
])  # fmt: skip
def test_durations(text, nanoseconds):
    """As many samples as fit, of twenty in each duration."""
    data = Series(np.arange(61) * (nanoseconds / 20), {"cpu": np.arange(61.0)}, "ns")
    assert len(take_window(data, text).values) == 20
