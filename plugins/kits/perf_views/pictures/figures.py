"""What a picture shows, in numbers: points, lines, bands, steps, bars and cells as drawn, as a table or by panel."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryFormatter
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import FigureBase
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.ticker import FixedFormatter, FuncFormatter

from perfcore.base.files import write_bytes

COLUMNS = ("panel", "kind", "label", "x", "y", "low", "high", "x_axis", "y_axis", "x_name", "y_name")
_HALF = 0.5  # of a step between two names of an axis: bars of one name stand side by side about it


def write_figures(figures: list[tuple[Any, ...]], path: str | os.PathLike[str]) -> None:
    """Write what a picture shows, the rows of `drawn_figures`, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(figures)
    write_bytes(path, text.getvalue().encode())


def drawn_figures(figure: FigureBase) -> list[tuple[Any, ...]]:
    """Every number of a picture that stands in the units of its axes.

    Lines that cross a whole panel, such as a target's, are left out; what cannot be drawn, such as a nan, too.
    """
    rows = []
    for number, axes in enumerate(figure.findobj(Axes), 1):
        titles = (axes.get_title(side).split("\n")[0] for side in ("left", "center"))
        panel = next(filter(None, titles), str(number))
        labels = [_label_along(axes, side).replace("\n", "; ") for side in "xy"]
        ticks = [_tick_names(axis) for axis in (axes.xaxis, axes.yaxis)]
        for _, label, numbers in labelled_marks(axes):
            for kind, *where in numbers:
                texts = ["" if value is None else f"{value:.9g}" for value in where]
                if not any(value in ("nan", "inf", "-inf") for value in texts):
                    names = (_name_there(place, named) for place, named in zip(where[:2], ticks, strict=True))
                    rows.append((panel, kind, label, *texts, *labels, *names))
    return rows


def _label_along(axes: Axes, side: str) -> str:
    """What an axis says; of panels with a common horizontal axis only some at the edges may say it for all."""
    labels: list[str] = [getattr(axes, f"get_{side}label")()]
    place = axes.get_subplotspec()
    for beside in axes.get_shared_x_axes().get_siblings(axes):
        other = beside.get_subplotspec()
        if side == "x" or (place is not None and other is not None and other.rowspan == place.rowspan):
            labels.append(getattr(beside, f"get_{side}label")())
    return next(filter(None, labels), "")


def _tick_names(axis: Axis) -> dict[float, str]:
    """Names of places on an axis, such as those of codes; none of an axis of numbers."""
    if not isinstance(axis.get_major_formatter(), (FixedFormatter, FuncFormatter, StrCategoryFormatter)):
        return {}
    texts = (label.get_text().strip().replace("\n", "; ") for label in axis.get_majorticklabels())
    ticks = {float(place): text for place, text in zip(axis.get_majorticklocs(), texts, strict=False)}
    are_names = all(place.is_integer() for place in ticks)
    return {place: text for place, text in ticks.items() if text != f"{place:g}"} if are_names else {}


def _name_there(place: float | None, named: dict[float, str]) -> str:
    if place is None or not named:
        return ""
    nearest = min(named, key=lambda tick: abs(tick - place))
    return named[nearest] if abs(nearest - place) < _HALF else ""


def labelled_marks(axes: Axes) -> Iterator[tuple[Any, str, Iterator[_Number]]]:
    """What is drawn in a panel: the artist, its name or nothing, and its numbers (kind, x, y, low, high)."""
    labels = _labels_of_error_bars(axes) | _labels_of_bars(axes)
    for artist, numbers in _numbers(axes):
        label = labels.get(artist, str(artist.get_label()))
        yield artist, "" if label.startswith("_") else label, numbers


_Number = tuple[str, float, float | None, float | None, float | None]


def _numbers(axes: Axes) -> Iterator[tuple[Any, Iterator[_Number]]]:
    """Artists of a panel with what they show: kind, x, y, low and high."""
    caps = {cap for bars in _error_bars(axes) for cap in bars.lines[1]}
    for line in axes.lines:
        if line.get_transform() == axes.transData and line not in caps:
            kind = "points" if line.get_linestyle() in ("None", "", " ") else "line"
            places = np.asarray(line.get_xydata(), dtype=np.float64).tolist()
            yield line, ((kind, x, y, None, None) for x, y in places)
    for area in axes.collections:
        if isinstance(area, PolyCollection):
            corners = [np.asarray(path.vertices) for path in area.get_paths()]
            yield area, itertools.chain.from_iterable(map(_band, corners))
        elif isinstance(area, LineCollection) and area.get_transform() == axes.transData:
            yield (
                area,
                (
                    ("error", float(part[:, 0].mean()), None, float(part[:, 1].min()), float(part[:, 1].max()))
                    for part in area.get_segments()
                    if len(part) and np.ptp(part[:, 0]) == 0.0
                ),
            )
        elif isinstance(area, PathCollection):
            yield area, (("points", x, y, None, None) for x, y in np.ma.filled(area.get_offsets(), np.nan).tolist())
    bars = (each for each in axes.containers if isinstance(each, BarContainer))
    horizontal = {patch for each in bars if each.orientation == "horizontal" for patch in each}
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            heights, edges, baseline = patch.get_data()
            lows = np.broadcast_to(np.nan if baseline is None else baseline, heights.shape)  # type: ignore[redundant-expr]
            yield (
                patch,
                (
                    ("step", x, y, None if np.isnan(low) else low, y)
                    for x, y, low in zip(edges[:-1].tolist(), heights.tolist(), lows.tolist(), strict=True)
                ),
            )
        elif isinstance(patch, Rectangle) and patch.get_transform() - axes.transData == patch.get_patch_transform():
            x, y = patch.get_center()
            right, top = patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height()
            if patch in horizontal:
                yield patch, iter((("horizontal bar", right, y, patch.get_x(), right),))
            else:
                yield patch, iter((("bar", x, top, patch.get_y(), top),))
    for image in axes.images:
        x, y, values = cells_of(image)
        yield image, (("cell", x[k], y[j], value, value) for (j, k), value in np.ndenumerate(values))


def cells_of(image: AxesImage) -> tuple[list[float], list[float], npt.NDArray[np.float64]]:
    """Middles of the columns and of the rows of a heat map, and its values, nan where there is none."""
    values = image.get_array()
    if values is None or values.ndim != 2:
        return [], [], np.empty((0, 0))
    left, right, bottom, top = image.get_extent()
    first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    n_rows, n_columns = values.shape
    x = left + (right - left) * (np.arange(n_columns) + 0.5) / n_columns
    y = first + (last - first) * (np.arange(n_rows) + 0.5) / n_rows
    return x.tolist(), y.tolist(), np.ma.filled(values.astype(np.float64), np.nan)


def _error_bars(axes: Axes) -> list[ErrorbarContainer]:
    return [each for each in axes.containers if isinstance(each, ErrorbarContainer)]


def _labels_of_error_bars(axes: Axes) -> dict[Any, str]:
    """Names of points and bars that were drawn together, which hold none of their own."""
    bars = _error_bars(axes)
    return {
        part: str(bar.get_label())
        for bar in bars
        for part in (bar.lines[0], *bar.lines[2])
        if part is not None  # type: ignore[redundant-expr]
    }


def _labels_of_bars(axes: Axes) -> dict[Any, str]:
    """Names of bars that were drawn together; those of a histogram have theirs at the first."""
    labels: dict[Any, str] = {}
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and bars.patches:
            name, first = str(bars.get_label()), str(bars.patches[0].get_label())
            labels |= dict.fromkeys(bars.patches, first if name.startswith("_") else name)
    return labels


def _band(corners: np.ndarray[Any, Any]) -> Iterator[_Number]:
    """Lowest and highest corner at each place."""
    places, which = np.unique(corners[:, 0], return_inverse=True)
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.minimum.at(low, which.ravel(), corners[:, 1])
    np.maximum.at(high, which.ravel(), corners[:, 1])
    for x, lowest, highest in zip(places.tolist(), low.tolist(), high.tolist(), strict=True):
        yield ("band", x, None, lowest, highest)
