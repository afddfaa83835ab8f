"""What a fitted model says about measurements that are not made yet: rows of its weighted design, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats


@dataclass(frozen=True)
class DesignRows:
    """A model as a sum of K parts, each fitted by weighted least squares; nonlinear parts at their estimate.

    A model of one part is the usual case. The sum of models of categories has several: each has separate terms, and
    the errors of categories in one run are correlated.
    """

    measured: tuple[Floats, ...]  # weighted rows of the observations; zeros where a part was not measured
    asked: tuple[Floats, ...]  # weighted rows that observations at the points asked for would have
    errors: Floats  # covariance of the weighted errors of one observation between parts
    scale: Floats  # what a weighted value at these points is multiplied by to be in the unit of the data
    points: Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.str_]]
    repetitions: npt.NDArray[np.int64]  # runs that each observation stands for
    unit: str | None
    outcomes: Any = None  # draws of the outcomes instead of rows; scale are then the values at the points


@dataclass(frozen=True)
class Rival:
    """Another model that fits the same data about as well."""

    name: str  # what it is made of
    figure: str  # how well it fits, next to the chosen model, as a person reads it
    values: Floats  # what it predicts at the points asked for


N_DRAWS = 256  # of each part; pairs of independent draws then resolve probabilities of 2e-5


@dataclass(frozen=True)
class Drawn:
    """Predicted values and their uncertainty."""

    values: Floats  # as the model predicts them at T points
    draws: Floats  # equally probable values at each point, ascending


@dataclass(frozen=True)
class PartDraws:
    """A model at T points by its K parts, which are independent of one another."""

    what: str  # what a part is: ``"category"``, ``"path"``; empty where the model has none
    names: tuple[str, ...]
    keys: tuple[str, ...]  # what parts of two models are matched by
    parts: Drawn  # values (K, T), draws (K, T, N)
    total: Drawn | None  # values (T,), draws (T, N) of the whole; None where it is the sum of the parts
    single_runs: bool  # the draws are of single runs, which hold their noise, and not of means
    left_out: Mapping[str, str] = field(default_factory=dict)  # parts that no model could be fitted to, and why
    add_up: bool = True  # their sum is the whole, as of a run's call paths and not of several programs


@dataclass(frozen=True)
class GrowthDraws:
    """How the K parts of a model grow."""

    laws: tuple[str, ...]  # the likeliest of each part
    classes: tuple[str, ...]  # all classes of growth, such as ``"linear"``; later ones grow faster (C)
    probabilities: Floats  # of the classes, over each parameter
    symbols: tuple[str, ...]  # parameters
    exponents: Floats
