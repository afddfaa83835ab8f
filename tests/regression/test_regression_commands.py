"""The program: what it prints for regressions and the scalability law, and how it ends."""

import json
import shlex

import pytest

RUNS = "p,time_s\n1,10.2\n2,5.3\n4,2.9\n8,1.68\n16,1.12\n32,0.86\n"


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)


@pytest.mark.parametrize("words", [("regression", "--formula", "a + b/p + c*log2(p)"), ("usl",)])
def test_a_fit_is_printed_saved_used_and_drawn(perf, tmp_path, words):
    lines = perf("fit", "runs.csv", "--fitter", *words, "-o", "model.json", "--plot", "fit.svg", short=True).lines
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 110
    assert {"Assumed:", "Next:"} <= {line.partition(" ")[0] for line in lines}
    suggested = next(line for line in lines if line.startswith("Next: perf "))
    assert perf(*shlex.split(suggested)[2:]).out
    content = json.loads(perf("fit", "runs.csv", "--fitter", *words, "--json").out)
    assert content["kind"] == words[0]
    assert len(content["details"]["runs"]) == 6
    table = perf("fit", "runs.csv", "--fitter", *words, "--table", "csv")
    assert table.lines[0].endswith("lower,upper")
    assert "extrapolated" in perf("predict", "model.json", "--at", "p=64", "--interval", "0.9").out
    assert "median error" in perf("validate", "model.json", "runs.csv").out
    assert perf("compare", "model.json", "model.json", "--at", "p=64").out
    assert perf("experiment", "next", "model.json", "--target", "p=128", "--candidates", "p=1..64*2").out
    perf("plot", "model.json", "runs.csv", "--panels", "residuals,influence", "-o", "some.svg")
    assert (tmp_path / "some.svg").stat().st_size > 1000


@pytest.mark.parametrize(("words", "message"), [
    (("regression",), "the formula is missing"), (("regression", "--formula", "a + b/"), "column 6"),
    (("regression", "--formula", "a + b/p", "--quantile", "2"), "below 1"),
    (("usl", "--value", "time"), "unknown column 'time'"),
])  # fmt: skip
def test_mistakes_end_with_status_2_and_one_line(refused, words, message):
    assert message in refused("fit", "runs.csv", "--fitter", *words)
