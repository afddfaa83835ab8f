"""The program: what it prints for regressions and the scalability law, and how it ends."""

import json
import shlex
import sys

import pytest

from perfcore.__main__ import main

RUNS = "p,time_s\n1,10.2\n2,5.3\n4,2.9\n8,1.68\n16,1.12\n32,0.86\n"


@pytest.fixture
def perf(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)

    def run(*words, status=0):
        monkeypatch.setattr(sys, "argv", ["perf", *words])
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        assert (code or 0) == status, printed.err
        return printed.out if status == 0 else printed.err

    return run


@pytest.mark.parametrize("words", [("regression", "--formula", "a + b/p + c*log2(p)"), ("usl",)])
def test_a_fit_is_printed_saved_used_and_drawn(perf, tmp_path, words):
    printed = perf("fit", "runs.csv", "--fitter", *words, "-o", "model.json", "--plot", "fit.svg")
    lines = printed.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 110
    assert {"Assumed:", "Next:"} <= {line.partition(" ")[0] for line in lines}
    suggested = next(line for line in lines if line.startswith("Next: perf "))
    assert perf(*shlex.split(suggested)[2:])
    content = json.loads(perf("fit", "runs.csv", "--fitter", *words, "--json"))
    assert content["kind"] == words[0]
    assert len(content["details"]["runs"]) == 6
    table = perf("fit", "runs.csv", "--fitter", *words, "--table", "csv")
    assert table.splitlines()[0].endswith("lower,upper")
    assert "extrapolated" in perf("predict", "model.json", "--at", "p=64", "--interval", "0.9")
    assert "median error" in perf("validate", "model.json", "runs.csv")
    assert perf("compare", "model.json", "model.json", "--at", "p=64")
    assert perf("experiment", "next", "model.json", "--target", "p=128", "--candidates", "p=1..64*2")
    perf("plot", "model.json", "runs.csv", "--panels", "residuals,influence", "-o", "some.svg")
    assert (tmp_path / "some.svg").stat().st_size > 1000


@pytest.mark.parametrize(("words", "message"), [
    (("regression",), "the formula is missing"), (("regression", "--formula", "a + b/"), "column 6"),
    (("regression", "--formula", "a + b/p", "--quantile", "2"), "below 1"),
    (("usl", "--value", "time"), "unknown column 'time'"),
])  # fmt: skip
def test_mistakes_end_with_status_2_and_one_line(perf, words, message):
    printed = perf("fit", "runs.csv", "--fitter", *words, status=2)
    assert message in printed
    assert len(printed.splitlines()) <= 3
    assert printed.count("perf: error: ") == 1
