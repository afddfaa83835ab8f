"""``perf fit``: data to a model, and one line for each way to get it wrong."""

import json
from pathlib import Path

import pytest

import perfcore

ARGUMENTS = ("--fitter", "phases", "--phases", "2", "--degree", "0")


@pytest.mark.usefixtures("folder")
def test_the_phases_as_a_table(perf):
    lines = perf("fit", "curve.csv", *ARGUMENTS).lines
    assert lines[0].startswith("2 phases in curve.csv")
    header = next(number for number, line in enumerate(lines) if line.startswith("phase"))
    assert [line.split()[:5] for line in lines[header + 1 : header + 3]] == [
        ["1", "0", "-", "40", "40"],
        ["2", "40", "[39.8,", "40.2]", "100"],  # one of 512 cells before and after
    ]
    assert lines[header + 4].startswith("Assumed: start has no unit: its times are taken in us")


@pytest.mark.usefixtures("folder")
def test_an_option_that_is_given_twice_counts_twice(perf):
    rows = [f"{a},{b},{p},{8 * a * b / p}" for a in (1, 2) for b in (1, 2) for p in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(["a,b,p,time_s", *rows]))
    once = perf("fit", "runs.csv", "--where", "a=2,b=1", "--json").out
    assert json.loads(perf("fit", "runs.csv", "--where", "a=2", "--where", "b=1", "--json").out) == json.loads(once)
    assert "expected one value" in perf("fit", "runs.csv", "--at", "p=8", "--at", "p=16", status=2).err


@pytest.mark.usefixtures("folder")
def test_json_is_the_model_file_and_its_statistics(perf):
    printed = json.loads(perf("fit", "curve.csv", *ARGUMENTS, "--json", "-o", "model.json").out)
    assert [(phase["start"], phase["end"]) for phase in printed["model"]["phases"]] == [(0, 40), (40, 100)]
    assert printed["statistics"]["epsilon"] == 0.0
    assert printed["answer"].startswith("2 phases")
    for name in ("statistics", "parameters", "answer", "figures", "notes", "next"):
        del printed[name]
    written = json.loads(Path("model.json").read_text())
    assert len(written.pop("digest")) == 16  # by which a model that was edited is known
    assert written == printed


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("words", "options"), [
    ((), {}),
    (("--phases", "1..3", "--rule", "penalty", "--refine"),
        {"phases": range(1, 4), "rule": "penalty", "refine": True}),
    (("--fitter", "worley", "--phases", "2", "--functions", "exp,log"),
        {"fitter": "worley", "phases": 2, "functions": ["exp", "log"]}),
    (("--fitter", "worley", "--tolerance", "3"), {"fitter": "worley", "tolerance": 3.0}),
    (("--phases=2", "--degree=1", "--segmenter=hill-climb", "--start=greedy"),
        {"phases": 2, "degree": 1, "segmenter": "hill-climb", "start": "greedy"}),
    (("--fitter", "worley", "--phases", "2", "--scale", "0.5", "--refine"),
        {"fitter": "worley", "phases": 2, "scale": 0.5, "refine": True}),
])  # fmt: skip
def test_python_and_the_command_line_are_the_same_call(perf, words, options):
    printed = json.loads(perf("fit", "curve.csv", "--json", *words).out)
    model = perfcore.fit("curve.csv", **{"fitter": "phases", **options})
    assert printed["answer"] == model.report().answer
    for name in ("statistics", "parameters", "answer", "figures", "notes", "next"):
        del printed[name]
    assert printed == json.loads(json.dumps(model.to_dict()))


def test_mistakes_in_options_are_found_before_the_data_are_read(refused):
    assert "--phases" in refused("fit", "no such file", "--fitter", "worley", "--phases", "0")
    assert "cannot draw" in refused("fit", "no such file", "--plot", "x.jpg")


def test_files_that_are_not_there(refused, folder):
    assert refused("fit", "none.csv") == "none.csv: there is no such file"
    assert "holds a Trace, and" in refused("fit", folder)
    assert "Missing argument 'DATA'" in refused("fit")
    assert refused("fit", "curve.csv", "curve.csv") == "curve.csv: is given twice; name each file once"


def test_names_that_are_not_text(perf, folder):
    data, model = folder / "caf\udce9.csv", folder / "caf\udce9.json"  # the byte E9, as Python spells it
    data.write_text((folder / "curve.csv").read_text())
    assert "caf\ufffd.csv" in perf("fit", data, *ARGUMENTS, "-o", model).out
    assert perfcore.load(model).origin.source.endswith("caf\ufffd.csv")
    assert json.loads(perf("info", data, "--json").out)["facts"]["file"].endswith("caf\ufffd.csv")
