"""Pictures: written whole in the format that the ending names, and shown in notebooks."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from result_kinds import CELL_ELEMENTS, FURTHER_KINDS, KINDS, WITHOUT_PICTURE, Elements, cell_of, result_of

import perfcore
from perfcore import Model, Trace, UtilizationCurve, plot
from perfcore.base.errors import OptionError
from perfcore.report import Result, Shown

CURVE = UtilizationCurve([0, 4, 10], [2, 8], source="<b>run & co.csv")
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-", ".html": b"<!doctype html>"}


@pytest.fixture(scope="module")
def model():
    return perfcore.fit(CURVE, phases=2, degree=0)


@pytest.mark.parametrize("ending", MAGIC)
def test_every_format_is_what_its_ending_says(tmp_path, model, ending):
    path = tmp_path / f"x{ending.upper()}"
    plot(model, CURVE, path)
    assert path.read_bytes().startswith(MAGIC[ending])
    assert (b"<table>" in path.read_bytes()) == (ending == ".html")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", MAGIC)
def test_the_same_picture_is_the_same_file(tmp_path, model, ending):
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for path in (one, two):
        plot(model, CURVE, path)
    assert one.read_bytes() == two.read_bytes()


def test_a_long_curve_shows_its_extremes():
    heights = np.full(50_000, 3.0)
    heights[12_345], heights[40_000] = 9.0, 1.0  # each 1/50,000 of the width: less than a pixel
    axes = Figure().add_subplot()
    plot(None, UtilizationCurve(np.arange(50_001), heights), ax=axes)
    drawn = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (drawn.min(), drawn.max()) == (1.0, 9.0)


# Panels by themselves, for papers and for axes of one's own, and the numbers of what is drawn.
P = (2.0, 4.0, 8.0, 16.0)


def runs(column):
    rng = np.random.default_rng(1)
    rows = [
        (p, name, k * (1.0 + 8.0 / p) * (1.0 + 0.02 * rng.standard_normal()))
        for k, name in enumerate(("solve", "exchange"), 1)
        for p in P
        for _ in "abc"
    ]
    return pd.DataFrame(rows, columns=["ranks", column, "time_s"])


@pytest.fixture(scope="module")
def laws():
    return perfcore.fit(runs("callpath"), fitter="scaling", parameter="p=ranks")


@pytest.fixture(scope="module")
def models(laws):
    trace = Trace([0, 1], [0, 0], [2, 20], [98, 80], ["a", "b"], ["run"])
    return {
        "laws": laws,
        "individual": perfcore.fit(runs("code"), fitter="individual", functions="1/p,1", parameter="p=ranks"),
        "lca": perfcore.fit(runs("category"), fitter="lca", parameter="p=ranks"),
        "phases": perfcore.fit(trace, phases="1..2", degree=1),
    }


@pytest.mark.parametrize(("kind", "names"), [
    ("laws", ["curves", "curves-2"]),
    ("individual", ["curves", "curves-2", "residuals", "quantiles"]),
    ("lca", ["curves", "curves-2"]), ("phases", ["model", "activity", "breaks", "errors"]),
])  # fmt: skip
def test_each_panel_is_drawn_by_itself(models, kind, names):
    with pytest.raises(OptionError, match=f"no panel 'nope'; there are {', '.join(names)}$"):
        plot(models[kind], panels="nope")
    figure = plot(models[kind], panels=names, size="3.4in", font=8).figure
    assert [len(axes.get_children()) > 10 for axes in figure.axes] == [True] * len(names)
    assert figure.get_size_inches()[0] == 3.4
    labels = (text for axes in figure.axes for text in (axes.xaxis.label, *axes.get_xticklabels()))
    assert {text.get_fontsize() for text in labels} == {8.0}
    axes = Figure().add_subplot()
    assert plot(models[kind], ax=axes) is axes
    assert axes.has_data()
    with pytest.raises(OptionError, match="2 panels for one place"):
        plot(models[kind], ax=axes, panels=names[:2])


WITHOUT = {kind for kind in WITHOUT_PICTURE if kind in KINDS}
MODELS = {"ScalingModel", "LcaModel", "ModgenModel", "IndividualModel", "JointModel"}
TOO_WIDE = {"ProjectionModel", "Projection", *MODELS}  # as a whole
COLUMN = {"size": "3.4in", "font": 8}


def subject(kind):
    """A result and nothing, or nothing and data."""
    made = result_of(kind)
    return (made, None) if isinstance(made, Result) else (None, made)


def panel_names(model):
    """Of all panels but those that are like an earlier one."""
    names = [plot.name for plot in model.report().plots]
    return [name for name in names if "-" not in name]


def collisions(figure):
    """Texts that are cut off, and pairs of titles, labels and legends of which one lies over the other."""
    figure.draw_without_rendering()
    boxes = []
    for axes in figure.findobj(Axes):
        if not axes.axison:
            continue
        ticks = [
            label
            for axis in (axes.xaxis, axes.yaxis)
            for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
            if min(axis.get_view_interval()) <= place <= max(axis.get_view_interval())
        ]
        titles = [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        legend = axes.get_legend()
        boxes += [(text.get_text(), text) for text in (*ticks, *titles) if text.get_text() and text.get_visible()]
        boxes += [] if legend is None else [("legend", legend)]
    boxes += [("legend", legend) for legend in figure.legends]
    boxes += [(title.get_text(), title) for title in (figure._suptitle,) if title is not None]
    placed = [(name, artist.get_window_extent()) for name, artist in boxes]
    whole = figure.bbox
    for name, box in placed:
        if box.x0 < whole.x0 - 1 or box.y0 < whole.y0 - 1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1:
            yield f"{name!r} is cut off"
    for (name, box), (other, beside) in itertools.combinations(placed, 2):
        across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        along = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        if across > 1.0 and along > 1.0:
            yield f"{name!r} and {other!r} overlap"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT])
def test_nothing_is_cut_off_or_overlaps_in_a_column(kind):
    model, data = subject(kind)
    panels = panel_names(model)[:1] if kind in TOO_WIDE else ()
    assert list(collisions(plot(model, data, panels=panels, **COLUMN).figure)) == []


@pytest.mark.parametrize("kind", sorted(WITHOUT))
def test_what_has_no_picture_says_so_and_writes_nothing(kind, tmp_path):
    model, data = subject(kind)
    with pytest.raises(OptionError, match=r"has no picture|name a column"):
        plot(model, data, tmp_path / "x.pdf", **COLUMN)
    assert list(tmp_path.iterdir()) == []


def test_runs_are_drawn_at_their_times_and_no_runs_have_no_picture(tmp_path):
    listed = perfcore.runs("examples/study/recorded/sor.db")
    figure = plot(listed, None, tmp_path / "x.png").figure
    dots = [collection.get_offsets() for collection in figure.axes[0].collections]
    points = np.concatenate([*dots, *(line.get_xydata() for line in figure.axes[0].lines)])
    expected = [(run.number, run.wall_ns / 1e9) for run in listed.listed]
    assert np.array(sorted(map(tuple, points.tolist()))) == pytest.approx(np.array(sorted(expected)))
    with pytest.raises(OptionError, match="has no picture"):
        plot(replace(listed, listed=()), None, tmp_path / "none.png")
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


# Every kind of result and data in a notebook: a frame of numbers, a short cell, a picture, a frame with pages.
ALL_KINDS = [*KINDS, *FURTHER_KINDS]
WITHOUT_TABLE = {"Facts", "Summary", "Added", "RunSummary", "SubmittedJobs"}
# What JSON has in other words: places as a text, a start and an end, the run's own time of all locations.
COMPUTED = {
    "MessageRuns": ("locations", "messages", "bytes", "rank_pairs", "collectives", "until_all_arrived_ns"),
    "RunSummary": ("time_ns", "share", "entries"),  # of the trace that it is
    "Verification": ("P", "D", "error"), "OverheadRuns": ("p", "time_s"), "OverheadProfile": ("p", "time_s"),
    "Decomposition": ("machine",), "Judgement": ("at",), "OperatorTimes": ("time_s",),
    "MeasuredValue": ("p05", "p50", "p95", "lowest", "highest"),
    "Iterations": ("iteration", "duration_us", "over_median", "computing", "waiting", "communicating"),
    "PhaseComparison": ("lower", "upper"),
}  # fmt: skip
MOST_OF_CELL = 64_000  # letters
NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)? ?%?")


def subclasses(base):
    return {base} | {kind for each in base.__subclasses__() for kind in subclasses(each)}


def test_every_kind_is_made_and_reports_itself():
    for kind in ALL_KINDS:
        assert type(result_of(kind)).__name__ == kind
    bundled = {kind for kind in subclasses(Shown) if kind.__module__.startswith("perf")}
    reporting = {kind.__name__ for kind in bundled if {"report", "reporter"} & vars(kind).keys()}
    assert reporting - {"Shown", "Model"} <= set(ALL_KINDS)  # models are of some class
    silent = {kind for kind in bundled if kind.report is Shown.report and not kind.reporter}
    assert silent == {Result, Shown}


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "SubmittedJobs"])  # which has one sentence
def test_a_frame_holds_numbers_and_not_their_texts(kind):
    frame = result_of(kind).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert len(set(frame.columns)) == len(frame.columns)
    for name in frame.columns.difference(["value"] if kind == "Facts" else []):
        texts = [each for each in frame[name] if isinstance(each, str) and each]
        assert not texts or not all(NUMBER.fullmatch(each) for each in texts), name


def numbers(value):
    """All numbers of nested lists and mappings."""
    if isinstance(value, dict):
        value = [*value.values(), *value]
    if isinstance(value, (list, tuple)):
        return {number for each in value for number in numbers(each)}
    return {float(value)} if isinstance(value, (int, float)) else set()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_frame_has_the_numbers_that_json_has(kind):
    """To the last digit; those that JSON leaves to the reader are few, and named."""
    result = result_of(kind)
    # The JSON of a model is its file, of which the frame's numbers are computed; data have none.
    if isinstance(result, Model) or not hasattr(result, "to_dict"):
        return
    known = numbers(result.to_dict())
    for name, column in result.to_frame().items():
        if column.dtype.kind in "if" and name not in COMPUTED.get(kind, ()):
            assert {number for number in column.dropna() if math.isfinite(number)} <= known, name


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "Inline"])
def test_a_cell_is_short_and_well_formed_and_has_picture_and_table(kind):
    result = result_of(kind)
    cell = cell_of(kind)
    names = [tag for tag, _ in Elements(cell).seen]
    assert set(names) <= CELL_ELEMENTS  # no script
    assert len(cell) <= MOST_OF_CELL
    assert names.count("img") == (kind not in WITHOUT_PICTURE)
    assert names.count("table") == (kind not in WITHOUT_TABLE)
    assert "style=" not in cell.replace(' style="white-space:pre-wrap"', "")  # colours are those of the notebook
    assert len(repr(result)) <= 1000
    assert repr(result).count("\n") < 10
