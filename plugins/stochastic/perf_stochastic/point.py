"""One number, as the degenerate stochastic value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.hooks.options import NoOptions
from perfcore.stochastic import StochasticValue, checked_samples


@dataclass(frozen=True, repr=False, eq=False)
class Point(StochasticValue):
    """A number that is known.

    Parameters
    ----------
    value : float, finite

    Examples
    --------
    >>> Point(3.0) + 4
    Point(7)
    """

    name: ClassVar[str] = "point"
    generality: ClassVar[int] = 0
    Arithmetic: ClassVar[type] = NoOptions

    value: float

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "value", float(self.value))
        except (TypeError, ValueError):
            raise DataError(f"point: {self.value!r} is not a number") from None
        if not math.isfinite(self.value):
            raise DataError(f"point: {self.value} is not finite")

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        values = checked_samples(samples)
        lost = ("the spread of the samples is not kept",) if values.min() < values.max() else ()
        return cls(float(values.mean()), notes=lost)

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        if isinstance(value, Point):
            return cls(value.value, notes=value.notes), ""
        lower, upper = value.support
        if lower == upper:
            return cls(lower), ""
        if math.isnan(value.mean):
            return cls(0.5 * lower + 0.5 * upper), f"only the middle of {lower:.6g} to {upper:.6g} is kept"
        return cls(value.mean), f"the spread is not kept, standard deviation {value.std:.6g}"

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> Self:
        points, notes = cls.converted(operands)
        try:
            return cls(_OPERATIONS[operation](*(point.value for point in points)), notes=notes)
        except ZeroDivisionError:
            raise DataError(f"{operation}: the divisor is 0; give one that is not") from None
        except (ValueError, TypeError, OverflowError, DataError):
            operand_text = ", ".join(f"{point.value:.6g}" for point in points)
            raise DataError(f"{operation} of {operand_text} is no finite real number") from None

    @property
    def mean(self) -> float:
        return self.value

    @property
    def std(self) -> float:
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        return self.value, self.value

    def cdf(self, x: npt.ArrayLike) -> Floats:
        return np.where(np.asarray(x, dtype=np.float64) >= self.value, 1.0, 0.0)

    def pdf(self, x: npt.ArrayLike) -> Floats:
        return np.zeros(np.shape(x))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        levels = np.asarray(q, dtype=np.float64)
        return np.where((levels >= 0.0) & (levels <= 1.0), self.value, np.nan)

    def __repr__(self) -> str:
        return f"Point({self.value:.6g})"


_OPERATIONS: Mapping[str, Callable[..., float]] = {
    "add": lambda *values: math.fsum(values),
    "subtract": lambda x, y: x - y,
    "multiply": lambda *values: math.prod(values),
    "divide": lambda x, y: x / y,
    # A negative base with a broken exponent is a complex number, which float() refuses.
    "power": lambda x, y: float(x**y),
    "maximum": lambda *values: max(values),
    "minimum": lambda *values: min(values),
    "negative": lambda x: -x,
    "absolute": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
}
