"""Views of a time series: its columns over time, and each column as a stochastic value."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.measured_value import represent
from perf_structural.views.parts import answered, linked_table
from perf_tables.series.window import take_window
from perf_views.contents import Block, Chart, Field, Form, Link, NoViewError, Query, View, ViewPath
from perf_views.data_pictures import draw_series
from perfcore.data.series import Series
from perfcore.hooks.registry import registry
from perfcore.results import Presenter, Tables
from perfcore.stochastic import default_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


COLUMN = "column"
_MOST_DRAWN = 8  # columns in one picture
_REPRESENTATION, _WINDOW = "as", "window"


class SeriesPresenter(Presenter):
    """A time series: its columns over time."""

    def title(self, result: Series) -> str:
        """Name of the file."""
        return Path(result.source).name

    def tables(self, result: Series) -> Tables:
        """How many samples each column has, and what they are like."""
        header = ["column", "samples", "mean", "standard deviation", "lowest", "highest"]
        rows = []
        for name, values in result.columns.items():
            finite = values[np.isfinite(values)]
            figures = (finite.mean(), finite.std(), finite.min(), finite.max()) if len(finite) else ()
            rows.append([name, str(len(finite)), *([f"{figure:.5g}" for figure in figures] or ["-"] * 4)])
        return [("Columns", header, rows)]

    def frame(self, result: Series) -> pd.DataFrame:
        """The samples: a row for each time, a column for each quantity."""
        import pandas as pd

        return pd.DataFrame(result.columns, index=pd.Index(result.times, name=f"time_{result.time_unit}"))

    def draw(self, result: Series, figure: Figure, data: Any = None) -> None:
        """The first columns over time; see `perf_views.data_pictures.draw_series`."""
        draw_series(figure.add_subplot(), result)

    def views(self, result: Series, data: Any = None, file: Path | None = None) -> SeriesViews:
        """All columns over time, and each as a stochastic value."""
        return SeriesViews(result)


class SeriesViews:
    """Views of a series: ``()`` has all columns over time, ``("column", NAME)`` one as a stochastic value."""

    def __init__(self, data: Series) -> None:
        self._data = data

    @property
    def title(self) -> str:
        """Name of the file."""
        return Path(self._data.source).name

    def view(self, path: ViewPath, query: Query) -> View:
        """The columns, or one of them; see `Viewable.view`."""
        if path == ():
            return View(self.title, series_blocks(self._data, (COLUMN,)))
        if len(path) == 2 and path[0] == COLUMN and path[1] in self._data.columns:
            return column_view(self._data, path[1], path, query, (Link(self.title, ()),))
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """All columns together, then each."""
        return [(), *((COLUMN, name) for name in self._data.columns)]


def series_blocks(data: Series, path: ViewPath) -> tuple[Block, ...]:
    """All columns over time, and a table whose rows lead to each column's distribution."""
    presenter = SeriesPresenter()
    ((caption, header, rows),) = presenter.tables(data)
    names = list(data.columns)[:_MOST_DRAWN]
    column_text = f"the first {len(names)} columns" if len(names) < len(data.columns) else ", ".join(names)
    chart = Chart(lambda figure: presenter.draw(data, figure), f"Time series: {column_text}", ())
    return chart, linked_table(caption, header, rows, path)


def column_view(data: Series, column: str, path: ViewPath, query: Query, trail: tuple[Link, ...]) -> View:
    """One column as a stochastic value, in the representation and over the window of the address."""
    representation, window = query.get(_REPRESENTATION, default_name("samples")), query.get(_WINDOW, "all")
    representations = tuple(registry().entries("representations"))
    fields = (
        Field(
            _REPRESENTATION, "represented as", representation, "choice", representations, help="what the samples become"
        ),
        Field(_WINDOW, "window", window, help="the last stretch that counts, such as 5min, or all"),
    )
    form = Form(fields, path)
    blocks = answered(form, lambda: represent(take_window(data, window, column), representation))
    return View(f"{column} of {Path(data.source).name} as {representation}", blocks, path, trail)
