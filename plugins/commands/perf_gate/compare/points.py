"""Points as a model takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.models.model import Model

__all__ = ["CATEGORY", "points_of"]

CATEGORY = "category"  # the variable of models by category; their first level is the total


def points_of(model: Model, columns: Mapping[str, Any]) -> Any:
    """Those columns that are variables of a model; of a single variable its values, which every model takes.

    Parameters
    ----------
    model : Model
    columns : mapping of str to (n,) float or str
        By symbol.
    """
    model_columns = {symbol: values for symbol, values in columns.items() if symbol in model.variables}
    return next(iter(model_columns.values())) if len(model.variables) == 1 and model_columns else model_columns
