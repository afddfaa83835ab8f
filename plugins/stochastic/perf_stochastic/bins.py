"""The bins of a histogram, how probability lies within them, and how a law is put into them.

Edges are where the distribution function bends; masses and means are exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_stochastic.laws import Law, PiecewiseUniform
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError

_SUM_TOLERANCE = 1e-6
_FEWEST_CELLS = 48  # of the sketch from which edges are placed
_ROUNDING = 1e-13  # of levels
_CLOSEST_CELLS = 1e-14  # of the range
_PLACES_PER_BIN = 4  # to choose from, where bins are divided
_NO_DISTANCE = 1e-13
_EVEN_SHARE = 0.1  # of the edges that goes evenly over the sketch's cells, in case it overlooks something
_ATOM_SHARE = 0.25  # of a bin's fair probability: a single value that has more gets a bin without width


class Bins(NamedTuple):
    """Bins with probabilities."""

    edges: Floats
    masses: Floats
    means: Floats  # within their bins

    @property
    def is_constant(self) -> bool:
        return bool(self.edges[0] == self.edges[-1])


def single_value(value: float) -> Bins:
    """One bin without width."""
    return Bins(np.array([value, value]), np.ones(1), np.array([value]))


def checked_bins(edges: npt.ArrayLike, masses: npt.ArrayLike, means: npt.ArrayLike | None = None) -> Bins:
    """Bins whose first and last have some mass, and whose masses sum to 1."""
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
    if abs(mass_sum - 1.0) > _SUM_TOLERANCE:
        raise DataError(f"histogram: probabilities sum to {mass_sum:.6g}, not to 1; divide each by the sum")
    middles = edge[:-1] + 0.5 * widths
    centre = middles if means is None else _row("means", means)
    if len(centre) != len(mass):
        raise DataError(f"histogram: {len(centre)} means for {len(mass)} bins")
    outside = (centre < edge[:-1]) | (centre > edge[1:])
    if outside.any():
        bad = int(outside.argmax())
        ends = f"{edge[bad]:.6g} to {edge[bad + 1]:.6g}"
        raise DataError(f"histogram: the mean {centre[bad]:.6g} is outside its bin {bad + 1}, {ends}")
    if abs(mass_sum - 1.0) > len(mass) * np.finfo(np.float64).eps:  # less is rounding, and would go on being rounded
        mass = mass * (1.0 / mass_sum)
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


def rebin(law: Law, bins: int) -> Bins:
    """Return bins of a law, with its probabilities and means; frequent single values get bins without width."""
    low, high = law.support
    if not math.isfinite(high - low):
        raise FloatingPointError("the range is too large")
    if low == high:
        return single_value(low)
    atoms, atom_masses = _large_atoms(law, bins)
    # A single value needs a bin, and may cut another in two.
    edges = place_edges(law, max(1, bins - 2 * len(atoms)))
    jumps = np.zeros(len(edges))
    if len(atoms):
        edges = edges[~np.isin(edges, atoms)]
        edges, jumps = np.concatenate([edges, atoms, atoms]), np.concatenate([0.0 * edges, atom_masses, atom_masses])
        order = edges.argsort(kind="stable")
        edges, jumps = edges[order], jumps[order]
    upper, integrals = law.cdf_and_integral(edges)
    upper[-1] = 1.0
    lower = upper - jumps
    # Before the first edge there is nothing; a small single value at it belongs to the first bin.
    upper[0] = jumps[0]
    widths = edges[1:] - edges[:-1]
    masses = np.maximum(np.where(widths > 0.0, lower[1:] - upper[:-1], jumps[1:]), 0.0)
    # The integral over the bin of (z - left edge) dF, by parts.
    offsets = widths * lower[1:] - (integrals[1:] - integrals[:-1])
    means = edges[:-1] + np.divide(offsets, masses, out=0.5 * widths, where=masses > np.finfo(np.float64).tiny)
    masses /= masses.sum()
    means = np.clip(means, edges[:-1], edges[1:])
    # What rounding changed in the expected value is taken by the bin in which it matters least.
    room = masses * widths
    best = int(room.argmax())
    if room[best] > 0.0:  # not of single values only
        means[best] += (law.mean - float(masses @ means)) / masses[best]
        means[best] = min(max(means[best], edges[best]), edges[best + 1])
    return Bins(edges, masses, means)


def _large_atoms(law: Law, bins: int) -> tuple[Floats, Floats]:
    atoms, masses = law.atoms
    if not len(atoms):
        return atoms, masses
    large = np.flatnonzero(masses > _ATOM_SHARE / bins)
    large = large[np.argsort(-masses[large], kind="stable")[: max(1, bins // 3)]]
    large.sort()
    return atoms[large], masses[large]


def place_edges(law: Law, bins: int) -> Floats:
    """Edges for which the largest error of the distribution function is small."""
    low, high = law.support
    if bins == 1:
        return np.array([low, high])
    return _equidistributed(law, bins) if law.is_smooth else _divided(law, bins)


def _equidistributed(law: Law, bins: int) -> Floats:
    low, high = law.support
    sketch, places = law.coarse(), np.sort(law.places())
    levels = np.maximum.accumulate(_spread_levels(sketch, places))
    # Closer together in the tails.
    cell_levels = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, max(_FEWEST_CELLS, 2 * bins) + 1))
    cells = np.interp(cell_levels * levels[-1], levels, places)
    cells = cells[np.concatenate([[True], cells[1:] - cells[:-1] > _CLOSEST_CELLS * (high - low)])]
    if len(cells) <= 2:
        return np.linspace(low, high, bins + 1)
    cells[0], cells[-1] = low, high
    levels = _spread_levels(sketch, cells)
    widths = (cells[1:] - cells[:-1]) / (high - low)
    densities = (levels[1:] - levels[:-1]) / widths
    bends = np.abs(densities[1:] - densities[:-1]) / (0.5 * (widths[1:] + widths[:-1]))
    # Where it is straight, the root would make much of rounding, which differs between machines.
    bends[bends * np.minimum(widths[1:], widths[:-1]) ** 2 < _ROUNDING * levels[-1]] = 0.0
    roots = np.sqrt(np.concatenate([bends[:1], bends, bends[-1:]]))
    shares = (roots[1:] + roots[:-1]) * widths
    shares += _EVEN_SHARE / (1.0 - _EVEN_SHARE) * (shares.mean() or 1.0)
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    edges = np.interp(np.arange(bins + 1) * (cumulated[-1] / bins), cumulated, cells)
    edges[0], edges[-1] = low, high
    return np.asarray(edges[np.concatenate([[True], edges[1:] > edges[:-1]])])


def _divided(law: Law, bins: int) -> Floats:
    low, high = law.support
    places = np.unique(np.concatenate([law.places(), [low, high]]))
    parts = math.ceil(_PLACES_PER_BIN * bins / (len(places) - 1))
    if parts > 1:
        shares = np.arange(parts) / parts
        places = np.append((places[:-1, None] + (places[1:] - places[:-1])[:, None] * shares).ravel(), high)
    elif len(places) > 2 * _PLACES_PER_BIN * bins:
        kept = np.linspace(0, len(places) - 1, 2 * _PLACES_PER_BIN * bins + 1).round().astype(np.intp)
        places = places[kept]
    levels = _spread_levels(law, places)
    cuts = np.array([0, len(places) - 1])
    while len(cuts) <= bins:
        distances = np.abs(levels - np.interp(places, places[cuts], levels[cuts]))
        largest = np.maximum.reduceat(distances, cuts[:-1])
        if largest.max() <= _NO_DISTANCE:
            break
        # Those within a factor of two of the worst at once: a division makes less than half of an error.
        worst = np.flatnonzero(largest > 0.5 * largest.max())
        worst = worst[np.argsort(-largest[worst], kind="stable")[: bins + 1 - len(cuts)]].tolist()
        new = [cuts[k] + distances[cuts[k] : cuts[k + 1]].argmax() for k in worst]
        cuts = np.sort(np.concatenate([cuts, new]))
    return np.asarray(places[cuts])


def _spread_levels(law: Law, places: Floats) -> Floats:
    """The distribution function at places (n,), less the jumps at single values: these need no edges around them."""
    levels = law.cdf_and_integral(places)[0]
    atoms, masses = law.atoms
    if len(atoms):
        levels = levels - np.concatenate([[0.0], np.cumsum(masses)]).take(atoms.searchsorted(places, side="right"))
    return levels
