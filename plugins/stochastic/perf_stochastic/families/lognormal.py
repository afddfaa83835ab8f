"""Lognormal distributions: what positive quantities with a long tail are close to, such as run times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

Floats = npt.NDArray[np.float64]

_LARGEST_LOGARITHM = 700.0  # of a standard deviation that is a float


@dataclass(frozen=True)
class Lognormal(StochasticValue):
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
        """The most likely lognormal: mean and standard deviation of the logarithms."""
        values = checked_samples(samples)
        if values.min() <= 0.0:
            raise DataError(f"lognormal: a sample is {values.min():g}; all must be above 0")
        if values.min() == values.max():
            return cls(math.log(values[0]), 0.0)
        logarithms = np.log(values)
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
        """exp(mu + sigma^2/2)."""
        return math.exp(self.mu + 0.5 * self.sigma**2)

    @property
    def std(self) -> float:
        """Mean times sqrt(exp(sigma^2) - 1)."""
        return self.mean * math.sqrt(math.expm1(self.sigma**2))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Normal in the logarithm."""
        places = np.asarray(x, dtype=np.float64)
        if self.sigma == 0.0:
            return np.where(places >= math.exp(self.mu), 1.0, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(np.maximum(places, 0.0)) - self.mu) / self.sigma))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The exponential of a normal quantile."""
        levels = np.asarray(q, dtype=np.float64)
        if self.sigma == 0.0:
            return np.where((levels >= 0.0) & (levels <= 1.0), math.exp(self.mu), np.nan)
        return np.asarray(np.exp(self.mu + self.sigma * ndtri(levels)))


def _logarithm(value: StochasticValue) -> tuple[float, float] | None:
    """Mean and standard deviation of the logarithm of a lognormal or a positive number; None of anything else."""
    if isinstance(value, Lognormal):
        return value.mu, value.sigma
    low, high = value.support
    return (math.log(low), 0.0) if 0.0 < low == high else None
