"""Facts about data, as `perf info` prints them."""

import pandas as pd
import pytest

from perfcore import Measurements, Series, Trace, UtilizationCurve
from perfcore.describe import describe


def test_a_curve():
    facts = describe(UtilizationCurve([0, 1000, 3000], [2, 5], n_locations=8, notes=["2 events passed over"]), "x.csv")
    assert facts["kind"] == "utilization curve"
    # (1000 * 2 + 2000 * 5) / 3000 = 4.
    assert (facts["steps"], facts["mean"], facts["highest"]) == (2, 4.0, 5.0)
    assert (facts["start"], facts["duration"]) == ("0 ns", "3 ms")
    assert facts["mean utilization"] == "0.500 of 8"
    assert facts["notes"] == ["2 events passed over"]
    assert all(command.startswith("perf ") and "x.csv" in command for command in facts["next"])


def test_a_trace():
    trace = Trace([0, 1], [0, 1], [0, 0], [4000, 4000], ["cpu0", "cpu1"], ["run", "idle"])
    facts = describe(trace, "x.prv")
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 2, 2)
    assert (facts["states"], facts["busy"]) == (["run", "idle"], ["run"])
    assert (facts["mean utilization"], facts["steps"]) == ("0.500 of 2", 1)
    assert "notes" not in facts


def test_a_trace_without_a_curve_is_described_all_the_same():
    facts = describe(Trace([0], [0], [7], [7], ["cpu0"], ["run"]), "x.prv")
    assert facts["intervals"] == 1
    assert facts["curve"] == "none: trace: the trace has no duration"


def test_a_series_says_how_to_choose_a_column():
    facts = describe(Series([0, 1], {"user": [1, 2], "system": [3, 4]}, "s"), "x.csv")
    assert (facts["kind"], facts["samples"], facts["columns"]) == ("time series", 2, ["user", "system"])
    assert facts["next"] == ["perf fit x.csv --fitter worley --column 'user' --plot phases.png"]
    assert "perf fit x.csv" in describe(Series([0, 1], {"user": [1, 2]}, "s"), "x.csv")["next"][0]


def test_measurements():
    runs = pd.DataFrame({"p": [1, 2], "seconds": [8.0, 4.1]})
    facts = describe(Measurements(runs, ["p"], "seconds"), "runs.csv")
    assert (facts["kind"], facts["rows"], facts["parameters"], facts["value"]) == ("measurements", 2, ["p"], "seconds")


@pytest.mark.parametrize("data", [[1, 2], None])
def test_anything_else_is_named_by_its_type(data):
    assert describe(data, "x")["kind"] == type(data).__name__
