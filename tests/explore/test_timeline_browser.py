"""The timeline in Chromium: pointer, wheel, keyboard, back, search, jumps, lanes, and names that are meant badly."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from perf_explore.server import served
from perf_explore.timeline.shown import timeline_data
from perf_explore.timeline.views import TimelinePresenter
from perfcore import Trace

NAMES = ["<script>alert(1)</script>", "$x_", "\u202eevil", "n" * 3000, "🚀"]


@pytest.fixture(scope="module")
def trace():
    """Five locations of two processes, each in one state after the other."""
    cuts = 1000 * np.array(
        [[0, 20, 40, 60, 80, 100], [0, 50, 60, 70, 80, 90], [0, 10, 20, 30, 40, 50], [0, 1, 2, 3, 4, 5],
         [5, 6, 7, 8, 9, 10]]
    )  # fmt: skip
    return Trace(
        np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5), cuts[:, :-1].ravel(), cuts[:, 1:].ravel(),
        [f"{name} {at}" for at, name in enumerate(NAMES)], NAMES, busy_states=NAMES[:1], source="<b>trace</b>",
        markers=[(NAMES[0], 0, 30_000)], levels={"process": [NAMES[0], NAMES[0], NAMES[2], NAMES[2], NAMES[2]]},
    )  # fmt: skip


def drag(tab, pane, begin, end):
    box = pane.bounding_box()
    tab.mouse.move(box["x"] + begin * box["width"], box["y"] + 70)
    tab.mouse.down()
    tab.mouse.move(box["x"] + end * box["width"], box["y"] + 75, steps=3)
    tab.mouse.up()


def test_every_way_to_a_window_is_an_address(tab, trace):
    with served(TimelinePresenter().views(trace)) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        pane, host, status = tab.locator(".pane"), tab.locator(".live"), tab.get_by_role("status")
        expect(host).to_have_attribute("data-drawn", re.compile("."))
        drag(tab, pane, 0.2, 0.6)
        expect(tab).to_have_url(re.compile(r"from=(19|20)\.\d*&to=(59|60)\.\d*$|from=20&to=60$"))
        zoomed = tab.url
        tab.mouse.wheel(200, 0)
        expect(tab).not_to_have_url(zoomed)
        pane.focus()
        tab.keyboard.press("+")
        tab.keyboard.press("ArrowLeft")
        tab.keyboard.press("0")
        expect(tab).to_have_url(re.compile("[0-9]/$"))
        tab.go_back()
        expect(tab).to_have_url(re.compile("from="))
        pane.dblclick()
        expect(tab).to_have_url(re.compile("[0-9]/$"))
        tab.get_by_label("from", exact=True).fill("20%")
        tab.get_by_label("from", exact=True).press("Enter")
        expect(tab).to_have_url(re.compile(r"[0-9]/\?from=20$"))
        tab.get_by_label("to", exact=True).fill("0.06ms")
        tab.get_by_label("to", exact=True).press("Enter")
        expect(tab).to_have_url(re.compile("from=20&to=60$"))
        expect(tab.get_by_label("to", exact=True)).to_have_value("60us")
        second = tab.context.new_page()  # whose console complains of what is refused
        second.goto(tab.url)
        second.get_by_label("to", exact=True).fill("1us")
        second.get_by_label("to", exact=True).press("Enter")
        expect(second.get_by_role("status")).to_have_text(
            "from '20us' to '1us': no part of the run, which goes from 0s to 100us"
        )
        second.close()
        tab.goto(tab.url.replace("from=20&to=60", "from=10us&to=50%25"))
        expect(tab).to_have_url(re.compile("from=10&to=50$"))
        expect(tab.get_by_label("from", exact=True)).to_have_value("10us")
        expect(host).to_have_attribute("data-drawn", re.compile("."))
        pane.dblclick()
        expect(tab).to_have_url(re.compile("[0-9]/$"))
        tab.get_by_label("Search a state").fill("$x_")
        tab.get_by_label("Search a state").press("Enter")
        expect(status).to_have_text(re.compile(r"^\$x_: 5 intervals"))
        tab.get_by_role("button", name="Longest").click()
        expect(status).to_have_text(re.compile(r"^longest: \$x_, 20 us on <script>alert\(1\)</script> 0"))
        expect(tab).to_have_url(re.compile("from=18&to=42"))
        tab.get_by_role("button", name="Whole run").click()
        tab.get_by_role("button", name="Slowest rank").click()
        expect(status).to_have_text(re.compile(r"^slowest: <script>alert\(1\)</script> computes 70 us"))
        count = tab.locator(".names > *").count()
        tab.locator(".names button").first.click()
        expect(tab.locator(".names > *")).to_have_count(count - 2)
        expect(tab).to_have_url(re.compile("toggled=0"))
        tab.goto("about:blank")  # the page asks no more when its server goes


def test_the_pointer_is_told_what_it_is_over(tab, trace):
    with served(TimelinePresenter().views(trace)) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        host = tab.locator(".live")
        expect(host).to_have_attribute("data-drawn", re.compile("."))
        lanes = timeline_data(trace).lanes
        expect(host).to_have_attribute("data-drawn", "2")  # with the phases, which move the lanes
        row = tab.locator(".names > *").nth(lanes.shown(frozenset()).index(lanes.path_to(1)[-1])).bounding_box()
        pane = tab.locator(".pane").bounding_box()
        tab.mouse.move(pane["x"] + 0.25 * pane["width"], row["y"] + 9)
        expect(tab.locator(".tip bdi")).to_have_text(
            ["<script>alert(1)</script> (computing)", "50 us", re.compile(r"^\$x_ 1, 0 ns \.\. 50 us$")]
        )
        with tab.expect_download() as download:
            tab.get_by_role("link", name="Open in Perfetto").click()
        assert download.value.suggested_filename.endswith(".json")
        tab.goto("about:blank")
