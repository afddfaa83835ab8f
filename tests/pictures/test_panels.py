"""Panels by themselves, for papers and for axes of one's own, and the numbers of what is drawn."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import perfcore
from perf_views.picture import inches, plot
from perf_views.style import drawing, finish, fit_texts
from perfcore import Measurements, Trace
from perfcore.base.errors import OptionError
from perfcore.results import presenter_of

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


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("laws", ["curves", "curves-2"]),
        ("individual", ["curves", "curves-2", "residuals", "quantiles"]),
        ("lca", ["curves", "curves-2"]),
        ("phases", ["model", "activity", "breaks", "errors"]),
    ],
)
def test_each_panel_is_drawn_by_itself(models, kind, names):
    with pytest.raises(OptionError, match=f"no panel 'nope'; there are {', '.join(names)}$"):
        plot(models[kind], panels="nope")
    figure = plot(models[kind], panels=names, size="3.4in", font=8).figure
    assert [len(axes.get_children()) > 10 for axes in figure.axes] == [True] * len(names)
    assert figure.get_size_inches()[0] == 3.4
    assert {text.get_fontsize() for axes in figure.axes for text in (axes.xaxis.label, *axes.get_xticklabels())} == {
        8.0
    }
    axes = Figure().add_subplot()
    assert plot(models[kind], ax=axes) is axes
    assert axes.has_data()
    with pytest.raises(OptionError, match="2 panels for one place"):
        plot(models[kind], ax=axes, panels=names[:2])


def test_sizes_are_read():
    for size in ("3.4", "3.4in", "8.636 cm", "86.36mm", "3.4x2.5in"):
        assert inches(size)[0] == pytest.approx(3.4)
    for wrong in ("", "3em", "-3in", "0.1in", "1e3in", "3x", "900in", "nan"):
        with pytest.raises(OptionError, match=r"size .* accepted"):
            inches(wrong)


def test_a_picture_without_room_says_so(laws, tmp_path):
    with pytest.raises(OptionError, match="no room for its panels"):
        plot(laws, path=tmp_path / "x.png", size="0.6in", font=30)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OptionError, match="Facts has no picture"):
        plot(perfcore.info(runs("code")), panels="curves")


def test_panels_without_names_have_numbers(models):
    """What a presenter draws as one picture comes panel by panel too, with its numbers and a legend inside."""
    sum_of_two = models["individual"] + models["individual"]
    axes = Figure().add_subplot()
    assert sum_of_two.plot(ax=axes) is axes
    assert axes.get_xlabel() == "ranks"
    verified = perfcore.verify(models["individual"], Measurements(runs("code"), {"p": "ranks"}))
    with pytest.raises(OptionError, match=r"no panel '3'; there are 1, 2$"):
        verified.plot(panels="3")
    figure = verified.plot(panels="2,1", size="2in", font=8).figure
    labels = [panel.get_xlabel().replace("\n", " ") for panel in figure.axes]
    assert labels == ["absolute relative error", "measured (s)"]
    assert "\n" in figure.axes[1].get_ylabel()  # else it is cut off


def test_titles_of_laws_have_the_names_of_the_data(laws):
    figure = laws.plot().figure
    formulas = [axes.get_title("left").split("\n")[1] for axes in figure.axes]
    assert [bool(re.search(r"\branks\b", text)) for text in formulas] == [True, True]
    assert not any(re.search(r"\bp\b", text) for text in formulas)


def test_a_legend_below_takes_the_columns_that_fit():
    trace = Trace([0, 0, 1], [0, 1, 2], [0, 50, 0], [50, 100, 100], ["a", "b"], ["run", "MPI_Wait", "MPI_Send"])
    figure = perfcore.overheads(trace).plot(size="2.8x3in").figure
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width
    assert len(legend.get_texts()) > 1


def test_legends_of_single_panels_lie_over_nothing(models):
    """Measured in pixels of the figure, by another way than the one that moves them."""
    for model in models.values():
        for panel in list(presenter_of(model).panels(model))[:1]:
            figure = plot(model, panels=panel, size="3.4in", font=8).figure
            figure.draw_without_rendering()
            for axes in figure.axes:
                legend = axes.get_legend()
                box = None if legend is None else legend.get_window_extent()
                for line in [] if box is None else axes.lines:
                    places = line.get_transform().transform(line.get_xydata())
                    between = np.linspace(places[:-1], places[1:], 50).reshape(-1, 2)
                    drawn = places if line.get_linestyle() in ("None", "") else np.vstack([places, between])
                    assert not box.count_contains(drawn), (model.title, panel, line.get_label())


def test_names_and_numbers_stay_readable():
    """A legend of long names leaves the panel its width; ticks have no offset; without anything there are no frames."""
    figure = Figure(figsize=(3.4, 2.3), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0.0, 1.2e6], [1e300, 3e300], label="kernel<" + 90 * "x" + ">")
    axes.legend(bbox_to_anchor=(0.0, -0.2), loc="upper left")
    with drawing():
        finish(figure)
        fit_texts(figure)
    assert axes.get_window_extent().width > 0.6 * figure.bbox.width
    assert [axis.get_offset_text().get_text() for axis in (axes.xaxis, axes.yaxis)] == ["", ""]
    empty = Figure()
    frame = empty.add_subplot()
    finish(empty)
    assert not frame.axison
    assert empty.texts[0].get_text() == "there is nothing to draw"


def test_titles_of_categories_neither_leave_the_picture_nor_touch():
    """Formulas of three terms over three panels beside one another, measured in pixels."""
    nodes = np.arange(1, 17)
    names = [f"category number {k}" for k in range(6)]
    rows = [(p, name, 12.34567 + 97.65432 / p + 0.0876543 * p) for name in names for p in nodes]
    table = pd.DataFrame(rows, columns=["nodes", "category", "time_s"])
    figure = perfcore.fit(perfcore.Measurements(table), fitter="lca").plot().figure
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    assert all(box.x0 >= 0.0 and box.x1 <= figure.bbox.width for box in boxes)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all("R^2 centered" in axes.get_title() for axes in figure.axes)
