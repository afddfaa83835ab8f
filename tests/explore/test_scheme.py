"""Light and dark by the system's wish, and a browser that does not come back."""

import re
import threading
import webbrowser

import pytest

from perf_explore import server
from perf_explore.api import explore
from perf_explore.blocks import Writer, colour_sheet
from perf_explore.page import SCRIPTS, asset
from perf_views import Table, Text, View
from perf_views.colours import CAREFUL, GOOD, ON_DARK, PAGE, QUIET, contrast
from perfcore import UtilizationCurve


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
    set_elsewhere = {"part", "depth", "letters"}
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


def test_words_of_status_have_a_sign_beside_them_and_other_cells_none():
    table = Table(("benchmark", "verdict", "unit"), (("passed", "failed", "ok"), ("b", "of a kind", "s")))
    text = Writer(lambda path, query: None).view(View("", (Text(("undecided: 3 more rounds", "ok")), table)))
    signs = re.findall(r'<span class="status ([a-z]+)">([a-z]+)</span>', text)
    assert signs == [("quiet", "undecided"), ("careful", "failed")]
