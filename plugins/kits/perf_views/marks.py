"""Declared plots (`perfcore.report.Plot`) drawn by matplotlib: files, notebooks and ``plot(ax=)``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from perf_views import colours
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MOST_VECTORS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    set_logarithmic,
    set_plain,
)
from perfcore.base.arrays import Floats
from perfcore.data.units import DAY_NS, NANOSECONDS
from perfcore.report import Axis, Band, Bars, Line, Mark, Plot, Points, Rule, Spans, Steps, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {
    "data": colours.INK, "model": colours.MODEL, "accent": colours.SERIES[0], "muted": colours.RULE,
    "dark": colours.DARK, "faint": colours.FAINT, "good": colours.GOOD, "careful": colours.CAREFUL,
    "found": colours.FOUND, "paper": colours.PAPER,
}  # fmt: skip
Scaling = Callable[[Any], Floats]  # turns values of marks into places on an axis, in the unit that is shown
_STYLES = {"solid": "-", "dashed": "--", "dotted": ":"}
_SHAPES = {"circle": "o", "diamond": "D", "square": "s", "triangle": "^", "cross": "x", "bar": "|"}
MOST_POINTS = 1000  # of a line or a step function; longer ones come in bins of the window that is shown
_RANGES, _MEANS = MOST_POINTS, 250  # bins of their extremes and of their means
_USUAL_HEIGHT, _PAGE_WIDTH = 3.1, 11.0  # inches, of plots and of the picture
_AXIS_LETTERS = 44  # of the label of an axis
_TOP = 0.965  # height of texts at the top of a plot, as a share


def colour_of(name: str) -> str:
    """Return the colour that a name means (`perfcore.report.Colour`), as matplotlib and pages take it."""
    kind, colon, which = name.partition(":")
    if not colon:
        return _COLOURS[name]
    if kind == "size":
        return colours.size_colour(float(which))
    if kind in ("class", "pale"):
        return colours.CLASS_COLOURS[which] if kind == "class" else colours.pale(colours.CLASS_COLOURS[which])
    cycle = {"series": colours.SERIES, "area": colours.AREAS, "step": colours.STEPS}[kind]
    return cycle[int(which) % len(cycle)]


def draw_plots(figure: Figure, plots: Sequence[Plot], title: str = "") -> None:
    """Lay plots out in rows."""
    usual = {1: 1.0, 2: 0.5, 4: 0.5}.get(len(plots), 1.0 / 3.0)
    heights: list[float] = []
    places: list[tuple[int, float, float]] = []  # row, and the ends within it
    end = 1.0
    for plot in plots:
        width = plot.width or usual
        start = 0.0 if end + width > 1.01 else end
        end = round(start + width, 2)
        end = 1.0 if end > 0.98 else end  # as three thirds are
        heights = [*heights, 0.0] if start == 0.0 else heights
        heights[-1] = max(heights[-1], plot.height)
        places.append((len(heights) - 1, start, end))
    if len(heights) > 1 or heights[0]:
        heights = [height or _USUAL_HEIGHT for height in heights]
        figure.set_size_inches(_PAGE_WIDTH, sum(heights) + 0.4)
    else:
        heights = [1.0]
    edges = sorted({0.0, *(edge for _, *ends in places for edge in ends)})  # no more columns than these, for labels
    widths = [after - before for before, after in itertools.pairwise(edges)]
    grid = figure.add_gridspec(len(heights), len(widths), height_ratios=heights, width_ratios=widths)
    for (row, start, end), plot in zip(places, plots, strict=True):
        draw_plot(plot, figure.add_subplot(grid[row, edges.index(start) : edges.index(end)]))
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)


def draw_plot(plot: Plot, axes: Axes) -> None:
    """Draw a plot into axes of any size."""
    set_plain(axes)
    units = (unit_of(axis, plot.marks, name)[0] for axis, name in ((plot.x, "x"), (plot.y, "y")))
    x, y = (functools.partial(np.multiply, unit, dtype=np.float64) for unit in units)
    for mark in thinned(plot.marks):
        _DRAW[type(mark)](axes, mark, x, y)
    _set_axis(axes, "x", plot.x, plot.marks)
    _set_axis(axes, "y", plot.y, plot.marks)
    if plot.title:
        axes.set_title(plot.title, fontsize=SMALL_POINTS, loc="left", parse_math=False)
    handles, names = axes.get_legend_handles_labels()
    if names and plot.legend:
        by_name = dict(zip(names, handles, strict=True))
        add_legend(axes, list(by_name), list(by_name.values()), fontsize=SMALL_POINTS)


def is_long(plot: Plot) -> bool:
    """Return whether a plot has lines that come in bins of the window that is shown."""
    return any(map(_is_long, plot.marks))


def _is_long(mark: Mark) -> bool:
    if isinstance(mark, Steps):
        return len(mark.values) > MOST_POINTS and not mark.is_filled
    return isinstance(mark, Line) and len(mark.x) > MOST_POINTS


def thinned(marks: Sequence[Mark], window: tuple[float, float] | None = None) -> list[Mark]:
    """Return marks, of which long lines and steps are ranges and means in bins of a window of the x axis."""
    drawn: list[Mark] = []
    for mark in marks:
        if not _is_long(mark) or not isinstance(mark, (Steps, Line)):
            drawn.append(mark)
            continue
        x = np.asarray(mark.edges if isinstance(mark, Steps) else mark.x, float)
        values = np.asarray(mark.values if isinstance(mark, Steps) else mark.y, float)
        edges = x if isinstance(mark, Steps) else np.r_[x, x[-1:]]
        borders, low, high, _ = _binned(edges, values, window, _RANGES)
        cuts, *_, mean = _binned(edges, values, window, _MEANS if (low != high).any() else _RANGES)
        names = [f"{mark.label}, range", f"{mark.label}, mean"] if mark.label else ["", ""]
        corners = np.repeat(borders, 2)[1:-1]
        drawn += [
            Band(corners, np.repeat(low, 2), np.repeat(high, 2), names[0], mark.colour, 0.25),
            Line(np.repeat(cuts, 2)[1:-1], np.repeat(mean, 2), names[1], mark.colour, width=1.0),
        ]
    return drawn


def _binned(
    edges: Floats, values: Floats, window: tuple[float, float] | None, n_bins: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the edges of bins, and lowest, highest and mean value in each; single steps if the window has few."""
    first, last = 0, len(values)
    if window is not None:
        first = max(int(np.searchsorted(edges, window[0], "right")) - 1, 0)
        last = min(max(int(np.searchsorted(edges, window[1], "left")), first + 1), len(values))
    part = values[first:last]
    if last - first <= n_bins:
        return edges[first : last + 1], part, part, part
    cuts = np.linspace(edges[first], edges[last], n_bins + 1)[:-1]
    offsets = np.unique(np.clip(np.searchsorted(edges[first:last], cuts, side="right") - 1, 0, last - first - 1))
    durations = np.diff(edges[first : last + 1])
    total, area = np.add.reduceat(durations, offsets), np.add.reduceat(part * durations, offsets)
    count = np.diff(np.r_[offsets, last - first])
    mean = np.where(total > 0, area / np.where(total > 0, total, 1.0), np.add.reduceat(part, offsets) / count)
    return (
        np.r_[edges[first + offsets], edges[last]], np.minimum.reduceat(part, offsets),
        np.maximum.reduceat(part, offsets), mean,
    )  # fmt: skip


def unit_of(axis: Axis, marks: Sequence[Mark], name: str) -> tuple[float, str]:
    """Return the factor to the unit that an axis shows, and the unit; times choose theirs by the longest."""
    if axis.scale != "time":
        return 1.0, axis.unit
    ends = [found if end is None else end for end, found in zip(axis.limits, extent(marks, name), strict=True)]
    return readable_unit(max(abs(end) for end in ends), axis.unit or "ns")


def label_of(axis: Axis, unit: str) -> str:
    """Return the label of an axis: quantity and unit."""
    label = shortened(axis.label or unit, _AXIS_LETTERS)
    return f"{label} [{unit}]" if unit and axis.label else label


def readable_unit(longest: float, time_unit: str) -> tuple[float, str]:
    """Return the factor to the unit in which the longest of durations is at least 1, as tables write it, and it."""
    amount = abs(longest) * NANOSECONDS[time_unit]
    if amount >= 2 * DAY_NS:
        return NANOSECONDS[time_unit] / DAY_NS, "d"
    unit = next((name for name in ("s", "ms", "us") if amount >= NANOSECONDS[name]), "ns")
    return NANOSECONDS[time_unit] / NANOSECONDS[unit], "µs" if unit == "us" else unit


def extent(marks: Sequence[Mark], name: str, is_log: bool = False) -> tuple[float, float]:
    """Return the smallest and largest finite value of marks on an axis, of a log one above 0; 0 and 1 without any."""
    attributes = {
        "x": ("x", "edges", "starts", "ends", "left", "right"),
        "y": ("y", "low", "high", "values", "bottoms", "tops"),
    }[name]
    parts = [
        np.asarray(values, dtype=np.float64).ravel()
        for mark in marks
        for attribute in attributes
        if len(values := getattr(mark, attribute, ())) and not isinstance(values, str)
    ]
    values = np.concatenate(parts) if parts else np.array([0.0, 1.0])
    values = values[np.isfinite(values) & ((values > 0.0) | (not is_log))]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def _set_axis(axes: Axes, name: str, axis: Axis, marks: Sequence[Mark]) -> None:
    factor, unit = unit_of(axis, marks, name)
    limits = tuple(None if end is None else end * factor for end in axis.limits)
    set_label = axes.set_xlabel if name == "x" else axes.set_ylabel
    set_label(label_of(axis, unit), fontsize=LABEL_POINTS, parse_math=False)
    set_limits, get_limits = (axes.set_xlim, axes.get_xlim) if name == "x" else (axes.set_ylim, axes.get_ylim)
    part = axes.xaxis if name == "x" else axes.yaxis
    if axis.scale == "log":
        low, high = (given if given is not None else end for given, end in zip(limits, get_limits(), strict=True))
        if limits == (None, None):
            # Of lines and points: a band may reach down to 0, which has no place on the axis.
            smallest, largest = extent([m for m in marks if not isinstance(m, Band)] or marks, name, is_log=True)
            low, high = (smallest / 1.15, largest * 1.15) if smallest > 0.0 else (low, high)
        set_logarithmic(axes, name, low, high, base=axis.base)
    elif limits != (None, None):
        set_limits(*limits)
    if axis.scale == "category":
        places = [int(tick) for tick in axis.ticks] or range(len(axis.names))
        part.set_ticks(places, [shortened(axis.names[k], 40) for k in places], fontsize=SMALL_POINTS)
        set_limits(-0.6, len(axis.names) - 0.4)
    elif len(axis.ticks):
        part.set_ticks(list(axis.ticks))
    if axis.format and axis.scale != "category":
        part.set_major_formatter(lambda value, _: f"{value:{axis.format}}")
    if axis.is_reversed:
        set_limits(*get_limits()[::-1])


def _colours(mark: Any) -> Any:
    return colour_of(mark.colour) if isinstance(mark.colour, str) else [colour_of(name) for name in mark.colour]


def _draw_line(axes: Axes, mark: Line, x: Scaling, y: Scaling) -> None:
    style: dict[str, Any] = {"color": _colours(mark), "linestyle": _STYLES[mark.style], "linewidth": mark.width}
    axes.plot(x(mark.x), y(mark.y), label=mark.label or None, **style)


def _draw_points(axes: Axes, mark: Points, x: Scaling, y: Scaling) -> None:
    places, values = x(mark.x), y(mark.y)
    errors: dict[str, Any] = {}
    if len(mark.low):
        errors["yerr"] = np.maximum([values - y(mark.low), y(mark.high) - values], 0.0)
    if len(mark.left):
        errors["xerr"] = np.maximum([places - x(mark.left), x(mark.right) - places], 0.0)
    colour = _colours(mark)
    if errors:
        axes.errorbar(places, values, **errors, fmt="none", ecolor=colour, elinewidth=0.8, capsize=2.0, zorder=3)
    axes.plot(
        places, values, _SHAPES[mark.shape], color=colour, markersize=mark.size, label=mark.label or None, zorder=3,
        markerfacecolor=colour if mark.is_filled else "none", rasterized=len(places) > MOST_VECTORS,
    )  # fmt: skip


def _draw_band(axes: Axes, mark: Band, x: Scaling, y: Scaling) -> None:
    style: dict[str, Any] = {"color": _colours(mark), "alpha": mark.opacity, "linewidth": 0.0}
    axes.fill_between(x(mark.x), y(mark.low), y(mark.high), label=mark.label or None, **style)


def _draw_bars(axes: Axes, mark: Bars, x: Scaling, y: Scaling) -> None:
    along = x if mark.is_horizontal else y
    values, base = along(mark.values), along(mark.base)
    style: dict[str, Any] = {"color": _colours(mark), "label": mark.label or None}
    if len(mark.low):
        ends = base + values
        style["xerr" if mark.is_horizontal else "yerr"] = np.maximum(
            [ends - along(mark.low), along(mark.high) - ends], 0.0
        )
        style["error_kw"] = {"elinewidth": 0.8, "capsize": 2.0}
    draw: Callable[..., Any] = axes.barh if mark.is_horizontal else axes.bar
    drawn = draw(np.asarray(mark.places), values, mark.width, base, **style)
    if len(mark.texts):
        axes.bar_label(drawn, labels=list(mark.texts), fontsize=TINY_POINTS, padding=2)


def _draw_steps(axes: Axes, mark: Steps, x: Scaling, y: Scaling) -> None:
    base: Any = (y(mark.base) if np.ndim(mark.base) else mark.base) if mark.is_filled else None
    style: dict[str, Any] = {"linewidth": 0.0 if mark.is_filled else mark.width, "fill": mark.is_filled}
    axes.stairs(y(mark.values), x(mark.edges), baseline=base, color=_colours(mark), label=mark.label or None, **style)


def _draw_spans(axes: Axes, mark: Spans, x: Scaling, y: Scaling) -> None:
    starts, ends = x(mark.starts), x(mark.ends)
    has_lanes = len(mark.bottoms) > 0
    bottoms, tops = (y(mark.bottoms), y(mark.tops)) if has_lanes else (np.zeros(len(starts)), np.ones(len(starts)))
    corners = np.stack([np.stack([starts, ends, ends, starts], 1), np.stack([bottoms, bottoms, tops, tops], 1)], 2)
    where: dict[str, Any] = {} if has_lanes else {"transform": axes.get_xaxis_transform()}
    style: dict[str, Any] = {"facecolors": _colours(mark), "alpha": mark.opacity, "linewidths": 0.0}
    axes.add_collection(PolyCollection(list(corners), label=mark.label or None, **style, **where), autolim=has_lanes)
    axes.update_datalim(np.stack([np.r_[starts, ends], np.r_[bottoms, tops]], 1), updatey=has_lanes)
    axes.autoscale_view()


def _draw_text(axes: Axes, mark: Text, x: Scaling, y: Scaling) -> None:
    at_top = isinstance(mark.y, str)
    heights = np.full(len(mark.x), _TOP) if at_top else y(mark.y)
    where: dict[str, Any] = {"transform": axes.get_xaxis_transform()} if at_top else {}
    style: dict[str, Any] = {"color": _colours(mark), "ha": mark.align, "va": "top" if at_top else "center"}
    for place, height, text in zip(x(mark.x).tolist(), heights.tolist(), mark.texts, strict=True):
        axes.text(place, height, text, fontsize=mark.size, clip_on=True, parse_math=False, **style, **where)


def _draw_rule(axes: Axes, mark: Rule, x: Scaling, y: Scaling) -> None:
    style: dict[str, Any] = {"color": _colours(mark), "linestyle": _STYLES[mark.style], "linewidth": 0.9}
    if mark.slope is not None:
        axes.axline(mark.point, slope=mark.slope, label=mark.label or None, **style)
    draw, scaled = (axes.axvline, x) if mark.axis == "x" else (axes.axhline, y)
    for number, place in enumerate(scaled(mark.places).tolist()):
        draw(place, label=None if number else mark.label or None, **style)


_DRAW: dict[type, Callable[[Any, Any, Scaling, Scaling], None]] = {
    Line: _draw_line, Points: _draw_points, Band: _draw_band, Bars: _draw_bars, Steps: _draw_steps,
    Spans: _draw_spans, Text: _draw_text, Rule: _draw_rule,
}  # fmt: skip
