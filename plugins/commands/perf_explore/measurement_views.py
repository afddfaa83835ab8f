"""What a page of data has of measurements: a picture, and the first rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_tables.confounders import refuse_unnamed_of_codes
from perf_views.contents import Block, Chart, Notice, OneView, Table
from perf_views.data_pictures import draw_measurements
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.measurements import Measurements
from perfcore.results import Column, Presenter, Tables
from perfcore.results import Table as ResultTable

if TYPE_CHECKING:
    import pandas as pd

    from perf_views.contents import Viewable


_MOST_ROWS, _FEW_ROWS = 20, 6  # in a page, and in a notebook's cell


class MeasurementsPresenter(Presenter):
    """Presents tables of runs."""

    def title(self, result: Measurements) -> str:
        return f"Measurements: {result.source}"

    def tables(self, result: Measurements) -> Tables:
        return [_first_rows(result, _FEW_ROWS)]

    def frame(self, result: Measurements) -> pd.DataFrame:
        return result.table.copy()

    def views(self, result: Measurements, data: Any = None, file: Path | None = None) -> Viewable:
        return OneView(self.title(result), lambda query: _blocks(result))


def _blocks(data: Measurements) -> Iterator[Block]:
    """The picture, or why there is none, and the rows."""
    try:
        data.observations(duplicates="keep")
    except PerfError as error:
        yield Notice(f"no picture: {error}", "warning")
    else:
        alternative = f"{data.roles.value} of each code on each system over its first parameter"
        yield Chart(lambda figure: draw_measurements(figure.add_subplot(), data), alternative, ())
        try:
            refuse_unnamed_of_codes(data)
        except OptionError as error:
            yield Notice(str(error), "warning")
    yield Table.of(*_first_rows(data, _MOST_ROWS))


def _first_rows(data: Measurements, most: int) -> ResultTable:
    head, count = data.table.head(most), len(data.table)
    title = f"The first {len(head)} of {count:,} rows" if len(head) < count else "All rows"
    columns = [
        Column(str(name), head[name], format=".6g" if head[name].dtype.kind == "f" else "", key=str(name))
        for name in head.columns
    ]
    return ResultTable(columns, title=title, drops_empty=False)
