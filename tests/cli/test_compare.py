"""``perf compare``."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def programs(folder):
    """Two programs of work D/P and start P that cross at P = sqrt(5 D)."""
    for name, work, start in (("old", 3.0, 0.5), ("new", 5.0, 0.1)):
        rows = ["P,D,category,time_s"]
        rows += [
            f"{p},{d},{what},{time}"
            for p in (2, 4, 8, 16)
            for d in (10, 20, 40, 80)
            for what, time in (("work", work * d / p), ("start", start * p))
        ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_data_are_fitted_and_compared(programs, perf):
    words = ["compare", "old.csv", "new.csv", "--parameter", "P,D", "--at", "P=2..64*2", "--at", "D=20"]
    lines = perf(*words, "--plot", "c.svg").lines
    assert lines[0] == "new against old"
    assert lines[1] == "they cross at p=10 (D=20), 11 s: old is smaller before, new after"
    assert lines[3].split()[:5] == ["p", "D", "old", "new", "ratio"]
    assert "work" in lines[4]
    assert "start" in lines[9]
    assert lines[-1] == "picture: c.svg"


def test_models_and_json(programs, perf):
    for name in ("old", "new"):
        perf("fit", f"{name}.csv", "--fitter", "modgen", "--parameter", "P,D", "-o", f"{name}.json")
    content = json.loads(perf("compare", "old.json", "new.json", "--at", "P=2,64", "--at", "D=80", "--json").out)
    assert content["crossings"][0]["at"] == pytest.approx(20.0)
    assert content["points"][0]["categories"]["work"] == pytest.approx([120.0, 200.0])


def test_mistakes(programs, refused):
    words = ["compare", "old.csv", "new.csv", "--parameter", "P,D"]
    assert "Missing option '--at'" in refused(*words)
    assert "give --at D=" in refused(*words, "--at", "P=2")
    assert "unknown variable of the model 'Q'" in refused(*words, "--at", "Q=2", "--at", "D=3")
    assert "leave out --at category" in refused(*words, "--at", "P=2", "--at", "D=3", "--at", "category=work")
    assert "no such file" in refused("compare", "a.json", "b.json", "--at", "P=2").lower()
