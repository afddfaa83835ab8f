"""Charts in Chromium: values under the pointer, closer by dragging, back, and all by a double click."""

import re

import numpy as np
from playwright.sync_api import expect

from perf_explore.blocks import Writer
from perf_views import Chart, View

from .conftest import served

NAME = "<script>$x_"


class Law:
    """One chart with a law, its band and a target."""

    title = "law"

    def view(self, path, query):
        return View("law", (Chart(self.draw, "a law", ()),))

    def draw(self, figure):
        axes = figure.add_subplot()
        axes.plot([1, 10, 100], [2.0, 4.0, 8.0], "o-", color="#0072B2", label=NAME)
        axes.fill_between([1, 10, 100], [1, 3, 6], [3, 5, 10], alpha=0.2)
        axes.axvline(50)
        axes.set(xscale="log", xlabel="processors", ylabel="time (s)")

    def paths(self):
        return [()]


def test_a_chart_tells_values_and_is_zoomed(tab):
    with served(Law()) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        over, tip = tab.locator("figure .over"), tab.locator("figure .tip")
        middle = tab.evaluate(
            """() => {
                const figure = document.querySelector('figure'), [panel] = JSON.parse(figure.dataset.panels);
                const box = figure.querySelector('svg').getBoundingClientRect();
                return panel.box.map((part, at) => at % 2 ? box.top + part * box.height : box.left + part * box.width);
            }"""
        )
        left, top, right, bottom = middle
        x, y = (left + right) / 2, (top + bottom) / 2
        low, high = (float(end) for end in tab.evaluate(
            "() => { const [{ y }] = JSON.parse(document.querySelector('figure').dataset.panels);"
            " return [y.from, y.to] }"
        ))  # fmt: skip
        tab.mouse.move(x, bottom - (4.0 - low) / (high - low) * (bottom - top))
        expect(tip.locator("bdi").first).to_have_text("processors: 10")
        expect(tip.locator("bdi")).to_contain_text(["processors: 10", "time (s):", f"{NAME}: 4", "band: 3 .. 5"])
        tab.mouse.move(x - 100, y)
        tab.mouse.down()
        tab.mouse.move(x + 100, y + 3, steps=3)
        tab.mouse.up()
        expect(tab).to_have_url(re.compile(r"#zoom=0\.0:"))
        expect(over.locator("polyline")).to_have_count(1)
        start, end, *_ = (float(part) for part in tab.url.split("#zoom=0.0:")[1].split(","))
        assert np.isclose(start * end, 100.0, rtol=0.05)  # around 10, on a logarithmic axis
        tab.go_back()
        expect(over.locator("polyline")).to_have_count(0)
        tab.go_forward()
        expect(over.locator("polyline")).to_have_count(1)
        over.focus()
        tab.keyboard.press("ArrowRight")
        tab.mouse.dblclick(x, y)
        expect(tab).to_have_url(re.compile("/$"))
        expect(over.locator("polyline")).to_have_count(0)


def test_a_report_has_no_data_that_a_script_would_need():
    block = Law().view((), {}).blocks[0]
    assert "data-panels" in Writer(lambda path, query: "/").block(block)
    assert "data-panels" not in Writer(lambda path, query: None, is_live=False).block(block)
