r"""Distributions that can be evaluated anywhere; those of two independent piecewise uniform values, and their sum.

For each value y of the second operand the result is up to z where the first is up to some g(z, y). So the result's
distribution function is F(z) = E[F_X(g(z, Y))], an integral over the pieces of Y in which F_X has an antiderivative in
closed form. Summed up by parts it is a sum over the knots y_k of Y, at which its density rises by d_k:

    sum       F(z) = sum_k d_k A(z - y_k)              A(t) = E[(t - X)+], the integral of F_X
    product   F(z) = - sum_k d_k y_k C(z/y_k)          C(t) = E[min(1, t/X)]            (X, Y > 0)
    quotient  F(z) = - sum_k d_k y_k A(z y_k)/(z y_k)                                   (X, Y > 0)

The integral of F, from which come the means of bins, follows from one more antiderivative. Single values of Y
that have a probability of their own enter with F_X itself.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats

# Where a closed form divides differences by widths, a piece narrower than this share of what it is combined with counts
# as a single value: at the square root of the machine's precision, rounding costs as much as moving it.
NARROW = 2.0**-26
_NARROWEST = 1.0 / sys.float_info.max  # below it a density is no number
_GUIDE = 2048  # levels at which a quantile's search may begin
# Pairs of a knot and a place that are evaluated at a time: their arrays fit into the processor's cache.
_BLOCK = 8192
_COARSE_PIECES = 16
_COARSE_PLACES = 8
_NONE = (np.empty(0), np.empty(0))
Law: TypeAlias = "PiecewiseUniform | LawOfTwo | ComputedLaw"  # a distribution that can be evaluated anywhere
_PLACES_IN_PIECE = 4
_ENOUGH_NODES = 8
_STEEP = 4.0
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class PiecewiseUniform:
    """Pieces with probabilities, each spread evenly or, without width, on one value.

    F is linear on each piece, its integral quadratic, and the integral of that cubic, from the knot to the left.
    """

    knots: Floats
    masses: Floats  # their sum is 1
    narrow: float | Floats = 0.0  # pieces up to this width are taken as single values at their upper knots
    is_smooth: bool = False  # it stands for a smooth one, as that of samples does

    @cached_property
    def widths(self) -> Floats:
        return np.asarray(self.knots[1:] - self.knots[:-1])

    @property
    def range(self) -> float:
        return float(self.knots[-1] - self.knots[0])

    @cached_property
    def is_spread(self) -> npt.NDArray[np.bool_]:
        """Whether a piece is wide enough to have a density (n,)."""
        wide: npt.NDArray[np.bool_] = self.widths > np.maximum(self.narrow, _NARROWEST)
        return wide

    @cached_property
    def densities(self) -> Floats:
        """Density on each piece (n,); 0 for single values."""
        return np.divide(self.masses, self.widths, out=np.zeros(len(self.masses)), where=self.is_spread)

    @cached_property
    def jumps(self) -> Floats:
        """By how much the density rises at each knot (n + 1,)."""
        rises = np.zeros(len(self.knots))
        rises[:-1] = self.densities
        rises[1:] -= self.densities
        return rises

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Single values and their probabilities (k,), (k,)."""
        is_atom = ~self.is_spread & (self.masses > 0.0)
        places, masses = self.knots[1:][is_atom], self.masses[is_atom]
        if (places[1:] == places[:-1]).any():
            places, first = np.unique(places, return_index=True)
            masses = np.add.reduceat(masses, first)
        return places, masses

    @cached_property
    def levels(self) -> Floats:
        """F at the knots, the jump at a knot included in the last of equal knots (n + 1,)."""
        cumulative = np.zeros(len(self.knots))
        np.cumsum(self.masses, out=cumulative[1:])
        return np.minimum(cumulative, 1.0, out=cumulative)

    @cached_property
    def table(self) -> Floats:
        """For each place in the order of the knots, ``searchsorted(knots, place, side="right")``, four rows."""
        rows = np.zeros((4, len(self.knots) + 1))
        rows[0, 0], rows[0, 1:] = self.knots[0], self.knots
        rows[1, 1:-1], rows[1, -1] = self.levels[:-1], 1.0
        rows[2, 1:-1] = self.densities
        rises = self.widths * (rows[1, 1:-1] + 0.5 * self.widths * self.densities)
        np.cumsum(rises, out=rows[3, 2:])
        return rows

    @cached_property
    def second(self) -> Floats:
        """The integral of the integral of F, in the order of `table` (n + 2,)."""
        _, starts, slopes, integrals = self.table[:, 1:-1]
        w = self.widths
        second_integral = np.zeros(len(self.knots) + 1)
        np.cumsum(w * (integrals + w * (0.5 * starts + w * slopes / 6.0)), out=second_integral[2:])
        return second_integral

    @property
    def support(self) -> tuple[float, float]:
        return float(self.knots[0]), float(self.knots[-1])

    @cached_property
    def mean(self) -> float:
        return float(self.masses @ (self.knots[:-1] + 0.5 * self.widths))

    def place(self, x: Floats) -> npt.NDArray[np.intp]:
        """The columns of `table` for places (...)."""
        return self.knots.searchsorted(x, side="right")

    def cdf(self, x: Floats) -> Floats:
        """F at ``x`` (...)."""
        base, start, slope = self.table[:3, self.place(x)]
        return np.asarray(start + slope * (x - base))

    def cdf_and_integral(self, x: Floats) -> tuple[Floats, Floats]:
        """F and its integral up to ``x`` (...)."""
        base, start, slope, integral = self.table[:, self.place(x)]
        ahead = x - base
        rise = slope * ahead
        return start + rise, integral + ahead * (start + 0.5 * rise)

    def integrals(self, x: Floats) -> tuple[Floats, Floats]:
        """The integral of F up to ``x``, and the integral of that (...)."""
        index = self.place(x)
        base, start, slope, integral = (row.take(index) for row in self.table)
        second = self.second.take(index)
        # In place: new arrays would cost more than the arithmetic.
        np.subtract(x, base, out=base)
        slope *= base
        second += base * (integral + base * (0.5 * start + slope / 6.0))
        slope *= 0.5
        slope += start
        slope *= base
        integral += slope
        return integral, second

    def quantile(self, q: Floats) -> Floats:
        """Smallest x with F(x) >= ``q`` (...); NaN where ``q`` is not from 0 to 1."""
        inside = (q >= 0.0) & (q <= 1.0)
        level = np.minimum(np.where(inside, q, 0.0), self.levels[-1]).ravel()
        piece = self._guide.take((level * _GUIDE).astype(np.intp))
        upper = self.levels[1:]
        while (behind := upper.take(piece) < level).any():
            piece += behind
        ahead = level - self.levels.take(piece)
        ahead *= self._slopes.take(piece)
        np.clip(ahead, 0.0, self.widths.take(piece), out=ahead)
        ahead += self.knots.take(piece)
        return np.where(inside, ahead.reshape(np.shape(q)), np.nan)

    @cached_property
    def _guide(self) -> npt.NDArray[np.intp]:
        """The piece on which F comes to each of evenly spaced levels (_GUIDE + 1,)."""
        pieces = self.levels.searchsorted(np.arange(_GUIDE + 1) / _GUIDE, side="left") - 1
        return np.clip(pieces, 0, len(self.masses) - 1)

    @cached_property
    def _slopes(self) -> Floats:
        """By how much a piece's values rise with F (n,); 0 where it has no probability."""
        return np.divide(self.widths, self.masses, out=np.zeros(len(self.masses)), where=self.masses > 0.0)

    def negated(self) -> Self:
        return type(self)(-self.knots[::-1], self.masses[::-1])

    def mapped(self, slope: float, constant: float) -> Self:
        """Distribution of ``slope X + constant``."""
        if slope < 0.0:
            return self.negated().mapped(-slope, constant)
        return type(self)(slope * self.knots + constant, self.masses)

    def places(self) -> Floats:
        return self.knots

    def coarse(self, pieces: int = sys.maxsize) -> Self:
        """Roughly the same distribution, in at most so many pieces."""
        if len(self.masses) <= pieces:
            return self
        kept = np.arange(pieces + 1) * len(self.masses) // pieces
        levels = self.levels[kept]
        return type(self)(self.knots[kept], levels[1:] - levels[:-1])

    def split(self) -> tuple[tuple[float, Self | None], float, tuple[float, Self | None]]:
        """Probability and distribution of ``-X`` where X < 0, probability of 0, and both of X where X > 0."""
        above = self._above()
        below = self.negated()._above()
        zero = 1.0 - above[0] - below[0]
        return below, max(zero, 0.0) if zero > 1e-15 else 0.0, above

    def _above(self) -> tuple[float, Self | None]:
        if self.knots[0] > 0.0:
            return 1.0, self
        level = float(self.cdf(np.zeros(1))[0])
        if self.knots[-1] <= 0.0 or level >= 1.0:
            return 0.0, None
        first = int(self.knots.searchsorted(0.0, side="right"))
        knots = np.concatenate([[0.0], self.knots[first:]])
        masses = np.diff(np.concatenate([[level], self.levels[first:]]))
        return 1.0 - level, type(self)(knots, masses / masses.sum())


def _by_place(places: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """Each place once, with the sum of its probabilities."""
    distinct, inverse = np.unique(places, return_inverse=True)
    sums = np.zeros(len(distinct))
    np.add.at(sums, inverse, masses)
    return distinct, sums


@dataclass(frozen=True, eq=False)
class LawOfTwo:
    """What the laws of two operands share."""

    x: PiecewiseUniform
    y: PiecewiseUniform
    combine: ClassVar[np.ufunc]  # the operation itself
    is_smooth: ClassVar[bool] = True  # jumps are smeared by the other operand, but for what its single values copy

    @property
    def support(self) -> tuple[float, float]:
        low, high = (float(self.combine(x, y)) for x, y in zip(self.x.support, self.y.support, strict=True))
        return low, high

    @property
    def mean(self) -> float:
        return float(self.combine(self.x.mean, self.y.mean))

    def set_operands(self, x: PiecewiseUniform, y: PiecewiseUniform) -> None:
        """Replace the operands, which a frozen law does where it is made."""
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        """What knots of Y (k, 1) at which its density rises by ``jumps`` (k,) add to F and its integral, (n,) each."""
        raise NotImplementedError

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """What single values of Y (k, 1) with their probabilities (k,) add, likewise."""
        raise NotImplementedError

    def cdf_and_integral(self, z: Floats) -> tuple[Floats, Floats]:
        """F at ``z`` (n,) within the support, in order, and its integral up to there."""
        knots, jumps = self.y.knots[:, None], self.y.jumps
        cdf, integral = np.zeros(len(z)), np.zeros(len(z))
        rows = max(1, _BLOCK // len(z))
        for first in range(0, len(knots), rows):
            part = self.of_knots(z, knots[first : first + rows], jumps[first : first + rows])
            cdf += part[0]
            integral += part[1]
        atoms, masses = self.y.atoms
        if len(atoms):
            part = self.of_atoms(z, atoms[:, None], masses)
            cdf += part[0]
            integral += part[1]
        return cdf, integral

    def coarse(self) -> Self:
        return type(self)(self.x.coarse(_COARSE_PIECES), self.y.coarse(_COARSE_PIECES))

    def places(self) -> Floats:
        """Results of some pairs of knots."""
        x, y = self.x.coarse(_COARSE_PLACES).knots, self.y.coarse(_COARSE_PLACES).knots
        return np.asarray(self.combine(x[:, None], y)).ravel()

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Results of pairs of single values."""
        (at_x, of_x), (at_y, of_y) = self.x.atoms, self.y.atoms
        if not (len(at_x) and len(at_y)):
            return _NONE
        return _by_place(self.combine(at_x[:, None], at_y).ravel(), np.outer(of_x, of_y).ravel())


class SumLaw(LawOfTwo):
    """X + Y, of any sign; X - Y is the sum with the negated Y."""

    combine = np.add

    def __post_init__(self) -> None:
        # The narrower one first: more places lie outside of it, where less is to do.
        x, y = sorted((self.x, self.y), key=lambda operand: operand.range)
        # The integrals of F_X are rounded in proportion to the range.
        self.set_operands(x, replace(y, narrow=NARROW * y.range))

    def of_knots(self, z: Floats, knots: Floats, jumps: Floats) -> tuple[Floats, Floats]:
        first, second = self.x.integrals(z - knots)
        return jumps @ first, jumps @ second

    def of_atoms(self, z: Floats, atoms: Floats, masses: Floats) -> tuple[Floats, Floats]:
        cdf, integral = self.x.cdf_and_integral(z - atoms)
        return masses @ cdf, masses @ integral


@dataclass(frozen=True, eq=False)
class ComputedLaw:
    """A law by what computes it."""

    support: tuple[float, float]  # smallest and largest value
    mean: float
    atoms: tuple[Floats, Floats]  # single values with a probability of their own, and those; (k,), (k,)
    # The distribution function at places (n,), in order and within the support, and its integral up to there.
    cdf_and_integral: Callable[[Floats], tuple[Floats, Floats]]
    places: Callable[[], Floats]  # some places (k,) about where it bends, in any order, within the support
    is_smooth: bool = False  # whether the density is continuous but for single values; if not, it jumps at `places`
    rougher: Callable[[], Law] | None = None  # roughly the same, if it is not quick to evaluate anyway

    def coarse(self) -> Law:
        return self if self.rougher is None else self.rougher()


def negated(law: Law) -> ComputedLaw:
    """The law of -Z."""
    (low, high), (places, masses) = law.support, law.atoms

    def cdf_and_integral(z: Floats) -> tuple[Floats, Floats]:
        cdf, integral = law.cdf_and_integral(-z[::-1])
        cdf, integral = cdf[::-1], integral[::-1]
        below = cdf.copy()
        for place, mass in zip(places, masses, strict=True):
            below[-z == place] -= mass
        # E[(z + Z)+] = z + E[Z] + E[(-z - Z)+]
        return 1.0 - below, z + law.mean + integral

    support, atoms = (-high, -low), (-places, masses)
    parts = (lambda: -law.places(), law.is_smooth, lambda: negated(law.coarse()))
    return ComputedLaw(support, -law.mean, atoms, cdf_and_integral, *parts)


def mixture(parts: Sequence[tuple[float, Law]]) -> ComputedLaw:
    """One of several laws, each with its probability; smooth if one of them is, which does not know where it bends."""
    ends = [law.support for _, law in parts]
    part_atoms = [law.atoms for _, law in parts]
    weighted = [weight * masses for (weight, _), (_, masses) in zip(parts, part_atoms, strict=True)]
    atoms = _by_place(np.concatenate([places for places, _ in part_atoms]), np.concatenate(weighted))

    def cdf_and_integral(z: Floats) -> tuple[Floats, Floats]:
        cdf, integral = np.zeros(len(z)), np.zeros(len(z))
        for weight, law in parts:
            low, high = law.support
            inner = (z >= low) & (z <= high)
            above = z > high
            cdf[above] += weight
            integral[above] += weight * (z[above] - law.mean)
            if inner.any():
                part = law.cdf_and_integral(z[inner])
                cdf[inner] += weight * part[0]
                integral[inner] += weight * part[1]
        return cdf, integral

    return ComputedLaw(
        (min(low for low, _ in ends), max(high for _, high in ends)),
        sum(weight * law.mean for weight, law in parts), atoms, cdf_and_integral,
        lambda: np.concatenate([law.places() for _, law in parts]), any(law.is_smooth for _, law in parts),
        lambda: mixture([(weight, law.coarse()) for weight, law in parts]),
    )  # fmt: skip


@dataclass(frozen=True)
class Monotone:
    """A function that rises throughout."""

    at: Callable[[Floats], Floats]  # its values at places (n,)
    inverse: Callable[[Floats], Floats]  # the place of each value (n,)
    average: Callable[[Floats, Floats], Floats]

    def averages(self, low: Floats, high: Floats) -> Floats:
        """Averages, also over stretches of no width (n,)."""
        means = self.at(low)
        wide = high > low
        means[wide] = self.average(low[wide], high[wide])
        return means


def image(function: Monotone, x: PiecewiseUniform) -> ComputedLaw:
    """g(X) for a rising g: F_X at the inverse, and by parts the integral ``z F(z) - E[g(X); g(X) <= z]``."""
    knots = function.at(x.knots)
    averages = np.where(x.is_spread, function.averages(x.knots[:-1], x.knots[1:]), knots[1:])
    up_to = np.zeros(len(x.knots) + 1)
    np.cumsum(x.masses * averages, out=up_to[2:])

    def cdf_and_integral(z: Floats) -> tuple[Floats, Floats]:
        index = knots.searchsorted(z, side="right")
        base, start, slope = (row.take(index) for row in x.table[:3])
        # Not beyond the piece by rounding.
        place = np.clip(function.inverse(z), base, x.knots.take(np.minimum(index, len(x.masses))))
        rise = slope * (place - base)
        cdf = start + rise
        return cdf, z * cdf - up_to.take(index) - rise * function.averages(base, place)

    def places() -> Floats:
        shares = np.arange(_PLACES_IN_PIECE) / _PLACES_IN_PIECE
        inner = (x.knots[:-1, None] + x.widths[:, None] * shares).ravel()
        return function.at(np.append(inner, x.knots[-1]))

    atoms, masses = x.atoms
    support = float(knots[0]), float(knots[-1])
    return ComputedLaw(support, float(x.masses @ averages), (function.at(atoms), masses), cdf_and_integral, places)


def _log_average(low: Floats, high: Floats) -> Floats:
    width = high - low
    return np.asarray(np.log(low) + (high / width * np.log1p(width / low) - 1.0))


def _sqrt_average(low: Floats, high: Floats) -> Floats:
    a, b = np.sqrt(low), np.sqrt(high)
    return np.asarray(2.0 / 3.0 * (a * a + a * b + b * b) / (a + b))


EXP = Monotone(
    np.exp, lambda z: np.log(np.maximum(z, np.finfo(np.float64).tiny)),
    lambda low, high: np.asarray(np.exp(low) * np.expm1(high - low) / (high - low)),
)  # fmt: skip
LOG = Monotone(np.log, np.exp, _log_average)
SQRT = Monotone(np.sqrt, np.square, _sqrt_average)


def power(exponent: float) -> Monotone:
    """``x**exponent`` for x >= 0; where the exponent is negative, ``-x**exponent`` for x > 0, which rises too."""
    sign = -1.0 if exponent < 0.0 else 1.0

    def average(low: Floats, high: Floats) -> Floats:
        # From the upper end, so that the lower one may be 0: the integral of (high s)^e over s from low/high to 1.
        with np.errstate(divide="ignore"):
            logarithm = np.log(low / high)
        rise = -logarithm if exponent == -1.0 else -np.expm1((exponent + 1.0) * logarithm) / (exponent + 1.0)
        return np.asarray(sign * high**exponent * rise / (1.0 - low / high))

    return Monotone(lambda x: sign * x**exponent, lambda z: (sign * z) ** (1.0 / exponent), average)


# On each stretch all n distribution functions are lines, and their product is a polynomial of degree n: Gauss' rule is
# exact with n/2 + 1 nodes. Where the product grows by less than a factor of four, eight are as good: the
# growth of such a polynomial beyond the stretch bounds the error by 1e-12 of it.


def largest(of: Sequence[PiecewiseUniform]) -> ComputedLaw:
    """max(X_1, X_2, ...): its distribution function is the product of theirs."""
    low, high = max(x.support[0] for x in of), max(x.support[1] for x in of)
    knots = np.unique(np.concatenate([*(x.knots for x in of), [low]]))
    knots = knots[(knots >= low) & (knots <= high)]
    starts, slopes = _lines(of, knots)
    widths = knots[1:] - knots[:-1]
    rises = np.zeros(len(knots))
    rises[1:] = widths * _average(starts[:, :-1], slopes[:, :-1] * widths)
    integrals = np.cumsum(rises)  # up to each knot

    def cdf_and_integral(z: Floats) -> tuple[Floats, Floats]:
        last = knots.searchsorted(z, side="right") - 1
        starts, slopes = _lines(of, knots[last])
        ahead = z - knots[last]
        levels = (starts + slopes * ahead).prod(axis=0)
        return levels, integrals[last] + ahead * _average(starts, slopes * ahead)

    places = np.unique(np.concatenate([x.atoms[0] for x in of]))
    places = places[places >= low]
    at_or_below, below = np.ones(len(places)), np.ones(len(places))
    for x in of if len(places) else ():
        levels = x.cdf(places)
        at_or_below *= levels
        possible = x.atoms[0] >= low
        np.subtract.at(levels, places.searchsorted(x.atoms[0][possible]), x.atoms[1][possible])
        below *= levels
    atoms = places, np.maximum(at_or_below - below, 0.0)
    return ComputedLaw((low, high), high - float(integrals[-1]), atoms, cdf_and_integral, lambda: knots)


def _lines(of: Sequence[PiecewiseUniform], places: Floats) -> tuple[Floats, Floats]:
    """Distribution functions and their slopes from ``places`` (n,) on: (m, n) each."""
    starts, slopes = np.empty((2, len(of), len(places)))
    for row, x in enumerate(of):
        index = x.place(places)
        base, start, slope = x.table[:3]
        slope.take(index, out=slopes[row])
        np.multiply(slopes[row], places - base.take(index), out=starts[row])
        starts[row] += start.take(index)
    return starts, slopes


def _average(starts: Floats, rises: Floats) -> Floats:
    """Averages of products of lines over stretches, from their starts and rises (m, n): (n,)."""
    first, last = starts.prod(axis=0), (starts + rises).prod(axis=0)
    counts, steep = last > _NEGLIGIBLE, last > _STEEP * first
    exact_nodes = len(starts) // 2 + 1
    averages = np.zeros(starts.shape[1])
    for chosen, nodes in ((counts & ~steep, min(_ENOUGH_NODES, exact_nodes)), (counts & steep, exact_nodes)):
        index = np.flatnonzero(chosen)
        lines, slopes = starts.take(index, axis=1), rises.take(index, axis=1)
        for node, weight in _gauss(nodes) if len(index) else ():
            averages[index] += weight * (lines + node * slopes).prod(axis=0)
    return averages


@functools.cache
def _gauss(count: int) -> list[tuple[float, float]]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return list(zip((0.5 * (nodes + 1.0)).tolist(), (0.5 * weights).tolist(), strict=True))
