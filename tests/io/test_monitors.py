"""Monitors: shares of busy time from mpstat and sadf, and answers of Prometheus."""

import datetime
import json

import numpy as np
import pytest
from format_samples import MPSTAT, PROMETHEUS, SADF_JSON, SADF_TABLE

import perfcore
from perfcore.base.errors import InputError

FILE = "load.json"

FIRST = datetime.datetime(2019, 4, 18, 13, 20, 19, tzinfo=datetime.UTC).timestamp()


def sample(timestamp, **percent):
    return {"timestamp": timestamp, "cpu-load": [{"cpu": "all", "idle": 40.0, "usr": 60.0, **percent}]}


def test_busy_is_neither_idle_nor_waiting_for_io(read):
    series = read(MPSTAT)
    assert list(series.columns) == ["cpu all busy", "cpu 0 busy", "cpu 1 busy"]
    # 100 - 20 idle - 20 iowait, and 100 - 75.
    np.testing.assert_allclose(series.columns["cpu all busy"], [0.6, 0.25])
    # One sample lacks processor 0; all shares of processor 1 are zero: it is offline.
    np.testing.assert_array_equal(series.columns["cpu 0 busy"], [1.0, np.nan])
    np.testing.assert_array_equal(series.columns["cpu 1 busy"], [np.nan, np.nan])
    assert series.time_unit == "s"
    assert series.notes == ("recorded on node7, 11/21/26; times count from midnight",)


def test_several_midnights(read):
    samples = [sample(f"{hour % 24:02}:00:00") for hour in range(0, 60, 6)]
    series = read(json.dumps({"sysstat": {"hosts": [{"nodename": "n", "statistics": samples}]}}))
    assert series.times.tolist() == [3600 * hour for hour in range(0, 60, 6)]


@pytest.mark.parametrize(("old", "new", "problem"), [
    ('"usr": 90.00', '"usr": 90.0.0', r":8: is not the output of mpstat -o JSON: expected .* at .*90.0.0"),
    (MPSTAT[MPSTAT.index("}]},") :], "", r":8: .*truncated"),
    ('"idle": 75.00', '"idle": "all"', r"Expected `float`, got `str` - at `\$.*cpu-load\[0\].idle`"),
    ('"idle": 75.00', '"rest": 75.00', r"missing required field `idle`"),
    ("00:00:00", "midnight", r"timestamp 'midnight' - at `\$.*statistics\[1\]`; HH:MM:SS"),
    ("00:00:00", "23:59:58", r"time 86398.* follows 86399.*; was the clock set back\?"),
    ("cpu-load", "node-load", r"holds no utilization of processors; record it with `mpstat -P ALL"),
    (MPSTAT, '{"sysstat": {"more": ' + "[" * 100_000, r":1: .*nested too deeply"),
])  # fmt: skip
def test_what_is_refused_of_mpstat(read, old, new, problem):
    with pytest.raises(InputError, match=problem):
        read(MPSTAT.replace(old, new), reader="mpstat")


@pytest.mark.real_data
def test_a_recording_of_a_minute(real_data):
    """60 samples of the tool itself; the share for all is the mean of the two processors' within its two digits."""
    series = perfcore.read(real_data / "timeseries" / "own_mpstat_60s.json")
    assert len(series.times) == 60
    both = (series.columns["cpu 0 busy"] + series.columns["cpu 1 busy"]) / 2
    np.testing.assert_allclose(series.columns["cpu all busy"], both, atol=0.01)
    assert len(perfcore.read(real_data / "timeseries" / "mpstat-A.json").columns) == 9


def test_both_forms_say_the_same(read):
    as_json, as_table = read(SADF_JSON), read(SADF_TABLE)
    assert as_json.times.tolist() == [FIRST, FIRST + 10]
    assert as_table.times[:2].tolist() == as_json.times.tolist()
    np.testing.assert_allclose(as_json.columns["cpu all busy"], [0.035, 0.5])
    # After a restart the table goes on.
    np.testing.assert_allclose(as_table.columns["cpu all busy"], [0.035, 0.5, 0.0], atol=1e-15)
    assert as_json.notes == as_table.notes == ("recorded on node7",)


def test_times_are_joined_and_columns_called_by_the_labels_that_differ(read):
    series = read(PROMETHEUS)
    assert series.times.tolist() == [1435781430.5, 1435781445.5, 1435781460.5]
    expected = {"instance=a:9100": [0.25, np.nan, 10.0], "instance=b:9100": [np.nan, np.nan, 3.0]}
    np.testing.assert_equal(dict(series.columns), expected)
    assert series.notes == (
        "all series: __name__=node_load1, job=node",
        "instance=b:9100: 1 infinite samples are taken as missing",
    )


@pytest.mark.parametrize(("labels", "names"), [
    ([{"__name__": "up", "job": "a"}], ["up"]), ([{}], ["value"]), ([{"job": "a"}], ["value"]),
    ([{"__name__": "x"}, {"__name__": "y"}], ["x", "y"]),
    ([{"__name__": "x", "cpu": "0"}, {"__name__": "y", "cpu": "0"}, {"__name__": "y", "cpu": "1"}],
     ["x, cpu=0", "y, cpu=0", "y, cpu=1"]),
    ([{"job": "a"}, {}], ["job=a", "value"]), ([{"job": "a"}, {"job": "A"}], ["job=a #0", "job=A #1"]),
])  # fmt: skip
def test_names(read, labels, names):
    result = [{"metric": one, "values": [[1, "1"]]} for one in labels]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    assert list(read(json.dumps(answer)).columns) == names
