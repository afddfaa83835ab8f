"""``perf report``: one file, whole or not at all."""

import base64
import hashlib
import os
import re

import pytest

from perf_explore import printing


def test_data_and_models_in_one_file(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    said = perf("report", "trace.csv", "model.json", "curve.csv", "-o", "both.html").out
    assert re.fullmatch(r"report: both\.html \(0\.\d+ MB\)\n", said)
    text = (folder / "both.html").read_text()
    assert "<h1>2 subjects</h1>" in text
    assert "2 phases of curve.csv" in text
    assert text.count("<svg") >= 4
    for script in re.findall("<script>(.*?)</script>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in text[: text.index("<title>")]  # the policy lets these run, and nothing else
    assert not re.search(r'(src|href)="(https?:)?//', text)


def test_it_has_a_name_of_its_own(perf, folder):
    assert perf("report", "curve.csv").out.startswith("report: report.html (")


def test_a_file_that_exists_is_replaced_only_when_told(perf, refused, folder):
    (folder / "report.html").write_text("mine")
    assert refused("report", "curve.csv") == "report.html: exists; --overwrite replaces it"
    assert (folder / "report.html").read_text() == "mine"
    perf("report", "curve.csv", "--overwrite")
    assert "<h1>curve.csv</h1>" in (folder / "report.html").read_text()


def test_of_many_views_as_many_as_asked_for(perf, folder):
    perf("report", "trace.csv", "--views", "2", "-o", "x.html")
    assert (folder / "x.html").read_text().count('<section id="view') == 2


BROWSER = """#!/bin/sh
for word; do case $word in --print-to-pdf=*) paper=${word#*=} ;; file://*) page=${word#file://} ;; esac; done
"""


@pytest.fixture
def browser(tmp_path_factory, monkeypatch):
    """What stands on PATH as the only browser, by what it does with $page and $paper."""

    def put(does):
        folder = tmp_path_factory.mktemp("bin")
        if does:
            (folder / "chromium").write_text(BROWSER + does)
            (folder / "chromium").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin" if does else str(folder))
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)

    monkeypatch.setattr(printing, "_ON_PATH", ("chromium",))
    return put


def test_it_is_printed_by_the_browser_that_is_there(perf, refused, browser, folder):
    browser('{ echo %PDF-; cat "$page"; } > "$paper"')
    said = perf("report", "curve.csv", "-o", "x.html", "--print").out
    assert said.splitlines()[1] == "printed: x.pdf"
    assert (folder / "x.pdf").read_text() == "%PDF-\n" + (folder / "x.html").read_text()
    (folder / "x.html").unlink()
    assert refused("report", "curve.csv", "-o", "x.html", "--print") == "x.pdf: exists; --overwrite replaces it"


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("", "no browser that writes PDF was found: install chromium or Chrome, or open the report and print it there"),
        ("echo no display >&2; exit 1", "wrote no PDF: no display; open the report in a browser and print it there"),
        ("sleep 60 & wait", "did not print within 0.5 s; open the report in a browser and print it there"),
    ],
)
def test_where_printing_fails_nothing_is_written(refused, browser, folder, monkeypatch, does, message):
    browser(does)
    monkeypatch.setattr(printing, "MOST_SECONDS", 0.5)
    before = sorted(folder.iterdir())
    assert refused("report", "curve.csv", "--print").endswith(message)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve.csv", "-o", "x.pdf"], "cannot write 'x.pdf': the ending must be .html"),
        (["curve.csv", "-o", "no/x.html"], "there is no folder 'no'"),
        (["none.csv"], "none.csv: there is no such file"),
        ([], "Missing argument 'FILES...'"),
    ],
)
def test_mistakes_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("report", *words)
    assert sorted(folder.iterdir()) == before
