"""Which mixture samples are most likely of, and of how many components."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError


Floats = npt.NDArray[np.float64]

NORMAL, LOGNORMAL = "normal", "lognormal"
_MOST_COMPONENTS = 3
_MOST_STEPS = 50
_SETTLED = 1e-5  # of mean log density in a step, below which the rest changes nothing that samples could tell
_FOLDS = 3
_MOST_COMPARED = 300  # samples: enough to tell mixtures of three components apart
_LEAST_COMPARED = 20  # samples for each component: fewer are one component
_NARROWEST = 0.01  # of the deviation of all samples; a component on equal samples would be infinitely likely
_SURE = 1.0  # standard errors of a mean gain that a component more must bring
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


class MixtureParameters(NamedTuple):
    """What a mixture is made of, as the fields of `Mixture`."""

    kind: str
    weights: Floats
    means: Floats
    deviations: Floats


def most_likely_mixture(samples: Floats) -> MixtureParameters:
    """The most likely mixture of normal or, where all samples are positive, lognormal distributions."""
    kinds = {NORMAL: samples}
    if samples.min() > 0.0:
        kinds[LOGNORMAL] = np.log(samples)
    compared = min(len(samples), _MOST_COMPARED)
    # In order, so that every fold has its part of each tail.
    chosen = np.argsort(samples, kind="stable")[np.linspace(0, len(samples) - 1, compared).round().astype(np.intp)]
    best: tuple[str, int] = (NORMAL, 1)
    score: Floats | None = None
    for count in range(1, min(_MOST_COMPONENTS, compared // _LEAST_COMPARED) + 1):
        for kind, values in kinds.items():
            log_density = _held_out(values[chosen], count)
            if kind == LOGNORMAL:
                log_density = log_density - values[chosen]  # the density of the samples, and not of their logarithms
            if score is None or _surely_above(log_density, score):
                best, score = (kind, count), log_density
        if count > best[1]:
            break
    kind, count = best
    parameters = _fitted(kinds[kind], count)
    if not all(np.isfinite(row).all() for row in parameters):
        raise DataError("mixture: the samples are too far apart for their squares to be numbers")
    order = np.argsort(parameters[1])
    return MixtureParameters(kind, *(row[order] for row in parameters))


def _surely_above(scores: Floats, others: Floats) -> bool:
    gain = scores - others
    return float(gain.mean()) > _SURE * float(gain.std()) / math.sqrt(len(gain))


def _held_out(values: Floats, count: int) -> Floats:
    """Log density of each value (n,) under the mixture of those in other folds."""
    log_density = np.empty(len(values))
    for fold in range(_FOLDS):
        in_fold = np.arange(len(values)) % _FOLDS == fold
        log_density[in_fold] = _log_sums(_log_parts(values[in_fold], *_fitted(values[~in_fold], count)))
    return log_density


def _log_parts(values: Floats, weights: Floats, means: Floats, deviations: Floats) -> Floats:
    """Logarithm of each component's weighted density (n, k)."""
    scores = (values[:, None] - means) / deviations
    return np.asarray(np.log(weights) - 0.5 * scores**2 - np.log(deviations) - _HALF_LOG_TAU)


def _log_sums(parts: Floats) -> Floats:
    """Log density (n,) from those of the components (n, k)."""
    largest = parts.max(axis=1)
    return np.asarray(largest + np.log(np.exp(parts - largest[:, None]).sum(axis=1)))


def _fitted(values: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Weights, means and deviations: the likelier of what two beginnings lead to."""
    spread = float(values.std())
    least = _NARROWEST * spread if spread > 0.0 else 1e-9 * max(abs(float(values[0])), 1e-300)
    ranks = np.argsort(np.argsort(values, kind="stable"))
    low, width = float(values.min()), float(np.ptp(values)) or 1.0
    beginnings = [ranks * count // len(values), np.minimum(((values - low) / width * count).astype(int), count - 1)]
    results = [_maximised(values, groups, count, least) for groups in beginnings[: 1 if count == 1 else 2]]
    return max(results, key=lambda result: result[1])[0]


def _maximised(
    values: Floats, groups: npt.NDArray[np.intp], count: int, least: float
) -> tuple[tuple[Floats, Floats, Floats], float]:
    """Expectation maximisation from a first guess of the groups; with the mean log density."""
    shares = (groups[:, None] == np.arange(count)).astype(np.float64)
    before = -math.inf
    for _ in range(_MOST_STEPS):
        sizes = np.maximum(shares.sum(axis=0), 1e-10)
        means = values @ shares / sizes
        deviations = np.sqrt(((values[:, None] - means) ** 2 * shares).sum(axis=0) / sizes)
        parameters = sizes / sizes.sum(), means, np.maximum(deviations, least)
        parts = _log_parts(values, *parameters)
        densities = _log_sums(parts)
        reached = float(densities.mean())
        if count == 1 or reached - before < _SETTLED:
            break
        before, shares = reached, np.exp(parts - densities[:, None])
    return parameters, reached
