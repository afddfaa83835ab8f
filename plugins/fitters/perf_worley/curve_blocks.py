"""The zoomable picture of a curve: the stretch that is shown stands in the address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_pictures.picture import time_axis
from perf_views.colours import DARK, FAINT
from perf_views.contents import Block, Cell, Chart, Field, Form, Link, Query, Stretch, Table, Text, ViewPath
from perf_views.short_names import shortened
from perf_worley.curve_summary import CurveSummary
from perfcore.base.errors import OptionError
from perfcore.data.units import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FROM", "TO", "Zoom", "curve_chart", "zoom_blocks"]

FROM, TO = "from", "to"

_BINS, _MEANS, _ROWS = 700, 240, 24  # of the band, of the line, and of the table

Floats = npt.NDArray[np.float64]
Overlay = Callable[["Axes", Callable[[npt.ArrayLike], Floats], "Zoom"], None]


@dataclass(frozen=True)
class Zoom:
    """The stretch of a curve that is shown.

    Parameters
    ----------
    start, end : float
        In the curve's unit, within the curve.
    first, last : float
        Those of the whole curve.
    """

    start: float
    end: float
    first: float
    last: float

    @classmethod
    def of(cls, summary: CurveSummary, query: Query) -> Zoom:
        """From an address, whose times count from the curve's start; by default all of it.

        Raises
        ------
        OptionError
            What was given is no time, or nothing of the curve lies there.
        """
        first, last = float(summary.curve.start), float(summary.curve.end)
        try:
            start = first + float(query.get(FROM) or 0.0)
            end = first + float(query[TO]) if query.get(TO) else last
        except ValueError:
            raise OptionError(f"from {query.get(FROM)!r} to {query.get(TO)!r}: two times are expected") from None
        start, end = max(start, first), min(end, last)
        if not start < end:  # also where one is no number at all
            raise OptionError(
                f"from {query.get(FROM)!r} to {query.get(TO)!r}: no part of the curve, which lasts {last - first:.9g} "
                f"{summary.curve.time_unit}"
            )
        return cls(start, end, first, last)

    def query(self, start: float | None = None, end: float | None = None) -> dict[str, str]:
        """Start and end as an address has them, by default those of this stretch; empty for the whole curve."""
        begin = max(self.start if start is None else start, self.first)
        stop = min(self.end if end is None else end, self.last)
        if begin <= self.first and stop >= self.last:
            return {}
        return {FROM: f"{begin - self.first:.12g}", TO: f"{stop - self.first:.12g}"}

    def links(self, path: ViewPath, state: Query) -> tuple[Link, ...]:
        """To neighbouring, closer and wider stretches."""
        width = self.end - self.start
        stretches = [("Closer", self.start + 0.25 * width, self.end - 0.25 * width)]
        if width < self.last - self.first:
            shift = min(0.5 * width, self.start - self.first), min(0.5 * width, self.last - self.end)
            stretches.append(("Wider", self.start - 0.5 * width, self.end + 0.5 * width))
            stretches += [("Earlier", self.start - shift[0], self.end - shift[0])] if shift[0] > 0.0 else []
            stretches += [("Later", self.start + shift[1], self.end + shift[1])] if shift[1] > 0.0 else []
            stretches.append(("Whole run", self.first, self.last))
        return tuple(Link(text, path, {**state, **self.query(a, b)}) for text, a, b in stretches)


def zoom_blocks(
    summary: CurveSummary, zoom: Zoom, path: ViewPath, state: Query, overlay: Overlay | None = None
) -> tuple[Block, ...]:
    """Picture of a stretch, links to others, and a form for any.

    Parameters
    ----------
    summary : CurveSummary
    zoom : Zoom
    path : tuple of str
        Of the view that the picture stands in.
    state : mapping of str to str
        What else the view's address has.
    overlay : callable, optional
        Draws a model on top: takes axes, what places times on them, and the zoom.
    """
    unit = summary.curve.time_unit
    fields = (
        *(Field(name, value=value, kind="hidden") for name, value in state.items()),
        Field(FROM, f"from ({unit} since the start)", f"{zoom.start - zoom.first:.12g}", "number", minimum="0"),
        Field(TO, f"to ({unit} since the start)", f"{zoom.end - zoom.first:.12g}", "number", minimum="0"),
    )
    return (
        curve_chart(summary, zoom, path, state, overlay),
        Text(links=zoom.links(path, state)),
        Form(fields, path, "Show this stretch"),
    )


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
            axes.fill_between(times, low, high, color=FAINT, linewidth=0.5, label="lowest to highest")
            line = summary.stretch(zoom.start, zoom.end, _MEANS)
        label = "data" if line is part else "mean"
        axes.plot(*_stepped(place(line.edges), line.mean), color=DARK, linewidth=0.8, label=label)
        axes.set_ylim(0.0, max(1.05 * float(part.high.max()), 1e-9))
        if overlay is not None:
            overlay(axes, place, zoom)
        axes.set_xlim(*place([zoom.start, zoom.end]))
        axes.set_ylabel(shortened(curve.quantity), parse_math=False)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6, fontsize=8, frameon=False)

    span = f"{readable(zoom.start - zoom.first, curve.time_unit)} to {readable(zoom.end - zoom.first, curve.time_unit)}"
    part = summary.stretch(zoom.start, zoom.end, _ROWS)
    rows = []
    for index, (low, high, mean) in enumerate(zip(part.low, part.high, part.mean, strict=True)):
        start, end = float(part.edges[index]), float(part.edges[index + 1])
        link = Link("", path, {**state, **zoom.query(start, end)})
        begin, stop = (readable(time - zoom.first, curve.time_unit) for time in (start, end))
        rows.append((Cell(begin, link), stop, f"{mean:.4g}", f"{low:.4g}", f"{high:.4g}"))
    table = Table(("from", "to", "mean", "lowest", "highest"), tuple(rows))
    part_of = Stretch(
        Link("", path, state), (FROM, TO), zoom.start - zoom.first, zoom.end - zoom.first, zoom.last - zoom.first
    )
    return Chart(draw, f"Processors computing over time, {span}", (table,), size=(10.0, 3.6), stretch=part_of)


def _stepped(edges: Floats, *heights: Floats) -> list[Floats]:
    """Corners of step functions: both ends of every step, and its height at each."""
    return [np.repeat(edges, 2)[1:-1], *(np.repeat(values, 2) for values in heights)]
