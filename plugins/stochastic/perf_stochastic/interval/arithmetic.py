"""Interval arithmetic on pairs of floats, rounded outward: the exact result never lies outside.

Source: A. Neumaier, "Interval Methods for Systems of Equations", Cambridge University Press, 1990, section 1.1. The
processor's rounding mode is left alone: rational arithmetic tells on which side of the exact result a float lies, and
only a float on the wrong side moves to its neighbour. So ``+ - * /``, roots and small powers are as narrow as floats
can be, and exact where the result is a float. ``exp``, ``log`` and other powers come from the C library, which is
accurate to one or two units in the last place, and move by four.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from perfcore.base.errors import DataError


Bounds = tuple[float, float]

_LIBRARY_STEPS = 4
_LARGEST_RATIONAL_POWER = 16  # of 53-bit numbers: beyond, rational arithmetic takes longer than it is worth


def _outward(lower: Fraction, upper: Fraction) -> Bounds:
    """The narrowest pair of floats around rational bounds."""
    low, high = float(lower), float(upper)  # to the nearest; OverflowError where there is none
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return low, high


def _hull(values: list[Fraction]) -> Bounds:
    return _outward(min(values), max(values))


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


def _subtract(x: Bounds, y: Bounds) -> Bounds:
    return _add(x, (-y[1], -y[0]))


def _multiply(*operands: Bounds) -> Bounds:
    product = operands[0]
    for x in operands[1:]:
        product = _hull([a * b for a, b in itertools.product(_rational(product), _rational(x))])
    return product


def _divide(x: Bounds, y: Bounds) -> Bounds:
    if y[0] <= 0.0 <= y[1]:
        raise DataError(f"divide: the divisor {_shown(y)} contains 0; the quotient has no bounds; give one without 0")
    return _hull([a / b for a, b in itertools.product(_rational(x), _rational(y))])


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
        low, high = _hull([end**exponent for end in _rational(x)])
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
    "subtract": _subtract,
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
