"""How a composed model is shown: its expression, its components, and all of them over one variable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.composed_models import points_of_each
from perf_views.colours import DARK, MODEL, SERIES
from perfcore.models.presenter import ModelPresenter
from perfcore.results import Column, Panels, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGE = 0.95
_PLACES = 120  # of a line
_DASHES = ("--", ":", "-.")  # of components, distinct in grey prints
_LOGARITHMIC = 10.0  # a range whose ends have a larger ratio is drawn on logarithmic axes


class ComposedPresenter(ModelPresenter):
    """Text, tables and picture of a `perf_structural.composed_models.ComposedModel`."""

    def title(self, result: Any) -> str:
        return f"{result.expression} of {result.origin.source}"

    def formula(self, result: Any) -> str:
        lines = [result.expression]
        for name, model in result.components.items():
            formula_lines = model.formula.split("\n")
            lines += (
                [f"{name} = {formula_lines[0]}"]
                if len(formula_lines) == 1
                else [f"{name}:", *(f"  {line}" for line in formula_lines)]
            )
        return "\n".join(lines)

    def summary(self, result: Any) -> list[str]:
        unit = f" [{result.unit}]" if result.unit else ""
        lines = [f"{result.expression}{unit}, composed of {len(result.components)} models", *result.component_titles]
        if len(result.components) > 1:
            lines.append(f"assumes: {', '.join(result.components)} are independent")
        of_data: dict[str, list[str]] = {}
        for name, model in result.components.items():
            of_data.setdefault(model.origin.fingerprint, []).append(name)
        lines += [
            f"{' and '.join(names)} were fitted to the same data: with correlated errors the intervals are too narrow"
            for names in of_data.values()
            if len(names) > 1
        ]
        return lines

    def tables(self, result: Any) -> Tables:
        columns = [
            Column("name", 0),
            Column("kind", lambda row: row[1].kind),
            Column("fitter", lambda row: row[1].origin.fitter),
            Column("data", lambda row: row[1].origin.source),
            Column("unit", lambda row: row[1].unit),
        ]
        return [Table(columns, list(result.components.items()), "Components")]

    def heading(self, result: Any, data: Any = None) -> str:
        fixed = _fixed(result, _ranges(result))
        held = ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in fixed.items())
        return f"{self.title(result)} at {held}" if held else self.title(result)

    def panels(self, result: Any, data: Any = None) -> Panels:
        return {"model": partial(_draw, result, data)} if _ranges(result) else {}


def _ranges(result: Any) -> dict[str, Any]:
    """Where the components were measured."""
    return {symbol: result.ranges[symbol] for symbol in result.variables if symbol in result.ranges}


def _fixed(result: Any, ranges: dict[str, Any]) -> dict[str, Any]:
    """Values of all variables but the first."""
    return {symbol: high for symbol, (_, high) in list(ranges.items())[1:]} | {
        name: levels[0] for name, levels in result.levels.items()
    }


def _draw(result: Any, data: Any, axes: Axes) -> None:
    symbol, (low, high) = next(iter((ranges := _ranges(result)).items()))
    fixed = _fixed(result, ranges)
    wide = low > 0.0 and high > _LOGARITHMIC * low
    places = np.geomspace(low, high, _PLACES) if wide else np.linspace(low, high, _PLACES)
    if isinstance(low, int):
        places = np.unique(np.round(places))
    points = {symbol: places, **{name: np.repeat(value, len(places)) for name, value in fixed.items()}}
    values, lower, upper = result.predict(points, _COVERAGE).T

    axes.fill_between(places, lower, upper, color=MODEL, alpha=0.15, linewidth=0, label=f"{_COVERAGE:.0%}")
    axes.plot(places, values, color=MODEL, label="composed")
    for number, (name, where) in enumerate(points_of_each(points, result.components).items()):
        component = result.components[name]
        axes.plot(
            places, component.predict(where), color=SERIES[number % len(SERIES)], linewidth=0.8,
            linestyle=_DASHES[number % len(_DASHES)],
            label=f"{name}: {component.title}",
        )  # fmt: skip
    if data is not None:
        observed = result.observed(data)
        is_drawn = np.ones(len(observed.value), dtype=bool)
        for name in fixed.keys() & observed.points.keys():
            is_drawn &= np.asarray(observed.points[name]) == fixed[name]
        axes.plot(
            observed.points[symbol][is_drawn], observed.value[is_drawn], "o", color=DARK, markersize=3, label="measured"
        )
    if wide:
        axes.set_xscale("log")
        if np.nanmin(values) > 0.0:
            axes.set_yscale("log")
    unit = result.variable_units.get(symbol)
    axes.set_xlabel(f"{result.variables[symbol]} [{unit}]" if unit else result.variables[symbol])
    axes.set_ylabel(result.unit or "value")
    axes.legend(fontsize="x-small", frameon=False)
