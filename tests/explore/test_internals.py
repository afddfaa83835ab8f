"""Blocks as HTML and their colours, indices of intervals, and what is drawn of long curves."""

from __future__ import annotations

import itertools
import json
import re
import threading
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from browsing import accessibility_problems
from made_traces import lanes_of, random_trace
from result_kinds import FURTHER_KINDS, KINDS, Elements

import perfcore
from perf_explore import blocks, open_subjects, server
from perf_explore.blocks import Writer, colour_sheet, shade_style
from perf_explore.page import SCRIPTS, Frame, address, asset, document
from perf_explore.timeline.shown import SortedIntervals, TimelineData
from perf_traces.states import state_classes
from perf_views import Action, Cell, Chart, Field, Form, Link, Notice, Table, Text, View, colours
from perf_views.bokeh_marks import chart_content, window_content
from perf_views.colours import CAREFUL, GOOD, ON_DARK, PAGE, QUIET, contrast
from perf_views.contents import mounted
from perf_views.marks import MOST_POINTS, thinned
from perfcore import UtilizationCurve
from perfcore.report import Axis, Plot, Steps

ALL = (
    Text(("a < b",), "T", links=(Link("go", ("x",), {"q": "1 & 2"}),)),
    Text(("f(x)\n",), kind="formula"),
    Table(("", "R^2"), (("row", Cell("0.35", Link("", ("y",)), 0.35)),), "heat"),
    Chart(lambda figure: figure.add_subplot().plot([1, 2], label="<i>"), "a <line>"),
    Form(
        (
            Field("n", "phases", "3", "range", minimum="1", maximum="9", step="1"),
            Field("d", "degree", "1", "choice", ("0", "1"), help="of it"),
            Field("h", value='"', kind="hidden"),
            Field("m", "number", "0.5", "number"),
        ),
        ("x",),
    ),
    Action((Field("t", "formulas", "<1>\n", "lines"),), ("x",)),
    Notice("no", "error"),
)


@pytest.fixture(scope="module")
def page():
    view = View("one & two", ALL, ("p",), (Link("whole", ()),))
    return Frame("whole", "7", "before", (Link("whole", ()),)).view(view)


def test_every_page_is_well_formed_and_escaped(page):
    found = Elements(page)
    assert "<i>" not in page
    assert "a &lt; b" in page
    assert "a &lt;line&gt;" in page
    assert [a["href"] for a in found.all("a")] == ["#main", "/", "/", "/p", "/x?q=1+%26+2", "/y"]
    names = [attributes["id"] for _, attributes in found.seen if "id" in attributes]
    assert len(names) == len(set(names))


def test_every_control_has_a_label_and_every_heading_cell_a_scope(page):
    found = Elements(page)
    labels = {a["for"] for a in found.all("label")}
    controls = [a for a in found.all("input", "select", "textarea") if a.get("type") != "hidden"]
    assert {a["id"] for a in controls} == labels
    assert all(a["scope"] in ("col", "row") for a in found.all("th"))
    assert found.all("svg")[0]["role"] == "img"
    assert found.all("svg")[0]["aria-label"] == "a <line>"
    assert all(a["aria-label"] for a in found.all("div") if a.get("tabindex") == "0")
    assert [each["aria-label"] for each in found.all("nav")] == ["Where you are", "Views"]


def test_actions_carry_the_version_and_forms_are_in_the_address(page):
    methods = [(a["action"], a["method"]) for a in Elements(page).all("form")]
    assert methods == [("/-/undo", "post"), ("/x", "get"), ("/x", "post")]
    assert page.count('name="_version" value="7"') == 2


def test_a_report_has_no_forms_and_links_only_where_something_is():
    writer = Writer(lambda path, query: "#x" if path == ("x",) else None, is_live=False)
    text = writer.blocks(ALL)
    assert "<form" not in text
    assert [a["href"] for a in Elements(text).all("a")] == ["#x"]
    assert "0.35" in text


def test_shaded_text_can_be_read_and_brightness_rises():
    """WCAG 2.2, 1.4.3: at least 4.5 to 1; and order survives without colour."""
    styles = [re.findall("#[0-9a-f]{6}", shade_style(float(shade))) for shade in np.linspace(0.0, 1.0, 101)]
    assert min(contrast(*pair) for pair in styles) >= 4.5
    brightness = [contrast(background, "#000000") for background, _ in styles]
    assert all(b >= a for a, b in itertools.pairwise(brightness))
    assert shade_style(-3.0) == shade_style(0.0)


def test_mounted_views_keep_the_state_above_them():
    view = mounted(View("v", ALL, ("p",), (Link("top", ()),)), ("fit", "a"), {"o": "5", "n": "2"})
    assert view.path == ("fit", "a", "p")
    assert [link.path for link in view.trail] == [("fit", "a")]
    text, _, table, _, form, action, _ = view.blocks
    assert text.links[0] == Link("go", ("fit", "a", "x"), {"o": "5", "n": "2", "q": "1 & 2"})
    assert table.rows[0][1].link.path == ("fit", "a", "y")
    # A field of the form's own wins over a state of the same name.
    assert [(item.name, item.value) for item in form.fields if item.name in ("o", "n")] == [("o", "5"), ("n", "3")]
    assert [item.name for item in action.fields] == ["o", "n", "t"]
    rows = Table(("from",), ((Cell("0", Link("", (), {"from": "0"})),),))
    (table,) = mounted(View("v", (rows,)), ("fit",), {"n": "2"}).blocks
    assert table.rows[0][0].link == Link("", ("fit",), {"n": "2", "from": "0"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_read_contrasts_with_what_is_behind_it(scheme):
    """4.5 of text, 3 of signs, as WCAG 2.2 asks (AA)."""
    colours = {name: each[scheme == "dark"] for name, each in PAGE.items()}
    for text in ("ink", "quiet", "accent"):
        for behind in ("paper", "soft"):
            assert contrast(colours[text], colours[behind]) >= 4.5
    for text, behind in (("paper", "accent"), ("ink", "careful-soft"), ("ink", "wrong-soft")):
        assert contrast(colours[text], colours[behind]) >= 4.5
    for sign in ("good", "careful", "quiet", "wrong", "edge", "focus"):
        assert contrast(colours[sign], colours["paper"]) >= 3.0
    for words in (GOOD, CAREFUL, QUIET):  # which stand beside marks in drawings
        assert contrast(words if scheme == "light" else ON_DARK[words], colours["paper"]) >= 4.5


def test_style_sheets_and_scripts_take_all_colours_from_one_sheet():
    """None names a colour itself, and each that is asked for is there, in light and in dark."""
    texts = [asset(name) for name in ("page.css", "report.css", "report.js", *SCRIPTS.values())]
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?!\$)|\brgba?\([0-9]", "".join(texts))
    light, dark = colour_sheet().split("@media screen and (prefers-color-scheme: dark)")
    known = set(re.findall(r"--([a-z-]+): #[0-9a-f]{6};", light))
    assert known == set(re.findall(r"--([a-z-]+): #[0-9a-f]{6};", dark))
    asked = set(re.findall(r"""var\(--([a-z-]+)\)|["'`]--([a-z-]+)["'`]""", "".join(texts)))
    set_elsewhere = {"part", "depth", "letters", "sign", "left", "width", "y"}
    assert {one or other for one, other in asked} <= known | set_elsewhere


def test_a_browser_that_ends_only_when_it_is_closed_does_not_keep_the_page_back(monkeypatch):
    closed, opened, served = threading.Event(), threading.Event(), []

    def blocking(address):
        opened.set()
        return closed.wait(60.0)

    def serve(page, listener):
        served.append(opened.wait(60.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", blocking)
    monkeypatch.setattr(server, "serve", serve)
    perfcore.explore(UtilizationCurve([0, 4, 10], [2, 8]), announce=lambda line: None)
    assert served == [True]
    assert not closed.is_set()
    closed.set()


# Conversion of XYZ, and what people see who lack one kind of cones: G. Machado, M. Oliveira and L. Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, severity 1.
XYZ = np.reshape(
    [0.4124564, 0.3575761, 0.1804375, 0.2126729, 0.7151522, 0.0721750, 0.0193339, 0.1191920, 0.9503041], (3, 3)
)
EYES = {
    "all cones": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "no red": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    "no green": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881],
    "no blue": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900],
}


@pytest.mark.parametrize("eyes", EYES)
def test_steps_of_growth_are_told_apart(eyes):
    """By the distance in CIE 1976 L*a*b*, in which 2.3 is just noticeable."""
    seen = np.array([[int(step[at : at + 2], 16) / 255 for at in (1, 3, 5)] for step in colours.STEPS])
    linear = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4) @ np.reshape(EYES[eyes], (3, 3)).T
    relative = np.clip(linear, 0.0, 1.0) @ XYZ.T / [0.95047, 1.0, 1.08883]
    root = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    lab = np.column_stack([116 * root[:, 1] - 16, 500 * (root[:, 0] - root[:, 1]), 200 * (root[:, 1] - root[:, 2])])
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(lab, 2)) > 18.0


# The timeline: bins against sums over all intervals, and what lies at a place.
@pytest.fixture(scope="module")
def trace():
    return random_trace(markers=[("step#1", 1000, 9000), ("step#2", 9000, 20_000)])


def test_time_of_each_state_is_the_sum_over_all_intervals(trace):
    index = SortedIntervals.of(trace, np.arange(4), 4)
    rng = np.random.default_rng(2)
    for edges in (np.array([0, 30_000]), np.arange(990, 1090), np.unique(rng.integers(0, 22_000, 60))):
        time = index.time_in(edges, np.array([3, 0, 3]), np.array([0, 0, 1]), 2)
        expected = np.zeros_like(time)
        for row, members in enumerate(([3, 0], [3])):
            for state in range(4):
                mine = np.isin(trace.location, members) & (trace.state == state)
                low, high = edges[:-1, None], edges[1:, None]
                overlap = np.minimum(trace.end_ns[mine], high) - np.maximum(trace.start_ns[mine], low)
                expected[row, state] = np.maximum(overlap, 0).sum(axis=1)
        assert (time == expected).all()


def test_an_index_finds_what_lies_at_a_place_and_what_is_longest(trace):
    index = SortedIntervals.of(trace, np.array([0, 1, 1, 0]), 2)
    found = index.within(2, 5000, 6000)
    mine = (trace.location == 2) & (trace.start_ns < 6000) & (trace.end_ns > 5000)
    assert sorted(index.start_ns[found].tolist()) == sorted(trace.start_ns[mine].tolist())
    assert {index.location_of(int(at)) for at in found} == {2}
    durations = trace.end_ns - trace.start_ns
    for group, which in enumerate(index.longest_of_groups()):
        of_group = np.isin(trace.state, [[0, 3], [1, 2]][group])
        assert index.end_ns(which) - index.start_ns[which] == durations[of_group].max()
    only = index.only(np.array([False, True, False, False]))
    assert len(only) == (trace.state == 1).sum()
    assert only.end_ns(only.longest()) - only.start_ns[only.longest()] == durations[trace.state == 1].max()


def test_the_page_gets_the_class_of_most_time_and_its_share(trace):
    views = open_subjects([trace])
    said, (top, share, _) = lanes_of(views, {"from": "2", "to": "10us", "find": "wait"}, ("timeline",))
    lane = next(at for at, row in enumerate(said["rows"]) if row["name"] == "rank 1 / thread 0")
    data = TimelineData(trace)
    classes = data.classes
    assert data.class_of_state == tuple(
        "computing" if name == "other" else name for name in state_classes(trace.states)
    )  # all that is not known counts as busy here
    edges = np.rint(np.linspace(2000, 10_000, 41)).astype(int)  # on the clock of the trace, as the command line
    in_class = np.array([classes.index(name) for name in data.class_of_state])
    time = SortedIntervals.of(trace, in_class, len(classes)).time_in(edges, np.array([2]), np.array([0]), 1)[0]
    assert (np.where(time.any(axis=0), time.argmax(axis=0), 255) == top[lane]).all()
    assert (np.ceil(time.max(axis=0) / np.diff(edges) * 255) == share[lane]).all()
    busy = trace.utilization()
    assert said["busy"][0] == pytest.approx(mean_height(busy, edges[0] / 1000, edges[1] / 1000), abs=1e-4)
    assert said["search"].startswith("MPI_Wait: ")
    assert [name for name, _, _ in said["markers"]] == ["step#1", "step#2"][: len(said["markers"])]


def mean_height(curve, start, end):
    cuts = np.clip(curve.edges, start, end)
    return float((np.diff(cuts) * curve.heights).sum() / (end - start))


# Stretches of long curves: nothing is left out, and means are exact.
def noisy(n_steps, seed=1):
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[50.0], 50.0 + np.cumsum(rng.uniform(0.1, 2.0, n_steps))])
    return UtilizationCurve(edges, rng.uniform(0.0, 9.0, n_steps))


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (0.2, 0.9), (0.41, 0.42)])
def test_bins_hold_extremes_and_means_of_their_own_steps(start, end):
    curve = noisy(50_000)
    first, last = (curve.start + share * curve.duration for share in (start, end))
    band, line = thinned([Steps(curve.edges, curve.heights)], (first, last))
    for mark in (band, line):
        edges = np.r_[mark.x[::2], mark.x[-1]]
        assert len(edges) <= 1001
        assert edges[0] <= first
        assert edges[-1] >= last
        assert (np.diff(edges) > 0).all()
        for k, (left, right) in enumerate(itertools.pairwise(edges)):
            i, j = np.searchsorted(curve.edges, [left, right])
            assert curve.edges[i] == left
            assert curve.edges[j] == right
            if mark is band:
                assert (band.low[2 * k], band.high[2 * k]) == (curve.heights[i:j].min(), curve.heights[i:j].max())
                continue
            mean = np.average(curve.heights[i:j], weights=np.diff(curve.edges[i : j + 1]))
            assert line.y[2 * k] == pytest.approx(mean, rel=1e-9)


STEPS = np.random.default_rng(4).integers(0, 9, 50_000).astype(float)
LONG = Plot("busy", [Steps(np.arange(50_001.0), STEPS, "busy")], Axis("time", "ns", "time"), Axis("busy processors"))


def test_long_steps_come_in_bins_of_a_window():
    """Bins have the extremes of their steps, and a small window the steps themselves."""
    content = window_content(LONG, (0.0, 50.0))  # microseconds
    low, high = (np.array(content["s0.0"][name]) for name in ("low", "high"))
    assert low.min() == STEPS.min()
    assert high.max() == STEPS.max()
    assert len(json.dumps(chart_content(LONG))) < 200_000 < len(STEPS) * 8 > MOST_POINTS
    assert window_content(LONG, (0.010, 0.012))["s1.0"]["y"][::2] == STEPS[10:12].tolist()


SVG = '<svg role="img" aria-label="a chart" viewBox="0 0 720 324"></svg>'
SHOWN = {**KINDS, **FURTHER_KINDS}
# A notebook's cell has views of others, and any model those of its own kind.
AS_ANOTHER = {"Inline", "Model"}
EMPTY = {"items": (), "has_top": False, "remarks": (), "more": "", "scripts": ()}


def sections():
    """The first view of each sort, of each kind, with its forms."""
    for kind, make in SHOWN.items():
        if kind in AS_ANOTHER:
            continue
        subject, seen = open_subjects([make()]), set()
        for number, path in enumerate(subject.paths()):
            if (sort := path[:1] if path[:1] != ("fit",) else path[:3]) in seen:
                continue
            seen.add(sort)
            view = subject.view(path, {})
            writer = Writer(address, name=f"{kind}{number}-", level=3)
            yield {"anchor": f"{kind}{number}", "heading": f"{kind} {number}", "body": writer.view(view)}


def test_every_kind_of_view_can_be_read(tab, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "chart_svg", lambda chart, name: SVG)
    monkeypatch.setattr(Writer, "content", lambda self, plot: "{}")  # no script draws it
    (tmp_path / "kinds.html").write_text(document("kinds", "report.html", sections=sections(), **EMPTY))
    tab.goto(Path(tmp_path / "kinds.html").as_uri())
    assert accessibility_problems(tab) == []
