"""``perf compare``, ``perf validate`` and ``perf project``."""

import json
from pathlib import Path

import pytest

import perfcore


def times(work, start):
    """A table of times by category, over processors P and sizes D."""
    rows = [
        f"{p},{d},{name},{time}"
        for p in (2, 4, 8, 16)
        for d in (10, 20, 40, 80)
        for name, time in (("work", work * d / p), ("start", start(p)))
    ]
    return "\n".join(["P,D,category,time_s", *rows, ""])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with two programs of work D/P and start P, and one with held-out points."""
    folder = tmp_path_factory.mktemp("models")
    for name, work, start in (("old", 3.0, lambda p: 0.5 * p), ("new", 5.0, lambda p: 0.1 * p),
                              ("m", 3.0, lambda p: 2.0 + 0.5 * p)):  # fmt: skip
        (folder / f"{name}.csv").write_text(times(work, start))
        options = {"set_aside": "25%"} if name == "m" else {}
        perfcore.fit(folder / f"{name}.csv", fitter="modgen", parameter="P,D", **options).save(folder / f"{name}.json")
    return folder


@pytest.fixture
def inside(models, folder, monkeypatch):
    """Run in the folder of the models, and write elsewhere."""
    monkeypatch.chdir(models)
    return folder


def test_data_are_fitted_and_compared(inside, perf):
    words = ["compare", "old.csv", "new.csv", "--fitter", "modgen", "--parameter", "P,D"]
    lines = perf(*words, "--at", "P=2..64*2", "--at", "D=20", "--plot", inside / "c.svg").lines
    assert lines[0].startswith("new is 0.242x old at P=64, D=20 (95% interval [")
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["P", "D", "old", "[s]", "new", "[s]", "ratio", "95%", "interval", "P(slower)"]
    assert table[10].split()[:3] == ["start", "32", "6.4"]
    assert lines[-1] == f"picture: {inside / 'c.svg'}"


def test_models_and_json(inside, perf):
    content = json.loads(perf("compare", "old.json", "new.json", "--at", "P=2,64", "--at", "D=80", "--json").out)
    (work,) = (row for row in content["points"] if row["part"] == "work" and row["P"] == 2)
    assert (work["first"], work["second"]) == (pytest.approx(120.0), pytest.approx(200.0))


def test_mistakes_of_comparisons(inside, refused):
    words = ["compare", "old.json", "new.json"]
    assert "unknown variable 'Q'" in refused(*words, "--at", "Q=2", "--at", "D=3")
    assert "leave out --at category" in refused(*words, "--at", "P=2", "--at", "D=3", "--at", "category=work")
    assert "no such file" in refused("compare", "a.json", "b.json", "--at", "P=2").lower()


def test_what_could_not_be_fitted_has_a_status(folder, perf):
    for name, more in (("old", ""), ("new", "4,idle,0\n8,idle,0\n")):
        rows = "".join(f"{p},{path},{1 + p}\n" for p in (4, 8, 16) for path in ("solve", "exchange"))
        Path(f"{name}.csv").write_text(f"p,callpath,time_s\n{rows}{more}")
    words = ["compare", "old.csv", "new.csv", "--fitter", "scaling", "--at", "p=64"]
    assert "Not compared: new: idle" in perf(*words, status=3).out


# Models against data.
def test_prints_groups_categories_and_points(inside, perf):
    lines = perf("validate", "m.json", "m.csv", "--plot", inside / "v.svg").lines
    assert "95% intervals hold 100% of 4 held-out points [51%, 100%]; median error 0.0%" in " ".join(lines[:2])
    assert any(line.startswith("Training: 12 training points") for line in lines)
    assert "Categories, held-out points, largest error first" in lines
    assert lines[-1] == f"picture: {inside / 'v.svg'}"
    assert (inside / "v.svg").exists()


def test_mistakes_of_validations(inside, refused):
    assert "there is no such file" in refused("validate", "none.json", "m.csv")
    assert "coverage must be above 0" in refused("validate", "m.json", "m.csv", "--interval", "2")
    assert "the ending must be one of" in refused("validate", "m.json", "m.csv", "--plot", "v.txt")
    assert "no row has D=7" in refused("validate", "m.json", "m.csv", "--where", "D=7")


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
