"""The operations on histograms by name, exact in the probabilities and means of the result's bins."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perf_stochastic import laws
from perf_stochastic.bins import Bins, rebin, single_value, spread
from perf_stochastic.laws import Law, LawOfTwo, Monotone, PiecewiseUniform, SumLaw
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError

# A place 0 is moved up by what does not matter, so that logarithms exist.
_TINY = 1e-150
_SMALL, _SERIES = 0.02, [(-1.0) ** (n + 1) / n for n in range(3, 11)]
_AS_GOOD_AS_0 = 1e-100  # of the largest value
# Where both operands vary by less than this share of their values, products and quotients are linear to as much, and
# the closed forms, which are rounded in proportion to the values, would lose what little they vary.
_CONCENTRATED = 1e-5
_MOST_AT_ONCE = 64  # values in one maximum: bounds its memory
_OF_PAIRS = {name: getattr(np, name) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")}


def _for_logarithms(x: PiecewiseUniform) -> PiecewiseUniform:
    """An operand of a product or quotient, whose logarithms are rounded in proportion to its values."""
    return replace(x, narrow=laws.NARROW * x.knots[1:])


class ProductLaw(LawOfTwo):
    """X Y of positive operands."""

    combine = np.multiply

    def __post_init__(self) -> None:
        # The one with the smaller ratio of its ends first: more places lie outside of it, where less is to do.
        x, y = self.x, self.y
        if x.knots[-1] * y.knots[0] > y.knots[-1] * x.knots[0]:
            x, y = y, x
        self.set_operands(_for_logarithms(x), _for_logarithms(y))

    @cached_property
    def _columns(self) -> tuple[Floats, ...]:
        """In the order of X's table its first rows; of the knots l and r around: r, E[X; X <= l], E[1/X; X > r]."""
        x, inverses = self.x, _inverses(self.x)
        means = x.masses * np.where(x.is_spread, x.knots[:-1] + 0.5 * x.widths, x.knots[1:])
        return (
            *x.table[:3], np.append(x.knots, x.knots[-1]), np.concatenate([[0.0, 0.0], np.cumsum(means)]),
            np.concatenate([np.cumsum(inverses[::-1])[::-1], [0.0, 0.0]]),
        )  # fmt: skip

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


class QuotientLaw(LawOfTwo):
    """X / Y of positive operands, the second bounded away from 0."""

    combine = np.divide

    def __post_init__(self) -> None:
        self.set_operands(_for_logarithms(self.x), _for_logarithms(self.y))

    @property
    def support(self) -> tuple[float, float]:
        return self.x.support[0] / self.y.support[1], self.x.support[1] / self.y.support[0]

    @property
    def mean(self) -> float:
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
        cdf, integral = self.x.cdf_and_integral(z * atoms)
        return masses @ cdf, (masses / atoms[:, 0]) @ integral


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
                parts.append((p * q, both if x_sign == y_sign else laws.negated(both)))
    zero = x_zero + y_zero - x_zero * y_zero
    if zero > 0.0 or not parts:
        parts.append((zero if parts else 1.0, PiecewiseUniform(np.zeros(2), np.ones(1))))
    return laws.mixture(parts)


def _zero(x: PiecewiseUniform) -> bool:
    """Whether 0 has a positive probability."""
    return bool((x.atoms[0] == 0.0).any())


def operate(operation: str, operands: Sequence[Bins], count: int | None = None) -> Bins:
    """The result of an operation on independent operands."""
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        return _OPERATIONS[operation](operands, count or max(len(operand.masses) for operand in operands))


def _negated(x: Bins) -> Bins:
    return Bins(-x.edges[::-1], x.masses[::-1], -x.means[::-1])


def _scaled(x: Bins, factor: float) -> Bins:
    if factor == 0.0:
        return single_value(0.0)
    if factor < 0.0:
        return _scaled(_negated(x), -factor)
    return Bins(x.edges * factor, x.masses, np.clip(x.means * factor, x.edges[:-1] * factor, x.edges[1:] * factor))


def _parted(operands: Sequence[Bins]) -> tuple[list[Bins], list[float]]:
    """Histograms proper, and constants."""
    constants = [float(x.edges[0]) for x in operands if x.is_constant]
    return [x for x in operands if not x.is_constant], constants


def _in_pairs(operands: Sequence[Bins], combine: Callable[[Bins, Bins], Bins]) -> Bins:
    """Neighbours first: each operand goes through as few results as can be."""
    level = list(operands)
    while len(level) > 1:
        rest = level[len(level) // 2 * 2 :]
        level = [combine(x, y) for x, y in zip(level[::2], level[1::2], strict=False)] + rest
    return level[0]


def _add(operands: Sequence[Bins], count: int) -> Bins:
    values, constants = _parted(operands)
    if not values:
        return single_value(math.fsum(constants))
    total = _in_pairs(values, lambda x, y: rebin(SumLaw(spread(x), spread(y)), count))
    shift = math.fsum(constants)
    if shift == 0.0:
        return total
    edges = total.edges + shift
    return Bins(edges, total.masses, np.clip(total.means + shift, edges[:-1], edges[1:]))


def _multiply(operands: Sequence[Bins], count: int) -> Bins:
    values, constants = _parted(operands)
    if not values:
        return single_value(math.prod(constants))
    combined = _in_pairs(values, lambda x, y: rebin(product(spread(x), spread(y)), count))
    return _scaled(combined, math.prod(constants))


def _divide(x: Bins, y: Bins, count: int) -> Bins:
    low, high = float(y.edges[0]), float(y.edges[-1])
    if low <= 0.0 <= high:
        raise DataError(
            f"divide: the divisor can be 0, it goes from {low:.6g} to {high:.6g}: no bins hold the quotient where that "
            "comes close to 0; give one that does not, or sample"
        )
    if y.is_constant:
        x, low = (_negated(x), -low) if low < 0.0 else (x, low)
        edges = x.edges / low
        return Bins(edges, x.masses, np.clip(x.means / low, edges[:-1], edges[1:]))
    if low < 0.0:
        return _negated(_divide(x, _negated(y), count))
    if x.is_constant:
        return _scaled(_positive_power(y, -1.0, count), float(x.edges[0]))
    return rebin(quotient(spread(x), spread(y)), count)


def _largest(operands: Sequence[Bins], count: int) -> Bins:
    if len(operands) == 1:
        return operands[0]
    if len(operands) > _MOST_AT_ONCE:
        groups = [operands[k : k + _MOST_AT_ONCE] for k in range(0, len(operands), _MOST_AT_ONCE)]
        return _largest([_largest(group, count) for group in groups], count)
    # What ends below where another begins is never the largest.
    begin = max(float(x.edges[0]) for x in operands)
    operands = [x for x in operands if x.edges[-1] > begin]
    if not operands:
        return single_value(begin)
    if len(operands) == 1 and operands[0].edges[0] >= begin:
        return operands[0]
    values = [spread(x) for x in operands]
    if all(x.edges[0] < begin for x in operands):
        values.append(spread(single_value(begin)))
    return rebin(laws.largest(values), count)


def _power(x: Bins, y: Bins, count: int) -> Bins:
    low = float(x.edges[0])
    if not y.is_constant:
        if low <= 0.0:
            raise DataError(f"power: the base begins at {low:.6g}; with an exponent that varies it must be above 0")
        return _mapped(laws.EXP, _multiply([_mapped(laws.LOG, x, count), y], count), count)
    exponent = float(y.edges[0])
    if exponent == 0.0:
        return single_value(1.0)
    if exponent < 0.0 and low <= 0.0 <= x.edges[-1]:
        raise DataError(f"power: the base can be 0, and {exponent:.6g} is negative: a division by 0; give another base")
    if low >= 0.0:
        return _positive_power(x, exponent, count)
    if not exponent.is_integer():
        raise DataError(f"power: the base begins at {low:.6g}; below 0 the exponent {exponent:.6g} must be whole")
    if x.edges[-1] <= 0.0:
        raised = _positive_power(_negated(x), exponent, count)
        return _negated(raised) if exponent % 2.0 else raised
    return _of_both_signs(x, laws.power(exponent), is_odd=bool(exponent % 2.0), count=count)


def _positive_power(x: Bins, exponent: float, count: int) -> Bins:
    raised = _mapped(laws.power(exponent), x, count)
    return _negated(raised) if exponent < 0.0 else raised


def _mapped(function: Monotone, x: Bins, count: int) -> Bins:
    return rebin(laws.image(function, spread(x)), count)


def _of_both_signs(x: Bins, function: Monotone, *, is_odd: bool, count: int) -> Bins:
    """A function of |x|, rising from 0, with the sign of x if it is odd."""
    (below, negative), zero, (above, positive) = spread(x).split()
    parts: list[tuple[float, Law]] = []
    if negative is not None:
        law = laws.image(function, negative)
        parts.append((below, laws.negated(law) if is_odd else law))
    if positive is not None:
        parts.append((above, laws.image(function, positive)))
    if zero > 0.0:
        parts.append((zero, spread(single_value(0.0))))
    return rebin(laws.mixture(parts), count)


def _absolute(x: Bins, count: int) -> Bins:
    if x.edges[0] >= 0.0:
        return x
    return _negated(x) if x.edges[-1] <= 0.0 else _of_both_signs(x, laws.power(1.0), is_odd=False, count=count)


def _log(x: Bins, count: int) -> Bins:
    if x.edges[0] <= 0.0:
        raise DataError(f"log: the values begin at {x.edges[0]:.6g}; only what is above 0 has a logarithm")
    return _mapped(laws.LOG, x, count)


def _sqrt(x: Bins, count: int) -> Bins:
    if x.edges[0] < 0.0:
        raise DataError(f"sqrt: the values begin at {x.edges[0]:.6g}; only what is not negative has a root")
    return _mapped(laws.SQRT, x, count)


_OPERATIONS: Mapping[str, Callable[[Sequence[Bins], int], Bins]] = {
    "add": _add,
    "subtract": lambda operands, count: _add([operands[0], _negated(operands[1])], count),
    "multiply": _multiply,
    "divide": lambda operands, count: _divide(operands[0], operands[1], count),
    "power": lambda operands, count: _power(operands[0], operands[1], count),
    "maximum": _largest,
    "minimum": lambda operands, count: _negated(_largest([_negated(x) for x in operands], count)),
    "negative": lambda operands, count: _negated(operands[0]),
    "absolute": lambda operands, count: _absolute(operands[0], count),
    "exp": lambda operands, count: _mapped(laws.EXP, operands[0], count),
    "log": lambda operands, count: _log(operands[0], count),
    "sqrt": lambda operands, count: _sqrt(operands[0], count),
}

# Schopf's own arithmetic, kept for comparison: interval arithmetic on all pairs of bins, spread evenly (`cartesian`).
# Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", NWU-CS-99-2,
# 1999, section 3.3.


def intermediate_results(operation: str, x: Bins, y: Bins) -> tuple[Floats, Floats]:
    """Return the paper's equation 5: intervals (k, 2) and probabilities (k,) of each pair of bins that hold some."""
    if operation not in _OF_PAIRS:
        raise OptionError(f"histogram: --method cartesian has no {operation}; known are {', '.join(_OF_PAIRS)}")
    if operation == "divide" and y.edges[0] <= 0.0 <= y.edges[-1]:
        raise OptionError(f"divide: the divisor can be 0, it goes from {y.edges[0]:.6g} to {y.edges[-1]:.6g}")
    x_ends, y_ends = (np.stack([each.edges[:-1], each.edges[1:]])[:, each.masses > 0.0] for each in (x, y))
    corners = _OF_PAIRS[operation](x_ends[:, None, :, None], y_ends[None, :, None, :]).reshape(4, -1)
    masses = np.outer(x.masses[x.masses > 0.0], y.masses[y.masses > 0.0]).ravel()
    return np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1), masses


def spread_evenly(intervals: Floats, masses: Floats, edges: Floats) -> Floats:
    """Probability of each bin if that of each interval lies evenly in it; (k, 2), (k,), (m + 1,) to (m,)."""
    low, high = intervals.T
    widths = (high - low)[:, None]
    single = (edges >= low[:, None]).astype(np.float64)
    shares = np.divide(edges - low[:, None], widths, out=single, where=widths > 0.0)
    levels = masses @ np.clip(shares, 0.0, 1.0)
    levels[0] = 0.0  # single values at the first edge belong to the first bin
    return np.asarray(np.maximum(np.diff(levels), 0.0))


def cartesian(operation: str, operands: Sequence[Bins], count: int | None = None) -> Bins:
    """Intermediate results spread evenly over bins of equal width, one pair of operands after the other."""
    if len(operands) == 1:
        return operate(operation, operands, count)
    bins = count or max(len(x.masses) for x in operands)

    def combine(x: Bins, y: Bins) -> Bins:
        intervals, masses = intermediate_results(operation, x, y)
        edges = np.linspace(intervals.min(), intervals.max(), bins + 1)
        bin_masses = spread_evenly(intervals, masses, edges)
        return Bins(edges, bin_masses / bin_masses.sum(), 0.5 * (edges[1:] + edges[:-1]))

    return functools.reduce(combine, operands)
