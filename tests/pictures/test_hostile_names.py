"""Names that break what takes them for more than names, in each kind of result: pictures, cells, pages, text."""

import re
import tempfile
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from result_kinds import CELL_ELEMENTS, KINDS, Elements

import perfcore
from perf_experiments import Run, Runs, Store, Summary
from perf_structural import StructuralModel, recalibrate
from perfcore import Measurements, Result, Series, Trace, UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.cli.output import VERBOSE, print_findings
from perfcore.report import Shown
from perfcore.stochastic import representation_named

Normal = representation_named("normal")

NAMES = (
    "<script>alert('x')</script>",
    "$x_",  # mathematics of matplotlib that does not end
    "b$_^$",  # and that cannot be read
    # From right to left, and letters that the font lacks.
    "\u202e\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET} left \N{GRINNING FACE}\N{CJK UNIFIED IDEOGRAPH-6C34}",
    "n" * 3000,
    'two\nlines\tof it \x1b[31m\x07 \'of "a terminal"',
    "_hidden \\frac{%s}&amp;{}",  # not in a legend of matplotlib
)
COLUMN = "b$_^$ <i>"
LEVELS = (2, 4, 8, 16)


def table(parts, column, noise=0.02, scale=1.0):
    rng = np.random.default_rng(3)
    rows = [
        (p, name, scale * (k + 1.0) * (1.0 + 16.0 / p) * (1.0 + noise * rng.standard_normal()))
        for k, name in enumerate(parts)
        for p in LEVELS
        for _ in "ab"
    ]
    frame = pd.DataFrame(rows, columns=[COLUMN, column, "time_s"])
    return Measurements(frame, {"p": COLUMN}, source=NAMES[0])


def forecasts_of_hosts():
    rows = [(60.0 * k, name, base + k % 5) for k in range(40) for base, name in enumerate(NAMES[:2] + NAMES[3:4], 1)]
    return perfcore.fit(pd.DataFrame(rows, columns=["timestamp_s", "host", "load"]), fitter="forecast", by="host")


@cache
def pairs():
    systems = [table(NAMES[2:5], "code", scale=k).table.assign(system=name) for k, name in enumerate(NAMES[:2], 1)]
    return Measurements(pd.concat(systems), {"p": COLUMN}, source=NAMES[1])


@cache
def trace():
    rng = np.random.default_rng(2)
    n, states = 400, len(NAMES)
    length = rng.integers(5, 50, (2, n))
    end = length.cumsum(axis=1)
    place = np.repeat([0, 1], n)
    state = rng.integers(0, states, 2 * n)
    return Trace(
        place, state, (end - length).ravel() * 1000, end.ravel() * 1000, list(NAMES[:2]), list(NAMES), source=NAMES[4]
    )


@cache
def individual():
    return perfcore.fit(pairs(), fitter="individual", functions="1/p,1")


@cache
def laws():
    return perfcore.fit(table(NAMES, "callpath"), fitter="scaling")


@cache
def phases():
    return perfcore.fit(trace(), phases="1..3", degree=1, busy=NAMES[0])


def messages():
    """A run with messages and collectives, of which places and states have other names."""
    run = perfcore.read("examples/halo/halo.prv")
    run.locations, run.source = NAMES[: len(run.locations)], NAMES[4]
    of_file = run.facts["messages"]()
    run.facts["messages"] = lambda: replace(of_file, locations=run.locations)
    return run


def steps():
    """Ten steps of one length, marked by one name, and then one that is late."""
    start = np.arange(11) * 1000
    markers = [(NAMES[2], int(k), int(k) + (1500 if k == 10_000 else 1000)) for k in start]
    return Trace(
        np.zeros(11), np.arange(11) % 2, start, start + 900, NAMES[:1], NAMES[2:4], markers=markers, source=NAMES[4]
    )


def series():
    values = np.arange(60.0) % 7 + 1.0
    return Series(np.arange(60.0), {NAMES[2]: values, NAMES[6]: values[::-1]}, "s", source=NAMES[4])


def versions(judge=perfcore.gate):
    rng = np.random.default_rng(4)
    rows = [
        (version, k, name, slow * time)
        for version, slow in zip(NAMES[:2], (1.0, 1.3), strict=True)
        for name in NAMES[2:]
        for k, time in enumerate(rng.lognormal(0.0, 0.02, 8))
    ]
    return judge(pd.DataFrame(rows, columns=["version", "round", "bench", "time_s"]), base=NAMES[0])


def history():
    rng = np.random.default_rng(5)
    times = rng.lognormal(0.0, 0.01, (len(NAMES), 40)) * np.where(np.arange(40) < 30, 1.0, 1.4)
    commits = [f"{NAMES[k % len(NAMES)]}{k}" for k in range(40)]
    rows = [
        (commit, name, value)
        for name, values in zip(NAMES, times, strict=True)
        for commit, value in zip(commits, values, strict=True)
    ]
    return perfcore.gate_history(pd.DataFrame(rows, columns=["commit", "bench", "time_s"]), commit="commit")


def structural():
    time = [{"normal": [2.0, 0.1]}, {"normal": [3.0, 0.2]}]
    return StructuralModel(
        "max_over(work)", inputs={"work": time, "rows": 1.0}, name=NAMES[2], source=NAMES[4],
        candidates={name: {"rows": float(k)} for k, name in enumerate(NAMES, 1)},
    )  # fmt: skip


def judgement():
    rng = np.random.default_rng(6)
    return perfcore.judge([Normal(2.0, 0.3)] * 50, rng.normal(2.0, 0.4, 50), at_name=NAMES[6], name=NAMES[2])


def run(number=1):
    return Run(
        {COLUMN: NAMES[number], "p": number}, 1, NAMES[2], "2026-01-01T00:00:00+00:00", NAMES, 10**9, 1.0, 0.1, 100, 1,
        None, None, False, {NAMES[3]: 1.0}, stdout=NAMES[0].encode(), number=number,
    )  # fmt: skip


def replications():
    with tempfile.TemporaryDirectory() as folder:
        with Store.hold(Path(folder) / "runs.db") as store:
            for k, name in enumerate(NAMES * 3):
                took = {"replication": 1 + k % 3, "wall_ns": 10**9 + 10**7 * k}
                store.add(replace(run(), problem=None, point={COLUMN: name}, **took))
        return perfcore.next_points(Path(folder) / "runs.db", precision="1%")


def added():
    with tempfile.TemporaryDirectory() as folder:
        rows = pd.DataFrame({"bench": NAMES, "time_s": 1.5})
        return perfcore.add_to_history(Path(folder) / "history.jsonl", rows, commit=NAMES[1].strip())


# By the names of the classes: those that a presenter is registered for, so that a new one is missed here.
SUBJECTS = {
    "Facts": lambda: perfcore.info(trace()),
    "Predictions": lambda: perfcore.predict(
        individual(), {"p": [2, 64], "code": list(NAMES[2:4]), "system": list(NAMES[:1])}, interval=0.95
    ),
    "Comparison": lambda: perfcore.compare(laws(), laws(), at="p=16"),
    "Verification": lambda: perfcore.validate(individual(), pairs()),
    "ComposedModel": lambda: individual() + individual(),
    "Recommendation": lambda: perfcore.next_points(
        perfcore.fit(pairs().table.rename(columns={COLUMN: "p"}), fitter="individual", functions="1/p,1"),
        {"p": 64, "code": NAMES[2], "system": NAMES[0]},
    ),
    "Replications": replications,
    "Design": lambda: perfcore.design({"p": [1, 2], "code": [name for name in NAMES if name.isprintable()]}),
    "Run": run, "Runs": lambda: Runs(NAMES[4], tuple(map(run, range(1, len(NAMES)))), 1, 0, 1, 0),
    "Summary": lambda: Summary(3, 2, 1, 0, wide=NAMES, store=NAMES[0]),
    "ForecastModel": lambda: perfcore.fit(series(), fitter="forecast", column=NAMES[2], horizon=3),
    "SeriesForecasts": forecasts_of_hosts, "VersionGate": versions,
    "SelfTest": lambda: versions(perfcore.gate_self_test), "HistoryGate": history, "Added": added, "ScalingModel": laws,
    "LcaModel": lambda: perfcore.fit(table(NAMES, "category"), fitter="lca"),
    "ModgenModel": lambda: perfcore.fit(table(NAMES, "category"), fitter="modgen"),
    "OverheadRuns": lambda: perfcore.overheads([trace(), trace()]),
    "OverheadProfile": lambda: perfcore.overheads(trace())[0], "Profiles": lambda: perfcore.profile(trace()),
    "Decomposition": lambda: perfcore.schedule(structural(), divide=9, unit_time="work"), "Judgement": judgement,
    "Recalibration": lambda: recalibrate([Normal(0.0, 1.0)] * 80, np.random.default_rng(7).normal(0.0, 4.0, 80)),
    "MeasuredValue": lambda: perfcore.value(series(), "normal", column=NAMES[2]),
    "Prediction": lambda: structural().predict(),
    "Solution": lambda: perfcore.solve("work/n", "n=1..10", 40, 0.95, inputs={"work": "normal:100,10"}),
    "Choice": lambda: perfcore.schedule(structural()), "StructuralModel": structural, "IndividualModel": individual,
    "JointModel": lambda: perfcore.fit(pairs(), fitter="strohmaier", functions="1/p,1"),
    "RegressionModel": lambda: perfcore.fit(
        pairs(), fitter="regression", formula="a + b/p", by=("code", "system"), weights="relative"
    ),
    "UslModel": lambda: perfcore.fit(table(NAMES[2:3], "code"), fitter="usl", quantity="time"),
    "Answers": lambda: perfcore.whatif(messages(), network="0"), "MessageTable": lambda: perfcore.messages(messages()),
    "MessageRuns": lambda: perfcore.messages([messages(), messages()]),
    "Iterations": lambda: perfcore.iterations(steps()), "PhaseComparison": lambda: perfcore.compare(phases(), phases()),
    "PhaseModel": phases, "ProjectionModel": lambda: perfcore.project(table(NAMES, "category"), at="p=64"),
    "Projection": lambda: perfcore.project(table(NAMES, "category"), at="p=64").answer,
    "Ranking": lambda: perfcore.rank(pairs(), fitter="individual", functions="1/p,1"),
    "Inline": lambda: perfcore.view(trace(), views=1),
    "UtilizationCurve": lambda: UtilizationCurve([0, 4, 10], [2, 8], source=NAMES[0]),
    "Measurements": lambda: table(NAMES, "code"), "Series": series, "Trace": trace,
}  # fmt: skip
# What is installed has names of its own; models are of some class.
WITHOUT_NAMES = {"OperatorTimes", "LaunchTimes", "GpuMemory", "GpuDifference", "GpuAnswers", "Listing", "Model"}
_MOST_VIEWS = 5


def test_every_kind_is_among_them():
    assert set(KINDS) <= set(SUBJECTS) | WITHOUT_NAMES


@cache
def subject(kind):
    return SUBJECTS[kind]()


def no_picture(shown, **_):
    raise OptionError("no picture")


# Of charts: data, which no browser runs; a sign that opens an element is written as a code in them.
DATA = re.compile(r'<script type="application/json"(?: id="on-dark")?>[^<]*</script>')


def names_alone(html):
    """Nothing that a browser would run, and no element that a name opened."""
    html = DATA.sub("", html)
    assert "<script" not in html
    assert "alert(" not in html or "&lt;script&gt;" in html
    assert "<i>" not in html


@pytest.mark.parametrize("kind", SUBJECTS)
def test_pictures_have_names_as_they_are(kind, tmp_path):
    shown = subject(kind)
    try:
        shown.plot(path=tmp_path / "picture.html")
    except OptionError as error:
        assert str(error) == f"{kind} has no picture"  # noqa: PT017
        return
    names_alone((tmp_path / "picture.html").read_text())
    # Axes and figures of one's own are drawn outside of what knows that names are no mathematics.
    own = Figure()
    shown.plot(ax=own.add_subplot())
    warnings.filterwarnings("ignore", message="Glyph .* missing from")
    own.draw_without_rendering()


@pytest.mark.parametrize("kind", SUBJECTS)
def test_cells_of_notebooks_have_names_as_they_are(kind, monkeypatch):
    shown = subject(kind)
    monkeypatch.setattr(Shown, "plot", no_picture)  # which in a cell is dots
    cell, line = shown._repr_html_(), repr(shown)
    names_alone(cell)
    assert kind == "Inline" or len(cell) < 64_000
    assert len(line) < 2200
    if kind != "Inline":
        assert {tag for tag, _ in Elements(cell).seen} <= CELL_ELEMENTS


@pytest.mark.parametrize("kind", SUBJECTS)
def test_pages_and_reports_have_names_as_they_are(kind, monkeypatch):
    # Drawn in the pictures above.
    monkeypatch.setattr("perf_explore.blocks.chart_svg", lambda chart, name: "<svg></svg>")
    report = perfcore.view(subject(kind), views=_MOST_VIEWS).page
    names_alone(report[: report.index("<script>")])
    scripts = re.findall("<script[^>]*>", DATA.sub("", report))
    assert set(scripts) == {"<script>"}  # its own; the policy lets no other run


@pytest.mark.parametrize("kind", SUBJECTS)
def test_lines_of_text_are_lines(kind, capsys):
    shown = subject(kind)
    if not isinstance(shown, Result):
        return
    token = VERBOSE.set(True)
    print_findings(shown)
    VERBOSE.reset(token)
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    report = shown.report()
    below = len(report.closing()) + bool(report.closing())
    tables = sum(2 + bool(table.title) + len(table[2]) + (table.left_out() > 0) for table in report.shown_tables)
    assert len(lines) == len(report.lines) + tables + below
    assert all(line.isprintable() for line in lines)
