"""Bins with probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.dependence_bounds import DependenceBounds
from perf_stochastic.exact.mixtures import PlainLaw
from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perf_stochastic.histogram.binning import bin_samples
from perf_stochastic.histogram.bins import Bins, checked_bins, joined, spread
from perf_stochastic.histogram.cartesian import cartesian
from perf_stochastic.histogram.conversion import bins_of
from perf_stochastic.histogram.infinite import Extended, operate_extended
from perf_stochastic.histogram.rebinning import rebin
from perf_stochastic.histogram.score import crps_piecewise_linear, jumps_of
from perf_stochastic.normal.bins import REACH, normal_bins
from perf_stochastic.normal.normal import Normal
from perf_stochastic.options import COUNTED, HistogramArithmetic, HistogramOptions
from perf_stochastic.point import Point
from perfcore.base.errors import DataError, OptionError
from perfcore.stochastic import StochasticValue, checked_samples


Floats = npt.NDArray[np.float64]

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
    infinite : (float, float), optional
        Probabilities of minus and of plus infinity, as a quotient has whose divisor can be 0. The masses sum to the
        rest.

    Examples
    --------
    >>> Histogram([1, 3, 5], [0.25, 0.75])
    Histogram([1, 3]: 0.25, [3, 5]: 0.75)
    >>> Histogram([1, 3, 5], [0.25, 0.75]).cdf([2, 4])
    array([0.125, 0.625])

    A divisor that is 0 with a probability of its own:

    >>> waits = 6 / Histogram([0, 0, 1, 3], [0.1, 0, 0.9])
    >>> waits.infinite, waits.mean, round(float(waits.quantile(0.5)), 3)
    ((0.0, 0.1), inf, 3.182)
    """

    name: ClassVar[str] = "histogram"
    generality: ClassVar[int] = 20
    Options: ClassVar[type] = HistogramOptions
    Arithmetic: ClassVar[type] = HistogramArithmetic

    edges: Floats
    masses: Floats
    means: Floats = None  # type: ignore[assignment]  # may be left out where a histogram is written down
    infinite: tuple[float, float] = (0.0, 0.0)

    def __init__(
        self,
        edges: npt.ArrayLike,
        masses: npt.ArrayLike,
        means: npt.ArrayLike | None = None,
        infinite: Sequence[float] = (0.0, 0.0),
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        ends = _checked_ends(infinite)
        bins = checked_bins(edges, masses, means, 1.0 - math.fsum(ends))
        for name, value in (*bins._asdict().items(), ("infinite", ends), ("notes", notes)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_bins(cls, bins: Iterable[tuple[float, float, float]]) -> Self:
        """A histogram from separate bins (lower, upper, probability); there may be gaps between them."""
        return cls(*joined(bins))

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
        """Bins that resolve both tails: of equal probability p99.9 would lie somewhere in the last one.

        Draws may be infinite, but not all.
        """
        values = np.ravel(np.asarray(draws, dtype=np.float64))
        if np.isfinite([values.min(), values.max()]).all():
            return cls(*bin_samples(values, "tails", detail))
        below, above = (float(np.mean(values == end)) for end in (-math.inf, math.inf))
        finite = cls.from_samples(values[np.isfinite(values)], HistogramOptions(bins=detail, rule="tails"))
        return cls._of(Extended(finite.bins, below, above))

    @classmethod
    def _of(cls, value: Extended, notes: tuple[str, ...] = ()) -> Self:
        finite = value.finite
        if not (value.below or value.above):
            return cls(*finite, notes=notes)
        masses = finite.masses * (1.0 - value.below - value.above)
        return cls(finite.edges, masses, finite.means, (value.below, value.above), notes=notes)

    @classmethod
    def convert(cls, value: StochasticValue) -> tuple[Self, str]:
        """Bins of any distribution, of a normal to six standard deviations; one even bin of mere bounds."""
        if isinstance(value, Histogram):
            return cls(value.edges, value.masses, value.means, value.infinite, notes=value.notes), ""
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
            if chosen.method == "exact":
                every = [Extended(value.bins, *value.infinite) for value in histograms]
                return cls._of(operate_extended(operation, every, chosen.bins), notes)
            for value in histograms:
                _need_finite(value, "Schopf's Cartesian rule")
            return cls(*cartesian(operation, [value.bins for value in histograms], chosen.bins), notes=notes)
        except (FloatingPointError, OverflowError):
            operand_text = ", ".join(map(repr, histograms))
            problem = "a value is too large or too small for a float; change the unit"
            raise DataError(f"{operation} of {operand_text}: {problem}") from None

    def rebinned(self, bins: int) -> Self:
        """The same distribution in at most so many bins, whose masses and means stay exact."""
        return self._of(Extended(Bins(*rebin(PlainLaw(self.distribution), bins)), *self.infinite), self.notes)

    def bounds(self, operation: str, other: StochasticValue | float) -> DependenceBounds:
        """What an operation may give if nothing is known about how the operands depend on each other.

        Parameters
        ----------
        operation : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}
        other : StochasticValue or float
            Second operand.
        """
        second = type(self).convert(other if isinstance(other, StochasticValue) else Point(other))[0]
        for value in (self, second):
            _need_finite(value, "what dependence may do")
        return DependenceBounds(operation, self.distribution, second.distribution)

    @property
    def bins(self) -> Bins:
        """Edges, masses and means of what is finite, with masses that sum to 1."""
        masses = self.masses / self._finite if self._finite < 1.0 else self.masses
        return Bins(self.edges, masses, self.means)

    @property
    def _finite(self) -> float:
        return 1.0 - math.fsum(self.infinite)

    @cached_property
    def distribution(self) -> PiecewiseUniform:
        """What the bins stand for, given that it is finite."""
        return spread(self.bins)

    @property
    def mean(self) -> float:
        """Sum of masses times means; infinite, or NaN if so to both sides, of what can be infinite."""
        below, above = self.infinite
        if below or above:
            return math.nan if below and above else math.copysign(math.inf, above - below)
        return float(self.masses @ self.means)

    @property
    def std(self) -> float:
        """Standard deviation; that within the bins counts. NaN of what can be infinite."""
        if any(self.infinite):
            return math.nan
        knots, masses = self.distribution.knots - self.mean, self.distribution.masses
        low, high = knots[:-1], knots[1:]
        return math.sqrt(float(masses @ (low * low + low * high + high * high)) / 3.0)

    @property
    def support(self) -> tuple[float, float]:
        """First and last edge, or infinity."""
        below, above = self.infinite
        return -math.inf if below else float(self.edges[0]), math.inf if above else float(self.edges[-1])

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Linear between edges and means."""
        places = np.asarray(x, dtype=np.float64)
        finite = self.distribution.cdf(np.clip(places, np.nextafter(self.edges[0], -math.inf), self.edges[-1]))
        if not any(self.infinite):
            return finite
        return np.where(places == math.inf, 1.0, self.infinite[0] + self._finite * finite)

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Constant between edges and means."""
        pieces = self.distribution
        density: Floats = pieces.table[2].take(pieces.place(np.asarray(x, dtype=np.float64)))
        return density * self._finite

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The inverse of `cdf`."""
        levels = np.asarray(q, dtype=np.float64)
        if not any(self.infinite):
            return self.distribution.quantile(levels)
        below, above = self.infinite
        inside = np.where(levels == 1.0, 1.0, np.clip((levels - below) / self._finite, 0.0, 1.0))
        finite = self.distribution.quantile(np.where((levels >= 0.0) & (levels <= 1.0), inside, np.nan))
        finite = np.where((below > 0.0) & (levels >= 0.0) & (levels <= below), -math.inf, finite)
        is_above = (above > 0.0) & (levels <= 1.0) & ((levels > 1.0 - above) | (levels == 1.0))
        return np.where(is_above, math.inf, finite)

    @property
    def binned(self) -> tuple[Floats, Floats]:
        """Edges and probabilities of what is finite."""
        return self.edges, self.masses

    def crps(self, actual: float) -> float:
        """Exact: the distribution function is linear between edges and means. Infinite of what can be infinite."""
        if any(self.infinite):
            return math.inf
        low, high = self.support
        if low == high:
            return abs(actual - low)
        return crps_piecewise_linear(*jumps_of(self.cdf, np.union1d(self.edges, self.means)), actual)

    def to_dict(self) -> dict[str, Any]:
        """As of all values; what cannot be infinite does not mention it."""
        content = super().to_dict()
        if not any(self.infinite):
            del content["infinite"]
        return content

    def to_text(self) -> str:
        """As of all values, likewise."""
        text = super().to_text()
        return text if any(self.infinite) else text.rpartition("/")[0]

    def __repr__(self) -> str:
        ends = zip(("-inf", "inf"), self.infinite, strict=True)
        without = "".join(f", {end}: {mass:.4g}" for end, mass in ends if mass)
        if len(self.masses) > _SHOWN_BINS:
            finite = Histogram(*self.bins) if without else self
            spread = f"mean {finite.mean:.6g} ± {finite.std:.3g}"
            lower, upper = finite.support
            return f"Histogram({len(self.masses)} bins from {lower:.6g} to {upper:.6g}, {spread}{without})"
        bins = zip(self.edges[:-1], self.edges[1:], self.masses, strict=True)
        return f"Histogram({', '.join(f'[{low:.6g}, {high:.6g}]: {mass:.4g}' for low, high, mass in bins)}{without})"


def _checked_ends(infinite: Sequence[float]) -> tuple[float, float]:
    ends = tuple(map(float, infinite))
    if len(ends) != 2 or not all(mass >= 0.0 for mass in ends) or not math.fsum(ends) < 1.0:
        text = ", ".join(f"{mass:.6g}" for mass in ends)
        raise DataError(f"histogram: infinite: two probabilities below 1 in all are expected, found {text or 'none'}")
    return ends[0], ends[1]


def _need_finite(value: Histogram, method: str) -> None:
    if any(value.infinite):
        raise DataError(f"{value!r} can be infinite; {method} is known of finite values only")
