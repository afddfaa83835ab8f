"""Where a model by category is asked to predict: columns checked, names of categories turned into indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.errors import DataError, OptionError, UnknownNameError

__all__ = ["CATEGORY", "TOTAL", "category_points"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CATEGORY = "category"  # the variable that names one
TOTAL = "total"  # the sum of all categories, which is what a model predicts unless told otherwise


def category_points(
    given: Any, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], Ints]:
    """Check points at which to predict.

    Parameters
    ----------
    given : mapping of columns, DataFrame, or (n,) float for a single factor
        Factors by symbol or by name in the data, and ``category``; single values hold for all points.
    columns : mapping of str to str
        Factors: symbol to name in the data.
    categories : sequence of str

    Returns
    -------
    points : dict of str to (n,) float
        By symbol.
    which : (n,) int
        Category; -1 for the total, which is meant where none is named.

    Raises
    ------
    UnknownNameError
        A column or category that the model does not have.
    OptionError
        A factor is missing.
    DataError
        A factor that is no positive number, or columns of different lengths.

    Examples
    --------
    >>> points, which = category_points({"P": [8, 16], "category": "b"}, {"P": "procs"}, ["a", "b"])
    >>> points["P"], which
    (array([ 8., 16.]), array([1, 1]))
    """
    if isinstance(given, Mapping):
        table: Mapping[str, Any] = given
    elif hasattr(given, "columns"):  # a DataFrame
        table = {str(name): given[name].to_numpy() for name in given.columns}
    elif len(columns) == 1:
        table = {next(iter(columns)): given}
    else:
        raise OptionError(f"the model is one of {', '.join(columns)}; give a mapping with a column for each")
    symbols = {**{column: symbol for symbol, column in columns.items()}, **{symbol: symbol for symbol in columns}}
    named = {}
    for name, values in table.items():
        if name not in symbols and name != CATEGORY:
            raise UnknownNameError("variable of the model", str(name), [*columns, CATEGORY])
        named[symbols.get(name, name)] = np.atleast_1d(np.asarray(values))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(columns)}; {symbol} is missing")
    named.setdefault(CATEGORY, np.array([TOTAL]))
    try:
        shaped = dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None
    order = {TOTAL: -1, **{name: number for number, name in enumerate(categories)}}
    names, inverse = np.unique(shaped[CATEGORY].astype(np.str_), return_inverse=True)
    for name in names.tolist():
        if name not in order:
            raise UnknownNameError("category", name, order)
    which = np.array([order[name] for name in names.tolist()], dtype=np.int64)[inverse.ravel()]
    return {symbol: _positive(symbol, shaped[symbol]) for symbol in columns}, which


def _positive(symbol: str, values: npt.NDArray[Any]) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{symbol} must be numbers, not such as {str(values.flat[0])[:40]!r}") from None
    wrong = ~((numbers > 0.0) & (numbers < np.inf))
    if wrong.any():
        raise DataError(f"{symbol}={numbers[wrong][0]:g}: a positive number is expected")
    return numbers
