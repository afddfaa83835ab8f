"""What measurements scatter by about any law: run noise, deviating levels, and a misfit that grows with the distance.

A law is never quite right: the slope of what it misses, over the logarithms of the parameters, wanders. So the
logarithm of a value is that of the law, plus a misfit whose slope is a stationary Ornstein-Uhlenbeck process, plus the
noise of a level, which repeated runs share (placement, decomposition), plus the noise of a run. All of it is
proportional to the prediction. Nobody knows beforehand how strong drift and noise are; `misfits` is a grid of both,
whose members are weighed by how likely they make the data.

The values of the grids, the share of deviating levels and their spread are those that hold on a thousand scaling series
of real programs; docs/how-we-know.md says what they give on others.

Source: C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, sections 2.7 (a linear part
with an unknown law, and a process about it) and 5.4.1 (weighing by the marginal likelihood).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NOISES = (0.01, 0.03, 0.08, 0.2, 0.5)  # of a level, relative; equally likely
_DRIFTS = {0.0: 0.3, 0.06: 0.3, 0.25: 0.25, 1.0: 0.15}  # of the slope for each root of ln x, and how likely
_LENGTH = 64.0  # in ln x, after which the slope has forgotten itself: longer than any range, so it wanders freely
DEVIATES = 0.15  # probability that a level lies off by more than its noise: another algorithm, a slow node
_RUN, _RUN_FREEDOM = 0.01, 1.0  # relative noise of a run where no run was repeated, and what that counts for


class Misfit(NamedTuple):
    """One assumption of how measurements scatter about the law."""

    noise: float  # standard deviation of a level, relative
    drift: float  # standard deviation that the slope gathers for each root of a unit of ln x
    log_prior: float


@functools.cache
def misfits() -> tuple[Misfit, ...]:
    """Every noise with every drift, and how likely they are before anything was measured."""
    return tuple(
        Misfit(noise, drift, float(np.log(share / len(_NOISES))))
        for drift, share in _DRIFTS.items()
        for noise in _NOISES
    )


def deviating_variance(noise: npt.ArrayLike) -> Floats:
    """By how much the variance of a deviating level is larger than that of others with this noise."""
    return np.asarray(0.2**2 + 9.0 * np.asarray(noise, dtype=np.float64) ** 2)


def run_variance(repetitions: Floats, relative_spread: Floats) -> float:
    """Relative variance of single runs, pooled over levels."""
    squares = float(np.nansum((repetitions - 1.0) * relative_spread**2))
    freedom = float((repetitions - 1.0)[np.isfinite(relative_spread)].sum())
    return (squares + _RUN_FREEDOM * _RUN**2) / (freedom + _RUN_FREEDOM)


def positions(measured: Mapping[str, Floats], new_points: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Logarithms of the parameters at measured and at asked points, about the mean of the measured ones."""
    pairs = [(values, new_points[name]) for name, values in measured.items()]
    logs = [
        (np.log(at_measured), np.log(at_new))
        for at_measured, at_new in pairs
        if min(at_measured.min(), at_new.min(initial=1.0)) > 0.0
    ]
    if not logs:
        none, where = np.empty((len(pairs[0][0]), 0)), np.empty((len(pairs[0][1]), 0))
        return none, where
    at_measured, at_new = (np.stack(column, axis=1) for column in zip(*logs, strict=True))
    center = at_measured.mean(axis=0)
    return at_measured - center, at_new - center


def drift_covariance(first: Floats, second: Floats) -> Floats:
    """Covariance of the misfit at two sets of positions, for a drift of 1; the drifts of parameters add up."""
    first_variogram, second_variogram = _variogram(first)[:, None, :], _variogram(second)[None, :, :]
    between = _variogram(first[:, None, :] - second[None, :, :])
    return np.asarray(0.25 * _LENGTH * (first_variogram + second_variogram - between).sum(axis=2))


def drift_variance(positions: Floats) -> Floats:
    """Variance of the misfit at positions (n, d), for a drift of 1: the diagonal of `drift_covariance` (n,)."""
    return np.asarray(0.5 * _LENGTH * _variogram(positions).sum(axis=1))


def _variogram(distance: Floats) -> Floats:
    """Variance of the difference of two values of the integral of an Ornstein-Uhlenbeck process of variance 1."""
    size = np.abs(distance)
    return np.asarray(2.0 * _LENGTH * (size + _LENGTH * np.expm1(-size / _LENGTH)))
