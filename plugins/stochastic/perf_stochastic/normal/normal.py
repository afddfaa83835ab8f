"""Mean and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_stochastic.normal.normality import doubts
from perf_stochastic.normal.operations import operate
from perf_stochastic.normal.score import crps_of_normals
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import option
from perfcore.stochastic import StochasticValue, checked_samples


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NormalArithmetic:
    """How operands depend on each other."""

    correlation: float = option(
        0.0, "of every two operands, -1 to 1: 0 for unrelated values, 1 for related ones", minimum=-1.0
    )


@dataclass(frozen=True, repr=False, eq=False)
class Normal(StochasticValue):
    """A normal distribution.

    Choose it where values scatter evenly about one middle; sums of many such are what it is best at. Operations other
    than sums give a distribution that is no normal: its mean and standard deviation are kept, and a note says by how
    much the normal is wrong where that matters.

    Parameters
    ----------
    mean : float, finite
    std : float, finite, >= 0
    cdf_error : float
        Where it stands for what an operation gave: how far its distribution function is off at most, by its own
        estimate.

    Examples
    --------
    >>> Normal(10, 2) - Normal(4, 1.5)
    Normal(6 ± 2.5)
    """

    name: ClassVar[str] = "normal"
    generality: ClassVar[int] = 10
    Arithmetic: ClassVar[type] = NormalArithmetic

    # Fields in place of the properties of the contract, which need a value in the class: the standard normal.
    mean: float = 0.0  # type: ignore[assignment]
    std: float = 1.0  # type: ignore[assignment]
    cdf_error: float = field(default=0.0, kw_only=True, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        try:
            mean, std = float(self.mean), float(self.std)
        except (TypeError, ValueError):
            raise DataError(f"normal: {self.mean!r} and {self.std!r} must be numbers") from None
        if not (math.isfinite(mean) and math.isfinite(std)):
            raise DataError(f"normal: mean {mean} and standard deviation {std} must be finite")
        if std < 0.0:
            raise DataError(f"normal: the standard deviation {std:.6g} is negative; give 0 or more, such as {-std:.6g}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Their mean and standard deviation (n - 1 in the denominator); a note where they do not look normal."""
        values = checked_samples(samples)
        std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return cls(float(values.mean()), std, notes=doubts(values))

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Mean and standard deviation; of bounds alone those of a uniform distribution."""
        if isinstance(value, Normal):
            return cls(value.mean, value.std, notes=value.notes, cdf_error=value.cdf_error), ""
        lower, upper = value.support
        if lower == upper:
            return cls(lower, 0.0), ""
        if math.isnan(value.mean):
            normal = cls(0.5 * lower + 0.5 * upper, (upper - lower) / math.sqrt(12.0))
            return (
                normal,
                f"assumed that all values are equally likely from {lower:.6g} to {upper:.6g}; then their shape",
            )
        normal = cls(value.mean, value.std)
        levels = np.linspace(0.001, 0.999, 999)
        error = float(np.abs(normal.cdf(value.quantile(levels)) - levels).max())
        return normal, f"the shape: probabilities differ by up to {error:.2g}"

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> Self:
        """Mean and standard deviation of the result."""
        correlation = 0.0 if options is None else options.correlation
        if correlation > 1.0:
            raise OptionError(f"normal: --correlation {correlation:g}: must be at most 1")
        normals, notes = cls.converted(operands)
        try:
            mean, std, error, operation_notes = operate(
                operation, [(normal.mean, normal.std) for normal in normals], correlation
            )
            error += math.fsum(normal.cdf_error for normal in normals)
            return cls(mean, std, notes=(*notes, *operation_notes), cdf_error=error)
        except (OverflowError, ZeroDivisionError, FloatingPointError):
            operand_text = ", ".join(map(repr, normals))
            raise DataError(f"{operation} of {operand_text} is not finite; change the unit") from None

    @property
    def support(self) -> tuple[float, float]:
        """Everything; the mean alone where the standard deviation is 0."""
        return (-math.inf, math.inf) if self.std else (self.mean, self.mean)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """The normal distribution function."""
        places = np.asarray(x, dtype=np.float64)
        if not self.std:
            return np.where(places >= self.mean, 1.0, 0.0)
        with np.errstate(over="ignore"):  # too far out for a float is far enough
            return np.asarray(ndtr((places - self.mean) / self.std))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """The normal density; 0 where the standard deviation is 0."""
        places = np.asarray(x, dtype=np.float64)
        if not self.std:
            return np.zeros(places.shape)
        with np.errstate(over="ignore"):
            scores = (places - self.mean) / self.std
            return np.asarray(np.exp(-0.5 * scores**2) / (self.std * math.sqrt(2.0 * math.pi)))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The normal quantile function."""
        levels = np.asarray(q, dtype=np.float64)
        if not self.std:
            return np.where((levels >= 0.0) & (levels <= 1.0), self.mean, np.nan)
        return np.asarray(self.mean + self.std * ndtri(levels))

    def crps(self, actual: float) -> float:
        """In closed form, see `crps_of_normals`."""
        return float(crps_of_normals(self.mean, self.std, actual))

    def __repr__(self) -> str:
        return f"Normal({self.mean:.6g} ± {self.std:.6g})"
