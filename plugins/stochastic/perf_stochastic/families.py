"""Families of two numbers on the distribution functions of scipy: lognormal, gamma and exponential."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammainc, gammaincinv, ndtr, ndtri, polygamma

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

_LARGEST_LOGARITHM = 700.0  # of a standard deviation that is a float
_STEPS = 8  # each doubles the digits
_LARGEST_RATIO = 1e150  # of mean and deviation, whose square is still a float
_LEAST_EXCESS = 1e-12  # of the logarithm of the mean over the mean of logarithms; below, it is rounding


class Family(StochasticValue):
    """A distribution by its mean and standard deviation; without spread it is one value, the mean."""

    # The distribution function and its inverse at places and levels (...,), for a spread above 0.
    _cdf: Callable[[Floats], Floats]
    _quantile: Callable[[Floats], Floats]

    def cdf(self, x: npt.ArrayLike) -> Floats:
        places = np.asarray(x, dtype=np.float64)
        if not self.std:
            return np.where(places >= self.mean, 1.0, 0.0)
        with np.errstate(divide="ignore", over="ignore"):  # too far out for a float is far enough
            return np.asarray(self._cdf(places))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        levels = np.asarray(q, dtype=np.float64)
        if not self.std:
            return np.where((levels >= 0.0) & (levels <= 1.0), self.mean, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._quantile(levels))


@dataclass(frozen=True)
class Lognormal(Family):
    """A positive quantity whose logarithm is normal.

    Choose it for what is multiplied together: products, quotients and powers are lognormal again, sums are not.

    Parameters
    ----------
    mu : float
        Mean of the logarithm; ``exp(mu)`` is the median.
    sigma : float, >= 0
        Standard deviation of the logarithm.

    Examples
    --------
    >>> Lognormal(1.0, 0.3) * Lognormal(2.0, 0.4) / 2
    Lognormal(mu=2.3068528194400546, sigma=0.5)
    """

    name: ClassVar[str] = "lognormal"
    generality: ClassVar[int] = 15

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mu) and 0.0 <= self.sigma < math.inf):
            raise DataError(f"lognormal: mu {self.mu:g} must be finite, and sigma {self.sigma:g} finite and 0 or more")
        if max(self.mu, 0.0) + self.sigma * self.sigma > _LARGEST_LOGARITHM:
            raise DataError(
                f"lognormal: mu {self.mu:g} and sigma {self.sigma:g}, those of the logarithm, make it too large for a "
                "float; change the unit"
            )

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        logarithms = np.log(_positive(cls.name, samples))
        if logarithms.min() == logarithms.max():
            return cls(float(logarithms[0]), 0.0)
        return cls(float(logarithms.mean()), float(logarithms.std()))

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> StochasticValue:
        """Products, quotients, powers and roots of lognormals and positive numbers; the rest is left to others."""
        logs = [_logarithm(operand) for operand in operands]
        notes = tuple(dict.fromkeys(note for operand in operands for note in operand.notes))
        parameters = [log for log in logs if log is not None]
        match operation:
            case "multiply" if len(parameters) == len(logs):
                return cls(
                    math.fsum(mu for mu, _ in parameters), math.hypot(*(sigma for _, sigma in parameters)), notes=notes
                )
            case "divide" if len(parameters) == 2:
                (mu, sigma), (less, further) = parameters
                return cls(mu - less, math.hypot(sigma, further), notes=notes)
            case "power" if logs[0] is not None and operands[1].std == 0.0:
                exponent = operands[1].mean
                return cls(exponent * logs[0][0], abs(exponent) * logs[0][1], notes=notes)
            case "sqrt" if logs[0] is not None:
                return cls(0.5 * logs[0][0], 0.5 * logs[0][1], notes=notes)
            case "absolute" if logs[0] is not None:
                return operands[0]
        return super().operate(operation, operands, options)

    @property
    def mean(self) -> float:
        return math.exp(self.mu + 0.5 * self.sigma**2)

    @property
    def std(self) -> float:
        return self.mean * math.sqrt(math.expm1(self.sigma**2))

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(ndtr((np.log(np.maximum(x, 0.0)) - self.mu) / self.sigma))

    def _quantile(self, q: Floats) -> Floats:
        return np.exp(self.mu + self.sigma * ndtri(q))


def _positive(name: str, samples: npt.ArrayLike) -> Floats:
    values = checked_samples(samples)
    if values.min() <= 0.0:
        raise DataError(f"{name}: a sample is {values.min():g}; all must be above 0")
    return values


def _logarithm(value: StochasticValue) -> tuple[float, float] | None:
    """Mean and standard deviation of the logarithm of a lognormal or a positive number; None of anything else."""
    if isinstance(value, Lognormal):
        return value.mu, value.sigma
    low, high = value.support
    return (math.log(low), 0.0) if 0.0 < low == high else None


@dataclass(frozen=True)
class Gamma(Family):
    """A positive quantity with a tail that falls like an exponential one, by its mean and standard deviation.

    Choose it for sums of waiting times. Its shape is ``(mean/std)**2``, its scale ``std**2/mean``.

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
        """The most likely gamma, by Newton's method in the inverse of the shape (T. Minka, 2002)."""
        values = _positive(cls.name, samples)
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

    def _cdf(self, x: Floats) -> Floats:
        scaled = np.maximum(x, 0.0) * (self.mean / self.std / self.std)
        return np.asarray(gammainc((self.mean / self.std) ** 2, scaled), dtype=np.float64)

    def _quantile(self, q: Floats) -> Floats:
        inverse = gammaincinv((self.mean / self.std) ** 2, q)
        return np.asarray(self.std * (self.std / self.mean) * inverse, dtype=np.float64)


@dataclass(frozen=True)
class Exponential(Family):
    """A least value, ``start``, and a memoryless delay, whose mean and standard deviation are ``delay``.

    Choose it for times between arrivals or until a failure, from 0 on, and for run times with random disturbances.

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
        """Return the unbiased start and delay (Johnson, Kotz, Balakrishnan 1994, 19.7); no start is below 0 if no
        sample is.
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
        return self.start + self.delay

    @property
    def std(self) -> float:
        return self.delay

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-np.maximum(x - self.start, 0.0) / self.delay)

    def _quantile(self, q: Floats) -> Floats:
        return np.where((q >= 0.0) & (q <= 1.0), self.start - self.delay * np.log1p(-q), np.nan)
