"""How samples and distributions become bins."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.special
from scipy.special import gammainc, gammaincinv, ndtr

from perf_stochastic.bins import Bins, rebin, spread
from perf_stochastic.piecewise_uniform import PiecewiseUniform
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue

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
    if rule in ("probability", "tails", "curvature"):
        ordered = samples if (samples[1:] >= samples[:-1]).all() else np.sort(samples)  # they often come so
        if rule == "curvature":
            return _counted(ordered, _curvature_edges(ordered, bins))
        levels = _tail_levels(bins) if rule == "tails" else np.linspace(0.0, 1.0, bins + 1)
        return _counted(ordered, _quantile_edges(ordered, levels))
    edges = np.linspace(low, high, bins + 1) if rule == "width" else _of_numpy(samples, rule)
    # Samples are in the bin to their right, the largest in the last bin.
    bin_index = np.clip(edges.searchsorted(samples, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(bin_index, minlength=len(edges) - 1)
    sums = np.bincount(bin_index, weights=samples, minlength=len(edges) - 1)
    means = np.divide(sums, counts, out=0.5 * (edges[1:] + edges[:-1]), where=counts > 0)
    return edges, counts / len(samples), np.clip(means, edges[:-1], edges[1:])


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
    return np.asarray(np.interp(np.linspace(0.0, 1.0, bins + 1), shares, levels))


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
    return np.asarray(np.where(share < 0.5, lower + steps * share, upper - steps * (1.0 - share)))


def _quantile_edges(samples: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted samples; where several are one value, that value twice."""
    places, repeats = np.unique(_sorted_quantiles(samples, levels), return_counts=True)
    return np.sort(np.concatenate([places, places[repeats > 1]]))


def _curvature_edges(samples: Floats, bins: int) -> Floats:
    """Edges for the distribution function of sorted samples, drawn as lines between some of them."""
    index = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), _MOST_KNOTS)).round().astype(np.intp))
    empirical = PiecewiseUniform(samples[index], np.diff(index) / index[-1])
    return rebin(replace(empirical, is_smooth=True), bins)[0]


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


REACH = 6.0  # standard deviations to each side; what is beyond, two in a billion, goes into the outer bins


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


_CELLS = 2400  # many times the bins that are of use
_NODES = 4  # of Gauss-Legendre in each cell


def bins_of(value: StochasticValue, bins: int) -> Bins:
    """At most so many bins of a distribution, placed where it bends; their means are its means there.

    An end of the support becomes an end of the bins where it is finite and not 0. Distributions of positive values come
    close to 0 and do not reach it; with 0 in a bin they would have neither quotients nor logarithms.
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
    return Bins(*rebin(law, bins))
