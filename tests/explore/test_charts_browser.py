"""Charts in Chromium: values under the pointer, closer by dragging, back, and all by a double click."""

import re

import numpy as np
from playwright.sync_api import expect

from perf_explore.report import report_text
from perf_explore.server import served
from perf_views import Chart, Link, View

NAME = "<script>$x_"


class Law:
    """A chart with a law, its band and a target; and a heat map."""

    title = "law"

    def view(self, path, query):
        trail = (Link("law", ()),) if path else ()
        draw = self.draw_cells if path else self.draw
        return View("closer" if path else "law", (Chart(draw, "a law", ()),), path, trail)

    def draw(self, figure):
        axes = figure.add_subplot()
        axes.plot([1, 10, 100], [2.0, 4.0, 8.0], "o-", color="#0072B2", label=NAME)
        axes.fill_between([1, 10, 100], [1, 3, 6], [3, 5, 10], alpha=0.2)
        axes.axvline(50)
        axes.set(xscale="log", xlabel="processors", ylabel="time (s)")

    def draw_cells(self, figure):
        axes = figure.add_subplot()
        axes.imshow([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], label="bytes")
        axes.set(xlabel="receiver", ylabel="sender")

    def paths(self):
        return [(), ("closer",)]


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


def test_a_report_from_disk_is_alive(tab, tmp_path):
    """Values under the pointer, closer and back, and the section that is read marked in the sidebar."""
    (tmp_path / "report.html").write_text(report_text(Law()))
    tab.goto((tmp_path / "report.html").as_uri())
    over = tab.locator("figure .over")
    box = over.nth(0).bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(tab.locator("figure .tip bdi").nth(2)).to_have_text(f"{NAME}: 4")
    over.nth(0).focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("figure .tip bdi").nth(0)).to_have_text("processors: 10")
    tab.keyboard.press("+")
    expect(tab).to_have_url(re.compile(r"#zoom=0\.0:"))
    expect(over.locator("polyline")).to_have_count(1)
    tab.go_back()
    expect(over.locator("polyline")).to_have_count(0)
    links = tab.get_by_role("navigation", name="Contents").get_by_role("link")
    expect(links).to_have_text(["law", "closer"])
    expect(links.nth(0)).to_have_attribute("aria-current", "true")
    links.nth(1).click()
    expect(links.nth(1)).to_have_attribute("aria-current", "true")
    box = over.nth(1).bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    told = tab.locator("figure").nth(1).locator(".tip bdi")
    expect(told).to_have_text(["receiver: 1", "sender: 0", "bytes: 1"])
    over.nth(1).focus()
    for key, receiver, sender, count in (("End", 2, 1, 5), ("ArrowLeft", 1, 1, 4), ("ArrowUp", 1, 0, 1)):
        tab.keyboard.press(key)
        expect(told).to_have_text([f"receiver: {receiver}", f"sender: {sender}", f"bytes: {count}"])
    tab.keyboard.press("Escape")
    expect(told.first).to_be_hidden()
    tab.keyboard.press("+")
    expect(over.nth(1).locator("g[clip-path] rect")).to_have_count(6)
    tab.keyboard.press("Escape")
    expect(over.nth(1).locator("g[clip-path] rect")).to_have_count(0)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 2000


class Run:
    """Three panels over the time of a run, two of them above one another, and one of something else."""

    title = "run"

    def view(self, path, query):
        return View("run", (Chart(self.draw, "a run", (), size=(10.0, 5.0)),))

    def draw(self, figure):
        panels = figure.subplots(2, 2)
        for axes in panels.flat[:3]:
            axes.plot([0, 5, 10], [1.0, 2.0, 1.0], label="busy")
            axes.set(xlim=(0, 10), ylim=(0, 3), xlabel="time (s)")
        panels[1, 1].plot([0, 5, 10], [1.0, 2.0, 1.0], label="size")
        panels[1, 1].set(xlim=(0, 10), xlabel="bytes")

    def paths(self):
        return [()]


ZOOMED = (
    "() => [...document.querySelectorAll('figure .over > g')].map((layer) => layer.querySelectorAll('polyline').length)"
)
TICKS = "() => [...document.querySelectorAll('figure .over .tick')].map((tick) => tick.textContent)"


def test_every_state_of_a_chart_is_an_address_and_times_are_linked(tab):
    with served(Run()) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        over = tab.locator("figure .over")
        left, top, right, bottom = tab.evaluate("""() => {
            const figure = document.querySelector('figure'), [panel] = JSON.parse(figure.dataset.panels);
            const box = figure.querySelector('svg').getBoundingClientRect();
            return panel.box.map((part, at) => at % 2 ? box.top + part * box.height : box.left + part * box.width);
        }""")
        y = (top + bottom) / 2
        tab.mouse.move(left + 0.2 * (right - left), y)
        tab.mouse.down()
        tab.mouse.move(left + 0.6 * (right - left), y + 2, steps=3)
        tab.mouse.up()
        assert tab.evaluate(ZOOMED)[:4] == [1, 1, 1, 0]  # all panels of time, and not that of bytes
        zoomed, ticks = tab.url, tab.evaluate(TICKS)

        def ends(url):
            return [float(part) for part in url.split("#zoom=0.0:")[1].split(";")[0].split(",")[:2]]

        assert np.allclose(ends(zoomed), [2.0, 6.0], atol=0.1)
        second = tab.context.new_page()
        second.goto(zoomed)
        assert second.evaluate(TICKS) == ticks
        second.close()
        tab.reload()
        assert tab.evaluate(TICKS) == ticks
        tab.mouse.move(left + 0.5 * (right - left), y)
        tab.mouse.wheel(0, 100)
        expect(tab).not_to_have_url(zoomed)
        assert np.allclose(ends(tab.url), [2.4, 6.4], atol=0.1)  # a tenth of what is seen
        over.focus()
        tab.keyboard.press("ArrowLeft")
        assert np.allclose(ends(tab.url), [2.0, 6.0], atol=0.1)
        assert tab.evaluate(ZOOMED)[:4] == [1, 1, 1, 0]
        tab.mouse.dblclick(left + 0.5 * (right - left), y)
        expect(tab).to_have_url(re.compile("/$"))
        assert tab.evaluate(ZOOMED)[:4] == [0, 0, 0, 0]
        tab.go_back()
        assert tab.evaluate(ZOOMED)[:4] == [1, 1, 1, 0]
