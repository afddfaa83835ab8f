"""What a page of data has of measurements: a picture, and the first rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_tables.confounders import refuse_unnamed_of_codes
from perf_views.contents import Block, Chart, Notice, NoViewError, Query, Table, View, ViewPath
from perf_views.data_pictures import draw_measurements
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.measurements import Measurements
from perfcore.results import Column, Presenter, Tables
from perfcore.results import Table as ResultTable

if TYPE_CHECKING:
    import pandas as pd

    from perf_views.contents import Viewable


_MOST_ROWS, _FEW_ROWS = 40, 6  # in a page, and in a notebook's cell


class MeasurementsPresenter(Presenter):
    """Presents tables of runs."""

    def title(self, result: Measurements) -> str:
        """What it is and where it is from."""
        return f"Measurements: {result.source}"

    def tables(self, result: Measurements) -> Tables:
        """The first rows."""
        return [_first_rows(result, _FEW_ROWS)]

    def frame(self, result: Measurements) -> pd.DataFrame:
        """The rows, with all columns; a copy, since data do not change."""
        return result.table.copy()

    def views(self, result: Measurements, data: Any = None, file: Path | None = None) -> Viewable:
        """Picture and rows."""
        return MeasurementsViews(result, self.title(result))


class MeasurementsViews:
    """One view in one state."""

    def __init__(self, data: Measurements, title: str) -> None:
        self._data, self._title = data, title

    @property
    def title(self) -> str:
        """That of the presenter."""
        return self._title

    def view(self, path: ViewPath, query: Query) -> View:
        """Every code on every system over the first parameter, and the rows; see `Viewable.view`."""
        if path:
            raise NoViewError(path)
        return View(self.title, (*self._pictures(), self._rows()))

    def paths(self) -> Iterable[ViewPath]:
        """The only one."""
        return [()]

    def _pictures(self) -> Iterator[Block]:
        """The picture, and why its runs are no repetitions of one another, where they are not; or why there is none."""
        try:
            self._data.observations(duplicates="keep")
        except PerfError as error:
            yield Notice(f"no picture: {error}", "warning")
            return
        alternative = f"{self._data.roles.value} of each code on each system over its first parameter"
        yield Chart(lambda figure: draw_measurements(figure.add_subplot(), self._data), alternative, ())
        try:
            refuse_unnamed_of_codes(self._data)
        except OptionError as error:
            yield Notice(str(error), "warning")

    def _rows(self) -> Table:
        return Table.of(*_first_rows(self._data, _MOST_ROWS))


def _first_rows(data: Measurements, most: int) -> ResultTable:
    head, count = data.table.head(most), len(data.table)
    title = f"The first {len(head)} of {count:,} rows" if len(head) < count else "All rows"
    columns = [
        Column(str(name), head[name], format=".6g" if head[name].dtype.kind == "f" else "", key=str(name))
        for name in head.columns
    ]
    return ResultTable(columns, title=title, drops_empty=False)
