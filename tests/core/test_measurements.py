"""Measurements: named columns that exist."""

import pandas as pd
import pytest

from perfcore import Measurements
from perfcore.errors import DataError, UnknownNameError


@pytest.fixture
def runs():
    return pd.DataFrame({"p": [1, 2, 4], "code": ["lu", "lu", "cg"], "time_s": [8.0, 4.1, 2.2]})


def test_says_what_was_measured_over_what(runs):
    assert (
        repr(Measurements(runs, ["p", "code"], "time_s", unit="s")) == "Measurements(3 rows, time_s [s] over p, code)"
    )
    assert repr(Measurements(runs, ["p"], "time_s")) == "Measurements(3 rows, time_s over p)"


def test_the_table_is_a_copy(runs):
    measurements = Measurements(runs, ["p"], "time_s")
    runs.loc[0, "time_s"] = 99.0
    assert measurements.table["time_s"].tolist() == [8.0, 4.1, 2.2]


def test_unknown_columns_are_refused_with_the_nearest(runs):
    with pytest.raises(UnknownNameError, match="unknown column 'cod': did you mean 'code'"):
        Measurements(runs, ["p", "cod"], "time_s")
    with pytest.raises(UnknownNameError, match="did you mean 'time_s'"):
        Measurements(runs, ["p"], "times")


def test_a_table_without_rows_is_refused(runs):
    with pytest.raises(DataError, match=r"runs.csv: the table has no rows"):
        Measurements(runs[:0], ["p"], "time_s", source="runs.csv")
