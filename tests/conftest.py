"""Fixtures that every test may use."""

import gc
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import thorough_tests
from hypothesis import settings

from perfcore.__main__ import main

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program has it; read when numpy is imported
os.environ.pop("COLUMNS", None)  # lines are wrapped to this width, whatever the caller's terminal has

# The same examples in every run, so that a failure says something of the change and not of luck; new ones are searched
# with HYPOTHESIS_PROFILE=search, and more of them.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=32)  # tests are not timed
settings.register_profile("search", derandomize=False, deadline=None, print_blob=True, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.hookimpl(tryfirst=True)  # before marks choose tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those that `make quick` leaves out."""
    thorough = thorough_tests.names()
    root = Path(__file__).parents[1]
    for item in items:
        path, *within = item.nodeid.split("::")
        module = ".".join([*(root / path).relative_to(root).with_suffix("").parts, *within[:-1]])
        if thorough_tests.name_of(module, within[-1]) in thorough:
            item.add_marker("thorough")


def pytest_collection() -> None:
    """Collect no garbage while modules are imported."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again; it is not frozen, since Hypothesis asks what refers to a source of random numbers."""
    gc.enable()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real inputs: the variable PERFCORE_DATA, or ``shared/data`` beside the checkout."""
    named = os.environ.get("PERFCORE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of real data here; set PERFCORE_DATA to one")
    return folder


# The program, run within this process as ``perf`` would be.
class Outcome(NamedTuple):
    """How a run ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


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
        done = subprocess.run([executable, *map(str, words)], capture_output=True, text=True, check=False, **options)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run
