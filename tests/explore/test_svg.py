"""Drawings on a page: as small as what can be seen, and texts as they are."""

import re
from pathlib import Path

import numpy as np
import pytest

from perf_explore.blocks import chart_svg
from perf_explore.opening import open_subjects
from perf_explore.page import report_text
from perf_views import Chart

STYLE = "fill: #123456"
X = np.linspace(0.0, 10.0, 2000)
SHAPES = {
    "smooth": np.exp(-((X - 5.0) ** 2)),
    "histogram": np.repeat(np.random.default_rng(1).uniform(0.1, 1.0, 50), 40),
    "one spike": np.where(np.arange(2000) == 777, 1.0, 0.01),
}


def corners(heights):
    """Corners of the area below heights, as it is drawn."""

    def draw(figure):
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, 10), ylim=(0, 1))
        axes.fill_between(X, heights, step="mid", color="#123456", linewidth=0.0)

    svg = chart_svg(Chart(draw, "area", ()), "c")
    path = re.search(rf'<path d="([^"]*)"[^>]*style="{STYLE}', svg) or re.search(r'<path id="[^"]*" d="([^"]*)"', svg)
    return np.array(re.findall(r"[ML] ([-0-9.]+) ([-0-9.]+)", path[1]), dtype=float)


def heights_of(found, at):
    """Upper end of a polygon at places, in points."""
    (x0, y0), (x1, y1) = found.T, np.roll(found, -1, axis=0).T
    result = np.full(len(at), -np.inf)
    for a, b, c, d in zip(x0, y0, x1, y1, strict=True):
        met = (at >= min(a, c)) & (at <= max(a, c))
        share = (at[met] - a) / (c - a) if a != c else np.zeros(met.sum())
        result[met] = np.maximum(result[met], 288.0 - (b + share * (d - b)))
    return result


@pytest.mark.parametrize("shape", SHAPES)
def test_an_area_has_the_corners_that_can_be_seen(shape):
    found = corners(SHAPES[shape])
    assert len(found) < 2000  # of 8,000
    at = np.linspace(1.0, 719.0, 4001)
    exact = 288.0 * SHAPES[shape][np.clip(np.round(at / 720.0 * 1999.0).astype(int), 0, 1999)]
    shown = heights_of(found, at)
    # Within a hundredth of the height, but beside steps, whose places may move by a fifth of a point.
    near = np.array([exact[np.abs(at - place) <= 0.4] for place in at[::7]], dtype=object)
    low = np.array([part.min() for part in near]) - 1.0
    high = np.array([part.max() for part in near]) + 1.0
    assert ((shown[::7] >= low) & (shown[::7] <= high)).all()
    assert shown.max() == pytest.approx(288.0 * SHAPES[shape].max(), abs=1.0)


def test_texts_keep_their_digits():
    def draw(figure):
        figure.text(0.1, 0.1, 'at 0.123456789 d="M 0.123456 "')

    assert 'at 0.123456789 d="M 0.123456 "' in chart_svg(Chart(draw, "t", ()), "c").replace("&quot;", '"')


def test_a_report_of_densities_can_be_mailed():
    """Ten densities of 2,000 places each; a picture with its data takes some 90 kB at most."""
    example = Path(__file__).parents[2] / "examples" / "structural" / "sor.toml"
    text = report_text(open_subjects([str(example)]))
    assert text.count("<svg role") == 4
    assert len(text) < 4 * 90_000


@pytest.mark.parametrize(
    ("draw", "is_said"),
    [
        (lambda figure: None, True),
        (lambda figure: figure.add_subplot().plot([], []), True),
        (lambda figure: figure.add_subplot().plot([1], [2]), False),
        (lambda figure: figure.add_subplot().text(0, 0, "word"), False),
        (lambda figure: figure.add_subplot().imshow([[1]]), False),
    ],
)
def test_a_chart_with_nothing_to_draw_says_so(draw, is_said):
    assert ("there is nothing to draw" in chart_svg(Chart(draw, "c", ()), "c")) == is_said
