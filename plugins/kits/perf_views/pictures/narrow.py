"""A picture for a narrow place, such as the screen of a telephone: panels below one another, all text of one size."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.category import StrCategoryLocator
from matplotlib.ticker import FixedLocator

from perf_views.pictures.fitting import fit_texts, move_legends, thin_out_ticks
from perf_views.pictures.style import add_legend, set_text_size
from perf_views.short_names import shortened_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["narrowed"]

_BESIDE = 5.0  # inches: so wide a picture keeps panels beside one another
_LOWER = 0.7  # of the height of a panel, since it is that much narrower
_NAME, _FRAME, _LINE = 0.145, 0.75, 0.19  # inches: a name beside the axis, title and labels of a panel, a legend's line
_MOST_NAMES = 0.33  # of the width, for names beside the axis
_FEWEST_LETTERS = 6
_LETTER = 0.6  # of the height of a letter, its width
_BESIDE_NAME = 5  # letters wide, the sign before a name in a legend
_LOWER_SIDE = (3, 4, 8)  # how matplotlib calls the places of a legend that stands upon its anchor
_MOST_TEXTS = 8  # within a panel, such as the numbers of a table: more run into one another


def narrowed(figure: Figure, width: float, points: float) -> bool:
    """Draw a picture that was made for a page anew for a narrow place.

    Parameters
    ----------
    figure : matplotlib Figure
        With everything that is drawn.
    width : float, inches
    points : float
        Size of all text.

    Returns
    -------
    bool
        Whether that can be; else the figure is as it was. A picture of pictures cannot, nor a table drawn as a picture.
    """
    colour_bars = [axes for axes in figure.axes if hasattr(axes, "_colorbar_info")]
    panels = [axes for axes in figure.axes if axes not in colour_bars]
    if figure.subfigs or not panels or max(len(axes.texts) for axes in panels) > _MOST_TEXTS:
        return False
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    places = _places(panels)
    is_below = width < _BESIDE or len(places) == 1
    heights = [_height(axes, figure) for axes, *_ in places.values()]
    if is_below:
        grid = figure.add_gridspec(len(places), 1, height_ratios=heights)
        for row, members in enumerate(places.values()):
            for axes in members:
                axes.set_subplotspec(grid[row, 0])
    set_text_size(figure, points)
    figure.set_size_inches(width, sum(heights) if is_below else figure.get_figheight())
    for axes in panels:
        _shorten_names(axes, _MOST_NAMES * width * 72.0 / points)
    _join_legends(figure, points)
    if figure._suptitle is not None:  # type: ignore[attr-defined]
        lines = textwrap.wrap(figure.get_suptitle(), int(width * 72.0 / (_LETTER * points)))
        figure.suptitle("\n".join(lines), fontsize=points)
    fit_texts(figure)
    for axes in panels:
        _turn_crowded(axes)
    move_legends(figure, may_grow=True)
    thin_out_ticks(figure)
    height = figure.get_figheight() + sum(map(_lines, figure.legends)) * _LINE
    figure.set_size_inches(width, height)
    return True


def _places(panels: list[Axes]) -> dict[tuple[float, float], list[Axes]]:
    """Panels by where they stand, from top to bottom and from left to right; several share a place."""
    places: dict[tuple[float, float], list[Axes]] = {}
    for axes in panels:
        box = axes.get_position(original=True)
        places.setdefault((-round(box.y1, 3), round(box.x0, 3)), []).append(axes)
    return dict(sorted(places.items()))


def _height(axes: Axes, figure: Figure) -> float:
    """Inches of a panel with its labels: names beside the axis need a line each."""
    drawn = axes.get_position(original=True).height * figure.get_figheight()
    names = len(axes.get_yticks()) if _has_names(axes.yaxis) else 0
    return max(_LOWER * drawn, _NAME * names) + _FRAME


def _shorten_names(axes: Axes, room: float) -> None:
    """Names beside the vertical axis that would leave no room for what is drawn; room is in heights of letters."""
    if not _has_names(axes.yaxis):
        return
    names = [label.get_text() for label in axes.get_yticklabels()]
    most = max(int(room / _LETTER), _FEWEST_LETTERS)
    if max(map(len, names), default=0) > most:
        axes.set_yticks(axes.get_yticks(), shortened_apart(names, most), parse_math=False)


def _join_legends(figure: Figure, points: float) -> None:
    """One legend below the panels for those of the whole picture and those above panels, where titles are."""
    above = [legend for axes in figure.axes if (legend := axes.get_legend()) is not None and _is_above(legend, axes)]
    legends = [*figure.legends, *above]
    if not legends:
        return
    handles: list[Any] = [handle for legend in legends for handle in legend.legend_handles]
    names = [text.get_text() for legend in legends for text in legend.get_texts()]
    # As many columns as there may be room for: each that is one too many costs a drawing of all.
    room = figure.get_figwidth() * 72.0 / (_LETTER * points)
    columns = max(1, min(len(names), int(room / (max(map(len, names)) + _BESIDE_NAME))))
    for legend in legends:
        legend.remove()
    add_legend(figure, names, handles, loc="outside lower center", ncols=columns, fontsize=points, frameon=False)


def _is_above(legend: Legend, axes: Axes) -> bool:
    return legend.get_bbox_to_anchor().y0 >= axes.bbox.y1 - 1.0 and legend._loc in _LOWER_SIDE  # type: ignore[attr-defined]


def _turn_crowded(axes: Axes) -> None:
    """Names below a panel, or texts within it, that run into one another, upright."""
    below = [label for label in axes.get_xticklabels() if label.get_text()] if _has_names(axes.xaxis) else []
    for texts in (below, axes.texts):
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.x0)
        if any(left.overlaps(right) for left, right in itertools.pairwise(boxes)):
            for text in texts:
                text.set_rotation(90)


def _has_names(axis: Axis) -> bool:
    return isinstance(axis.get_major_locator(), (FixedLocator, StrCategoryLocator))


def _lines(legend: Legend) -> int:
    columns = legend._ncols  # type: ignore[attr-defined]
    return int(np.ceil(len(legend.get_texts()) / max(columns, 1)))
