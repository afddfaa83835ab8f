"""Blocks as HTML: escaped, reachable by keyboard, readable in every colour vision."""

from __future__ import annotations

import itertools
import re
import threading
import webbrowser
from html.parser import HTMLParser

import numpy as np
import pytest

from perf_explore import server
from perf_explore.api import explore
from perf_explore.blocks import Writer, colour_sheet, shade_style
from perf_explore.page import SCRIPTS, Frame, asset
from perf_views import colours
from perf_views.colours import CAREFUL, GOOD, ON_DARK, PAGE, QUIET, contrast
from perf_views.contents import Action, Cell, Chart, Field, Form, Link, Notice, Table, Text, View
from perfcore import UtilizationCurve

ALL = (
    Text(("a < b",), "T", links=(Link("go", ("x",), {"q": "1 & 2"}),)),
    Text(("f(x)\n",), kind="formula"),
    Table(("", "R^2"), (("row", Cell("0.35", Link("", ("y",)), 0.35)),), "heat"),
    Chart(lambda figure: figure.add_subplot().plot([1, 2], label="<i>"), "a <line>", (Table(("x",), (("1",),)),)),
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


class Checked(HTMLParser):
    """Collects what the tests ask about, and that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, *tags):
        return [attributes for tag, attributes in self.seen if tag in tags]


@pytest.fixture(scope="module")
def page():
    return Frame("whole", "7", "before", (Link("whole", ()),)).view(
        View("one & two", ALL, ("p",), (Link("whole", ()),))
    )


def test_every_page_is_well_formed_and_escaped(page):
    found = Checked(page)
    assert "<i>" not in page
    assert "a &lt; b" in page
    assert "a &lt;line&gt;" in page
    assert [a["href"] for a in found.all("a")] == ["#main", "/", "/", "/p", "/x?q=1+%26+2", "/y"]
    names = [attributes["id"] for _, attributes in found.seen if "id" in attributes]
    assert len(names) == len(set(names))


def test_every_control_has_a_label_and_every_heading_cell_a_scope(page):
    found = Checked(page)
    labels = {a["for"] for a in found.all("label")}
    controls = [a for a in found.all("input", "select", "textarea") if a.get("type") != "hidden"]
    assert {a["id"] for a in controls} == labels
    assert all(a["scope"] in ("col", "row") for a in found.all("th"))
    assert found.all("svg")[0]["role"] == "img"
    assert found.all("svg")[0]["aria-label"] == "a <line>"
    assert all(a["aria-label"] for a in found.all("div") if a.get("tabindex") == "0")
    assert [each["aria-label"] for each in found.all("nav")] == ["Where you are", "Views"]


def test_actions_carry_the_version_and_forms_are_in_the_address(page):
    methods = [(a["action"], a["method"]) for a in Checked(page).all("form")]
    assert methods == [("/-/undo", "post"), ("/x", "get"), ("/x", "post")]
    assert page.count('name="_version" value="7"') == 2


def test_nothing_comes_from_elsewhere(page):
    assert not re.search(r'(src|href)="(https?:)?//', page)
    assert "@import" not in page
    assert "url(http" not in page


def test_a_report_has_no_forms_and_links_only_where_something_is():
    writer = Writer(lambda path, query: "#x" if path == ("x",) else None, is_live=False)
    text = writer.blocks(ALL)
    assert "<form" not in text
    assert [a["href"] for a in Checked(text).all("a")] == ["#x"]
    assert "0.35" in text


def test_shaded_text_can_be_read_and_brightness_rises():
    """WCAG 2.2, 1.4.3: at least 4.5 to 1; and order survives without colour."""
    styles = [re.findall("#[0-9a-f]{6}", shade_style(float(shade))) for shade in np.linspace(0.0, 1.0, 101)]
    assert min(contrast(*pair) for pair in styles) >= 4.5
    brightness = [contrast(background, "#000000") for background, _ in styles]
    assert all(b >= a for a, b in itertools.pairwise(brightness))
    assert shade_style(-3.0) == shade_style(0.0)


def test_mounted_views_keep_the_state_above_them():
    view = View("v", ALL, ("p",), (Link("top", ()),)).mounted(("fit", "a"), {"o": "5", "n": "2"}, (Link("data", ()),))
    assert view.path == ("fit", "a", "p")
    assert [link.path for link in view.trail] == [(), ("fit", "a")]
    text, _, table, _, form, action, _ = view.blocks
    assert text.links[0] == Link("go", ("fit", "a", "x"), {"o": "5", "n": "2", "q": "1 & 2"})
    assert table.rows[0][1].link.path == ("fit", "a", "y")
    # A field of the form's own wins over a state of the same name.
    assert [(item.name, item.value) for item in form.fields if item.name in ("o", "n")] == [("o", "5"), ("n", "3")]
    assert [item.name for item in action.fields] == ["o", "n", "t"]
    rows = Table(("from",), ((Cell("0", Link("", (), {"from": "0"})),),))
    part = Chart(lambda figure: None, "c", (rows,))
    (chart,) = View("v", (part,)).mounted(("fit",), {"n": "2"}).blocks
    assert chart.tables[0].rows[0][0].link == Link("", ("fit",), {"n": "2", "from": "0"})


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
        served.append(opened.wait(10.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", blocking)
    monkeypatch.setattr(server, "serve", serve)
    explore(UtilizationCurve([0, 4, 10], [2, 8]), announce=lambda line: None)
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
