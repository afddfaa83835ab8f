"""What is written reads back as the same data."""

import tempfile

import duckdb
import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import pieces

import perfcore
from perfcore.base.errors import InputError

finite = st.floats(-1e15, 1e15, allow_nan=False)
heights = arrays.arrays(np.float64, 5, elements=st.floats(0, 1e300))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@settings(max_examples=25, deadline=None)
@given(edges=st.lists(finite, min_size=6, max_size=6, unique=True).map(sorted), heights=heights)
def test_curves_read_back_bit_for_bit(folder, ending, edges, heights):
    curve = perfcore.UtilizationCurve(edges, heights, "ms", n_locations=7)
    perfcore.write(curve, folder / f"curve{ending}")
    back = perfcore.read(folder / f"curve{ending}")
    np.testing.assert_array_equal(back.edges, curve.edges, strict=True)
    np.testing.assert_array_equal(back.heights, curve.heights, strict=True)
    assert back.time_unit == "ms"
    if ending == ".parquet":
        assert back.n_locations == 7


@pytest.fixture
def trace():
    return perfcore.Trace(
        [1, 0, 1],
        [1, 0, 0],
        [-1, 0, 1_700_000_000_123_456_789],
        [7, 5, 1_700_000_000_123_456_790],
        ["b, c", 'a"quoted"', "idle all the time"],
        ["run", "wäit"],
        time_unit="ms",
        busy_states=["run"],
        span_ns=(-10, 1_800_000_000_000_000_000),
    )


def test_traces_read_back_whole_from_parquet(tmp_path, trace):
    perfcore.write(trace, tmp_path / "trace.parquet")
    back = perfcore.read(tmp_path / "trace.parquet")
    for name in ("location", "state", "start_ns", "end_ns"):
        np.testing.assert_array_equal(getattr(back, name), getattr(trace, name), strict=True)
    for name in ("locations", "states", "time_unit", "busy_states", "span_ns"):
        assert getattr(back, name) == getattr(trace, name)


def test_traces_read_back_from_csv_with_exact_times(tmp_path, trace):
    perfcore.write(trace, tmp_path / "trace.csv")
    back = perfcore.read(tmp_path / "trace.csv")
    assert pieces(back) == pieces(trace)
    assert back.time_unit == "ms"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_series_read_back(tmp_path, ending):
    series = perfcore.Series([0.1, 0.2, 4], {"a b": [1, np.nan, 3], "c": [0.1, 0.2, -0.3]}, "s")
    perfcore.write(series, tmp_path / f"series{ending}")
    back = perfcore.read(tmp_path / f"series{ending}")
    np.testing.assert_array_equal(back.times, series.times)
    assert list(back.columns) == list(series.columns)
    for name, values in series.columns.items():
        np.testing.assert_array_equal(back.columns[name], values)


def test_no_room_for_temporary_tables_is_said(tmp_path, monkeypatch):
    """DuckDB's own message names a file that the user never saw."""

    def full(*_, **__):
        raise duckdb.IOException('IO Error: Cannot write file "tables.duckdb": No space left on device')

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb, "connect", full)
    with pytest.raises(InputError, match=r"No space left on device; make room, also in .*, or name .* in TMPDIR$"):
        perfcore.read("examples/step.csv")
    assert not [*tmp_path.iterdir()]
