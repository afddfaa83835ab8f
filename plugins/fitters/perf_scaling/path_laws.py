"""Laws of paths as a model file keeps them: the ground that everything else stands on."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt

from perf_scaling.described_laws import DescribedLaws
from perf_scaling.path_data import Law, PathData
from perf_scaling.posterior.posterior import Posterior
from perf_scaling.posterior.stored import posterior_of
from perf_scaling.whole import Whole, whole_of
from perfcore.models.model import Model

PATH = "path"  # the variable that names one

Floats = npt.NDArray[np.float64]


class PathLaws(DescribedLaws, Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """What was measured of paths at the points of some parameters, and what the data leave open of each.

    These are the fields of a model file; `perf_scaling.model.LawModel` answers with what is drawn from them.
    """

    columns: dict[str, str]  # parameters: symbol in formulas to the column's name in the data
    value_name: str
    unit: str | None
    notes: tuple[str, ...]
    points: dict[str, tuple[float, ...]]  # measured points (n) by symbol
    paths: tuple[str, ...]
    laws: tuple[Law, ...]  # each a tuple of terms, up to a factor
    settings: tuple[tuple[float, float, float], ...]
    data: tuple[PathData, ...]  # of each path
    unfitted: dict[str, str]  # paths that no law could be fitted to, and why
    target: dict[str, float]  # the point that tables and pictures look at
    metrics: tuple[str, ...] = ()  # what was measured of each path, or on which of several systems
    scaling: str = ""  # whether the problem grows with the first parameter or stays the same; empty where nobody says
    reciprocal: bool = False  # what was measured are rates, and the laws are of one over them

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold; `perfcore.load` makes one line of it."""
        n = len(next(iter(self.points.values()), ()))
        if set(self.points) != set(self.columns) or any(len(p) != n for p in self.points.values()) or not n:
            raise ValueError("the points are not those of the model's parameters")
        if self.scaling not in ("weak", "strong", ""):
            raise ValueError("the scaling is neither weak nor strong")
        if set(self.target) != set(self.columns):
            raise ValueError("the target is not a point of the model's parameters")
        levels = [level for column in (*self.points.values(), self.target.values()) for level in column]
        if not all(0.0 < level < math.inf for level in levels) or len(set(zip(*self.points.values(), strict=True))) < n:
            raise ValueError("the points are no positive numbers that differ")
        if len(self.paths) != len(self.data) or not self.paths or len(set(self.paths)) < len(self.paths):
            raise ValueError("there are not as many paths as data of paths, or two have one name")
        if self.metrics and len(self.metrics) != len(self.paths):
            raise ValueError("there are not as many metrics as paths")
        for path, path_data in zip(self.paths, self.data, strict=True):
            if len(path_data.means) != n:
                raise ValueError(f"{path} has not as many means as there are points")
            for chosen, available in ((path_data.laws, self.laws), (path_data.settings, self.settings)):
                if min(chosen) < 0 or max(chosen) >= len(available):
                    raise ValueError(f"{path} has a law that the model does not have")
        if not all(self.laws):
            raise ValueError("a law has no term")
        if not all(tau > 0.0 <= kappa < math.inf and 0.0 < length < math.inf for tau, kappa, length in self.settings):
            raise ValueError("a scatter, or a length of a drift, is no positive number")
        factors = {factor.symbol for law in self.laws for term in law for factor in term.factors}
        if not factors <= set(self.columns):
            raise ValueError("a law is of a parameter that the model does not have")

    @property
    def variables(self) -> Mapping[str, str]:
        """The parameters, and the path where there are several."""
        return {**self.columns, **({PATH: PATH} if len(self.paths) > 1 else {})}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The paths."""
        return {PATH: self.paths} if len(self.paths) > 1 else {}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each parameter."""
        return {symbol: (min(values), max(values)) for symbol, values in self.points.items()}

    @property
    def unit_of_laws(self) -> str | None:
        """Unit of coefficients: that of the values, or one over it."""
        return f"1/({self.unit})" if self.reciprocal and self.unit else self.unit

    @functools.cached_property
    def means(self) -> Floats:
        """Mean of each path at each point (K, n); NaN where it was not measured."""
        return np.array([path_data.means for path_data in self.data], dtype=np.float64)

    @functools.cached_property
    def whole(self) -> Whole:
        """How the paths add up, and their call trees."""
        return whole_of(self.paths, self.metrics, self.value_name, self.means)

    def at(self, target: Mapping[str, float]) -> Self:
        """The same laws, looked at from another point."""
        other = msgspec.structs.replace(self, target=dict(target))
        # What does not depend on the target takes longer than a view of one path.
        lasting = ("measured", "means", "posterior", "fitted", "whole", "leading")
        vars(other).update({name: getattr(self, name) for name in lasting})
        return other

    @functools.cached_property
    def posterior(self) -> Posterior:
        """What the data leave open, as arrays."""
        return posterior_of(
            self.symbols, self.measured, self.means, self.laws, self.settings, self.data, self.reciprocal
        )
