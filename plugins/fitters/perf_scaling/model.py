"""Scaling models of paths over parameters, averaged over all that the data leave open: the numbers.

Answers, tables and plots are made of them in `perf_scaling.answers`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perf_scaling.call_tree import Whole, whole_of
from perf_scaling.candidates import Candidate, CandidateRow, candidate_rows, find_candidates, values_of
from perf_scaling.data import PATH, observed_by_path
from perf_scaling.engine import HoldoutCheck, check_holdout
from perf_scaling.growth import (
    CLASSES,
    COVERAGE,
    LIKELY,
    SURE,
    Growth,
    advice,
    classes_of_draws,
    growths_at_target,
    next_point,
    outcomes,
    slopes_between,
)
from perf_scaling.posterior import DRAWS, Draws, Posterior, equally_probable, posterior_of, student_variance
from perf_scaling.terms import Law, PathData
from perf_tables.points import describe_outside, named_points
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError, listing
from perfcore.data.columns import guess_roles, is_named, is_processors, is_speed, shown_names
from perfcore.data.units import is_time
from perfcore.models.model import Model, Parameter, Points
from perfcore.models.points import N_DRAWS, DesignRows, Drawn, GrowthDraws, Observed, PartDraws, Rival, check_coverage
from perfcore.report import Report
from perfcore.tables import point_text

_NUMBERS_AT_ONCE = 1 << 21  # in the draws of one block, 16 MB
_PATHS_AT_ONCE = 256
_OCTAVE = 2.0  # growth is looked at from half the level of a parameter to the level, or to twice it from 1 on
_MOST_RIVALS = 12  # less likely ones differ more and mean less
_SEED = 0  # of the order in which draws of different paths are put together
_HALF = 0.5
_MOST_OPEN = math.log(1e6)  # of a measured level
_SURE_MEAN = 1.96  # standard errors of a measured mean, to the ends of its 95 % interval
# Without any word about it, scaling is strong if the time falls by this factor, and weak if it changes little.
_FALLS, _RISES = 1.2, 2.0
_SLACK = 0.95  # of the time of the fewest processors, which a problem that grows does not fall below; rates alike

Estimate = tuple[float, float, float]  # value, and the ends of its 95 % interval


class PathRow(NamedTuple):
    """One path at the target."""

    path: str
    share: float  # of the whole of its metric; see `perf_scaling.call_tree.Whole`
    predicted: float  # a measurement at the target, in the unit of the data: median and ends of the 95% interval
    low: float
    high: float
    likely: tuple[float, float]  # ends of its 50% interval
    model: Candidate  # that of the measured range, and the value of its formula at the target
    continued: float
    growths: tuple[Growth, ...]  # over each parameter
    determined: bool  # growth over every parameter is sure
    deviates: float  # probability that the last level is an exception
    missed: float  # largest relative residual of the model, and the measured point where that is
    missed_at: dict[str, float]
    turn: float  # how far the last level turns away from the laws, as a logarithm; 0 if it does not
    reach: dict[str, float]  # largest measured level of each parameter, by its name in texts
    reach_of_target: float  # largest ratio of the target to what was measured, of all parameters
    changes_at: float | None  # level of the parameter where the last step is steeper than all before it by far

    def to_dict(self) -> dict[str, Any]:
        """Return it by name, with what holds of the model."""
        own = self._asdict()
        own["model"] = {
            "formula": self.model.formula,
            "fit_error": self.model.fit_error,
            "terms": list(self.model.terms),
            "coefficients": list(self.model.coefficients),
            "standard_errors": list(self.model.standard_errors),
            "continued": own.pop("continued"),
        }
        return own


class Level(NamedTuple):
    """All paths together at one level of the first parameter, others held at the target; intervals are of 95 %."""

    level: float
    measured: Estimate | None  # mean; without repeated runs the ends are those of a usual noise
    predicted: Estimate | None  # a single run, where nothing was measured
    likely: tuple[float, float] | None  # ends of the 50% interval of that
    speedup: Estimate | None = None  # over the smallest level; None if the parameter does not count processors
    efficiency: Estimate | None = None
    cost: Estimate | None = None  # processors times time, relative to the smallest level


class Speedup(NamedTuple):
    """How well more processors are used: by a problem that stays the same, or by one that grows with them.

    G. M. Amdahl, "Validity of the single processor approach", 1967; J. L. Gustafson, "Reevaluating Amdahl's law", 1988.
    """

    symbol: str  # the parameter that counts processors
    base: float  # its smallest measured level
    levels: tuple[Level, ...]  # the measured ones, twice the largest, and the target
    half: float | None  # where the efficiency falls below 50 %; None where it does not up to the last level
    scaling: str  # "strong", "weak", "rate" or "rate of each"
    is_told: bool  # whether the table or the user says so; otherwise the times do


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
    apart: bool = False  # each series is as one alone: it scales strongly or weakly by itself

    def __post_init__(self) -> None:
        n = len(next(iter(self.points.values()), ()))
        if set(self.points) != set(self.columns) or any(len(p) != n for p in self.points.values()) or not n:
            raise ValueError("the points are not those of the model's parameters")
        if self.scaling not in ("weak", "strong", "layouts", ""):
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
    def symbols(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.columns)

    @property
    def parameter_names(self) -> Mapping[str, str]:
        """What texts call the parameters, by symbol."""
        return shown_names(self.columns)

    @property
    def target_text(self) -> str:
        """The target as a command has it."""
        return self.point_text(self.target)

    def point_text(self, point: Mapping[str, float]) -> str:
        """Return levels of parameters, by symbol or name, as a command has them: ``n=512, m=64``."""
        return point_text({self.parameter_names.get(symbol, symbol): level for symbol, level in point.items()})

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
        posterior = posterior_of(self)
        return bounded(self, posterior) if self.apart or len(self.paths) == 1 else posterior

    @functools.cached_property
    def scaling_kind(self) -> str:
        """``"strong"``, ``"weak"``, ``"rate"`` or ``"rate of each"`` processor, such as tokens/s/GPU.

        Empty if the first parameter counts no processors or nobody says.
        """
        if not self._counts_processors or self.whole.several or self.scaling == "layouts":
            return ""
        if self.reciprocal:
            is_of_one = is_named("rate_of_one", self.unit or self.value_name) or is_named("efficiency", self.value_name)
            return "rate of each" if is_of_one else "" if self.unit == "%" else "rate"
        if not self._is_time or self.scaling:
            return self.scaling if self._is_time else ""
        if len(self.symbols) > 1:  # the others, such as a size, are held
            return "strong"
        totals = self.totals_measured(self._along(np.unique(self.measured[:, 0])))[:, 0]
        totals = totals[np.isfinite(totals)]
        return _kind_of(totals) if len(totals) > 1 else ""

    @property
    def _counts_processors(self) -> bool:
        return is_processors(self.columns[self.symbols[0]])

    @property
    def _is_time(self) -> bool:
        if self.unit is not None:
            return is_time(self.unit)
        return guess_roles([self.value_name], {self.value_name}).value == self.value_name

    @functools.cached_property
    def fitted(self) -> Floats:
        """What the laws make of each path's mean at each point (K, n)."""
        return self.posterior.quantiles(self.measured, [0.5], smooth=True)[:, :, 0]

    @functools.cached_property
    def named(self) -> tuple[Candidate, ...]:
        """The best-fitting model of each path in the measured range."""
        return tuple(candidates[0] for candidates in find_candidates(self))

    @functools.cached_property
    def rows(self) -> tuple[PathRow, ...]:
        """What is said of each path at the target, the largest share first."""
        return _path_rows(self)

    @functools.cached_property
    def check(self) -> HoldoutCheck | None:
        """How the largest measured level is predicted by the others; None where these are too few."""
        return check_holdout(self)

    @functools.cached_property
    def levels_along(self) -> tuple[Level, ...]:
        """All paths together over the first parameter: measured levels, twice the largest, and the target."""
        return _levels(self)

    @functools.cached_property
    def speedup(self) -> Speedup | None:
        """Speedup and efficiency of all paths together."""
        kind = self.scaling_kind
        if not kind or len(self.levels_along) < 2:
            return None
        levels = _with_efficiency(self.levels_along, kind)
        is_told = bool(self.scaling) or self.reciprocal or len(self.symbols) > 1
        base = next((row for row in levels if row.measured), levels[0]).level
        return Speedup(self.symbols[0], base, levels, _falls_below_half(levels), kind, is_told)

    def candidate_rows(self, path: int = 0, target: npt.ArrayLike | None = None) -> tuple[CandidateRow, ...]:
        """Return candidate models of a path with their probabilities; they mix to the prediction at the target."""
        point = self.target_point if target is None else np.asarray(target, dtype=np.float64)
        return candidate_rows(self, path, point)

    def totals(self, points: Floats) -> Floats:
        """Return median, ends of the 95% and of the 50% interval of a run of all paths that add up, at points: (T, 5).

        Each point is drawn for itself, so that its numbers are the same whichever others are asked for.
        """
        paths = np.flatnonzero(self.whole.counted).tolist()
        if len(paths) == 1:
            wide, likely = (self.band(points, interval, paths, run=True)[0] for interval in (COVERAGE, LIKELY))
            return np.column_stack([wide, likely[:, 1:]])
        ends = [0.5 + side * 0.5 * interval for interval in (COVERAGE, LIKELY) for side in (-1.0, 1.0)]
        sums = [self._drawn_sums(point[None], paths)[:, 0] for point in np.asarray(points, dtype=np.float64)]
        return np.asarray(np.quantile(sums, [0.5, *ends], axis=1).T)

    def totals_measured(self, points: Floats) -> Floats:
        """Return mean and relative standard error of all paths that add up, at points (T, q): (T, 2) or NaN.

        Of paths that do not add up it is the geometric mean.
        """
        counted = self.whole.counted
        sums = np.full((len(points), 2), np.nan)
        posterior = self.posterior
        variances = posterior.noise * student_variance(np.ones(len(self.data)), posterior.counts)[:, None]
        for place, point in np.argwhere((points[:, None] == self.measured).all(axis=2)):
            means, noise = self.means[counted, point], variances[counted, point]
            if np.isfinite(means).all():
                shares = means / means.sum() if self.adds_up else np.full(len(means), 1.0 / len(means))
                whole = means.sum() if self.adds_up else math.exp(np.log(means).mean())
                sums[place] = whole, math.sqrt(float((shares**2 * noise).sum()))
        return sums

    def _along(self, levels: npt.ArrayLike) -> Floats:
        """Return points at levels of the first parameter, the others held at the target."""
        points = np.tile(self.target_point, (len(np.asarray(levels)), 1))
        points[:, 0] = levels
        return points

    def _drawn_sums(self, points: Floats, paths: Sequence[int]) -> Floats:
        """Draw equally probable sums of runs of paths (N, T), which are uncertain independently."""
        rng = np.random.default_rng(_SEED)
        sums = np.zeros((DRAWS, len(points)))
        paths = sorted(paths, key=lambda path: self.paths[path])  # rows in another order give the same sums
        for begin in range(0, len(paths), _PATHS_AT_ONCE):
            runs = self.draws(points, paths[begin : begin + _PATHS_AT_ONCE]).runs()
            order = rng.permuted(np.tile(np.arange(DRAWS), (len(runs), 1)), axis=1)  # one of its own for each path
            sums += np.take_along_axis(runs, order[:, :, None], axis=1).sum(axis=0)
        return sums

    def part(self, path: int) -> Self:
        """Return the model of one path alone."""
        metrics = self.metrics[path : path + 1]
        return msgspec.structs.replace(self, paths=self.paths[path : path + 1], data=self.data[path : path + 1],
                                       metrics=metrics, unfitted={})  # fmt: skip

    def at(self, target: Mapping[str, float]) -> Self:
        """Return the same laws, looked at from another point."""
        other = msgspec.structs.replace(self, target=dict(target))
        # What does not depend on the target takes longer than a view of one path.
        lasting = ("measured", "means", "posterior", "fitted", "whole", "named")
        vars(other).update({name: getattr(self, name) for name in lasting})
        return other

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws from the posterior, of all paths or of some, at points (T, q)."""
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        return posterior.draws(points)

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """Yield `draws` of some paths after the other, with their places: all at once are gigabytes."""
        every = range(len(self.paths)) if paths is None else paths
        count = max(1, _NUMBERS_AT_ONCE // (DRAWS * len(np.asarray(points))))
        for begin in range(0, len(every), count):
            block = slice(begin, min(begin + count, len(every)))
            yield block, self.draws(points, every[block])

    def band(
        self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None, run: bool = False
    ) -> Floats:
        """Return median and bounds of the mean or of a run (K, T, 3), of all or some paths, at points (T, q)."""
        check_coverage(interval)
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        sides = (0.5 - 0.5 * interval, 0.5, 0.5 + 0.5 * interval)
        quantiles = posterior.quantiles(points, sides, run=run)
        if not run:  # the estimate is the same for both
            quantiles[:, :, 1:2] = posterior.quantiles(points, (0.5,), run=True)
        return quantiles[:, :, [1, 0, 2]]

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        return self._at(points, interval, run=True)

    def mean_array(self, points: Points, interval: float) -> Floats:
        return self._at(points, interval, run=False)

    def _at(self, points: Points, interval: float | None, run: bool) -> Floats:
        if interval is not None:
            check_coverage(interval)
        levels, path_numbers = self._places(points)
        distinct, place = np.unique(levels, axis=0, return_inverse=True)
        paths, path = np.unique(path_numbers, return_inverse=True)
        if interval is None:
            values = self.posterior.of_paths(paths).quantiles(distinct, [0.5], run=True)
        else:
            values = self.band(distinct, interval, paths.tolist(), run=run)
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
        total = None
        if self.adds_up and not self.whole.counted.all():  # calls are within what calls them
            sums = np.random.default_rng(_SEED).permuted(draws[self.whole.counted], axis=2).sum(axis=0)
            total = Drawn(np.median(sums, axis=1), np.sort(sums, axis=1))
        return PartDraws(
            what=PATH,
            names=self.paths,
            keys=self.paths,
            parts=Drawn(self.posterior.quantiles(places, (0.5,), run=True)[:, :, 0], draws),
            total=total,
            single_runs=False,
            left_out=self.unfitted,
            add_up=self.adds_up and bool(self.whole.counted.all()),
        )

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws:
        """Draw how each path grows over an octave around a point, by parameter; see `Model.growth_draws`."""
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
            laws=tuple(named.formula for named in self.named),
            classes=CLASSES,
            probabilities=probabilities,
            symbols=self.symbols,
            exponents=exponents,
        )

    def remarks(self, points: Points) -> list[str]:
        places, path = self._places(points)
        lowest, highest = (ends[path].T for ends in self.posterior.measured_range)
        ranges = dict(zip(self.symbols, zip(lowest, highest, strict=True), strict=True))
        return describe_outside(dict(zip(self.symbols, places.T, strict=True)), ranges, self.parameter_names)

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
            scale=self.posterior.of_paths(paths).quantiles(places, (0.5,), run=True)[:, :, 0].sum(axis=0),
            points={symbol: np.array(levels)[measured] for symbol, levels in self.points.items()},
            repetitions=np.maximum(np.rint(counts[measured]), 1.0).astype(np.int64),
            unit=self.unit,
            outcomes=outcomes(self.at(target), places[1:], paths),
        )

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        if len(self.paths) > 1 and not (isinstance(points, Mapping) and PATH in points):
            return ()
        places, path = self._places_of_one(points)
        rows = [row for row in self.candidate_rows(path, places[0]) if row.candidate.terms != self.named[path].terms]
        return tuple(
            Rival(
                row.candidate.formula, f"probability {row.probability:.1%}", row.candidate.values(self.symbols, places)
            )
            for row in rows[:_MOST_RIVALS]
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        unit = f"1/({self.unit})" if self.reciprocal and self.unit else self.unit
        return tuple(
            Parameter(f"{path}: {name}" if len(self.paths) > 1 else name, value, error, unit)
            for path, fit in zip(self.paths, self.named, strict=True)
            for name, value, error in zip(fit.terms, fit.coefficients, fit.standard_errors, strict=True)
        )

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
            return self.named[0].formula
        return "\n".join(f"{path} = {fit.formula}" for path, fit in zip(self.paths, self.named, strict=True))

    @property
    def has_parts(self) -> bool:
        """Paths are parts of a whole; rates of different things and efficiencies are not, nor are whole programs."""
        alone = len(self.paths) > 1 and len(self.whole.trees) == len(self.paths)
        return not alone and not is_speed(self.unit, self.value_name)

    @functools.cached_property
    def adds_up(self) -> bool:
        """Paths are parts of one whole, not of several metrics, programs or systems."""
        return self.has_parts and not self.whole.several

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
            "candidates": [
                {**row._asdict(), "candidate": row.candidate.formula, "fit_error": row.candidate.fit_error}
                for row in (self.candidate_rows() if len(self.paths) == 1 else ())
            ],
            "share_of": self.whole.shares_text if self.has_parts else None,
            "advice": [entry._asdict() for entry in advice(self)],
            "next_point": next_point(self),
            "levels": [level._asdict() for level in (curve.levels if curve else self.levels_along)],
            "speedup": curve and {name: value for name, value in curve._asdict().items() if name != "levels"},
            "check": None if self.check is None else self.check._asdict(),
            "unfitted": self.unfitted,
        }

    def report(self, data: Any = None) -> Report:
        return self._report

    @functools.cached_property
    def _report(self) -> Report:
        from perf_scaling.answers import report_of

        return report_of(self)

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        if len(self.paths) == 1:
            return None
        from perf_scaling.tree_view import ScalingViews

        return ScalingViews(self)

    def _places(self, points: Points) -> tuple[Floats, Ints]:
        """Return points (n, q) and the number of the path of each."""
        coordinates, index = named_points(points, self.columns, {PATH: self.paths})
        return np.stack([coordinates[symbol] for symbol in self.symbols], axis=1), index[PATH]

    def _places_of_one(self, points: Points) -> tuple[Floats, int]:
        places, path_numbers = self._places(points)
        if len(distinct := np.unique(path_numbers)) > 1:
            names = listing((self.paths[k] for k in distinct.tolist()), 6)
            raise OptionError(f"points of one path are expected, not of {names}")
        return places, int(path_numbers[0])


def _kind_of(times: Floats) -> str:
    """Return how a problem scales, by the times in the order of the processors: strong if they fall anywhere."""
    first, last = times[0], times[-1]
    return "strong" if first > _FALLS * times.min() else "weak" if last < _RISES * first else ""


def bounded(model: ScalingModel, posterior: Posterior) -> Posterior:
    """Return the posterior of series with what is possible beyond the data.

    Times of problems that grow with the processors do not fall below the first, nor do rates of each processor exceed
    it, and neither rates nor times of problems that stay the same exceed linear speedup, except if the data do.
    """
    if len(model.symbols) > 1 or not model._counts_processors or not (model._is_time or model.reciprocal):
        return posterior
    least, linear = np.full(len(model.paths), -np.inf), np.full(len(model.paths), np.nan)
    for k, means in enumerate(model.means):
        measured = means[np.isfinite(means)]  # in the order of their levels
        kind = model.scaling or (_kind_of(measured) if len(measured) > 1 else "")
        if kind == "weak" and not model.reciprocal:
            least[k] = math.log(_SLACK * min(measured[0], measured.min()))
        elif model.reciprocal and is_named("rate_of_one", model.unit or model.value_name):
            least[k] = math.log(max(measured[0], measured.max()) / _SLACK)
        elif model.reciprocal or kind == "strong":
            work = model.measured[np.isfinite(means), 0] * (1.0 / measured if model.reciprocal else measured)
            if work.min() >= _SLACK * work[0]:
                linear[k] = math.log(_SLACK * work[0]) * (-1.0 if model.reciprocal else 1.0)
    if np.isfinite(linear).any():
        posterior = replace(posterior, linear=linear)
    return replace(posterior, least=least) if np.isfinite(least).any() else posterior


def _path_rows(model: ScalingModel) -> tuple[PathRow, ...]:
    """Return all paths, the largest share at the target first."""
    growths = [[Growth(*row) for row in zip(*columns, strict=True)] for columns in growths_at_target(model)]
    columns, whole = path_columns(model), model.whole
    predicted = columns.quantiles[:, 1]
    sums = np.bincount(whole.metric, np.where(whole.counted, predicted, 0.0))[whole.metric]
    share = np.divide(predicted, sums, out=np.zeros(len(predicted)), where=sums > 0.0)
    names = tuple(model.parameter_names.values())
    reach, reach_of_target = columns.reach.tolist(), (model.target_point / columns.reach).max(axis=1)
    rows = []
    for k in np.argsort(-share, kind="stable").tolist():
        low, value, high, *likely = columns.quantiles[k].tolist()
        own = tuple(column[k] for column in growths)
        rows.append(
            PathRow(
                path=model.paths[k], share=float(share[k]), predicted=value, low=low, high=high,
                likely=(likely[0], likely[1]), model=model.named[k], continued=float(columns.continued[k]),
                growths=own, determined=min(growth.probability for growth in own) >= SURE,
                deviates=float(columns.deviates[k]), missed=float(columns.missed[k]),
                missed_at=dict(zip(names, model.measured[columns.worst[k]].tolist(), strict=True)),
                turn=float(columns.turns[k]), reach=dict(zip(names, reach[k], strict=True)),
                reach_of_target=float(reach_of_target[k]),
                changes_at=float(columns.changes_at[k]) if columns.changes_at[k] > 0.0 else None,
            )
        )  # fmt: skip
    return tuple(rows)


class PathColumns(NamedTuple):
    """What holds of each path at the target (K,), in the order of the paths; see `PathRow`."""

    quantiles: Floats  # ends of the 95% interval about the median, and of the 50% interval (K, 5)
    continued: Floats
    deviates: Floats
    missed: Floats
    worst: Ints  # number of the point with the largest residual
    turns: Floats
    changes_at: Floats
    reach: Floats  # (K, q)


def path_columns(model: ScalingModel) -> PathColumns:
    """Return what holds of each path at the target, as arrays."""
    target, posterior = model.target_point[None], model.posterior
    sides = [0.5 + sign * share / 2 for share in (COVERAGE, LIKELY) for sign in (-1, 1)]
    quantiles = posterior.quantiles(target, [sides[0], 0.5, *sides[1:]], run=True)[:, 0]
    measured = np.isfinite(model.means)
    last = measured.shape[1] - 1 - measured[:, ::-1].argmax(axis=1)  # points are in the order of their levels
    fitted = values_of(model.named, model.symbols, np.concatenate([model.measured, target]))
    misses = np.where(measured, model.means / fitted[:, :-1] - 1.0, 0.0)
    worst = np.abs(misses).argmax(axis=1)
    return PathColumns(
        quantiles, fitted[:, -1],
        np.where(posterior.level == last[:, None], posterior.weight, 0.0).sum(axis=1),
        misses[np.arange(len(worst)), worst], worst, posterior.turns, posterior.changes_at,
        np.where(measured[:, :, None], model.measured, -np.inf).max(axis=1),
    )  # fmt: skip


def _levels(model: ScalingModel) -> tuple[Level, ...]:
    """See `ScalingModel.levels_along`."""
    if model.whole.several:
        return ()
    levels, target = np.unique(model.measured[:, 0]).tolist(), model.target[model.symbols[0]]
    twice = 2.0 * levels[-1]
    shown = sorted({*levels, target, *([twice] if target > twice else [])})
    points = model._along(shown)
    measured = model.totals_measured(points)
    predicted = model.totals(points)
    rows = []
    for k, level in enumerate(shown):
        mean, error = measured[k].tolist()
        if math.isfinite(mean):
            factor = math.exp(min(_SURE_MEAN * error, _MOST_OPEN))  # of an outlier among tens of levels
            rows.append(Level(level, (mean, mean / factor, mean * factor), None, None))
        else:
            rows.append(Level(level, None, tuple(predicted[k, :3].tolist()), tuple(predicted[k, 3:].tolist())))
    return tuple(rows)


def _with_efficiency(levels: Sequence[Level], kind: str) -> tuple[Level, ...]:
    """Return levels with speedup, efficiency and cost over the first that was measured."""
    base = next((row for row in levels if row.measured), levels[0])
    first = (base.measured or base.predicted or (math.nan,))[0]
    rows = []
    for row in levels:
        amounts = np.array(row.measured or row.predicted)
        ratio = amounts / first if kind.startswith("rate") else (first / amounts)[[0, 2, 1]]
        if row is base:
            ratio = np.ones(3)
        gain = row.level / base.level
        efficiency = ratio if kind in ("weak", "rate of each") else ratio / gain
        faster, cost = efficiency * gain, (gain if kind == "weak" else 1.0) / efficiency[[0, 2, 1]]
        rows.append(
            row._replace(
                speedup=tuple(faster.tolist()), efficiency=tuple(efficiency.tolist()), cost=tuple(cost.tolist())
            )
        )
    return tuple(rows)


def _falls_below_half(levels: Sequence[Level]) -> float | None:
    """Return the first level of half efficiency, between those that enclose it on a logarithmic axis."""
    shares = [row.efficiency[0] if row.efficiency else math.nan for row in levels]
    k = next((k for k, share in enumerate(shares) if share < _HALF), None)
    if not k:
        return None
    place = (shares[k - 1] - _HALF) / (shares[k - 1] - shares[k])
    return float(levels[k - 1].level * (levels[k].level / levels[k - 1].level) ** place)
