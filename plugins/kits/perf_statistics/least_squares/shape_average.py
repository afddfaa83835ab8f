"""What may be expected of a series over all laws that it may have, each as likely as the measurements make it.

The bounds of a chosen formula take the choice for granted, and the formula for the truth. Here every formula that could
have been chosen takes part, with all proportions of its functions, about each of which the measurements scatter as
`perf_statistics.least_squares.misfit` says: with noise, and with a misfit that grows with the distance from the
measurements. The
factor of a shape is unknown and integrated over; so are small changes of its proportions, by Sherman and Morrison's
formula for a covariance that has one more direction.

Source: J. A. Hoeting and others, "Bayesian model averaging: a tutorial", Statistical Science 14, 1999, equations 1 to
3; the misfit as in M. C. Kennedy, A. O'Hagan, "Bayesian calibration of computer models", JRSS B 63, 2001. Deviation:
the misfit is one of the logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perf_statistics.least_squares.misfit import (
    DEVIATES,
    deviating_variance,
    drift_covariance,
    misfits,
    positions,
    run_variance,
)
from perf_statistics.least_squares.normal_mixture import NormalMixture
from perf_statistics.least_squares.shapes import Shapes

Floats = npt.NDArray[np.float64]

_LEAST_VARIANCE = 1e-12


def expected_runs(
    values: Floats,
    repetitions: Floats,
    relative_spread: Floats,
    measured: Mapping[str, Floats],
    new_points: Mapping[str, Floats],
    shapes: Shapes,
) -> NormalMixture:
    """The logarithm of a single run at the asked points."""
    run = run_variance(repetitions, relative_spread)
    evidence, means, variances = _averaged(values, run / repetitions, measured, new_points, shapes)
    evidence, means, variances = _by_family(evidence, means, variances, shapes.families)
    noises = np.array([misfit.noise for misfit in misfits()])
    usual = np.repeat(noises**2 + run, len(shapes.families))
    deviating = usual + np.repeat(deviating_variance(noises), len(shapes.families))
    flat = evidence.ravel()
    means, variances = (array.reshape(len(flat), -1) for array in (means, variances))
    return NormalMixture.of(
        np.concatenate([flat + np.log(1.0 - DEVIATES), flat + np.log(DEVIATES)]),
        np.concatenate([means, means]),
        np.concatenate([variances + usual[:, None], variances + deviating[:, None]]),
    )


def shape_weights(
    values: Floats, repetitions: Floats, relative_spread: Floats, measured: Mapping[str, Floats], shapes: Shapes
) -> Floats:
    """How likely each shape is (S,); their sum is 1. The parameters are those of `expected_runs`."""
    run = run_variance(repetitions, relative_spread)
    evidence, *_ = _averaged(
        values, run / repetitions, measured, measured, replace(shapes, log_asked=shapes.log, tilts_asked=shapes.tilts)
    )
    weights = np.exp(evidence - evidence.max()).sum(axis=0)
    return np.asarray(weights / weights.sum())


def _averaged(
    values: Floats, level: Floats, measured: Mapping[str, Floats], new_points: Mapping[str, Floats], shapes: Shapes
) -> tuple[Floats, Floats, Floats]:
    """For each assumption of the misfit: log evidence (G, S), mean and variance (G, S, k) of the level."""
    at_measured, at_new = positions(measured, new_points)
    covariance, cross = drift_covariance(at_measured, at_measured), drift_covariance(at_measured, at_new)
    far = np.array([drift_covariance(place[None], place[None])[0, 0] for place in at_new])
    off = np.log(values)[None] - shapes.log
    # Points of a grid that share a level share its misfit: all together they tell as much of it as the levels do.
    independent = max(len(np.unique(column)) for column in measured.values()) / len(values)
    parts = []
    for noise, drift, log_prior in misfits():
        spread = drift**2 * covariance + np.diag(noise**2 + level)
        evidence, means, variances = _given(off, shapes, spread, drift**2 * cross, drift**2 * far)
        parts.append((independent * evidence + shapes.log_prior + log_prior, means, variances))
    evidence, means, variances = (np.stack(column) for column in zip(*parts, strict=True))
    return evidence, means, variances


def _by_family(
    evidence: Floats, means: Floats, variances: Floats, families: npt.NDArray[np.int64]
) -> tuple[Floats, Floats, Floats]:
    """Each family as one member with the moments of its shapes: (G, F), (G, F, k), (G, F, k)."""
    weights = np.exp(evidence - evidence.max())
    sums = np.maximum(np.add.reduceat(weights, families, axis=1), np.finfo(np.float64).tiny)
    first = np.add.reduceat(weights[:, :, None] * means, families, axis=1) / sums[:, :, None]
    deviations = means - np.repeat(first, np.diff([*families, evidence.shape[1]]), axis=1)
    second = np.add.reduceat(weights[:, :, None] * (variances + deviations**2), families, axis=1) / sums[:, :, None]
    return np.log(sums), first, np.maximum(second, _LEAST_VARIANCE)


def _given(off: Floats, shapes: Shapes, spread: Floats, cross: Floats, far: Floats) -> tuple[Floats, Floats, Floats]:
    """Logarithm of the evidence (S,), mean and variance (S, k) of the level, for one covariance of the points (n,
    n).
    """
    n = len(spread)
    inverse = np.linalg.inv(spread)
    row = inverse.sum(axis=1)
    total = row.sum()
    inner = inverse - np.outer(row, row) / total  # the factor of the shape is integrated over
    weights = inner @ cross + row[:, None] / total
    rest = far - np.einsum("nk,nm,mk->k", cross, inverse, cross) + (1.0 - row @ cross) ** 2 / total
    left = off @ inner
    evidence = -0.5 * (np.linalg.slogdet(spread)[1] + np.log(total) + (n - 1) * np.log(2.0 * np.pi))
    evidence = evidence - 0.5 * (left * off).sum(axis=1)
    means = shapes.log_asked + off @ weights
    variances = np.broadcast_to(np.maximum(rest, _LEAST_VARIANCE), means.shape)
    before: list[tuple[Floats, Floats, Floats]] = []
    for number in range(shapes.tilts.shape[1]):
        tilt, direction = shapes.tilts[:, number], shapes.tilts[:, number] @ inner
        reach = shapes.tilts_asked[:, number] - tilt @ weights
        for earlier, factor, reached in before:
            overlap = factor * (earlier * tilt).sum(axis=1)
            direction = direction - overlap[:, None] * earlier
            reach = reach - overlap[:, None] * reached
        more = 1.0 + shapes.variance * (direction * tilt).sum(axis=1)
        factor = shapes.variance / more
        shift = factor * (left * tilt).sum(axis=1)
        evidence = evidence - 0.5 * np.log(more) + 0.5 * shift**2 / np.maximum(factor, 1e-300)
        means = means + shift[:, None] * reach
        variances = variances + factor[:, None] * reach**2
        left = left - shift[:, None] * direction
        before.append((direction, factor, reach))
    return evidence, means, variances
