"""Where a model by category is asked to predict: columns checked, names of categories turned into indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.points.points import named_points

__all__ = ["CATEGORY", "TOTAL", "category_points"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CATEGORY = "category"  # the variable that names one
TOTAL = "total"  # the sum of all categories, which is what a model predicts unless told otherwise


def category_points(
    user_points: Any, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], Ints]:
    """Check points at which to predict.

    Parameters
    ----------
    user_points : mapping of columns, DataFrame, or (n,) float for a single factor
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
    points, index = named_points(user_points, columns, {CATEGORY: (TOTAL, *categories)}, usual=TOTAL)
    return points, index[CATEGORY] - 1
