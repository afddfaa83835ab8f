"""``perf experiment next``: from a model, from a store, and what is refused."""

import json
import sys

import pytest

from perf_experiments import read_design


@pytest.fixture
def model(perf, folder):
    (folder / "t.csv").write_text("p,time_s\n1,8.1\n2,4.3\n4,2.5\n8,1.7\n16,1.2\n32,1.05\n")
    perf("fit", "t.csv", "--fitter", "individual", "--functions", "all", "--terms", "2", "-o", "m.json")
    return folder / "m.json"


@pytest.fixture
def store(perf, folder):
    """Two points of two runs: one of the same value twice, one that spreads by 30 %."""
    perf("experiment", "design", "-f", "n=1,2", "-o", "d.toml")
    code = "import pathlib; f = pathlib.Path('seen-{n}'); print('t', 10 if {n} == 1 or f.exists() else 15); f.touch()"
    words = ["--max-load", "1", "--value", "t=t ([0-9.]+)", "--", sys.executable, "-S", "-c", code]
    perf("experiment", "run", "d.toml", *words)
    return folder / "d.db"


@pytest.mark.usefixtures("model")
def test_points_for_a_target_become_a_design(perf):
    words = ["--target", "p=1024", "--candidates", "p=1..256*2", "--points", "2"]
    lines = perf("experiment", "next", "m.json", *words, "-o", "more.toml").lines
    assert lines[0].startswith("Measure p=256 next: the standard error at p=1024 (predicted 0.8")
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["p", "runs", "SE", "after", "variance", "reduction", "cost", "reduction", "per", "s"]
    assert [line.split()[0] for line in table[1:3]] == ["256", "256"]
    assert lines[2].startswith("competing model: ")
    assert lines[-1] == "design: more.toml, 1 point for `perf experiment run`"
    design = read_design("more.toml")
    assert (design.chosen(), design.counts(design.chosen())) == ([{"p": 256}], [2])
    facts = json.loads(perf("experiment", "next", "m.json", *words, "--json").out)
    assert [choice["in_all"] for choice in facts["choices"]] == [1, 2]
    assert facts["rivals"][0]["point"] == {"p": 256}


def test_replications_that_are_missing(perf, store):
    lines = perf("experiment", "next", store, "--precision", "20%", "-o", "more.toml").lines
    header, first, second = (line.split() for line in lines[2:5])
    assert header == ["n", "runs", "CV", "95%", "CI", "half-width", "runs", "needed"]
    needed = {row[0]: int(row[-1]) for row in (first, second)}
    assert needed["2"] > needed["1"]
    design = read_design("more.toml")
    assert {
        point["n"]: count for point, count in zip(design.chosen(), design.counts(design.chosen()), strict=True)
    } == {int(n): count for n, count in needed.items()}
    words = ["--precision", "5%", "--most", "3", "-o", "more.toml", "--overwrite"]
    few = perf("experiment", "next", store, *words).lines
    assert few[0].startswith("2 more runs of 2 points needed for +-5% (95% CI) of each mean, about ")
    lines = perf("experiment", "run", "more.toml", "--store", store, "--max-load", "1").lines
    assert lines[0].endswith("2 new runs made, 6 in total")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.json", "--target", "p=1"], "none.json: there is no such file"),
        (["m.json", "--target", "p=1,2"], "--target p: one level is expected, not 2"),
        (["m.json", "--target", "q=1"], "unknown variable 'q': choose from p"),
        (["m.json", "--target", "p"], "--target p=p: NAME=VALUE,... is expected"),
        (["m.json", "--target", "p=1", "-c", "q=1,2"], "unknown variable 'q': choose from p"),
        (["m.json", "--target", "p=1", "-c", "p=1..4"], "--candidates p=1..4: NAME=VALUE,... is expected"),
        (["m.json", "--target", "p=1", "--constraint", "p > 1"], "--constraint needs --candidates"),
        (["m.json", "--target", "p=1", "-c", "p=2", "-c", "d.toml"], "one design, or levels of each variable"),
        (["m.json", "--target", "p=1", "--precision", "2%"], "--precision is for a run database"),
        (["m.json", "--target", "p=1", "--most", "3"], "--most is for a run database"),
    ],
)
@pytest.mark.usefixtures("model")
def test_mistakes(refused, words, message):
    assert message in refused("experiment", "next", *words)
