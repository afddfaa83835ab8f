"""mpstat: shares of busy time, midnight, processors that are offline, and what is refused."""

import json

import numpy as np
import pytest
from format_samples import MPSTAT

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "cpu.json"
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def sample(timestamp, **percent):
    return {"timestamp": timestamp, "cpu-load": [{"cpu": "all", "idle": 40.0, "usr": 60.0, **percent}]}


def document(*samples):
    return json.dumps({"sysstat": {"hosts": [{"nodename": "n", "statistics": list(samples)}]}})


def test_busy_is_neither_idle_nor_waiting_for_io(read):
    series = read(MPSTAT)
    assert list(series.columns) == ["cpu all busy", "cpu 0 busy", "cpu 1 busy"]
    # 100 - 20 idle - 20 iowait, and 100 - 75.
    np.testing.assert_allclose(series.columns["cpu all busy"], [0.6, 0.25])
    assert series.time_unit == "s"
    assert series.notes == ("recorded on node7, 11/21/26; times count from midnight",)


def test_midnight_does_not_take_time_back(read):
    assert read(MPSTAT).times.tolist() == [86399, 86400]


def test_missing_and_offline_processors_have_no_value(read):
    columns = read(MPSTAT).columns
    np.testing.assert_array_equal(columns["cpu 0 busy"], [1.0, np.nan])
    # All shares of processor 1 are zero: it is offline.
    np.testing.assert_array_equal(columns["cpu 1 busy"], [np.nan, np.nan])


def test_other_shares(read):
    columns = read(MPSTAT, measures="available,iowait,steal").columns
    assert [columns[f"cpu all {name}"][0] for name in ("available", "iowait", "steal")] == [0.4, 0.2, 0.05]
    assert "cpu all busy" not in columns


def test_clocks_of_twelve_hours(read):
    series = read(document(sample("11:59:59 AM"), sample("12:00:00 PM"), sample("01:00:00 PM")))
    assert series.times.tolist() == [43199, 43200, 46800]
    assert read(document(sample("12:00:01 AM"))).times.tolist() == [1]


def test_several_midnights(read):
    times = read(document(*(sample(f"{hour % 24:02}:00:00") for hour in range(0, 60, 6)))).times
    assert times.tolist() == [3600 * hour for hour in range(0, 60, 6)]


def test_samples_without_processors_are_passed_over(read):
    interrupts = {"timestamp": "01:00:00", "sum-interrupts": [{"cpu": "all", "intr": 1.0}]}
    assert read(document(interrupts, sample("02:00:00"))).times.tolist() == [7200]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            MPSTAT.replace('"usr": 90.00', '"usr": 90.0.0'),
            r":8: is not the output of mpstat -o JSON: JSON is malformed",
        ),
        (MPSTAT[: MPSTAT.index("}]},")], r":8: .*truncated"),
        (
            MPSTAT.replace('"idle": 75.00', '"idle": "all"'),
            r"Expected `float`, got `str` - at `\$.*cpu-load\[0\].idle`",
        ),
        (MPSTAT.replace('"idle": 75.00', '"rest": 75.00'), r"missing required field `idle`"),
        (MPSTAT.replace("00:00:00", "midnight"), r"timestamp 'midnight' - at `\$.*statistics\[1\]`; HH:MM:SS"),
        (MPSTAT.replace("00:00:00", "23:59:58"), r"time 86398.* follows 86399.*; was the clock set back\?"),
        (MPSTAT.replace("cpu-load", "node-load"), r"holds no utilization of processors; record it with `mpstat -P ALL"),
        ('{"sysstat": {"more": ' + "[" * 100_000, r":1: .*nested too deeply"),
    ],
)
def test_what_is_refused(read, text, problem):
    with pytest.raises(InputError, match=problem):
        read(text, reader="mpstat")


def test_several_hosts_are_refused(read):
    two = {"sysstat": {"hosts": [{"statistics": []}, {"statistics": []}]}}
    with pytest.raises(InputError, match="is of 2 hosts; one is expected"):
        read(json.dumps(two), reader="mpstat")


@pytest.mark.real_data
def test_a_recording_of_a_minute(real_data):
    """60 samples of the tool itself; the share for all is the mean of the two processors' within its two digits."""
    series = perfcore.read(real_data / "timeseries" / "own_mpstat_60s.json")
    assert len(series.times) == 60
    both = (series.columns["cpu 0 busy"] + series.columns["cpu 1 busy"]) / 2
    np.testing.assert_allclose(series.columns["cpu all busy"], both, atol=0.01)
    assert len(perfcore.read(real_data / "timeseries" / "mpstat-A.json").columns) == 9
