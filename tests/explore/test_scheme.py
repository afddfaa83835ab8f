"""Light and dark by the system's wish, and a browser that does not come back."""

import re
import threading
import webbrowser

import pytest

from perf_explore import server
from perf_explore.api import explore
from perf_explore.page import asset
from perf_views.colours import contrast
from perfcore import UtilizationCurve


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_read_contrasts_with_what_is_behind_it(scheme):
    """4.5 of text, 3 of signs, as WCAG 2.2 asks (AA)."""
    light, dark = asset("page.css").split("@media screen and (prefers-color-scheme: dark)", 1)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", light if scheme == "light" else dark))
    assert len(colours) == 12
    for text in ("ink", "quiet", "accent"):
        for behind in ("paper", "soft"):
            assert contrast(colours[text], colours[behind]) >= 4.5
    for text, behind in (("paper", "accent"), ("ink", "careful-soft"), ("ink", "wrong-soft")):
        assert contrast(colours[text], colours[behind]) >= 4.5
    for sign in ("good", "careful", "wrong"):
        assert contrast(colours[sign], colours["paper"]) >= 3.0


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
