"""What a fitted model says about measurements that are not made yet: rows of its weighted design, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["DesignRows", "Rival"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DesignRows:
    """A model as a sum of K parts, each fitted by weighted least squares; nonlinear parts at their estimate.

    A model of one part is the usual case. The sum of models of categories has several: each has terms of its own, and
    the errors of categories in one run are correlated.

    Parameters
    ----------
    measured : tuple of K (m, P_k) float
        Weighted rows of the observations; zeros where a part was not measured.
    asked : tuple of K (n, P_k) float
        Weighted rows that observations at the points asked for would have; zeros where a part says nothing there.
    errors : (K, K) float
        Covariance of the weighted errors of one observation between parts.
    scale : (n,) float
        What a weighted value at these points is multiplied by to be in the unit of the data.
    points : mapping of str to (m,) float or str
        Where the observations were made, by variable of the model; empty where the model does not keep them.
    repetitions : (m,) int
        Runs that each observation stands for.
    unit : str or None
    """

    measured: tuple[Floats, ...]
    asked: tuple[Floats, ...]
    errors: Floats
    scale: Floats
    points: Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.str_]]
    repetitions: npt.NDArray[np.int64]
    unit: str | None


@dataclass(frozen=True)
class Rival:
    """Another model that fits the same data about as well.

    Parameters
    ----------
    name : str
        What it is made of.
    figure : str
        How well it fits, next to the chosen model, as a person reads it.
    values : (n,) float
        What it predicts at the points asked for.
    """

    name: str
    figure: str
    values: Floats
