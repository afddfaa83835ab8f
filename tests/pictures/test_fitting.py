"""Pictures of every presenter for papers: in a column nothing is cut off or overlaps; in grey all is told apart."""

import itertools

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Patch
from result_kinds import KINDS

import perfcore
from perf_structural import StructuralModel
from perf_views.pictures.derived_panels import derived_panels
from perf_views.pictures.picture import plot
from perfcore.base.errors import OptionError
from perfcore.results import Result, presenter_of

WITHOUT = {
    "Facts", "Listing", "Predictions", "Advice", "Replications", "Design", "Run", "Runs", "Ranking", "Added",
}  # fmt: skip
TOO_WIDE = {"LawModel", "LcaModel", "ModgenModel", "IndividualModel", "JointModel"}  # as a whole
COLUMN = {"size": "3.4in", "font": 8}


def subject(kind):
    """A result and nothing, or nothing and data."""
    made = KINDS[kind]()
    if isinstance(made, str):
        made = StructuralModel.read(made) if made.endswith(".toml") else perfcore.read(made)
    return (made, None) if isinstance(made, Result) else (None, made)


def panel_names(model):
    """Of all panels but those that are like an earlier one."""
    names = presenter_of(model).panels(model) or derived_panels(model, None)
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
    choices = [] if model is None else [[name] for name in panel_names(model)]
    for panels in (*([] if kind in TOO_WIDE else [()]), *choices):
        figure = plot(model, data, panels=panels, **COLUMN).figure
        assert list(collisions(figure)) == [], panels


@pytest.mark.parametrize("kind", sorted(WITHOUT))
def test_what_has_no_picture_says_so_and_writes_nothing(kind, tmp_path):
    model, data = subject(kind)
    with pytest.raises(OptionError, match=r"has no picture|name a column"):
        plot(model, data, tmp_path / "x.pdf", figures=tmp_path / "x.csv", **COLUMN)
    assert list(tmp_path.iterdir()) == []


def grey(colour):
    """What a print in grey leaves of a colour: L* of CIE 1976, from the luminance of sRGB (IEC 61966-2-1)."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116.0 * np.cbrt(luminance) - 16.0 if luminance > 0.008856 else 903.3 * luminance


def looks(axes):
    """Series and classes of a panel: colour, and what else is seen of them."""
    for artist in (*axes.patches, *axes.collections):
        if isinstance(artist, (Patch, PolyCollection)) and len(artist.get_facecolor()):
            face = np.ravel(artist.get_facecolor())[:4]
            if face[3] == 1.0:
                yield to_hex(face), ("area", artist.get_hatch())
    lines = [line for line in axes.lines if line.get_transform() == axes.transData and len(line.get_xdata())]
    markers = {to_hex(line.get_color()): line.get_marker() for line in lines if line.get_linestyle() == "None"}
    for line in lines:
        if (colour := to_hex(line.get_color())) not in markers or line.get_linestyle() == "None":
            fill = to_hex(line.get_markerfacecolor()) == to_hex(line.get_color())
            dashes = line.get_linestyle(), str(line._unscaled_dash_pattern)
            yield colour, ("line", dashes, line.get_marker(), fill, line.get_linewidth())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT])
def test_what_has_another_colour_has_another_look_in_grey(kind):
    model, data = subject(kind)
    figure = plot(model, data).figure
    for axes in figure.findobj(Axes):
        for (colour, look), (other, beside) in itertools.combinations(dict.fromkeys(looks(axes)), 2):
            if colour != other and abs(grey(colour) - grey(other)) < 15.0:
                assert look != beside, (axes.get_ylabel(), colour, other, look)
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    shown = {look for axes in figure.axes for look in looks(axes) if look[1][0] == "area" and look[1][1]}
    for legend in legends:
        for handle in legend.legend_handles:
            if isinstance(handle, Patch) and (colour := to_hex(handle.get_facecolor())) in dict(shown):
                assert (colour, ("area", handle.get_hatch())) in shown
