"""The program, run within this process as ``perf`` would be."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from perfcore.__main__ import main


class Outcome(NamedTuple):
    """How a run ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """A shell in the background ignores SIGINT for all that it starts, and so would the programs that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Compile the kernels beforehand: what is said about it on stderr is tested elsewhere."""
    import perfcore

    curve = perfcore.UtilizationCurve([0, 1, 2, 3], [1, 5, 2])
    worley = {"fitter": "worley", "functions": "exp", "scale": 1}
    for options in ({"refine": True}, {"segmenter": "least-squares"}, worley):
        perfcore.fit(curve, phases=2, **({"degree": 1} | options))
    perfcore.fit(perfcore.UtilizationCurve(range(101), [step % 7 for step in range(100)]))


# Which fitter was taken when none was named: a note of its own, which tests of `perfcore.models.fitting` look at.
# What tables of Extra-P can't hold is a note of tests of formats.
REPLACED = re.compile(r"perf: (?:replaced \S+|compiling numerical kernels, .*|left out of .*; a line holds .*)\n")
CHOSEN = re.compile(r"^perf: fitter: .*; set with --fitter\)\n", re.MULTILINE)


@pytest.fixture
def perf(monkeypatch, capsys):
    """Run the program with ``--all``; output on stderr is a failure, unless one of some statuses is expected."""

    def run(*words, status=0, name="perf", short=False) -> Outcome:
        line = list(map(str, words))
        short = short or not line or line[0].startswith("-") or "--help" in line or line[:2] == ["plugins", "new"]
        if not short:  # tests read the details, too
            first = 2 if line[0] in ("experiment", "stochastic") or line[:2] == ["gate", "record"] else 1
            line[first:first] = ["--all"]
        monkeypatch.setattr(sys, "argv", [name, *line])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        outcome = Outcome(ended.value.code, out, CHOSEN.sub("", err))
        assert outcome.status in (status if isinstance(status, tuple) else (status,)), outcome.err
        assert status != 0 or REPLACED.sub("", outcome.err) == ""
        return outcome

    return run


@pytest.fixture
def refused(perf):
    """Run the program on a mistake: status 2, nothing on stdout, and short lines on stderr, given back as one."""

    def run(*words) -> str:
        outcome = perf(*words, status=2)
        err = re.sub(r"^perf: compiling .*\n", "", outcome.err)  # where no test before has had kernels compiled
        assert outcome.out == ""
        assert err.startswith("perf: error: ")
        assert err.endswith("\n")
        assert len(err.splitlines()) <= 4, err
        return re.sub(r"\n +", " ", err.replace("\n  fix: ", "; ")).removeprefix("perf: error: ").rstrip()

    return run


@pytest.fixture(scope="session")
def program():
    """Run the installed program in a process of its own."""

    def run(*words, name="perf", **options) -> Outcome:
        executable = Path(sys.executable).with_name(name)
        done = subprocess.run(
            [executable, *map(str, words)], capture_output=True, text=True, check=False, timeout=60, **options
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a curve and a trace in it."""
    monkeypatch.chdir(tmp_path)
    # Two levels, 1 and 5, that change at 40 us.
    Path("curve.csv").write_text("start,end,value\n0,25,1\n25,40,1\n40,70,5\n70,100,5\n")
    Path("trace.csv").write_text("start_us,end_us,location,state\n0,40,cpu0,run\n40,100,cpu0,wait\n0,100,cpu1,run\n")
    return tmp_path
