"""``perf fit --fitter scaling``: what is printed, written and refused, and the exit status."""

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
    "one point": (lines_of("bad", [1]), "bad: 1 distinct point; 3 are required"),
    "too few points": (lines_of("bad", [1, 2]), "bad: 2 distinct points; 3 are required"),
    "zeros": (lines_of("bad", [0] * 5), "bad: is 0 at every point"),
    "more zeros than values": (
        lines_of("bad", [1, 0, 0, 0, 1]),
        "bad: holds 0, and is above 0 at fewer than the 3 points",
    ),
    "negative": (lines_of("bad", [1, -2, 1, 1, 1]), "bad: holds -2; noise is relative to the value"),
    "missing": (lines_of("bad", [1, 2, "", "", ""]), "bad: 2 distinct points; 3 are required"),
    "nan": (lines_of("bad", [1, 2, "nan", "nan", "nan"]), "bad: 2 distinct points; 3 are required"),
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
    perfcore.fit(values, fitter="scaling").report()


@pytest.mark.usefixtures("runs")
def test_the_table_begins_with_the_largest_share(perf):
    lines = perf("fit", "runs.csv", *FIT).lines
    assert lines[0].startswith("At p=256 (4x beyond the data): 1")
    header = next(number for number, line in enumerate(lines) if line.startswith("call path "))
    assert [line.split()[0] for line in lines[header + 1 : header + 3]] == ["exchange", "solve"]
    assert "  p  " in lines[header + 1]
    assert "2 + 0.5*p" in lines[header + 1]
    assert "  1/p  " in lines[header + 2]


@pytest.mark.parametrize("kind", BAD)
def test_bad_paths_are_listed_the_others_fitted_and_the_status_is_3(perf, runs, kind):
    rows, reason = BAD[kind]
    (runs / "runs.csv").write_text(HEADER + SOLVE + rows + EXCHANGE)
    done = perf("fit", "runs.csv", *FIT, "-o", "laws.json", status=3)
    assert any(line.startswith(f"Not fitted: {reason}") for line in done.lines)
    assert perfcore.load("laws.json").formula == "solve = 10 + 1000/p\nexchange = 2 + 0.5*p"
    assert done.err == ""


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("words", "message"), [
    (("--at", "q=3"), "unknown parameter 'q': choose from p"),
    (("--at", "p=4,p=8"), "scaling: --at 'p=4,p=8': expected one value of each parameter"),
    (("--at", "p=0"), "--at p=0: a positive level is expected"),
    (("--at", "many"), "expected one value of each parameter, e.g. p=4096"),
    (("--table", "html"), "'html' is not one of 'csv', 'spreadsheet', 'latex'"),
])  # fmt: skip
def test_mistakes_in_options(refused, words, message):
    assert message in refused("fit", "runs.csv", "--fitter", "scaling", *words)


@pytest.mark.parametrize(("columns", "at", "answer"), [
    ({"p": [1, 2, 4, 8, 16, 32]}, "128", "At p=128 (4x beyond the data): "),
    ({"p": [4] * 6, "n": [10, 20, 40, 80, 160, 320]}, "n=640", "At n=640 (2x beyond the data): "),
    ({"p": [4] * 6, "n": [10, 20, 40, 80, 160, 320]}, "640", "At n=640 (2x beyond the data): "),
    ({"batch": [10, 20, 40, 80, 160, 320]}, "batch=640", "At batch=640 (2x beyond the data): "),
    ({"threads": [1, 2, 4, 8, 16, 32]}, "threads=16", "At threads=16 (measured): "),
])  # fmt: skip
def test_the_target_names_the_parameters(folder, columns, at, answer):
    table = {**columns, "time_s": [1.0, 1.6, 2.9, 5.2, 10.3, 20.1]}
    rows = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    Path("runs.csv").write_text("\n".join(rows) + "\n")
    model = perfcore.fit("runs.csv", fitter="scaling", at=at)
    assert model.report().answer.startswith(answer)


def test_a_number_that_was_varied_is_a_parameter(folder):
    """Of a column that nobody names, if without it rows would pass for repeated runs that they are not."""
    rows = [f"{p},{n},{n * n / p}" for p in (1, 2, 4, 8) for n in (10, 20, 40, 80)]
    Path("runs.csv").write_text("\n".join(["p,n,time_s", *rows]) + "\n")
    model = perfcore.fit("runs.csv", fitter="scaling")
    assert tuple(model.parameter_names.values()) == ("p", "n")
    assert any("parameters p, n" in text for text in model.report().notes_by_label()["Assumed"])
    assert model.formula == "1*n^2/p"


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "law"), [("input_1.JSON", "1.5 + 0.5*x"), ("test1.jsonl", "1*x^2 + 1*y")])
def test_files_of_extra_p(perf, real_data, folder, file, law):
    """Extra-P's own tests: the data are made of these laws."""
    assert law in perf("fit", real_data / "benchresults/extrap" / file, "--fitter", "scaling").out


def test_several_files_are_one_data_set(perf, refused, folder):
    rows = ["1,10.2", "2,5.3", "4,2.9", "8,1.68", "16,1.12", "32,0.86"]
    for name, part in (("all", rows), ("a", rows[:3]), ("b", rows[3:])):
        (folder / f"{name}.csv").write_text("\n".join(["p,time_s", *part]) + "\n")
    answers = [
        perf("fit", *files, "--at", "p=128").lines[0] for files in (["all.csv"], ["a.csv", "b.csv"], ["[ab].csv"])
    ]
    assert len(set(answers)) == 1
    assert refused("fit", "a.csv", "none.csv") == "none.csv: there is no such file"
