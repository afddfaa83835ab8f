"""What a fitted model says about measurements that are not made yet: rows of its weighted design, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats


@dataclass(frozen=True)
class DesignRows:
    """A model as a sum of K parts, each fitted by weighted least squares; nonlinear parts at their estimate.

    A model of one part is the usual case. The sum of models of categories has several: each has terms of its own, and
    the errors of categories in one run are correlated.
    """

    measured: tuple[Floats, ...]  # weighted rows of the observations; zeros where a part was not measured
    asked: tuple[Floats, ...]  # weighted rows that observations at the points asked for would have
    errors: Floats  # covariance of the weighted errors of one observation between parts
    scale: Floats  # what a weighted value at these points is multiplied by to be in the unit of the data
    points: Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.str_]]
    repetitions: npt.NDArray[np.int64]  # runs that each observation stands for
    unit: str | None


@dataclass(frozen=True)
class Rival:
    """Another model that fits the same data about as well."""

    name: str  # what it is made of
    figure: str  # how well it fits, next to the chosen model, as a person reads it
    values: Floats  # what it predicts at the points asked for
