"""Present a model that has no presenter: from its parameters, statistics and predictions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.errors import PerfError
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfcore.models.model import Model


_FARTHEST = 1024.0  # of the first variable, where nothing says what was measured
_POINTS = 200


class ModelPresenter(Presenter):
    """Text, tables and picture made from what every model says."""

    def title(self, result: Model) -> str:
        """Kind and source."""
        return f"{result.kind} of {Path(result.origin.source).name}"

    def summary(self, result: Model) -> list[str]:
        """The title, the formula where there is one, and the figures of the fit."""
        stats = {name.replace("_", " "): value for name, value in result.statistics.items() if value is not None}
        figures = [f"{name} {f'{value:.6g}' if isinstance(value, float) else value}" for name, value in stats.items()]
        return [line for line in (self.title(result), result.formula, ", ".join(figures)) if line]

    def tables(self, result: Model) -> Tables:
        """Every parameter with its standard error."""
        columns = [
            Column("parameter", "name", key="name"),
            Column("estimate", "estimate", format=".6g"),
            Column("standard error", "standard_error", format=".3g"),
            Column("unit", "unit"),
        ]
        return [Table(columns, result.parameters)]

    def panels(self, result: Model, data: Any = None) -> Panels:
        """Prediction over the first variable that is a number, with its 95 % bounds where the model has them."""
        return {"model": partial(_draw, result, data)}


def _draw(result: Model, data: Any, axes: Axes) -> None:
    symbol = next(name for name in result.variables if name not in result.levels)
    low, high = measured = result.ranges.get(symbol, (1.0, _FARTHEST))
    if data is not None:
        observed = result.observed(data).points[symbol], result.observed(data).value
        low, high = min(low, observed[0].min()), max(high, observed[0].max())
        axes.plot(*observed, "o", color="C6", markersize=3, label="measured")
    places = np.union1d(np.geomspace(low, high, _POINTS), measured) if low > 0 else np.linspace(low, high, _POINTS)
    points: Any = {name: result.ranges.get(name, (1.0, 1.0))[1] for name in result.variables}
    points |= {name: names[0] for name, names in result.levels.items()} | {symbol: places}
    try:
        values, lower, upper = result.predict(places if len(points) == 1 else points, interval=0.95).T
    except PerfError:  # models of this kind, or of these data, have no bounds
        values = result.predict(places if len(points) == 1 else points)
    else:
        axes.fill_between(places, lower, upper, color="C0", alpha=0.2, linewidth=0, label="95 % bounds")
    inside = (places >= measured[0]) & (places <= measured[1])
    axes.plot(places, np.where(inside, values, np.nan), color="C0", label="model")
    axes.plot(places, np.where(inside, np.nan, values), "--", color="C0")
    scale = "log" if low > 0 else "linear"
    axes.set(xscale=scale, yscale=scale, xlabel=result.variables[symbol], ylabel=result.unit or "value")
    axes.legend(fontsize="x-small")
