"""Overheads of a trace on the page: classes of states are chosen in a form and stand in the address."""

import json
import runpy
from pathlib import Path

import pytest

import perfcore
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import STANDARD, read_categories
from perf_explore.opening import DataViews
from perf_views.contents import Form, Headline, KeyFigures, Table
from perfcore import Trace

OVERHEADS = ("overheads",)
# Like a rank's file of Paje: names that no pattern knows, and that its reader does not call busy.
STATES = ["solve", "std::map<int, std::vector<int>>::at(int const&)", "wait", "q[*]?", "never"]
RANKS = Trace([0, 0, 0, 1, 1], [0, 1, 2, 0, 3], [0, 50, 80, 0, 60], [50, 80, 100, 60, 100], ["a", "b"], STATES,
              busy_states=[], source="ranks")  # fmt: skip


@pytest.fixture
def own(tmp_path):
    """A set of categories that says of no state that the trace calls busy what it is."""
    path = tmp_path / "own.toml"
    path.write_text(STANDARD.read_text().replace('computing_states = "computing"\n', ""))
    return {"categories": str(path)}


def form_of(view):
    (form,) = (block for block in view.blocks if isinstance(block, Form))
    return form


def test_what_is_chosen_gives_the_overheads_of_these_classes(own):
    query = {f"class.{STATES[0]}": "computing", f"class.{STATES[1]}": "runtime", f"class.{STATES[3]}": "waiting",
             f"class.{STATES[4]}": "unknown", "class.wait": "communicating"}  # fmt: skip
    view = DataViews(RANKS, "ranks").view(OVERHEADS, {**query, **own})
    chosen = {"computing": ["solve"], "runtime": ["std::*"], "waiting": ["q[[][*]][?]"], "unknown": ["never"],
              "communicating": ["wait"]}  # fmt: skip
    expected = profile_overheads(RANKS, read_categories(own["categories"]), classes=chosen).tables()[0]
    table = next(block for block in view.blocks if isinstance(block, Table) and block.title == expected[0])
    assert [[getattr(cell, "text", cell) for cell in row] for row in table.rows] == expected[2]
    form = form_of(view)
    assert form.is_folded
    assert {item.name: item.value for item in form.fields[:-1]} == query


@pytest.mark.parametrize("file", ["examples/halo/halo.prv", "gpu"])
def test_the_page_says_what_the_command_says(file, tmp_path, monkeypatch):
    if file == "gpu":
        script = Path("examples/gpu/gpu_run.py").resolve()
        monkeypatch.chdir(tmp_path)
        file = "gpu.json"
        Path(file).write_text(json.dumps(list(runpy.run_path(str(script))["events"]())))
    trace = perfcore.read(file, wanted=(Trace,))
    view = DataViews(trace, "run").view(OVERHEADS, {})
    report = perfcore.overheads(file).report()
    (headline,) = (block for block in view.blocks if isinstance(block, Headline))
    assert headline.text == report.answer
    shown = [(block.title, [[getattr(cell, "text", cell) for cell in row] for row in block.rows])
             for block in view.blocks if isinstance(block, Table)]  # fmt: skip
    for title, _, rows in report.shown_tables:
        assert (title, rows) in shown
    figures = next(block for block in view.blocks if isinstance(block, KeyFigures))
    assert [each.text for each in figures.figures] == [each.text for each in report.figures]
