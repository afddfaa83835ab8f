"""What a page of data has of a curve, or of the curve of a trace: a picture to zoom into."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_traces.windows import ends_in, moment_text, stretch_ns
from perf_views.colours import DARK, FAINT
from perf_views.contents import (
    Block,
    Cell,
    Chart,
    Field,
    Form,
    Link,
    Notice,
    NoViewError,
    Query,
    Table,
    Text,
    View,
    ViewPath,
)
from perf_views.data_pictures import time_axis
from perf_views.names import shortened
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, readable, shown_origin
from perfcore.results import Presenter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_views.contents import Viewable


_BLOCK = 256  # steps that are summed up once; a stretch of fewer than this in each bin is read step by step
FROM, TO = "from", "to"
_BINS, _MEANS, _ROWS = 700, 240, 24  # of the band, of the line, and of the table
Overlay = Callable[["Axes", Callable[[npt.ArrayLike], Floats], "Zoom"], None]
_LONGEST = 200  # letters of why there is no curve, which may list a thousand states


@dataclass(frozen=True)
class Bins:
    """Part of a curve in bins."""

    edges: Floats  # in the curve's unit; the first may lie before the stretch and the last after it
    low: Floats  # of the heights within each bin; no step is left out
    high: Floats
    mean: Floats


class CurveSummary:
    """Extremes and areas of blocks of steps, from which every stretch is put together."""

    def __init__(self, curve: UtilizationCurve) -> None:
        self.curve = curve
        self._blocks: tuple[Floats, Floats, Floats, Floats] | None = None

    def stretch(self, start: float, end: float, n_bins: int) -> Bins:
        """Bins of nearly the same duration."""
        edges, heights = self.curve.edges, self.curve.heights
        if len(heights) > _BLOCK * n_bins:
            borders, low, high, area = self._summed()
            first, last = _within(borders, start, end)
            if last - first >= n_bins:
                blocks = slice(first, last)
                return _binned(borders[first : last + 1], low[blocks], high[blocks], area[blocks], start, end, n_bins)
        first, last = _within(edges, start, end)
        part, values = edges[first : last + 1].astype(np.float64), heights[first:last]
        if last - first <= n_bins:
            return Bins(part, values, values, values)
        return _binned(part, values, values, np.diff(part) * values, start, end, n_bins)

    def _summed(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Edges, lowest and highest height, and area of the blocks."""
        if self._blocks is None:
            edges, heights = self.curve.edges, self.curve.heights
            first = np.arange(0, len(heights), _BLOCK)
            area = np.empty(len(first))
            # A few blocks at a time: no array as long as the curve is made next to it.
            for begin in range(0, len(first), _BLOCK):
                steps = slice(first[begin], min(first[begin] + _BLOCK * _BLOCK, len(heights)))
                areas = np.diff(edges[steps.start : steps.stop + 1]) * heights[steps]
                block_starts = first[begin : begin + _BLOCK]
                area[begin : begin + _BLOCK] = np.add.reduceat(areas, block_starts - block_starts[0])
            self._blocks = (
                np.append(edges[first], edges[-1]).astype(np.float64),
                np.minimum.reduceat(heights, first),
                np.maximum.reduceat(heights, first),
                area,
            )
        return self._blocks


def _within(edges: npt.NDArray[Any], start: float, end: float) -> tuple[int, int]:
    """First step that reaches into a stretch, and the one after the last."""
    if edges.dtype.kind == "i":  # a search for other numbers would copy all edges
        start, end = math.floor(start), math.ceil(end)
    first = int(np.clip(np.searchsorted(edges, start, side="right") - 1, 0, len(edges) - 2))
    last = int(np.clip(np.searchsorted(edges, end, side="left"), first + 1, len(edges) - 1))
    return first, last


def _binned(edges: Floats, low: Floats, high: Floats, area: Floats, start: float, end: float, n_bins: int) -> Bins:
    cuts = np.linspace(start, end, n_bins + 1)[:-1]
    first = np.unique(np.clip(np.searchsorted(edges, cuts, side="right") - 1, 0, len(low) - 1))
    borders = np.append(edges[first], edges[-1])
    lows, highs = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    return Bins(borders, lows, highs, np.add.reduceat(area, first) / np.diff(borders))


@dataclass(frozen=True)
class Zoom:
    """The stretch of a curve that is shown."""

    start: float  # in the curve's unit, within the curve
    end: float
    first: float  # those of the whole curve
    last: float
    time_unit: str

    @classmethod
    def of(cls, curve: UtilizationCurve, query: Query, data: Any = None) -> Zoom:
        """From an address, whose times are those that ``--from`` and ``--to`` take; by default all of it."""
        first, last = float(curve.start), float(curve.end)
        unit_ns = nanoseconds_per(curve.time_unit)
        run = Fraction(first) * unit_ns, Fraction(last) * unit_ns
        ends_of = ends_in(data if isinstance(data, Trace) else curve)
        begin, stop = stretch_ns(query.get(FROM) or None, query.get(TO) or None, run, curve.time_unit, ends_of)
        start, end = float(max(begin, run[0]) / unit_ns), float(min(stop, run[1]) / unit_ns)
        zoom = cls(start, end, first, last, curve.time_unit)
        if not start < end:
            raise OptionError(
                f"from {query.get(FROM)!r} to {query.get(TO)!r}: no part of the curve, which goes from "
                f"{zoom.text(first)} to {zoom.text(last)}"
            )
        return zoom

    @property
    def origin(self) -> float:
        """What addresses, tables and the picture count from; see `perfcore.data.units.shown_origin`."""
        return shown_origin(self.first, self.last)

    def text(self, time: float) -> str:
        return moment_text((time - self.origin) * nanoseconds_per(self.time_unit))

    def query(self, start: float | None = None, end: float | None = None) -> dict[str, str]:
        """Start and end as an address has them, by default those of this stretch; empty for the whole curve."""
        begin = max(self.start if start is None else start, self.first)
        stop = min(self.end if end is None else end, self.last)
        if begin <= self.first and stop >= self.last:
            return {}
        return {FROM: f"{begin - self.origin:.12g}", TO: f"{stop - self.origin:.12g}"}

    def links(self, path: ViewPath, state: Query) -> tuple[Link, ...]:
        """To neighbouring, closer and wider stretches."""
        width = self.end - self.start
        stretches = [("Zoom in", self.start + 0.25 * width, self.end - 0.25 * width)]
        if width < self.last - self.first:
            shift = min(0.5 * width, self.start - self.first), min(0.5 * width, self.last - self.end)
            stretches.append(("Zoom out", self.start - 0.5 * width, self.end + 0.5 * width))
            stretches += [("Earlier", self.start - shift[0], self.end - shift[0])] if shift[0] > 0.0 else []
            stretches += [("Later", self.start + shift[1], self.end + shift[1])] if shift[1] > 0.0 else []
            stretches.append(("Whole run", self.first, self.last))
        return tuple(Link(text, path, {**state, **self.query(a, b)}) for text, a, b in stretches)


def zoom_blocks(
    summary: CurveSummary, zoom: Zoom, path: ViewPath, state: Query, overlay: Overlay | None = None
) -> tuple[Block, ...]:
    """Picture of a stretch, links to others, and a form for any."""
    fields = (
        *(Field(name, value=value, kind="hidden") for name, value in state.items()),
        Field(FROM, "from (1.2s or 10%)", zoom.text(zoom.start)),
        Field(TO, "to", zoom.text(zoom.end)),
    )
    form = Form(fields, path, "Show")
    return curve_chart(summary, zoom, path, state, overlay), Text(links=zoom.links(path, state)), form


def curve_chart(
    summary: CurveSummary, zoom: Zoom, path: ViewPath, state: Query, overlay: Overlay | None = None
) -> Chart:
    """The picture alone, with its table, whose rows lead to closer stretches."""
    curve = summary.curve

    def draw(figure: Figure) -> None:
        # With fixed margins it is drawn once; lines take less time than step patches.
        figure.set_layout_engine(None)
        axes = figure.add_axes((0.06, 0.16, 0.92, 0.74))
        place = time_axis(axes, zoom.first, zoom.last, curve.time_unit)
        part = summary.stretch(zoom.start, zoom.end, _BINS)
        line = part
        if (part.low != part.high).any():
            times, low, high = _stepped(place(part.edges), part.low, part.high)
            axes.fill_between(times, low, high, color=FAINT, linewidth=0.5, label="range")
            line = summary.stretch(zoom.start, zoom.end, _MEANS)
        label = "measured" if line is part else "mean"
        axes.plot(*_stepped(place(line.edges), line.mean), color=DARK, linewidth=0.8, label=label)
        axes.set_ylim(0.0, max(1.05 * float(part.high.max()), 1e-9))
        if overlay is not None:
            overlay(axes, place, zoom)
        axes.set_xlim(*place([zoom.start, zoom.end]))
        axes.set_ylabel(shortened(curve.quantity), parse_math=False)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, fontsize=8, frameon=False)

    origin = zoom.origin
    span = f"{readable(zoom.start - origin, curve.time_unit)} to {readable(zoom.end - origin, curve.time_unit)}"
    part = summary.stretch(zoom.start, zoom.end, _ROWS)
    rows = []
    for index, (low, high, mean) in enumerate(zip(part.low, part.high, part.mean, strict=True)):
        start, end = float(part.edges[index]), float(part.edges[index + 1])
        link = Link("", path, {**state, **zoom.query(start, end)})
        begin, stop = (readable(time - origin, curve.time_unit) for time in (start, end))
        rows.append((Cell(begin, link), stop, f"{mean:.4g}", f"{low:.4g}", f"{high:.4g}"))
    table = Table(("from", "to", "mean", "lowest", "highest"), tuple(rows))
    return Chart(draw, f"Processors computing over time, {span}", (table,), size=(10.0, 3.6))


def _stepped(edges: Floats, *heights: Floats) -> list[Floats]:
    """Corners of step functions: both ends of every step, and its height at each."""
    return [np.repeat(edges, 2)[1:-1], *(np.repeat(values, 2) for values in heights)]


class CurvePresenter(Presenter):
    """Presents utilization curves, and traces by theirs."""

    def views(self, result: Trace | UtilizationCurve, data: Any = None, file: Path | None = None) -> Viewable:
        return CurveViews(result, result.report().title)


class CurveViews:
    """One view, whose stretch stands in the address."""

    def __init__(self, data: Trace | UtilizationCurve, title: str) -> None:
        self._data, self._title = data, title
        self._summary: CurveSummary | None = None

    @property
    def title(self) -> str:
        return self._title

    def view(self, path: ViewPath, query: Query) -> View:
        """The stretch that the address names; see `Viewable.view`."""
        if path:
            raise NoViewError(path)
        if self._summary is None:
            try:
                curve = self._data.utilization() if isinstance(self._data, Trace) else self._data
            except PerfError as error:  # no state is known to compute; the view of lost cycles asks what each one is
                return View(self.title, (Notice(f"no picture: {shortened(str(error), _LONGEST)}", "warning"),))
            self._summary = CurveSummary(curve)
        return View(self.title, zoom_blocks(self._summary, Zoom.of(self._summary.curve, query, self._data), (), {}))

    def paths(self) -> Iterable[ViewPath]:
        return [()]
