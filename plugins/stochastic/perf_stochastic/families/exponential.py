"""Exponential distributions from a least value on: a run without disturbance, and waiting without memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exponential(StochasticValue):
    """A least value and a delay that does not depend on how long one has waited.

    Choose it for times between arrivals or until a failure, from 0 on, and for run times with random disturbances.

    Parameters
    ----------
    start : float
        Least value.
    delay : float, >= 0
        Mean of what is added, and its standard deviation.

    Examples
    --------
    >>> Exponential(1.0, 2.0).quantile(0.5).round(6).item()
    2.386294
    """

    name: ClassVar[str] = "exponential"
    generality: ClassVar[int] = 13

    start: float
    delay: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and 0.0 <= self.delay < math.inf):
            problem = f"start {self.start:g} must be finite, and delay {self.delay:g} finite and 0 or more"
            raise DataError(f"exponential: {problem}")

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """The unbiased start and delay; no start below 0 where no sample is.

        The least of n samples lies ``delay/n`` above the start on average: N. L. Johnson, S. Kotz and N. Balakrishnan,
        Continuous Univariate Distributions 1 (1994), section 19.7.
        """
        values = checked_samples(samples)
        least, mean = float(values.min()), float(values.mean())
        if least == values.max():
            return cls(least, 0.0)
        start = least - (mean - least) / (len(values) - 1)
        if least >= 0.0:
            start = max(start, 0.0)
        return cls(start, mean - start)

    @property
    def mean(self) -> float:
        """Start plus delay."""
        return self.start + self.delay

    @property
    def std(self) -> float:
        """The delay."""
        return self.delay

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """1 - exp(-(x - start)/delay)."""
        ahead = np.asarray(x, dtype=np.float64) - self.start
        if self.delay == 0.0:
            return np.where(ahead >= 0.0, 1.0, 0.0)
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-np.maximum(ahead, 0.0) / self.delay))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The inverse of `cdf`; NaN where ``q`` is not from 0 to 1."""
        levels = np.asarray(q, dtype=np.float64)
        inside = (levels >= 0.0) & (levels <= 1.0)
        if self.delay == 0.0:
            return np.where(inside, self.start, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(inside, self.start - self.delay * np.log1p(-levels), np.nan))
