"""Gamma distributions: what waiting times made of several steps are close to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammainc, gammaincinv, polygamma

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

Floats = npt.NDArray[np.float64]

_STEPS = 8  # each doubles the digits
_LARGEST_RATIO = 1e150  # of mean and deviation, whose square is still a float
_LEAST_EXCESS = 1e-12  # of the logarithm of the mean over the mean of logarithms; below, it is rounding


@dataclass(frozen=True)
class Gamma(StochasticValue):
    """A positive quantity with a tail that falls like an exponential one.

    Choose it for sums of waiting times. Whatever is computed with it is left to histograms.

    Parameters
    ----------
    mean : float, > 0
    std : float, >= 0
        Standard deviation; its shape is ``(mean/std)**2``, its scale ``std**2/mean``.

    Examples
    --------
    >>> Gamma(2.0, 2.0).cdf(2.0).round(6).item()  # exponential
    0.632121
    """

    name: ClassVar[str] = "gamma"
    generality: ClassVar[int] = 14

    # Fields in place of the properties of the contract, which need a value in the class: the standard exponential.
    mean: float = 1.0  # type: ignore[assignment]
    std: float = 1.0  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not (0.0 < self.mean < math.inf and 0.0 <= self.std < math.inf):
            raise DataError(f"gamma: the mean {self.mean:g} must be above 0, the deviation {self.std:g} 0 or more")
        if self.std and not 1.0 / _LARGEST_RATIO < self.mean / self.std < _LARGEST_RATIO:
            raise DataError(f"gamma: the mean {self.mean:g} and deviation {self.std:g} are too far apart for a float")

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """The most likely gamma distribution.

        Newton's method in the inverse of the shape, by T. Minka, Estimating a Gamma distribution (2002).
        """
        values = checked_samples(samples)
        if values.min() <= 0.0:
            raise DataError(f"gamma: a sample is {values.min():g}; all must be above 0")
        mean = float(values.mean())
        excess = float(-np.log(values / mean).mean())
        if values.min() == values.max():
            return cls(float(values[0]), 0.0)
        if excess < _LEAST_EXCESS:  # as good as normal
            return cls(mean, float(values.std()))
        shape = (3.0 - excess + math.sqrt((excess - 3.0) ** 2 + 24.0 * excess)) / (12.0 * excess)
        for _ in range(_STEPS):
            miss = math.log(shape) - float(digamma(shape)) - excess
            slope = shape - shape**2 * float(polygamma(1, shape))
            if slope == 0.0:
                break
            shape = 1.0 / (1.0 / shape + miss / slope)
        return cls(mean, mean / math.sqrt(shape))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """The regularised incomplete gamma function."""
        places = np.asarray(x, dtype=np.float64)
        if self.std == 0.0:
            return np.where(places >= self.mean, 1.0, 0.0)
        with np.errstate(over="ignore"):
            return np.asarray(gammainc(self._shape, np.maximum(places, 0.0) * (self.mean / self.std / self.std)))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Its inverse."""
        levels = np.asarray(q, dtype=np.float64)
        if self.std == 0.0:
            return np.where((levels >= 0.0) & (levels <= 1.0), self.mean, np.nan)
        return np.asarray(self.std * (self.std / self.mean) * gammaincinv(self._shape, levels))

    @property
    def _shape(self) -> float:
        return (self.mean / self.std) ** 2
