"""Names that break what takes them for more than names: every picture, report and page of every kind of result."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import perfcore
from perf_explore.blocks import Writer
from perf_explore.opening import open_subjects
from perf_explore.page import address
from perf_explore.report import report_text
from perf_pictures.picture import plot
from perf_pictures.style import drawing
from perf_views import Chart
from perfcore import Measurements, Series, Trace, UtilizationCurve

NAMES = (
    "<script>alert('x')</script>",
    "$x_",  # mathematics of matplotlib that does not end
    "b$_^$",  # and that cannot be read
    "\u202e\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET} left",  # from right to left
    "n" * 3000,
    "\N{GRINNING FACE}\N{CJK UNIFIED IDEOGRAPH-6C34}",  # which the font lacks
    "two\nlines\tof it",
    "_hidden",  # not in a legend of matplotlib
    "\\frac{%s}&amp;{}",
)
COLUMN = "b$_^$ <i>"
LEVELS = (2, 4, 8, 16)


def table(parts, column, noise=0.02, scale=1.0):
    rng = np.random.default_rng(3)
    rows = [
        (p, name, scale * (k + 1.0) * (1.0 + 16.0 / p) * (1.0 + noise * rng.standard_normal()))
        for k, name in enumerate(parts)
        for p in LEVELS
        for _ in "ab"
    ]
    frame = pd.DataFrame(rows, columns=[COLUMN, column, "time_s"])
    return Measurements(frame, {"p": COLUMN}, source=NAMES[0])


@cache
def pairs():
    frame = pd.concat(
        [table(NAMES[2:5], "code", scale=k).table.assign(system=name) for k, name in enumerate(NAMES[:2], 1)]
    )
    return Measurements(frame, {"p": COLUMN}, source=NAMES[1])


@cache
def trace():
    rng = np.random.default_rng(2)
    n, states = 400, len(NAMES)
    length = rng.integers(5, 50, (2, n))
    end = length.cumsum(axis=1)
    place = np.repeat([0, 1], n)
    state = rng.integers(0, states, 2 * n)
    return Trace(
        place, state, (end - length).ravel() * 1000, end.ravel() * 1000, list(NAMES[:2]), list(NAMES), source=NAMES[4]
    )


@cache
def individual():
    return perfcore.fit(pairs(), fitter="individual", functions="1/p,1")


@cache
def laws():
    return perfcore.fit(table(NAMES, "callpath"), fitter="scaling")


SUBJECTS = {
    "measurements": lambda: table(NAMES, "code"),
    "curve": lambda: UtilizationCurve([0, 4, 10], [2, 8], source=NAMES[0]),
    "series": lambda: Series(np.arange(40.0), {NAMES[2]: np.arange(40.0) % 7 + 1.0}, "s", source=NAMES[4]),
    "trace": trace,
    "laws": laws,
    "individual": individual,
    "joint": lambda: perfcore.fit(pairs(), fitter="strohmaier", functions="1/p,1"),
    "lca": lambda: perfcore.fit(table(NAMES, "category"), fitter="lca"),
    "modgen": lambda: perfcore.fit(table(NAMES, "category"), fitter="modgen"),
    "phases": lambda: perfcore.fit(trace(), phases="1..3", degree=1, busy=NAMES[0]),
    "overheads": lambda: perfcore.overheads(trace()),
    "profiles": lambda: perfcore.profile(trace()),
    "composed": lambda: individual() + individual(),
    "verification": lambda: perfcore.verify(individual(), pairs()),
    "comparison": lambda: perfcore.compare(laws(), laws(), at="p=16"),
}


@pytest.mark.parametrize("kind", SUBJECTS)
def test_names_of_every_kind_are_names(kind, tmp_path):
    """No traceback, no warning such as of a panel without room, and no name that a browser would run."""
    subject = SUBJECTS[kind]()
    is_data = not isinstance(subject, perfcore.Result)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot(*((None, subject) if is_data else (subject, None)), tmp_path / "picture.html")
        if not is_data:
            with drawing():
                figure = Figure(layout="constrained")
                subject.plot(ax=figure.add_subplot())
                figure.savefig(tmp_path / "panel.svg")
        shown = open_subjects([subject])
        report = report_text(shown, 1)
        first = shown.view((), {})
        others = tuple(
            block for block in first.blocks if not isinstance(block, Chart)
        )  # the report has drawn the charts
        page = Writer(address).view(replace(first, blocks=others))
    assert report.count("<script") == 2  # its own; the policy lets no other run
    report = report[: report.index("<script>")]
    for text in ((tmp_path / "picture.html").read_text(), report, page):
        assert "<script" not in text
        assert "alert(" not in text or "&lt;script&gt;" in text
