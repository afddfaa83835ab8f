"""Weighing the laws of one parameter: all shapes of the family, all noises, every level that may deviate."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_scaling.options import Given
from perf_scaling.posterior import array_form
from perf_scaling.posterior.family import (
    DEVIATES,
    FAR,
    GROUPS,
    NOISES,
    PRIOR,
    Shapes,
    block_log_prior,
    deviating_variances,
    settings,
    shapes_of,
)
from perf_scaling.posterior.posterior import Laws, Posterior, in_parts
from perfcore.base.arrays import Floats, Ints

PARTS = 256
_PATHS_AT_ONCE = 200
_MOST_LEVEL_PROBABILITY = 0.5
_LIKELY = 0.05  # scatter with which to begin: what is hopeless beside it is not looked at


def weigh_one_parameter(
    levels: npt.ArrayLike,
    means: Floats,
    counts: Floats,
    spread: Floats,
    given: Given | None = None,
    prior: Floats = PRIOR,
    parts: int = PARTS,
) -> Posterior:
    """What the means of K paths leave open."""
    weigh_shapes: Any = array_form.weigh_shapes
    if len(means) > array_form.FEW:
        from perf_scaling.posterior.kernels import weigh_shapes

    x = np.asarray(levels, dtype=np.float64)
    n_paths = len(means)
    order = np.argsort(np.abs(np.log(NOISES.tau / _LIKELY)), kind="stable")
    noise_settings = settings()[order]
    # As narrow as their numbers, until it is known how many components there are at most.
    indices = [np.full((n_paths, 2 * parts), -1, dtype=kind) for kind in (np.int32, np.int16, np.int16)]
    weight = np.zeros((n_paths, 2 * parts))
    of_patterns: list[Shapes] = []
    begin = 0
    patterns, pattern = np.unique(np.isfinite(means), axis=0, return_inverse=True)
    for number, measured in enumerate(patterns):
        used = np.flatnonzero(measured)
        shapes = shapes_of(x[used], given)
        paths = np.flatnonzero(pattern.ravel() == number)
        logs, far = np.log(x[used])[:, None], np.log(FAR * x[used[-1:]])[:, None]
        extra = deviating_variances(noise_settings[:, 0], 1)[:, [0, *[1] * (len(used) - 1)]]
        deviates = min(_MOST_LEVEL_PROBABILITY, DEVIATES * len(used))
        log_prior = block_log_prior(np.bincount(shapes.group, minlength=len(GROUPS)) > 0, prior)[order]
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
            law, setting, level = (np.full((len(rows), 2 * parts), -1, dtype=np.int64) for _ in range(3))
            weights = np.zeros(law.shape)
            count = np.empty(len(rows), dtype=np.int64)
            covariances = array_form.Covariances(logs, spread[rows, None] / counts[grid], noise_settings)
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
                (np.where(filled, law + begin, -1), np.where(filled, setting, -1), np.where(filled, place[level], -1),
                 weights),
                strict=True,
            ):  # fmt: skip
                array[rows, : law.shape[1]] = np.take_along_axis(values, together, axis=1)

        in_parts(part, len(paths), _PATHS_AT_ONCE)
        of_patterns.append(shapes)
        begin += len(shapes.group)
    width = int((weight > 0.0).sum(axis=1).max())
    laws = Laws(
        np.concatenate([shapes.coefficients for shapes in of_patterns]),
        np.concatenate([shapes.exponents for shapes in of_patterns])[:, :, None],
        np.concatenate([shapes.logarithms for shapes in of_patterns]).astype(np.int64)[:, :, None],
        of_patterns[-1].functions,
    )
    law, setting, level = (array[:, :width].astype(np.int64, order="C") for array in indices)
    return Posterior(
        x[:, None],
        means,
        counts,
        spread,
        laws,
        settings(),
        law,
        setting,
        level,
        np.ascontiguousarray(weight[:, :width]),
    )
