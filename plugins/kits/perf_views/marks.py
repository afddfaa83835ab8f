"""Declared plots (`perfcore.report.Plot`) drawn by matplotlib: files, notebooks and ``plot(ax=)``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_views.colours import (
    AREAS,
    CAREFUL,
    CLASS_COLOURS,
    DARK,
    FAINT,
    FOUND,
    GOOD,
    INK,
    MODEL,
    PAPER,
    RULE,
    SERIES,
    STEPS,
    pale,
    size_colour,
)
from perf_views.data_pictures import readable_unit
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MOST_VECTORS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    legend_below,
    set_logarithmic,
    set_plain,
)
from perfcore.base.arrays import Floats
from perfcore.report import Axis, Band, Bars, Line, Mark, Plot, Points, Report, Rule, Spans, Steps, Text
from perfcore.results import Panel, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "data": INK, "model": MODEL, "accent": SERIES[0], "muted": RULE, "dark": DARK, "faint": FAINT, "good": GOOD,
    "careful": CAREFUL, "found": FOUND, "paper": PAPER,
}  # fmt: skip
_STYLES = {"solid": "-", "dashed": "--", "dotted": ":"}
_SHAPES = {"circle": "o", "diamond": "D", "square": "s", "triangle": "^", "cross": "x", "bar": "|"}
_TOP = 0.965  # height of texts at the top of a plot, as a share


def colour_of(name: str) -> str:
    """The colour that a name means (`perfcore.report.Colour`), as matplotlib and pages take it.

    Examples
    --------
    >>> colour_of("model")
    '#D55E00'
    """
    kind, colon, which = name.partition(":")
    if not colon:
        return _COLOURS[name]
    if kind == "size":
        return size_colour(float(which))
    if kind in ("class", "pale"):
        return CLASS_COLOURS[which] if kind == "class" else pale(CLASS_COLOURS[which])
    colours = {"series": SERIES, "area": AREAS, "step": STEPS}[kind]
    return colours[int(which) % len(colours)]


def panels_of(report: Report) -> Panels:
    """What draws each plot of a report, by name."""
    return {plot.name: Panel(partial(draw_plot, plot), plot.height, plot.width) for plot in report.plots}


def heading_of(report: Report) -> str:
    """The title over all plots of a report, and what must be known to read them."""
    notes = "; ".join(plot.note for plot in report.plots if plot.note)
    return "\n".join([shortened(report.title, 110), *textwrap.wrap(notes, 150)])


def draw_plot(plot: Plot, axes: Axes) -> None:
    """Draw a plot into axes of any size."""
    set_plain(axes)
    x, y = (_scaling(axis, plot.marks, name) for axis, name in ((plot.x, "x"), (plot.y, "y")))
    for mark in plot.marks:
        _DRAW[type(mark)](axes, mark, x, y)
    _set_axis(axes, "x", plot.x, plot.marks)
    _set_axis(axes, "y", plot.y, plot.marks)
    if plot.title:
        axes.set_title(plot.title, fontsize=SMALL_POINTS, loc="left", parse_math=False)
    _add_legend(axes, plot)


Scaling = Callable[[Any], Floats]


def _scaling(axis: Axis, marks: Sequence[Mark], name: str) -> Scaling:
    """What turns values of marks into places on an axis: times are in the unit that is shown."""
    factor = _time_unit(axis, marks, name)[0] if axis.scale == "time" else 1.0
    return lambda values: np.asarray(values, dtype=np.float64) * factor


def _time_unit(axis: Axis, marks: Sequence[Mark], name: str) -> tuple[float, str]:
    ends = [found if end is None else end for end, found in zip(axis.limits, extent(marks, name), strict=True)]
    return readable_unit(max(abs(end) for end in ends), axis.unit or "ns")


def extent(marks: Sequence[Mark], name: str, is_log: bool = False) -> tuple[float, float]:
    """Smallest and largest finite value of marks on an axis, of a log one above 0; 0 and 1 without any."""
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
    unit = axis.unit
    if axis.scale == "time":
        factor, unit = _time_unit(axis, marks, name)
        limits = tuple(None if end is None else end * factor for end in axis.limits)
    else:
        limits = axis.limits
    label = f"{shortened(axis.label)} [{unit}]" if unit and axis.label else shortened(axis.label or unit)
    set_label = axes.set_xlabel if name == "x" else axes.set_ylabel
    set_label(label, fontsize=LABEL_POINTS, parse_math=False)
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


def _add_legend(axes: Axes, plot: Plot) -> None:
    handles, names = axes.get_legend_handles_labels()
    by_name = dict(zip(names, handles, strict=True))
    if not by_name or not plot.legend:
        return
    if plot.legend == "below":
        legend_below(axes)
    elif plot.legend == "above":
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1.0), "ncols": 5, "frameon": False}
        add_legend(axes, list(by_name), list(by_name.values()), fontsize=SMALL_POINTS, **place)
    else:
        add_legend(axes, list(by_name), list(by_name.values()), fontsize=TINY_POINTS)


def _label(mark: Any) -> str | None:
    return mark.label or None


def _colours(mark: Any) -> Any:
    return colour_of(mark.colour) if isinstance(mark.colour, str) else [colour_of(name) for name in mark.colour]


def _draw_line(axes: Axes, mark: Line, x: Scaling, y: Scaling) -> None:
    style: dict[str, Any] = {"color": _colours(mark), "linestyle": _STYLES[mark.style], "linewidth": mark.width}
    axes.plot(x(mark.x), y(mark.y), label=_label(mark), **style)


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
        places, values, _SHAPES[mark.shape], color=colour, markersize=mark.size, label=_label(mark), zorder=3,
        markerfacecolor=colour if mark.is_filled else "none", rasterized=len(places) > MOST_VECTORS,
    )  # fmt: skip


def _draw_band(axes: Axes, mark: Band, x: Scaling, y: Scaling) -> None:
    colour = _colours(mark)
    style: dict[str, Any] = {"color": colour, "alpha": mark.opacity, "linewidth": 0.0}
    axes.fill_between(x(mark.x), y(mark.low), y(mark.high), label=_label(mark), **style)


def _draw_bars(axes: Axes, mark: Bars, x: Scaling, y: Scaling) -> None:
    along = x if mark.is_horizontal else y
    values, base = along(mark.values), along(mark.base)
    style: dict[str, Any] = {"color": _colours(mark), "label": _label(mark)}
    if len(mark.low):
        ends = base + values
        style["xerr" if mark.is_horizontal else "yerr"] = np.maximum(
            [ends - along(mark.low), along(mark.high) - ends], 0.0
        )
        style["error_kw"] = {"elinewidth": 0.8, "capsize": 2.0}
    if mark.is_horizontal:
        drawn = axes.barh(np.asarray(mark.places), values, mark.width, base, **style)
    else:
        drawn = axes.bar(np.asarray(mark.places), values, mark.width, base, **style)
    if len(mark.texts):
        axes.bar_label(drawn, labels=list(mark.texts), fontsize=TINY_POINTS, padding=2)


def _draw_steps(axes: Axes, mark: Steps, x: Scaling, y: Scaling) -> None:
    base: Any = (y(mark.base) if np.ndim(mark.base) else mark.base) if mark.is_filled else None
    style: dict[str, Any] = {"linewidth": 0.0 if mark.is_filled else mark.width, "fill": mark.is_filled}
    axes.stairs(y(mark.values), x(mark.edges), baseline=base, color=_colours(mark), label=_label(mark), **style)


def _draw_spans(axes: Axes, mark: Spans, x: Scaling, y: Scaling) -> None:
    from matplotlib.collections import PolyCollection

    starts, ends = x(mark.starts), x(mark.ends)
    has_lanes = len(mark.bottoms) > 0
    bottoms, tops = (y(mark.bottoms), y(mark.tops)) if has_lanes else (np.zeros(len(starts)), np.ones(len(starts)))
    corners = np.stack([np.stack([starts, ends, ends, starts], 1), np.stack([bottoms, bottoms, tops, tops], 1)], 2)
    where: dict[str, Any] = {} if has_lanes else {"transform": axes.get_xaxis_transform()}
    style: dict[str, Any] = {"facecolors": _colours(mark), "alpha": mark.opacity, "linewidths": 0.0}
    axes.add_collection(PolyCollection(list(corners), label=_label(mark), **style, **where), autolim=has_lanes)
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
        axes.axline(mark.point, slope=mark.slope, label=_label(mark), **style)
    draw, scaled = (axes.axvline, x) if mark.axis == "x" else (axes.axhline, y)
    for number, place in enumerate(scaled(mark.places).tolist()):
        draw(place, label=None if number else _label(mark), **style)


_DRAW: dict[type, Callable[[Any, Any, Scaling, Scaling], None]] = {
    Line: _draw_line, Points: _draw_points, Band: _draw_band, Bars: _draw_bars, Steps: _draw_steps,
    Spans: _draw_spans, Text: _draw_text, Rule: _draw_rule,
}  # fmt: skip
