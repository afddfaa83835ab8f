"""Everything that can be opened shows itself, on the page and in a report; views of models by category, and edits."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_traces import random_trace
from result_kinds import gpu_trace

import perfcore
from perf_explore import Session, open_subjects, report_text
from perf_lost_cycles import find_models, models_for, read_models
from perf_views import Form, Headline, Notice, Table, View, Viewable
from perfcore import Measurements, Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, PerfError

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
    "phases by a tolerance": lambda: perfcore.fit(CURVE, fitter="worley", tolerance=3.0).views(CURVE),
    "joint": lambda: open_subjects([perfcore.fit(runs(), fitter="strohmaier", functions="1/p,1")]),
    "individual": lambda: open_subjects([perfcore.fit(runs(), fitter="individual", functions="1/p,1")]),
    "forecast, by the views of any model": lambda: open_subjects(
        [perfcore.fit(series(), fitter="forecast", column="cpu"), series()]
    ),
    "trace": lambda: open_subjects([TRACE]),
    "curve": lambda: open_subjects([CURVE]),
    "series": lambda: open_subjects([series()]),
    "measurements": lambda: open_subjects([runs()]),
    "structural model": lambda: open_subjects(["examples/structural/sor.toml"]),
    "several": lambda: open_subjects(["examples/step.csv", "examples/structural/lu.toml"]),
}


@pytest.fixture(scope="module", params=MODELS)
def subject(request):
    return MODELS[request.param]()


def test_sliders_fit_anew_as_the_model_was_fitted():
    """Also of a file of the first version, in which `worley` was what `phases` is now."""
    mixed = perfcore.fit(CURVE, fitter="worley", tolerance=3.0)
    for model, degrees in ((mixed, "mixed"), (perfcore.load("tests/golden/models/phases.json"), "auto")):
        view = model.views(CURVE).view((), {"phases": "2"})
        assert view.title.startswith("2 phases")
        fields = [field for block in view.blocks if isinstance(block, Form) for field in block.fields]
        assert degrees in next(field.choices for field in fields if field.name == "degree")


def test_every_view_is_shown_and_leads_only_to_views(subject):
    """Each link of each view gives a view again: none leads nowhere, in no state; the answer comes first."""
    assert isinstance(subject, Viewable)
    session, links = Session(subject), set()
    for path in subject.paths():
        view = session.view(path, {})
        assert view.path == path
        assert view.title
        assert subject.title.endswith("subjects") or any(isinstance(block, Headline) for block in view.blocks)
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


def test_a_report_has_all_views_once(subject):
    text = report_text(subject)
    text, _, _ = text.partition("<script>")
    text = re.sub(r'<script type="application/json"[^>]*>[^<]*</script>', "", text)
    names = re.findall(r' id="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(names)
    assert text.count('<section id="view') == len(list(subject.paths()))
    assert "<script" not in text
    assert "<form" not in text


@pytest.mark.parametrize(("subject", "is_cut"), [("curve", True), ("phases alone", False)], indirect=["subject"])
def test_a_long_report_says_what_it_leaves_out(subject, is_cut):
    text = report_text(subject, most_views=1)
    assert text.count('<section id="view') == 1
    assert ("--views N" in text) == is_cut == (len(list(subject.paths())) > 1)


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
    judged = perfcore.view("predictions.json", "runs.csv", column="time_s")
    assert judged.title == "20 runs scored against interval predictions"
    assert open_subjects(["runs.csv", "model.json"]).title == "2 subjects"
    for files, message in (
        (["phases.json", "runs.csv"], "runs.csv holds Measurements, which phases.json was not fitted to"),
        (["broken.json"], "broken.json: not in any of the "),
        (["none.csv"], "there is no such file"),
        (["none.json"], "there is no such file"),
        (["runs.csv", "./runs.csv", "./runs.csv"], "given twice"),
    ):
        with pytest.raises(PerfError, match=message):
            open_subjects(files)


def test_the_first_page_has_the_answer_of_the_command_or_of_the_data():
    for file, answer in (
        ("examples/step.csv", perfcore.read("examples/step.csv").report().answer),
        ("examples/halo/halo.prv", perfcore.overheads("examples/halo/halo.prv").report().answer),
    ):
        first = open_subjects([file]).view((), {})
        assert [block.text for block in first.blocks if isinstance(block, Headline)] == [answer]


def of_type(view, kind):
    return [block for block in view.blocks if isinstance(block, kind)]


def test_a_model_of_a_trace_has_the_timeline_and_commands_phase_by_phase():
    model = perfcore.fit(TRACE, phases=2, degree=0)
    views = open_subjects([model, TRACE])
    assert [way.text for way in views.ways((), {})][:3] == [model.title, "Timeline", "Lost time"]
    [phases] = [table for table in of_type(views.view(("timeline",), {}), Table) if table.title == "Phases"]
    assert len(phases.rows) == 2
    lost = of_type(views.view(("overheads",), {}), Headline)[0].text
    assert lost == perfcore.overheads(TRACE, phases=model).report().answer
    page = open_subjects([TRACE]).view(("fit", "phases"), {"fit.phases": "2"})
    links = {link.path: link.query for block in page.blocks for link in getattr(block, "links", ())}
    assert links[("overheads",)] == {"phases": "2"}


def test_options_of_a_command_stand_in_the_address():
    """The same as the public function says, and with what is wrong the form that changes it."""
    views = open_subjects(["examples/halo/halo.prv"])
    by_rank = perfcore.profile("examples/halo/halo.prv", by="rank").report()
    view = views.view(("profile",), {"by": "rank"})
    assert of_type(view, Headline)[0].text == by_rank.answer
    shown = [table for table in of_type(view, Table) if not table.is_folded]
    assert [table.title for table in shown] == [table.title for table in by_rank.brief_tables]
    assert [list(row) for row in shown[0].rows] == by_rank.brief_tables[0].shown(verbose=False)[1]
    wrong = views.view(("overheads",), {"classes": "nowhere=Running"})
    assert of_type(wrong, Notice)[0].kind == "error"
    assert "classes" in [item.name for form in of_type(wrong, Form) for item in form.fields]


def test_sliders_ask_what_the_command_is_asked():
    views = open_subjects(["examples/halo/halo.prv"])
    view = views.view(("whatif",), {"ask.network": "2", "ask.computing": "1.5", "ask.balance": "0", "ask.noise": "0"})
    asked = perfcore.whatif("examples/halo/halo.prv", network="2x", compute={"computing": 1.5})
    assert of_type(view, Headline)[0].text == asked.report().answer
    sliders = [item for form in of_type(view, Form) for item in form.fields if item.kind == "range"]
    assert {item.name: item.value for item in sliders} == {
        "ask.network": "2", "ask.computing": "1.5", "ask.balance": "0", "ask.noise": "0",
    }  # fmt: skip
    file = str(gpu_trace("path", 30))
    gpu = open_subjects([file])
    fields = [item.name for form in of_type(gpu.view(("whatif",), {}), Form) for item in form.fields]
    assert [name for name in fields if name.startswith("ask.")] == ["ask.gpu", "ask.host"]  # it has no collectives
    asked = perfcore.whatif(file, compute={"host": 2.0}).report().answer
    assert of_type(gpu.view(("whatif",), {"ask.host": "2", "ask.gpu": "1"}), Headline)[0].text == asked
    plain = of_type(views.view(("whatif",), {}), Headline)[0].text
    assert plain == perfcore.whatif("examples/halo/halo.prv").report().answer


def test_what_a_command_does_not_answer_is_left_out():
    """A trace without calls has no messages: the view says so, and then the menu and reports lack it."""
    views = open_subjects([TRACE])
    assert of_type(views.view(("messages",), {}), Notice)[0].kind == "error"
    assert ("messages",) not in [way.path for way in views.ways((), {})]
    assert ("messages",) not in list(views.paths())
    assert ("overheads",) in list(views.paths())


def benchmarks(folder, factor):
    rng = np.random.default_rng(3)
    results = [
        {"command": name, "times": (base * scale * (1.0 + 0.01 * rng.standard_normal(12))).tolist()}
        for name, base, scale in (("./sort", 0.5, factor), ("./parse", 0.1, 1.0))
    ]
    results = [{**each, "mean": float(np.mean(each["times"]))} for each in results]
    folder.write_text(json.dumps({"results": results}))
    return str(folder)


def test_two_files_of_benchmarks_are_two_versions(tmp_path):
    old, new = benchmarks(tmp_path / "old.json", 1.0), benchmarks(tmp_path / "new.json", 1.3)
    views = open_subjects([old, new])
    expected = perfcore.gate(old, new).report().answer
    assert of_type(views.view((), {}), Headline)[0].text == expected
    assert expected.startswith("FAIL")
    assert [way.text for way in views.ways((), {})][1:] == ["Versions", "old.json", "new.json"]
    assert of_type(views.view(("gate",), {}), Table)[0].rows[0][0].link.path == ("gate", "./sort")
    runs = of_type(views.view(("gate", "./sort"), {}), Table)[0]
    medians = [np.median(json.loads(Path(file).read_text())["results"][0]["times"]) for file in (old, new)]
    assert [float(row[runs.header.index("median [s]")]) for row in runs.rows] == pytest.approx(medians, rel=1e-3)
    with pytest.raises(PerfError, match="no view"):
        views.view(("gate", "other"), {})


def test_a_folder_of_runs_opens_each_of_them_and_compares_them(tmp_path):
    for count in (2, 4):
        rows = [f"0,{400 // count},c{k},run\n" for k in range(count)]
        (tmp_path / f"run_{count}.csv").write_text("start_us,end_us,location,state\n" + "".join(rows))
    shelf = open_subjects([str(tmp_path)])
    assert shelf.title == "run_2.csv and run_4.csv"
    assert {("profile",), ("project",), ("run_2.csv", "timeline")} <= set(shelf.paths())


def test_a_table_of_commits_is_their_history_and_the_page_runs_and_writes_nothing(tmp_path):
    history = tmp_path / "history.jsonl"
    rng = np.random.default_rng(1)
    rows = [
        {"benchmark": name, "commit": f"c{k}", "time_s": float((1.0 + (k >= 30) * step) * rng.normal(1.0, 0.005))}
        for k in range(40)
        for name, step in (("sort", 0.2), ("parse", 0.0))
    ]
    history.write_text("".join(json.dumps(row) + "\n" for row in rows))
    views = open_subjects([str(history)])
    view = views.view((), {"run": "true", "junit": str(tmp_path / "out.xml"), "summary": str(tmp_path / "out.md")})
    assert of_type(view, Headline)[0].text == perfcore.gate_history(str(history), commit="commit").report().answer
    assert views.title == "history.jsonl"
    assert {path.name for path in tmp_path.iterdir()} == {"history.jsonl"}
    fields = {item.name for form in of_type(views.view((), {}), Form) for item in form.fields}
    assert not {"run", "junit", "summary", "store"} & fields
    assert "sort" in report_text(views)


def test_perfetto_gets_every_interval_that_is_seen():
    trace = random_trace(markers=[("step#1", 1000, 9000), ("step#2", 9000, 20_000)])
    feed = open_subjects([trace]).feed(("timeline", "perfetto"), {"from": "3", "to": "5"})
    assert (feed.media, feed.file_name) == ("application/json", "random.json")
    events = json.loads(feed.content)["traceEvents"]
    start, end = 3000, 5000
    inside = (trace.start_ns < end) & (trace.end_ns > start)
    spans = [event for event in events if event["ph"] == "X" and event["cat"] != "user_annotation"]
    assert len(spans) == inside.sum()
    assert sorted(event["dur"] for event in spans) == sorted(((trace.end_ns - trace.start_ns)[inside] / 1000).tolist())
    assert {event["args"]["location"] for event in events if event["name"] == "thread_name"} == set(trace.locations)


# Views of models by category: what they show against other ways to compute it, and edits of formulas.
EXAMPLE = Path(__file__).parents[2] / "examples" / "lost_cycles"
SYNC = "synchronization loss"
OVER_D = ("category", SYNC, "over", "D")
FORMULAE = (*OVER_D, "formulae")
ADDED = "a + b*D^2*log2(D)"


@pytest.fixture(scope="module")
def measured():
    return runpy.run_path(str(EXAMPLE / "generate.py"))["profile"]()


@pytest.fixture(scope="module")
def model(measured):
    return perfcore.fit(measured, fitter="modgen", parameter="P,D")


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


def test_the_average_is_that_of_straight_lines_fitted_by_other_means(model, measured):
    """All candidates of the example's synchronization over D are at most straight lines, and a*x is chosen."""
    times = measured[measured.category == SYNC].groupby(["P", "D"]).time_s.median()
    totals = measured.groupby(["P", "D", "category"]).time_s.median().groupby(["P", "D"]).sum()
    whole = measured.groupby(["P", "D", "run"]).time_s.sum().groupby(["P", "D"]).median()
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


def test_a_refit_is_what_a_fit_with_the_models_file_makes(model, measured, stored):
    for edit in model.views(None, stored).act(FORMULAE, typed(*present(model), ADDED)).files:
        edit.path.write_bytes(edit.after)
    kept = perfcore.load(stored)
    again = perfcore.fit(measured, fitter="modgen", parameter="P,D", models="standard,mine.toml")
    assert kept.to_dict()["model"] == again.to_dict()["model"]
    assert kept.origin.options["models"] == ["standard", "mine.toml"]
    assert [(one.category, one.factor, one.formula) for one in read_models("mine.toml")] == [(SYNC, "D", ADDED)]


def test_the_story_of_the_example(model, stored):
    """Its README: the formula D^2 log2 D mends the synchronization loss over D, and nothing else."""
    session = Session(model.views(None, stored))
    form = typed(*present(model), ADDED, origin="the transform is applied log2(D) times")
    preview = session.preview(FORMULAE, form, "0")
    (changed,) = (block for block in preview.blocks if getattr(block, "title", "") == "Every R^2 that changes")
    assert {row[0] for row in texts(changed)} == {SYNC}
    now, after = next((float(row[2]), float(row[3])) for row in texts(changed) if row[1] == "over D")
    assert now < 0.7 < 0.97 < after  # the paper's figure after the edit
    before = stored.read_bytes()
    assert not Path("mine.toml").exists()
    assert session.keep(FORMULAE, form, "0").path == OVER_D
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
