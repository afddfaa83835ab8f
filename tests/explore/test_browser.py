"""The page in Chromium: clicked through, moved by keyboard, edited, opened in two tabs, and the report from disk."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import perfcore
from perf_analysis.categories import STANDARD
from perf_explore.opening import DataViews
from perf_explore.server import served
from perf_explore.shelf import Shelf
from perfcore import Trace, UtilizationCurve

from .conftest import accessibility_problems, missed_by_keyboard, settled

SIZE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
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
        out, err = process.communicate(timeout=20)
    kept = "stopped; everything that was kept is in its files\n"
    assert out in (kept, f"{kept}not saved: worley\n")  # what is not saved depends on which of its tests ran here
    assert err == ""
    assert process.returncode == 0


def heading(tab):
    """Of the view that is shown, once it is there."""
    return settled(tab).locator("h1").inner_text()


def test_from_the_data_to_phases_and_back(tab, explored):
    explored.enter(tab)
    assert "key=" not in tab.url
    assert heading(tab) == "trace.csv"
    tab.get_by_role("main").get_by_role("link", name="worley").click()
    settled(tab)
    assert tab.url.endswith("/fit/worley")
    slider = tab.get_by_role("slider", name="number of phases")
    count = int(slider.input_value())
    slider.focus()
    slider.press("ArrowRight")  # scripts send the form, and the focus comes back
    tab.wait_for_url(f"**/fit/worley?phases={count + 1}*")
    settled(tab)
    rows = tab.get_by_role("region", name="Phases", exact=True).locator("tbody tr")
    assert slider.input_value() == str(count + 1) == str(rows.count())
    assert tab.evaluate("document.activeElement.name") == "phases"
    tab.get_by_role("main").get_by_role("link", name="Closer").click()
    settled(tab)
    assert "from=25&to=75" in tab.url
    assert f"phases={count + 1}" in tab.url
    tab.get_by_role("main").get_by_role("link", name="Where the cycles go, phase by phase").click()
    assert heading(tab).startswith("Where the cycles go")
    for _ in range(3):
        tab.go_back()
        settled(tab)
    assert tab.url.endswith("/fit/worley")
    tab.get_by_label("Where you are").get_by_role("link", name="trace.csv").click()
    assert heading(tab) == "trace.csv"


def test_sliders_work_without_scripts(browser, explored):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    explored.enter(tab)
    tab.goto(f"{explored.address}fit/worley")
    tab.get_by_role("slider", name="number of phases").press("ArrowRight")
    assert "phases=" not in tab.url
    tab.get_by_role("button", name="Fit", exact=True).click()
    assert "phases=" in tab.url
    context.close()


def test_the_keyboard_reaches_the_content_first(tab, explored):
    explored.enter(tab)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.innerText") == "To the content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


def test_a_stranger_sees_nothing(browser, explored):
    context = browser.new_context()
    tab = context.new_page()
    assert tab.goto(explored.address).status == 403
    assert heading(tab) == "Refused"
    context.close()


def test_an_edit_is_previewed_kept_reloaded_and_undone(tab, notebook):
    with served(notebook) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.get_by_label("text").fill("d*log(d)\nsecond")
        tab.get_by_role("button", name="Preview").click()
        assert heading(tab) == "What would change"
        tab.get_by_role("button", name="Leave it as it is").click()
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


@pytest.mark.slow
def test_of_two_tabs_the_later_edit_is_not_lost(browser, notebook):
    with served(notebook) as address:
        context = browser.new_context()
        one, two = context.new_page(), context.new_page()
        for tab in (one, two):
            tab.goto(address)
            tab.wait_for_url("**/")
            tab.get_by_label("text").fill("first" if tab is one else "second")
        one.get_by_role("button", name="Preview").click()
        one.get_by_role("button", name="Keep").click()
        two.get_by_role("button", name="Preview").click()
        assert "meanwhile another tab kept: text is first" in two.get_by_role("alert").inner_text()
        assert two.get_by_label("text").input_value() == "second"
        two.get_by_role("button", name="Preview").click()
        assert two.get_by_role("row").last.inner_text().split() == ["first", "second"]
        two.get_by_role("button", name="Keep").click()
        assert notebook.file.read_text() == "second"
        context.close()


def test_long_names_keep_the_width_of_the_page(tab):
    long = "x" * 5000
    trace = Trace([0, 0], [0, 1], [0, 50], [50, 100], ["cpu"], [long, "wait"])
    with served(Shelf({long: DataViews(trace, long)})) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        assert tab.evaluate(SIZE)[0] == 1280
        tab.get_by_role("main").get_by_role("link", name=long).first.click()
        width, height = tab.evaluate(SIZE)
        assert width == 1280
        assert height < 2500  # without boxes that scroll, the name of the state alone takes some 40 lines


def test_classes_of_states_are_chosen_and_stand_in_the_address(tab, tmp_path):
    own = tmp_path / "own.toml"  # says of no state that it computes
    own.write_text(STANDARD.read_text().replace('computing_states = "computing"\n', ""))
    long = f"void solve<{'T, ' * 2000}>()"
    trace = Trace([0, 0], [0, 1], [0, 50], [50, 100], ["cpu"], [long, "wait"], busy_states=[])
    with served(DataViews(trace, "trace")) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.get_by_role("main").get_by_role("link", name="Where the cycles go").click()
        settled(tab)
        tab.goto(f"{tab.url}?categories={own}")
        assert f"{own} names 1 of 2 states" in tab.get_by_role("note").inner_text()
        choice = tab.get_by_role("combobox").first
        label = tab.locator("label").first
        assert label.get_attribute("title") == long
        assert len(label.inner_text()) <= 120
        choice.focus()
        choice.press("c")  # by keyboard: the first class that begins so
        assert choice.input_value() == "computing"
        tab.get_by_role("button", name="Show where the cycles go").press("Enter")
        settled(tab)
        assert tab.get_by_role("region", name="Cycles by category").get_by_text("50.00%").first.is_visible()
        assert "=computing" in tab.url
        tab.reload()
        assert tab.evaluate(SIZE)[0] == 1280


def test_a_fit_is_saved_and_undone_with_its_file(tab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    curve = UtilizationCurve([0, 40, 100], [2, 8])
    with served(DataViews(curve, "curve.csv")) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.get_by_role("main").get_by_role("link", name="worley").click()
        settled(tab)
        assert tab.get_by_label("model file").input_value() == "curve-worley.json"
        tab.get_by_role("button", name="Save as").click()
        assert heading(tab) == "What would change"
        tab.get_by_role("button", name="Keep").click()
        assert tab.url.endswith("/fit/worley")
        assert perfcore.load("curve-worley.json").title.startswith("2 phases")
        undo = tab.get_by_role("button", name="Undo: save worley as curve-worley.json")
        undo.click()
        undo.wait_for(state="detached")
        assert not Path("curve-worley.json").exists()


def test_a_page_whose_server_ended_keeps_what_was_typed(browser, notebook):
    context = browser.new_context()
    tab = context.new_page()
    with served(notebook) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        tab.get_by_label("text").fill("kept")
        tab.get_by_role("button", name="Preview").click()
        tab.get_by_role("button", name="Keep").click()
        tab.get_by_label("text").fill("not yet kept")
    assert notebook.file.read_text() == "kept"
    assert tab.get_by_label("text").input_value() == "not yet kept"
    context.close()


def test_the_report_needs_neither_network_nor_scripts(browser, tmp_path, monkeypatch):
    from perf_explore.opening import open_subjects
    from perf_explore.page import report_text

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
    assert len(drawings) >= 3
    for drawing in drawings:
        box = drawing.bounding_box()
        assert box["width"] > 600
        assert box["height"] > 100
    assert tab.get_by_role("button").count() == 0
    contents = tab.get_by_label("Contents").get_by_role("link").all()
    contents[-1].click()
    assert tab.url.endswith("#view/timeline/iterations")
    tab.locator("details summary").first.click()
    assert tab.locator("details[open] table").first.is_visible()
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert complaints == []
    context.close()


def test_every_view_can_be_read_and_reached_by_keyboard(tab, explored):
    explored.enter(tab)
    for place in ("", "fit/worley", "overheads", "timeline", "timeline/iterations"):
        tab.goto(f"{explored.address}{place}")
        assert accessibility_problems(tab) == []
        assert missed_by_keyboard(tab) == []
