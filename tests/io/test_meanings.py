"""What columns of a table of runs are: by name, by values, and by what follows from others; and spreads as numbers."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import perfcore

P = "1 2 4 8"
TABLES = {
    # Columns with their cells, and what each is.
    "about a run": (
        {"p": P, "time_s": "9 5 3 2", "rep": "1 2 1 2", "seed": "7 8 9 7", "round": "1 1 2 2", "status": "ok ok ok ok",
         "note": "a b c d", "unit": "s s s s", "commit_date": "1 2 3 4", "revision": "a b b a", "text": "x y z z"},
        {"p": "parameter (--parameter)", "time_s": "value [s], smaller is better (--value)", "rep": "repetition",
         "seed": "identifier, not used", "round": "round (perf gate)", "status": "outcome of the run",
         "note": "remark (--path)", "unit": "unit of the value", "commit_date": "date of the commit (perf gate)",
         "revision": "version (perf gate --version)", "text": "text (--path)"},
    ),
    "moments": (  # a number is one if it can be a time since 1970
        {"p": P, "time_s": "9 5 3 2", "timestamp": "1.7e9 1.8e9 1.7e9 1.9e9", "order": "4 9 5 7",
         "started": "2024-01-01 2024-01-02 2024-01-04 2024-01-03", "t0": "300000001 5e8 4e8 6e8"},
        {"timestamp": "date (perf gate)", "order": "number (--value, --parameter)", "started": "date (perf gate)",
         "t0": "date (perf gate)"},
    ),
    "nearly moments": (
        {"p": P, "time_s": "9 5 3 2", "t0": "300000000 5e8 4e8 6e8"}, {"t0": "number (--value, --parameter)"},
    ),
    "quantities": (
        {"ranks": P, "wall_s": "9 5 3 2", "io_s": "1 4 2 7", "read_MB/s": "5 9 2 4", "nx": "3 5 2 9",
         "weight": "4 9 1 6", "better": "larger smaller larger larger"},
        {"ranks": "parameter p (--parameter)", "wall_s": "value [s], smaller is better (--value)",
         "io_s": "time (--value, --parameter)", "read_MB/s": "rate (--value, --parameter)",
         "nx": "size (--value, --parameter)", "weight": "number (--value, --parameter)",
         "better": "which values are better (perf gate --better)"},
    ),
    "alternatives": (
        {"n": P, "CPU_ms": "9 5 3 2", "GPU_ms": "4 6 5 3"},
        {"CPU_ms": "value [ms], smaller is better (--value)",
         "GPU_ms": "alternative value, a model of its own (--value)"},
    ),
    "spreads": (  # a standard deviation goes before an error, and what is of another value is none of this one
        {"p": P, "solve_s": "9 5 3 2", "solve_sem": ".1 .1 .2 .1", "solve_std": ".1 .1 .2 .1", "io_std": "1 2 1 3",
         "N": "5 6 7 5"},
        {"solve_std": "spread of runs (deviation)", "solve_sem": "spread of runs, of another value",
         "io_std": "spread of runs, of another value", "N": "number of runs"},
    ),
    "no number of runs": (
        {"p": P, "time_s": "9 5 3 2", "ci95": ".1 .1 .2 .1", "n": "5 6.5 7 5"},
        {"ci95": "spread of runs (confidence)", "n": "size (--value, --parameter)"},
    ),
    "spreads in another kind of unit": (
        {"p": P, "time_s": "9 5 3 2", "std_ms": "9 8 7 8"}, {"std_ms": "spread of runs (deviation)"},
    ),
    # What follows from others to half a per cent is said with its formula; two values alone follow from anything.
    "derived": (
        {"p": P, "time_s": "8 5 3 2", "base_s": "8 10 9 16", "speedup": "1.0 2.0 3.0 8.02", "twice": "2 4 8 16",
         "rate": ".5 .8 1.333 2", "area": "64 100 36 64", "width": "8 10 6 8"},
        {"speedup": "derived, base_s/time_s: not used", "twice": "derived, 2 * p: not used",
         "rate": "derived, 4 * 1/time_s: not used", "area": "number (--value, --parameter)"},
    ),
    "nearly derived": (
        {"p": P, "time_s": "8 5 3 2", "twice": "2 4 8 16.2", "level": "1 2 2 1", "half": "2 4 4 2"},
        dict.fromkeys(("twice", "level", "half"), "number (--value, --parameter)"),
    ),
    "a product of what was varied": (
        {"ranks": P, "threads": "3 2 5 3", "time_s": "8 5 3 2", "cores_used": "3 4 20 24", "items": "16 25 9 4"},
        {"cores_used": "derived, threads*ranks: not used"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_what_each_column_is(tmp_path, name):
    columns, expected = TABLES[name]
    table = pd.DataFrame({column: cells.split() for column, cells in columns.items()})
    table.to_csv(tmp_path / "runs.csv", index=False)
    found = dict(line.split(": ", 1) for line in perfcore.info(tmp_path / "runs.csv")["roles"])
    assert {column: found[column] for column in expected} == expected


# A spread of 3 % of the mean of 12 runs, in the ways in which it is printed; and of two where their number is not told.
T = stats.t.ppf(0.975, 11)
SPREADS = {
    "deviation": ({"sd_s": 0.06, "n": 12}, 0.03, 12),
    "in another unit": ({"std_ms": 60.0, "n_runs": 12}, 0.03, 12),
    "of this value": ({"time_stddev": 0.06, "other_stddev": 9.0, "samples": 12}, 0.03, 12),
    "standard error": ({"sem": 0.06 / np.sqrt(12), "reps": 12}, 0.03, 12),
    "confidence interval": ({"ci95": T * 0.06 / np.sqrt(12), "runs": 12}, 0.03, 12),
    "confidence interval of unknown runs": ({"ci95": 1.959963984540054 * 0.06 / np.sqrt(2)}, 0.03, None),
    "deviation before error": ({"stderr": 9.0, "sd": 0.06, "n": 12}, 0.03, 12),
    "unknown runs": ({"sd_s": 0.06}, 0.03, None),
}


@pytest.mark.parametrize("how", SPREADS)
def test_spreads_are_standard_deviations_of_runs(how):
    columns, noise, runs = SPREADS[how]
    versions = [pd.DataFrame({"bench": ["a"], "time_s": [mean], **columns}) for mean in (2.0, 3.0)]
    [found] = perfcore.gate(*versions).to_dict()["benchmarks"]
    assert found["noise"] == pytest.approx([noise, noise * 2 / 3], rel=1e-9)
    assert runs is None or found["rounds"] == runs


def history(rows, /, **columns):
    """Forty commits of which the last ten are slower by half, in some order of the rows."""
    times = 1.0 + 0.01 * np.sin(np.arange(40.0)) + 0.5 * (np.arange(40) >= 30)
    table = pd.DataFrame({"commit": [f"c{k}" for k in range(40)], "time_s": times, **columns})
    return perfcore.gate_history(table.iloc[rows], commit="commit").report()


@pytest.mark.parametrize(
    "moments",
    [
        {"date": [f"2024-02-{k // 2 + 1:02}T{12 * (k % 2) + 6:02}:00:00+01:00" for k in range(40)]},
        {"timestamp": [f"2024-01-01 00:00:{k:02}.5" for k in range(40)]},
        {"started": 1.7e9 + 60 * np.arange(40)},
        {"order": np.arange(40) / 4},
        {"time": 1.7e9 + np.arange(40)},
        {"order": ["?"] * 40, "date": 1.7e9 + np.arange(40)},  # what is no moment is passed over
    ],
)
def test_commits_come_in_the_order_of_their_moments(moments):
    shuffled = np.random.default_rng(3).permutation(40)
    assert history(shuffled, **moments).answer == history(np.arange(40)).answer
    assert "c30" in history(np.arange(40)).answer


def test_how_long_runs_took_is_no_moment():
    """Numbers below nine years of seconds in a column `time`: the order of the rows counts."""
    durations = np.random.default_rng(1).permutation(40) + 1.0
    assert history(np.arange(40), time=durations).answer == history(np.arange(40)).answer


def test_a_column_says_which_values_are_better():
    text = "bench,version,better,score\n" + "".join(
        f"{name},{version},{better},{base * (1 + 0.001 * k)}\n"
        for name, better in (("a", "larger"), ("b", " Smaller"), ("c", "larger"))
        for version, base in (("old", 1.0), ("new", 1.5))
        for k in range(8)
    )
    rows = perfcore.gate(pd.read_csv(io.StringIO(text))).to_dict()["benchmarks"]
    assert {row["benchmark"]: (row["better"], row["outcome"]) for row in rows} == {
        "a": ("larger", "pass"), "b": ("smaller", "fail"), "c": ("larger", "pass"),
    }  # fmt: skip
