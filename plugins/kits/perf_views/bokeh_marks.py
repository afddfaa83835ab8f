"""Declared plots (`perfcore.report.Plot`) drawn by BokehJS: charts of pages and reports that respond to the pointer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from perf_views.colours import GRID, INK, RULE
from perf_views.marks import colour_of, is_long, label_of, thinned, unit_of
from perf_views.names import shortened
from perfcore.base.arrays import Floats
from perfcore.base.errors import MissingDependencyError
from perfcore.report import Axis, Band, Bars, Line, Plot, Points, Rule, Spans, Steps, Text

_INCH, _HEIGHT, _ROW, _FRAME = 100, 340, 24, 90  # pixels: of an inch, of a plot, of a name on its axis, around these
_LABEL, _TICK, _SMALL = "13px", "12px", "11px"
_NAME_LETTERS = 36  # of a name on an axis
_MOST_TICKS, _FEW_TICKS, _MOST_LETTERS = 16, 8, 60  # names below a plot, below a small one, letters side by side
_SHAPES = {"cross": "x", "bar": "dash"}  # others are called as they are
_PER_CENT = re.compile(r",?\.(\d)%")
_PIXELS = 4 / 3  # of a typographic point


def bokeh_script() -> str:
    """Return the script of BokehJS, from its wheel."""
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise MissingDependencyError("charts need Bokeh: pip install 'perfcore[view]'") from None
    return resources.files("bokeh").joinpath("server/static/js/bokeh.min.js").read_text(encoding="utf-8")


@dataclass
class _Chart:
    """A plot of BokehJS while marks are added to it."""

    models: Any  # `bokeh.models`, imported when a chart is drawn
    plot: Any
    number: int  # of the mark that is added
    factors: Mapping[str, float]  # of values on each axis: times are in the unit that is shown
    series: list[dict[str, Any]] = field(default_factory=list)
    seen: dict[str, list[Floats]] = field(default_factory=lambda: {"x": [], "y": []})

    def along(self, axis: str, values: Any, is_seen: bool = True) -> Floats:
        """Return values of an axis in its unit."""
        scaled = np.atleast_1d(np.asarray(values, dtype=np.float64)) * self.factors[axis]
        if is_seen:
            self.seen[axis].append(scaled)
        return scaled

    def add(self, mark: Any, kind: str, columns: dict[str, Any], *glyphs: Any) -> None:
        """Add a mark by what draws it; all glyphs share the columns, with the names that the mark has."""
        if len(names := getattr(mark, "names", ())):
            columns["name"] = [*names]
        source = self.models.ColumnDataSource(columns)
        renderers = [f"s{self.number}.{k}" for k in range(len(glyphs))]
        for renderer, glyph in zip(renderers, glyphs, strict=True):
            self.plot.add_glyph(source, glyph).name = renderer
        colour = mark.colour if isinstance(mark.colour, str) else (mark.colour or ["data"])[0]
        self.series.append({
            "kind": kind, "label": mark.label if hasattr(mark, "label") else "", "colour": colour_of(colour),
            "renderers": renderers, "dash": getattr(mark, "style", "solid"), "drag": getattr(mark, "drag", ""),
        })  # fmt: skip


def chart_content(plot: Plot) -> dict[str, Any]:
    """JSON-ready: a plot as the script of the page draws it."""
    from bokeh import models
    from bokeh.embed import json_item

    units = {name: unit_of(axis, plot.marks, name) for name, axis in (("x", plot.x), ("y", plot.y))}
    names = len(plot.y.names) if plot.y.scale == "category" else 0
    height = names * _ROW + _FRAME if names else round(plot.height * _INCH) or _HEIGHT
    drawn: Any = models.Plot(
        x_range=models.Range1d(), y_range=models.Range1d(), sizing_mode="stretch_width", height=height,
        toolbar_location=None, output_backend="canvas", background_fill_alpha=0.0, border_fill_alpha=0.0,
        outline_line_color=GRID, min_border_right=14, min_border_top=8,
    )  # fmt: skip
    chart = _Chart(models, drawn, 0, {name: factor for name, (factor, _) in units.items()})
    for chart.number, mark in enumerate(thinned(plot.marks, None)):
        _DRAW[type(mark)](chart, mark)
    axes = {name: _set_axis(chart, name, axis, units[name]) for name, axis in (("x", plot.x), ("y", plot.y))}
    zoom = models.BoxZoomTool()
    drawn.add_tools(zoom)
    drawn.toolbar.active_drag = zoom
    return {
        "item": json_item(drawn), "series": chart.series, "x": axes["x"], "y": axes["y"],
        "title": plot.title or plot.name, "legend": bool(plot.legend), "is_long": is_long(plot),
    }  # fmt: skip


def window_content(plot: Plot, window: tuple[float, float]) -> dict[str, Any]:
    """JSON-ready: columns of each renderer whose line is long, in a window of the x axis."""
    factor, _ = unit_of(plot.x, plot.marks, "x")
    y_factor, _ = unit_of(plot.y, plot.marks, "y")
    content: dict[str, Any] = {}
    for number, mark in enumerate(thinned(plot.marks, (window[0] / factor, window[1] / factor))):
        if isinstance(mark, Band):
            columns: dict[str, Any] = {"low": np.asarray(mark.low) * y_factor, "high": np.asarray(mark.high) * y_factor}
        elif isinstance(mark, Line):
            columns = {"y": np.asarray(mark.y) * y_factor}
        else:
            continue
        columns["x"] = np.asarray(mark.x) * factor
        content[f"s{number}.0"] = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in columns.items()
        }
    return content


def _set_axis(chart: _Chart, name: str, axis: Axis, unit: tuple[float, str]) -> dict[str, Any]:
    """Return range, scale, ticks and label of an axis; return what the script must know of it."""
    models = chart.models
    ranges = _ranges(chart, name, axis, unit[0])
    is_log = axis.scale == "log" and "log" in ranges
    kind = models.LogAxis if is_log else models.LinearAxis
    share = _PER_CENT.fullmatch(axis.format)
    formatter: Any = models.BasicTickFormatter(power_limit_high=6, power_limit_low=-4)
    if share:
        formatter = models.NumeralTickFormatter(format="0." + "0" * int(share[1]) + "%" if share[1] != "0" else "0%")
    # The script chooses the ticks of logarithmic axes.
    ticker: Any = models.FixedTicker(ticks=[]) if is_log else models.BasicTicker()
    overrides: dict[Any, Any] = {}
    if axis.scale == "category":
        most = len(axis.names) if name == "y" else _MOST_TICKS if chart.plot.height >= _HEIGHT else _FEW_TICKS
        ticker = models.FixedTicker(ticks=list(range(0, len(axis.names), max(-(-len(axis.names) // most), 1))))
        overrides = {k: models.PlainText(text=shortened(each, _NAME_LETTERS)) for k, each in enumerate(axis.names)}
    elif len(axis.ticks):
        ticker = models.FixedTicker(ticks=(np.asarray(axis.ticks, float) * unit[0]).tolist())
    drawn: Any = kind(
        ticker=ticker, formatter=formatter, axis_label=models.PlainText(text=label_of(axis, unit[1])),
        axis_label_text_color=INK, axis_label_text_font_size=_LABEL, axis_label_text_font_style="normal",
        major_label_text_font_size=_TICK, major_label_text_color=INK, axis_line_color=RULE,
        major_tick_line_color=RULE, minor_tick_line_color=None, major_label_overrides=overrides,
    )  # fmt: skip
    if name == "x" and axis.scale == "category" and sum(map(len, axis.names[:_MOST_TICKS])) > _MOST_LETTERS:
        drawn.major_label_orientation = 0.8
    chart.plot.add_layout(drawn, "below" if name == "x" else "left")
    chart.plot.add_layout(models.Grid(dimension=0 if name == "x" else 1, axis=drawn, grid_line_color=GRID))
    shown = chart.plot.x_range if name == "x" else chart.plot.y_range
    shown.start, shown.end = ranges["log" if is_log else "linear"]
    setattr(chart.plot, f"{name}_scale", models.LogScale() if is_log else models.LinearScale())
    return {
        "label": axis.label, "unit": unit[1], "format": axis.format, "scale": "log" if is_log else axis.scale,
        "ranges": ranges, "names": list(axis.names), "base": axis.base, "ticks": len(axis.ticks) > 0,
    }  # fmt: skip


def _ranges(chart: _Chart, name: str, axis: Axis, factor: float) -> dict[str, list[float]]:
    """Return the ends of an axis by scale; no logarithmic ones if a value is not positive."""
    if axis.scale == "category":
        ends = [-0.6, max(len(axis.names), 1) - 0.4]
        return {"linear": ends[::-1] if axis.is_reversed else ends}
    values = np.concatenate([part.ravel() for part in chart.seen[name]] or [np.array([0.0, 1.0])])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    pad = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    linear = [0.0 if low >= 0.0 and low < 0.35 * high and name == "y" else low - pad, high + pad]
    linear = linear if name == "y" or low < 0.0 else [max(linear[0], 0.0) if low > 0.0 else low, high + pad]
    ranges = {"linear": linear}
    positive = values[values > 0.0]
    if len(positive) and low > 0.0 and axis.scale != "time":
        ranges["log"] = [low / 1.15, high * 1.15]
    elif len(positive) and axis.scale == "log":
        ranges["log"] = [float(positive.min()) / 1.15, high * 1.15]
    for kind, ends in ranges.items():
        for at, end in enumerate(axis.limits):
            if end is not None and (kind == "linear" or end > 0.0):
                ends[at] = end * factor
        if axis.is_reversed:
            ends.reverse()
    return ranges


def _draw_line(chart: _Chart, mark: Line) -> None:
    columns = {"x": chart.along("x", mark.x), "y": chart.along("y", mark.y)}
    glyph = chart.models.Line(
        x="x", y="y", line_color=colour_of(mark.colour), line_width=max(mark.width * _PIXELS, 1.0),
        line_dash=mark.style,
    )  # fmt: skip
    chart.add(mark, "line", columns, glyph)


def _draw_points(chart: _Chart, mark: Points) -> None:
    columns: dict[str, Any] = {"x": chart.along("x", mark.x), "y": chart.along("y", mark.y)}
    colour, glyphs = colour_of(mark.colour), list[Any]()
    if len(mark.low):
        columns |= {"low": chart.along("y", mark.low), "high": chart.along("y", mark.high)}
        glyphs.append(chart.models.Segment(x0="x", x1="x", y0="low", y1="high", line_color=colour, line_width=1.5))
    if len(mark.left):
        columns |= {"left": chart.along("x", mark.left), "right": chart.along("x", mark.right)}
        glyphs.append(chart.models.Segment(x0="left", x1="right", y0="y", y1="y", line_color=colour, line_width=1.5))
    points = chart.models.Scatter(
        x="x", y="y", marker=_SHAPES.get(mark.shape, mark.shape), size=max(mark.size * 1.8, 4.0), line_color=colour,
        fill_color=colour if mark.is_filled else None, line_width=1.5 if mark.shape in ("cross", "bar") else 1.0,
    )  # fmt: skip
    if mark.shape == "bar":
        points.angle = np.pi / 2
    chart.add(mark, "points", columns, *glyphs, points)


def _draw_band(chart: _Chart, mark: Band) -> None:
    columns = {
        "x": chart.along("x", mark.x), "low": chart.along("y", mark.low), "high": chart.along("y", mark.high),
    }  # fmt: skip
    glyph = chart.models.VArea(x="x", y1="low", y2="high", fill_color=colour_of(mark.colour), fill_alpha=mark.opacity)
    chart.add(mark, "band", columns, glyph)


def _fill(mark: Bars | Spans, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the fill of an area; add a column of colours if the areas differ in colour."""
    if isinstance(mark.colour, str):
        return {"fill_color": colour_of(mark.colour), "line_color": None}
    columns["colour"] = [colour_of(each) for each in mark.colour]
    return {"fill_color": "colour", "line_color": None}


def _draw_bars(chart: _Chart, mark: Bars) -> None:
    across, along = ("y", "x") if mark.is_horizontal else ("x", "y")
    places = chart.along(across, mark.places, is_seen=False)
    width = mark.width * chart.factors[across]
    chart.seen[across] += [places - width / 2, places + width / 2]
    values, base = chart.along(along, mark.values, is_seen=False), chart.along(along, mark.base)
    ends = chart.along(along, (base + values) / chart.factors[along])
    columns: dict[str, Any] = {"place": places, "base": np.broadcast_to(base, ends.shape).copy(), "end": ends}
    columns["value"] = values
    style = _fill(mark, columns)
    bars: Any = chart.models.VBar(x="place", bottom="base", top="end", width=width, **style)
    if mark.is_horizontal:
        bars = chart.models.HBar(y="place", left="base", right="end", height=width, **style)
    glyphs = [bars]
    if len(mark.low):
        columns |= {"low": chart.along(along, mark.low), "high": chart.along(along, mark.high)}
        places_of = {"y0": "place", "y1": "place", "x0": "low", "x1": "high"}
        if not mark.is_horizontal:
            places_of = {"x0": "place", "x1": "place", "y0": "low", "y1": "high"}
        glyphs.append(chart.models.Segment(**places_of, line_color=INK, line_width=1.2))
    if len(mark.texts):
        columns["text"] = [*mark.texts]
        span = float(np.nanmax(np.abs(ends), initial=0.0))
        chart.seen[along].append(np.array([span * 1.12]))  # room for the texts
        place: dict[str, Any] = {"x": "end", "y": "place", "text_baseline": "middle", "x_offset": 4}
        if not mark.is_horizontal:
            place = {"x": "place", "y": "end", "text_align": "center", "y_offset": -3}
        glyphs.append(chart.models.Text(text="text", text_color=INK, text_font_size=_SMALL, **place))
    chart.add(mark, "hbars" if mark.is_horizontal else "bars", columns, *glyphs)


def _draw_steps(chart: _Chart, mark: Steps) -> None:
    edges, values = chart.along("x", mark.edges), chart.along("y", mark.values)
    colour = colour_of(mark.colour)
    if mark.is_filled:
        base = np.broadcast_to(chart.along("y", mark.base), values.shape).copy()
        columns = {"left": edges[:-1], "right": edges[1:], "bottom": base, "top": values}
        sides = {"left": "left", "right": "right", "bottom": "bottom", "top": "top"}
        chart.add(mark, "areas", columns, chart.models.Quad(**sides, fill_color=colour, line_color=None))
        return
    corners = {"x": np.repeat(edges, 2)[1:-1], "y": np.repeat(values, 2)}
    glyph = chart.models.Line(x="x", y="y", line_color=colour, line_width=mark.width * _PIXELS)
    chart.add(mark, "line", corners, glyph)


def _draw_spans(chart: _Chart, mark: Spans) -> None:
    columns: dict[str, Any] = {"left": chart.along("x", mark.starts), "right": chart.along("x", mark.ends)}
    style = {**_fill(mark, columns), "fill_alpha": mark.opacity}
    if len(mark.bottoms):
        columns |= {"bottom": chart.along("y", mark.bottoms), "top": chart.along("y", mark.tops)}
        glyph: Any = chart.models.Quad(left="left", right="right", bottom="bottom", top="top", **style)
        chart.add(mark, "spans", columns, glyph)
    else:
        chart.add(mark, "strips", columns, chart.models.VStrip(x0="left", x1="right", **style))


def _draw_text(chart: _Chart, mark: Text) -> None:
    at_top = isinstance(mark.y, str)
    x = chart.along("x", mark.x)
    seen = np.concatenate(chart.seen["y"]) if chart.seen["y"] else np.ones(1)
    heights: Any = np.full(len(x), np.nanmax(seen)) if at_top else chart.along("y", mark.y)
    glyph = chart.models.Text(
        x="x", y="y", text="text", text_color=colour_of(mark.colour), text_align=mark.align,
        text_baseline="top" if at_top else "middle", text_font_size=f"{max(round(mark.size * _PIXELS), 11)}px",
    )  # fmt: skip
    chart.add(mark, "text", {"x": x, "y": heights, "text": [*mark.texts]}, glyph)


def _draw_rule(chart: _Chart, mark: Rule) -> None:
    colour, style = colour_of(mark.colour), mark.style
    if mark.slope is not None:
        ratio = chart.factors["y"] / chart.factors["x"]
        x, y = mark.point[0] * chart.factors["x"], mark.point[1] * chart.factors["y"]
        slope = mark.slope * ratio
        line = {"gradient": slope, "y_intercept": y - slope * x, "line_color": colour, "line_dash": style}
        chart.plot.add_layout(chart.models.Slope(**line))
    places = chart.along(mark.axis, mark.places)
    if len(places):
        glyph: Any = chart.models.VSpan(x="place") if mark.axis == "x" else chart.models.HSpan(y="place")
        glyph.update(line_color=colour, line_dash=style, line_width=1.3)
        chart.add(mark, f"{mark.axis}rule", {"place": places}, glyph)


_DRAW: dict[type, Any] = {
    Line: _draw_line, Points: _draw_points, Band: _draw_band, Bars: _draw_bars, Steps: _draw_steps,
    Spans: _draw_spans, Text: _draw_text, Rule: _draw_rule,
}  # fmt: skip
