"""Files of Extra-P: the figures are those of its own readers, and what is written follows its grammar."""

import datetime
import json
import re
import shlex
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from format_samples import (
    EXTRAP_JSON,
    EXTRAP_MEANS,
    EXTRAP_RUNS,
    MPSTAT,
    PROMETHEUS,
    SADF_JSON,
    SADF_TABLE,
    extrap_archive,
    extrap_values,
    npy,
)

import perfcore
from perfcore.base.errors import InputError

RUNS = extrap_values([npy([1.5, 2.0]), npy([[3.0, 4.0]])])
# The numbers of the ABNF in Extra-P's documentation, which have no exponent.
NUMBER = r"[-+]?[0-9]+(?:\.[0-9]*)?"


def measured(table, **roles):
    return perfcore.Measurements(pd.DataFrame(table), **{"system": (), **roles})


def test_text_follows_the_grammar(tmp_path):
    data = measured(
        {"p": [1, 1, 2], "n": [1e-7, 1e-7, 3e20], "time": [1e-9, 2.5, 1e300]}, parameters=["p", "n"], value="time"
    )
    perfcore.write(data, tmp_path / "runs.extrap")
    text = (tmp_path / "runs.extrap").read_text()
    grammar = (
        rf"(?:PARAMETER \S+\n)+\n*(?:POINTS \({NUMBER}(?: {NUMBER})*\)\n)+\n*METRIC \S+\n"
        rf"(?:\n*REGION [^\n]+\n(?:DATA {NUMBER}(?: {NUMBER})*\n)+)+"
    )
    assert re.fullmatch(grammar, text)
    back = perfcore.read(tmp_path / "runs.extrap")
    assert back.table[["p", "n", "time"]].to_numpy().tolist() == data.table.to_numpy().tolist()
    assert back.table["repetition"].tolist() == [1, 2, 1]


@pytest.mark.real_data
def test_files_of_extrap_itself(real_data):
    folder = real_data / "benchresults" / "extrap"
    if not folder.is_dir():
        pytest.skip("no files of Extra-P here")
    one = perfcore.read(folder / "one_parameter_1.txt")
    assert len(one.table) == 30
    assert one.table["time"].tolist()[:2] == [82.00848518948744, 81.42023198759563]
    assert sorted(set(one.table["x"])) == [20, 30, 40, 50, 60]
    many = perfcore.read(folder / "strong_scaling_one_parameter_2.txt")
    assert "main->merge->comp1" in set(many.table["callpath"])
    assert len(perfcore.read(folder / "test1.jsonl").table) == 125


def test_json_of_the_present_kind(read):
    data = read(EXTRAP_JSON, "runs.json")
    assert data.table[["x", "y", "callpath", "repetition", "time"]].to_numpy().tolist() == [
        [1, 10, "main->a", 1, 1.5],
        [1, 10, "main->a", 2, 2],
        [2, 10, "main->a", 1, 3],
    ]


@pytest.mark.real_data
def test_documents_of_extrap_itself(real_data):
    folder = real_data / "benchresults" / "extrap"
    sweep = perfcore.read(folder / "input_1.JSON").table.groupby("x")["time"]
    assert sweep.mean().to_dict() == {4: 3.5, 8: 5.5, 16: 9.5, 32: 17.5, 64: 33.5}
    assert sweep.size().unique().tolist() == [5]


def test_means_come_with_their_spread_and_number(read):
    """The deviation over N of two runs, 1.5 and 2.0, is 0.25; that of a sample is 0.25 * sqrt(2)."""
    data = read(extrap_archive(EXTRAP_MEANS))
    assert data.roles.value == "time"
    assert data.roles.parameters == {"p": "x", "y": "y"}
    assert data.table["time"].tolist() == [1.75, 3.0]
    assert data.table["std"].tolist() == pytest.approx([0.25 * 2**0.5, float("nan")], nan_ok=True)
    assert data.table["repetitions"].tolist() == pytest.approx([2, float("nan")], nan_ok=True)
    assert "repetition" not in data.table


def test_runs_that_were_kept_are_rows(read):
    """Two runs at x = 1; at x = 2 one run of two processes, which counts by their mean."""
    data = read(extrap_archive(EXTRAP_RUNS, RUNS))
    assert data.table[["x", "callpath", "repetition", "time"]].to_numpy().tolist() == [
        [1, "main", 1, 1.5],
        [1, "main", 2, 2.0],
        [2, "main", 1, 3.5],
    ]


@pytest.mark.slow
def test_a_small_archive_that_unpacks_to_a_large_one(read, monkeypatch):
    monkeypatch.setattr("perf_io.results.extrap.LARGEST_DOCUMENT", 1 << 20)
    bomb = extrap_archive(EXTRAP_MEANS + " " * (200 << 20))
    tracemalloc.start()
    try:
        begin = time.process_time()
        with pytest.raises(InputError, match="larger than 1 MiB"):
            read(bomb)
        assert time.process_time() - begin < 2
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.real_data
def test_the_example_files_of_extra_p(real_data):
    folder = real_data / "benchresults" / "extrap"
    for name, runs in (("exp_only_mean_median.extra-p", None), ("two_parameter3.txt.extra-p", 5)):
        table = perfcore.read(folder / name).table
        assert len(table) == 100
        first = table[(table["callpath"] == "merge") & (table["metric"] == "time")].iloc[0]
        assert first["value"] == 0.998632604831951
        factor = 1.0 if runs is None else np.sqrt(5 / 4)
        assert first["std"] == pytest.approx(0.012125089856431601 * factor, rel=1e-14)
        assert ("repetitions" in table) == (runs is not None)
    assert len(perfcore.read(folder / "two_parameter_5.txt").table) == 25  # a tab behind DATA


# Monitors: shares of busy time from mpstat and sadf, and answers of Prometheus.
FIRST = datetime.datetime(2019, 4, 18, 13, 20, 19, tzinfo=datetime.UTC).timestamp()


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


def test_missing_and_offline_processors_have_no_value(read):
    columns = read(MPSTAT).columns
    np.testing.assert_array_equal(columns["cpu 0 busy"], [1.0, np.nan])
    # All shares of processor 1 are zero: it is offline.
    np.testing.assert_array_equal(columns["cpu 1 busy"], [np.nan, np.nan])


def test_several_midnights(read):
    times = read(document(*(sample(f"{hour % 24:02}:00:00") for hour in range(0, 60, 6)))).times
    assert times.tolist() == [3600 * hour for hour in range(0, 60, 6)]


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
def test_what_is_refused_of_mpstat(read, text, problem):
    with pytest.raises(InputError, match=problem):
        read(text, reader="mpstat")


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


@pytest.mark.real_data
def test_an_archive_in_both_forms(real_data):
    """The tool's own test data: ten processors, two of which come and go, across two restarts."""
    table, document = (perfcore.read(real_data / "timeseries" / name) for name in ("sadf-d.txt", "sadf-j.json"))
    assert len(table.columns) == 11
    assert table.times.tolist() == document.times.tolist()
    for name, values in table.columns.items():
        np.testing.assert_array_equal(values, document.columns[name])
    assert np.isnan(table.columns["cpu 9 busy"]).sum() == 4


def answer(*series, **more):
    result = [{"metric": labels, "values": values} for labels, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}, **more})


def test_columns_are_called_by_the_labels_that_differ(read):
    series = read(PROMETHEUS)
    assert list(series.columns) == ["instance=a:9100", "instance=b:9100"]
    assert series.notes[0] == "all series: __name__=node_load1, job=node"


def test_times_are_joined_and_what_is_no_number_is_missing(read):
    series = read(PROMETHEUS)
    assert series.times.tolist() == [1435781430.5, 1435781445.5, 1435781460.5]
    np.testing.assert_array_equal(series.columns["instance=a:9100"], [0.25, np.nan, 10.0])
    np.testing.assert_array_equal(series.columns["instance=b:9100"], [np.nan, np.nan, 3.0])
    assert series.notes[1:] == ("instance=b:9100: 1 infinite samples are taken as missing",)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([{"__name__": "up", "job": "a"}], ["up"]),
        ([{}], ["value"]),
        ([{"job": "a"}], ["value"]),
        ([{"__name__": "x"}, {"__name__": "y"}], ["x", "y"]),
        ([{"__name__": "x", "cpu": "0"}, {"__name__": "y", "cpu": "0"}, {"__name__": "y", "cpu": "1"}],
         ["x, cpu=0", "y, cpu=0", "y, cpu=1"]),
        ([{"job": "a"}, {}], ["job=a", "value"]),
        ([{"job": "a"}, {"job": "A"}], ["job=a #0", "job=A #1"]),
    ],
)  # fmt: skip
def test_names(read, labels, names):
    assert list(read(answer(*((one, [[1, "1"]]) for one in labels))).columns) == names


# Formats that are not read themselves: told by their bytes, with the export that is read.
def varint(number):
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number, content):
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def packet(*fields):
    return field(1, b"".join(fields))


DESCRIPTOR = packet(field(10, 7), field(60, field(1, 300) + field(2, b"main")))
BEGIN = packet(field(8, 10**15), field(10, 7), field(11, field(9, 1) + field(11, 300) + field(23, b"work" * 60)))
CLOCKS = packet(field(6, field(1, field(1, 6) + field(2, 10**18))), field(13, 1))
PERFETTO = {
    "one": DESCRIPTOR,
    "events": DESCRIPTOR + BEGIN + BEGIN,
    "clocks": CLOCKS + BEGIN,
    "a marker": packet(field(36, bytes(range(16))), field(3, 1)) + DESCRIPTOR,
}


@pytest.mark.parametrize("content", PERFETTO.values(), ids=PERFETTO)
def test_binary_traces_of_perfetto_name_the_conversion_to_json(tmp_path, content):
    path = tmp_path / "my trace.pftrace"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is Perfetto's binary format, which is not read; its JSON is") as caught:
        perfcore.read(path)
    words = shlex.split(str(caught.value).partition("traceconv: ")[2])
    assert words == [
        "traceconv",
        "json",
        str(path),
        "my trace.pftrace.json",
        "&&",
        "perf",
        "info",
        "my trace.pftrace.json",
    ]
    assert "\n" not in str(caught.value)
