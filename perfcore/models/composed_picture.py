"""Picture of a composed model: its values with bounds, and those of its components, over one variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.models.model import Model
from perfcore.models.shared_points import points_of_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_composed"]

_COVERAGE = 0.95
_PLACES = 120  # of a line
_LOGARITHMIC = 10.0  # a range whose ends have a larger ratio is drawn on logarithmic axes


def draw_composed(figure: Figure, model: Model, components: Mapping[str, Model], data: Any = None) -> None:
    """Draw a composed model over its first variable, all others held: numbers at their largest, names at the first.

    Parameters
    ----------
    figure : Figure
        Empty.
    model : Model
    components : mapping of str to Model
    data : Measurements, optional
        What was measured of the whole; rows of the held values are drawn.

    Raises
    ------
    OptionError
        No component says where it was measured.
    DataError
        The data are no measurements.
    """
    ranges = {symbol: model.ranges[symbol] for symbol in model.variables if symbol in model.ranges}
    if not ranges:
        raise OptionError(f"{model.title} has no picture: no component says where it was measured")
    symbol, (low, high) = next(iter(ranges.items()))
    held: dict[str, Any] = {other: end for other, (_, end) in ranges.items() if other != symbol}
    held |= {name: levels[0] for name, levels in model.levels.items()}
    wide = low > 0.0 and high > _LOGARITHMIC * low
    places = np.geomspace(low, high, _PLACES) if wide else np.linspace(low, high, _PLACES)
    if isinstance(low, int):
        places = np.unique(np.round(places))
    points = {symbol: places, **{name: np.repeat(value, len(places)) for name, value in held.items()}}
    values, lower, upper = model.predict(points if held else places, _COVERAGE).T

    axes = figure.add_subplot()
    axes.fill_between(places, lower, upper, color="#c1272d", alpha=0.15, linewidth=0, label=f"{_COVERAGE:.0%}")
    axes.plot(places, values, color="#c1272d", label="composed")
    for number, (name, where) in enumerate(points_of_each(points, components).items()):
        component = components[name]
        axes.plot(
            places, component.predict(where), color=f"C{number}", linewidth=0.8, linestyle="--",
            label=f"{name}: {component.title}",
        )  # fmt: skip
    if data is not None:
        _draw_measured(axes, model, symbol, held, data)
    if wide:
        axes.set_xscale("log")
        if np.nanmin(values) > 0.0:
            axes.set_yscale("log")
    unit = model.variable_units.get(symbol)
    axes.set_xlabel(f"{model.variables[symbol]} ({unit})" if unit else model.variables[symbol])
    axes.set_ylabel(getattr(model, "unit", None) or "value")
    at = ", ".join(f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in held.items())
    axes.set_title(f"{model.title}{f' at {at}' if at else ''}", fontsize=10, loc="left")
    axes.legend(fontsize="x-small", frameon=False)


def _draw_measured(axes: Axes, model: Model, symbol: str, held: Mapping[str, Any], data: Any) -> None:
    """Rows of a table that have the held values, in the columns that have the variables' names."""
    if not isinstance(data, Measurements):
        raise DataError(f"{data.source} holds {type(data).__name__}; a composed model is drawn over measurements")
    missing = [column for column in (model.variables[symbol], data.roles.value) if column not in data.table]
    if missing or data.roles.value is None:
        raise DataError(f"{data.source} has no column {model.variables[symbol]!r}, or no value, to draw")
    rows = data.table
    for name, value in held.items():
        if model.variables[name] in rows:
            rows = rows[rows[model.variables[name]] == value]
    axes.plot(rows[model.variables[symbol]], rows[data.roles.value], "o", color="0.35", markersize=3, label="measured")
