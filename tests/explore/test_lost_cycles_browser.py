"""The example's story in Chromium: from the overview to a bad fit, a formula added, and what else may happen."""

import runpy
from pathlib import Path

import pytest

import perfcore
from perf_explore.opening import open_subjects
from perf_explore.server import served

from .conftest import accessibility_problems, missed_by_keyboard, settled

EXAMPLE = Path(__file__).parents[2] / "examples" / "lost_cycles"
ADDED = "a + b*D^2*log2(D)"
LIST = "one formula on each line"


@pytest.fixture(scope="module")
def fitted():
    """The example's runs and the model that its first step makes."""
    runs = runpy.run_path(str(EXAMPLE / "generate.py"))["profile"]()
    return runs, perfcore.fit(runs, fitter="modgen", parameter="P,D")


@pytest.fixture
def folder(fitted, tmp_path):
    runs, model = fitted
    runs.to_csv(tmp_path / "profile.csv", index=False)
    model.save(tmp_path / "first.json")
    return tmp_path


def explored(folder, *files):
    """The page of some files."""
    return served(open_subjects([str(folder / name) for name in files]))


def opened(context, address):
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_url("**/")
    return tab


def of_sync(tab):
    """The cell of synchronization loss over D in the overview; the columns stand from the worst to the best."""
    tab.get_by_role("columnheader", name="synchronization loss").wait_for()
    column = tab.get_by_role("columnheader").all_inner_texts().index("synchronization loss")
    return tab.get_by_role("row", name="over D").get_by_role("cell").nth(column - 1)


def to_formulae(tab):
    """From the overview to the formulas of a bad instance, by clicking."""
    of_sync(tab).get_by_role("link").click()
    tab.get_by_role("row", name="p=24").get_by_role("link").click()
    settled(tab).get_by_role("main").get_by_role("link", name="Formulae").click()
    settled(tab)
    formulas = tab.get_by_label(LIST)
    formulas.wait_for()
    return formulas


def back_in_overview(tab) -> float:
    """What the overview has for synchronization loss over D."""
    settled(tab).get_by_label("Where you are").get_by_role("link", name="Fitting overview").click()
    settled(tab)
    return float(of_sync(tab).inner_text())


def send(tab):
    tab.get_by_role("button", name="preview").click()


def heading(tab):
    """Of the view that is shown, once it is there."""
    return settled(tab).locator("h1").inner_text()


def test_the_story_of_the_example(context, folder):
    with explored(folder, "first.json", "profile.csv") as address:
        tab = opened(context, address)
        of_sync(tab).get_by_role("link", name="0.66").click()
        settled(tab)
        assert heading(tab) == "Fitting over D"
        tab.get_by_role("row", name="p=24").get_by_role("link").click()
        settled(tab)
        candidates = tab.get_by_role("region", name="Candidates").locator("tbody tr")
        assert candidates.count() == 3  # a constant and straight lines, as in the paper
        assert "single runs" in tab.locator("figure svg[role=img]").text_content()
        tab.get_by_role("main").get_by_role("link", name="Formulae").click()
        settled(tab)
        formulas = tab.get_by_label(LIST)
        formulas.fill(f"{formulas.input_value()}\n{ADDED}")
        tab.get_by_label("where new ones come from").fill("the transform is applied log2(D) times")
        send(tab)
        assert heading(tab) == "What would change"
        row = tab.get_by_role("region", name="Every R^2 that changes").get_by_role("row", name="over D")
        now, after = (float(row.get_by_role("cell").nth(k).inner_text()) for k in (1, 2))
        assert now < 0.7 < 0.97 < after
        assert not (folder / "first-models.toml").exists()
        tab.get_by_role("button", name="Keep").click()
        assert heading(tab) == "Fitting over D"
        assert back_in_overview(tab) == after
        tab.reload()
        assert ADDED in (folder / "first-models.toml").read_text()
    with explored(folder, "first.json") as address:  # all of it is in the files
        tab = opened(context, address)
        assert ADDED in to_formulae(tab).input_value()
        assert back_in_overview(tab) == after


@pytest.mark.slow
def test_a_wrong_formula_and_one_that_cannot_be_fitted_are_refused_and_kept(context, folder):
    with explored(folder, "first.json") as address:
        tab = opened(context, address)
        to_formulae(tab).fill("a + b*D^2*log2(D")
        send(tab)
        assert "line 1: formula 'a + b*D^2*log2(D': column 16" in tab.get_by_role("alert").inner_text()
        again = tab.get_by_label(LIST)
        assert again.input_value() == "a + b*D^2*log2(D"
        five = "a + b*D + c*D^2 + e*D^3 + f*sqrt(D)"
        again.fill(five)
        send(tab)
        assert (
            "no default model has fewer coefficients than the lines have levels"
            in tab.get_by_role("alert").inner_text()
        )
        assert tab.get_by_label(LIST).input_value() == five
        tab.get_by_label(LIST).fill(f"a\n{ADDED}")
        send(tab)
        tab.get_by_role("button", name="Keep").click()
        tab.get_by_role("button", name="Undo").click()
        assert ADDED not in tab.get_by_label(LIST).input_value()  # it leads to where the edit was made
        assert 0.6 < back_in_overview(tab) < 0.7
        assert not (folder / "first-models.toml").exists()


def test_formulas_are_checked_while_they_are_typed(tab, folder):
    with explored(folder, "first.json") as address:
        tab.goto(address)
        tab.wait_for_url("**/")
        assert missed_by_keyboard(tab) == []
        assert accessibility_problems(tab) == []
        formulas = to_formulae(tab)
        assert missed_by_keyboard(tab) == []
        assert accessibility_problems(tab) == []
        said = tab.locator("output.said")
        assert said.inner_text() == ""
        formulas.fill("a\na + b*D^2*log2(D")
        expect = tab.locator("output.said .wrong")
        expect.wait_for()
        assert "line 2: formula 'a + b*D^2*log2(D': column 16: ')' is missing" in expect.inner_text()
        assert said.locator(".fine").inner_text().endswith("line 1: terms 1")
        formulas.press("End")
        formulas.press("Control+End")
        formulas.press_sequentially(")")
        expect.wait_for(state="detached")
        assert said.locator(".fine").last.inner_text().endswith("line 2: terms 1, D^2*log2(D)")
        assert said.get_attribute("aria-live") == "polite"
        formulas.fill("a + b*D + c*D^2 + e*D^3 + f*sqrt(D)")
        expect.wait_for()
        assert "fewer constants than levels are needed" in expect.inner_text()
        assert not (folder / "first-models.toml").exists()


@pytest.mark.slow
def test_sliders_move_the_prediction(context, folder):
    with explored(folder, "first.json") as address:
        tab = opened(context, address)
        tab.get_by_role("main").get_by_role("link", name="Verify").click()
        slider = tab.get_by_role("slider", name="p (measured 2 to 32)")
        slider.focus()
        slider.press("End")
        tab.wait_for_url("**/verify?at.p=256*")
        assert tab.get_by_role("heading", name="Prediction at p=256, D=512").is_visible()
        tab.go_back()
        settled(tab)
        assert tab.get_by_role("heading", name="Prediction at p=64, D=512").is_visible()
