"""Everything that can be opened shows itself: each view of each subject, on the page and in a report."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_explore import opening
from perf_explore.opening import DataViews, Opening, open_subjects
from perf_explore.page import Frame, report_text
from perf_explore.session import Session
from perf_views import Chart, Form, Notice, Table, Text, Viewable
from perf_views.contents import Opener
from perf_views.drawable import views_of
from perfcore import Measurements, Series, Trace, UtilizationCurve
from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.options import option
from perfcore.results import Presenter

TRACE = Trace([0, 0, 1, 2], [0, 1, 0, 0], [0, 400, 0, 200], [400, 1000, 1000, 600], ["a", "b", "c"], ["run", "wait"])
CURVE = UtilizationCurve(np.arange(301.0), np.repeat([2.0, 8.0, 4.0], 100) + np.tile([0.0, 0.5], 150), source="c.csv")


def runs():
    rows = [
        {"code": code, "system": system, "p": p, "time_s": work / speed / p + 0.1 * work}
        for code, work in (("lu", 64.0), ("cg/x", 16.0))
        for system, speed in (("old", 1.0), ("new", 4.0))
        for p in (1, 2, 4, 8, 16)
    ]
    return Measurements(pd.DataFrame(rows), source="runs.csv")


def series():
    rng = np.random.default_rng(0)
    return Series(np.arange(50.0), {"cpu": rng.uniform(0.2, 0.9, 50), "net": np.full(50, np.nan)}, "s", source="s.csv")


MODELS = {
    "phases": lambda: perfcore.fit(CURVE, phases="1..4", degree=0).views(CURVE),
    "phases alone": lambda: perfcore.fit(CURVE, phases=3, degree=0).views(),
    "phases of a trace": lambda: perfcore.fit(TRACE, phases=2, degree=0).views(TRACE),
    "joint": lambda: perfcore.fit(runs(), fitter="strohmaier", functions="1/p,1").views(),
    "individual": lambda: perfcore.fit(runs(), fitter="individual", functions="1/p,1").views(),
    "forecast, by the views of any model": lambda: views_of(
        perfcore.fit(series(), fitter="forecast", column="cpu"), series()
    ),
    "trace": lambda: DataViews(TRACE, "t.csv"),
    "curve": lambda: DataViews(CURVE, "c.csv"),
    "series": lambda: DataViews(series(), "s.csv"),
    "measurements": lambda: DataViews(runs(), "runs.csv"),
    "structural model": lambda: open_subjects(["examples/structural/sor.toml"]),
    "several": lambda: open_subjects(["examples/step.csv", "examples/structural/lu.toml"]),
}


@pytest.fixture(scope="module", params=MODELS)
def subject(request):
    return MODELS[request.param]()


def test_what_the_phases_of_a_trace_show_is_under_its_own_title():
    """The table of the sequence with its chart, that of categories by itself, and messages by phase."""
    trace = perfcore.read("examples/halo/halo.prv")
    views = views_of(perfcore.fit(trace, phases="1..3", degree=0), trace)
    blocks = views.view((), {}).blocks
    (chart,) = [block for block in blocks if isinstance(block, Chart) and block.title]
    assert chart.title.startswith("How the fit changes with the number of phases")
    assert chart.tables[0].header[0] == "phases"
    assert any(isinstance(block, Table) and block.title.startswith("What the processors do") for block in blocks)
    (by_phase,) = [b for b in views.view(("messages",), {}).blocks if isinstance(b, Table) and b.title == "By phase"]
    assert sum(int(row[1]) for row in by_phase.rows) == 80
    for number, count, total, pairs, _ in by_phase.rows:
        assert number.link.path == ("messages",)
        of_phase = views.view(number.link.path, number.link.query)
        assert of_phase.title == f"Messages of phase {number.text}"
        (text,) = [block for block in of_phase.blocks if isinstance(block, Text)]
        if int(count):
            messages = f"{int(count):,} messages of {int(total):,} bytes between {pairs} pairs of ranks"
            assert messages in text.lines
    with pytest.raises(OptionError, match=r"phase '4': there are [1-3], counted from 1"):
        views.view(("messages",), {"phase": "4"})


def test_every_view_is_shown_and_leads_only_to_views(subject):
    """Each link of each view gives a view again: none leads nowhere, in no state."""
    assert isinstance(subject, Viewable)
    session, links = Session(subject), set()
    for path in subject.paths():
        view = session.view(path, {})
        assert view.path == path
        assert view.title
        for block in view.blocks:
            links |= {(link.path, tuple(link.query.items())) for link in getattr(block, "links", ())}
            for table in (block,) if isinstance(block, Table) else getattr(block, "tables", ()):
                assert all(len(row) == len(table.header) for row in table.rows)
                cells = [cell for row in table.rows for cell in row if not isinstance(cell, str)]
                links |= {(cell.link.path, tuple(cell.link.query.items())) for cell in cells if cell.link}
            if isinstance(block, Form):
                session.view(block.path, {item.name: item.value for item in block.fields if item.value})
    for path, query in sorted(links)[:30]:
        session.view(path, dict(query))


def test_every_figure_is_also_a_table(subject):
    for path in subject.paths():
        view = subject.view(path, {})
        tables = [block for block in view.blocks if isinstance(block, Table)]
        assert all(block.tables or tables for block in view.blocks if isinstance(block, Chart))


def test_a_report_has_all_views_once(subject):
    text = report_text(subject)
    text, _, scripts = text.partition("<script>")
    assert scripts.count("<script>") == 0  # our own one; the policy lets no other run
    names = re.findall(r' id="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(names)
    assert text.count('<section id="view') == len(list(subject.paths()))
    assert "<script" not in text
    assert "<form" not in text


def test_a_long_report_says_what_it_leaves_out(subject):
    text = report_text(subject, most_views=1)
    assert text.count('<section id="view') == 1
    assert ("--views N" in text) == (len(list(subject.paths())) > 1)


def test_sliders_fit_anew_with_the_same_result_as_the_fitter():
    views = perfcore.fit(CURVE, phases=1, degree=0).views(CURVE)
    view = views.view((), {"phases": "3", "degree": "0"})
    assert view.title == "3 phases of c.csv"
    table = next(block for block in view.blocks if isinstance(block, Table))
    ends = [(row[1], row[3]) for row in table.rows]
    assert ends == [("0", "100"), ("100", "200"), ("200", "300")]
    assert views.view((), {}).title == "1 phase of c.csv"
    for query in ({"phases": "x"}, {"phases": "-1"}, {"phases": "0"}, {"degree": "7"}):
        with pytest.raises(PerfError):
            views.view((), query)


def test_a_fit_from_the_page_has_its_options_in_the_address():
    views = DataViews(runs(), "runs.csv")
    view = views.view(("fit", "individual"), {"fit.functions": "1/p,1", "fit.where": "code=lu"})
    assert view.title.startswith("2 individual fits")
    pairs = next(block for block in view.blocks if isinstance(block, Table))
    link = pairs.rows[0][1].link
    assert link.path[:3] == ("fit", "individual", "pair")
    assert link.query == {"fit.functions": "1/p,1", "fit.where": "code=lu"}
    assert views.view(link.path, link.query).title == "lu on old"


def test_a_fit_that_fails_is_a_notice_with_its_options():
    view = DataViews(runs(), "runs.csv").view(("fit", "individual"), {"fit.functions": "1/q"})
    notice, form = view.blocks
    assert isinstance(notice, Notice)
    assert notice.kind == "error"
    assert next(item.value for item in form.fields if item.name == "fit.functions") == "1/q"


def test_a_pair_predicts_elsewhere_with_the_remark():
    views = perfcore.fit(runs(), fitter="individual", functions="1/p,1").views()
    blocks = views.view(("pair", "cg/x", "new"), {"at.p": "32"}).blocks
    # 16/4/32 + 1.6, by the law that the runs follow
    assert next(b for b in blocks if getattr(b, "lines", ())).lines[0].startswith("1.725 s; ")
    assert blocks[-1].text == "extrapolated: p was 1 to 16"
    assert views.view(("pair", "cg/x", "new"), {"at.p": "x"}).blocks[-1].kind == "error"


def test_files_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs().table.to_csv("runs.csv", index=False)
    perfcore.fit("runs.csv", fitter="individual", functions="1/p,1").save("model.json")
    Path("predictions.json").write_text('[{"lower": 1, "upper": 9}]')
    Path("broken.json").write_text("{")
    perfcore.fit(CURVE, phases=2, degree=0).save("phases.json")
    assert open_subjects(["runs.csv"]).title == "runs.csv"
    assert open_subjects(["model.json"]).title == "4 individual fits of runs.csv"
    assert open_subjects(["model.json", "runs.csv"]).title == "4 individual fits of runs.csv"
    judged = open_subjects(["predictions.json", "runs.csv"], Opening(options={"column": "time_s"}))
    assert judged.title == "20 runs against predictions as interval"
    assert open_subjects(["runs.csv", "model.json"]).title == "2 subjects"
    for files, message in (
        (["phases.json", "runs.csv"], "runs.csv holds Measurements, which phases.json was not fitted to"),
        (["broken.json"], "broken.json: not in any of the "),
        (["none.csv"], "there is no such file"),
        (["none.json"], "there is no such file"),
        (["predictions.json"], "the table of what happened"),
        (["runs.csv", "./runs.csv", "./runs.csv"], "given twice"),
    ):
        with pytest.raises(PerfError, match=message):
            open_subjects(files)


def test_many_files_are_one_data_set_beside_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for code, part in runs().table.groupby("code"):
        part.to_csv(Path("runs", f"{code[:2]}.csv"), index=False)
    Path("curve.csv").write_text("time_us,processors\n0,2\n4,8\n10,0\n")
    shelf = open_subjects(["runs", "runs/*.csv", "curve.csv"])
    assert [row[0].text for row in shelf.view((), {}).blocks[0].rows] == ["runs", "*.csv", "curve.csv"]
    for name in ("runs", "*.csv"):
        assert any(block.title == "All rows" for block in shelf.view((name,), {}).blocks if isinstance(block, Table))
    perfcore.fit("runs", fitter="individual", functions="1/p,1").save("model.json")
    assert open_subjects(["model.json", "runs"]).title == "4 individual fits of runs (2 files)"
    monkeypatch.chdir("runs")
    assert open_subjects(["."]).title == "."


def test_a_report_is_written_once(tmp_path):
    target = tmp_path / "report.html"
    perfcore.explore(perfcore.fit(CURVE, phases=2, degree=0), CURVE, output=target)
    text = target.read_text()
    assert "<h1>2 phases of c.csv</h1>" in text
    with pytest.raises(PerfError, match="exists; --overwrite replaces it"):
        perfcore.explore(CURVE, output=target)
    perfcore.explore(TRACE, output=target, overwrite=True)
    assert target.read_text() != text


@dataclass(frozen=True)
class ColumnOptions:
    column: str = option("", "which")


class ColumnOpener(Opener):
    """Opens all files ``*.x``; with a table it shows a column of it."""

    Options = ColumnOptions
    takes_data = True

    def sniff(self, path):
        return 1.0

    def open(self, path, options, data=None):
        return perfcore.fit(CURVE, phases=1, degree=0).views() if data is None else DataViews(CURVE, options.column)


def test_options_go_to_the_opener_that_declares_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "opener_of", lambda path: ("x", ColumnOpener()) if path.endswith(".x") else None)
    Path("a.x").touch()
    Path("runs.csv").write_text("p,time_s\n1,2\n2,1\n")
    assert open_subjects(["a.x"]).title == "1 phase of c.csv"
    assert open_subjects(["a.x", "runs.csv"], Opening(options={"column": "time_s"})).title == "time_s"
    with pytest.raises(OptionError, match="--column is for none of the files"):
        open_subjects(["runs.csv"], Opening(options={"column": "time_s"}))


def test_data_without_a_presenter_still_have_facts_and_fits(monkeypatch):
    monkeypatch.setattr(opening, "presenter_of", lambda data: Presenter())
    view = DataViews(CURVE, "c.csv").view((), {})
    figures, *tables = view.blocks
    assert [figure.name for figure in figures.figures][:1] == ["steps"]
    assert [table.title for table in tables] == ["What is there", "What else it shows, and models of it"]


def test_names_that_are_meant_badly_stand_in_every_view_as_they_are():
    names = ["<script>alert(1)</script>", "$x_", "b$_^$", "\u202eevil", "n" * 3000, "🚀"]
    at = np.arange(len(names))
    marker = (names[0], 0, 30)
    trace = Trace(at, at, 10 * at, 10 * at + 50, names, names, busy_states=names[:3], source=names[0], markers=[marker])
    session = Session(DataViews(trace, names[0]))
    ways = session.ways(("fit", "worley"), {})
    assert ("fit", "worley", "timeline") in [way.path for way in ways]
    for way in ways:
        page = Frame(session.subject.title, "0", None, session.ways(way.path, {})).view(session.view(way.path, {}))
        assert "<script>alert" not in page
        assert page.count('aria-current="page"') == 2  # where it stands, and in the list of views


def test_a_phase_and_a_class_lead_to_their_stretch_of_the_timeline():
    views = DataViews(TRACE, "t.csv")
    tables = [block for block in views.view(("overheads",), {}).blocks if isinstance(block, Table)]
    (classes,) = (table for table in tables if table.header[0] == "class")
    waiting = next(row[0].link for row in classes.rows if row[1] == "wait")
    assert waiting.path == ("timeline",)
    assert waiting.query["find"].startswith("class:")
    assert views.view(waiting.path, waiting.query).path == ("timeline",)
    fit = views.view(("fit", "worley"), {"phases": "2"})
    (phases,) = (block for block in fit.blocks if isinstance(block, Table) and block.title == "Phases")
    starts = [row[1].link for row in phases.rows]
    assert {link.path for link in starts} == {("fit", "worley", "timeline")}
    shown = [views.view(link.path, link.query).blocks[0].live.query for link in starts]
    assert float(shown[0]["to"]) == float(shown[1]["from"])  # one ends where the other begins
