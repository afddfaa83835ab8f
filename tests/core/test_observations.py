"""Observations: checked, named, and joined where runs were repeated; nothing is lost without a word."""

import re
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore import Measurements, Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, InputError
from perfcore.data import kind_of

QUICK = settings(max_examples=40)
JOIN = {"median": np.median, "mean": np.mean, "minimum": np.min}


def observe(aggregate="median", duplicates="refuse", roles=None, **columns):
    return Measurements(pd.DataFrame(columns), **(roles or {})).observations(aggregate, duplicates)


def content(seen):
    """What was observed, whatever the order: value, runs and spread by code, system and point."""
    points = zip(*(map(float, values) for values in seen.points.values()), strict=True)
    names = [(seen.codes[code], seen.systems[system]) for code, system in zip(seen.code, seen.system, strict=True)]
    found = zip(seen.value.tolist(), seen.repetitions.tolist(), seen.spread.tolist(), strict=True)
    return {(*name, *point): row for name, point, row in zip(names, points, found, strict=True)}


def about(expected):
    """The same content up to rounding in sums; a spread is a difference of values."""
    return {
        key: (pytest.approx(value, rel=1e-13), runs, pytest.approx(spread, rel=1e-9, abs=1e-9 * value, nan_ok=True))
        for key, (value, runs, spread) in expected.items()
    }


sizes, times = st.sampled_from([1, 2, 4]), st.one_of(st.none(), st.floats(1e-3, 1e4))
row = st.tuples(st.sampled_from(["lu", "cg", "mg"]), st.sampled_from(["T3D", "SP2"]), sizes, times)
rows = st.lists(row, min_size=1, max_size=40).filter(lambda found: any(value is not None for *_, value in found))


def table(found):
    frame = pd.DataFrame(found, columns=["code", "system", "p", "time_s"])
    return frame.assign(time_s=frame["time_s"].astype(float), run=range(len(frame)))


@QUICK
@given(rows, st.sampled_from(sorted(JOIN)))
def test_repeated_runs_join_as_numpy_joins_them(found, aggregate):
    by_hand = {}
    for *key, value in found:
        if value is not None:
            by_hand.setdefault(tuple(key), []).append(value)
    seen = Measurements(table(found)).observations(aggregate)
    expected = {
        key: (JOIN[aggregate](runs), len(runs), statistics.stdev(runs) if len(runs) > 1 else np.nan)
        for key, runs in by_hand.items()
    }
    assert content(seen) == about(expected)


@QUICK
@given(rows)
def test_every_row_is_in_an_observation_or_named(found):
    seen = Measurements(table(found)).observations()
    empty = [row for row, (*_, value) in enumerate(found) if value is None]
    assert int(seen.repetitions.sum()) + len(empty) == len(found)
    named = next((note for note in seen.notes if "time_s" in note), "")
    listed = ", ".join(map(str, empty[:5])) + ", ..." * (len(empty) > 5) + ")"
    assert named.partition("(row ")[2] == listed * bool(empty)
    assert any("several runs" in note for note in seen.notes) == bool((seen.repetitions > 1).any())


@QUICK
@given(rows, st.sampled_from(sorted(JOIN)), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(found, aggregate, random):
    shuffled = random.sample(found, len(found))
    one, two = (Measurements(table(each)).observations(aggregate) for each in (found, shuffled))
    assert content(one) == about(content(two))


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, "", "  "])
def test_a_row_without_a_value_is_left_out_and_named(empty):
    seen = observe(p=[1, 2, 4, 8], time_s=pd.Series([8.0, empty, 2.0, 1.0], dtype=object))
    assert seen.points["p"].tolist() == [1, 4, 8]
    (note,) = seen.notes
    assert note == "left out, without time_s: 1 of 4 rows: empty (row 1)"


def test_the_fingerprint_changes_with_the_data():
    plain = {"code": ["a", "b"], "p": [1, 2], "time_s": [8.0, 4.0]}
    changed = [
        plain, {**plain, "time_s": [8.0, np.nextafter(4.0, 5.0)]}, {**plain, "p": [1, 3]},
        {**plain, "code": ["a", "c"]}, {**plain, "code": ["a", "a"]}, {**plain, "system": ["x", "x"]},
        {"code": ["a", "b"], "p": [1, 2], "time_ms": [8.0, 4.0]},
        {"code": ["a", "b", "b"], "p": [1, 2, 2], "time_s": [8.0, 4.0, 4.0], "run": [1, 1, 2]},
    ]  # fmt: skip
    prints = [observe(**columns).fingerprint() for columns in changed]
    assert len(set(prints)) == len(changed)
    assert prints[0] == observe(**plain, remark=["x", "y"]).fingerprint()
    assert re.fullmatch("sha256:[0-9a-f]{64}", prints[0])


@pytest.mark.real_data
def test_the_parallel_benchmarks_on_a_cluster_of_small_computers(real_data):
    data = perfcore.read(real_data / "scaling" / "npb_mpi_picluster.csv")
    assert len(data.table) == 73
    # Without the problem class, runs of other problems would pass for repetitions: the note says so.
    assert "they differ in class, nodes" in data.observations().notes[0]
    problem = r"npb_mpi_picluster.csv:\d+: nodes is empty; each row needs the name of its system"
    with pytest.raises(InputError, match=problem):
        data.with_roles(code="code,class", system="nodes").observations()
    seen = data.where("nodes=16|8|4").with_roles(code="code,class", system="nodes").observations()
    assert set(seen.systems) == {"16", "8", "4"}
    assert {"LU D", "FT C", "MG C"} <= set(seen.codes)
    # The file has two runs of EP class D on 32 processors of 8 nodes: 167.26 and 170.83 s.
    (twice,) = np.flatnonzero(seen.repetitions > 1)
    assert seen.describe(twice) == "EP D on 8, procs=32"
    assert seen.value[twice] == pytest.approx((167.26 + 170.83) / 2)
    assert seen.spread[twice] == pytest.approx((170.83 - 167.26) / np.sqrt(2))
    cells = range(len(seen.codes) * len(seen.systems))
    missing = {seen.cell_name(cell) for cell in set(cells) - set(seen.cell.tolist())}
    assert missing == {"BT D on 4", "EP F on 16", "EP F on 4", "SP D on 4"}


# Measurements: a table, the meaning of its columns, and where its rows came from.
@pytest.fixture
def runs():
    names = {"code": ["lu", "lu", "cg", "cg"], "machine": ["T3D", "SP2", "T3D", "SP2"], "procs": [1, 2, 4, 8]}
    values = {"size": [64, 64, 102, 102], "time_s": [8.0, 4.1, 2.2, 1.3], "wait_ms": [1.0, 2.0, 3.0, 4.0]}
    return pd.DataFrame({**names, **values})


def test_roles_that_are_given_take_the_place_of_guesses(runs):
    data = Measurements(runs, "p=procs,n=size", "wait_ms", code=["code"], system=())
    assert data.roles.parameters == {"p": "procs", "n": "size"}
    assert (data.roles.value, data.roles.unit) == ("wait_ms", "ms")
    assert data.roles.system == ()
    assert repr(data) == "Measurements(4 rows, wait_ms [ms] over p=procs, n=size, code by code)"


def test_several_units_are_refused_with_a_cure_that_works(runs):
    mixed = runs.rename(columns={"time_s": "time"}).assign(unit=["s", "s", "ms", "ms"])
    with pytest.raises(DataError, match=r"column 'unit' has several units \(s, ms\).*where='unit=s'"):
        Measurements(mixed).observations()
    chosen = Measurements(mixed).where("unit=s")
    assert chosen.roles.unit == "s"
    assert len(chosen.observations()) == 2


def test_lines_of_the_source_stay_with_their_rows(runs):
    data = Measurements(runs, source="runs.csv", lines=range(2, 42, 10))
    assert [data.line(row) for row in range(4)] == [2, 12, 22, 32]
    chosen = data.where("procs>1").where("machine=SP2")
    assert chosen.table["procs"].tolist() == [2, 8]
    assert [chosen.line(row) for row in range(2)] == [12, 32]
    assert [chosen.with_roles(code="size").line(row) for row in range(2)] == [12, 32]
    with pytest.raises(InputError, match=r"^runs.csv:32: is odd$"):
        chosen.refuse(1, "is odd")


@pytest.mark.parametrize(("table", "problem"), [
    (pd.DataFrame({"p": [], "time_s": []}), "the table has no rows"),
    (pd.DataFrame(), "the table has no rows"),
    (pd.DataFrame([[1, 2.0]], columns=["p", "p"]), r"must be texts that differ, not \['p', 'p'\]"),
    (pd.DataFrame([[1, 2.0]]), r"must be texts that differ, not \[0, 1\]"),
    (pd.DataFrame([[1, 2.0]], columns=pd.MultiIndex.from_tuples([("a", "p"), ("a", "t")])), "must be texts"),
    (pd.DataFrame(np.ones((1, 400)), columns=range(400)), "must be texts"),
])  # fmt: skip
def test_tables_that_are_none_are_refused_in_one_short_line(table, problem):
    with pytest.raises(DataError, match=rf"^runs.csv: .*{problem}") as caught:
        Measurements(table, source="runs.csv")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) <= 300


# Kinds of data: by type, and measurements by what their columns name.
FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = {
    "cholesky/cholesky_trace.csv.gz": "trace", "step.csv": "curve", "sor/recorded/availability.csv": "series",
    "npb/timings.csv": "codes x systems", "scaling_laws/runs.jsonl": "timings", "study/recorded/sor.db": "timings",
}  # fmt: skip


def table_of_kinds(codes, systems, **more):
    return pd.DataFrame({"code": codes, "system": systems, "p": 4, "time_s": 1.0, **more})


@pytest.mark.parametrize(("file", "kind"), EXAMPLES.items())
def test_the_examples(file, kind):
    assert kind_of(perfcore.read(FOLDER / file)) == kind


def test_types():
    assert kind_of(Trace([0], [0], [0], [1], ["a"], ["x"])) == "trace"
    assert kind_of(UtilizationCurve([0, 1], [1])) == "curve"
    assert kind_of(Series([0, 1], {"x": [1, 2]}, "s")) == "series"
    with pytest.raises(DataError, match="dict is no kind of data"):
        kind_of({})


@pytest.mark.parametrize(("codes", "systems", "kind"), [
    ("xxyy", "abab", "codes x systems"),
    ("xxy", "aba", "timings"),  # nothing but x on two systems, and but a with two codes
    ("xyz", "abc", "timings"),  # each code on a system of its own
    ("xxxx", "abab", "timings"), ("xyxy", "aaaa", "timings"),
])  # fmt: skip
def test_codes_and_systems_must_have_pairs_in_common(codes, systems, kind):
    assert kind_of(Measurements(table_of_kinds(list(codes), list(systems)))) == kind


def test_a_category_goes_before_codes_and_systems():
    data = table_of_kinds(list("xxyy"), list("abab"), category="mpi")
    assert kind_of(Measurements(data)) == "times by category"
    assert kind_of(Measurements(data.rename(columns={"p": "n"}))) == "categories"
    assert kind_of(Measurements(data, category=())) == "codes x systems"


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "kind"), [
    ("scaling/hecbiosim_gromacs_categories.csv", "times by category"),
    ("scaling/hecbiosim_gromacs_runs.csv", "timings"),  # one code on several machines
    ("scaling/mlperf_training.csv", "timings"),  # a system has one number of accelerators
    ("scaling/npb_mpi_picluster.csv", "timings"),
    ("benchresults/extrap/strong_scaling_one_parameter_2.txt", "timings"),
    ("benchresults/reframe_perflog_excalibur.log", "timings"),  # rows that repeat others
    ("timeseries/nyc_taxi.csv", "curve"), ("timeseries/sadf-j.json", "series"),
    ("traces/caliper/lulesh_weak/64_cores.cali", "categories"),
    ("traces/paje/qr_trace.paje.worker_state.csv.gz", "trace"),
])  # fmt: skip
def test_files_of_others(real_data, file, kind):
    assert kind_of(perfcore.read(real_data / file)) == kind


def test_equal_rows_are_found_whatever_is_compared_at_a_time(monkeypatch):
    """In parts of a few rows as at once; a row that repeats a row of another part is none."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"p": rng.choice([1, 2, 4], 200), "time_s": rng.choice([0.5, 1.5, 2.5, 4.0], 200)})
    notes = {}
    for size in (1 << 21, 7):
        monkeypatch.setattr("perfcore.data.observations._MOST_COMPARED", size)
        notes[size] = Measurements(table).observations(duplicates="drop").notes
    assert notes[7] == notes[1 << 21]
    assert Measurements(table).observations(duplicates="drop").repetitions.sum() == len(table.drop_duplicates())
