"""Fits that were made on the page: named at the end, and saved where the user says."""

from pathlib import Path

import numpy as np
import pytest

import perfcore
from perf_explore.opening import DataViews
from perf_explore.session import Session
from perf_explore.shelf import Shelf
from perf_views import Action, Notice
from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError

CURVE = UtilizationCurve(np.arange(31.0), np.repeat([2.0, 8.0, 4.0], 10), source="c.csv")
WORLEY = ("fit", "worley")


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()  # beside the data
    return Session(DataViews(CURVE, "runs/c.csv"))


def form_of(session, query):
    """What the form that saves is sent with."""
    (action,) = (block for block in session.view(WORLEY, query).blocks if isinstance(block, Action))
    assert action.path == WORLEY
    return {item.name: item.value for item in action.fields}


def test_a_fit_is_saved_beside_its_data_as_it_is_shown(session):
    query = {"fit.degree": "0", "phases": "3", "from": "5"}
    form = form_of(session, query)
    assert form.pop("save_as") == "runs/c-worley.json"
    assert form == query
    kept = session.keep(WORLEY, {**form, "save_as": "runs/c-worley.json"}, "0")
    assert (kept.path, kept.query) == (WORLEY, query)
    saved = perfcore.load("runs/c-worley.json")
    assert saved.formula == perfcore.fit(CURVE, phases=3, degree=0).formula


def test_what_is_there_is_not_replaced_in_silence(session):
    Path("x.json").write_text("mine")
    form = {**form_of(session, {}), "save_as": "x.json"}
    (notice,) = (block for block in session.preview(WORLEY, form, "0").blocks if isinstance(block, Notice))
    assert notice.kind == "warning"
    assert notice.text.startswith("x.json exists: what it holds (4 bytes, of ")
    assert Path("x.json").read_text() == "mine"
    session.keep(WORLEY, form, "0")
    with pytest.raises(OptionError, match=r"x\.json holds this model already"):
        session.preview(WORLEY, form, "1")
    session.undo("1")
    assert Path("x.json").read_text() == "mine"


def test_a_model_file_is_named_so(session):
    for name in ("x.toml", ""):
        with pytest.raises(OptionError, match=r"ends with \.json"):
            session.preview(WORLEY, {"save_as": name}, "0")


def test_fits_that_no_file_holds_are_named(session):
    assert session.unsaved == ()
    session.view((), {})
    session.view(WORLEY, {"fit.phases": "2"})
    session.view(WORLEY, {})
    assert session.unsaved == ("worley (phases=2)", "worley")
    session.keep(WORLEY, {"fit.phases": "2", "save_as": "two.json"}, "0")
    assert session.unsaved == ("worley",)
    shelf = Shelf({"c.csv": session.subject, "empty": DataViews(CURVE, "d.csv")})
    assert Session(shelf).unsaved == ("c.csv: worley",)


def test_a_changed_fit_that_cannot_be_saved_is_not_saved_as_it_was(session):
    class Changed:
        title = "changed"

        def view(self, path, query): ...

        def paths(self): ...

    session.view(WORLEY, {})
    session.subject._changed = {("worley", ()): Changed()}
    with pytest.raises(OptionError, match="a fit of worley that was changed cannot be saved"):
        session.preview(WORLEY, {"save_as": "x.json"}, "0")
    assert session.unsaved == ("worley (with changed formulas)",)
