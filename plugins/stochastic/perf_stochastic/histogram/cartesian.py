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

__all__ = ["cartesian", "intermediate_results", "overlap_mass", "spread_evenly"]

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
    """The paper's equation 5: intervals (k, 2) and their probabilities (k,), one for each pair of bins that hold some.

    Raises
    ------
    OptionError
        The operation is none of two operands, or the divisor can be 0.

    Examples
    --------
    >>> d = Bins(np.array([1.0, 3.0, 5.0]), np.array([0.25, 0.75]), np.array([2.0, 4.0]))
    >>> intermediate_results("add", d, d)[0].tolist()
    [[2.0, 6.0], [4.0, 8.0], [4.0, 8.0], [6.0, 10.0]]
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
    """Intermediate results spread evenly over bins of equal width, one pair of operands after the other.

    Parameters
    ----------
    operation : str
        Of one operand the function maps bins to bins, as in exact arithmetic.
    operands : sequence of Bins
    count : int, optional
        Bins of the result; as many as the operands have at most where not given.
    """
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
    """The paper's equation 6: for each bin the undivided probability of all intermediate results that overlap it.

    These are no probabilities, and sum to more than 1. Each is an upper bound of the probability of its bin, whatever
    the distribution within the operands' bins.

    Parameters
    ----------
    operation : str
    x, y : Bins
    edges : (m + 1,) float, optional
        All ends of intermediate results where not given.

    Returns
    -------
    edges : (m + 1,) float
    masses : (m,) float

    Examples
    --------
    >>> d = Bins(np.array([1.0, 3.0, 5.0]), np.array([0.25, 0.75]), np.array([2.0, 4.0]))
    >>> e = Bins(np.array([2.0, 4.0, 5.0, 8.0]), np.array([0.6, 0.0, 0.4]), np.array([3.0, 4.5, 6.5]))
    >>> overlap_mass("add", d, e, edges=[3, 5, 6, 7, 8, 9, 13])[1].round(2).tolist()
    [0.15, 0.6, 0.7, 0.55, 0.85, 0.4]
    """
    intervals, masses = intermediate_results(operation, x, y)
    places = np.unique(intervals) if edges is None else np.asarray(edges, dtype=np.float64)
    overlaps = (intervals[:, :1] < places[1:]) & (intervals[:, 1:] > places[:-1])
    return places, masses @ overlaps
