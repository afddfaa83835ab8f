"""Views of codes on systems: curves and how well each pair fits, each pair's own view, and residuals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_timing.pair_view import pair_view
from perf_timing.pictures.diagnostics import draw_residuals
from perf_timing.pictures.overview import draw_curves
from perf_timing.pictures.panels import add_system_legend
from perf_timing.pictures.selection import select
from perf_timing.scaling_model import ScalingModel
from perf_views.contents import Block, Cell, Chart, Link, NoViewError, Query, Table, Text, View, ViewPath
from perf_views.drawable import chosen_figures, parameter_table, statistics_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAIR, RESIDUALS, PARAMETERS = "pair", "residuals", "parameters"
_FIGURES = (
    ("n_observations", "measurements", ",d"),
    ("mean_relative_error", "mean relative error", ".1%"),
    ("max_relative_error", "largest relative error", ".1%"),
    ("mean_relative_error_left_out_cells", "of pairs predicted from the others", ".1%"),
)
_FOLDED = ("Parameters", "Correlations")  # tables that few need
_MOST_ROWS = 60  # of residuals
_MOST_SHOWN = 30  # codes or systems in the table of pairs; the tables below it name the worst of all
_LARGE_ERROR = 0.5  # relative error that gets the darkest colour


class ScalingViews:
    """Views of a model of codes on systems."""

    def __init__(self, model: ScalingModel, data: Any = None) -> None:
        self._model, self._data = model, data

    @property
    def title(self) -> str:
        """That of the model."""
        return self._model.title

    def view(self, path: ViewPath, query: Query) -> View:
        """The overview, parameters, residuals, or one pair; see `perf_views.Viewable.view`."""
        trail = (Link(self.title, ()),)
        if path == ():
            return View(self.title, self._overview())
        if len(path) == 3 and path[0] == PAIR and path[1] in self._model.codes and path[2] in self._model.systems:
            return pair_view(self._model, path[1], path[2], path, query, trail)
        if path == (RESIDUALS,):
            return View("Residuals", (self._residuals(),), path, trail)
        if path == (PARAMETERS,):
            return View("Parameters", self.parameter_blocks(), path, trail)
        raise NoViewError(path)

    def paths(self) -> Iterable[ViewPath]:
        """The overview, parameters, residuals, and the pairs that were measured."""
        yield from ((), (PARAMETERS,), (RESIDUALS,))
        yield from ((PAIR, *names) for names in sorted(self._pairs()))

    def parameter_blocks(self) -> tuple[Block, ...]:
        """What the view of parameters has."""
        return (parameter_table(self._model),)

    def pair_quality(self) -> tuple[str, str, dict[tuple[str, str], Cell]]:
        """Title and note of the table of pairs, and a cell for each pair: by default its mean relative error."""
        errors, cells = self._model.errors(), {}
        for names, rows in self._pairs().items():
            error = float(errors[rows].mean())
            cells[names] = Cell(f"{error:.1%}", shade=min(error / _LARGE_ERROR, 1.0))
        return (
            "Mean relative error of each code on each system",
            "dark: a small error; a click shows the pair",
            cells,
        )

    def _overview(self) -> tuple[Block, ...]:
        model = self._model
        links = (Link("Parameters", (PARAMETERS,)), Link("Residuals and Q-Q", (RESIDUALS,)))
        return (
            *chosen_figures(model, _FIGURES),
            self._curves(),
            Text(tuple(model.summary()[1:]), links=links),
            self._pair_table(),
            Text(tuple(model.formula.split("\n")), "Formula", "formula"),
            *(replace(Table.of(*table), is_folded=table[0].startswith(_FOLDED)) for table in model.tables()),
            statistics_table(model),
        )

    def _pair_table(self) -> Table:
        title, note, cells = self.pair_quality()
        codes, systems = self._model.codes[:_MOST_SHOWN], self._model.systems[:_MOST_SHOWN]
        rows = [[Cell(code), *(self._pair_cell(cells, code, system) for system in systems)] for code in codes]
        if len(codes) < len(self._model.codes) or len(systems) < len(self._model.systems):
            note += f"; the first {len(codes)} codes and {len(systems)} systems"
        return Table(("", *systems), tuple(map(tuple, rows)), title, note)

    @staticmethod
    def _pair_cell(cells: dict[tuple[str, str], Cell], code: str, system: str) -> Cell:
        cell = cells.get((code, system))
        if cell is None:
            return Cell("-")
        return Cell(cell.text, Link("", (PAIR, code, system)), cell.shade)

    def _pairs(self) -> dict[tuple[str, str], np.ndarray[Any, np.dtype[np.int64]]]:
        """Observations of each pair that was measured."""
        places, model = self._model.measured_places, self._model
        cell = places.code * len(model.systems) + places.system
        return {
            (model.codes[number // len(model.systems)], model.systems[number % len(model.systems)]): np.flatnonzero(
                cell == number
            )
            for number in np.unique(cell).tolist()
        }

    def _curves(self) -> Chart:
        selection = select(self._model, self._data)

        def draw(figure: Figure) -> None:
            draw_curves(selection, figure)

        return Chart(draw, "Measured points and model over the first parameter, a panel for each code", (self._rows(),))

    def _residuals(self) -> Chart:
        selection = select(self._model, self._data)

        def draw(figure: Figure) -> None:
            over, quantiles = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
            draw_residuals(selection, figure, over, quantiles)
            if len(self._model.systems) > 1:
                add_system_legend(selection, figure)

        return Chart(
            draw, "Residuals over the model, and against quantiles of the normal distribution", (self._rows(),)
        )

    def _rows(self) -> Table:
        """Measured against predicted, the worst first."""
        model = self._model
        value, error = np.array(model.observations.value), model.errors()
        worst = np.argsort(-np.nan_to_num(np.abs(error)), kind="stable")[:_MOST_ROWS]
        places = model.measured_places
        names = {"code": np.array(model.codes)[places.code], "system": np.array(model.systems)[places.system]}
        predicted = model.predict({**places.points, **names})
        rows = tuple(
            (model.describe(int(k)), f"{value[k]:.6g}", f"{predicted[k]:.6g}", f"{error[k]:.1%}") for k in worst
        )
        more = "" if len(rows) == len(value) else f"the worst {len(rows)} of {len(value):,} points"
        unit = f" ({model.unit})" if model.unit else ""
        return Table(("point", f"measured{unit}", f"model{unit}", "relative error"), rows, note=more)
