"""``perf experiment``: designs, runs, what to measure next; status, resuming, interrupts, and two at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import gone, met

import perfcore
from perf_experiments import read_design


# Designs.
def test_a_file_and_what_is_in_it(perf, folder):
    words = ["-f", "p=1,2,4", "-f", "D=4..16*2", "-c", "D % p == 0", "-c", "p < 4"]
    out = perf("experiment", "design", *words, "-o", "d.toml").lines
    assert (out[0], out[-1]) == ("6 points of p, D, 2 repetitions: 12 runs; p < 4 excludes 3", "design: d.toml")
    assert len(read_design(folder / "d.toml").chosen()) == 6


@pytest.mark.usefixtures("folder")
def test_without_a_file_the_points_are_printed(perf):
    words = ["-f", "p=1,2", "-f", "s=a,b", "--kind", "one-at-a-time", "--replications", "1"]
    lines = perf("experiment", "design", *words).lines
    assert [line.split() for line in lines[2:6]] == [["p", "s"], ["1", "a"], ["2", "a"], ["1", "b"]]
    assert json.loads(perf("experiment", "design", "-f", "p=1,2", "--json").out)["rows"] == [{"p": 1}, {"p": 2}]


# Runs.
PYTHON = [sys.executable, "-S", "-c"]


@pytest.fixture
def design(perf, folder):
    perf("experiment", "design", "-f", "n=1,2", "--replications", "1", "-o", "d.toml")
    return folder / "d.toml"


def test_runs_are_made_listed_and_fitted(perf, design):
    words = ["--max-load", "1", "--value", "t=t ([0-9.]+)", "--", *PYTHON, "print('t', 8/{n})"]
    lines = perf("experiment", "run", "d.toml", *words).lines
    assert lines == ["d.db: 2 new runs made, 2 in total", "", "Next: perf fit d.db"]
    assert perf("experiment", "run", "d.toml").lines[0] == "d.db: 0 new runs made, 2 in total"
    table = [line.split() for line in perf("experiment", "list", "d.db").lines[2:]]
    assert table[0] == ["run", "n", "repetition", "t", "wall", "[s]", "state"]
    assert sorted((row[1], row[3], row[5]) for row in table[1:3]) == [("1", "8", "ok"), ("2", "4", "ok")]
    assert "stdout " in perf("experiment", "list", "d.db", "--show", "1").out
    assert json.loads(perf("experiment", "list", "d.db", "--show", "1", "--json").out)["environment"]["cores"] >= 1
    assert perf("convert", "d.db", "-o", "d.csv").out.startswith("d.csv: Measurements(2 rows, t over")
    assert sorted(perfcore.read("d.csv", kind="measurements").table["t"]) == [4, 8]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_what_ended(design, perf, number, status):
    program = Path(sys.executable).with_name("perf")
    code = "import time, os; open('pid-{n}', 'w').write(str(os.getpid())); time.sleep(0 if {n} == 2 else 3600)"
    command = [program, "experiment", "run", "d.toml", "--max-load", "1", "--", *PYTHON, code]
    with subprocess.Popen(command, cwd=design.parent, stderr=subprocess.PIPE, text=True) as running:
        assert met(lambda: Path("pid-1").exists() and Path("pid-1").read_text())
        running.send_signal(number)
        err = running.communicate()[1]
    assert running.returncode == status, err
    if number == signal.SIGINT:
        assert "all runs that ended are kept in d.db; `perf experiment run d.toml` goes on" in err
    assert gone(int(Path("pid-1").read_text()))
    assert all(run["problem"] is None for run in json.loads(perf("experiment", "list", "d.db", "--json").out)["rows"])


def test_two_at_once(design, refused, perf):
    program = Path(sys.executable).with_name("perf")
    code = "import os, time\nopen('started-{n}', 'w')\nwhile not os.path.exists('go'): time.sleep(0.02)"
    words = ["experiment", "run", "d.toml", "--max-load", "1", "--", *PYTHON, code]
    with subprocess.Popen([program, *words], cwd=design.parent, stdout=subprocess.PIPE, text=True) as running:
        assert met(lambda: list(Path().glob("started-*")))
        assert f"d.db: another `perf experiment run` (process {running.pid} on " in refused(*words)
        perf("experiment", "list", "d.db")  # looking is always possible
        Path("go").touch()
        assert running.communicate()[0].splitlines()[0] == "d.db: 2 new runs made, 2 in total"
    assert running.returncode == 0


def test_runs_handed_to_slurm(perf, design, monkeypatch):
    folder = design.parent
    for name, text in (("sbatch", "echo 17"), ("sacct", "echo '17|TIMEOUT|0:0|61|1700000000'")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    words = ["experiment", "run", "d.toml", "--parallel", "slurm"]
    assert perf(*words, "--", "true", "{n}", status=3).lines == [
        "d.db: 0 new runs collected, 0 in total",
        "",
        "Uncertain: 2 jobs submitted to Slurm, 2 pending or running; rerun to collect",
    ]
    assert "2 runs pending in Slurm" in perf("experiment", "list", "d.db").out
    assert perf(*words, "--collect", status=1).lines[0] == "d.db: 2 new runs collected, 0 in total"
    assert "Slurm: TIMEOUT (job 17)" in perf("experiment", "list", "d.db", "--failed").out


# What to measure next: from a model, and from a store.
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
    points = [str(point["n"]) for point in design.chosen()]
    assert dict(zip(points, design.counts(design.chosen()), strict=True)) == needed
    words = ["--precision", "5%", "--most", "3", "-o", "more.toml", "--overwrite"]
    few = perf("experiment", "next", store, *words).lines
    assert few[0].startswith("2 more runs of 2 points needed for +-5% (95% CI) of each mean, about ")
    lines = perf("experiment", "run", "more.toml", "--store", store, "--max-load", "1").lines
    assert lines[0].endswith("2 new runs made, 6 in total")
