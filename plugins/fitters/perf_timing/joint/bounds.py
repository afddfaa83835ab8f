"""Bounds of single runs of the joint model: what a pair of a code and a system misses, and what its points say of it.

Work over speed is the same for all pairs, and no pair keeps to it exactly. So the logarithm of a value is that of the
model, plus an effect of the pair, plus a misfit that grows with the distance over the parameters, of the pair and of
all pairs together, plus noise, as `perf_statistics.model_average` has them. About the estimate the model is
linear in its
parameters; their errors are those of generalised least squares. What the measurements of a pair say about its own
effect moves its bounds; for a pair that was never measured the whole effect stays open. How large effects, drift and
noise are is not known: each value is weighed by its restricted likelihood over all pairs.

Source: G. K. Robinson, "That BLUP is a good thing: the estimation of random effects", Statistical Science 6, 1991; D.
A. Harville, "Maximum likelihood approaches to variance component estimation", JASA 72, 1977, for the restricted
likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perf_statistics.model_average import (
    DEVIATES,
    NormalMixture,
    deviating_variance,
    drift_covariance,
    drift_variance,
    misfits,
)
from perf_statistics.trust_region import JacobianFactor
from perfcore.base.arrays import Floats, Ints

_EFFECTS = (0.0, 0.03, 0.1, 0.3, 1.0)  # standard deviation of a pair's effect, in the logarithm; equally likely
_COMMON_DRIFTS = (0.0, 0.06, 0.25, 1.0)  # of the drift that all pairs share; equally likely
_STRANGE = 12.0  # how many times the variance of others the misfit of a pair has that deviates
_NEGLIGIBLE = 12.0  # in the logarithm of the likelihood
_ROUNDING = 1e-12  # eigenvalues of a covariance below this share of the largest


@dataclass(frozen=True)
class PairPoints:
    """Points of pairs, as the linearised logarithm of the model sees them."""

    cell: Ints  # pair of each
    place: Floats  # logarithms of the parameters
    gradient: Floats  # derivatives of the logarithm of the model by its free parameters
    common: int = 0  # how many of these, the last, are of a drift that all pairs share


def expected_runs(
    off: Floats, measured: PairPoints, new_points: PairPoints, level: Floats, run: float
) -> NormalMixture:
    """Logarithm of single runs over the model, at the asked points."""
    measured, new_points, unexplained = _with_common_drift(*_independent(measured, new_points))
    groups = [_Group.of(measured, new_points, cells) for cells in _cells_by_size(measured.cell)]
    far = drift_variance(new_points.place)
    parts = []
    for effect in _EFFECTS:
        for noise, drift, log_prior in misfits():
            conditional = _given(off, new_points.gradient, groups, far, level + noise**2, effect**2, drift**2)
            for common in _COMMON_DRIFTS:
                likelihood, mean, variance = conditional.with_common(common, measured.common, unexplained)
                parts.append((likelihood + log_prior, mean, variance, noise))
    best = max(part[0] for part in parts)
    kept = [part for part in parts if part[0] > best - _NEGLIGIBLE]
    evidence, noises = (np.array([part[place] for part in kept]) for place in (0, 3))
    means, variances = (np.stack([part[place] for part in kept]) for place in (1, 2))
    usual = noises**2 + run
    return NormalMixture.of(
        np.concatenate([evidence + np.log(1.0 - DEVIATES), evidence + np.log(DEVIATES)]),
        np.concatenate([means, means]),
        np.concatenate(
            [variances + usual[:, None], _STRANGE * variances + (usual + deviating_variance(noises))[:, None]]
        ),
    )


@dataclass(frozen=True)
class _Group:
    """Pairs with the same number of measured points, and the points that are asked of them."""

    rows: Ints  # measured points of each pair
    gradient: Floats
    own: Floats  # covariance of their misfit for a drift of 1
    asked: Ints  # asked points, and which of the pairs each is of
    pair: Ints
    cross: Floats  # covariance of their misfit with that of the pair's measured points

    @classmethod
    def of(cls, measured: PairPoints, new_points: PairPoints, cells: Ints) -> _Group:
        rows = np.stack([np.flatnonzero(measured.cell == cell) for cell in cells])
        new_rows = np.flatnonzero(np.isin(new_points.cell, cells))
        pair = np.searchsorted(cells, new_points.cell[new_rows])
        places = measured.place[rows]
        cross = [drift_covariance(new_points.place[[k]], places[b])[0] for k, b in zip(new_rows, pair, strict=True)]
        return cls(
            rows=rows,
            gradient=measured.gradient[rows],
            own=np.stack([drift_covariance(place, place) for place in places]),
            asked=new_rows,
            pair=pair,
            cross=np.array(cross).reshape(len(new_rows), rows.shape[1]),
        )


def _cells_by_size(cell: Ints) -> list[Ints]:
    """Pairs, increasing, by how many points they have."""
    cells, counts = np.unique(cell, return_counts=True)
    return [cells[counts == size] for size in np.unique(counts)]


def _independent(*parts: PairPoints) -> Iterator[PairPoints]:
    """Points with the derivatives by independent directions of the parameters, those that the first's determine."""
    factor = JacobianFactor.of(parts[0].gradient)
    directions = factor.right / factor.scale[:, None] / factor.singular
    for points in parts:
        yield replace(points, gradient=points.gradient @ directions)


def _with_common_drift(measured: PairPoints, new_points: PairPoints) -> tuple[PairPoints, PairPoints, Floats]:
    """Points with the derivatives by a drift that all pairs share, in directions that are independent and alike."""
    places, index = np.unique(measured.place, axis=0, return_inverse=True)
    values, vectors = np.linalg.eigh(drift_covariance(places, places))
    positive = values > _ROUNDING * max(float(values[-1]), 0.0)
    root = vectors[:, positive] * np.sqrt(values[positive])
    across = drift_covariance(new_points.place, places) @ (vectors[:, positive] / np.sqrt(values[positive]))
    first, second = (
        replace(points, gradient=np.hstack([points.gradient, part]), common=int(positive.sum()))
        for points, part in ((measured, root[index.ravel()]), (new_points, across))
    )
    return first, second, np.maximum(drift_variance(new_points.place) - (across**2).sum(axis=1), 0.0)


@dataclass(frozen=True)
class _Given:
    """What generalised least squares is made of, for some variances."""

    normal: Floats
    right: Floats
    constant: float
    left: Floats
    mean: Floats  # of the pair's own part at the asked points
    variance: Floats

    def with_common(self, drift: float, count: int, unexplained: Floats) -> tuple[float, Floats, Floats]:
        """Logarithm of the restricted likelihood, mean and variance (k,), for a common drift in the last parameters.

        What that is free to do besides, at the asked points, has the variances apart (k,) for a drift of 1.
        """
        parameters = len(self.right) - count
        scale = np.concatenate([np.ones(parameters), np.full(count, drift)])
        normal = scale[:, None] * self.normal * scale
        normal += np.diag(np.concatenate([np.zeros(parameters), np.ones(count)]))
        right, left = scale * self.right, self.left * scale
        shift = np.linalg.solve(normal, np.column_stack([right, left.T]))
        likelihood = self.constant - 0.5 * (float(np.linalg.slogdet(normal)[1]) - float(right @ shift[:, 0]))
        mean = self.mean + left @ shift[:, 0]
        variance = np.maximum(self.variance, 1e-12) + drift**2 * unexplained + np.einsum("kp,pk->k", left, shift[:, 1:])
        return likelihood, mean, variance


def _given(
    off: Floats,
    gradient: Floats,
    groups: Sequence[_Group],
    far: Floats,
    level: Floats,
    effect: float,
    drift: float,
) -> _Given:
    """Generalised least squares for variances of level (n,), effect and drift of a pair."""
    count = gradient.shape[1]
    normal, right, constant = np.zeros((count, count)), np.zeros(count), 0.0
    left, mean, variance = gradient.copy(), np.zeros(len(far)), effect + drift * far
    for group in groups:
        values = off[group.rows]
        covariance = effect + drift * group.own + level[group.rows][:, :, None] * np.eye(group.rows.shape[1])
        inverse = np.linalg.inv(covariance)
        solved = (inverse @ values[:, :, None])[:, :, 0]
        flat = group.gradient.reshape(-1, count)
        normal += flat.T @ (inverse @ group.gradient).reshape(-1, count)
        right += flat.T @ solved.ravel()
        constant -= 0.5 * float(np.linalg.slogdet(covariance)[1].sum() + (values * solved).sum())
        cross = effect + drift * group.cross
        weights = np.einsum("as,ast->at", cross, inverse[group.pair])
        mean[group.asked] = (weights * values[group.pair]).sum(axis=1)
        left[group.asked] -= np.einsum("as,asp->ap", weights, group.gradient[group.pair])
        variance[group.asked] -= (weights * cross).sum(axis=1)
    return _Given(normal, right, constant, left, mean, variance)
