"""Bins with probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.binning import REACH, bin_samples, bins_of, normal_bins
from perf_stochastic.bins import Bins, checked_bins, rebin, spread
from perf_stochastic.histogram_arithmetic import cartesian, operate
from perf_stochastic.normal import Normal
from perf_stochastic.options import COUNTED, HistogramArithmetic, HistogramOptions
from perf_stochastic.piecewise_uniform import PiecewiseUniform
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.stochastic import StochasticValue, checked_samples

_PAPERS_BINS = 5
_CONVERTED_BINS = 50  # of what is no histogram
_SHOWN_BINS = 5


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Histogram(StochasticValue):
    """Bins with probabilities; arithmetic is exact in the probabilities and means of the result's bins.

    Choose it where the shape matters: several modes, a long tail, bounds. A bin of probability 0 is a gap, one without
    width is a single value. Each bin keeps the mean of what is in it: its probability lies evenly below that mean, and
    evenly above it, in the shares that give the mean. So the distribution function is linear between edges and means.

    Parameters
    ----------
    edges : (m + 1,) float, finite, not decreasing
    masses : (m,) float, >= 0
        Their sum is 1 to a part in a million, and is made 1.
    means : (m,) float, optional
        Within their bins; the middles where they are not given.

    Examples
    --------
    >>> Histogram([1, 3, 5], [0.25, 0.75])
    Histogram([1, 3]: 0.25, [3, 5]: 0.75)
    >>> Histogram([1, 3, 5], [0.25, 0.75]).cdf([2, 4])
    array([0.125, 0.625])
    """

    name: ClassVar[str] = "histogram"
    generality: ClassVar[int] = 20
    Options: ClassVar[type] = HistogramOptions
    Arithmetic: ClassVar[type] = HistogramArithmetic

    edges: Floats
    masses: Floats
    means: Floats = None  # type: ignore[assignment]  # may be left out where a histogram is written down

    def __init__(
        self,
        edges: npt.ArrayLike,
        masses: npt.ArrayLike,
        means: npt.ArrayLike | None = None,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        for name, value in (*checked_bins(edges, masses, means)._asdict().items(), ("notes", notes)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        """Bins with the shares and means of the samples in them; of equal samples a single value."""
        chosen = HistogramOptions() if options is None else options
        if chosen.bins is not None and chosen.rule not in COUNTED:
            raise OptionError(
                f"histogram: --bins {chosen.bins}: the rule {chosen.rule!r} finds the number of bins; leave one out"
            )
        return cls(*bin_samples(checked_samples(samples), chosen.rule, chosen.bins or _PAPERS_BINS))

    @classmethod
    def from_draws(cls, draws: npt.ArrayLike, detail: int) -> Self:
        """Bins that resolve both tails: of equal probability p99.9 would lie somewhere in the last one."""
        return cls(*bin_samples(checked_samples(np.ravel(draws)), "tails", detail))

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Bins of any distribution, of a normal to six standard deviations; one even bin of mere bounds."""
        if isinstance(value, Histogram):
            return cls(value.edges, value.masses, value.means, notes=value.notes), ""
        lower, upper = value.support
        if lower == upper or not value.has_distribution:
            assumed = f"assumed that all values from {lower:.6g} to {upper:.6g} are equally likely"
            return cls([lower, upper], [1.0]), "" if lower == upper else assumed
        if isinstance(value, Normal):
            converted = cls(*normal_bins(value.mean, value.std, _CONVERTED_BINS))
            return converted, f"{_CONVERTED_BINS} bins, to {REACH:g} standard deviations from the mean"
        try:
            converted = cls(*bins_of(value, _CONVERTED_BINS))
        except FloatingPointError:
            raise DataError(f"{value!r}: its range is too large for a histogram; change the unit") from None
        lower, upper = converted.support
        return converted, f"{_CONVERTED_BINS} bins, from {lower:.6g} to {upper:.6g}"

    @classmethod
    def operate(cls, operation: str, operands: Sequence[StochasticValue], options: Any = None) -> Self:
        """Exact arithmetic of independent operands, or Schopf's Cartesian rule."""
        chosen = HistogramArithmetic() if options is None else options
        histograms, notes = cls.converted(operands)
        try:
            perform = operate if chosen.method == "exact" else cartesian
            return cls(*perform(operation, [value.bins for value in histograms], chosen.bins), notes=notes)
        except (FloatingPointError, OverflowError):
            operand_text = ", ".join(map(repr, histograms))
            problem = "a value is too large or too small for a float; change the unit"
            raise DataError(f"{operation} of {operand_text}: {problem}") from None

    def rebinned(self, bins: int) -> Self:
        """The same distribution in at most so many bins, whose masses and means stay exact."""
        return type(self)(*rebin(self.distribution, bins), notes=self.notes)

    @property
    def bins(self) -> Bins:
        """Edges, masses and means."""
        return Bins(self.edges, self.masses, self.means)

    @cached_property
    def distribution(self) -> PiecewiseUniform:
        """What the bins stand for."""
        return spread(self.bins)

    @property
    def mean(self) -> float:
        """Sum of masses times means."""
        return float(self.masses @ self.means)

    @property
    def std(self) -> float:
        """Standard deviation; that within the bins counts."""
        knots, masses = self.distribution.knots - self.mean, self.distribution.masses
        low, high = knots[:-1], knots[1:]
        return math.sqrt(float(masses @ (low * low + low * high + high * high)) / 3.0)

    @property
    def support(self) -> tuple[float, float]:
        """First and last edge."""
        return float(self.edges[0]), float(self.edges[-1])

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Linear between edges and means."""
        places = np.asarray(x, dtype=np.float64)
        return self.distribution.cdf(np.clip(places, np.nextafter(self.edges[0], -math.inf), self.edges[-1]))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Constant between edges and means."""
        pieces = self.distribution
        return np.asarray(pieces.table[2].take(pieces.place(np.asarray(x, dtype=np.float64))))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The inverse of `cdf`."""
        return self.distribution.quantile(np.asarray(q, dtype=np.float64))

    @property
    def binned(self) -> tuple[Floats, Floats]:
        """Edges and probabilities."""
        return self.edges, self.masses

    def crps(self, actual: float) -> float:
        """Exact: the distribution function is linear between edges and means."""
        low, high = self.support
        if low == high:
            return abs(actual - low)
        return crps_piecewise_linear(*jumps_of(self.cdf, np.union1d(self.edges, self.means)), actual)

    def __repr__(self) -> str:
        if len(self.masses) > _SHOWN_BINS:
            lower, upper = self.support
            spread = f"mean {self.mean:.6g} ± {self.std:.3g}"
            return f"Histogram({len(self.masses)} bins from {lower:.6g} to {upper:.6g}, {spread})"
        bins = zip(self.edges[:-1], self.edges[1:], self.masses, strict=True)
        return f"Histogram({', '.join(f'[{low:.6g}, {high:.6g}]: {mass:.4g}' for low, high, mass in bins)})"


def jumps_of(cdf: Callable[[Floats], Floats], places: Floats) -> tuple[Floats, Floats]:
    """Each of ``places`` (k,) twice (2k,), and the limits of a distribution function from the left and the right."""
    limits = np.stack([cdf(np.nextafter(places, -np.inf)), cdf(places)], axis=1)
    return np.repeat(places, 2), limits.ravel()


def crps_piecewise_linear(knots: npt.ArrayLike, cdf: npt.ArrayLike, actual: float) -> float:
    """Continuous ranked probability score of a distribution whose CDF is linear between knots; exact."""
    places, height = np.asarray(knots, dtype=np.float64), np.asarray(cdf, dtype=np.float64)
    outside = max(places[0] - actual, actual - places[-1], 0.0)  # there F is 0 or 1 and the integrand 1
    inner = np.clip(actual, places[0], places[-1])
    first, last = places.searchsorted(inner, side="left"), places.searchsorted(inner, side="right")
    # Within a piece F is the same from both sides; at a knot it may jump.
    below, above = (height[first], height[last - 1]) if last > first else np.interp([inner, inner], places, height)
    left = _square_of_lines(np.append(places[:first], inner), np.append(height[:first], below))
    right = _square_of_lines(np.append(inner, places[last:]), 1.0 - np.append(above, height[last:]))
    return float(outside + left + right)


def _square_of_lines(places: Floats, height: Floats) -> float:
    first, second = height[:-1], height[1:]
    return float(np.sum(np.diff(places) * (first**2 + first * second + second**2)) / 3.0)
