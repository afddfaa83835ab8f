"""Laws of paths as a model file keeps them, and what is drawn from them: the ground that everything else stands on."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt

from perf_laws.path_data import Law, PathData
from perf_laws.posterior.posterior import DRAWS, Draws, Posterior
from perf_laws.posterior.stored import posterior_of
from perf_laws.whole import Whole, whole_of
from perf_points.points import check_coverage
from perfcore.models.model import Model

__all__ = ["PATH", "PathLaws"]

PATH = "path"  # the variable that names one

_NUMBERS_AT_ONCE = 1 << 21  # in the draws of one block, 16 MB

Floats = npt.NDArray[np.float64]


class PathLaws(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """What was measured of paths at the points of some parameters, and what the data leave open of each.

    These are the fields of a model file, and all that is drawn from them; `perf_laws.model.LawModel` answers with it.

    Attributes
    ----------
    columns : dict
        Parameters: symbol in formulas to the column's name in the data.
    value_name : str
    unit : str or None
    notes : tuple of str
    points : dict of str to tuple of float
        Measured points (n) by symbol.
    paths : tuple of str
    laws : tuple of laws
        Each a tuple of terms, up to a factor.
    settings : tuple of (float, float, float)
        Scatter of a level, drift of the slope, and its length in the logarithm of a parameter.
    data : tuple of PathData
        Of each path.
    unfitted : dict of str to str
        Paths that no law could be fitted to, and why.
    target : dict of str to float
        The point that tables and pictures look at.
    metrics : tuple of str
        What was measured of each path; empty where no column tells, and it is the same.
    scaling : {"weak", "strong", ""}
        Whether the problem grows with the first parameter or stays the same; empty where nobody says.
    """

    columns: dict[str, str]
    value_name: str
    unit: str | None
    notes: tuple[str, ...]
    points: dict[str, tuple[float, ...]]
    paths: tuple[str, ...]
    laws: tuple[Law, ...]
    settings: tuple[tuple[float, float, float], ...]
    data: tuple[PathData, ...]
    unfitted: dict[str, str]
    target: dict[str, float]
    metrics: tuple[str, ...] = ()
    scaling: str = ""

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold; `perfcore.load` makes one line of it."""
        n = len(next(iter(self.points.values()), ()))
        if set(self.points) != set(self.columns) or any(len(p) != n for p in self.points.values()) or not n:
            raise ValueError("the points are not those of the model's parameters")
        if self.scaling not in ("weak", "strong", ""):
            raise ValueError("the scaling is neither weak nor strong")
        if set(self.target) != set(self.columns):
            raise ValueError("the target is not a point of the model's parameters")
        levels = [level for own in (*self.points.values(), self.target.values()) for level in own]
        if not all(0.0 < level < math.inf for level in levels) or len(set(zip(*self.points.values(), strict=True))) < n:
            raise ValueError("the points are no positive numbers that differ")
        if len(self.paths) != len(self.data) or not self.paths or len(set(self.paths)) < len(self.paths):
            raise ValueError("there are not as many paths as data of paths, or two have one name")
        if self.metrics and len(self.metrics) != len(self.paths):
            raise ValueError("there are not as many metrics as paths")
        for path, own in zip(self.paths, self.data, strict=True):
            if len(own.means) != n:
                raise ValueError(f"{path} has not as many means as there are points")
            for chosen, known in ((own.laws, self.laws), (own.settings, self.settings)):
                if min(chosen) < 0 or max(chosen) >= len(known):
                    raise ValueError(f"{path} has a law that the model does not have")
        if not all(self.laws):
            raise ValueError("a law has no term")
        if not all(tau > 0.0 <= kappa < math.inf and 0.0 < length < math.inf for tau, kappa, length in self.settings):
            raise ValueError("a scatter, or a length of a drift, is no positive number")
        factors = {factor.symbol for law in self.laws for term in law for factor in term.factors}
        if not factors <= set(self.columns):
            raise ValueError("a law is of a parameter that the model does not have")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.columns)

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
    def target_point(self) -> Floats:
        """The target as one of the points (q,)."""
        return np.array([self.target[symbol] for symbol in self.symbols], dtype=np.float64)

    @functools.cached_property
    def measured(self) -> Floats:
        """Measured points (n, q)."""
        return np.stack([np.array(self.points[symbol]) for symbol in self.symbols], axis=1)

    @functools.cached_property
    def means(self) -> Floats:
        """Mean of each path at each point (K, n); NaN where it was not measured."""
        return np.array([own.means for own in self.data], dtype=np.float64)

    @functools.cached_property
    def fitted(self) -> Floats:
        """Median of each path's mean at each point (K, n)."""
        return self.posterior.quantiles(self.measured, [0.5])[:, :, 0]

    @functools.cached_property
    def whole(self) -> Whole:
        """How the paths add up, and their call trees."""
        return whole_of(self.paths, self.metrics, self.value_name, self.means)

    def at(self, target: Mapping[str, float]) -> Self:
        """The same laws, looked at from another point.

        Parameters
        ----------
        target : mapping of str to float
            Each parameter.
        """
        other = msgspec.structs.replace(self, target=dict(target))
        # What does not depend on the target takes longer than a view of one path.
        lasting = ("measured", "means", "posterior", "fitted", "whole")
        vars(other).update({name: getattr(self, name) for name in lasting})
        return other

    @functools.cached_property
    def posterior(self) -> Posterior:
        """What the data leave open, as arrays."""
        return posterior_of(self.symbols, self.measured, self.means, self.laws, self.settings, self.data)

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws from what the data leave open, of all paths or of some, at points (T, q)."""
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        return posterior.draws(points)

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """`draws` of some paths after the other, with their places: of all paths at once they are gigabytes."""
        every = range(len(self.paths)) if paths is None else paths
        count = max(1, _NUMBERS_AT_ONCE // (DRAWS * len(np.asarray(points))))
        for begin in range(0, len(every), count):
            own = slice(begin, min(begin + count, len(every)))
            yield own, self.draws(points, every[own])

    def band(
        self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None, run: bool = False
    ) -> Floats:
        """Median and bounds of the mean or of a run (K, T, 3), of all paths or of some, at points (T, q)."""
        check_coverage(interval)
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        sides = (0.5 - 0.5 * interval, 0.5, 0.5 + 0.5 * interval)
        found = posterior.quantiles(points, sides, run=run)
        if run:  # the estimate is the same for both
            found[:, :, 1:2] = posterior.quantiles(points, (0.5,))
        return found[:, :, [1, 0, 2]]
