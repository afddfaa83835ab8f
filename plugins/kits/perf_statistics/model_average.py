"""What may be expected of a series over all laws that it may have, each as likely as the measurements make it.

The bounds of a chosen formula take the choice for granted, and the formula for the truth. Here every formula that could
have been chosen takes part, with all proportions of its functions, about each of which the measurements scatter. A law
is never quite right: the slope of what it misses, over the logarithms of the parameters, wanders. So the logarithm of a
value is that of the law, plus a misfit whose slope is a stationary Ornstein-Uhlenbeck process, plus the noise of a
level, which repeated runs share (placement, decomposition), plus the noise of a run. All of it is proportional to the
prediction. The strength of drift and noise is unknown; `misfits` is a grid of both, whose members are
weighed by how likely they make the data. Its values, the share of deviating levels and their spread are those that hold
on a thousand scaling series of real programs; docs/how-we-know.md says what they give on others. The factor of a shape
is unknown and integrated over; so are small changes of its proportions, by Sherman and Morrison's formula for a
covariance that has one more direction.

Source: J. A. Hoeting and others, "Bayesian model averaging: a tutorial", Statistical Science 14, 1999, equations 1 to
3; the misfit as in M. C. Kennedy, A. O'Hagan, "Bayesian calibration of computer models", JRSS B 63, 2001. Deviation:
the misfit is one of the logarithm. A linear part with an unknown law, a process about it, and weighing by the marginal
likelihood: C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, 2.7 and 5.4.1.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfcore.base import special
from perfcore.base.arrays import Floats, Ints

_NOISES = (0.01, 0.03, 0.08, 0.2, 0.5)  # of a level, relative; equally likely
_DRIFTS = {0.0: 0.3, 0.06: 0.3, 0.25: 0.25, 1.0: 0.15}  # of the slope for each root of ln x, and how likely
_LENGTH = 64.0  # in ln x, after which the slope has forgotten itself: longer than any range, so it wanders freely
DEVIATES = 0.15  # probability that a level lies off by more than its noise: another algorithm, a slow node
_RUN, _RUN_FREEDOM = 0.01, 1.0  # relative noise of a run where no run was repeated, and what that counts for
_FAR = 9.0  # standard deviations, beyond which a member has no mass that counts
_CLOSE = 1e-11  # of the range, to which quantiles are found
_STEPS = 80
_OPEN = 300.0  # in the logarithm
_NEGLIGIBLE = 1e-4  # share of the mixture that the least likely members may make up together; they are left out
_FREE_TILT = 1.0  # of coefficients that were fitted, in the logarithm
_FREE_RANGE = 10.0  # in the logarithm, over which such a coefficient may lie before anything was measured
_LEAST = 0.05  # of the measured value, below which the last resort is not taken: it has a logarithm everywhere
_LEAST_VARIANCE = 1e-12


class Misfit(NamedTuple):
    """One assumption of how measurements scatter about the law."""

    noise: float  # standard deviation of a level, relative
    drift: float  # standard deviation that the slope gathers for each root of a unit of ln x
    log_prior: float


@functools.cache
def misfits() -> tuple[Misfit, ...]:
    """Return every noise with every drift, and how likely they are before anything was measured."""
    pairs = [(noise, drift, share) for drift, share in _DRIFTS.items() for noise in _NOISES]
    return tuple(Misfit(noise, drift, float(np.log(share / len(_NOISES)))) for noise, drift, share in pairs)


def deviating_variance(noise: npt.ArrayLike) -> Floats:
    """By how much the variance of a deviating level is larger than that of others with this noise."""
    return np.asarray(0.2**2 + 9.0 * np.asarray(noise, dtype=np.float64) ** 2)


def run_variance(repetitions: Floats, relative_spread: Floats) -> float:
    """Return the relative variance of single runs, pooled over levels."""
    squares = float(np.nansum((repetitions - 1.0) * relative_spread**2))
    freedom = float((repetitions - 1.0)[np.isfinite(relative_spread)].sum())
    return (squares + _RUN_FREEDOM * _RUN**2) / (freedom + _RUN_FREEDOM)


def positions(measured: Mapping[str, Floats], new_points: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Return logarithms of the parameters at measured and at asked points, about the mean of the measured ones."""
    pairs = [(values, new_points[name]) for name, values in measured.items()]
    positive = [(x, y) for x, y in pairs if min(x.min(), y.min(initial=1.0)) > 0.0]
    logs = [(np.log(at_measured), np.log(at_new)) for at_measured, at_new in positive]
    if not logs:
        none, where = np.empty((len(pairs[0][0]), 0)), np.empty((len(pairs[0][1]), 0))
        return none, where
    at_measured, at_new = (np.stack(column, axis=1) for column in zip(*logs, strict=True))
    center = at_measured.mean(axis=0)
    return at_measured - center, at_new - center


def drift_covariance(first: Floats, second: Floats) -> Floats:
    """Return covariance of the misfit at two sets of positions, for a drift of 1; the drifts of parameters add up."""
    first_variogram, second_variogram = _variogram(first)[:, None, :], _variogram(second)[None, :, :]
    between = _variogram(first[:, None, :] - second[None, :, :])
    return np.asarray(0.25 * _LENGTH * (first_variogram + second_variogram - between).sum(axis=2))


def drift_variance(positions: Floats) -> Floats:
    """Return variance of the misfit at positions (n, d), for a drift of 1: the diagonal of `drift_covariance` (n,)."""
    return np.asarray(0.5 * _LENGTH * _variogram(positions).sum(axis=1))


def _variogram(distance: Floats) -> Floats:
    """Return the variance of a difference of the integral of an Ornstein-Uhlenbeck process of variance 1."""
    size = np.abs(distance)
    return np.asarray(2.0 * _LENGTH * (size + _LENGTH * np.expm1(-size / _LENGTH)))


@dataclass(frozen=True)
class NormalMixture:
    """Members with weights, each with a mean and a variance at every point."""

    weights: Floats  # their sum is 1
    means: Floats
    variances: Floats

    @classmethod
    def of(cls, log_weights: Floats, means: Floats, variances: Floats) -> NormalMixture:
        """Return members by the logarithms of their weights (m,), which need not be normalised; the negligible are left
        out.
        """
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        order = np.argsort(-weights, kind="stable")
        kept = order[: 1 + int(np.searchsorted(np.cumsum(weights[order]), 1.0 - _NEGLIGIBLE))]
        return cls(weights[kept] / weights[kept].sum(), means[kept], variances[kept])

    def quantiles(self, shares: npt.ArrayLike) -> Floats:
        """Return values below which these shares of the mixture lie (q, k), by Newton's method within a bracket."""
        targets = np.asarray(shares, dtype=np.float64)[:, None]
        deviation = np.sqrt(self.variances)
        low = np.broadcast_to((self.means - _FAR * deviation).min(axis=0), (len(targets), self.means.shape[1])).copy()
        high = np.broadcast_to((self.means + _FAR * deviation).max(axis=0), low.shape).copy()
        close = _CLOSE * (high - low).max(initial=0.0)
        weights = self.weights[:, None, None]
        x = np.broadcast_to(self.weights @ self.means, low.shape).copy()
        for _ in range(_STEPS):
            scaled = (x - self.means[:, None, :]) / deviation[:, None, :]
            missing = (weights * special.ndtr(scaled)).sum(axis=0) - targets
            density = (weights * np.exp(-0.5 * scaled**2) / deviation[:, None, :]).sum(axis=0) / np.sqrt(2.0 * np.pi)
            low, high = np.where(missing < 0.0, x, low), np.where(missing < 0.0, high, x)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = x - missing / density
            inside = (step > low) & (step < high)
            after = np.where(inside, step, 0.5 * (low + high))
            moved = np.abs(after - x).max(initial=0.0)
            x = after
            if moved <= close:
                break
        return np.asarray(x)

    def ratio_quantiles(self, shares: npt.ArrayLike) -> Floats:
        """Return quantiles (q, k) of what the mixture is the logarithm of; they end at e^300."""
        return np.asarray(np.exp(np.clip(self.quantiles(shares), -_OPEN, _OPEN)))


@dataclass(frozen=True)
class Shapes:
    """S shapes h at n measured and k asked points, known up to a factor each."""

    log: Floats  # ln h
    log_asked: Floats
    tilts: Floats  # derivatives of ln h by the proportions of its functions; 0 where a shape has fewer
    tilts_asked: Floats
    variance: Floats  # of each proportion about the shape's
    log_prior: Floats
    families: Ints


class GatheredShapes:
    """Shapes as they are found."""

    def __init__(self) -> None:
        self._parts: list[tuple[Floats, Floats, Floats, Floats, float, Floats]] = []

    def add(
        self, at_measured: Floats, at_new: Floats, tilt: Floats, tilt_new: Floats, sd: float, log_prior: float
    ) -> None:
        """A family (s, n) and (s, k), with tilts (s, r, n) and (s, r, k); what is not positive is left out."""
        good = (at_measured > 0.0).all(axis=1) & (at_new > 0.0).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(at_measured[good]), np.log(at_new[good])
        prior = np.full(int(good.sum()), log_prior)
        self._parts.append((*logs, tilt[good], tilt_new[good], sd**2, prior))

    def single(self, at_measured: Floats, at_new: Floats, log_prior: float) -> None:
        """One shape (n,) and (k,), up to its sign, without anything that may change."""
        sign = 1.0 if at_measured.sum() >= 0.0 else -1.0
        none = np.zeros((1, 0, len(at_measured))), np.zeros((1, 0, len(at_new)))
        self.add(sign * at_measured[None], sign * at_new[None], *none, 0.0, log_prior)

    def about_fit(
        self, values: Floats, at_measured: Floats, at_new: Floats, log_prior: float, *, signed: bool = True
    ) -> bool:
        """Return the sum of functions of least relative squares, and what is near it."""
        design = at_measured / values[:, None]
        length = np.linalg.norm(design, axis=0)
        length[length == 0.0] = 1.0
        if signed:
            coefficients = np.linalg.lstsq(design / length, np.ones(len(values)), rcond=None)[0] / length
        else:
            from scipy.optimize import nnls

            coefficients = nnls(design / length, np.ones(len(values)))[0] / length
        used = np.flatnonzero(coefficients != 0.0)
        parts, parts_new = coefficients[used] * at_measured[:, used], coefficients[used] * at_new[:, used]
        total, total_new = parts.sum(axis=1), parts_new.sum(axis=1)
        if not len(used) or (total <= 0.0).any() or (total_new <= 0.0).any():
            return False
        tilts = (parts / total[:, None]).T[None, 1:]
        tilts_new = (parts_new / total_new[:, None]).T[None, 1:]
        # As if the proportions were spread evenly over their range, of which the tilt is a part.
        share = (len(used) - 1) * float(np.log(_FREE_TILT * np.sqrt(2.0 * np.pi) / _FREE_RANGE))
        self.add(total[None], total_new[None], tilts, tilts_new, _FREE_TILT, log_prior + share)
        return True

    def last_resort(self, values: Floats, at_measured: Floats, at_new: Floats) -> None:
        """A model (n,) and (k,) that may not be positive everywhere, raised to where it has a logarithm."""
        self.single(np.maximum(at_measured, _LEAST * values), np.maximum(at_new, _LEAST * values.min()), 0.0)

    def shapes(self) -> Shapes | None:
        """Return all that were added; None without any."""
        if not sum(len(part[0]) for part in self._parts):
            return None
        most = max(part[2].shape[1] for part in self._parts)
        logs, logs_asked, tilts, tilts_asked, variances, priors = zip(*self._parts, strict=True)
        counts = [len(log) for log in logs]
        return Shapes(
            np.concatenate(logs),
            np.concatenate(logs_asked),
            _stacked(tilts, most),
            _stacked(tilts_asked, most),
            np.repeat(variances, counts),
            np.concatenate(priors),
            np.cumsum([0, *counts])[:-1][np.array(counts) > 0],
        )


def _stacked(tilts: Sequence[Floats], most: int) -> Floats:
    """Return tilts (s, r, n) of all parts under one another, with zeros where there are fewer than the most."""
    stacked = np.zeros((sum(map(len, tilts)), most, tilts[0].shape[2]))
    row = 0
    for part in tilts:
        stacked[row : row + len(part), : part.shape[1]] = part
        row += len(part)
    return stacked


def expected_runs(
    values: Floats,
    repetitions: Floats,
    relative_spread: Floats,
    measured: Mapping[str, Floats],
    new_points: Mapping[str, Floats],
    shapes: Shapes,
) -> NormalMixture:
    """Return the logarithm of a single run at the asked points."""
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
    """Return how likely each shape is (S,); their sum is 1. The parameters are those of `expected_runs`."""
    run = run_variance(repetitions, relative_spread)
    evidence, *_ = _averaged(
        values, run / repetitions, measured, measured, replace(shapes, log_asked=shapes.log, tilts_asked=shapes.tilts)
    )
    weights = np.exp(evidence - evidence.max()).sum(axis=0)
    return np.asarray(weights / weights.sum())


def _averaged(
    values: Floats, level: Floats, measured: Mapping[str, Floats], new_points: Mapping[str, Floats], shapes: Shapes
) -> tuple[Floats, Floats, Floats]:
    """Return for each assumption of the misfit: log evidence (G, S), mean and variance (G, S, k) of the level."""
    at_measured, at_new = positions(measured, new_points)
    covariance, cross = drift_covariance(at_measured, at_measured), drift_covariance(at_measured, at_new)
    far = drift_variance(at_new)
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


def _by_family(evidence: Floats, means: Floats, variances: Floats, families: Ints) -> tuple[Floats, Floats, Floats]:
    """Return each family as one member with the moments of its shapes: (G, F), (G, F, k), (G, F, k)."""
    weights = np.exp(evidence - evidence.max())
    sums = np.maximum(np.add.reduceat(weights, families, axis=1), np.finfo(np.float64).tiny)
    first = np.add.reduceat(weights[:, :, None] * means, families, axis=1) / sums[:, :, None]
    deviations = means - np.repeat(first, np.diff([*families, evidence.shape[1]]), axis=1)
    second = np.add.reduceat(weights[:, :, None] * (variances + deviations**2), families, axis=1) / sums[:, :, None]
    return np.log(sums), first, np.maximum(second, _LEAST_VARIANCE)


def _given(off: Floats, shapes: Shapes, spread: Floats, cross: Floats, far: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log evidence (S,), mean and variance (S, k) of the level, for one covariance of the points (n, n)."""
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
