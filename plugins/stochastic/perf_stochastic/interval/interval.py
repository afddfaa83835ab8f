"""Bounds, and nothing about what lies between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.interval.arithmetic import OPERATIONS
from perf_stochastic.options import IntervalOptions
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import NoOptions
from perfcore.stochastic import StochasticValue, checked_samples


Floats = npt.NDArray[np.float64]

_REACH = 3.0  # standard deviations of what has no bounds itself; a normal has 0.27% beyond


@dataclass(frozen=True, repr=False, eq=False)
class Interval(StochasticValue):
    """A quantity that lies between two bounds; how it is distributed there is not known.

    Choose it for guarantees, and where there are too few samples for more. It has no mean, no standard deviation and no
    density: these are NaN, as are all quantiles but the bounds. A histogram of one bin is what says that all values
    between the bounds are equally likely.

    Parameters
    ----------
    lower, upper : float, finite, lower <= upper

    Examples
    --------
    >>> Interval(3, 5) / Interval(2, 4)
    Interval[0.75, 2.5]
    """

    name: ClassVar[str] = "interval"
    generality: ClassVar[int] = 30
    Options: ClassVar[type] = IntervalOptions
    Arithmetic: ClassVar[type] = NoOptions

    lower: float
    upper: float

    def __post_init__(self) -> None:
        try:
            lower, upper = float(self.lower), float(self.upper)
        except (TypeError, ValueError):
            raise DataError(f"interval: {self.lower!r} and {self.upper!r} must be numbers") from None
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise DataError(f"interval: bounds {lower} and {upper} must be finite")
        if lower > upper:
            raise DataError(f"interval: lower {lower:.6g} is above upper {upper:.6g}; exchange them")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Least and largest sample, or quantiles where ``trim`` is given (section 4.5 of the paper)."""
        values = checked_samples(samples)
        trim = 0.0 if options is None else options.trim
        if trim >= 0.5:
            raise OptionError(f"interval: --trim {trim:g}: must be below 0.5, or nothing is left")
        lower, upper = np.quantile(values, [trim, 1.0 - trim])
        return cls(float(lower), float(upper))

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """The support; mean and three standard deviations to each side of what has none."""
        if isinstance(value, Interval):
            return cls(value.lower, value.upper, notes=value.notes), ""
        lower, upper = value.support
        if lower == upper:
            return cls(lower, upper), ""
        if math.isfinite(lower) and math.isfinite(upper):
            return cls(lower, upper), "the distribution between the bounds is not kept"
        lower, upper = max(lower, value.mean - _REACH * value.std), min(upper, value.mean + _REACH * value.std)
        outside = 1.0 - float(value.cdf(upper) - value.cdf(lower))
        return cls(lower, upper), f"values beyond {lower:.6g} to {upper:.6g}, probability {outside:.2g}, and the shape"

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> Self:
        """Interval arithmetic with outward rounding; right whatever depends on whatever."""
        intervals, notes = cls.converted(operands)
        try:
            return cls(*OPERATIONS[operation](*(operand.support for operand in intervals)), notes=notes)
        except OverflowError:
            operand_text = ", ".join(map(repr, intervals))
            raise DataError(
                f"{operation} of {operand_text}: a bound is too large for a float; change the unit"
            ) from None

    @property
    def has_distribution(self) -> bool:
        """No: not even where both bounds are the same."""
        return False

    @property
    def mean(self) -> float:
        """NaN: an interval has none."""
        return math.nan

    @property
    def std(self) -> float:
        """NaN: an interval has none."""
        return math.nan

    @property
    def support(self) -> tuple[float, float]:
        """The bounds."""
        return self.lower, self.upper

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """0 below the interval, 1 from its upper bound on, NaN between."""
        places = np.asarray(x, dtype=np.float64)
        return np.where(places < self.lower, 0.0, np.where(places >= self.upper, 1.0, np.nan))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """0 outside, NaN inside."""
        places = np.asarray(x, dtype=np.float64)
        return np.where((places < self.lower) | (places > self.upper), 0.0, np.nan)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The bounds for 0 and 1, else NaN."""
        levels = np.asarray(q, dtype=np.float64)
        if self.lower == self.upper:
            return np.where((levels >= 0.0) & (levels <= 1.0), self.lower, np.nan)
        return np.where(levels == 0.0, self.lower, np.where(levels == 1.0, self.upper, np.nan))

    def __repr__(self) -> str:
        return f"Interval[{self.lower:.6g}, {self.upper:.6g}]"
