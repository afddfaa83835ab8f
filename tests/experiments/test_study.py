"""The shipped study: its programs report categories that add up, and its README says what its stores say."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parents[2] / "examples" / "study"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("study", STUDY / "study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("words", [["sor", "--iterations", "20"], ["cholesky"]])
def test_categories_add_up_to_the_total(words):
    command = [sys.executable, STUDY / "measure.py", *words, "--size", "48", "--workers", "2"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds = {name: float(value) for name, value in re.findall(r"^(\w+) ([0-9.]+)$", out, re.MULTILINE)}
    assert set(seconds) == {"total", "compute", "waiting", "other"}
    assert sum(seconds.values()) - seconds["total"] == pytest.approx(seconds["total"], abs=5e-6)


def test_the_readme_says_what_the_stores_say(study):
    """Numbers may differ in their last digits between machines, the text not."""
    written = study._BLOCK.search((STUDY / "README.md").read_text())[0]
    number = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
    made = study.report()
    assert number.sub("#", made) == number.sub("#", written)
    found, shown = ([float(text) for text in number.findall(part)] for part in (made, written))
    assert found == pytest.approx(shown, rel=0.02)


def test_every_recorded_run_is_whole(study):
    for program in study.PROGRAMS:
        table = study.table_of(program).table
        assert set(table["category"]) == set(study.CATEGORIES)
        assert table.groupby("run")["time_s"].size().eq(3).all()
        # Who works alone waits for nobody.
        assert (table["time_s"] >= 0).all()
        assert (table.loc[table["category"] == "compute", "time_s"] > 0).all()
