"""What several models have in common to be predicted at the same points: variables, their levels, units and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.points import by_symbol, of_one_length
from perfcore.base.errors import OptionError, UnknownNameError, listing
from perfcore.models.model import Model, Points


def check_variables(models: Mapping[str, Model]) -> None:
    """Refuse models whose variables of one symbol are not the same."""
    first: dict[str, str] = {}
    for name, model in models.items():
        for symbol, column in model.variables.items():
            other = first.setdefault(symbol, name)
            owner = models[other]
            if owner.variables[symbol] != column:
                raise OptionError(
                    f"{symbol} is {owner.variables[symbol]!r} in {other} ({owner.title}) and {column!r} in {name} "
                    f"({model.title}); fit one of them with another symbol"
                )
            units = (owner.variable_units.get(symbol), model.variable_units.get(symbol))
            if None not in units and units[0] != units[1]:
                raise OptionError(
                    f"{symbol} is in {units[0]} in {other} ({owner.title}) and in {units[1]} in {name} ({model.title})"
                )
            if (symbol in owner.levels) != (symbol in model.levels):
                raise OptionError(
                    f"{symbol} is a {_sort(owner, symbol)} in {other} ({owner.title}) and a {_sort(model, symbol)} in "
                    f"{name} ({model.title})"
                )
    for symbol, levels in shared_levels(models).items():
        if not levels:
            having = [f"{name}: {listing(m.levels[symbol], 6)}" for name, m in models.items() if symbol in m.levels]
            raise OptionError(f"the models have no {symbol} in common ({'; '.join(having)})")


def _sort(model: Model, symbol: str) -> str:
    return "name" if symbol in model.levels else "number"


def shared_levels(models: Mapping[str, Model]) -> dict[str, tuple[str, ...]]:
    """Levels of each variable of names that every model knows that has the variable."""
    shared: dict[str, tuple[str, ...]] = {}
    for model in models.values():
        for symbol, levels in model.levels.items():
            shared[symbol] = tuple(level for level in shared.get(symbol, levels) if level in levels)
    return shared


def shared_ranges(models: Mapping[str, Model]) -> dict[str, tuple[float, float]]:
    """Where all models of a variable were measured; where there is no such range, where any was."""
    ranges: dict[str, tuple[float, float]] = {}
    for symbol in dict.fromkeys(symbol for model in models.values() for symbol in model.ranges):
        lows, highs = zip(*(m.ranges[symbol] for m in models.values() if symbol in m.ranges), strict=True)
        ranges[symbol] = (max(lows), min(highs)) if max(lows) < min(highs) else (min(lows), max(highs))
    return ranges


def points_of_each(points: Points, models: Mapping[str, Model]) -> dict[str, Any]:
    """Points as a user gives them, for each model with its own variables."""
    named = {symbol for model in models.values() for symbol in model.levels}
    numbers = {s: column for model in models.values() for s, column in model.variables.items() if s not in named}
    columns = of_one_length(by_symbol(points, numbers, named))
    return {name: _points_of(name, model, columns) for name, model in models.items()}


def count_of(points: Any) -> int:
    """Number of points that `points_of_each` gives a model."""
    return len(next(iter(points.values())) if isinstance(points, Mapping) else points)


def _points_of(name: str, model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
    model_columns = {symbol: columns[symbol] for symbol in model.variables if symbol in columns}
    for symbol in model.levels.keys() & model_columns.keys():
        for level in np.unique(model_columns[symbol].astype(np.str_)).tolist():
            if level not in model.levels[symbol]:
                raise UnknownNameError(f"{symbol} of {name} ({model.title})", level, model.levels[symbol])
    # A model of a single number takes it as it is.
    return next(iter(model_columns.values())) if len(model.variables) == 1 and model_columns else model_columns
