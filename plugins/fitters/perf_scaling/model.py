"""Scaling laws of paths over parameters, averaged over all that the data leave open."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.advice.advice import advice, next_point
from perf_scaling.columns import with_values
from perf_scaling.engine import weigh
from perf_scaling.growth import CLASSES, classes_of_draws, slopes_between
from perf_scaling.leading import form_text, forms_of
from perf_scaling.path_laws import PATH, PathLaws
from perf_scaling.posterior.posterior import equally_probable
from perf_scaling.speedup import speedup
from perf_tables.names import is_speed
from perf_tables.points import check_coverage, named_points
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.observations import numbers_of, paths_of
from perfcore.models.design_rows import DesignRows, Rival
from perfcore.models.model import Parameter, Points
from perfcore.models.observed import Observed, measurements_for
from perfcore.models.part_draws import N_DRAWS, Drawn, GrowthDraws, PartDraws


def observed_by_path(model: PathLaws, data: Any, where: str | None = None) -> Observed:
    """The mean of the runs of each path of a model at each point; paths that it does not have are left out."""
    import pandas as pd

    options = model.origin.options
    if isinstance(data, pd.DataFrame):
        data = Measurements(data, source="table")
    if isinstance(data, Measurements):
        data = with_values(data, options.get("value"), options.get("path"))
    roles = {"unit": options.get("unit")}
    runs = measurements_for(model, data, options.get("where") if where is None else where, roles)
    runs.require_roles()
    assert runs.roles.value is not None
    value = numbers_of(runs, runs.roles.value, optional=True, zero=True)
    kept = value > 0.0  # no error can be relative to 0
    names, path = paths_of(runs, kept)
    if len(model.paths) == 1 and not (runs.roles.code or runs.roles.system or runs.roles.category):
        names = model.paths  # without a column that names it, a path is called as the value is
    columns = {symbol: numbers_of(runs, column, kept)[kept] for symbol, column in runs.roles.parameters.items()}
    table = pd.DataFrame({PATH: np.array(names)[path], **columns, "value": value[kept]})
    table = table[table[PATH].isin(model.paths)]
    if table.empty:
        raise DataError(f"{runs.source}: has none of the model's paths ({listing(model.paths, 5)})")
    joined = table.groupby([PATH, *columns], sort=False)["value"].mean().reset_index()
    called = [model.parameter_names[symbol] for symbol in columns]
    labels = (
        ", ".join([str(name), *(f"{word}={level:.6g}" for word, level in zip(called, levels, strict=True))])
        for name, *levels in joined[[PATH, *columns]].itertuples(index=False)
    )
    return Observed(
        points={name: joined[name].to_numpy() for name in model.variables},
        labels=tuple(labels),
        value=joined["value"].to_numpy(dtype=np.float64),
        unit=runs.roles.unit,
        source=runs.source,
        parts=(),
        of_part=np.empty((len(joined), 0)),
    )


Floats = npt.NDArray[np.float64]

_OCTAVE = 2.0  # growth is looked at from half the level of a parameter to the level, or to twice it from 1 on


def law_part_draws(model: PathLaws, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
    """Means of all paths at points, which depend on one another by nothing that the data tell.

    They are to be compared with those of another version, to which a change of the slope beyond the data would happen
    too; so they leave it out.
    """
    levels, _ = named_points({name: points[name] for name in model.symbols if name in points}, model.columns, {})
    places = np.stack([levels[symbol] for symbol in model.symbols], axis=1)
    draws = np.empty((len(model.paths), len(places), N_DRAWS))
    for block, block_draws in model.draws_in_blocks(places):
        draws[block] = equally_probable(block_draws.unchanged(), N_DRAWS)
    return PartDraws(
        what=PATH,
        names=model.paths,
        keys=model.paths,
        parts=Drawn(draws[:, :, N_DRAWS // 2 - 1 : N_DRAWS // 2 + 1].mean(axis=2), draws),  # the median: they ascend
        total=None,
        single_runs=False,
        left_out=model.unfitted,
    )


def law_growth_draws(model: PathLaws, point: Mapping[str, Any]) -> GrowthDraws:
    """Laws of all paths, and how each grows over an octave around a point, one parameter at a time.

    Parameters
    ----------
    model : PathLaws
    point : mapping of str to float
    """
    centre = np.array([float(point[symbol]) for symbol in model.symbols])
    below = np.where(
        centre >= _OCTAVE, centre / _OCTAVE, centre
    )  # logarithms are negative below 1, where nothing was measured
    q = len(centre)
    places = np.tile(centre, (2, q, 1))
    places[0, range(q), range(q)] = below
    places[1, range(q), range(q)] = _OCTAVE * below
    exponents = np.empty((len(model.paths), q, N_DRAWS))
    probabilities = np.empty((len(model.paths), q, len(CLASSES)))
    for block, block_draws in model.draws_in_blocks(places.reshape(2 * q, q)):
        values = block_draws.unchanged()
        slopes = [slopes_between(values[:, :, k], values[:, :, q + k], _OCTAVE) for k in range(q)]
        exponents[block] = equally_probable(np.stack(slopes, axis=2), N_DRAWS)
        for k, symbol in enumerate(model.symbols):
            of_draw = classes_of_draws(model, symbol, block_draws, slopes[k])
            probabilities[block, k] = (of_draw[:, :, None] == np.arange(len(CLASSES))).mean(axis=1)
    return GrowthDraws(
        laws=tuple(law.text for law in model.leading),
        classes=CLASSES,
        probabilities=probabilities,
        symbols=model.symbols,
        exponents=exponents,
    )


_LEAST_LEVELS = 3  # that are left
_MOST_PATHS = 200  # of which the median and the share are known well enough
_SIDES = (0.025, 0.975)


class LastLevelCheck(NamedTuple):
    """Predictions of the largest measured level by the others."""

    paths: int  # how many paths were looked at
    median_error: float  # relative, of the median; the median of all means at that level
    inside: float  # share of the means that the 95 % bounds of a run hold

    @property
    def text(self) -> str:
        """One line."""
        error = f"{100.0 * self.median_error:.2g} % off"
        if self.paths == 1:
            return f"the last level, left out: {error}, {'inside' if self.inside == 1.0 else 'outside'} the bounds"
        return f"the last level, left out: median {error}, {self.inside:.0%} inside the bounds ({self.paths:,} paths)"


def check_last_level(model: PathLaws) -> LastLevelCheck | None:
    """Fit each path without its largest level of the first parameter, and compare; the paths with the largest means.

    None where no path has four levels of that parameter.
    """
    measured = np.isfinite(model.means)
    levels = np.where(measured, model.measured[:, 0], np.nan)
    last = levels == np.nanmax(levels, axis=1)[:, None]
    usable = [_leaves_enough(model.measured[measured[k] & ~last[k]]) for k in range(len(measured))]
    paths = np.flatnonzero(usable)
    if not len(paths):
        return None
    paths = paths[np.argsort(-np.nanmean(model.means[paths], axis=1), kind="stable")][:_MOST_PATHS]
    options = model.origin.options
    posterior = model.posterior.of_paths(paths)
    refit = weigh(
        model.measured, np.where(last[paths], np.nan, posterior.means), np.where(last[paths], 0.0, posterior.counts),
        posterior.spread, options.get("exponents"), options.get("logarithms"),
        reciprocal=posterior.reciprocal,
    )  # fmt: skip
    last_points = np.flatnonzero(last[paths].any(axis=0))
    held_out, means = last[np.ix_(paths, last_points)], posterior.means[:, last_points]
    middle = refit.quantiles(model.measured[last_points], (0.5,))[:, :, 0]
    low, high = np.moveaxis(refit.quantiles(model.measured[last_points], _SIDES, run=True), 2, 0)
    errors = np.abs(middle[held_out] / means[held_out] - 1.0)
    inside = (low[held_out] <= means[held_out]) & (means[held_out] <= high[held_out])
    return LastLevelCheck(len(paths), float(np.median(errors)), float(inside.mean()))


def _leaves_enough(points: Floats) -> bool:
    """Three levels of the first parameter, two of the others."""
    counts = [len(np.unique(column)) for column in points.T]
    return counts[0] >= _LEAST_LEVELS and min(counts) > 1


Ints = npt.NDArray[np.int64]

_MOST_RIVALS = 12  # less likely ones differ more and mean less
_LEAST = 1e-9  # share of the variance below which a direction is rounding


def law_design_rows(model: PathLaws, coordinates: dict[str, Floats], path_numbers: Ints) -> DesignRows:
    """What is open at points of one path, as directions of a normal distribution: no single law is relied on.

    Draws of the logarithm at the points have a covariance C = G G'; a measurement there is worth a row of G, over the
    noise of a run and the scatter of its level. What was measured so far is worth one row for each direction.
    """
    path = _one_path(model, path_numbers)
    draws = model.draws(_points(model, coordinates), [path])
    logs = np.log(draws.values[0])
    _, sizes, axes = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)
    kept = sizes > _LEAST * max(float(sizes.max()), 1e-300)
    rows = (axes[kept] * sizes[kept, None]).T / np.sqrt(len(logs))
    noise = float(np.std(draws.scatter[0] + draws.noise[0]))
    path_data = model.data[path]
    measured = np.isfinite(model.means[path])
    return DesignRows(
        measured=(np.eye(int(kept.sum())),),
        asked=(rows / noise,),
        errors=np.eye(1),
        scale=np.exp(np.median(logs, axis=0)) * noise,
        points={symbol: np.array(levels)[measured] for symbol, levels in model.points.items()},
        repetitions=np.maximum(np.rint(np.array(path_data.counts)[measured]), 1.0).astype(np.int64),
        unit=model.unit,
    )


def law_rivals(model: PathLaws, coordinates: dict[str, Floats], path_numbers: Ints) -> tuple[Rival, ...]:
    """The other laws of one path that the data leave, likeliest first: what each predicts if it is true."""
    path = _one_path(model, path_numbers)
    forms, form_of_law = forms_of(model)
    posterior = model.posterior.of_paths([path])
    means = posterior.components(_points(model, coordinates))[0][0]
    form = form_of_law[posterior.law[0]]
    sums = np.bincount(form, posterior.weight[0], len(forms))
    rivals = []
    for number in np.argsort(-sums, kind="stable")[1 : 1 + _MOST_RIVALS].tolist():
        if sums[number] > 0.0:
            weight = np.where(form == number, posterior.weight[0], 0.0)
            values = np.exp(weight @ means / sums[number])
            name = form_text(forms[number], model.parameter_names, posterior.reciprocal)
            rivals.append(Rival(name, f"probability {sums[number]:.1%}", values))
    return tuple(rivals)


def _one_path(model: PathLaws, path_numbers: Ints) -> int:
    if len(distinct := np.unique(path_numbers)) > 1:
        names = listing((model.paths[k] for k in distinct.tolist()), 6)
        raise OptionError(f"points of one path are expected, not of {names}")
    return int(path_numbers[0])


def _points(model: PathLaws, coordinates: dict[str, Floats]) -> Floats:
    return np.stack([coordinates[symbol] for symbol in model.symbols], axis=1)


class LawModel(PathLaws, frozen=True, forbid_unknown_fields=True, dict=True):
    """Scaling laws of paths: what they predict, how sure, and what to measure next.

    Its fields and what is drawn from them are those of `PathLaws`.
    """

    kind: ClassVar[str] = "scaling laws"

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted values in the unit of the data: the median of what the data leave open."""
        if interval is not None:
            check_coverage(interval)
        coordinates, path_numbers = self._places(points)
        levels = np.stack([coordinates[symbol] for symbol in self.symbols], axis=1)
        distinct, place = np.unique(levels, axis=0, return_inverse=True)
        paths, path = np.unique(path_numbers, return_inverse=True)
        if interval is None:
            values = self.posterior.of_paths(paths).quantiles(distinct, [0.5])
        else:
            values = self.band(distinct, interval, paths.tolist(), run=True)
        chosen = values[path.ravel(), place.ravel()]
        return chosen[:, 0] if interval is None else chosen

    def observed(self, data: Any, where: str | None = None) -> Observed:
        """The mean of the runs of each path at each point, with the roles and conditions of the fit."""
        return observed_by_path(self, data, where)

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
        """Draws of every path; see `Model.part_draws`."""
        return law_part_draws(self, points)

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws:
        """Law and growth of every path; see `Model.growth_draws`."""
        return law_growth_draws(self, point)

    def remarks(self, points: Points) -> list[str]:
        """Where a point is outside of what was measured."""
        coordinates, path_numbers = self._places(points)
        lines = []
        measured = np.isfinite(self.means)
        limits: dict[tuple[int, str], tuple[float, float]] = {}
        for place, path in enumerate(path_numbers.tolist()):
            parts = []
            for symbol, values in coordinates.items():
                if (path, symbol) not in limits:
                    levels = np.array(self.points[symbol])[measured[path]]
                    limits[path, symbol] = (float(levels.min()), float(levels.max()))
                low, high = limits[path, symbol]
                if not low <= values[place] <= high:
                    parts.append(f"{self.parameter_names[symbol]} was {low:g} to {high:g}")
            lines.append(f"extrapolated: {', '.join(parts)}" if parts else "")
        return lines

    def design_rows(self, points: Points) -> DesignRows:
        """Of the likeliest law of one path; see `Model.design_rows`."""
        return law_design_rows(self, *self._places(points))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """The other laws of one path; see `Model.rivals`."""
        return law_rivals(self, *self._places(points))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients of the likeliest law of each path, and exponents that are on no grid."""
        estimates = []
        for law in self.leading:
            prefix = f"{law.path}: " if len(self.paths) > 1 else ""
            for name, value, error in zip(("1", *law.terms), law.coefficients, law.standard_errors, strict=True):
                estimates.append(Parameter(prefix + name, value, None if np.isnan(error) else error, self.unit_of_laws))
            for exponent in law.exponents:
                estimates.append(
                    Parameter(
                        f"{prefix}exponent of {exponent.parameter} in {exponent.term}",
                        exponent.estimate,
                        exponent.deviation,
                    )
                )
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
        """The likeliest law of each path, one line each."""
        if len(self.paths) == 1:
            return self.leading[0].formula
        return "\n".join(f"{law.path} = {law.formula}" for law in self.leading)

    @functools.cached_property
    def check(self) -> LastLevelCheck | None:
        """How the largest measured level is predicted by the others; None where these are too few."""
        return check_last_level(self)

    @property
    def has_parts(self) -> bool:
        """Paths are parts of a whole; rates of different things and efficiencies are not, nor are whole programs."""
        alone = len(self.paths) > 1 and len(self.whole.trees) == len(self.paths)
        return not alone and not is_speed(self.unit, self.value_name)

    def details(self) -> dict[str, Any]:
        """The tables' content by path, advice, and speedup."""
        speedup_curve = speedup(self)
        return {
            "paths": [
                {
                    **row._asdict(),
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
            "speedup": None
            if speedup_curve is None
            else {**speedup_curve._asdict(), "levels": [level._asdict() for level in speedup_curve.levels]},
            "check": None if self.check is None else self.check._asdict(),
            "unfitted": self.unfitted,
        }

    def _places(self, points: Points) -> tuple[dict[str, Floats], Ints]:
        coordinates, index = named_points(points, self.columns, {PATH: self.paths})
        return coordinates, index[PATH]
