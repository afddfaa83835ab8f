"""Views of a time series: its columns over time, and each column as a stochastic value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_structural.measured_value import represent
from perfcore.base.errors import PerfError
from perfcore.data.series import Series
from perfcore.data.window import take_window
from perfcore.hooks.registry import registry
from perfcore.stochastic import default_name
from perfcore.views.contents import Block, Cell, Chart, Field, Form, Link, Notice, Query, Table, View, ViewPath
from perfcore.views.drawable import model_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["column_view", "series_blocks"]

_MOST_DRAWN = 8  # columns in one picture
_BINS = 1500
_REPRESENTATION, _WINDOW = "as", "window"


def series_blocks(data: Series, path: ViewPath) -> tuple[Block, ...]:
    """All columns over time, and a table whose rows lead to each column's distribution."""
    names = list(data.columns)[:_MOST_DRAWN]

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        seconds = data.times - data.times[0]
        step = -(-len(seconds) // _BINS)
        for name in names:
            values = data.columns[name]
            first = np.arange(0, len(values), step)
            # Of a long column the extremes of short stretches are drawn: nothing that stands out is left out.
            low, high = np.fmin.reduceat(values, first), np.fmax.reduceat(values, first)
            (line,) = axes.plot(seconds[first], 0.5 * (low + high), linewidth=0.9, label=name)
            if step > 1:
                axes.fill_between(seconds[first], low, high, color=line.get_color(), alpha=0.3, linewidth=0.0)
        axes.set_xlabel(f"time since the first sample ({data.time_unit})")
        axes.legend(fontsize=8, loc="upper right", frameon=False)

    rows = []
    for name, values in data.columns.items():
        known = values[np.isfinite(values)]
        figures = ("-",) * 4
        if len(known):
            figures = tuple(f"{v:.5g}" for v in (known.mean(), known.std(), known.min(), known.max()))  # type: ignore[assignment]
        rows.append((Cell(name, Link(name, (*path, name))), str(len(known)), *figures))
    table = Table(("column", "samples", "mean", "standard deviation", "lowest", "highest"), tuple(rows), "Columns")
    shown = f"the first {len(names)} columns" if len(names) < len(data.columns) else ", ".join(names)
    return Chart(draw, f"Time series: {shown}", ()), table


def column_view(data: Series, column: str, path: ViewPath, query: Query, trail: tuple[Link, ...]) -> View:
    """One column as a stochastic value, in the representation and over the window of the address."""
    representation, window = query.get(_REPRESENTATION, default_name("samples")), query.get(_WINDOW, "all")
    known = tuple(registry().entries("representations"))
    fields = (
        Field(_REPRESENTATION, "represented as", representation, "choice", known, help="what the samples become"),
        Field(_WINDOW, "window", window, help="the last stretch that counts, such as 5min, or all"),
    )
    form = Form(fields, path)
    try:
        found = represent(take_window(data, window, column), representation)
    except PerfError as error:
        blocks: tuple[Block, ...] = (Notice(str(error), "error"), form)
        return View(column, blocks, path, trail)
    return View(found.title, (form, *model_blocks(found)), path, trail)
