"""Products and quotients of piecewise uniform values of any sign."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from perf_stochastic.laws import Law, LawOfTwo, SumLaw, mixture, negated
from perf_stochastic.piecewise_uniform import NARROW, PiecewiseUniform
from perfcore.base.arrays import Floats

# A place 0 is moved up by what does not matter, so that logarithms exist.
_TINY = 1e-150


class _OfPositive(LawOfTwo):
    """What product and quotient share."""

    def __post_init__(self) -> None:
        # Logarithms are rounded in proportion to the values themselves.
        for name, operand in (("x", self.x), ("y", self.y)):
            object.__setattr__(self, name, replace(operand, narrow=NARROW * operand.knots[1:]))


class ProductLaw(_OfPositive):
    """X Y of positive operands."""

    def __post_init__(self) -> None:
        # The one with the smaller ratio of its ends first: more places lie outside of it, where less is to do.
        if self.x.knots[-1] * self.y.knots[0] > self.y.knots[-1] * self.x.knots[0]:
            first, second = self.y, self.x
            object.__setattr__(self, "x", first)
            object.__setattr__(self, "y", second)
        super().__post_init__()

    def combine(self, x: Floats, y: Floats) -> Floats:
        """X Y."""
        return x * y

    @property
    def support(self) -> tuple[float, float]:
        """Products of the ends."""
        return self.x.support[0] * self.y.support[0], self.x.support[1] * self.y.support[1]

    @property
    def mean(self) -> float:
        """Product of the means."""
        return self.x.mean * self.y.mean

    @cached_property
    def _columns(self) -> tuple[Floats, ...]:
        """In the order of X's table its first rows; of the knots l and r around: r, E[X; X <= l], E[1/X; X > r]."""
        inverses = _inverses(self.x)
        return (
            *self.x.table[:3],
            np.append(self.x.knots, self.x.knots[-1]),
            np.concatenate([[0.0, 0.0], np.cumsum(_means(self.x))]),
            np.concatenate([np.cumsum(inverses[::-1])[::-1], [0.0, 0.0]]),
        )

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        """By C(t) = E[min(1, t/X)] and D(t) = t C(t) - E[X; X <= t]/2 - t^2 E[1/X; X > t]/2, the integral of t C(t)."""
        if knots[0] == 0.0:  # which adds nothing
            knots, jumps = knots[1:], jumps[1:]
        z = np.maximum(z, _TINY * self.support[1])
        t = z / knots
        index = self.x.place(t)
        left, start, slope, right, mean, inverse = (column.take(index) for column in self._columns)
        # In place: new arrays would cost more than the arithmetic.
        right -= t
        right /= t
        np.log1p(right, out=right)
        right *= slope
        inverse += right  # E[1/X; X > t]
        slope *= t - left
        start += slope  # F_X(t)
        left += t
        left *= slope
        left *= 0.5
        mean += left  # E[X; X <= t]
        weights = -jumps * knots[:, 0]
        starts, inverses = weights @ start, -z * (jumps @ inverse)
        return starts + inverses, z * (starts + 0.5 * inverses) - 0.5 * ((weights * knots[:, 0]) @ mean)

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """By F_X and its integral."""
        cdf, integral = self.x.cdf_and_integral(z / atoms)
        return masses @ cdf, (masses * atoms[:, 0]) @ integral


class QuotientLaw(_OfPositive):
    """X / Y of positive operands, the second bounded away from 0."""

    def combine(self, x: Floats, y: Floats) -> Floats:
        """X / Y."""
        return x / y

    @property
    def support(self) -> tuple[float, float]:
        """Quotients of opposite ends."""
        return self.x.support[0] / self.y.support[1], self.x.support[1] / self.y.support[0]

    @property
    def mean(self) -> float:
        """E[X] E[1/Y]."""
        return self.x.mean * float(_inverses(self.y).sum())

    @cached_property
    def _integral(self) -> Floats:
        """The integral of A(t)/t up to the knot to the left, in the order of X's table."""
        left, start, slope, integral = self.x.table[:, 1:-1]
        log, second, third = _over_s(self.x.widths, left)
        return np.concatenate([[0.0, 0.0], np.cumsum(integral * log + start * second + 0.5 * slope * third)])

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        """By A(t), the integral of F_X, and the integral of A(t)/t."""
        z = np.maximum(z, _TINY * self.support[1])
        t = z * knots
        index = self.x.place(t)
        base, start, slope, integral = (row.take(index) for row in self.x.table)
        ahead = t - base
        log, second, third = _over_s(ahead, base)
        total = self._integral.take(index) + integral * log + start * second + 0.5 * slope * third
        return -(jumps @ (integral + ahead * (start + 0.5 * slope * ahead))) / z, -(jumps @ total)

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """By F_X and its integral."""
        cdf, integral = self.x.cdf_and_integral(z * atoms)
        return masses @ cdf, (masses / atoms[:, 0]) @ integral


def _means(x: PiecewiseUniform) -> Floats:
    """What each piece adds to E[X] (n,)."""
    return x.masses * np.where(x.is_spread, x.knots[:-1] + 0.5 * x.widths, x.knots[1:])


def _inverses(x: PiecewiseUniform) -> Floats:
    """What each piece adds to E[1/X] (n,); infinite for one that begins at 0."""
    low, high, spread = x.knots[:-1], x.knots[1:], x.is_spread
    inverses = np.divide(x.masses, high, out=np.zeros(len(high)), where=x.masses > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverses[spread] = np.where(x.densities > 0.0, x.densities * np.log1p(x.widths / low), 0.0)[spread]
    return inverses


def _over_s(ahead: Floats, left: Floats) -> tuple[Floats, Floats, Floats]:
    """The integrals of 1, s - l and (s - l)^2, each over s, from l as far ahead as given; of 1 nothing from 0 on."""
    square = 0.5 * ahead * ahead
    share = np.divide(ahead, left, out=np.full(ahead.shape, np.inf), where=left > 0.0)
    log = np.where(left > 0.0, np.log1p(np.where(left > 0.0, share, 0.0)), 0.0)
    second = ahead - left * log
    third = square - left * second
    # Where little is left of the differences, a series, of which the tenth power is below rounding.
    small = np.abs(share) < _SMALL
    series = np.polynomial.polynomial.polyval(share[small], _SERIES)
    third[small] = 2.0 * square[small] * share[small] * series
    second[small] = (square[small] - third[small]) / left[small]
    log[small] = (ahead[small] - second[small]) / left[small]
    return log, second, third


_SMALL, _SERIES = 0.02, [(-1.0) ** (n + 1) / n for n in range(3, 11)]
_AS_GOOD_AS_0 = 1e-100  # of the largest value
# Where both operands vary by less than this share of their values, products and quotients are linear to as much, and
# the closed forms, which are rounded in proportion to the values, would lose what little they vary.
_CONCENTRATED = 1e-5


def product(x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    """X Y of any signs, from products of what is positive."""
    if _is_concentrated(x) and _is_concentrated(y):
        return _linear(x, y, y.mean, x.mean)
    return _by_signs(ProductLaw, _snapped(x), _snapped(y))


def quotient(x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    """X / Y where all of Y has one sign."""
    if _is_concentrated(x) and _is_concentrated(y):
        return _linear(x, y, 1.0 / y.mean, -x.mean / y.mean**2)
    return _by_signs(QuotientLaw, _snapped(x), y)


def _is_concentrated(x: PiecewiseUniform) -> bool:
    return bool(x.range < _CONCENTRATED * np.abs(x.knots).min())


def _linear(x: PiecewiseUniform, y: PiecewiseUniform, slope_x: float, slope_y: float) -> Law:
    """A function of X and Y about their means, of which the value is that of ``slope_x X`` at the mean of X."""
    return SumLaw(x.mapped(slope_x, 0.0), y.mapped(slope_y, -slope_y * y.mean))


def _snapped(x: PiecewiseUniform) -> PiecewiseUniform:
    """With knots that are as good as 0 moved there, so that no ratio of two values is beyond all floats."""
    sizes = np.abs(x.knots)
    tiny = (sizes < _AS_GOOD_AS_0 * sizes.max()) & (sizes > 0.0)
    return PiecewiseUniform(np.where(tiny, 0.0, x.knots), x.masses) if tiny.any() else x


def _by_signs(law: type[ProductLaw] | type[QuotientLaw], x: PiecewiseUniform, y: PiecewiseUniform) -> Law:
    if x.knots[0] >= 0.0 and y.knots[0] >= 0.0 and not (_zero(x) or _zero(y)):
        return law(x, y)
    (x_below, x_negative), x_zero, (x_above, x_positive) = x.split()
    (y_below, y_negative), y_zero, (y_above, y_positive) = y.split()
    parts: list[tuple[float, Law]] = []
    for p, a, x_sign in ((x_below, x_negative, -1), (x_above, x_positive, 1)):
        for q, b, y_sign in ((y_below, y_negative, -1), (y_above, y_positive, 1)):
            if a is not None and b is not None:
                both = law(a, b)
                parts.append((p * q, both if x_sign == y_sign else negated(both)))
    zero = x_zero + y_zero - x_zero * y_zero
    if zero > 0.0 or not parts:
        parts.append((zero if parts else 1.0, PiecewiseUniform(np.zeros(2), np.ones(1))))
    return mixture(parts)


def _zero(x: PiecewiseUniform) -> bool:
    """Whether 0 has a positive probability."""
    return bool((x.atoms[0] == 0.0).any())
