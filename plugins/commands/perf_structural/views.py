"""Views of a structural model: what it predicts, from which inputs, and its candidates side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.measured_value import represent
from perf_structural.presenters import distribution_panels
from perf_structural.statistic import parse_statistic
from perf_structural.structural_model import choose, predict_candidates
from perf_tables.series import take_window
from perf_views import contents as page
from perf_views.data_pictures import draw_series
from perf_views.drawable import model_blocks
from perfcore.base.errors import PerfError
from perfcore.data.series import Series
from perfcore.hooks.registry import registry
from perfcore.results import Column, Panels, Presenter, Result, Table, Tables, draw_panels
from perfcore.stochastic import StochasticValue, default_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from perf_structural.inputs import Input
    from perf_structural.structural_model import StructuralModel


def answered(form: page.Form, ask: Callable[[], Result]) -> tuple[page.Block, ...]:
    """A form and below it what it leads to; where that is a mistake, it stands above the form."""
    try:
        return form, *model_blocks(ask())
    except PerfError as error:
        return page.Notice(str(error), "error"), form


def linked_table(title: str, header: Iterable[str], rows: Iterable[Sequence[str]], path: page.ViewPath) -> page.Table:
    """A table whose rows lead each to the view below ``path`` that is called as its first cell."""
    return page.Table.of(
        title, header, [(page.Cell(name, page.Link(name, (*path, name))), *cells) for name, *cells in rows]
    )


COLUMN = "column"
_MOST_DRAWN = 8  # columns, or copies of a replicated input, in one picture
_REPRESENTATION, _WINDOW = "as", "window"


class SeriesPresenter(Presenter):
    """A time series: its columns over time."""

    def title(self, result: Series) -> str:
        """Name of the file."""
        return Path(result.source).name

    def tables(self, result: Series) -> Tables:
        """How many samples each column has, and what they are like."""
        finite = [values[np.isfinite(values)] for values in result.columns.values()]
        figures: dict[str, Any] = {"mean": np.mean, "standard deviation": np.std, "lowest": np.min, "highest": np.max}
        columns = [
            Column("column", list(result.columns)),
            Column("samples", list(map(len, finite))),
            *(
                Column(name, [float(of(values)) if len(values) else None for values in finite], format=".5g")
                for name, of in figures.items()
            ),
        ]
        return [Table(columns, title="Columns")]

    def frame(self, result: Series) -> pd.DataFrame:
        """The samples: a row for each time, a column for each quantity."""
        import pandas as pd

        return pd.DataFrame(result.columns, index=pd.Index(result.times, name=f"time_{result.time_unit}"))

    def panels(self, result: Series, data: Any = None) -> Panels:
        """The first columns over time; see `perf_views.data_pictures.draw_series`."""
        return {"data": partial(draw_series, data=result)}

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

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The columns, or one of them; see `Viewable.view`."""
        if path == ():
            return page.View(self.title, series_blocks(self._data, (COLUMN,)))
        if len(path) == 2 and path[0] == COLUMN and path[1] in self._data.columns:
            return column_view(self._data, path[1], path, query, (page.Link(self.title, ()),))
        raise page.NoViewError(path)

    def paths(self) -> Iterable[page.ViewPath]:
        """All columns together, then each."""
        return [(), *((COLUMN, name) for name in self._data.columns)]


def series_blocks(data: Series, path: page.ViewPath) -> tuple[page.Block, ...]:
    """All columns over time, and a table whose rows lead to each column's distribution."""
    ((caption, header, rows),) = SeriesPresenter().tables(data)
    names = list(data.columns)[:_MOST_DRAWN]
    column_text = f"the first {len(names)} columns" if len(names) < len(data.columns) else ", ".join(names)
    chart = page.Chart(lambda figure: draw_series(figure.add_subplot(), data), f"Time series: {column_text}", ())
    return chart, linked_table(caption, header, rows, path)


def column_view(
    data: Series, column: str, path: page.ViewPath, query: page.Query, trail: tuple[page.Link, ...]
) -> page.View:
    """One column as a stochastic value, in the representation and over the window of the address."""
    representation, window = query.get(_REPRESENTATION, default_name("samples")), query.get(_WINDOW, "all")
    representations = tuple(registry().entries("representations"))
    fields = (
        page.Field(_REPRESENTATION, "represented as", representation, "choice", representations, help="distribution"),
        page.Field(_WINDOW, "window", window, help="last part of the series to use, such as 5min, or all"),
    )
    form = page.Form(fields, path)
    blocks = answered(form, lambda: represent(take_window(data, window, column), representation))
    return page.View(f"{column} of {Path(data.source).name} as {representation}", blocks, path, trail)


INPUT, CANDIDATES = "input", "candidates"
_METHOD, _BY = "method", "by"
_METHODS = ("auto", "exact", "sample")


class StructuralPresenter(Presenter):
    """A structural model: its equation and its inputs."""

    def title(self, result: StructuralModel) -> str:
        """The model's name, or its equation."""
        return result.name or result.equation

    def formula(self, result: StructuralModel) -> str:
        """The equation, and below it the components."""
        return "\n".join([result.equation, *_components(result)])

    def summary(self, result: StructuralModel) -> list[str]:
        """Name, equation, and how many parts there are."""
        counts = [
            f"{len(parts)} {name}{'s' if len(parts) != 1 else ''}"
            for name, parts in (("component", result.components), ("input", result.inputs))
        ]
        return [*dict.fromkeys([self.title(result), result.equation]), ", ".join(counts)]

    def tables(self, result: StructuralModel) -> Tables:
        """Each input with its value and unit; as data each copy with its moments and bounds."""
        inputs = [
            Column("input", 0),
            Column("value", lambda row: _described(row[1])),
            Column("unit", lambda row: row[1].unit or ""),
        ]
        copies = [
            (label, *_moments(value), definition.unit or "")
            for name, definition in result.inputs.items()
            for label, value in _copies(name, definition).items()
        ]
        moments = [Column(name, k) for k, name in enumerate(("input", "mean", "std", "lowest", "highest", "unit"))]
        return [
            Table(inputs, list(result.inputs.items()), drops_empty=False),
            Table(moments, copies, importance="data"),
        ]

    def panels(self, result: StructuralModel, data: Any = None) -> Panels:
        """Density and cumulative distribution of what it predicts."""
        predicted = cache(lambda: distribution_panels({(value := result.predict()).name: value.value}, value.unit))

        def draw(name: str, axes: Axes) -> None:
            predicted()[name](axes)

        return {name: partial(draw, name) for name in ("density", "cumulative")}

    def views(self, result: StructuralModel, data: Any = None, file: Path | None = None) -> StructuralViews:
        """What it predicts, from which inputs, and its candidates."""
        return StructuralViews(result)


class StructuralViews:
    """Views of a structural model."""

    def __init__(self, model: StructuralModel) -> None:
        self._model = model

    @classmethod
    def read(cls, path: str) -> StructuralViews:
        """Those of a model file."""
        from perf_structural.structural_model import StructuralModel

        return cls(StructuralModel.read(path))

    @property
    def title(self) -> str:
        """The model's name, or its equation."""
        return self._model.title

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The prediction, an input, or the candidates; see `Viewable.view`."""
        trail = (page.Link(self.title, ()),)
        if path == ():
            return page.View(self.title, self._prediction(query))
        if len(path) == 2 and path[0] == INPUT and path[1] in self._model.inputs:
            return page.View(path[1], _input_blocks(path[1], self._model.inputs[path[1]]), path, trail)
        if path == (CANDIDATES,) and self._model.candidates:
            return page.View("Candidates", self._candidates(query), path, trail)
        raise page.NoViewError(path)

    def paths(self) -> Iterable[page.ViewPath]:
        """The prediction, the candidates, then the inputs."""
        candidates: list[page.ViewPath] = [(CANDIDATES,)] if self._model.candidates else []
        return [(), *candidates, *((INPUT, name) for name in self._model.inputs)]

    def _prediction(self, query: page.Query) -> tuple[page.Block, ...]:
        method = query.get(_METHOD, "auto")
        form = page.Form(
            (page.Field(_METHOD, "method", method, "choice", _METHODS, help="evaluation method"),), (), "Predict"
        )
        _, header, rows = self._model.tables()[0]
        blocks: list[page.Block] = [
            page.Text((self._model.equation,), "Equation", "formula"),
            *answered(form, lambda: self._model.predict(method=method)),
            linked_table("Inputs", header, rows, (INPUT,)),
        ]
        if self._model.components:
            blocks.append(page.Text(tuple(_components(self._model)), "Components", "formula"))
        if self._model.candidates:
            blocks.append(page.Text(links=(page.Link("Candidates side by side", (CANDIDATES,)),)))
        return tuple(blocks)

    def _candidates(self, query: page.Query) -> tuple[page.Block, ...]:
        by = query.get(_BY, "mean")
        form = page.Form(
            (page.Field(_BY, "chosen by", by, help="mean, upper, or quantile:0.95"),), (CANDIDATES,), "Choose"
        )
        return answered(
            form, lambda: choose(predict_candidates(self._model, self._model.candidates), parse_statistic(by, None))
        )


def _input_blocks(name: str, definition: Input) -> tuple[page.Block, ...]:
    values = _copies(name, definition)
    uncertain = {label: value for label, value in values.items() if isinstance(value, StochasticValue)}
    rows = [
        (label, repr(value), *(f"{figure:.6g}" if math.isfinite(figure) else "-" for figure in (value.mean, value.std)))
        if isinstance(value, StochasticValue)
        else (label, f"{value:.6g}", f"{value:.6g}", "0")
        for label, value in values.items()
    ]
    table = page.Table(("input", "value", "mean", "standard deviation"), tuple(rows))
    if not uncertain:
        return (table,)
    drawn = dict(list(uncertain.items())[:_MOST_DRAWN])

    panels = distribution_panels(drawn, definition.unit or "")
    return page.Chart(
        lambda figure: draw_panels(figure, panels),
        f"Density and cumulative distribution of {', '.join(drawn)}",
        (table,),
    ), table


def _components(model: StructuralModel) -> list[str]:
    return [
        line
        for name, part in model.components.items()
        for line in f"{name} = {part.equation or part.model}".split("\n")
    ]


def _copies(name: str, definition: Input) -> dict[str, StochasticValue | float]:
    """The values of an input, which has several where it is replicated, by what they are called."""
    return {
        f"{name}[{', '.join(str(number + 1) for number in place)}]" if place else name: value
        for place, value in definition.cells.items()
    }


def _moments(value: StochasticValue | float) -> tuple[float, float, float, float]:
    """Mean, standard deviation and bounds."""
    if isinstance(value, StochasticValue):
        return value.mean, value.std, *value.support
    return value, 0.0, value, value


def _described(definition: Input) -> str:
    values = list(definition.cells.values())
    first = values[0]
    text = repr(first) if isinstance(first, StochasticValue) else f"{first:.6g}"
    return text if len(values) == 1 else f"{text}, ... ({len(values)} copies)"
