"""Versions measured in rounds: order, commands, resuming, and what is refused."""

import sys
from pathlib import Path

import numpy as np
import pytest

import perfcore
from perf_experiments import Design, Store
from perf_experiments.design import VERSION, parse_versions, with_rounds, with_versions
from perfcore.base.errors import OptionError, PerfError, UnknownNameError

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


def test_points_of_a_design_are_measured_by_versions_next_to_each_other(tmp_path: Path) -> None:
    plan = with_versions(Design(factors={"n": [1, 2, 3]}, replications=3), ["old", "new"])
    for block in range(1, 4):
        points = [point["n"] for point in plan.block(block, plan.chosen())]
        assert points[::2] == points[1::2]
        assert sorted(points) == [1, 1, 2, 2, 3, 3]
    commands = dict.fromkeys(COMMANDS, (*PRINTS, "{n}", "7"))
    store = tmp_path / "d.db"
    design = Design(factors={"n": [5, 6]}, replications=1)
    perfcore.run(design, ["x"], versions=commands, store=store, values=["t=t = ([0-9]+) 7 x"], max_load=1)
    assert {(run.point["n"], run.values["t"]) for run in made(store)} == {(5, 5.0), (6, 6.0)}


def test_a_factor_called_version_is_one(tmp_path: Path) -> None:
    design = Design(factors={"version": ["one", "two"]}, replications=2)
    assert with_versions(design, ["two", "one"]) is design
    with pytest.raises(UnknownNameError, match="version of the design"):
        with_versions(design, ["one", "two", "three"])
    with pytest.raises(OptionError, match="the design has the version two; give it a command"):
        with_versions(design, ["one"])
    perfcore.run(design, "true {version}", store=tmp_path / "f.db", max_load=1)
    assert perfcore.read(tmp_path / "f.db").table[VERSION].tolist() == ["one", "two"] * 2
    own = Design(factors={"p": [1, 2]}, kind="points", points=[{"p": 1}, {"p": 2, "replications": 5}])
    assert with_rounds(own, 3).counts(own.chosen()) == [3, 3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a DESIGN"),
        (["--version", "old"], "NAME=COMMAND is expected"),
        (["--version", "old="], "there is no command"),
        (["--version", "old='x"], "No closing quotation"),
        (["--version", "a=true", "--version", "a=false"], "stands there twice"),
        (["--version", "a=true", "--until", "2%"], "--until looks at each version alone"),
        (["--version", "a=./nowhere"], "there is no such program here"),
        (["--version", "a=true {n}"], "unknown factor"),
    ],
)
def test_mistakes_are_said_before_anything_runs(words, message, tmp_path, perf, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert perf("experiment", "run", *words) == 2
    told = capsys.readouterr().err.strip()
    assert message in told
    assert len(told.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_programs_of_versions_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(PerfError):
        parse_versions(["=x"])
    perfcore.run(versions={"a": "true", "b": "echo"}, rounds=1, store=tmp_path / "p.db", max_load=1)
    programs = {run.point[VERSION]: Path(run.environment["program"]).name for run in made(tmp_path / "p.db")}
    assert len(set(programs.values())) == 2 or set(programs.values()) == {"coreutils"}
