"""Charts in a window as narrow as a telephone: drawn for it, legible, without scrolling sideways, and still alive."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from perf_explore import server
from perf_explore.server import served
from perf_explore.svg import drawn_chart
from perf_views import Chart, Text, View
from perf_views.drawable import DrawableViews, views_of
from perfcore import UtilizationCurve, fit

# Height of the letters of the smallest text in a drawing, CSS pixels.
SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll("figure svg:not(.over) text")]
    .map((text) => [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM()])
    .map(([size, matrix]) => size * Math.hypot(matrix.a, matrix.b)))"""
NARROW = {"width": 390, "height": 844}


def draw(figure):
    """Two panels beside one another, one of them bars with long names; a legend above, a title of the whole."""
    law, bars = figure.subplots(1, 2)
    law.plot([1, 10, 100], [2.0, 4.0, 8.0], "o-", label="law")
    law.set(xlabel="processors", ylabel="time (s)", title="a title")
    law.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6)
    bars.barh(["a very long name of a place " + str(at) for at in range(12)], np.arange(12.0) + 1.0)
    figure.legend(*law.get_legend_handles_labels(), loc="outside lower center")
    figure.suptitle("a picture of a law and of bars, and a title that is far too long for a narrow window")


CHART = Chart(draw, "a law and bars", ())


class Subject:
    title = "law"

    def view(self, path, query):
        return View("law", (Text(("words",)), CHART), path)

    def paths(self):
        return [()]


@pytest.fixture
def narrow_tab(tab):
    tab.set_viewport_size(NARROW)
    return tab


def test_a_narrow_picture_has_the_same_numbers():
    wide, narrow = drawn_chart(CHART, "c"), drawn_chart(CHART, "c", width_px=340)
    assert (wide.is_narrow, narrow.is_narrow) == (False, True)
    assert [panel["marks"] for panel in narrow.panels] == [panel["marks"] for panel in wide.panels]
    (law, bars) = (panel["box"] for panel in narrow.panels)
    assert law[3] < bars[1]  # below one another
    names = [name for _, name in narrow.panels[1]["y"]["names"]]
    assert len(set(names)) == 12
    assert max(map(len, names)) < 24


def test_a_picture_that_cannot_be_narrow_stays_wide():
    def table(figure):
        axes = figure.add_subplot()
        for row in range(5):
            for column in range(5):
                axes.text(row, column, "99.9%")
        axes.set(xlim=(0, 5), ylim=(0, 5))

    assert not drawn_chart(Chart(table, "t", ()), "c", width_px=340).is_narrow


def test_charts_are_drawn_for_a_narrow_window(narrow_tab):
    tab = narrow_tab
    with served(Subject()) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        expect(tab.locator("figure.narrow")).to_have_count(1)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.locator(".scrolled").evaluate("(each) => each.scrollWidth <= each.clientWidth")
        assert tab.evaluate(SMALLEST_TEXT) >= 11.0
        over, tip = tab.locator("figure .over"), tab.locator("figure .tip")
        over.focus()
        tab.keyboard.press("End")
        expect(tip.locator("bdi")).to_have_text(["processors: 100", "time (s):", "law: 8"])
        over.scroll_into_view_if_needed()
        left, top, right, bottom = tab.evaluate("""() => {
            const figure = document.querySelector('figure'), [panel] = JSON.parse(figure.dataset.panels);
            const box = figure.querySelector('svg').getBoundingClientRect();
            return panel.box.map((part, at) => at % 2 ? box.top + part * box.height : box.left + part * box.width);
        }""")
        tab.mouse.move(left + 0.2 * (right - left), top + 0.5 * (bottom - top))
        tab.mouse.down()
        tab.mouse.move(left + 0.6 * (right - left), top + 0.52 * (bottom - top), steps=3)
        tab.mouse.up()
        expect(tab).to_have_url(re.compile(r"#zoom=0\.0:"))
        expect(over.locator("polyline")).to_have_count(1)
        tab.reload()  # now drawn narrow at once, by the cookie
        expect(over.locator("polyline")).to_have_count(1)
        tab.set_viewport_size({"width": 1280, "height": 800})
        expect(tab.locator("figure.narrow")).to_have_count(0)
        expect(tab.locator("figure")).to_have_count(1)
        expect(over.locator("polyline")).to_have_count(1)  # and as close as before


def test_what_was_drawn_for_another_window_is_drawn_anew(narrow_tab):
    """A window that is made wide while a page is on its way, which the server draws by the cookie of before."""
    tab = narrow_tab
    with served(Subject()) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        expect(tab.locator("figure.narrow")).to_have_count(1)
        other = tab.context.new_page()
        other.add_init_script("document.cookie = `perf-${location.port}-width=0; Path=/; Max-Age=0`")
        other.set_viewport_size({"width": 1280, "height": 800})
        other.goto(tab.url)
        expect(other.locator("figure")).to_have_count(1)
        expect(other.locator("figure.narrow")).to_have_count(0)
        other.close()


def test_a_stretch_is_dragged_in_a_narrow_window(narrow_tab):
    tab = narrow_tab
    curve = UtilizationCurve(np.arange(1001.0), 4.0 + np.sin(np.arange(1000) / 30.0), source="curve")
    with served(views_of(fit(curve, phases=2), curve)) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        expect(tab.locator("figure.narrow[data-stretch]")).to_have_count(1)
        assert tab.evaluate(SMALLEST_TEXT) >= 11.0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.locator("figure .over").scroll_into_view_if_needed()
        box = tab.locator("figure[data-stretch] .over").bounding_box()
        tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
        tab.mouse.down()
        tab.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"], steps=3)
        tab.mouse.up()
        expect(tab).to_have_url(re.compile("from=[0-9.]+&to="))
        expect(tab.locator("figure.narrow[data-stretch]")).to_have_count(1)


def test_without_scripts_the_wide_picture_scrolls(browser):
    context = browser.new_context(java_script_enabled=False, viewport=NARROW)
    tab = context.new_page()
    with served(DrawableViews(fit(UtilizationCurve([0, 4, 10], [2, 8]), phases=2, degree=0))) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        assert tab.locator("figure").count() >= 1
        assert tab.locator("figure.narrow").count() == 0
        assert tab.locator(".scrolled figure").first.bounding_box()["width"] > 600
    context.close()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "$x_", "b$_^$", "\u202eevil", "n" * 3000, "🚀", ""])
def test_names_of_any_kind_leave_room_for_the_picture(name):
    def named(figure):
        panels = figure.subplots(1, 2)
        panels[0].plot([1, 2], [3, 4], label=name or "line")
        panels[0].set(title=name, xlabel=name, ylabel=name)
        panels[0].legend()
        panels[1].barh([f"{name} {at}" for at in range(3)], [1.0, 2.0, 3.0])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center")
        figure.suptitle(name)

    drawn = drawn_chart(Chart(named, "c", ()), "c", width_px=340)
    assert drawn.is_narrow
    assert "<script>" not in drawn.svg
    for left, top, right, bottom in (panel["box"] for panel in drawn.panels):
        assert right - left > 0.3
        assert bottom - top > 0.1


@pytest.mark.parametrize(
    ("text", "width_px"),
    [
        ("340", 340), ("9", 240), ("99999", 720), ("", None), ("-5", None), ("3e2", None), ("9" * 5000, None),
        ("\uff13\uff14\uff10", None),
    ],
)  # fmt: skip
def test_the_cookie_of_the_width_is_a_number_within_reason(text, width_px):
    assert server.chart_width(text) == width_px
