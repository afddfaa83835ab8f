"""The page in Chromium: clicked through, moved by keyboard, edited, opened in two tabs, and the report from disk."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browsing import accessibility_problems, missed_by_keyboard, settled
from playwright.sync_api import expect

from perf_explore import open_subjects, report_text, served
from perfcore import Trace

TRACE = (
    "start_us,end_us,location,state\n0,40,cpu0,run\n40,100,cpu0,wait\n0,100,cpu1,run\n20,60,cpu2,run\n60,90,cpu2,wait\n"
)


class Explored:
    """The program, of which each link opens the page once."""

    def __init__(self, process):
        self._lines = process.stdout
        self._link = self._next_link()
        self.address = self._link.split("?")[0]

    def enter(self, tab):
        tab.goto(self._link)
        self._link = self._next_link()
        tab.wait_for_url("**/")

    def _next_link(self):
        return re.search(r"http://\S+", self._lines.readline())[0]


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """The program itself, exploring a trace; ended by Ctrl-C."""
    folder = tmp_path_factory.mktemp("explored")
    (folder / "trace.csv").write_text(TRACE)
    program = Path(sys.executable).with_name("perf")
    with subprocess.Popen(
        [program, "explore", "trace.csv", "--no-browser"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield Explored(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert out == "stopped; everything that was kept is in its files\n"
    assert err == ""
    assert process.returncode == 0


def heading(tab):
    """Of the view that is shown, once it is there."""
    return settled(tab).locator("h1").inner_text()


def test_from_the_data_to_phases_and_back(tab, explored):
    explored.enter(tab)
    assert "key=" not in tab.url
    assert heading(tab) == "trace.csv"
    tab.get_by_role("main").get_by_role("link", name="phases").click()
    settled(tab)
    assert tab.url.endswith("/fit/phases")
    slider = tab.get_by_role("slider", name="number of phases")
    count = int(slider.input_value())
    slider.focus()
    slider.press("ArrowRight")  # scripts send the form, and the focus comes back
    tab.wait_for_url(f"**/fit/phases?phases={count + 1}*")
    settled(tab)
    rows = tab.get_by_role("region", name="Table of phase").first.locator("tbody tr")
    assert slider.input_value() == str(count + 1) == str(rows.count())
    assert tab.evaluate("document.activeElement.name") == "phases"
    expect(tab.locator("figure.chart").first).to_have_attribute("data-drawn", "1")
    tab.get_by_role("main").get_by_role("link", name="Lost time by phase").click()
    assert heading(tab) == "Lost time"
    assert f"phases={count + 1}" in tab.url
    for _ in range(2):
        tab.go_back()
        settled(tab)
    assert tab.url.endswith("/fit/phases")
    tab.get_by_label("Where you are").get_by_role("link", name="trace.csv").click()
    assert heading(tab) == "trace.csv"


def test_an_edit_is_previewed_kept_reloaded_and_undone(tab, notebook):
    with served(notebook) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.get_by_label("text").fill("d*log(d)\nsecond")
        tab.get_by_role("button", name="Preview").click()
        assert heading(tab) == "Preview of changes"
        tab.get_by_role("button", name="Discard").click()
        assert tab.get_by_label("text").input_value() == "d*log(d)\nsecond"
        tab.get_by_role("button", name="Preview").click()
        assert notebook.file.read_text() == "one"
        tab.get_by_role("button", name="Keep").click()
        assert heading(tab) == "notebook"
        tab.reload()
        assert tab.get_by_label("text").input_value() == "d*log(d)\nsecond"
        assert notebook.file.read_text() == "d*log(d)\nsecond"
        tab.get_by_role("button", name="Undo").click()
        assert tab.get_by_label("text").input_value() == "one"


def test_the_report_needs_neither_network_nor_scripts(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text(TRACE)
    Path("report.html").write_text(report_text(open_subjects(["trace.csv"])))
    context = browser.new_context(java_script_enabled=False, offline=True, viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    asked, complaints = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.goto((tmp_path / "report.html").as_uri())
    drawings = tab.locator("figure svg[role=img]").all()
    assert len(drawings) == 2  # the timeline, on the first page and on its own; of other charts tables hold the numbers
    for drawing in drawings:
        box = drawing.bounding_box()
        assert box["width"] > 600
        assert box["height"] > 100
    assert tab.get_by_role("button").count() == 0
    tab.get_by_label("Contents").get_by_role("link").all()[-1].click()
    assert "#view/fit/phases" in tab.url
    tab.locator("details summary").first.click()
    assert tab.locator("details[open] table").first.is_visible()
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert complaints == []
    context.close()


def test_every_view_can_be_read_and_reached_by_keyboard(tab, explored):
    explored.enter(tab)
    for place in ("", "fit/phases", "overheads", "timeline", "iterations"):
        tab.goto(f"{explored.address}{place}")
        assert accessibility_problems(tab) == []
        assert missed_by_keyboard(tab) == []


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
    with served(open_subjects([trace])) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.goto(f"{tab.url}timeline")
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
        expect(tab).to_have_url(re.compile("timeline$"))
        tab.go_back()
        expect(tab).to_have_url(re.compile("from="))
        pane.dblclick()
        expect(tab).to_have_url(re.compile("timeline$"))
        tab.get_by_label("from", exact=True).fill("20%")
        tab.get_by_label("from", exact=True).press("Enter")
        expect(tab).to_have_url(re.compile(r"timeline\?from=20$"))
        tab.get_by_label("to", exact=True).fill("0.06ms")
        tab.get_by_label("to", exact=True).press("Enter")
        expect(tab).to_have_url(re.compile("from=20&to=60$"))
        expect(tab.get_by_label("to", exact=True)).to_have_value("60us")
        second = tab.context.new_page()  # whose console complains of what is refused
        second.goto(tab.url)
        expect(second.locator(".live")).to_have_attribute("data-drawn", re.compile("."))
        second.get_by_label("to", exact=True).fill("1us")
        second.get_by_label("to", exact=True).press("Enter")
        said = "from '20us' to '1us': no part of the run, which goes from 0s to 100us"
        expect(second.get_by_role("status")).to_have_text(said)
        second.close()
        tab.goto(tab.url.replace("from=20&to=60", "from=10us&to=50%25"))
        expect(tab).to_have_url(re.compile("from=10&to=50$"))
        expect(tab.get_by_label("from", exact=True)).to_have_value("10us")
        expect(host).to_have_attribute("data-drawn", re.compile("."))
        pane.dblclick()
        expect(tab).to_have_url(re.compile("timeline$"))
        tab.get_by_label("Search a state").fill("$x_")
        tab.get_by_label("Search a state").press("Enter")
        expect(status).to_have_text(re.compile(r"^\$x_: 5 intervals"))
        tab.get_by_role("button", name="Longest").click()
        expect(status).to_have_text(re.compile(r"^longest: \$x_, 20 us on <script>alert\(1\)</script> 0"))
        expect(tab).to_have_url(re.compile("from=18&to=42"))
        tab.get_by_role("button", name="Whole run").click()
        count = tab.locator(".names > *").count()
        tab.locator(".names button").first.click()
        expect(tab.locator(".names > *")).to_have_count(count - 2)
        expect(tab).to_have_url(re.compile("toggled=0"))
        tab.goto("about:blank")  # the page asks no more when its server goes


def test_the_pointer_is_told_what_it_is_over(tab, trace):
    with served(open_subjects([trace])) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.goto(f"{tab.url}timeline")
        host = tab.locator(".live")
        expect(host).to_have_attribute("data-drawn", re.compile("."))
        expect(host).to_have_attribute("data-drawn", "2")  # with the phases, which move the lanes
        row = tab.locator(".names > *").filter(has_text="$x_ 1").bounding_box()
        pane = tab.locator(".pane").bounding_box()
        tab.mouse.move(pane["x"] + 0.25 * pane["width"], row["y"] + 9)
        expect(tab.locator(".tip bdi")).to_have_text(
            ["<script>alert(1)</script> (computing)", "50 us", re.compile(r"^\$x_ 1, 0 ns \.\. 50 us$")]
        )
        with tab.expect_download() as download:
            tab.get_by_role("link", name="Open in Perfetto").click()
        assert download.value.suggested_filename.endswith(".json")
        tab.goto("about:blank")
