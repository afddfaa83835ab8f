"""Samples as they are, with a smooth tail: the shape that was measured, and what lies beyond the largest sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

# The generalized Pareto distribution: what lies beyond a high threshold of nearly any quantity.
# Source: J. Zhang and M. A. Stephens, "A new and efficient estimation method for the generalized Pareto distribution",
# Technometrics 51, 2009: an average over the profile likelihood, which always exists and is as precise as the maximum.

_LEAST_SHAPE = 1e-9  # below, it is exponential to the precision of floats
_PRIOR_QUANTILE, _PRIOR_SCALE = 0.25, 3.0  # section 3 of the paper
_FEWEST_PLACES = 30  # section 3 too, with the square root of the number of samples next to
# Of the tail: A. Vehtari and others, "Pareto smoothed importance sampling", JMLR 25, 2024, section 2.3.
_LARGEST_SHARE, _PER_ROOT = 0.2, 3.0
_FEWEST_IN_TAIL = 25
_MOST_KNOTS = 1000  # of the body: quantiles between two are within a thousandth of probability
_ROUNDING = 1e-12
_GROSS_MISFIT = 1.5  # of what tails describe, less than one in a thousand are as far from the fitted one
_NO_TAIL = "no tail fits the largest samples: it ends with the largest"


def fitted_excess(excesses: Floats) -> tuple[float, float]:
    """Scale and shape of what samples exceed a threshold by."""
    ordered = np.sort(excesses)
    count = _FEWEST_PLACES + int(math.sqrt(len(ordered)))
    quartile = float(ordered[int(_PRIOR_QUANTILE * len(ordered) + 0.5) - 1])
    rates = 1.0 / ordered[-1] + (1.0 - np.sqrt(count / (np.arange(count) + 0.5))) / (_PRIOR_SCALE * quartile)
    rates = rates[rates != 0.0]
    shapes = np.log1p(-rates[:, None] * ordered).mean(axis=1)
    likelihoods = len(ordered) * (np.log(-rates / shapes) - shapes - 1.0)
    rate = float(softmax(likelihoods) @ rates)
    shape = float(np.log1p(-rate * ordered).mean())
    return -shape / rate, shape


def excess_of(share: Floats, scale: float, shape: float) -> Floats:
    """By what the threshold is exceeded with a probability (...), among what exceeds it; at 0 where the tail ends."""
    with np.errstate(divide="ignore", over="ignore"):
        if abs(shape) < _LEAST_SHAPE:
            return np.asarray(-scale * np.log(share))
        return np.asarray(scale * np.expm1(-shape * np.log(share)) / shape)


def beyond(excess: Floats, scale: float, shape: float) -> Floats:
    """Probability of a larger excess (...), among what exceeds the threshold."""
    with np.errstate(divide="ignore", over="ignore"):
        scaled = np.maximum(excess, 0.0) / scale
        if abs(shape) < _LEAST_SHAPE:
            return np.asarray(np.exp(-scaled))
        return np.asarray(np.exp(-np.log(np.maximum(1.0 + shape * scaled, 0.0)) / shape))


def misfit(excesses: Floats, scale: float, shape: float) -> float:
    """Largest distance between the distribution of excesses and a tail, times the root of their number."""
    count = len(excesses)
    levels = 1.0 - beyond(excesses, scale, shape)
    after = np.arange(1, count + 1) / count
    distances = np.maximum(np.abs(after - levels), np.abs(after - 1.0 / count - levels))
    return math.sqrt(count) * float(distances.max())


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Empirical(StochasticValue):
    """The quantiles of samples, and beyond a high one of them a generalized Pareto tail.

    Choose it where no family fits and the far tail counts: p99.9 of a thousand samples. The tail is fitted to the
    largest samples, at most a fifth and three times the square root of their number; of fewer than 125 samples there is
    none. Whatever is computed with it is left to histograms.

    Parameters
    ----------
    levels : (m,) float, 0 to 1
        Increasing from 0 to where the tail begins, 1 where there is none.
    places : (m,) float
        The quantile at each; between them quantiles lie on lines.
    scale : float, >= 0
        Of the tail; 0 where there is none.
    shape : float, < 1
        Of the tail: below 0 it ends, at 0 it falls exponentially, above it is heavy.

    Examples
    --------
    >>> measured = Empirical([0.0, 0.5, 0.9], [1.0, 2.0, 4.0], 1.0, 0.0)
    >>> measured.quantile([0.25, 0.99]).round(6)
    array([1.5     , 6.302585])
    """

    name: ClassVar[str] = "empirical"
    generality: ClassVar[int] = 17

    levels: Floats
    places: Floats
    scale: float
    shape: float

    def __init__(
        self, levels: npt.ArrayLike, places: npt.ArrayLike, scale: float, shape: float, *, notes: tuple[str, ...] = ()
    ) -> None:
        rows = [np.asarray(row, dtype=np.float64) for row in (levels, places)]
        if rows[0].shape != rows[1].shape or rows[0].ndim != 1 or len(rows[0]) < 2:
            raise DataError("empirical: two levels and places are expected at least, and as many of both")
        if not all(np.isfinite(row).all() and (np.diff(row) >= 0.0).all() for row in rows):
            raise DataError("empirical: levels and places must be finite and not decreasing")
        if rows[0][0] != 0.0 or rows[0][-1] > 1.0:
            raise DataError(
                f"empirical: levels must begin at 0 and end at 1 at most, found {rows[0][0]:g} and {rows[0][-1]:g}"
            )
        if (rows[0][-1] < 1.0) != (scale > 0.0) or not 0.0 <= scale < math.inf:
            raise DataError(
                f"empirical: levels up to {rows[0][-1]:g} and scale {scale:g}: a tail needs both below 1 and above 0"
            )
        if not -math.inf < shape < 1.0:
            raise DataError(f"empirical: shape {shape:g} must be below 1: from there on there is no mean")
        fields = (*rows, float(scale), float(shape), notes)
        for name, value in zip(("levels", "places", "scale", "shape", "notes"), fields, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        ordered = np.sort(checked_samples(samples))
        count = len(ordered)
        hazen = (np.arange(count) + 0.5) / count  # levels of the samples
        threshold, excesses = _tail(ordered)
        scale, shape = fitted_excess(excesses) if len(excesses) else (0.0, 0.0)
        is_tail = 0.0 < scale < math.inf and shape < 1.0
        fits = is_tail and misfit(excesses, scale, shape) <= _GROSS_MISFIT
        if not fits:
            knots = _thinned(np.concatenate([[0.0], hazen, [1.0]]), ordered[[0, *range(count), -1]])
            return cls(*knots, 0.0, 0.0, notes=(_NO_TAIL,) if is_tail else ())
        below = count - len(excesses)
        levels = np.concatenate([[0.0], hazen[:below], [below / count]])
        return cls(*_thinned(levels, np.concatenate([ordered[:1], ordered[:below], [threshold]])), scale, shape)

    def __repr__(self) -> str:
        tail = f", tail of scale {self.scale:.6g} and shape {self.shape:.3g}" if self._share else ""
        return f"Empirical({len(self.levels)} quantiles from {self.places[0]:.6g} to {self.places[-1]:.6g}{tail})"

    @property
    def mean(self) -> float:
        """Of the lines, and the tail's scale/(1 - shape) beyond its beginning."""
        of_body = float(np.diff(self.levels) @ (0.5 * (self.places[1:] + self.places[:-1])))
        return of_body + self._share * (float(self.places[-1]) + self.scale / (1.0 - self.shape))

    @property
    def std(self) -> float:
        """Standard deviation; infinite where the shape is 0.5 or more."""
        if self._share and self.shape >= 0.5:
            return math.inf
        center, widths, mean_excess = self.mean, np.diff(self.places), self.scale / (1.0 - self.shape)
        middles = 0.5 * (self.places[1:] + self.places[:-1])
        of_body = np.diff(self.levels) @ ((middles - center) ** 2 + widths**2 / 12.0)
        of_tail = (self.places[-1] + mean_excess - center) ** 2
        if self._share:
            of_tail += mean_excess**2 / (1.0 - 2.0 * self.shape)
        return math.sqrt(float(of_body + self._share * of_tail))

    @property
    def _share(self) -> float:
        return float(1.0 - self.levels[-1])

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Along the lines, then of the tail; NaN where ``q`` is not from 0 to 1."""
        levels = np.asarray(q, dtype=np.float64)
        inside = (levels >= 0.0) & (levels <= 1.0)
        quantiles = np.interp(levels, self.levels, self.places)
        in_tail = inside & (levels > self.levels[-1])
        if self._share:
            share = np.where(in_tail, (1.0 - levels) / self._share, 1.0)
            quantiles = np.where(in_tail, self.places[-1] + excess_of(share, self.scale, self.shape), quantiles)
        return np.where(inside, quantiles, np.nan)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        places = np.asarray(x, dtype=np.float64)
        # Of several levels at one place the last, of several places at one level any.
        index = np.searchsorted(self.places, places, side="right")
        low, high = np.clip(index - 1, 0, None), np.clip(index, None, len(self.places) - 1)
        width = self.places[high] - self.places[low]
        with np.errstate(invalid="ignore"):
            along = np.where(width > 0.0, (places - self.places[low]) / np.where(width > 0.0, width, 1.0), 0.0)
        probability = self.levels[low] + along * (self.levels[high] - self.levels[low])
        probability = np.where(index == 0, 0.0, probability)
        if self._share:
            excess = places - self.places[-1]
            probability = np.where(
                excess > 0.0, 1.0 - self._share * beyond(excess, self.scale, self.shape), probability
            )
        return np.where(np.isnan(places), np.nan, probability)


def _tail(ordered: Floats) -> tuple[float, Floats]:
    """Where the tail of samples begins, and by what they exceed that; infinity and none where they show no tail."""
    size = int(min(_LARGEST_SHARE * len(ordered), _PER_ROOT * math.sqrt(len(ordered))))
    threshold = float(ordered[len(ordered) - size - 1]) if size >= _FEWEST_IN_TAIL else math.inf
    excesses = ordered[ordered > threshold] - threshold
    if len(excesses) >= _FEWEST_IN_TAIL and np.ptp(excesses) > _ROUNDING * abs(threshold):
        return threshold, excesses
    return math.inf, np.empty(0)


def _thinned(levels: Floats, places: Floats) -> tuple[Floats, Floats]:
    """So few knots that they can be written down; both ends are kept."""
    kept = np.unique(np.linspace(0, len(levels) - 1, min(len(levels), _MOST_KNOTS)).round().astype(np.intp))
    return levels[kept], places[kept]
