"""A picture as plain data: the same numbers, names and axes as were drawn."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from perf_views.pictures.figures import drawn_figures
from perf_views.pictures.panels import described_panels


@pytest.fixture(scope="module")
def panels():
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    left.plot([1.0, 10.0, 100.0], [3.0, np.nan, 5.0], color="#0072B2", label="$x_ <b>")
    left.fill_between([1.0, 100.0], [2.0, 4.0], [4.0, 6.0], color="red", alpha=0.25)
    left.errorbar([5.0], [3.5], yerr=[0.5], fmt="o", label="mean")
    left.axvline(42.0)
    left.vlines([7.0], 0.0, 1.0, transform=left.get_xaxis_transform())
    left.set(xscale="log", xlabel="processors", ylabel="time (s)")
    right.bar([0, 1], [3.0, 4.0])
    right.set_xticks([0, 1], ["one", "two"])
    figure.draw_without_rendering()
    return described_panels(figure, 3000)


def test_marks_have_the_numbers_that_were_drawn(panels):
    marks = {mark["kind"]: mark for mark in panels[0]["marks"]}
    assert marks["line"]["x"] == [1.0, 100.0]  # what cannot be drawn is left out
    assert (marks["line"]["y"], marks["line"]["name"], marks["line"]["colour"]) == ([3.0, 5.0], "$x_ <b>", "#0072b2")
    assert (marks["band"]["low"], marks["band"]["high"], marks["band"]["opacity"]) == ([2.0, 4.0], [4.0, 6.0], 0.25)
    assert (marks["error"]["low"], marks["error"]["high"], marks["error"]["name"]) == ([3.0], [4.0], "mean")
    (bars,) = panels[1]["marks"]
    assert (bars["along"], bars["x"], bars["right"]) == ("y", [-0.4, 0.6], [0.4, 1.4])
    assert (bars["low"], bars["high"]) == ([0.0, 0.0], [3.0, 4.0])


def test_axes_say_scale_label_and_names_and_lines_across_are_no_data(panels):
    assert (panels[0]["x"]["scale"], panels[0]["x"]["label"], panels[0]["y"]["label"]) == (
        "log",
        "processors",
        "time (s)",
    )
    assert panels[1]["x"]["names"] == [[0.0, "one"], [1.0, "two"]]
    assert panels[0]["rules"] == [("x", 42.0), ("x", 7.0)]
    left, top, right, bottom = panels[0]["box"]
    assert 0 < left < right < panels[1]["box"][0]
    assert 0 < top < bottom < 1
    below, beside = panels[0]["ticks"]
    assert below[1] >= bottom
    assert beside[2] <= left
    assert json.loads(json.dumps(panels))[1]["marks"][0]["kind"] == "bar"


def test_a_panel_without_marks_is_left_out_and_a_long_line_thinned():
    figure = Figure()
    first, second = figure.subplots(1, 2)
    first.imshow(np.eye(3)[..., None] * np.ones(3))
    heights = np.where(np.arange(10_001) == 7777, 5.0, np.arange(10_001) % 2)
    second.plot(1.7e9 + np.arange(10_001.0), heights)
    figure.draw_without_rendering()
    (panel,) = described_panels(figure, 3000)
    (mark,) = panel["marks"]
    assert 2900 < len(mark["x"]) <= 3002
    assert mark["x"][mark["y"].index(5.0)] == 1.7e9 + 7777  # no peak is lost, nor the place of one far from zero


def test_cells_of_a_heat_map():
    """Rows go down, as in a table; a cell without a value has none."""
    figure = Figure()
    axes = figure.subplots()
    shown = axes.imshow(np.ma.masked_equal([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]], 0.0))
    figure.colorbar(shown, label="bytes")
    axes.set(xlabel="receiver", ylabel="sender")
    figure.draw_without_rendering()
    (panel,) = described_panels(figure, 3000)
    (cells,) = panel["marks"]
    assert (cells["kind"], cells["name"], cells["x"], cells["y"]) == ("cells", "bytes", [0, 1, 2], [0, 1])
    assert cells["values"] == [1, 2, 3, 4, None, 6]
    assert len(set(cells["colours"])) == 6
    assert (panel["y"]["from"], panel["y"]["to"]) == (1.5, -0.5)
    rows = [row[1:5] for row in drawn_figures(figure)]
    assert ("cell", "", "2", "1") in rows
    assert len(rows) == 5
    assert described_panels(figure, 5) == []
