"""The bins of a histogram: their check, and how probability lies within them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_stochastic.exact.piecewise_uniform import PiecewiseUniform
from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]

_SUM_TOLERANCE = 1e-6


class Bins(NamedTuple):
    """Bins with probabilities."""

    edges: Floats
    masses: Floats
    means: Floats  # within their bins

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        return bool(self.edges[0] == self.edges[-1])


def single_value(value: float) -> Bins:
    """One bin without width."""
    return Bins(np.array([value, value]), np.ones(1), np.array([value]))


def checked_bins(
    edges: npt.ArrayLike, masses: npt.ArrayLike, means: npt.ArrayLike | None = None, total: float = 1.0
) -> Bins:
    """Bins whose first and last have some mass, and whose masses sum to 1, or to ``total`` where that is left for them.

    Raises
    ------
    DataError
        They are no bins, or their masses are no probabilities; with the bin.
    """
    edge, mass = _row("edges", edges), _row("masses", masses)
    if len(mass) < 1 or len(edge) != len(mass) + 1:
        raise DataError(f"histogram: {len(edge)} edges and {len(mass)} masses; one edge more than masses is expected")
    widths = edge[1:] - edge[:-1]
    if widths.min() < 0.0:
        bad = int(np.flatnonzero(widths < 0.0)[0])
        raise DataError(
            f"histogram: bin {bad + 1} goes back from {edge[bad]:.6g} to {edge[bad + 1]:.6g}; sort the edges"
        )
    if mass.min() < 0.0:
        bad = int(np.flatnonzero(mass < 0.0)[0])
        raise DataError(f"histogram: bin {bad + 1} has the negative probability {mass[bad]:.6g}")
    mass_sum = float(mass.sum())
    if abs(mass_sum - total) > _SUM_TOLERANCE:
        raise DataError(f"histogram: probabilities sum to {mass_sum:.6g}, not to {total:.6g}; divide each by the sum")
    middles = edge[:-1] + 0.5 * widths
    centre = middles if means is None else _row("means", means)
    if len(centre) != len(mass):
        raise DataError(f"histogram: {len(centre)} means for {len(mass)} bins")
    outside = (centre < edge[:-1]) | (centre > edge[1:])
    if outside.any():
        bad = int(outside.argmax())
        ends = f"{edge[bad]:.6g} to {edge[bad + 1]:.6g}"
        raise DataError(f"histogram: the mean {centre[bad]:.6g} is outside its bin {bad + 1}, {ends}")
    if abs(mass_sum - total) > len(mass) * np.finfo(np.float64).eps:  # less is rounding, and would go on being rounded
        mass = mass * (total / mass_sum)
    first, last = 0, len(mass)
    if mass[0] == 0.0 or mass[-1] == 0.0:  # empty bins at the ends
        filled = np.flatnonzero(mass)
        first, last = int(filled[0]), int(filled[-1]) + 1
    return Bins(edge[first : last + 1], mass[first:last], centre[first:last])


def _row(name: str, values: npt.ArrayLike) -> Floats:
    try:
        row: Floats = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"histogram: {name} must be numbers") from None
    if row.ndim != 1:
        raise DataError(f"histogram: {name} must be in one row, found {row.ndim} dimensions")
    if not np.isfinite(row).all():
        bad = int(np.flatnonzero(~np.isfinite(row))[0])
        raise DataError(f"histogram: {name}: number {bad + 1} is {row[bad]}; finite numbers are expected")
    return row


def joined(intervals: Iterable[tuple[float, float, float]]) -> tuple[list[float], list[float]]:
    """Edges and masses from separate bins; what lies between two of them becomes a bin of probability 0."""
    edges: list[float] = []
    masses: list[float] = []
    for lower, upper, mass in sorted(intervals):
        if lower > upper:
            raise DataError(f"histogram: the bin {lower:.6g} to {upper:.6g} is reversed; exchange its ends")
        if edges and lower < edges[-1]:
            raise DataError(f"histogram: a bin that begins at {lower:.6g} overlaps one that ends at {edges[-1]:.6g}")
        if not edges:
            edges.append(lower)
        elif lower > edges[-1]:
            edges.append(lower)
            masses.append(0.0)
        edges.append(upper)
        masses.append(mass)
    return edges, masses


def spread(bins: Bins) -> PiecewiseUniform:
    """The distribution that bins stand for: even below each bin's mean, and even above it."""
    low, high = bins.edges[:-1], bins.edges[1:]
    widths = high - low
    if not np.any(np.abs(bins.means - (low + 0.5 * widths)) > 1e-15 * np.abs(bins.means)):
        return PiecewiseUniform(bins.edges, bins.masses)
    knots, masses = np.empty(2 * len(low) + 1), np.empty(2 * len(low))
    knots[::2], knots[1::2] = bins.edges, bins.means
    shares = np.divide(high - bins.means, widths, out=np.ones(len(low)), where=widths > 0.0)
    masses[::2] = shares * bins.masses
    masses[1::2] = bins.masses - masses[::2]
    return PiecewiseUniform(knots, masses)
