"""Weibull distributions: what times until the first of many failures are close to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

__all__ = ["Weibull"]

Floats = npt.NDArray[np.float64]

_SHAPES = (1e-2, 1e6)  # between which the most likely one is looked for


@dataclass(frozen=True)
class Weibull(StochasticValue):
    """A positive quantity with the distribution function ``1 - exp(-(x/scale)**shape)``.

    Choose it for times to failure. Multiples of it are Weibull again, sums are not.

    Parameters
    ----------
    scale : float, > 0
        Below it lie 63 %.
    spread : float, >= 0
        Inverse of the shape: 1 of an exponential distribution, and 0 of one number.

    Examples
    --------
    >>> 2 * Weibull(1.5, 0.5)
    Weibull(scale=3.0, spread=0.5)
    """

    name: ClassVar[str] = "weibull"
    generality: ClassVar[int] = 15

    scale: float
    spread: float

    def __post_init__(self) -> None:
        if not (0.0 < self.scale < math.inf and 0.0 <= self.spread < math.inf):
            raise DataError(f"weibull: scale {self.scale:g} must be above 0, and spread {self.spread:g} 0 or more")

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """The most likely one."""
        values = checked_samples(samples)
        if values.min() <= 0.0:
            raise DataError(f"weibull: a sample is {values.min():g}; all must be above 0")
        largest = float(values.max())
        if values.min() == largest:
            return cls(largest, 0.0)
        logs = np.log(values / largest)

        def slope(shape: float) -> float:
            """Of the likelihood, for the best scale."""
            powers = np.exp(shape * logs)
            return float(powers @ logs / powers.sum() - logs.mean() - 1.0 / shape)

        shape = float(brentq(slope, *_SHAPES)) if slope(_SHAPES[1]) > 0.0 else _SHAPES[1]
        return cls(largest * float(np.exp(shape * logs).mean()) ** (1.0 / shape), 1.0 / shape)

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> StochasticValue:
        """Multiples by positive numbers; the rest is left to others."""
        own = [operand for operand in operands if isinstance(operand, Weibull)]
        numbers = [operand.mean for operand in operands if operand.support[0] == operand.support[1] > 0.0]
        if operation == "multiply" and len(own) == 1 and len(numbers) == len(operands) - 1 and own[0].spread > 0.0:
            notes = tuple(dict.fromkeys(note for operand in operands for note in operand.notes))
            return cls(own[0].scale * math.prod(numbers), own[0].spread, notes=notes)
        return super().operate(operation, operands, options)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """1 - exp(-(x/scale)**(1/spread))."""
        places = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        if self.spread == 0.0:
            return np.where(places >= self.scale, 1.0, 0.0)
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-((places / self.scale) ** (1.0 / self.spread))))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The inverse of `cdf`; NaN where ``q`` is not from 0 to 1."""
        levels = np.asarray(q, dtype=np.float64)
        inside = (levels >= 0.0) & (levels <= 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            hazards = np.where(inside, -np.log1p(-levels), np.nan) + 0.0
            return np.asarray(np.where(inside, self.scale * hazards**self.spread, np.nan))
