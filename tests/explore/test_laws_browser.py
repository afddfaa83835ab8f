"""The call tree in Chromium: another target, a path and back, a search, and the report from a file."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_explore.page import report_text
from perf_explore.server import served

from .conftest import accessibility_problems, missed_by_keyboard, settled

LAWS = {
    "main": lambda p: 2.0,
    "main->solve": lambda p: 0.002 * p**2,
    "main->solve->exchange": lambda p: 1.0 + np.log2(p),
    "main->setup": lambda p: 400.0 / p,
}


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(6)
    rows = [
        (p, path, law(float(p)) * (1.0 + 0.02 * rng.standard_normal()))
        for path, law in LAWS.items()
        for p in (4, 8, 16, 32, 64)
        for _ in range(3)
    ]
    data = pd.DataFrame(rows, columns=["p", "callpath", "time_s"])
    return perfcore.fit(data, fitter="scaling", at="p=256")


def region(tab, name):
    return tab.get_by_role("region", name="Call tree").get_by_role("row", name=name)


def test_the_story_of_a_call_tree(tab, model):
    with served(model.views()) as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        assert "quadratic" in region(tab, "solve").first.inner_text()
        share = region(tab, "solve").first.get_by_role("cell").first
        before = float(share.inner_text().rstrip("%"))
        target = tab.get_by_label("target p")
        target.fill("1024")
        target.press("Enter")
        tab.wait_for_url("**/?*at.p=1024*")
        settled(tab)
        assert float(share.inner_text().rstrip("%")) > before
        region(tab, "exchange").get_by_role("link", name="exchange").click()
        assert settled(tab).locator("h1").inner_text() == "main->solve->exchange"
        assert "At p = 1024" in tab.locator("main").inner_text()
        assert tab.locator("figure svg[role=img]").count() == 1
        tab.go_back()
        settled(tab)
        assert target.input_value() == "1024"
        assert region(tab, "setup").count() == 1
        tab.get_by_label("name has").fill("set")
        tab.get_by_role("button", name="Show").click()
        settled(tab)
        rows = tab.get_by_role("region", name="Paths").locator("tbody tr")
        assert rows.count() == 1
        assert "1024" in tab.url
        tab.get_by_role("main").get_by_role("link", name="Growth of the whole").click()
        assert settled(tab).locator("h1").inner_text() == "Growth of the whole"
        tab.get_by_role("main").get_by_role("link", name="p = 128").click()
        settled(tab)
        assert tab.get_by_role("columnheader", name="at p = 128").first.is_visible()
        assert missed_by_keyboard(tab) == []
        assert accessibility_problems(tab) == []


def test_everything_works_without_scripts(browser, model):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    with served(model.views()) as address:
        tab.goto(address)
        tab.get_by_label("show").select_option("fastest growth")
        tab.get_by_role("button", name="Show").click()
        first = tab.get_by_role("region", name="Paths, fastest growth").locator("tbody tr").first
        assert first.inner_text().startswith("main->solve\t")
    context.close()


def test_the_report_shows_the_tree_and_leads_to_its_paths(tab, model, tmp_path):
    file = tmp_path / "laws.html"
    file.write_text(report_text(model.views()), encoding="utf-8")
    tab.goto(file.as_uri())
    assert tab.get_by_role("region", name="Call tree").locator("tbody tr").count() == len(LAWS)
    assert tab.locator("form").count() == 0
    region(tab, "setup").get_by_role("link", name="setup").click()
    assert tab.url.endswith("#view/path/main-%3Esetup")
    assert tab.locator(":target h2").inner_text() == "main->setup"
