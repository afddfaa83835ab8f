"""Charts in Chromium: values under the pointer, zoom, legend, scales, a dragged target, files; names are text."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from perf_explore import open_subjects, report_text, served
from perf_views import Graph, View, Viewable
from perfcore import Result
from perfcore.report import Axis, Band, Bars, Figure, Line, Note, Plot, Points, Report, Rule, Spans, Steps, Table, Text
from perfcore.tables import Column

P = [1, 2, 4, 8, 16, 32]
TIMES = [10.2, 5.3, 2.9, 1.7, 1.1, 0.86]
TARGET = Figure("time", 0.6641, "s", (0.376, 1.19))
GRID = np.geomspace(1, 128, 60)
MODEL = 0.381 + 9.78 / GRID + 0.0308 * np.sqrt(GRID)
SCALING = Plot(
    "time",
    [
        Band(GRID, 0.9 * MODEL, 1.1 * MODEL, "95% interval"),
        Line(GRID, MODEL, "model"),
        Points(P, TIMES, "measured"),
        Rule([128], label="target", colour="accent", drag="at=p"),
        Points([128], [0.6641], "prediction", "accent", low=[0.376], high=[1.19], shape="diamond"),
    ],
    Axis("processors p", scale="log", base=2),
    Axis("time", "s", "log"),
)  # fmt: skip
STEPS = np.random.default_rng(4).integers(0, 9, 50_000).astype(float)
LONG = Plot("busy", [Steps(np.arange(50_001.0), STEPS, "busy")], Axis("time", "ns", "time"), Axis("busy processors"))
HOSTILE = (
    "<img src=x onerror=alert(1)>", "\"'&amp;</script><script>alert(1)</script>", "\u202eevil", "$$x^2$$",
    "n" * 10_000,
)  # fmt: skip
NAMES = Plot(
    "<b>names</b>",
    [
        Bars(range(5), [5.0, 4.0, 3.0, 2.0, 1.0], HOSTILE[0], names=HOSTILE, is_horizontal=True, texts=HOSTILE),
        Spans([0.0], [1.0], HOSTILE[1], bottoms=[0.0], tops=[1.0], names=[HOSTILE[1]]),
        Text([1.0], [1.0], [HOSTILE[0]]),
    ],
    Axis(HOSTILE[3]),
    Axis(HOSTILE[0], scale="category", names=HOSTILE),
    title=HOSTILE[0],
)  # fmt: skip


class OneView(Viewable):
    """A viewable of one view."""

    def __init__(self, title, show):
        self.title, self._show = title, show

    def view(self, path, query):
        shown = self._show(query)
        return shown if isinstance(shown, View) else View(self.title, tuple(shown))


def shown(plot):
    """A page of one plot, which repeats what its address asks."""
    return OneView("chart", lambda query: View("chart", (Graph(plot, plot.title), Graph(SCALING, query.get("at", "")))))


@pytest.fixture
def chart(tab):
    """What opens a plot, with its charts drawn."""
    pages = []

    def open_plot(plot):
        page = served(shown(plot))
        address = page.__enter__()
        pages.append(page)
        tab.goto(address)
        tab.wait_for_url("**/")
        found = tab.locator("figure.chart").first
        expect(found).to_have_attribute("data-drawn", "1")
        tab.wait_for_function("() => Bokeh.documents.every((each) => each.is_idle)")  # else the frame may still move
        return found

    yield open_plot
    tab.goto("about:blank")
    for page in pages:
        page.__exit__(None, None, None)


def at(tab, chart, x, y):
    """The place on the screen of values on both axes."""
    box = chart.locator(".chart-place").bounding_box()
    left, top = chart.evaluate(
        "(host, [x, y]) => { const { x_scale, y_scale } = host.chart.view.frame; "
        "return [x_scale.compute(x), y_scale.compute(y)]; }", [x, y],
    )  # fmt: skip
    return box["x"] + left, box["y"] + top


def ranges(chart):
    return chart.evaluate("(host) => { const { start, end } = host.chart.plot.x_range; return [start, end]; }")


def zoom(tab, figure, start, end):
    """Drag over a part of the chart."""
    while ranges(figure)[1] > 1.5 * end[0]:  # a drag over a frame that is still laid out zooms nothing
        tab.mouse.move(*at(tab, figure, *start))
        tab.mouse.down()
        tab.mouse.move(*at(tab, figure, *end), steps=4)
        tab.mouse.up()
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_the_value_under_the_pointer_is_that_of_the_terminal(tab, chart):
    figure = chart(SCALING)
    tab.mouse.move(*at(tab, figure, 128, 0.7))
    tip = figure.locator(".tip")
    expect(tip).to_contain_text(f"prediction: {TARGET.text}")
    expect(tip.locator("strong")).to_have_text("processors p 128")
    tab.mouse.move(*at(tab, figure, 4, 2.9))
    expect(tip).to_contain_text("measured: 2.9 s")
    tab.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    figure.locator(".chart-pane").focus()
    tab.keyboard.press("ArrowRight")
    expect(tip.locator("strong")).to_have_text("processors p 1")


def test_zoom_reset_legend_and_scales(tab, chart):
    figure = chart(SCALING)
    whole = ranges(figure)
    zoom(tab, figure, (3, 5), (20, 1))
    assert ranges(figure) == pytest.approx([3, 20], rel=0.05)
    figure.locator(".chart-pane").dblclick(position={"x": 300, "y": 100})
    tab.wait_for_function("() => document.querySelector('figure.chart').chart.plot.x_range.end > 100")
    assert ranges(figure) == pytest.approx(whole)
    measured = figure.get_by_role("button", name="measured")
    measured.click()
    expect(measured).to_have_attribute("aria-pressed", "false")
    tab.mouse.move(*at(tab, figure, 4, 2.9))
    expect(figure.locator(".tip")).not_to_contain_text("measured")
    figure.get_by_role("button", name="log x").click()
    expect(figure).to_have_attribute("data-drawn", "2")
    assert ranges(figure)[0] == 0.0
    figure.evaluate("({ chart }) => { chart.draw(); }")  # is not finished when the colors change
    tab.emulate_media(color_scheme="dark")
    expect(figure).to_have_attribute("data-drawn", "4")
    expect(figure.locator(".chart-place > *")).to_have_count(1)


def test_a_dragged_target_asks_again(tab, chart):
    figure = chart(SCALING)
    tab.mouse.move(*at(tab, figure, 128, 5))
    tab.mouse.down()
    tab.mouse.move(*at(tab, figure, 64, 5), steps=5)
    tab.mouse.up()
    tab.wait_for_url("**/?at=p*")
    expect(tab.get_by_role("heading", name="p=64")).to_be_visible()


def test_files_of_a_chart(tab, chart):
    figure = chart(SCALING)
    with tab.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert [float(row["y"]) for row in rows if row["series"] == "measured"] == TIMES
    assert [(row["low"], row["high"]) for row in rows if row["series"] == "prediction"] == [("0.376", "1.19")]
    with tab.expect_download() as download:
        figure.get_by_role("button", name="PNG").click()
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_small_window_gets_the_steps_themselves(tab, chart):
    figure = chart(LONG)
    zoom(tab, figure, (10, 2), (10.9, 7))
    expect(figure).to_have_attribute("data-refined", re.compile("[1-9]"))
    start, end = ranges(figure)
    values = figure.evaluate("(host) => [...host.chart.plot.renderers[1].data_source.data.y]")
    first, last = int(start * 1000), int(np.ceil(end * 1000))
    assert values[::2] == STEPS[first:last].tolist()


def test_hostile_names_are_text_everywhere(tab, chart, tmp_path):
    figure = chart(NAMES)
    tab.mouse.move(*at(tab, figure, 2.0, 0))
    expect(figure.locator(".tip strong")).to_have_text(HOSTILE[0])
    with tab.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    assert all(letter not in download.value.suggested_filename for letter in "<>/\"'")
    assert {row["name"] for row in csv.DictReader(io.StringIO(download.value.path().read_text()))} >= set(HOSTILE)
    figure.get_by_role("button", name="PNG").click()
    assert tab.locator("img").count() == 0
    found = Report(
        HOSTILE[0], HOSTILE[1], [Figure(HOSTILE[0], HOSTILE[1])],
        [Table([Column(HOSTILE[0], list(HOSTILE))], title=HOSTILE[0])], lambda: [NAMES], [Note("Assumed", HOSTILE[0])],
        next=HOSTILE[0], details=[HOSTILE[1]],
    )  # fmt: skip
    file = tmp_path / "report.html"
    shown = type("Hostile", (Result,), {"report": lambda self, data=None: found})()
    file.write_text(report_text(open_subjects([shown])))
    assert file.stat().st_size < 2.5e6
    tab.goto(file.as_uri())
    expect(tab.locator("figure.chart").first).to_have_attribute("data-drawn", "1")
    assert tab.locator("img").count() == 0
    assert tab.locator("main script:not([type])").count() == 0


def test_a_server_that_was_stopped_is_said_in_one_line(context):
    tab = context.new_page()
    with served(shown(LONG)) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        figure = tab.locator("figure.chart").first
        expect(figure).to_have_attribute("data-drawn", "1")
    with tab.expect_event("requestfailed"):
        figure.evaluate("(host) => host.chart.refine()")
    expect(tab.get_by_role("alert")).to_contain_text("perf explore does not answer any more: start it again")
