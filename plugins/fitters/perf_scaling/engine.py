"""From means of paths at points to what they leave open: all laws of one parameter here, of several when there are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling import array_form, family
from perf_scaling.options import Given
from perf_scaling.posterior import Laws, Posterior, in_parts
from perfcore.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel

PARTS = 256  # draws of the laws of one parameter
_MANY = 30  # levels from which on more than one may deviate
_ROUNDS, _MANY_MEANS = 2, 5000  # of so many means at points of several parameters one round takes long enough
_FREEDOM = 4.0
_LEAST_LEVELS = 3  # of the first parameter that are left; two of the others
_MOST_PATHS = 200  # of which the median and the share are known well enough
_MOST_MEANS = 2000  # of several parameters, for the same reason
_SIDES = (0.025, 0.975)
_PATHS_AT_ONCE = 200
_MOST_LEVEL_PROBABILITY = 0.5
_LIKELY = 0.05  # scatter with which to begin: what is hopeless beside it is not looked at


def fit_posterior(
    points: Floats, means: Floats, counts: Floats, spread: Floats, given: Given | None = None, reciprocal: bool = False
) -> Posterior:
    """Return what means (K, n) of paths at points (n, q), with their runs and relative variances (K,), leave open.

    Of tens of levels several deviate, and not one at most: those that are far from what is predicted count for less, as
    they would if their noise were Student's t of four degrees of freedom.
    """
    if reciprocal:
        of_times = fit_posterior(points, 1.0 / means, counts, spread, given)
        return replace(of_times, means=means, reciprocal=True)
    posterior = _weighed(points, means, counts, spread, given)
    many = np.flatnonzero((counts > 0.0).sum(axis=1) >= _MANY)
    rounds = 1 if points.shape[1] > 1 and means.size > _MANY_MEANS else _ROUNDS
    for _ in range(rounds if len(many) else 0):
        fitted = posterior.of_paths(many).quantiles(points, (0.5,), smooth=True)[:, :, 0]
        counts = posterior.counts.copy()
        counts[many] = _counting_less(np.log(means[many] / fitted), counts[many])
        posterior = _weighed(points, means, counts, spread, given)
    return posterior


def _counting_less(residuals: Floats, counts: Floats) -> Floats:
    """Return counts of means by their residuals, those of few deviations as they are."""
    scale = 1.4826 * np.nanmedian(np.abs(residuals), axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = (_FREEDOM + (residuals / scale) ** 2) / (_FREEDOM + 1.0)
    return np.asarray(counts / np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0))


def _weighed(points: Floats, means: Floats, counts: Floats, spread: Floats, given: Given | None) -> Posterior:
    if points.shape[1] == 1:
        return weigh_one_parameter(points[:, 0], means, counts, spread, given)
    from perf_scaling.several import weigh_several

    return weigh_several(points, means, counts, spread, given)


def weigh_one_parameter(
    levels: npt.ArrayLike,
    means: Floats,
    counts: Floats,
    spread: Floats,
    given: Given | None = None,
    prior: Floats = family.PRIOR,
    parts: int = PARTS,
) -> Posterior:
    """What the means of K paths leave open: all shapes of the family, all noises, every level that may deviate."""
    weigh_shapes: Any = array_form.weigh_shapes
    factorize: Any = None
    if len(means) > array_form.FEW:
        from perf_scaling.kernels import factorize, weigh_shapes

    x = np.asarray(levels, dtype=np.float64)
    n_paths = len(means)
    order = np.argsort(np.abs(np.log(family.NOISES.tau / _LIKELY)), kind="stable")
    noise_settings = family.settings()[order]
    # As narrow as their numbers, until it is known how many components there are at most.
    weight = np.zeros((n_paths, 2 * parts))
    indices = [np.full(weight.shape, -1, dtype=kind) for kind in (np.int32, np.int16, np.int16)]
    of_patterns: list[family.Shapes] = []
    begin = 0
    patterns, pattern = np.unique(np.isfinite(means), axis=0, return_inverse=True)
    for number, measured in enumerate(patterns):
        used = np.flatnonzero(measured)
        shapes = family.shapes_of(x[used], given)
        paths = np.flatnonzero(pattern.ravel() == number)
        logs, far = np.log(x[used])[:, None], np.log(family.FAR * x[used[-1:]])[:, None]
        extra = family.deviating_variances(noise_settings[:, 0], 1)[:, [0, *[1] * (len(used) - 1)]]
        deviates = min(_MOST_LEVEL_PROBABILITY, family.DEVIATES * len(used))
        log_prior = family.block_log_prior(np.bincount(shapes.group, minlength=len(family.GROUPS)) > 0, prior)[order]
        log_priors = shapes.log_weight + log_prior[:, shapes.group]
        mean, place = shapes.logs[:, :-1].mean(axis=1), np.append(used, -1)  # of the last, which stands for none
        of_shapes = np.ascontiguousarray((shapes.logs[:, :-1] - mean[:, None]).T), shapes.logs[:, -1] - mean, log_priors

        def part(
            chunk: slice, paths: Ints = paths, used: Ints = used, logs: Floats = logs, far: Floats = far,
            extra: Floats = extra, deviates: float = deviates, place: Ints = place, begin: int = begin,
            of_shapes: Any = of_shapes,
        ) -> None:  # fmt: skip
            rows = paths[chunk]
            grid = np.ix_(rows, used)
            weights = np.zeros((len(rows), weight.shape[1]))
            law, setting, level = (np.full(weights.shape, -1, dtype=np.int64) for _ in range(3))
            count = np.empty(len(rows), dtype=np.int64)
            covariances = array_form.Covariances(logs, spread[rows, None] / counts[grid], noise_settings, factorize)
            terms = array_form.terms_of(array_form.AtPlaces(covariances, far), extra, deviates)
            logs_of_means, components = np.log(means[grid]), (law, setting, level, weights, count)
            weigh_shapes(logs_of_means, covariances.noise_of, *terms, *of_shapes, parts, *components)
            weights /= weights.sum(axis=1, keepdims=True)  # before it is as wide as these paths need: sums are by width
            law, setting, level = (array[:, : count.max()] for array in (law, setting, level))
            weights = weights[:, : count.max()]
            filled = np.arange(law.shape[1]) < count[:, None]
            setting = np.where(filled, order[setting], len(order))
            # What is alike in noise is predicted at once; few bits are sorted by their digits.
            together = np.argsort(setting.astype(np.int8), axis=1, kind="stable")
            for array, values in zip(
                (*indices, weight),
                (np.where(filled, law + begin, -1), np.where(filled, setting, -1), place[level], weights),
                strict=True,
            ):  # fmt: skip
                array[rows, : law.shape[1]] = np.take_along_axis(values, together, axis=1)

        in_parts(part, len(paths), _PATHS_AT_ONCE)
        of_patterns.append(shapes)
        begin += len(shapes.group)
    width = np.count_nonzero(weight, axis=1).max()
    laws = Laws(
        np.concatenate([shapes.coefficients for shapes in of_patterns]),
        np.concatenate([shapes.exponents for shapes in of_patterns])[:, :, None],
        np.concatenate([shapes.logarithms for shapes in of_patterns]).astype(np.int64)[:, :, None],
        of_patterns[-1].functions,
    )
    law, setting, level = (array[:, :width].astype(np.int64, order="C") for array in indices)
    return Posterior(
        x[:, None], means, counts, spread, laws, family.settings(), law, setting, level,
        np.ascontiguousarray(weight[:, :width]),
    )  # fmt: skip


class HoldoutCheck(NamedTuple):
    """Predictions of the largest measured level by the others."""

    paths: int  # how many paths were looked at
    median_error: float  # relative, of the median; the median of all means at that level
    inside: float  # share of the means that the 95 % bounds of a run hold


def check_holdout(model: ScalingModel) -> HoldoutCheck | None:
    """Fit each path without its largest level of the first parameter, and compare; the paths with the largest means.

    None where no path has four levels of that parameter.
    """
    measured = np.isfinite(model.means)
    levels = np.where(measured, model.measured[:, 0], np.nan)
    last = levels == np.nanmax(levels, axis=1)[:, None]
    remaining = (model.measured[own] for own in measured & ~last)
    counts = np.array([[len(np.unique(column)) for column in points.T] for points in remaining])
    paths = np.flatnonzero((counts[:, 0] >= _LEAST_LEVELS) & (counts.min(axis=1) > 1))
    if not len(paths):
        return None
    most = _MOST_PATHS if len(model.symbols) == 1 else min(_MOST_PATHS, max(1, _MOST_MEANS // len(model.measured)))
    paths = paths[np.argsort(-np.nanmean(model.means[paths], axis=1), kind="stable")][:most]
    options = model.origin.options
    posterior = model.posterior.of_paths(paths)
    refit = fit_posterior(
        model.measured, np.where(last[paths], np.nan, posterior.means), np.where(last[paths], 0.0, posterior.counts),
        posterior.spread, Given.of(options, model.columns), reciprocal=posterior.reciprocal,
    )  # fmt: skip
    last_points = np.flatnonzero(last[paths].any(axis=0))
    held_out, means = last[np.ix_(paths, last_points)], posterior.means[:, last_points]
    middle = refit.quantiles(model.measured[last_points], (0.5,), run=True)[:, :, 0]
    low, high = np.moveaxis(refit.quantiles(model.measured[last_points], _SIDES, run=True), 2, 0)
    errors = np.abs(middle[held_out] / means[held_out] - 1.0)
    inside = np.clip(means, low, high)[held_out] == means[held_out]
    return HoldoutCheck(len(paths), float(np.median(errors)), float(inside.mean()))
