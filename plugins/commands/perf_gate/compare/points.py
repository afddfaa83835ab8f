"""Points as a model takes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from perf_tables.arguments import levels_at
from perfcore.base.errors import OptionError
from perfcore.models.model import Model

CATEGORY = "category"  # the variable of models by category; their first level is the total


def points_of(model: Model, columns: Mapping[str, Any]) -> Any:
    """Those columns that are variables of a model; of a single variable its values, which every model takes."""
    model_columns = {symbol: values for symbol, values in columns.items() if symbol in model.variables}
    return next(iter(model_columns.values())) if len(model.variables) == 1 and model_columns else model_columns


def comparison_points(model: Model, at: str | Iterable[str] | Mapping[str, Any]) -> dict[str, list[Any]]:
    """A column for each variable of all points, every combination of the levels."""
    levels = levels_at(model, at)
    missing = [name for name in model.variables if name not in levels and name not in model.levels]
    if missing and not levels:
        raise OptionError(f"Missing option '--at': where to compare, such as --at {missing[0]}=1024")
    if missing:
        raise OptionError(f"the models are of {', '.join(model.variables)}; give --at {missing[0]}=...")
    columns = zip(*itertools.product(*levels.values()), strict=True)
    return {name: list(column) for name, column in zip(levels, columns, strict=True)}
