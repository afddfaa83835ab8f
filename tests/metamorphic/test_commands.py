"""What must not change an answer: order of rows and columns, names, unit, clock, file format, and where it runs.

Each command prints JSON of the input as it is and of the input changed; the numbers agree to 1e-6, but for these:

- Order of rows: codes are numbered in the file of a model as they first occur.
- Parts of a file: `gate` takes each file as a session, and says so.
- Formats: JSON Lines of Extra-P hold parameters, a call path and a value, and name what is left out; a curve is called
  `value` in Parquet; one sample without another column of numbers is no trace, and is refused.
- Unit: `compare` and `validate` refuse a model and data in different units.
"""

import json
import math

import numpy as np
import pandas as pd
import pytest
from child import run_lines

RNG = np.random.default_rng(11)
P = [1, 2, 4, 8, 16, 32]
RUNS = pd.DataFrame(
    [(p, round((0.4 + 10.0 / p) * factor, 6)) for p in P for factor in np.exp(0.01 * RNG.standard_normal(3))],
    columns=["p", "time_s"],
)
VERSIONS = pd.DataFrame(
    [
        (name, version, k, round(base * slow * noise, 9))
        for name, base in (("sort", 1.0), ("parse", 0.2))
        for version, slow in (("old", 1.0), ("new", 1.3 if name == "sort" else 1.0))
        for k, noise in enumerate(np.exp(0.02 * RNG.standard_normal(8)))
    ],
    columns=["benchmark", "version", "round", "time_s"],
)
LOAD = pd.DataFrame({"time_s": np.arange(200.0), "load": np.round(RNG.gamma(4.0, 0.2, 200), 6)})


def trace(states=("compute", "MPI_Send", "MPI_Recv")):
    """Intervals of three locations without gaps, in whole microseconds."""
    rows = []
    for location in range(3):
        now = 0
        for k in range(40):
            length = int(RNG.integers(20, 200))
            rows.append((f"rank {location}", now, now + length, states[k % len(states)]))
            now += length
    return pd.DataFrame(rows, columns=["location", "start_us", "end_us", "state"])


TRACE = trace()


def assert_same(before, after, factor=1.0):
    """Figures agree; those of times after division by a factor."""
    for old, new in zip(before["figures"], after["figures"], strict=True):
        assert old["name"] == new["name"]
        scale = factor if old["unit"] not in (None, "", "x") else 1.0
        ends = [[each["value"], *(each.get("interval") or ())] for each in (old, new)]
        for one, other in zip(*ends, strict=True):
            if isinstance(one, (int, float)):
                assert math.isclose(one * scale, other, rel_tol=1e-6, abs_tol=1e-9), (old, new)
            else:
                assert one == other


@pytest.fixture
def run(monkeypatch, perf, tmp_path):
    """Write a table, run a command on it, and give back its JSON; a status other than 0, 1 and 3 is a failure."""
    monkeypatch.chdir(tmp_path)

    def run(table, *words, name="data.csv", **how):
        (tmp_path / name).write_text(table.to_csv(index=False, **how))
        words = (name if word == "FILE" else word for word in words)
        return json.loads(perf(*words, "--json", status=(0, 1, 3)).out)

    return run


TABLES = {
    "fit": (RUNS, ["fit", "FILE", "--at", "p=64"]),
    "usl": (RUNS, ["fit", "FILE", "--fitter", "usl"]),
    "regression": (RUNS, ["fit", "FILE", "--fitter", "regression", "--formula", "a + b/p"]),
    "gate": (VERSIONS, ["gate", "FILE", "--version", "version", "--base", "old", "--new", "new"]),
    "summarize": (LOAD, ["stochastic", "summarize", "FILE", "--column", "load"]),
}
TRACES = {
    "overheads": ["overheads", "FILE"],
    "profile": ["profile", "FILE"],
}


@pytest.mark.parametrize("name", TABLES)
def test_the_order_of_columns_and_rows_and_the_ends_of_lines_do_not_matter(run, name):
    table, words = TABLES[name]
    before = run(table, *words)
    if name == "gate":  # samples have an order; of models it does not matter either: contracts/test_contracts.py
        assert_same(before, run(table.sample(frac=1.0, random_state=2), *words))
    assert_same(before, run(table[table.columns[::-1]], *words))
    assert_same(before, run(table, *words, lineterminator="\r\n"))
    assert_same(before, run(table, *words, sep=";", name="data.csv"))


def test_another_unit_scales_times_and_nothing_else(run):
    table, words = TABLES["gate"]
    scaled = table.assign(time_ms=1e3 * table["time_s"]).drop(columns="time_s")
    assert_same(run(table, *words), run(scaled, *words), 1e3)


def test_a_file_in_two_parts_is_one(run, tmp_path):
    table, words = TABLES["fit"]
    before = run(table, *words)
    (tmp_path / "part_1.csv").write_text(table.iloc[:9].to_csv(index=False))
    assert_same(before, run(table.iloc[9:], "fit", "part_*.csv", "--at", "p=64", name="part_2.csv"))


@pytest.mark.parametrize("name", TRACES)
def test_order_clock_and_unit_of_a_trace_do_not_matter(run, name):
    words = TRACES[name]
    before = run(TRACE, *words)
    assert_same(before, run(TRACE.sample(frac=1.0, random_state=1), *words))
    late = TRACE.assign(start_us=TRACE["start_us"] + 10**9, end_us=TRACE["end_us"] + 10**9)
    assert_same(before, run(late, *words))
    ns = TRACE.assign(start_ns=1000 * TRACE["start_us"], end_ns=1000 * TRACE["end_us"])
    assert_same(before, run(ns[["location", "start_ns", "end_ns", "state"]], *words))


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_converted_trace_gives_the_same_answer(run, perf, name, ending):
    before = run(TRACE, *TRACES[name])
    for source, target in (("data.csv", f"there.{ending}"), (f"there.{ending}", "back.csv")):
        perf("convert", source, "-o", target)
    assert_same(before, json.loads(perf(TRACES[name][0], "back.csv", "--json").out))


def test_what_a_format_cannot_hold_is_named(perf, tmp_path):
    said = perf("convert", "examples/halo/halo.prv", "-o", tmp_path / "halo.csv", status=(0,)).err
    assert "halo.csv has no messages of examples/halo/halo.prv: its format has no place for them" in said


def test_calls_within_calls_are_named_where_their_parts_would_count_as_calls(perf, tmp_path):
    rows = [f'{{"ph": "X", "name": "{name}", "pid": 1, "tid": 1, "ts": {at}, "dur": {dur}}}'
            for name, at, dur in (("outer", 0, 9), ("inner", 3, 2))]  # fmt: skip
    (tmp_path / "t.json").write_text(f'{{"traceEvents": [{", ".join(rows)}]}}')
    for ending, is_lost in (("csv", True), ("json", False)):
        said = perf("convert", tmp_path / "t.json", "-o", tmp_path / f"o.{ending}", status=(0,)).err
        assert ("has no calls within calls" in said) is is_lost


def test_columns_that_a_format_cannot_hold_are_named(perf, monkeypatch, tmp_path):
    (tmp_path / "by_category.csv").write_text("P,D,run,category,time_s\n1,16,0,a,4\n2,16,1,a,2\n4,16,0,a,1\n")
    monkeypatch.chdir(tmp_path)
    said = perf("convert", "by_category.csv", "-o", "lines.jsonl", status=(0,)).err
    assert "left out of by_category.csv: D, run; a line holds parameters (P), a call path and a value" in said


def test_locale_time_zone_hash_seed_and_threads_do_not_matter(tmp_path):
    """The same bytes, in processes of their own."""
    (tmp_path / "runs.csv").write_text(RUNS.to_csv(index=False))
    (tmp_path / "trace.csv").write_text(TRACE.to_csv(index=False))
    lines = [["fit", "runs.csv", "--at", "p=64", "--json"], ["overheads", "trace.csv", "--json"]]
    printed = []
    for settings in (
        {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0"},
        {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"},
        {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns", "PYTHONHASHSEED": "99", "OPENBLAS_NUM_THREADS": "1"},
    ):
        ended = run_lines(lines, tmp_path, **settings)
        assert [each.status for each in ended] == [0, 0]
        printed.append([json.loads(each.out[each.out.index("{") :]) for each in ended])
    for one in printed[1:]:
        for before, after in zip(printed[0], one, strict=True):
            assert_same(before, after)
