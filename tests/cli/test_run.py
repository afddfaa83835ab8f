"""``perf experiment run`` and ``perf experiment list``: status, resuming, interrupts, and two at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import perfcore

PYTHON = [sys.executable, "-S", "-c"]


@pytest.fixture
def design(perf, folder):
    perf("experiment", "design", "-f", "n=1,2", "--replications", "1", "-o", "d.toml")
    return folder / "d.toml"


def test_runs_are_made_listed_and_fitted(perf, design):
    words = ["--max-load", "1", "--value", "t=t ([0-9.]+)", "--", *PYTHON, "print('t', 8/{n})"]
    assert perf("experiment", "run", "d.toml", *words).lines == [
        "d.db: 2 new runs made, 2 in total",
        "",
        "Next: perf fit d.db",
    ]
    assert perf("experiment", "run", "d.toml").lines[0] == "d.db: 0 new runs made, 2 in total"
    table = [line.split() for line in perf("experiment", "list", "d.db").lines[2:]]
    assert table[0] == ["run", "n", "repetition", "t", "wall", "[s]", "state"]
    assert sorted((row[1], row[3], row[5]) for row in table[1:3]) == [("1", "8", "ok"), ("2", "4", "ok")]
    shown = perf("experiment", "list", "d.db", "--show", "1").out
    assert "stdout " in shown
    assert json.loads(perf("experiment", "list", "d.db", "--show", "1", "--json").out)["environment"]["cores"] >= 1
    assert perf("convert", "d.db", "-o", "d.csv").out.startswith("d.csv: Measurements(2 rows, t over")
    assert sorted(perfcore.read("d.csv", kind="measurements").table["t"]) == [4, 8]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_what_ended(design, perf, number, status):
    program = Path(sys.executable).with_name("perf")
    code = "import time, os; open('pid-{n}', 'w').write(str(os.getpid())); time.sleep(0 if {n} == 2 else 60)"
    command = [program, "experiment", "run", "d.toml", "--max-load", "1", "--", *PYTHON, code]
    with subprocess.Popen(command, cwd=design.parent, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 30
        while not Path("pid-1").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        running.send_signal(number)
        err = running.communicate(timeout=30)[1]
    assert running.returncode == status, err
    if number == signal.SIGINT:
        assert "all runs that ended are kept in d.db; `perf experiment run d.toml` goes on" in err
    time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("pid-1").read_text()), 0)
    assert all(run["problem"] is None for run in json.loads(perf("experiment", "list", "d.db", "--json").out)["rows"])


def test_two_at_once(design, refused, perf):
    program = Path(sys.executable).with_name("perf")
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)"
    words = ["experiment", "run", "d.toml", "--max-load", "1", "--", *PYTHON, code]
    with subprocess.Popen([program, *words], cwd=design.parent, stdout=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 30
        while not (Path("d.db").exists() and Path("d.db").stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        assert f"d.db: another `perf experiment run` (process {running.pid} on " in refused(*words)
        perf("experiment", "list", "d.db")  # looking is always possible
        Path("go").touch()
        assert running.communicate(timeout=30)[0].splitlines()[0] == "d.db: 2 new runs made, 2 in total"
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
    lines = perf(*words, "--collect", status=1).lines
    assert lines[0] == "d.db: 2 new runs collected, 0 in total"
    assert "Slurm: TIMEOUT (job 17)" in perf("experiment", "list", "d.db", "--failed").out
