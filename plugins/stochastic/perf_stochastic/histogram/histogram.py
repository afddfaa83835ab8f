"""Bins with probabilities."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.special

from perf_stochastic.exact.dependence_bounds import DependenceBounds
from perf_stochastic.exact.mixtures import PlainLaw
from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perf_stochastic.histogram.arithmetic import operate
from perf_stochastic.histogram.bins import Bins, checked_bins, joined, spread
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

# Schopf's arithmetic of histograms, kept for comparison.
#
# Interval arithmetic on all pairs of bins gives intermediate results, each with the product of two probabilities.
# Even if
# the probability lies evenly in both bins it does not in the interval that they give: a sum of two uniform values is
# triangular. Spreading it evenly, as `cartesian` does, moves probability outward, and every further operation moves
# more.
#
# Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", NWU-CS-99-2,
# 1999, section 3.3.

Floats = npt.NDArray[np.float64]

_OF_PAIRS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def intermediate_results(operation: str, x: Bins, y: Bins) -> tuple[Floats, Floats]:
    """The paper's equation 5: intervals (k, 2) and their probabilities (k,), one for each pair of bins that hold
    some.
    """
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


def overlap_mass(operation: str, x: Bins, y: Bins, edges: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
    """The paper's equation 6: for each bin the undivided probability of all intermediate results that overlap it."""
    intervals, masses = intermediate_results(operation, x, y)
    places = np.unique(intervals) if edges is None else np.asarray(edges, dtype=np.float64)
    overlaps = (intervals[:, :1] < places[1:]) & (intervals[:, 1:] > places[:-1])
    return places, masses @ overlaps


_MOST_BINS = 10_000
_MOST_KNOTS = 4096  # many times the bins that are of use
_TAIL_SHARE = 0.6  # of the edges that goes evenly over the logarithm of the odds, which resolves tails
_LEAST_LEVEL = 1e-5  # to which it does
_SUMMED_AT_ONCE = 2**20


def bin_samples(samples: Floats, rule: str, bins: int) -> tuple[Floats, Floats, Floats]:
    """Edges, shares of the samples, and means of the samples within each bin."""
    low, high = float(samples.min()), float(samples.max())
    if low == high:
        return np.array([low, high]), np.ones(1), np.array([low])
    if rule == "probability":
        ordered = _sorted(samples)
        return _counted(ordered, _quantile_edges(ordered, np.linspace(0.0, 1.0, bins + 1)))
    if rule == "tails":
        ordered = _sorted(samples)
        return _counted(ordered, _quantile_edges(ordered, _tail_levels(bins)))
    if rule == "curvature":
        ordered = _sorted(samples)
        return _counted(ordered, _curvature_edges(ordered, bins))
    edges = np.linspace(low, high, bins + 1) if rule == "width" else _of_numpy(samples, rule)
    # Samples are in the bin to their right, the largest in the last bin.
    bin_index = np.clip(edges.searchsorted(samples, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(bin_index, minlength=len(edges) - 1)
    sums = np.bincount(bin_index, weights=samples, minlength=len(edges) - 1)
    means = np.divide(sums, counts, out=0.5 * (edges[1:] + edges[:-1]), where=counts > 0)
    return edges, counts / len(samples), np.clip(means, edges[:-1], edges[1:])


def _sorted(samples: Floats) -> Floats:
    """Samples in ascending order, as they often come."""
    return samples if (samples[1:] >= samples[:-1]).all() else np.sort(samples)


def _of_numpy(samples: Floats, rule: str) -> Floats:
    try:
        edges: Floats = np.histogram_bin_edges(samples, rule)
    except (ValueError, MemoryError):
        edges = np.empty(0)
    if not 2 <= len(edges) <= _MOST_BINS + 1:
        raise DataError(
            f"histogram: the rule {rule!r} finds no sensible number of bins; outliers do that; take --rule probability"
        )
    return edges


@functools.cache
def _tail_levels(bins: int) -> Floats:
    """Levels between bins (bins + 1,)."""
    reach = math.log(1.0 / _LEAST_LEVEL)
    levels = scipy.special.expit(np.linspace(-reach, reach, 64 * (bins + 1)))
    levels[0], levels[-1] = 0.0, 1.0
    shares = (1.0 - _TAIL_SHARE) * levels + _TAIL_SHARE * np.linspace(0.0, 1.0, len(levels))
    bin_levels: Floats = np.interp(np.linspace(0.0, 1.0, bins + 1), shares, levels)
    return bin_levels


def _cumulated(samples: Floats, counts: npt.NDArray[np.intp]) -> Floats:
    """Sums of so many of the first samples (m,), of counts that do not decrease; of many samples without a copy."""
    sums, total = np.zeros(len(counts)), 0.0
    for begin in range(0, len(samples), _SUMMED_AT_ONCE):
        running = samples[begin : begin + _SUMMED_AT_ONCE].copy()
        running[0] += total
        np.cumsum(running, out=running)
        total = float(running[-1])
        first, last = counts.searchsorted([begin, begin + len(running)], side="right")
        sums[first:last] = running[counts[first:last] - begin - 1]
    return sums


def _sorted_quantiles(samples: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted samples on lines between them, with the digits of numpy, which would go through all."""
    places = levels * (len(samples) - 1)
    below = np.minimum(places.astype(np.intp), max(len(samples) - 2, 0))
    lower, upper, share = samples[below], samples[np.minimum(below + 1, len(samples) - 1)], places - below
    steps = upper - lower
    quantiles: Floats = np.where(share < 0.5, lower + steps * share, upper - steps * (1.0 - share))
    return quantiles


def _quantile_edges(samples: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted samples; where several are one value, that value twice."""
    places, repeats = np.unique(_sorted_quantiles(samples, levels), return_counts=True)
    return np.sort(np.concatenate([places, places[repeats > 1]]))


def _curvature_edges(samples: Floats, bins: int) -> Floats:
    """Edges for the distribution function of sorted samples, drawn as lines between some of them."""
    index = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), _MOST_KNOTS)).round().astype(np.intp))
    empirical = PiecewiseUniform(samples[index], np.diff(index) / index[-1])
    return rebin(PlainLaw(empirical, is_smooth=True), bins)[0]


def _counted(samples: Floats, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Edges, and shares and means of sorted samples; two equal edges hold their value alone."""
    first, last = samples.searchsorted(edges, side="left"), samples.searchsorted(edges, side="right")
    alone = np.diff(edges) == 0.0
    # The edge after a bin without width has given its samples to that bin.
    starts = np.where(np.concatenate([[False], alone[:-1]]), last[:-1], first[:-1])
    ends = np.where(alone, last[1:], first[1:])
    ends[-1] = len(samples)
    counts = ends - starts
    sums = _cumulated(samples, ends) - _cumulated(samples, starts)
    means = np.divide(sums, counts, out=0.5 * (edges[1:] + edges[:-1]), where=counts > 0)
    return edges, counts / len(samples), np.clip(means, edges[:-1], edges[1:])


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
