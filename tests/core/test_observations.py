"""Observations: checked, named, and joined where runs were repeated; nothing is lost without a word."""

import re
import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore import Measurements
from perfcore.base.errors import DataError, InputError

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
JOIN = {"median": np.median, "mean": np.mean, "minimum": np.min}


def observe(aggregate="median", duplicates="refuse", roles=None, **columns):
    return Measurements(pd.DataFrame(columns), **(roles or {})).observations(aggregate, duplicates)


def content(seen):
    """What was observed, whatever the order: value, runs and spread by code, system and point."""
    return {
        (seen.codes[seen.code[k]], seen.systems[seen.system[k]], *(float(v[k]) for v in seen.points.values())): (
            float(seen.value[k]),
            int(seen.repetitions[k]),
            float(seen.spread[k]),
        )
        for k in range(len(seen))
    }


def about(expected):
    """The same content up to rounding in sums; a spread is a difference of values."""
    return {
        key: (pytest.approx(value, rel=1e-13), runs, pytest.approx(spread, rel=1e-9, abs=1e-9 * value, nan_ok=True))
        for key, (value, runs, spread) in expected.items()
    }


rows = st.lists(
    st.tuples(
        st.sampled_from(["lu", "cg", "mg"]),
        st.sampled_from(["T3D", "SP2"]),
        st.sampled_from([1, 2, 4]),
        st.one_of(st.none(), st.floats(1e-3, 1e4)),
    ),
    min_size=1,
    max_size=40,
).filter(lambda found: any(value is not None for *_, value in found))


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
    assert named.partition(": row ")[2] == ", ".join(map(str, empty[:20])) + ", ..." * (len(empty) > 20)
    joined = any("several runs" in note for note in seen.notes)
    assert joined == bool((seen.repetitions > 1).any())


@QUICK
@given(rows, st.sampled_from(sorted(JOIN)), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(found, aggregate, random):
    shuffled = random.sample(found, len(found))
    one, two = (Measurements(table(each)).observations(aggregate) for each in (found, shuffled))
    assert content(one) == about(content(two))


def test_points_rise_within_codes_and_systems_that_stand_as_they_first_appear():
    seen = observe(
        code=["lu", "cg", "lu", "lu"], host=["b", "a", "b", "a"], p=[4, 1, 2, 1], time_s=[1.0, 2.0, 3.0, 4.0]
    )
    assert (seen.codes, seen.systems) == (("lu", "cg"), ("b", "a"))
    assert [seen.describe(k) for k in range(4)] == ["lu on b, p=2", "lu on b, p=4", "lu on a, p=1", "cg on a, p=1"]
    assert seen.row.tolist() == [2, 0, 3, 1]
    assert (seen.value_name, seen.unit, dict(seen.columns)) == ("time_s", "s", {"p": "p"})


def test_several_parameters_make_a_point():
    seen = observe(
        procs=[1, 1, 2, 1], size=[64, 102, 64, 64.0], time_s=[8, 9, 4, 6.0], roles={"parameters": "procs,n=size"}
    )
    assert {name: values.tolist() for name, values in seen.points.items()} == {"p": [1, 1, 2], "n": [64, 102, 64]}
    assert seen.value.tolist() == [7, 9, 4]
    assert seen.repetitions.tolist() == [2, 1, 1]


def test_a_note_says_in_what_repeated_runs_differ():
    runs = {"p": [1, 1, 2, 2, 4], "time_s": [2, 4, 1, 1, 1], "queue": ["a", "b", "a", "a", "c"], "try": [1, 1, 1, 2, 1]}
    (note,) = observe("mean", **runs).notes
    assert note.startswith("2 of 3 points have several runs (up to 2); the mean stands for them")
    assert note.endswith("they differ in queue, try (--parameter names what was varied)")
    (note,) = observe("mean", p=[1, 1], time_s=[2, 4]).notes
    assert note.endswith("stands for them")
    assert observe(p=[1, 2], time_s=[2, 1]).notes == ()


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, "", "  "])
def test_a_row_without_a_value_is_left_out_and_named(empty):
    seen = observe(p=[1, 2, 4, 8], time_s=pd.Series([8.0, empty, 2.0, 1.0], dtype=object))
    assert seen.points["p"].tolist() == [1, 4, 8]
    (note,) = seen.notes
    assert note == "left out, without time_s: row 1"


def test_several_columns_make_a_name():
    seen = observe(
        code=["lu", "lu", "cg"], klass=["A", "B", "A"], nodes=[16.0, 8.0, 8.0], cpu=["x", "x", "y"], p=[1, 1, 1],
        time_s=[8.0, 4.0, 2.0], roles={"code": "code,klass", "system": "cpu,nodes"},
    )  # fmt: skip
    assert seen.codes == ("lu A", "lu B", "cg A")
    assert seen.systems == ("x 16", "x 8", "y 8")


COPIES = {"p": [4, 2, 4, 2, 2], "time_s": [1, 2, 1, 2, 2], "note": [None, "a", None, "a", "b"]}


def test_copies_are_refused_with_both_places():
    with pytest.raises(DataError, match=r"^measurements: row 2: repeats row 0 in every column, and 1 more rows"):
        observe(**COPIES)
    data = Measurements(pd.DataFrame(COPIES), source="runs.csv", lines=range(2, 7))
    with pytest.raises(InputError, match=r"^runs.csv:4: repeats line 2 .*--duplicates drop.*--duplicates keep"):
        data.observations()
    with pytest.raises(InputError, match=r"^runs.csv:5: repeats line 3 in every column; remove"):
        data.where("p=2").observations()


def missing_cells(observations):
    cells = range(len(observations.codes) * len(observations.systems))
    return {observations.cell_name(cell) for cell in set(cells) - set(observations.cell.tolist())}


def test_the_fingerprint_changes_with_the_data():
    plain = {"code": ["a", "b"], "p": [1, 2], "time_s": [8.0, 4.0]}
    changed = [
        plain,
        {**plain, "time_s": [8.0, np.nextafter(4.0, 5.0)]},
        {**plain, "p": [1, 3]},
        {**plain, "code": ["a", "c"]},
        {**plain, "code": ["a", "a"]},
        {"code": ["a", "b"], "p": [1, 2], "time_ms": [8.0, 4.0]},
        {**plain, "system": ["x", "x"]},
        {"code": ["a", "b", "b"], "p": [1, 2, 2], "time_s": [8.0, 4.0, 4.0], "run": [1, 1, 2]},
    ]
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
    with pytest.raises(
        InputError, match=r"npb_mpi_picluster.csv:\d+: nodes is empty; each row needs the name of its system"
    ):
        data.with_roles(code="code,class", system="nodes").observations()
    seen = data.where("nodes=16|8|4").with_roles(code="code,class", system="nodes").observations()
    assert set(seen.systems) == {"16", "8", "4"}
    assert {"LU D", "FT C", "MG C"} <= set(seen.codes)
    # The file has two runs of EP class D on 32 processors of 8 nodes: 167.26 and 170.83 s.
    (twice,) = np.flatnonzero(seen.repetitions > 1)
    assert seen.describe(twice) == "EP D on 8, procs=32"
    assert seen.value[twice] == pytest.approx((167.26 + 170.83) / 2)
    assert seen.spread[twice] == pytest.approx((170.83 - 167.26) / np.sqrt(2))
    assert missing_cells(seen) == {"BT D on 4", "EP F on 16", "EP F on 4", "SP D on 4"}
