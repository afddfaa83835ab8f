"""Points at which a model predicts, as a user gives them: an array, a mapping or a DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError, UnknownNameError

__all__ = ["by_symbol", "check_coverage", "columns_of", "of_one_length"]


def by_symbol(user_points: Any, columns: Mapping[str, str], names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Columns of points under the symbols of a model's variables; values and lengths are not looked at."""
    named = {}
    for name, values in columns_of(user_points, columns).items():
        symbols = [name] if name in columns else [symbol for symbol, column in columns.items() if column == name]
        if not symbols and name not in names:
            raise UnknownNameError("variable", str(name), [*columns, *names])
        named.update(dict.fromkeys(symbols or [name], np.atleast_1d(np.asarray(values))))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(columns)}; {symbol} is missing")
    return named


def of_one_length(named: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Columns whose single values are repeated as often as the others have values."""
    try:
        return dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None


def check_coverage(interval: float) -> None:
    """Refuse a coverage that is none."""
    if not 0.0 < interval < 1.0:
        raise OptionError(f"interval {interval}: the coverage must be above 0 and below 1, such as 0.95")


def columns_of(user_points: Any, columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return points as columns under the names that the user gave, or under the only variable's."""
    if isinstance(user_points, Mapping):
        return user_points
    if hasattr(user_points, "columns"):  # a DataFrame
        return {str(name): user_points[name].to_numpy() for name in user_points.columns}
    if len(columns) > 1:
        raise OptionError(f"the model is one of {', '.join(columns)}; give a mapping with a column for each")
    return {next(iter(columns)): user_points}
