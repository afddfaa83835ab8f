"""The time series: several columns, gaps, and one column as a curve."""

import numpy as np
import pytest

from perfcore import Series
from perfcore.base.errors import DataError, OptionError, UnknownNameError


def test_columns_and_gaps_are_kept():
    series = Series([0, 1, 5], {"user": [1, np.nan, 3], "system": [4, 5, 6]}, "ms", source="x.csv", notes=["a"])
    assert repr(series) == "Series(3 samples of user, system, from x.csv)"
    np.testing.assert_array_equal(series.columns["user"], [1, np.nan, 3])
    assert series.times.dtype == np.int64
    assert series.notes == ("a",)


def test_a_column_becomes_a_curve():
    series = Series([0, 1, 3], {"user": [1, 2, 3], "system": [4, 5, 6]}, "s", source="x.csv")
    curve = series.curve("system")
    # Widths 1 and 2: the median is 1.5, so whole times are rounded down.
    assert curve.edges.tolist() == [0, 1, 3, 4]
    assert curve.heights.tolist() == [4, 5, 6]
    assert (curve.time_unit, curve.source) == ("s", "x.csv (system)")


def test_the_column_must_be_named_among_several():
    series = Series([0, 1], {"user": [1, 2], "system": [4, 5]}, source="x.csv")
    with pytest.raises(OptionError, match=r"x.csv: name a column \(--column NAME\): user, system"):
        series.curve()
    with pytest.raises(UnknownNameError, match="did you mean 'user'"):
        series.curve("usr")


@pytest.mark.parametrize(
    ("times", "columns", "message"),
    [
        ([0, 1], {}, "no value column"),
        ([0, 1], {"a": [1]}, "column 'a' has 1 values for 2 times"),
        ([0, 2, 1], {"a": [1, 2, 3]}, "time 1 of sample 2 follows 2; times must increase"),
        ([0, 0], {"a": [1, 2]}, "time 0 of sample 1 follows 0"),
        ([0, np.nan], {"a": [1, 2]}, "time nan of sample 1; times must be finite"),
        ([0, np.inf], {"a": [1, 2]}, "time inf of sample 1"),
    ],
)
def test_what_is_no_series_is_refused(times, columns, message):
    with pytest.raises(DataError, match=message):
        Series(times, columns, source="x.csv")
