"""Parquet: types of columns, large traces that stay in their table, damaged files."""

import duckdb
import numpy as np
import pytest

import perfcore
from perf_io.tables import state_table
from perf_io.tables.tabular_trace import TabularTrace
from perfcore.base.errors import InputError


@pytest.fixture
def save(tmp_path):
    def save(query, name="data.parquet"):
        path = tmp_path / name
        duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path

    return save


@pytest.fixture
def lazily(monkeypatch):
    """Let every trace stay in its table."""
    monkeypatch.setattr(state_table, "IN_MEMORY_ROWS", 0)


def test_types_of_times(save):
    rows = "FROM (VALUES (1.5::DOUBLE, 2.0004999::DOUBLE)) t(a, b)"
    floats = perfcore.read(save(f"SELECT a AS start_us, b AS end_us, 'p' AS location, 1 AS state {rows}"))
    # 2.0004999 us is 2000.4999 ns, nearest 2000
    assert (floats.start_ns.tolist(), floats.end_ns.tolist()) == ([1500], [2000])
    assert floats.states == ("1",)
    whole = perfcore.read(save("SELECT 3::UBIGINT AS start_ms, 4::TINYINT AS end_ms, 'p' AS cpu, 'r' AS state"))
    assert (whole.start_ns.tolist(), whole.end_ns.tolist()) == ([3_000_000], [4_000_000])
    moments = perfcore.read(
        save(
            "SELECT TIMESTAMP '1970-01-01 00:00:01' AS start, TIMESTAMP '1970-01-01 00:00:02' AS \"end\", "
            "'p' AS cpu, 'r' AS state"
        )
    )
    assert (moments.start_ns.tolist(), moments.time_unit) == ([1_000_000_000], "s")


def random_trace(rng, n_locations=5, n_each=200):
    """Intervals of each location follow one another, some without duration; rows are in the order of their starts."""
    rows = []
    for location in range(n_locations):
        bounds = np.sort(rng.integers(0, 2_000, 2 * n_each))
        rows += [(location, int(rng.integers(3)), int(a), int(b)) for a, b in bounds.reshape(-1, 2)]
    return sorted(rows, key=lambda row: row[2])


def saved_rows(save, rows, name):
    values = ", ".join(f"({a}, {b}, {c}, {d})" for a, b, c, d in rows)
    return save(
        "SELECT 'p' || l AS location, ['run', 'wait', 'solve'][s + 1] AS state, a AS start_ns, b AS end_ns "
        f"FROM (VALUES {values}) t(l, s, a, b)",
        name,
    )


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_trace_in_its_table_equals_one_in_memory(save, monkeypatch, shuffled):
    rng = np.random.default_rng(7)
    rows = random_trace(rng)
    if shuffled:
        rng.shuffle(rows)
    path = saved_rows(save, rows, "trace.parquet")
    small = perfcore.read(path)
    monkeypatch.setattr(state_table, "IN_MEMORY_ROWS", 0)
    large = perfcore.read(path)
    assert isinstance(large, TabularTrace)
    assert not isinstance(small, TabularTrace)
    for busy in (None, ["run"], ["run", "wait"]):
        one, two = small.utilization(busy), large.utilization(busy)
        np.testing.assert_array_equal(one.edges, two.edges)
        np.testing.assert_array_equal(one.heights, two.heights)
    np.testing.assert_array_equal(large.utilization(idle=["wait"]).heights, small.utilization(["run", "solve"]).heights)
    assert "_arrays" not in vars(large)
    for name in ("location", "state", "start_ns", "end_ns", "locations", "states", "span_ns", "n_intervals"):
        np.testing.assert_array_equal(getattr(small, name), getattr(large, name))


@pytest.mark.usefixtures("lazily")
@pytest.mark.parametrize("chunk", [1, 512])
def test_overlaps_are_found_in_tables(save, monkeypatch, chunk):
    monkeypatch.setattr("perf_io.tables.duck._VECTORS_PER_CHUNK", chunk)
    query = (
        "SELECT 'p' || (i % 3) AS location, 'run' AS state, i // 3 * 10 AS start_us, "
        "i // 3 * 10 + CASE WHEN i = {wide} THEN 25 ELSE 10 END AS end_us FROM range(9000) t(i)"
    )
    assert perfcore.read(save(query.format(wide=-1))).n_intervals == 9000
    # Row 4000 is p1 from 13330 to 13355, the next of p1 begins at 13340 in row 4003, which is the file's 4,004th.
    with pytest.raises(
        InputError, match=r":4004: 'p1' is in state 'run' from 13340 .* \(line 4001\) lasts until 13355"
    ):
        perfcore.read(save(query.format(wide=4000)))


def test_a_few_bytes_that_stand_for_too_many_rows_are_refused(save, monkeypatch):
    path = save("SELECT 4 AS p, 1.5 AS time_s FROM range(1000000)")
    assert path.stat().st_size * 1000 < 2_000_000 * 8
    assert len(perfcore.read(path).table) == 1_000_000  # 16 MB are no harm
    monkeypatch.setattr("perf_io.tables.parquet._GROWTH_FROM_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"data\.parquet: says that its \d+ bytes are 2000000 values"):
        perfcore.read(path)
