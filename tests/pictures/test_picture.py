"""Pictures: written whole in the format that the ending names."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import perfcore
from perf_views.data_pictures import draw_curve, time_axis
from perf_views.picture import check_ending, plot
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import OptionError

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
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", MAGIC)
def test_the_same_picture_is_the_same_file(tmp_path, model, ending):
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for path in (one, two):
        plot(model, CURVE, path)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", ["x", "x.jpg", "x.png.txt", ".png"])
def test_an_unknown_ending_is_refused_before_anything_is_drawn(tmp_path, name):
    with pytest.raises(OptionError, match=r"the ending must be one of \.png, \.svg, \.pdf, \.html"):
        check_ending(tmp_path / name)
    with pytest.raises(OptionError):
        plot(None, CURVE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("end", "unit", "label", "factor"),
    [
        (999, "ns", "time (ns)", 1),
        (1000, "ns", "time (µs)", 1e-3),
        (2e6, "us", "time (s)", 1e-6),
        (5, "s", "time (s)", 1),
    ],
)
def test_the_time_axis_has_a_readable_unit(end, unit, label, factor):
    axes = Figure().add_subplot()
    assert time_axis(axes, 0.0, end, unit)(3.0) == pytest.approx(3.0 * factor)
    assert axes.get_xlabel() == label
    assert axes.get_xlim() == pytest.approx((0.0, end * factor))


def test_a_long_curve_shows_its_extremes():
    heights = np.full(50_000, 3.0)
    heights[12_345], heights[40_000] = 9.0, 1.0  # each 1/50,000 of the width: less than a pixel
    axes = Figure().add_subplot()
    draw_curve(axes, UtilizationCurve(np.arange(50_001), heights))
    band = next(patch for patch in axes.patches if patch.get_fill())
    drawn = band.get_path().vertices[:, 1]
    assert (drawn.min(), drawn.max()) == (1.0, 9.0)


def test_panels_over_time_are_aligned_and_a_model_stays_within_the_processors():
    """Two processors, of which a parabola over the first phase would have more."""
    trace = Trace([0, 1], [0, 0], [2, 20], [98, 80], ["a", "b"], ["run"])
    model = perfcore.fit(trace, phases="1..2", degree=2, segmenter="minimax", refine=False)
    assert model.predict(np.linspace(model.start, model.end, 201)).max() > 2.0
    figure = Figure()
    model.draw(figure, trace)
    above, *over_time, _ = figure.axes
    assert len(over_time) == 2
    assert {axes.get_xlim() for axes in over_time} == {above.get_xlim()}
    assert len({(axes.get_position().x0, axes.get_position().x1) for axes in figure.axes}) == 1
    line = next(line for line in above.lines if line.get_label() == "model, cut at 0 and 2")
    assert (line.get_ydata().min() >= 0.0, line.get_ydata().max()) == (True, 2.0)
