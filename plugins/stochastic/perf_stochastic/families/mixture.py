"""Mixtures of normal or lognormal distributions: quantities that come in several modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perfcore.base.errors import DataError, listing
from perfcore.stochastic import StochasticValue, checked_samples

Floats = npt.NDArray[np.float64]

NORMAL, LOGNORMAL = "normal", "lognormal"
_MOST_COMPONENTS = 3
_MOST_STEPS_MIXTURE_FIT = 50
_SETTLED_MIXTURE_FIT = (
    1e-5  # of mean log density in a step, below which the rest changes nothing that samples could tell
)
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
    for _ in range(_MOST_STEPS_MIXTURE_FIT):
        sizes = np.maximum(shares.sum(axis=0), 1e-10)
        means = values @ shares / sizes
        deviations = np.sqrt(((values[:, None] - means) ** 2 * shares).sum(axis=0) / sizes)
        parameters = sizes / sizes.sum(), means, np.maximum(deviations, least)
        parts = _log_parts(values, *parameters)
        densities = _log_sums(parts)
        reached = float(densities.mean())
        if count == 1 or reached - before < _SETTLED_MIXTURE_FIT:
            break
        before, shares = reached, np.exp(parts - densities[:, None])
    return parameters, reached


_SHARES_OFF = 1e-6  # by which weights may miss 1
_MOST_STEPS = 100  # where each halves a bracket; most take ten
_SETTLED = 1e-14  # relative, of a place
_ROUNDING = 4e-16  # relative, of a probability


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Mixture(StochasticValue):
    """A quantity that is one of several normal or lognormal ones, each with a probability of its own.

    Choose it for measurements with several modes, such as run times with and without a disturbance. Whatever is
    computed with it is left to histograms.

    Parameters
    ----------
    kind : {"normal", "lognormal"}
        What each component is.
    weights : (k,) float, > 0
        Their sum is 1 to a part in a million, and is made 1.
    means, deviations : (k,) float
        Mean and standard deviation of each component; of lognormal ones of its logarithm. Deviations are above 0, or 0
        where there is one component.

    Examples
    --------
    >>> Mixture("normal", [0.9, 0.1], [10, 20], [1, 2]).cdf([10, 15]).round(4)
    array([0.45  , 0.9006])
    """

    name: ClassVar[str] = "mixture"
    generality: ClassVar[int] = 16

    kind: str
    weights: Floats
    means: Floats
    deviations: Floats

    def __init__(
        self,
        kind: str,
        weights: npt.ArrayLike,
        means: npt.ArrayLike,
        deviations: npt.ArrayLike,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        if kind not in (NORMAL, LOGNORMAL):
            raise DataError(f"mixture: kind {kind!r} is not known: {listing([NORMAL, LOGNORMAL])}")
        rows = [np.asarray(row, dtype=np.float64) for row in (weights, means, deviations)]
        if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1 or not rows[0].size:
            raise DataError("mixture: as many weights, means and deviations are expected, one for each component")
        if not all(np.isfinite(row).all() for row in rows):
            raise DataError("mixture: weights, means and deviations must be finite")
        total = float(rows[0].sum())
        if not ((rows[0] > 0.0).all() and abs(total - 1.0) <= _SHARES_OFF):
            raise DataError(f"mixture: weights must be above 0 and sum to 1, their sum is {total:g}")
        if not ((rows[2] > 0.0).all() or (len(rows[2]) == 1 and rows[2][0] == 0.0)):
            raise DataError(f"mixture: deviations must be above 0, the least is {rows[2].min():g}")
        rows[0] = rows[0] / total
        for name, value in zip(("kind", "weights", "means", "deviations", "notes"), (kind, *rows, notes), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """The most likely mixture, of as many components as held-out samples support."""
        values = checked_samples(samples)
        if values.min() == values.max():
            return cls(NORMAL, [1.0], [values[0]], [0.0])
        return cls(*most_likely_mixture(values))

    @property
    def mean(self) -> float:
        """The weighted mean of the components'."""
        return float(self.weights @ self._component_moments()[0])

    @property
    def std(self) -> float:
        """From within and between the components."""
        means, variances = self._component_moments()
        return math.sqrt(float(self.weights @ (variances + (means - self.weights @ means) ** 2)))

    def _component_moments(self) -> tuple[Floats, Floats]:
        if self.kind == NORMAL:
            return self.means, self.deviations**2
        means = np.exp(self.means + 0.5 * self.deviations**2)
        return means, means**2 * np.expm1(self.deviations**2)

    @property
    def support(self) -> tuple[float, float]:
        """The whole line, or all above 0."""
        if self.deviations[0] == 0.0:
            only = float(self._plain(self.means[0]))
            return only, only
        return (-math.inf if self.kind == NORMAL else 0.0), math.inf

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """The weighted sum of the components'."""
        places = np.asarray(x, dtype=np.float64)
        if self.deviations[0] == 0.0:
            return np.where(places >= self.support[0], 1.0, 0.0)
        if self.kind == LOGNORMAL:
            with np.errstate(divide="ignore"):
                places = np.log(np.maximum(places, 0.0))
        return self._share_below(places)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """By Newton's method within the components' own quantiles; NaN where ``q`` is not from 0 to 1."""
        levels = np.asarray(q, dtype=np.float64)
        inside = np.where((levels > 0.0) & (levels < 1.0), levels, 0.5)
        of_components = self.means + self.deviations * ndtri(inside)[..., None]
        low, high = of_components.min(axis=-1), of_components.max(axis=-1)
        places = 0.5 * (low + high)
        for _ in range(_MOST_STEPS if len(self.weights) > 1 else 0):
            missing = inside - self._share_below(places)
            low, high = np.where(missing > 0.0, places, low), np.where(missing > 0.0, high, places)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ahead = places + missing / self._density(places)
            ahead = np.where((ahead > low) & (ahead < high), ahead, 0.5 * (low + high))
            settled = (np.abs(ahead - places) <= _SETTLED * np.abs(places)) | (np.abs(missing) <= _ROUNDING * inside)
            places = ahead
            if settled.all():
                break
        lowest, highest = self.support
        quantiles = np.where(levels == 0.0, lowest, np.where(levels == 1.0, highest, self._plain(places)))
        return np.where((levels >= 0.0) & (levels <= 1.0), quantiles, np.nan)

    def _share_below(self, places: Floats) -> Floats:
        """Of normal components, or of the logarithms."""
        with np.errstate(over="ignore"):
            scores = (places[..., None] - self.means) / self.deviations
        return np.asarray(ndtr(scores) @ self.weights)

    def _density(self, places: Floats) -> Floats:
        """The slope of `_share_below`."""
        scores = (places[..., None] - self.means) / self.deviations
        return np.asarray(np.exp(-0.5 * scores**2) @ (self.weights / self.deviations) / math.sqrt(2.0 * math.pi))

    def _plain(self, places: Floats) -> Floats:
        return places if self.kind == NORMAL else np.asarray(np.exp(places))
