"""A picture as plain data: its panels with their axes and marks, for a page that redraws them closer.

The description is read off the figure that matplotlib draws, so that the picture and the page cannot tell different
things, and everything that draws itself has it for nothing.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.category import StrCategoryFormatter
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FuncFormatter

from perf_views.colours import DARK
from perf_views.pictures.figures import cells_of, labelled_marks
from perf_views.short_names import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_RULES = 500  # of a panel
_LETTERS = 120  # of a name
_DIGITS, _MOST_DIGITS = 6, 15
_NUMBER = re.compile(r"[-+\u2212]?[0-9][0-9,]*(\.[0-9]*)?(e[-+]?[0-9]+)? ?%?")


def described_panels(figure: Figure, most_places: int) -> list[dict[str, Any]]:
    """Panels of a figure that has been drawn once."""
    panels = []
    figure.set_dpi(72)  # as SVG has it, in whose units texts were measured
    for axes in figure.findobj(Axes):
        if not axes.axison or axes.name != "rectilinear" or not axes.get_visible():
            continue
        marks = _marks(axes, most_places)
        if marks:
            box = _placed(figure, axes.get_window_extent())
            ticks = [_tick_box(figure, axis) for axis in (axes.xaxis, axes.yaxis)]
            x, y = (_axis(axes, name) for name in "xy")
            panels.append({"box": box, "ticks": ticks, "x": x, "y": y, "marks": marks, "rules": _rules(axes)})
    return panels


def _marks(axes: Axes, most_places: int) -> list[dict[str, Any]]:
    marks = []
    for artist, label, numbers in labelled_marks(axes):
        if isinstance(artist, Rectangle):  # see the bars below
            continue
        if isinstance(artist, AxesImage):
            marks += _cells(artist, label, most_places)
            continue
        rows = [row for row in numbers if all(value is None or math.isfinite(value) for value in row[1:])]
        if not rows or not artist.get_visible():
            continue
        rows = _thinned(rows, most_places)
        columns = {name: _column([row[k] for row in rows]) for k, name in enumerate(("x", "y", "low", "high"), 1)}
        colour, opacity = _colour(artist)
        name = shortened(label, _LETTERS) if label else ""
        kind, has_dots = rows[0][0], getattr(artist, "get_marker", lambda: "None")() not in ("None", "", " ", None)
        marks.append(
            {"kind": kind, "name": name, "colour": colour, "opacity": opacity, "dots": bool(has_dots), **columns}
        )  # fmt: skip
    bars = (each for each in axes.containers if isinstance(each, BarContainer) and each.patches)
    return marks + [_bars(each, most_places) for each in bars]


def _thinned(rows: list[Any], most: int) -> list[Any]:
    """The ends, and the lowest and the highest of each stretch of rows, so that no peak is lost."""
    if len(rows) <= most:
        return rows
    lows, highs = (np.array([[v for v in row[2:] if v is not None] for row in rows]).T[k] for k in (0, -1))
    stretches = np.array_split(np.arange(len(rows)), most // 2)
    kept = {int(part[pick]) for part in stretches for pick in (np.argmin(lows[part]), np.argmax(highs[part]))}
    return [rows[k] for k in sorted(kept | {0, len(rows) - 1})]


def _bars(bars: BarContainer, most_places: int) -> dict[str, Any]:
    """Bars of one name: their edges, and along which axis their lengths say something."""
    boxes = [(*bar.get_xy(), bar.get_width(), bar.get_height()) for bar in bars.patches[:most_places]]
    label = str(bars.get_label())
    colours = [_colour(bar)[0] for bar in bars.patches[:most_places]]
    return {
        "kind": "bar",
        "name": "" if label.startswith("_") else shortened(label, _LETTERS),
        "colours": colours,
        "along": "x" if bars.orientation == "horizontal" else "y",
        "x": _column([left for left, _, _, _ in boxes]),
        "right": _column([left + width for left, _, width, _ in boxes]),
        "low": _column([bottom for _, bottom, _, _ in boxes]),
        "high": _column([bottom + height for _, bottom, _, height in boxes]),
    }


def _cells(image: AxesImage, label: str, most_places: int) -> list[dict[str, Any]]:
    """A heat map; none where it holds colours, or more cells than anybody points at."""
    x, y, values = cells_of(image)
    if not 0 < values.size <= most_places:
        return []
    colours = np.asarray(image.cmap(image.norm(np.ma.masked_invalid(values)))).reshape(-1, 4)[:, :3].tolist()
    numbers = [None if math.isnan(value) else value for value in values.ravel().tolist()]
    bar = image.colorbar
    return [
        {
            "kind": "cells",
            "name": shortened(label or (bar.ax.get_ylabel() if bar else ""), _LETTERS),
            "x": _column(x),
            "y": _column(y),
            "values": _column(numbers) or numbers,
            "colours": [to_hex((red, green, blue)) for red, green, blue in colours],
        }
    ]


def _column(values: list[Any]) -> list[float | None] | None:
    """Rounded as far as nobody sees; None where there is nothing in it."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    # Places far from zero and near to each other, such as times since 1970, need the digits that they share as well.
    spread, farthest = max(numbers) - min(numbers), max(map(abs, numbers))
    shared = math.ceil(math.log10(farthest) - math.log10(spread)) if 0.0 < spread < math.inf else 0
    digits = min(_DIGITS + shared, _MOST_DIGITS)
    return [None if value is None else float(f"{value:.{digits}g}") for value in values]


def _colour(artist: Any) -> tuple[str, float]:
    """Of a line, of the faces of an area, or else of its edges."""
    for name in ("get_color", "get_facecolor", "get_edgecolor"):
        colour = getattr(artist, name, lambda: None)()
        if colour is None:
            continue
        if not isinstance(colour, str) and np.ndim(colour) == 2:
            colour = colour[0] if len(colour) else None
        if colour is None or (not isinstance(colour, str) and len(colour) == 4 and colour[3] == 0.0):
            continue
        alpha = artist.get_alpha()
        if alpha is None or np.ndim(alpha):
            alpha = colour[3] if not isinstance(colour, str) and len(colour) == 4 else 1.0
        return to_hex(colour), float(alpha)
    return DARK, 1.0


def _axis(axes: Axes, name: str) -> dict[str, Any]:
    axis = axes.xaxis if name == "x" else axes.yaxis
    start, end = (float(each) for each in axis.get_view_interval())
    if axis.get_inverted():
        start, end = max(start, end), min(start, end)
    description: dict[str, Any] = {
        "scale": axis.get_scale(), "from": start, "to": end, "label": shortened(axis.get_label_text(), _LETTERS),
    }  # fmt: skip
    texts = [label.get_text() for label in axis.get_ticklabels()]
    places = [float(place) for place in axis.get_ticklocs()]
    if _are_names(axis.get_major_formatter(), texts, places):
        description["names"] = [[tick, shortened(text, _LETTERS)] for tick, text in zip(places, texts, strict=False)]
    return description


def _are_names(formatter: Any, texts: list[str], places: list[float]) -> bool:
    """Whether ticks name what stands there, such as codes, and are no numbers of a scale."""
    if not isinstance(formatter, (FixedFormatter, FuncFormatter, StrCategoryFormatter)):
        return False
    return all(place.is_integer() for place in places) and any(text and not _NUMBER.fullmatch(text) for text in texts)


def _rules(axes: Axes) -> list[tuple[str, float]]:
    """Lines across the whole panel, such as targets and breakpoints."""
    rules: list[tuple[str, float]] = []
    across = (("x", axes.get_xaxis_transform(), 0), ("y", axes.get_yaxis_transform(), 1))
    for line in axes.lines:
        places = np.asarray(line.get_xydata(), dtype=np.float64)
        rules += [
            (name, float(places[0, coordinate]))
            for name, transform, coordinate in across
            if line.get_transform() == transform and len(places)
        ]
    for area in axes.collections:
        if isinstance(area, LineCollection):
            ends = [np.asarray(part) for part in area.get_segments() if len(part)]
            rules += [
                (name, float(part[0, coordinate]))
                for name, transform, coordinate in across
                if area.get_transform() == transform
                for part in ends
            ]
    return rules[:_MOST_RULES]


def _tick_box(figure: Figure, axis: Any) -> list[float] | None:
    """Around the labels of the ticks; None where there are none."""
    boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]
    if not boxes:
        return None
    return _placed(figure, boxes[0].union(boxes))


def _placed(figure: Figure, box: Any) -> list[float]:
    """Left, top, right and bottom as parts of the figure, from its upper left corner."""
    width, height = figure.bbox.width, figure.bbox.height
    corners = box.x0 / width, 1.0 - box.y1 / height, box.x1 / width, 1.0 - box.y0 / height
    return [round(float(corner), 5) for corner in corners]
