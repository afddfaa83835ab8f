"""Schopf's arithmetic of histograms, kept for comparison.

Interval arithmetic on all pairs of bins gives intermediate results, each with the product of two probabilities. Even if
the probability lies evenly in both bins it does not in the interval that they give: a sum of two uniform values is
triangular. Spreading it evenly, as `cartesian` does, moves probability outward, and every further operation moves more.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", NWU-CS-99-2,
1999, section 3.3.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_stochastic.histogram.arithmetic import operate
from perf_stochastic.histogram.bins import Bins
from perfcore.base.errors import OptionError


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
