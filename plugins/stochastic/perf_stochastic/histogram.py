"""Bins with probabilities."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.special
from scipy.special import gammainc, gammaincinv, ndtr

from perf_stochastic.bins import Bins, checked_bins, rebin, single_value, spread
from perf_stochastic.histogram_arithmetic import cartesian, operate
from perf_stochastic.laws import PiecewiseUniform
from perf_stochastic.normal import Normal
from perf_stochastic.options import HistogramArithmetic, HistogramOptions
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples

_PAPERS_BINS, _ADAPTIVE_BINS = 5, 40
_TOLERANCE = 0.01  # of the distribution function, at which no bin is divided any more
_FEW, _MANY = 20, 1000  # samples, from which on quantiles are kept exactly, and the outermost ones too
_KEPT_LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_FEWEST_WITH_MEAN = 2.0  # samples: with fewer a bin is even
_MOST_PLACES = 4096  # distinct values at which bins can be divided
_TAIL_SHARE = 0.6  # of the edges of draws that goes evenly over the logarithm of the odds, which resolves tails
_LEAST_LEVEL = 1e-5  # to which it does
REACH = 6.0  # standard deviations to each side; what is beyond, two in a billion, goes into the outer bins
_CELLS = 2400  # many times the bins that are of use
_NODES = 4  # of Gauss-Legendre in each cell
_CONVERTED_BINS = 50  # of what is no histogram
_SHOWN_BINS = 5


def bin_samples(samples: Floats, rule: str, bins: int | None = None) -> Bins:
    """Return edges, shares of the samples, and means of the samples within each bin."""
    low, high = float(samples.min()), float(samples.max())
    if low == high:
        return single_value(low)
    if rule == "adaptive":
        ordered = samples if (samples[1:] >= samples[:-1]).all() else np.sort(samples)  # they often come so
        most = bins or _ADAPTIVE_BINS
        kept = [level for level in _KEPT_LEVELS if 0.01 <= level <= 0.99 or len(samples) >= _MANY]
        if len(samples) < _FEW or most <= 2 * len(kept):
            kept = []
        return _adaptive(ordered, [0.0, *kept, 1.0], most, _TOLERANCE if bins is None else 0.0)
    edges: Floats = np.linspace(low, high, (bins or _PAPERS_BINS) + 1)
    # Samples are in the bin to their right, the largest in the last bin.
    bin_index = np.clip(edges.searchsorted(samples, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(bin_index, minlength=len(edges) - 1)
    sums = np.bincount(bin_index, weights=samples, minlength=len(edges) - 1)
    means = np.divide(sums, counts, out=0.5 * (edges[1:] + edges[:-1]), where=counts > 0)
    return Bins(edges, counts / len(samples), np.clip(means, edges[:-1], edges[1:]))


@functools.cache
def _tail_levels(bins: int) -> Floats:
    """Levels between bins, closer together in the tails (bins + 1,)."""
    reach = math.log(1.0 / _LEAST_LEVEL)
    levels = scipy.special.expit(np.linspace(-reach, reach, 64 * (bins + 1)))
    levels[0], levels[-1] = 0.0, 1.0
    shares = (1.0 - _TAIL_SHARE) * levels + _TAIL_SHARE * np.linspace(0.0, 1.0, len(levels))
    return np.asarray(np.interp(np.linspace(0.0, 1.0, bins + 1), shares, levels))


def _adaptive(samples: Floats, levels: npt.ArrayLike, most: int, tolerance: float) -> Bins:
    """Return bins of sorted samples whose distribution function is off by little, whatever the outliers.

    The bin with the largest error, of those between quantiles, is divided where that error is largest, until it is
    small everywhere. Single values with much probability get bins without width.
    """
    starts = np.flatnonzero(np.concatenate([[True], samples[1:] > samples[:-1]]))
    ends = np.append(starts[1:], len(samples))
    if len(starts) > _MOST_PLACES:
        some = np.linspace(0, len(starts) - 1, _MOST_PLACES).round().astype(np.intp)
        some = np.union1d(some, np.flatnonzero(ends - starts > len(samples) / _MOST_PLACES))
        starts, ends = starts[some], ends[some]
    values, below, up_to = samples[starts], starts / len(samples), ends / len(samples)
    is_atom = up_to - below > max(2.0 * _TOLERANCE, 0.5 / most, 1.5 / len(samples))
    if is_atom.sum() > (most - 1) // 2:
        is_atom &= up_to - below > 4.0 * _TOLERANCE
    knots = _knots_of(samples, np.asarray(levels, dtype=np.float64), values, below, up_to, is_atom, most)
    is_done = is_atom.copy()
    while True:
        bins = _between(samples, *knots)
        pieces = spread(bins)
        after, before = pieces.cdf(values), pieces.cdf(np.nextafter(values, -np.inf))
        errors = np.where(is_done, 0.0, np.maximum(np.abs(up_to - after), np.abs(below - before)))
        worst = int(errors.argmax())
        if len(bins.masses) >= most or errors[worst] <= max(tolerance, 1.0 / len(samples)):
            return bins
        level, value = 0.5 * (below[worst] + up_to[worst]), values[worst]
        at = int(np.sum((knots[1] < value) | ((knots[1] == value) & (knots[0] <= level))))
        at = min(max(at, 1), len(knots[0]) - 1)
        level = min(max(level, knots[0, at - 1]), knots[0, at])  # quantiles lie between samples, half of one off
        knots = np.insert(knots, at, [level, value], axis=1)
        is_done[worst] = True


def _knots_of(
    samples: Floats, levels: Floats, values: Floats, below: Floats, up_to: Floats, is_atom: Any, most: int
) -> Floats:
    """Levels and places (2, m + 1) of edges: of frequent values both of their levels instead of those between."""
    atoms = np.flatnonzero(is_atom)
    atoms = atoms[np.argsort(below[atoms] - up_to[atoms], kind="stable")[: max(1, (most - 1) // 2)]]
    is_atom[:] = False
    is_atom[atoms] = True
    places = _sorted_quantiles(samples, levels)
    for atom in atoms.tolist():
        free = (levels <= below[atom]) | (levels >= up_to[atom])
        free &= places != values[atom]
        levels = np.concatenate([levels[free], [below[atom], up_to[atom]]])
        places = np.concatenate([places[free], [values[atom]] * 2])
    order = np.lexsort([places, levels])
    levels, places = levels[order], places[order]
    levels[0], levels[-1] = 0.0, 1.0
    while len(levels) > most + 1:  # leave out levels, never frequent values
        inner = np.flatnonzero(~np.isin(places, values[atoms]))[1:-1]
        if not len(inner):
            break
        drop = inner[np.argmin(levels[inner + 1] - levels[inner - 1])]
        levels, places = np.delete(levels, drop), np.delete(places, drop)
    return np.stack([levels, np.maximum.accumulate(places)])


def _between(samples: Floats, levels: Floats, places: Floats) -> Bins:
    """Bins between levels; their means are those of the samples, of which one may be in parts on both sides."""
    counts = levels * len(samples)
    whole = np.minimum(counts.astype(np.intp), len(samples) - 1)
    parts = np.where(np.diff(whole) > 0, np.add.reduceat(samples, whole)[:-1], 0.0)  # sums between two counts
    sums = np.concatenate([[0.0], np.cumsum(parts)]) + (counts - whole) * samples[whole]
    masses = np.diff(levels)
    middles = 0.5 * (places[1:] + places[:-1])
    several = masses * len(samples) >= _FEWEST_WITH_MEAN
    several[[0, -1]] = True
    means = np.divide(np.diff(sums), masses * len(samples), out=middles, where=several)
    means = np.clip(means, places[:-1], places[1:])
    lacking = float(sums[-1]) / len(samples) - float(masses @ means)  # the means of all are the samples'
    room = (places[1:] if lacking > 0.0 else places[:-1]) - means
    reach = float(masses @ room)
    means = means + room * min(lacking / reach, 1.0) if reach else means
    return Bins(places, masses, np.clip(means, places[:-1], places[1:]))


def _sorted_quantiles(samples: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted samples on lines between them, with the digits of numpy, which would go through all."""
    places = levels * (len(samples) - 1)
    below = np.minimum(places.astype(np.intp), max(len(samples) - 2, 0))
    lower, upper, share = samples[below], samples[np.minimum(below + 1, len(samples) - 1)], places - below
    steps = upper - lower
    return np.asarray(np.where(share < 0.5, lower + steps * share, upper - steps * (1.0 - share)))


def normal_bins(mean: float, std: float, bins: int) -> tuple[Floats, Floats, Floats]:
    """Edges, masses and means, with edges where they are best."""
    share: Floats = np.linspace(-1.0, 1.0, bins + 1)
    areas: Floats = np.abs(share) * float(gammainc(0.75, 0.25 * REACH**2))
    scores: Floats = np.sign(share) * 2.0 * np.sqrt(gammaincinv(0.75, areas))
    levels = ndtr(scores)
    levels[0], levels[-1] = 0.0, 1.0
    masses = np.diff(levels)
    density = np.exp(-0.5 * scores**2) / np.sqrt(2.0 * np.pi)
    density[0] = density[-1] = 0.0
    # E[Z; a < Z < b] = phi(a) - phi(b). In the outer bins what is beyond is included, and may pull the mean out.
    means = np.clip(-np.diff(density) / masses, scores[:-1], scores[1:])
    return mean + std * scores, masses, mean + std * means


def bins_of(value: StochasticValue, bins: int) -> Bins:
    """Return at most so many bins of a distribution, placed where it bends; their means are its means there.

    An end of the support becomes an end of the bins if it is finite and not 0, which positive values never reach.
    """
    levels = ndtr(np.linspace(-REACH, REACH, _CELLS + 1))
    edges: Floats = np.asarray(value.quantile(levels), dtype=np.float64)
    levels[0], levels[-1] = 0.0, 1.0
    for end, bound in zip((0, -1), value.support, strict=True):
        if np.isfinite(bound) and bound != 0.0:
            edges[end] = bound
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    masses = np.diff(levels)
    node_levels = levels[:-1, None] + masses[:, None] * (0.5 * (nodes + 1.0))
    # In the outer cells what is beyond is included, and may pull the mean out.
    means = np.clip(np.asarray(value.quantile(node_levels)) @ (0.5 * weights), edges[:-1], edges[1:])
    law = replace(spread(Bins(edges, masses, means)), is_smooth=True)
    return rebin(law, bins)


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
        self, edges: npt.ArrayLike, masses: npt.ArrayLike, means: npt.ArrayLike | None = None, *,
        notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        for name, value in (*checked_bins(edges, masses, means)._asdict().items(), ("notes", notes)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_samples(cls, samples: npt.ArrayLike, options: Any = None) -> Self:
        chosen = HistogramOptions() if options is None else options
        return cls(*bin_samples(checked_samples(samples), chosen.rule, chosen.bins))

    @classmethod
    def from_draws(cls, draws: npt.ArrayLike, detail: int) -> Self:
        """Bins that resolve both tails: of equal probability p99.9 would lie somewhere in the last one."""
        ordered = np.sort(checked_samples(np.ravel(draws)))
        if ordered[0] == ordered[-1]:
            return cls(*single_value(float(ordered[0])))
        return cls(*_adaptive(ordered, _tail_levels(detail), detail, _TOLERANCE))

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

    @property
    def bins(self) -> Bins:
        return Bins(self.edges, self.masses, self.means)

    @cached_property
    def distribution(self) -> PiecewiseUniform:
        """What the bins stand for."""
        return spread(self.bins)

    @property
    def mean(self) -> float:
        return float(self.masses @ self.means)

    @property
    def std(self) -> float:
        knots, masses = self.distribution.knots - self.mean, self.distribution.masses
        # The square of a large knot may be no number.
        scale = math.ldexp(0.5, math.frexp(float(np.abs(knots).max()))[1])
        low, high = knots[:-1] / scale, knots[1:] / scale
        return scale * math.sqrt(float(masses @ (low * low + low * high + high * high)) / 3.0)

    @property
    def support(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    def cdf(self, x: npt.ArrayLike) -> Floats:
        places = np.asarray(x, dtype=np.float64)
        return self.distribution.cdf(np.clip(places, np.nextafter(self.edges[0], -math.inf), self.edges[-1]))

    def pdf(self, x: npt.ArrayLike) -> Floats:
        pieces = self.distribution
        return np.asarray(pieces.table[2].take(pieces.place(np.asarray(x, dtype=np.float64))))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        return self.distribution.quantile(np.asarray(q, dtype=np.float64))

    @property
    def binned(self) -> tuple[Floats, Floats]:
        return self.edges, self.masses

    def crps(self, actual: float) -> float:
        low, high = self.support
        if low == high:
            return abs(actual - low)
        inner = min(max(actual, low), high)  # outside F is 0 or 1, and the integrand 1
        places = np.union1d([*self.edges, inner], self.means)
        # Between two places F is linear, and may jump at both; from the actual value on 1 - F counts.
        first, second = self.cdf(places[:-1]), self.cdf(np.nextafter(places[1:], -np.inf))
        is_above = places[:-1] >= inner
        first, second = np.where(is_above, 1.0 - first, first), np.where(is_above, 1.0 - second, second)
        return abs(actual - inner) + float(np.diff(places) @ (first**2 + first * second + second**2)) / 3.0

    def __repr__(self) -> str:
        if len(self.masses) > _SHOWN_BINS:
            lower, upper = self.support
            spread = f"mean {self.mean:.6g} ± {self.std:.3g}"
            return f"Histogram({len(self.masses)} bins from {lower:.6g} to {upper:.6g}, {spread})"
        bins = zip(self.edges[:-1], self.edges[1:], self.masses, strict=True)
        return f"Histogram({', '.join(f'[{low:.6g}, {high:.6g}]: {mass:.4g}' for low, high, mass in bins)})"
