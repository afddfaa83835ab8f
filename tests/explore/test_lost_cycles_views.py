"""Views of models by category: what they show against other ways to compute it, and edits of formulas."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import perfcore
from perf_explore import Session
from perf_lost_cycles import find_models, models_for, read_models
from perf_views import Table, View
from perfcore.base.errors import DataError

EXAMPLE = Path(__file__).parents[2] / "examples" / "lost_cycles"
SYNC = "synchronization loss"
OVER_D = ("category", SYNC, "over", "D")
FORMULAE = (*OVER_D, "formulae")
ADDED = "a + b*D^2*log2(D)"


@pytest.fixture(scope="module")
def runs():
    return runpy.run_path(str(EXAMPLE / "generate.py"))["profile"]()


@pytest.fixture(scope="module")
def model(runs):
    return perfcore.fit(runs, fitter="modgen", parameter="P,D")


@pytest.fixture
def stored(model, tmp_path, monkeypatch):
    """A folder with the model's file, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    model.save("fft.json")
    return Path("fft.json")


def tables(view: View) -> dict[str, Table]:
    return {block.title: block for block in view.blocks if isinstance(block, Table)}


def texts(table: Table) -> list[list[str]]:
    return [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]


def present(model, category=SYNC, factor="D") -> list[str]:
    return [one.formula for one in models_for(find_models(model.origin.options["models"]), category, factor)]


def typed(*formulas: str, **others: str) -> dict[str, str]:
    return {"formulas": "\r\n".join(formulas).replace("\r", ""), "origin": "", "models_file": "mine.toml", **others}


def test_the_average_is_that_of_straight_lines_fitted_by_other_means(model, runs):
    """All candidates of the example's synchronization over D are at most straight lines, and a*x is chosen."""
    times = runs[runs.category == SYNC].groupby(["P", "D"]).time_s.median()
    totals = runs.groupby(["P", "D", "category"]).time_s.median().groupby(["P", "D"]).sum()
    whole = runs.groupby(["P", "D", "run"]).time_s.sum().groupby(["P", "D"]).median()
    assert np.allclose(totals, whole, rtol=0.02)
    found = {}
    for processors, line in times.groupby("P"):
        x, y = line.index.get_level_values("D").to_numpy(float), line.to_numpy()
        w = 1.0 / whole[processors].to_numpy()
        (slope,) = np.linalg.lstsq((x * w)[:, None], y * w, rcond=None)[0]
        mean = np.average(y, weights=w**2)
        found[f"P={processors}"] = 1.0 - (((y - slope * x) * w) ** 2).sum() / (((y - mean) * w) ** 2).sum()
    table = next(iter(tables(model.views().view(OVER_D, {})).values()))
    assert {row[0]: float(row[1]) for row in texts(table)} == pytest.approx(found, abs=1e-4)
    overview = tables(model.views().view((), {}))["Fitting overview"]
    column = [getattr(cell, "text", cell) for cell in overview.header].index(SYNC)
    shown = {row[0]: row[column] for row in texts(overview)}
    assert float(shown["over D"]) == pytest.approx(np.mean(list(found.values())), abs=1e-4)


def test_a_refit_is_what_a_fit_with_the_models_file_makes(model, runs, stored):
    change = model.views(None, stored).act(FORMULAE, typed(*present(model), ADDED))
    for edit in change.files:
        edit.path.write_bytes(edit.after)
    kept = perfcore.load(stored)
    again = perfcore.fit(runs, fitter="modgen", parameter="P,D", models="standard,mine.toml")
    assert kept.to_dict()["model"] == again.to_dict()["model"]
    assert kept.origin.options["models"] == ["standard", "mine.toml"]
    assert [(one.category, one.factor, one.formula) for one in read_models("mine.toml")] == [(SYNC, "D", ADDED)]


def test_the_story_of_the_example(model, stored):
    """Its README: the formula D^2 log2 D mends the synchronization loss over D, and nothing else."""
    views = model.views(None, stored)
    session = Session(views)
    form = typed(*present(model), ADDED, origin="the transform is applied log2(D) times")
    preview = session.preview(FORMULAE, form, "0")
    (changed,) = (block for block in preview.blocks if getattr(block, "title", "") == "Every R^2 that changes")
    assert {row[0] for row in texts(changed)} == {SYNC}
    now, after = next((float(row[2]), float(row[3])) for row in texts(changed) if row[1] == "over D")
    assert now < 0.7 < 0.97 < after  # the paper's figure after the edit
    before = stored.read_bytes()
    assert not Path("mine.toml").exists()
    kept = session.keep(FORMULAE, form, "0")
    assert kept.path == OVER_D
    assert "D^2*log2(D)" in perfcore.load(stored).formula
    assert read_models("mine.toml")[0].origin == "the transform is applied log2(D) times"
    session.undo(session.version)
    assert stored.read_bytes() == before
    assert not Path("mine.toml").exists()


@pytest.mark.parametrize(("lines", "message"), [
    (["a", "a + b*D^"], "line 2: .*column 8"), (["a + q(D)"], "line 1: .*column 5: unknown function"),
    (["a*b*D"], "line 1: .*not linear"),
    (["a + b/(D - 16)"], "not finite at D=16, which was measured"),
    (["a + b*D", "c + e*x"], "line 2: .*the terms of line 1"), ([], "no formula is left"),
    (["a", "1 +", "b*D +"], "(?s)line 2: .*line 3: "), (["a", "", "b*D +"], "^line 3: "),
    (["", ""], "no formula is left"),
])  # fmt: skip
def test_a_wrong_formula_is_named_by_line_and_column(model, stored, lines, message):
    with pytest.raises(DataError, match=message):
        model.views(None, stored).act(FORMULAE, typed(*lines))
