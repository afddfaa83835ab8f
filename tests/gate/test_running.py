"""Versions that the gate measures itself: rounds until it is decided, and the machine by itself."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_gate.self_test import chances_of
from perfcore.base.errors import DataError

SAYS = f"{sys.executable} -S -c \"print('t =', %s)\""
VALUE = "t=t = ([0-9.]+)"


def test_rounds_are_added_until_it_is_decided(tmp_path: Path) -> None:
    store = tmp_path / "r.db"
    versions = {"old": SAYS % "1.0", "new": SAYS % "3.0"}
    verdict = perfcore.gate(run=versions, value=[VALUE], warmup=0, store=store)
    assert verdict.outcome == "failed"
    assert verdict.estimates.rounds.tolist() == [5]  # the first look
    np.testing.assert_allclose(np.exp(verdict.estimates.log_ratio), 3.0)
    again = perfcore.gate(run=versions, value=[VALUE], warmup=0, store=store)
    assert again.to_dict() == verdict.to_dict()
    assert len(perfcore.runs(store).listed) == 10  # nothing was measured again
    assert perfcore.gate(store).outcome == "failed"


COUNTS = """
import pathlib, sys
file, factor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
run = len(file.read_bytes()) if file.exists() else 0
file.write_bytes(b"x" * (run + 1))
print("t =", 1.0 + factor * run % 10 / 10)
"""


def test_what_cannot_be_told_apart_ends_with_the_rounds(perf, tmp_path: Path, capsys) -> None:
    """1.0, 1.7, 1.4, 1.1, 1.8, 1.5 and 1.0, 1.3, 1.6, 1.9, 1.2, 1.5: the same in the mean of logarithms to 0.1 %."""
    (tmp_path / "counts.py").write_text(COUNTS)
    words = ["--value", VALUE, "--warmup", 0, "--slower-than", "1.01x"]
    for version, factor in (("old", 7), ("new", 3)):
        words += ["--version", f"{version}={sys.executable} -S {tmp_path}/counts.py {tmp_path}/{version} {factor}"]
    assert perf("gate", "--run", *words, "--max-rounds", 6) == 3
    told = capsys.readouterr()
    assert told.out.startswith("undecided: t ")
    assert perf("gate", "--run", *words, "--budget", "0.01s") == 3
    assert "of 1 round: at least 3 are needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--run"], "--run needs each version"),
        (["--run", "--version", "a=true"], "--run compares two versions, not 1"),
        (["--run", "--version", "a", "--version", "b=true"], "NAME=COMMAND is expected"),
        (["--run", "--version", "a=true", "--version", "b=./nowhere"], "there is no such program here"),
        (["--run", "--version", "a=true", "--version", "b=false"], "b, round 1: exit status 1"),
        (["--run", "--version", "a=true", "--version", "b=true", "--max-rounds", "2"], "a budget of 2 rounds"),
        (["--run", "--self-test", "--version", "a=true", "--version", "b=true"], "give one with --version"),
        (["--store", "x.db", "a.csv"], "--store belongs to --run"),
        (["--version", "a", "--version", "b", "a.csv"], "is the column of versions, once"),
        ([], "name the file of the runs"),
        (["--self-test", "a.csv", "b.csv"], "leave out the second file"),
    ],
)
def test_mistakes_are_said_in_one_line(words, message, perf, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        Path(name).write_text("bench,time_s\nx,1\n")
    assert perf("gate", *words) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert message in told[-1]
    assert len(told) == 1


def drifting(k: int, noise: float, drift: float, seed: int = 1) -> pd.DataFrame:
    """Runs of one version on a machine whose level wanders."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.normal(0.0, drift, k))
    return pd.DataFrame({"bench": "sort", "order": np.arange(k), "time_s": np.exp(level + rng.normal(0.0, noise, k))})


def test_the_machine_by_itself(perf, tmp_path: Path, capsys) -> None:
    found = perfcore.gate(drifting(60, 0.01, 0.0), self_test=True)
    assert 0.008 < found.chances.noise[0] < 0.013
    assert found.chances.any_in_turn == 0.0
    assert 3 <= found.chances.rounds[0] <= 5
    assert found.summary()[1].startswith(f"{found.chances.rounds[0]} rounds in turn decide a limit of 1.05x")
    wandering = perfcore.gate(drifting(200, 0.002, 0.06), self_test=True)
    assert wandering.chances.one_after_other[0] > 0.05 > wandering.chances.in_turn[0]
    assert any("runs far apart in time differ more" in line for line in wandering.summary())
    drifting(60, 0.3, 0.0).to_csv(tmp_path / "loud.csv", index=False)
    picture = tmp_path / "p.png"
    assert perf("gate", "--self-test", tmp_path / "loud.csv", "--plot", picture) == 0
    assert "a limit of 1.05x needs" in capsys.readouterr().out
    assert picture.stat().st_size > 1000
    with pytest.raises(DataError, match="4 runs of a benchmark, and 6 at least are needed"):
        perfcore.gate(drifting(4, 0.1, 0.0), self_test=True)


def test_rounds_that_are_promised_decide() -> None:
    """In nine of ten experiments of the promised rounds "not slower" is told of equal versions."""
    from perf_statistics.gating import paired_test

    rng = np.random.default_rng(4)
    needed = int(chances_of([rng.normal(0.0, 0.03, 400)], 1.05).rounds[0])
    sides = rng.normal(0.0, 0.03, (2, 400, needed))
    decided = paired_test(list(sides[0]), list(sides[1])).p_not_slower(np.log(1.05)) <= 0.05
    # One after the other they would be moderated together; 400 draws have a standard error of 1.5 %.
    assert 0.84 <= decided.mean() <= 0.99
