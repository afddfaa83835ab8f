"""``perf compare``, ``perf validate`` and ``perf project``."""

import json
import math
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
    words = [
        "compare",
        "old.csv",
        "new.csv",
        "--fitter",
        "modgen",
        "--parameter",
        "P,D",
        "--at",
        "P=2..64*2",
        "--at",
        "D=20",
    ]
    lines = perf(*words, "--plot", "c.svg").lines
    assert lines[0].startswith("new is 0.242x old at P=64, D=20 (95% interval [")
    assert "Crossing at P=10 (D=20), 11 s: old is smaller below, new above" in lines
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["P", "D", "old", "[s]", "new", "[s]", "ratio", "95%", "interval", "P(slower)"]
    assert table[10].split()[:3] == ["start", "32", "6.4"]
    assert lines[-1] == "picture: c.svg"


def test_models_and_json(programs, perf):
    for name in ("old", "new"):
        perf("fit", f"{name}.csv", "--fitter", "modgen", "--parameter", "P,D", "-o", f"{name}.json")
    content = json.loads(perf("compare", "old.json", "new.json", "--at", "P=2,64", "--at", "D=80", "--json").out)
    assert content["crossings"][0]["at"] == pytest.approx(20.0)
    (work,) = (row for row in content["points"] if row["part"] == "work" and row["P"] == 2)
    assert (work["first"], work["second"]) == (pytest.approx(120.0), pytest.approx(200.0))


def test_mistakes_of_comparisons(programs, refused):
    words = ["compare", "old.csv", "new.csv", "--fitter", "modgen", "--parameter", "P,D"]
    assert "unknown variable 'Q'" in refused(*words, "--at", "Q=2", "--at", "D=3")
    assert "leave out --at category" in refused(*words, "--at", "P=2", "--at", "D=3", "--at", "category=work")
    assert "no such file" in refused("compare", "a.json", "b.json", "--at", "P=2").lower()


@pytest.fixture
def versions(folder):
    """A path that grows as p, once as p^1.5; another one falls. Errors of 1 % that are no random numbers."""
    for name, power, shift in (("old", 1.0, 0.0), ("again", 1.0, 0.5), ("new", 1.5, 1.0)):
        rows, number = ["p,callpath,time_s"], 0
        for p in (4, 8, 16, 32, 64):
            for _ in range(4):
                number += 1
                error = 0.014 * math.sin(12.9898 * number + shift)
                rows += [
                    f"{p},solve,{(1 + error) * (2 + 400 / p)}",
                    f"{p},exchange,{(1 - error) * (1 + 0.1 * p**power)}",
                ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return folder


SCALING = ["--fitter", "scaling"]


def test_what_could_not_be_fitted_has_a_status(versions, perf):
    with Path("new.csv").open("a") as file:
        file.write("4,idle,0\n8,idle,0\n")
    words = ["compare", "old.csv", "new.csv", *SCALING, "--at", "p=64"]
    assert "Not compared: new: idle" in perf(*words, status=3).out


# Models against data.
@pytest.fixture
def profile(folder):
    rows = ["P,D,category,time_s"]
    rows += [
        f"{p},{d},{name},{time}"
        for p in (2, 4, 8, 16)
        for d in (10, 20, 40, 80)
        for name, time in (("work", 3.0 * d / p), ("start", 2.0 + 0.5 * p))
    ]
    Path("profile.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def model(profile, perf):
    perf("fit", "profile.csv", "--fitter", "modgen", "--parameter", "P,D", "--holdout", "25%", "-o", "m.json")
    return profile / "m.json"


def test_prints_groups_categories_and_points(model, perf):
    lines = perf("validate", "m.json", "profile.csv", "--plot", "v.svg").lines
    assert "95% intervals hold 100% of 4 held-out points [51%, 100%]; median error 0.0%" in " ".join(lines[:2])
    assert any(line.startswith("Training: 12 training points") for line in lines)
    assert "Categories, held-out points, largest error first" in lines
    assert lines[-1] == "picture: v.svg"
    assert Path("v.svg").exists()


def test_mistakes_of_validations(model, refused):
    assert "there is no such file" in refused("validate", "none.json", "profile.csv")
    assert "coverage must be above 0" in refused("validate", "m.json", "profile.csv", "--interval", "2")
    assert "the ending must be one of" in refused("validate", "m.json", "profile.csv", "--plot", "v.txt")
    assert "no row has D=7" in refused("validate", "m.json", "profile.csv", "--where", "D=7")


# Projections.
HALO = str(Path(__file__).parents[2] / "examples" / "halo" / "scaling" / "halo_p{}.prv.gz")


def test_traces_are_projected(tmp_path, perf, folder):
    """The example's traces, whose transfer is the largest loss."""
    sources = [HALO.format(p) for p in (1, 2, 4, 8)]
    lines = perf("project", *sources, "--at", "p=16,64", "-o", "p.json", "--plot", "p.png", short=True).lines
    assert lines[0].startswith("At p=64 (8x the largest run): ")
    assert any(line.startswith("Check: p=8 predicted") for line in lines)
    assert (tmp_path / "p.png").stat().st_size > 10_000
    content = json.loads(perf("project", *sources, "--at", "p=16", "--json").out)
    assert content["at"] == {"p": 16.0}
    assert content["limits"] == "transfer"
    assert set(content["elapsed"]) == {"median", "lower", "upper", "unit"}
    assert content["elapsed"]["lower"] < 0.00809 < content["elapsed"]["upper"]  # what halo.py gives on 16 ranks
    assert perf("predict", "p.json", "--at", "p=32").lines[0].startswith("At p=32")
    [row] = json.loads(perf("predict", "p.json", "--at", "p=32", "--quantile", ".025,.975", "--json").out)["rows"]
    assert (row["p2.5"], row["p97.5"]) == (row["lower"], row["upper"])
