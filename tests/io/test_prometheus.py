"""Prometheus: series to columns, numbers as texts, and the server's own refusals."""

import json

import numpy as np
import pytest
from format_samples import PROMETHEUS

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "load.json"
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


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


def test_warnings_of_the_server_are_kept(read):
    assert read(answer(({}, [[1, "2"]]), warnings=["slow\nquery"])).notes == ("slow query",)


def test_a_series_without_samples_is_left_out(read):
    assert list(read(answer(({"job": "a"}, []), ({"job": "b"}, [[1, "2"]]))).columns) == ["value"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"status":"error","errorType":"bad_data","error":"unknown\\nx"}', "refused the query: bad_data: unknown x"),
        ('{"status":"success","data":{"resultType":"vector","result":[]}}', "holds a 'vector'; ask .*query_range"),
        (answer(), "the query found no samples"),
        (answer(({}, [[1, "one"]])), r"could not convert string to float: 'one' - at `\$.data.result\[0\].values`"),
        (answer(({}, [[1, 2]])), r"Expected `str`, got `int` - at `\$.data.result\[0\].values\[0\]\[1\]`"),
        (
            answer(({}, [[2, "1"], [2, "1"]])),
            r"time 2.0 follows 2.0 - at `\$.data.result\[0\].values\[1\]`; times must",
        ),
        (PROMETHEUS.replace('"NaN"]', '"NaN"'), r":3: is not an answer of Prometheus: JSON is malformed"),
        (PROMETHEUS[:-40], r":5: is not an answer of Prometheus"),
    ],
)
def test_what_is_refused(read, text, problem):
    with pytest.raises(InputError, match=problem):
        read(text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"job": "node"', b'"job": "no\x80de"', "is not a matrix of Prometheus: 'utf-8' codec can't decode"),
        (b'"job": "node"', b'"job": "node", "x": ' + b"[" * 100_000 + b"]" * 100_000, "load.json"),
    ],
)
def test_damage_within_the_samples(tmp_path, old, new, problem):
    path = tmp_path / "load.json"
    path.write_bytes(PROMETHEUS.encode().replace(old, new, 1))
    with pytest.raises(InputError, match=problem):
        perfcore.read(path)
