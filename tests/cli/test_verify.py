"""``perf validate``."""

from pathlib import Path

import pytest


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


def test_mistakes(model, refused):
    assert "there is no such file" in refused("validate", "none.json", "profile.csv")
    assert "coverage must be above 0" in refused("validate", "m.json", "profile.csv", "--interval", "2")
    assert "the ending must be one of" in refused("validate", "m.json", "profile.csv", "--plot", "v.txt")
    assert "no row has D=7" in refused("validate", "m.json", "profile.csv", "--where", "D=7")
