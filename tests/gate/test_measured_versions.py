"""Versions measured in rounds: order, commands, resuming, and what is refused."""

import sys
from pathlib import Path

import numpy as np

import perfcore
from perf_experiments import Store
from perf_experiments.design import VERSION

PRINTS = [sys.executable, "-S", "-c", "import sys; print('t =', *sys.argv[1:])"]
COMMANDS = {"old": (*PRINTS, "1"), "new": (*PRINTS, "2")}
VALUES = ["t=t = ([0-9]+)"]


def made(store: Path) -> list:
    with Store.read(store) as opened:
        return opened.runs()


def test_every_round_has_each_version_once_in_random_order(tmp_path: Path) -> None:
    store = tmp_path / "v.db"
    done = perfcore.run(versions=COMMANDS, rounds=8, store=store, values=VALUES, max_load=1)
    assert (done.made, done.failed) == (16, 0)
    runs = made(store)
    orders = [tuple(run.point[VERSION] for run in runs[at : at + 2]) for at in range(0, 16, 2)]
    assert [run.replication for run in runs] == np.repeat(np.arange(1, 9), 2).tolist()
    assert set(orders) == {("old", "new"), ("new", "old")}
    assert {run.point[VERSION]: run.values["t"] for run in runs} == {"old": 1.0, "new": 2.0}
    # The table has the first version first, whichever happened to run first.
    assert perfcore.read(store).table[VERSION].tolist() == ["old", "new"] * 8


def test_a_store_of_versions_goes_on_without_being_told_them(tmp_path: Path, perf, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    old = f"old={sys.executable} -S -c 'pass'"
    assert (
        perf(
            "experiment",
            "run",
            "--version",
            old,
            "--version",
            old.replace("old", "new"),
            "--rounds",
            1,
            "--max-load",
            1,
        )
        == 0
    )
    assert perf("experiment", "run", "--rounds", 3, "--max-load", 1) == 0
    assert "versions.db: 4 runs made; 6 measurements in all" in capsys.readouterr().out
    assert perf("experiment", "run", "--version", "old=true", "--version", "new=true", "--max-load", 1) == 2
    assert "its runs were made with versions old=" in capsys.readouterr().err
