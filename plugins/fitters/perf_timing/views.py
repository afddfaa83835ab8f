"""Views of codes on systems: curves and how well each pair fits, each pair's own view, and residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_timing.individual.model import IndividualModel
from perf_timing.joint.model import JointModel
from perf_timing.pictures.panels import scaling_panels
from perf_timing.scaling_model import ScalingModel
from perf_views import contents as page
from perf_views.colours import DARK, MODEL, RULE
from perf_views.drawable import chosen_figures, parameter_table, statistics_table
from perfcore.results import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_POOR = 0.9  # uncentered R^2 that gets the darkest colour; it is high for nearly all that grows


_COVERAGE = 0.95


def pair_view(
    model: ScalingModel, code: str, system: str, path: page.ViewPath, trail: tuple[page.Link, ...]
) -> page.View:
    """The view of a pair, also of one that was never measured."""
    places = model.measured_places
    rows = np.flatnonzero((places.code == model.codes.index(code)) & (places.system == model.systems.index(system)))
    blocks: list[page.Block] = []
    if len(rows):
        blocks.append(_chart(model, code, system, rows))
    else:
        blocks.append(page.Notice("never measured; `perf predict` predicts it from the others"))
    return page.View(f"{code} on {system}", tuple(blocks), path, trail)


def _chart(model: ScalingModel, code: str, system: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> page.Chart:
    points = {symbol: values[rows] for symbol, values in model.measured_places.points.items()}
    order = np.lexsort(tuple(points.values())[::-1])
    points, rows = {symbol: values[order] for symbol, values in points.items()}, rows[order]
    value = np.array(model.observations.value)[rows]
    predicted = model.predict({**points, "code": code, "system": system}, interval=_COVERAGE)
    first = next(iter(points))
    unit = f" ({model.unit})" if model.unit else ""

    def draw(figure: Figure) -> None:
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.5, 1.0])
        if len(points) == 1:
            axes.fill_between(points[first], *predicted[:, 1:].T, color=MODEL, alpha=0.2, linewidth=0.0,
                              label=f"{_COVERAGE:.0%} prediction interval")  # fmt: skip
        axes.plot(points[first], predicted[:, 0], "-" if len(points) == 1 else "x", color=MODEL, label="model")
        axes.plot(points[first], value, "o", color=DARK, markersize=4, label="measured")
        axes.set(xscale="log", yscale="log", ylabel=f"{model.value_name}{unit}")
        axes.legend(fontsize=8, frameon=False)
        below.axhline(0.0, color=RULE, linewidth=0.7)
        below.plot(points[first], 100.0 * (value / predicted[:, 0] - 1.0), "o", color=DARK, markersize=4)
        below.set(xlabel=model.columns[first], ylabel="residual (%)")

    header = (*(model.columns[symbol] for symbol in points), f"measured{unit}", "model", "lower", "upper", "residual")
    table = [
        (*(f"{values[k]:.6g}" for values in points.values()), f"{value[k]:.6g}",
         *("-" if np.isnan(figure) else f"{figure:.6g}" for figure in predicted[k]),
         f"{value[k] / predicted[k, 0] - 1.0:.1%}")
        for k in range(len(rows))
    ]  # fmt: skip
    return page.Chart(
        draw, f"{code} on {system}: measured and model", (page.Table.of("", header, table),), size=(10.0, 4.8)
    )


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

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """The overview, parameters, residuals, or one pair; see `perf_views.Viewable.view`."""
        trail = (page.Link(self.title, ()),)
        if path == ():
            return page.View(self.title, self._overview())
        if len(path) == 3 and path[0] == PAIR and path[1] in self._model.codes and path[2] in self._model.systems:
            return pair_view(self._model, path[1], path[2], path, trail)
        if path == (RESIDUALS,):
            return page.View("Residuals", (self._residuals(),), path, trail)
        if path == (PARAMETERS,):
            return page.View("Parameters", self.parameter_blocks(), path, trail)
        raise page.NoViewError(path)

    def paths(self) -> Iterable[page.ViewPath]:
        """The overview, parameters, residuals, and the pairs that were measured."""
        yield from ((), (PARAMETERS,), (RESIDUALS,))
        yield from ((PAIR, *names) for names in sorted(self._pairs()))

    def parameter_blocks(self) -> tuple[page.Block, ...]:
        """What the view of parameters has."""
        return (parameter_table(self._model),)

    def pair_quality(self) -> tuple[str, str, dict[tuple[str, str], page.Cell]]:
        """Title and note of the table of pairs, and a cell for each pair: by default its mean relative error."""
        errors, cells = self._model.errors(), {}
        for names, rows in self._pairs().items():
            error = float(errors[rows].mean())
            cells[names] = page.Cell(f"{error:.1%}", shade=min(error / _LARGE_ERROR, 1.0))
        return (
            "Mean relative error of each code on each system",
            "dark: a small error; a click shows the pair",
            cells,
        )

    def _overview(self) -> tuple[page.Block, ...]:
        model = self._model
        links = (page.Link("Parameters", (PARAMETERS,)), page.Link("Residuals and Q-Q", (RESIDUALS,)))
        return (
            *chosen_figures(model, _FIGURES),
            self._curves(),
            page.Text(tuple(model.summary()[1:]), links=links),
            self._pair_table(),
            page.Text(tuple(model.formula.split("\n")), "Formula", "formula"),
            *(replace(page.Table.of(*table), is_folded=table[0].startswith(_FOLDED)) for table in model.tables()),
            statistics_table(model),
        )

    def _pair_table(self) -> page.Table:
        title, note, cells = self.pair_quality()
        codes, systems = self._model.codes[:_MOST_SHOWN], self._model.systems[:_MOST_SHOWN]
        rows = [[page.Cell(code), *(self._pair_cell(cells, code, system) for system in systems)] for code in codes]
        if len(codes) < len(self._model.codes) or len(systems) < len(self._model.systems):
            note += f"; the first {len(codes)} codes and {len(systems)} systems"
        return page.Table(("", *systems), tuple(map(tuple, rows)), title, note)

    @staticmethod
    def _pair_cell(cells: dict[tuple[str, str], page.Cell], code: str, system: str) -> page.Cell:
        cell = cells.get((code, system))
        if cell is None:
            return page.Cell("-")
        return page.Cell(cell.text, page.Link("", (PAIR, code, system)), cell.shade)

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

    def _curves(self) -> page.Chart:
        alternative = "Measured points and model over the first parameter, a panel for each code"
        return page.Chart(self._drawing("curves"), alternative, (self._rows(),))

    def _residuals(self) -> page.Chart:
        alternative = "Residuals over the model, and against quantiles of the normal distribution"
        return page.Chart(self._drawing("residuals", "quantiles"), alternative, (self._rows(),))

    def _drawing(self, *kinds: str) -> Callable[[Figure], None]:
        """What draws the panels whose names begin so."""
        panels = scaling_panels(self._model, self._data)
        chosen = {name: panel for name, panel in panels.items() if name.startswith(kinds)}
        return lambda figure: draw_panels(figure, chosen)

    def _rows(self) -> page.Table:
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
        return page.Table(("point", f"measured{unit}", f"model{unit}", "relative error"), rows, note=more)


class IndividualViews(ScalingViews):
    """Views of individual fits."""

    def __init__(self, model: IndividualModel, data: Any = None) -> None:
        super().__init__(model, data)
        self._individual = model

    def pair_quality(self) -> tuple[str, str, dict[tuple[str, str], page.Cell]]:
        """Determination coefficients."""
        cells = {}
        for pair in self._individual.pairs:
            value = pair.r2_uncentered
            cells[pair.code, pair.system] = page.Cell(f"{value:.4f}", shade=max(value - _POOR, 0.0) / (1.0 - _POOR))
        return "R^2 (uncentered) of each code on each system", "bright is good; a click shows the pair", cells


class JointViews(ScalingViews):
    """Views of a joint model."""

    def __init__(self, model: JointModel, data: Any = None) -> None:
        super().__init__(model, data)
        self._joint = model

    def parameter_blocks(self) -> tuple[page.Block, ...]:
        """Work w of the codes and speed r of the systems with error bars."""
        alternative = "Work of the codes and speed of the systems for each function, with standard errors"
        return page.Chart(self._drawing("work", "speed"), alternative, ()), parameter_table(self._joint)
