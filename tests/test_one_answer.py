"""A result reports itself once: terminal, JSON, CSV, data frame, notebook cell and page show that report."""

import html
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from result_kinds import KINDS, cell_of, result_of

import perfcore
from perfcore.cli.output import VERBOSE, print_result
from perfcore.report import Result
from perfcore.tables import csv_lines


def words(text):
    """A text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize("kind", KINDS)
def test_every_renderer_shows_the_report(kind, capsys):
    result = result_of(kind)
    report = result.report()
    assert report.answer
    assert len(report.answer.splitlines()) == 1
    for figure in report.figures:
        assert isinstance(figure.value, str) or figure.value is None or math.isfinite(figure.value), figure
    cell = html.unescape(re.sub("<[^>]*>", " ", cell_of(kind)))
    assert words(report.answer)[:80] in words(cell)
    if not isinstance(result, Result):
        return
    token = VERBOSE.set(True)
    try:
        print_result(result, False, None)
        printed = capsys.readouterr().out
        print_result(result, True, None)
        document = json.loads(capsys.readouterr().out)
    finally:
        VERBOSE.reset(token)
    assert words(report.answer) in words(printed)
    for text in report.closing():
        assert words(text) in words(printed)
    assert document["answer"] == report.answer
    for figure, found in zip(report.figures, document["figures"], strict=True):
        assert found["name"] == (figure.key or figure.name)
        assert found["value"] == pytest.approx(figure.value)
        if figure.interval is not None:
            assert found["interval"] == pytest.approx(list(figure.interval), nan_ok=True)
    if report.plain_tables:
        frame, first = result.to_frame(), report.plain_tables[0]
        assert list(frame.columns) == [name for name, _ in first.data]
        text = "\n".join(line for line in csv_lines(first) if not line.startswith("#"))
        table = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])
        assert list(table.columns) == list(frame.columns)
        assert len(table) == len(frame)
        for name in frame.columns if frame.columns.is_unique else ():
            if frame[name].dtype.kind == "f":
                np.testing.assert_allclose(table[name].astype(float), frame[name], rtol=1e-12, equal_nan=True)


# One of each kind of page; the others are drawn by the same renderer.
@pytest.mark.parametrize(
    "kind", ["Predictions", "VersionGate", "HistoryGate", "OverheadProfile", "Answers", "UslModel"]
)
def test_the_page_begins_with_the_same_answer(kind, tmp_path):
    result = result_of(kind)
    perfcore.explore(result, output=tmp_path / "report.html", views=1)
    text = words(html.unescape(re.sub("<[^>]*>", " ", (tmp_path / "report.html").read_text())))
    assert words(result.report().answer) in text


def test_categories_over_processors_have_one_total(tmp_path):
    """`fit --at`, a saved model, `project` and Python say the same of times that add up."""
    rows = [(p, name, time) for p in (1, 2, 4, 8) for name, time in (("solve", 8 / p), ("exchange", 0.1 * p))]
    table = pd.DataFrame(rows, columns=["p", "category", "time_s"])
    table.to_csv(tmp_path / "times.csv", index=False)
    fitted, projected = perfcore.fit(table, at="p=16"), perfcore.project(tmp_path / "times.csv", at={"p": 16})
    assert fitted.report().answer == projected.report().answer
    perfcore.fit(tmp_path / "times.csv").save(tmp_path / "model.json")
    total = perfcore.load(tmp_path / "model.json").predict_array({"p": 16}, 0.95)
    for model in (fitted, projected):
        np.testing.assert_allclose(model.predict_array({"p": 16}, 0.95), total, rtol=1e-12)
    [figure, *_] = perfcore.fit(tmp_path / "times.csv", at=16).report().figures
    assert (figure.value, *figure.interval) == pytest.approx(tuple(total[0]), rel=1e-12)
