"""Intervals, bounds and nothing about what lies between, and points, one number each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.families import Family
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.hooks.options import NoOptions
from perfcore.stochastic import StochasticValue, checked_samples

# Interval arithmetic on pairs of floats, rounded outward (A. Neumaier, "Interval Methods for Systems of Equations",
# 1990, section 1.1): rational arithmetic shows on which side of the exact result a float lies, and only one on the
# wrong side moves. ``exp``, ``log`` and other powers of the C library are accurate to one or two units, and move by
# four.

Bounds = tuple[float, float]

_LIBRARY_STEPS = 4
_LARGEST_RATIONAL_POWER = 16  # of 53-bit numbers: beyond, rational arithmetic takes longer than it is worth
_REACH = 3.0  # standard deviations of what has no bounds itself; a normal has 0.27% beyond


def _outward(*values: Fraction) -> Bounds:
    """The narrowest pair of floats around rational values."""
    lower, upper = min(values), max(values)
    low, high = float(lower), float(upper)  # to the nearest; OverflowError where there is none
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return low, high


def _loosened(low: float, high: float) -> Bounds:
    """Bounds that a library function gave, moved by more than its error."""
    for _ in range(_LIBRARY_STEPS):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return low, high


def _rational(x: Bounds) -> tuple[Fraction, Fraction]:
    return Fraction(x[0]), Fraction(x[1])


def _shown(x: Bounds) -> str:
    return f"[{x[0]:.6g}, {x[1]:.6g}]"


def _add(*operands: Bounds) -> Bounds:
    lower, upper = zip(*(_rational(x) for x in operands), strict=True)
    return _outward(sum(lower, Fraction()), sum(upper, Fraction()))


def _multiply(*operands: Bounds) -> Bounds:
    product = operands[0]
    for x in operands[1:]:
        product = _outward(*(a * b for a, b in itertools.product(_rational(product), _rational(x))))
    return product


def _divide(x: Bounds, y: Bounds) -> Bounds:
    if y[0] <= 0.0 <= y[1]:
        raise DataError(f"divide: the divisor {_shown(y)} contains 0; the quotient has no bounds; give one without 0")
    return _outward(*(a / b for a, b in itertools.product(_rational(x), _rational(y))))


def _power(x: Bounds, y: Bounds) -> Bounds:
    if y[0] == y[1] and y[0].is_integer():
        return _whole_power(x, int(y[0]))
    if x[0] < 0.0:
        raise DataError(f"power: the base {_shown(x)} can be negative, and the exponent {_shown(y)} is no whole number")
    if x[0] == 0.0 and y[0] <= 0.0:
        raise DataError(f"power: the base {_shown(x)} can be 0 while the exponent {_shown(y)} is not above 0")
    # Monotone in each argument, so the extremes are at the corners.
    corners = [a**b for a, b in itertools.product(x, y)]
    low, high = _loosened(min(corners), max(corners))
    return max(low, 0.0), high


def _whole_power(x: Bounds, exponent: int) -> Bounds:
    if exponent < 0:
        return _divide((1.0, 1.0), _whole_power(x, -exponent))
    if exponent > _LARGEST_RATIONAL_POWER:
        ends = [x[0] ** exponent, x[1] ** exponent]
        low, high = _loosened(min(ends), max(ends))
        low = max(low, 0.0) if exponent % 2 == 0 or x[0] >= 0.0 else low
    else:
        low, high = _outward(*(end**exponent for end in _rational(x)))
    return (0.0, high) if exponent % 2 == 0 and x[0] <= 0.0 <= x[1] and exponent else (low, high)


def _absolute(x: Bounds) -> Bounds:
    ends = sorted(map(abs, x))
    return (0.0, ends[1]) if x[0] <= 0.0 <= x[1] else (ends[0], ends[1])


def _exp(x: Bounds) -> Bounds:
    low, high = _loosened(math.exp(x[0]), math.exp(x[1]))
    return max(low, 0.0), high


def _log(x: Bounds) -> Bounds:
    if x[0] <= 0.0:
        raise DataError(f"log of {_shown(x)}: only values above 0 have a logarithm; raise the lower bound")
    return _loosened(math.log(x[0]), math.log(x[1]))


def _sqrt(x: Bounds) -> Bounds:
    if x[0] < 0.0:
        raise DataError(f"sqrt of {_shown(x)}: negative values have no root; raise the lower bound to 0 or more")
    low, high = math.sqrt(x[0]), math.sqrt(x[1])
    if Fraction(low) ** 2 > Fraction(x[0]):
        low = math.nextafter(low, 0.0)
    if Fraction(high) ** 2 < Fraction(x[1]):
        high = math.nextafter(high, math.inf)
    return low, high


OPERATIONS: Mapping[str, Callable[..., Bounds]] = {
    "add": _add,
    "subtract": lambda x, y: _add(x, (-y[1], -y[0])),
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "maximum": lambda *operands: (max(x[0] for x in operands), max(x[1] for x in operands)),
    "minimum": lambda *operands: (min(x[0] for x in operands), min(x[1] for x in operands)),
    "negative": lambda x: (-x[1], -x[0]),
    "absolute": _absolute,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
}


@dataclass(frozen=True, repr=False, eq=False)
class Interval(StochasticValue):
    """A quantity between two finite bounds, ``lower`` and ``upper``; how it is distributed there is not known.

    Choose it for guarantees, and if there are too few samples for more. Its mean, standard deviation, density and
    quantiles but the bounds are NaN. A histogram of one bin says that all values between are equally likely.

    Examples
    --------
    >>> Interval(3, 5) / Interval(2, 4)
    Interval[0.75, 2.5]
    """

    name: ClassVar[str] = "interval"
    has_distribution: ClassVar[bool] = False
    mean: ClassVar[float] = math.nan
    std: ClassVar[float] = math.nan
    generality: ClassVar[int] = 30
    Options: ClassVar[type] = NoOptions
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
        """Return the interval from the least to the largest sample."""
        values = checked_samples(samples)
        return cls(float(values.min()), float(values.max()))

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

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """0 below the interval, 1 from its upper bound on, NaN between."""
        places = np.asarray(x, dtype=np.float64)
        return np.where(places < self.lower, 0.0, np.where(places >= self.upper, 1.0, np.nan))

    def pdf(self, x: npt.ArrayLike) -> Floats:
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


@dataclass(frozen=True, repr=False, eq=False)
class Point(Family):
    """A finite number that is known.

    Examples
    --------
    >>> Point(3.0) + 4
    Point(7)
    """

    name: ClassVar[str] = "point"
    std: ClassVar[float] = 0.0
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
            return cls(_OF_POINTS[operation](*(point.value for point in points)), notes=notes)
        except ZeroDivisionError:
            raise DataError(f"{operation}: the divisor is 0; give one that is not") from None
        except (ValueError, TypeError, OverflowError, DataError):
            operand_text = ", ".join(f"{point.value:.6g}" for point in points)
            raise DataError(f"{operation} of {operand_text} is no finite real number") from None

    @property
    def mean(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"Point({self.value:.6g})"


_OF_POINTS: Mapping[str, Callable[..., float]] = {
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
