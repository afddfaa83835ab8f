"""Weak and strong scaling: what the table says, and efficiency and speedup of each."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_scaling.data import told_scaling
from perf_scaling.speedup import is_open, speedup
from perfcore import Measurements

RANKS = [1, 2, 4, 8, 16, 32]


def table(time, **columns):
    return pd.DataFrame({"ranks": RANKS, **columns, "time_s": [time(p) for p in RANKS]})


def flat(p):
    return 8.0 + 0.08 * np.log2(p)


@pytest.mark.parametrize(
    ("columns", "scaling"),
    [
        ({}, ""),
        ({"cells_per_rank": [1000] * 6}, "weak"),
        ({"atoms per core": [5e4] * 6}, "weak"),
        ({"tasks_per_node": [128] * 6}, ""),
        ({"gpus_per_node": [4] * 6, "memory_per_core": [2.0] * 6, "atoms": [1403180.0] * 6}, "strong"),
        ({"local_size": [64] * 6}, "weak"),
        ({"cells": [1000 * p for p in RANKS]}, "weak"),
        ({"n_atoms": [990, 2000, 4010, 7990, 16000, 32050]}, "weak"),
        ({"problem_size": [4096] * 6}, "strong"),
        ({"scaling": ["weak"] * 6, "n": [7] * 6}, "weak"),
        ({"experiment": ["Strong scaling, full node"] * 6}, "strong"),
        ({"scaling": ["weak"] * 3 + ["strong"] * 3}, ""),
        ({"iterations": [100] * 6, "seed": [1] * 6, "nodes": [1, 1, 1, 1, 2, 4]}, ""),
        ({"cells": [1000, 1000, 2000, 5000, 5000, 5000]}, ""),
    ],
)
def test_the_table_says_it(columns, scaling):
    assert told_scaling(Measurements(table(flat, **columns), "ranks", "time_s")) == scaling


def test_a_size_that_is_a_parameter_says_nothing():
    data = Measurements(table(flat, cells=[1000 * p for p in RANKS]), "p=ranks,n=cells", "time_s")
    assert told_scaling(data) == ""


def test_a_code_that_keeps_95_percent_keeps_them():
    model = perfcore.fit(table(flat, cells_per_rank=[1000] * 6), fitter="scaling")
    found = speedup(model)
    assert (found.scaling, found.is_told, found.half) == ("weak", True, None)
    last = found.levels[-2]
    assert last.level == 32
    assert last.efficiency[1] <= 8.0 / flat(32) <= last.efficiency[2]
    assert last.speedup == pytest.approx([32 * share for share in last.efficiency])
    assert "weak scaling" in model.tables()[-1][0]


def test_nothing_is_claimed_where_nobody_says():
    model = perfcore.fit(table(flat), fitter="scaling")
    assert is_open(model)
    assert speedup(model) is None
    text = "\n".join(model.summary())
    assert "--scaling weak or strong" in text
    assert "efficiency" not in text


def test_a_time_that_falls_is_strong_scaling_and_says_so():
    model = perfcore.fit(table(lambda p: 1.0 + 100.0 / p), fitter="scaling")
    found = speedup(model)
    assert (found.scaling, found.is_told) == ("strong", False)
    assert found.levels[1].speedup[0] == pytest.approx(101 / 51, rel=0.02)
    assert "since the time falls" in model.tables()[-1][0]


def test_systems_do_not_add_up():
    """Each is a whole of its own, and there is no speedup of all together."""
    rows = [(system, p, scale * (1.0 + 64.0 / p)) for system, scale in (("A", 1.0), ("B", 9.0)) for p in RANKS]
    runs = Measurements(pd.DataFrame(rows, columns=["system", "p", "time_s"]), "p", "time_s", system="system")
    model = perfcore.fit(runs, fitter="scaling")
    assert [row.share for row in model.rows] == [1.0, 1.0]
    assert speedup(model) is None
    assert any(line.startswith("no speedup of all paths") for line in model.summary())


def test_runs_of_several_problems_are_no_repeated_runs():
    """Classes of NPB differ by orders of magnitude; where a run was does not."""
    rows = [(p, name, f"node{p % 3}", size / p) for p in RANKS for name, size in (("A", 1.0), ("D", 500.0))]
    table = pd.DataFrame(rows, columns=["p", "class", "placement", "time_s"])
    with pytest.raises(
        perfcore.PerfError, match=r"differ in class \(A, D\) and are up to 500-fold apart.*--path class"
    ):
        perfcore.fit(table, fitter="scaling")
    assert perfcore.fit(table, fitter="scaling", path="class").paths == ("A", "D")
    calm = table[table["class"] == "A"]
    hosts = pd.concat([calm, calm.assign(placement="node9", time_s=calm.time_s * 1.2)]).drop(columns="class")
    assert perfcore.fit(hosts, fitter="scaling").paths == ("time_s",)
