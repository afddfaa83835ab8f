"""``perf experiment design``: points, files, budgets."""

import json

import pytest

from perf_experiments import read_design


def test_a_file_and_what_is_in_it(perf, folder):
    out = perf(
        "experiment", "design", "-f", "p=1,2,4", "-f", "D=4..16*2", "-c", "D % p == 0", "-c", "p < 4", "-o", "d.toml"
    ).lines
    assert (out[0], out[-1]) == ("6 points of p, D, 2 repetitions: 12 runs; p < 4 excludes 3", "design: d.toml")
    assert len(read_design(folder / "d.toml").chosen()) == 6


@pytest.mark.usefixtures("folder")
def test_without_a_file_the_points_are_printed(perf):
    lines = perf(
        "experiment", "design", "-f", "p=1,2", "-f", "s=a,b", "--kind", "one-at-a-time", "--replications", "1"
    ).lines
    assert [line.split() for line in lines[2:6]] == [["p", "s"], ["1", "a"], ["2", "a"], ["1", "b"]]
    assert json.loads(perf("experiment", "design", "-f", "p=1,2", "--json").out)["rows"] == [{"p": 1}, {"p": 2}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing option '--factor'"),
        (["-f", "p"], "NAME=LEVEL,LEVEL"),
        (["-f", "p=1", "-f", "p=2"], "--factor p is given twice"),
        (["-f", "p=1", "-c", "q > 1"], "constraint 'q > 1': unknown factor 'q': choose from cores, p"),
        (["-f", "p=1", "-c", "p > 1"], "no point is left to measure: p > 1 refuses 1"),
        (["-f", "p=1", "--kind", "all"], "'all' is not one of"),
        (["-f", "p=1", "--kind", "sobol"], "needs the number of its points (--points N)"),
        (["-f", "p=1", "--points", "3"], "--points belongs to latin-hypercube and sobol"),
        (["-f", "p=1", "--fraction", "3"], "--fraction belongs to fractional"),
        (["-f", "p=1", "--budget", "2h"], "--budget needs the time of a run"),
        (["-f", "p=1", "--budget", "soon", "--runs", "x.db"], "duration 'soon'"),
        (["-f", "p=1", "--runs", "x.db"], "x.db: there is no such store"),
        (["-f", "p=1", "--runs", "x.db", "--model", "m.json"], "give one"),
        (["-f", "p=1,2", "--kind", "one-at-a-time", "--centre", "p=3"], "unknown level of p for the centre '3'"),
    ],
)
def test_mistakes(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("experiment", "design", *words, *(["-o", "d.toml"] if words else []))
    assert sorted(folder.iterdir()) == before
