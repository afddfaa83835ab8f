"""Where a model by category is asked to predict: columns checked, names of categories turned into indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.points import named_points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CATEGORY = "category"  # the variable that names one
TOTAL = "total"  # the sum of all categories, which is what a model predicts unless told otherwise


def category_points(
    user_points: Any, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], Ints]:
    """Check points at which to predict."""
    points, index = named_points(user_points, columns, {CATEGORY: (TOTAL, *categories)}, usual=TOTAL)
    return points, index[CATEGORY] - 1
