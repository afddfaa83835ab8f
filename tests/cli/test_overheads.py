"""``perf overheads``: the user's way from traces to tables, files and pictures, and what mistakes are told as."""

import json
from pathlib import Path

import pandas as pd
import pytest

HEADER = "start_us,end_us,location,state\n"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Traces of one and two locations in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(HEADER + "0,100,a,run\n")
    Path("two.csv").write_text(HEADER + "0,50,a,run\n50,60,a,lock\n0,60,b,run\n")
    return tmp_path


def test_says_where_the_cycles_go(runs, perf):
    lines = perf("overheads", "two.csv").lines
    assert lines[0] == (
        "two.csv, 2 locations x 60 us: parallel efficiency 91.7%: synchronization loss 8.3%; keeping both locations "
        "computing would save at most 8.3%"
    )
    rows = {line.split("  ")[0]: line.split() for line in lines}
    assert "110" in rows["pure computation"]
    assert "10" in rows["synchronization loss"]
    assert "91.7%" in rows["run"]  # 110/120
    assert any(line.startswith("parallel efficiency = load balance x communication efficiency") for line in lines)


def test_several_runs_become_a_table_for_models(runs, perf):
    outcome = perf("overheads", "one.csv", "two.csv", "-o", "lost.csv", "--label", "n=512", "--json")
    table = pd.read_csv("lost.csv")
    assert table.groupby("p")["all_locations_ns"].sum().to_dict() == {1: 100_000, 2: 120_000}
    assert table["n"].unique().tolist() == [512]
    profiles = json.loads(outcome.out)["profiles"]
    assert [profile["elapsed_ns"] for profile in profiles] == [100_000, 60_000]
    lines = perf("overheads", "one.csv", "two.csv").lines
    assert lines[0].startswith("2 runs: ")
    assert ", limited by " in lines[0]
    assert "computation scalability: against one.csv, if the work is the same" in lines
    row = next(number for number, line in enumerate(lines) if line.startswith("category"))
    assert lines[row].split() == ["category", "p=1,", "100", "us", "p=2,", "60", "us"]
    assert lines[row + 1].split() == ["pure", "computation", "100.0%", "91.7%"]
    assert lines[row + 2].split() == ["synchronization", "loss", "0.0%", "8.3%"]
    perf("overheads", "one.csv", "two.csv", "-o", "lost.csv", "--overwrite", "--label", "p=16,32", "--label", "n=1,2.5")
    assert pd.read_csv("lost.csv").groupby("p")["n"].first().to_dict() == {16: 1.0, 32: 2.5}


def test_own_categories_start_from_the_standard_ones(runs, perf):
    text = perf("overheads", "--print-categories").out
    Path("own.toml").write_text(text.replace("load imbalance", "starvation"))
    assert "starvation" in perf("overheads", "two.csv", "--categories", "own.toml").out


def test_mistakes_are_told_in_one_line(runs, refused):
    Path("curve.csv").write_text("start,end,value\n0,25,1\n25,40,2\n")
    assert "give a trace" in refused("overheads", "curve.csv")
    assert "--by phase needs --phases N" in refused("overheads", "two.csv", "--by", "phase")
    assert "there is no folder 'no'" in refused("overheads", "one.csv", "-o", "no/lost.csv")
    assert "--ready belongs to one trace" in refused("overheads", "one.csv", "two.csv", "--ready", "r.csv")
    assert "was read as a trace; for a series" in refused("overheads", "one.csv", "--ready", "two.csv")
    assert "--ready-column belongs to" in refused("overheads", "one.csv", "--ready-column", "x")
    assert "--label belongs to --output" in refused("overheads", "one.csv", "--label", "p=3")
    assert "the ending must be .csv" in refused("overheads", "one.csv", "-o", "lost.xlsx")
    assert "numbers are expected" in refused("overheads", "one.csv", "-o", "l.csv", "--label", "p=four")
    assert "NAME=VALUE,... is expected" in refused("overheads", "one.csv", "--class", "waiting")
    assert "no such file" in refused("overheads", "one.csv", "--categories", "none.toml")
    assert "Missing argument" in refused("overheads")
