"""``perf fit --fitter scaling``: what is printed, written and refused, and the exit status."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import perfcore

LEVELS = (4, 8, 16, 32, 64)
HEADER = "p,function,time_s\n"
FIT = ("--fitter", "scaling", "--at", "p=256")


def lines_of(name, values, levels=LEVELS):
    return "".join(f"{p},{name},{y}\n" for p, y in zip(levels, values, strict=False))


SOLVE = lines_of("solve", [10 + 1000 / p for p in LEVELS])
EXCHANGE = lines_of("exchange", [2 + 0.5 * p for p in LEVELS])
BAD = {
    "too few points": (lines_of("bad", [1, 2]), "bad: measured at 2 points; 3 are needed"),
    "zeros": (lines_of("bad", [0] * 5), "bad: is 0 at every point"),
    "more zeros than values": (
        lines_of("bad", [1, 0, 0, 0, 1]),
        "bad: holds 0, and is above 0 at fewer than the 3 points",
    ),
    "negative": (lines_of("bad", [1, -2, 1, 1, 1]), "bad: holds -2; noise is relative to the value"),
    "missing": (lines_of("bad", [1, 2, "", "", ""]), "bad: measured at 2 points; 3 are needed"),
    "nan": (lines_of("bad", [1, 2, "nan", "nan", "nan"]), "bad: measured at 2 points; 3 are needed"),
}


@pytest.fixture
def runs(folder):
    Path("runs.csv").write_text(HEADER + SOLVE + EXCHANGE)
    return folder


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compile beforehand: what is said about it on stderr is tested elsewhere."""
    import pandas as pd

    values = pd.DataFrame({"p": np.array(LEVELS, dtype=float), "time_s": [1.0, 2, 3, 4, 5]})
    perfcore.fit(values, fitter="scaling").tables()


@pytest.mark.usefixtures("runs")
def test_the_table_begins_with_the_largest_share(perf):
    lines = perf("fit", "runs.csv", *FIT).lines
    assert lines[0] == "scaling laws of 2 paths of runs.csv"
    header = next(number for number, line in enumerate(lines) if line.startswith("path "))
    assert [line.split()[0] for line in lines[header + 1 : header + 3]] == ["exchange", "solve"]
    assert "2 + 0.5*p" in lines[header + 1]
    assert "linear" in lines[header + 1]
    assert "10 + 1000/p" in lines[header + 2]
    assert "falling" in lines[header + 2]


@pytest.mark.usefixtures("runs")
def test_json_has_everything_of_the_table(perf):
    printed = json.loads(perf("fit", "runs.csv", *FIT, "--json", "-o", "laws.json").out)
    rows = {row["path"]: row for row in printed["details"]["paths"]}
    model = perfcore.load("laws.json")
    assert set(rows) == set(model.paths)
    for row in model.rows:
        shown = rows[row.path]
        assert [shown[name] for name in ("share", "predicted", "low", "high", "law", "probability")] == [
            row.share, row.predicted, row.low, row.high, row.law, row.probability,
        ]  # fmt: skip
        assert shown["growths"]["p"]["name"] == row.growths[0].name
    assert printed["details"]["next_point"] == {"p": 128.0}
    assert len(printed["details"]["speedup"]["levels"]) == 6


@pytest.mark.usefixtures("runs")
def test_csv_has_one_number_in_a_cell(perf):
    rows = list(csv.DictReader(io.StringIO(perf("fit", "runs.csv", *FIT, "--table", "csv").out)))
    assert [row["path"] for row in rows] == ["exchange", "solve"]
    assert float(rows[0]["predicted"]) == pytest.approx(130, rel=0.02)
    assert float(rows[0]["low"]) <= 130 <= float(rows[0]["high"])
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.usefixtures("runs")
def test_latex_escapes_formulas(perf):
    out = perf("fit", "runs.csv", *FIT, "--table", "latex").out
    assert r"\%" in out
    assert "2 + 0.5*p" in out
    assert out.count(r"\begin{tabular}") == out.count(r"\end{tabular}") == 3  # paths, what to measure, and speedup


@pytest.mark.usefixtures("runs")
def test_all_laws_of_one_path(perf, refused):
    assert "All laws of solve that the data leave" in perf("fit", "runs.csv", *FIT, "--show", "solve").out
    assert "unknown path 'sovle': did you mean 'solve'?" in refused("fit", "runs.csv", *FIT, "--show", "sovle")


@pytest.mark.parametrize("kind", BAD)
def test_bad_paths_are_listed_the_others_fitted_and_the_status_is_3(perf, runs, kind):
    rows, reason = BAD[kind]
    (runs / "runs.csv").write_text(HEADER + SOLVE + rows + EXCHANGE)
    done = perf("fit", "runs.csv", *FIT, "-o", "laws.json", status=3)
    assert any(line.startswith(f"not fitted: {reason}") for line in done.lines)
    assert perfcore.load("laws.json").paths == ("solve", "exchange")
    assert done.err == ""


@pytest.mark.parametrize("kind", BAD)
def test_only_bad_paths_are_an_error(refused, runs, kind):
    rows, reason = BAD[kind]
    (runs / "runs.csv").write_text(HEADER + rows + rows.replace("bad", "worse"))
    assert f"none of 2 paths can be fitted; {reason}" in refused("fit", "runs.csv", *FIT, "-o", "laws.json")
    assert not (runs / "laws.json").exists()


def test_json_with_bad_paths_says_so_on_stderr(perf, runs):
    (runs / "runs.csv").write_text(HEADER + SOLVE + lines_of("bad", [0] * 5))
    done = perf("fit", "runs.csv", *FIT, "--json", status=3)
    assert json.loads(done.out)["details"]["unfitted"] == {"bad": "is 0 at every point"}
    assert done.err == "perf: warning: 1 path of the data could not be fitted\n"


def test_a_path_missing_at_a_point_is_fitted(perf, runs):
    (runs / "runs.csv").write_text(HEADER + SOLVE + EXCHANGE.replace("16,exchange,10.0\n", ""))
    assert "2 + 0.5*p" in perf("fit", "runs.csv", *FIT).out


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([(p, 100) for p in LEVELS], "measured at one level of n; measure at more, or hold it with --where"),
        ([(p, 10 * p) for p in LEVELS], "p and n were varied together only (the points lie on a line)"),
    ],
)
def test_two_parameters_that_cannot_be_told_apart(refused, folder, points, reason):
    (folder / "two.csv").write_text("p,n,time_s\n" + "".join(f"{p},{n},{1 + p * n}\n" for p, n in points))
    words = ("--fitter", "scaling", "--parameter", "p,n", "--at", "p=256,n=1000")
    assert reason in refused("fit", "two.csv", *words)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--at", "q=3"), "unknown parameter 'q': Known: p"),
        (("--at", "p=4,p=8"), "scaling: --at 'p=4,p=8': NAME=LEVEL is expected, such as p=4096, one level of each"),
        (("--at", "p=0"), "--at p=0: a positive level is expected"),
        (("--at", "4096"), "NAME=LEVEL is expected, such as p=4096"),
        (("--table", "html"), "'html' is not one of 'csv', 'latex'"),
    ],
)
def test_mistakes_in_options(refused, words, message):
    assert message in refused("fit", "runs.csv", "--fitter", "scaling", *words)


def test_help_says_what_status_3_is(perf):
    assert "The exit status is 3 where" in perf("fit", "--help").out


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "law"), [("input_1.JSON", "1.5 + 0.5*x"), ("test1.jsonl", "1*x^2 + 1*y")])
def test_files_of_extra_p(perf, real_data, folder, file, law):
    """Extra-P's own tests: the data are made of these laws."""
    assert law in perf("fit", real_data / "benchresults/extrap" / file, "--fitter", "scaling").out
