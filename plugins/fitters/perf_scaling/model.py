"""Scaling models of paths over parameters, averaged over all that the data leave open."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perf_scaling.advice import advice, next_point, outcomes
from perf_scaling.best_fit import BestFits, best_fits
from perf_scaling.call_tree import Whole, whole_of
from perf_scaling.data import PATH, observed_by_path
from perf_scaling.engine import HoldoutCheck, check_holdout
from perf_scaling.growth import CLASSES, classes_of_draws, slopes_between
from perf_scaling.posterior.posterior import DRAWS, Draws, Posterior, equally_probable, posterior_of
from perf_scaling.rows import PathRow, path_rows
from perf_scaling.speedup import Speedup, speedup
from perf_scaling.terms import Law, PathData, point_text
from perf_tables.points import check_coverage, named_points
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError, listing
from perfcore.data.columns import is_speed, shown_names
from perfcore.models.design_rows import N_DRAWS, DesignRows, Drawn, GrowthDraws, PartDraws, Rival
from perfcore.models.model import Model, Parameter, Points
from perfcore.models.observed import Observed

_NUMBERS_AT_ONCE = 1 << 21  # in the draws of one block, 16 MB
_OCTAVE = 2.0  # growth is looked at from half the level of a parameter to the level, or to twice it from 1 on
_MOST_RIVALS = 12  # less likely ones differ more and mean less


class ScalingModel(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """Scaling models of paths: what was measured at points of some parameters, and the posterior of each.

    It predicts with bounds that hold which model is right, says how sure growth is, and what to measure next.
    """

    kind: ClassVar[str] = "scaling laws"

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
        return {**self.columns, **({PATH: PATH} if len(self.paths) > 1 else {})}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {PATH: self.paths} if len(self.paths) > 1 else {}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {symbol: (min(values), max(values)) for symbol, values in self.points.items()}

    @property
    def fitted_points(self) -> Mapping[str, Any]:
        """Measured points (n,), by symbol."""
        return self.points

    @property
    def unit_of_laws(self) -> str | None:
        """Unit of coefficients: that of the values, or one over it."""
        return f"1/({self.unit})" if self.reciprocal and self.unit else self.unit

    @property
    def symbols(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.columns)

    @property
    def parameter_names(self) -> Mapping[str, str]:
        """What texts call the parameters, by symbol."""
        return shown_names(self.columns)

    @property
    def target_text(self) -> str:
        """The target as a person writes it."""
        return self.point_text(self.target)

    def point_text(self, point: Mapping[str, float]) -> str:
        """Levels of parameters, by symbol, as a person writes them."""
        return point_text({self.parameter_names[symbol]: level for symbol, level in point.items()})

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
        return np.array([path_data.means for path_data in self.data], dtype=np.float64)

    @functools.cached_property
    def whole(self) -> Whole:
        """How the paths add up, and their call trees."""
        return whole_of(self.paths, self.metrics, self.value_name, self.means)

    @functools.cached_property
    def posterior(self) -> Posterior:
        """What the data leave open, as arrays."""
        return posterior_of(
            self.symbols, self.measured, self.means, self.laws, self.settings, self.data, self.reciprocal
        )

    @functools.cached_property
    def fitted(self) -> Floats:
        """Median of each path's mean at each point (K, n)."""
        return self.posterior.quantiles(self.measured, [0.5])[:, :, 0]

    @functools.cached_property
    def best(self) -> BestFits:
        """The best-fitting model of each path in the measured range, and those that fit as well."""
        return best_fits(self)

    @functools.cached_property
    def rows(self) -> tuple[PathRow, ...]:
        """What is said of each path at the target, the largest share first."""
        return path_rows(self)

    @functools.cached_property
    def check(self) -> HoldoutCheck | None:
        """How the largest measured level is predicted by the others; None where these are too few."""
        return check_holdout(self)

    @functools.cached_property
    def speedup(self) -> Speedup | None:
        """Speedup and efficiency of all paths together."""
        return speedup(self)

    def at(self, target: Mapping[str, float]) -> Self:
        """The same laws, looked at from another point."""
        other = msgspec.structs.replace(self, target=dict(target))
        # What does not depend on the target takes longer than a view of one path.
        lasting = ("measured", "means", "posterior", "fitted", "whole", "best")
        vars(other).update({name: getattr(self, name) for name in lasting})
        return other

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws from the posterior, of all paths or of some, at points (T, q)."""
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        return posterior.draws(points)

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """`draws` of some paths after the other, with their places: of all paths at once they are gigabytes."""
        every = range(len(self.paths)) if paths is None else paths
        count = max(1, _NUMBERS_AT_ONCE // (DRAWS * len(np.asarray(points))))
        for begin in range(0, len(every), count):
            block = slice(begin, min(begin + count, len(every)))
            yield block, self.draws(points, every[block])

    def band(
        self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None, run: bool = False
    ) -> Floats:
        """Median and bounds of the mean or of a run (K, T, 3), of all paths or of some, at points (T, q)."""
        check_coverage(interval)
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        sides = (0.5 - 0.5 * interval, 0.5, 0.5 + 0.5 * interval)
        quantiles = posterior.quantiles(points, sides, run=run)
        if run:  # the estimate is the same for both
            quantiles[:, :, 1:2] = posterior.quantiles(points, (0.5,))
        return quantiles[:, :, [1, 0, 2]]

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        if interval is not None:
            check_coverage(interval)
        levels, path_numbers = self._places(points)
        distinct, place = np.unique(levels, axis=0, return_inverse=True)
        paths, path = np.unique(path_numbers, return_inverse=True)
        if interval is None:
            values = self.posterior.of_paths(paths).quantiles(distinct, [0.5])
        else:
            values = self.band(distinct, interval, paths.tolist(), run=True)
        chosen = values[path.ravel(), place.ravel()]
        return chosen[:, 0] if interval is None else chosen

    def observed(self, data: Any, where: str | None = None) -> Observed:
        return observed_by_path(self, data, where)

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
        """Draws of every path, which depend on one another by nothing that the data tell; see `Model.part_draws`.

        They are to be compared with those of another version, to which a change of the slope beyond the data would
        happen too; so they leave it out.
        """
        levels, _ = named_points({name: points[name] for name in self.symbols if name in points}, self.columns, {})
        places = np.stack([levels[symbol] for symbol in self.symbols], axis=1)
        draws = np.empty((len(self.paths), len(places), N_DRAWS))
        for block, block_draws in self.draws_in_blocks(places):
            draws[block] = equally_probable(block_draws.unchanged(), N_DRAWS)
        return PartDraws(
            what=PATH,
            names=self.paths,
            keys=self.paths,
            parts=Drawn(
                draws[:, :, N_DRAWS // 2 - 1 : N_DRAWS // 2 + 1].mean(axis=2), draws
            ),  # the median: they ascend
            total=None,
            single_runs=False,
            left_out=self.unfitted,
            add_up=not self.whole.several and bool(self.whole.counted.all()),
        )

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws:
        """How each path grows over an octave around a point, one parameter at a time; see `Model.growth_draws`."""
        centre = np.array([float(point[symbol]) for symbol in self.symbols])
        below = np.where(centre >= _OCTAVE, centre / _OCTAVE, centre)  # logarithms are negative below 1
        q = len(centre)
        places = np.tile(centre, (2, q, 1))
        places[0, range(q), range(q)] = below
        places[1, range(q), range(q)] = _OCTAVE * below
        exponents = np.empty((len(self.paths), q, N_DRAWS))
        probabilities = np.empty((len(self.paths), q, len(CLASSES)))
        for block, block_draws in self.draws_in_blocks(places.reshape(2 * q, q)):
            values = block_draws.unchanged()
            slopes = [slopes_between(values[:, :, k], values[:, :, q + k], _OCTAVE) for k in range(q)]
            exponents[block] = equally_probable(np.stack(slopes, axis=2), N_DRAWS)
            for k, symbol in enumerate(self.symbols):
                of_draw = classes_of_draws(self, symbol, block_draws, slopes[k])
                probabilities[block, k] = (of_draw[:, :, None] == np.arange(len(CLASSES))).mean(axis=1)
        return GrowthDraws(
            laws=tuple(fit.formula for fit in self.best.named),
            classes=CLASSES,
            probabilities=probabilities,
            symbols=self.symbols,
            exponents=exponents,
        )

    def remarks(self, points: Points) -> list[str]:
        places, path_numbers = self._places(points)
        lowest, highest = self.posterior.measured_range
        lines = []
        for place, path in zip(places.tolist(), path_numbers.tolist(), strict=True):
            ends = zip(self.parameter_names.values(), place, lowest[path].tolist(), highest[path].tolist(), strict=True)
            parts = [f"{name} was {low:g} to {high:g}" for name, level, low, high in ends if not low <= level <= high]
            lines.append(f"extrapolated: {', '.join(parts)}" if parts else "")
        return lines

    def design_rows(self, points: Points) -> DesignRows:
        """Draws at points of one path, or of all; the first is the target. See `Model.design_rows`."""
        if len(self.paths) == 1 or (isinstance(points, Mapping) and PATH in points):
            places, path = self._places_of_one(points)
            paths = [path]
        else:
            levels, _ = named_points(points, self.columns, {})
            places = np.stack([levels[symbol] for symbol in self.symbols], axis=1)
            paths = np.flatnonzero(self.whole.counted).tolist()
        target = dict(zip(self.symbols, places[0].tolist(), strict=True))
        measured = np.isfinite(self.means[paths]).any(axis=0)
        counts = np.array([self.data[path].counts for path in paths]).max(axis=0)
        return DesignRows(
            measured=(),
            asked=(),
            errors=np.eye(1) * float(np.median(self.posterior.spread[paths])),
            scale=self.posterior.of_paths(paths).quantiles(places, (0.5,))[:, :, 0].sum(axis=0),
            points={symbol: np.array(levels)[measured] for symbol, levels in self.points.items()},
            repetitions=np.maximum(np.rint(counts[measured]), 1.0).astype(np.int64),
            unit=self.unit,
            outcomes=outcomes(self.at(target), places[1:], paths),
        )

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        if len(self.paths) > 1 and not (isinstance(points, Mapping) and PATH in points):
            return ()
        places, path = self._places_of_one(points)
        laws = self.laws_left(path, places)[1 : 1 + _MOST_RIVALS]
        return tuple(Rival(name, f"probability {share:.1%}", values) for name, share, values in laws)

    def laws_left(self, path: int, points: Floats) -> list[tuple[str, float, Floats]]:
        """Models that fit a path, their probability, and what they predict at points (T, q) if they hold."""
        best = self.best
        laws = []
        for number, candidate in enumerate(best.candidates[path]):
            alone = msgspec.structs.replace(candidate, weight=1.0)
            values = BestFits(((alone,),), (), best.symbols, best.reciprocal).predict(points)[0, :, 0]
            laws.append((best.formula(path, number), candidate.weight, values))
        return laws

    def if_model_holds(
        self, points: npt.ArrayLike, interval: float = 0.95, paths: Sequence[int] | None = None
    ) -> Floats:
        """Predicted means if the best-fitting model continues to hold (K, T, 3), of all paths or of some.

        Parameters
        ----------
        points : array_like, shape (T, q)
            Levels of the parameters.
        interval : float
            Probability that the interval holds the mean, given that one of the models that fit is true.

        Returns
        -------
        numpy.ndarray, shape (K, T, 3)
            Value of the best-fitting model, and the ends of the interval: uncertainty of the coefficients and of the
            choice among models that fit. Changes in behaviour beyond the data come on top; `band` has them.
        """
        check_coverage(interval)
        return self.best.predict(points, interval, paths)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        estimates = []
        for fit in self.best.named:
            prefix = f"{fit.path}: " if len(self.paths) > 1 else ""
            for name, value, error in zip(fit.terms, fit.coefficients, fit.standard_errors, strict=True):
                estimates.append(Parameter(prefix + name, value, error, self.unit_of_laws))
        return tuple(estimates)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """How many paths, points and laws, and how well the rest predicts what was measured last."""
        check = self.check
        return {
            "n_points": len(self.measured),
            "n_paths": len(self.paths),
            "n_unfitted": len(self.unfitted),
            "n_laws": len(self.laws),
            "median_noise": float(np.median(np.sqrt(self.posterior.spread))),
            "last_level_error": None if check is None else check.median_error,
            "last_level_inside": None if check is None else check.inside,
        }

    @property
    def formula(self) -> str:
        if len(self.paths) == 1:
            return self.best.named[0].formula
        return "\n".join(f"{fit.path} = {fit.formula}" for fit in self.best.named)

    @property
    def has_parts(self) -> bool:
        """Paths are parts of a whole; rates of different things and efficiencies are not, nor are whole programs."""
        alone = len(self.paths) > 1 and len(self.whole.trees) == len(self.paths)
        return not alone and not is_speed(self.unit, self.value_name)

    def details(self) -> dict[str, Any]:
        curve = self.speedup
        return {
            "paths": [
                {
                    **row.to_dict(),
                    **({} if self.has_parts else {"share": None}),
                    "growths": {
                        name: growth._asdict()
                        for name, growth in zip(self.parameter_names.values(), row.growths, strict=True)
                    },
                }
                for row in self.rows
            ],
            "share_of": self.whole.shares_text if self.has_parts else None,
            "advice": [entry._asdict() for entry in advice(self)],
            "next_point": next_point(self),
            "speedup": curve and {**curve._asdict(), "levels": [level._asdict() for level in curve.levels]},
            "check": None if self.check is None else self.check._asdict(),
            "unfitted": self.unfitted,
        }

    def _places(self, points: Points) -> tuple[Floats, Ints]:
        """Points (n, q) and the number of the path of each."""
        coordinates, index = named_points(points, self.columns, {PATH: self.paths})
        return np.stack([coordinates[symbol] for symbol in self.symbols], axis=1), index[PATH]

    def _places_of_one(self, points: Points) -> tuple[Floats, int]:
        places, path_numbers = self._places(points)
        if len(distinct := np.unique(path_numbers)) > 1:
            names = listing((self.paths[k] for k in distinct.tolist()), 6)
            raise OptionError(f"points of one path are expected, not of {names}")
        return places, int(path_numbers[0])
