"""The least sum of squares on cells by phases that stay within the processors, for every number of phases at once.

Source: D. M. Hawkins, "Fitting Multiple Change-Point Models to Data", Computational Statistics & Data Analysis 37
(2001), on cell means. Deviation: a stretch costs what the polynomial of the highest degree up to d leaves that stays
within the bounds on it; a constant always does. Lowering the degree of a free fit afterwards costs far more.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_worley.cells import Cells, cells_of
from perf_worley.factor_tree import moment_tree
from perf_worley.segmenters import HillClimb, traced
from perfcore import UtilizationCurve
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

MOST = 20  # phases; Worley's own range (Figures 6 and 18)
_STARTS_AT_ONCE = 32  # of stretches: some arrays of 512 cells that a processor's cache holds
MOST_BOUNDED = 128  # phases that are looked for on cells
# As with trees: kept while someone uses the curve.
_made: weakref.WeakKeyDictionary[UtilizationCurve, dict[bool, CurveModels]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class BoundedModels:
    """The best models of 1, 2, ... phases of one degree."""

    degree: int
    squares: Floats  # sum over cells of (mean - model)^2
    breaks: tuple[Ints, ...]  # in cells
    degrees: tuple[Ints, ...]  # of each phase: `degree`, or lower where that would leave the bounds


def leaves_bounds(c0: Floats, c1: Floats, c2: Floats, length: Floats, low: float, high: float) -> Booleans:
    """Return whether ``c0 + c1 x + c2 x^2`` leaves [low, high] for x in [0, length]."""
    x = np.clip(-c1 / (2.0 * c2), 0.0, length)  # an end where the vertex lies outside
    values = np.stack([c0, c0 + length * (c1 + length * c2), np.where(c2 == 0.0, c0, c0 + x * (c1 + x * c2))])
    return np.asarray((values.min(axis=0) < low) | (values.max(axis=0) > high))


def stretch_costs(values: Floats, degree: int, low: float, high: float) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return squares and degree of the best bounded polynomial on cells i to j - 1, at [j, i]; infinite for j <= i."""
    n = len(values)
    costs, degrees = np.full((n + 1, n + 1), np.inf), np.zeros((n + 1, n + 1), np.int8)
    # In rows one stretch after another from the same cell, in columns those of the same length.
    x = np.arange(n) + 0.5
    length, s1, s2, s3, s4 = (np.cumsum(x**power) for power in range(5))
    center, h = s1 / length, s2 / length
    sxx = s2 - s1 * center
    g = (s3 - center * s2) / sxx  # what is left of x^2 next to 1 and x
    szz = (s4 - h * s2) - g * (s3 - center * s2)
    windows = np.lib.stride_tricks.sliding_window_view(np.append(values, np.zeros(n - 1)), n)
    for first in range(0, n, _STARTS_AT_ONCE):
        v = windows[first : first + _STARTS_AT_ONCE]
        b0, squares = np.cumsum(v, axis=1), np.cumsum(v * v, axis=1)
        mean = b0 / length
        error, best = squares - b0 * mean, np.zeros(v.shape, np.int8)
        if degree >= 1:
            left = np.cumsum(v * x, axis=1) - center * b0
            slope = left / sxx
            line = error - slope * slope * sxx
            fits = (sxx > 0.0) & ~leaves_bounds(mean - slope * center, slope, np.zeros(1), length, low, high)
            error, best = np.where(fits, line, error), fits.astype(np.int8)
        if degree >= 2:
            sxy = (np.cumsum(v * (x * x), axis=1) - h * b0) - g * left
            c2 = sxy / szz
            c1 = slope - c2 * g
            fits = (szz > 1e-14 * s4) & ~leaves_bounds(mean - c2 * h - c1 * center, c1, c2, length, low, high)
            fits[:, :2] = False
            error, best = np.where(fits, line - c2 * sxy, error), np.where(fits, np.int8(2), best)
        for i, (row, row_degrees) in enumerate(zip(np.maximum(error, 0.0), best, strict=True), first):
            costs[i + 1 :, i], degrees[i + 1 :, i] = row[: n - i], row_degrees[: n - i]
    return costs, degrees


def bounded_models(cells: Cells, degree: int, most: int = MOST) -> BoundedModels:
    """Return the best models of 1 to ``most`` phases, fewer where the cells do not suffice."""
    n_cells = len(cells.values)
    shortest = min(max(2, degree + 1, math.ceil(2.0 * cells.period)), n_cells)
    most = max(1, min(most, n_cells // shortest))
    mean = float(cells.values.mean())
    with np.errstate(all="ignore"):  # of one or two cells
        costs, stretch_degrees = stretch_costs(cells.values - mean, degree, cells.low - mean, cells.high - mean)
    total = np.full((most + 1, n_cells + 1), np.inf)  # least cost of n phases up to cell j
    total[0, 0] = 0.0
    back = np.zeros((most + 1, n_cells + 1), np.int64)  # where the last one begins
    places = np.arange(n_cells + 1)
    long_enough = np.where(places[:, None] - places >= shortest, costs, np.inf)
    for n in range(1, most + 1):
        sums = long_enough + total[n - 1]
        back[n] = sums.argmin(axis=1)
        total[n] = sums[places, back[n]]
    breaks = [traced(back, n) for n in range(1, most + 1)]
    degrees = tuple(stretch_degrees[each[1:], each[:-1]].astype(np.int64) for each in breaks)
    return BoundedModels(degree, total[1:, n_cells].copy(), tuple(breaks), degrees)


class CurveModels:
    """Cells of one curve and the best models on them."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._models: dict[int, BoundedModels] = {}

    def of_degree(self, degree: int, most: int = MOST) -> BoundedModels:
        """Of 1 to ``most`` phases or more."""
        most = min(max(most, MOST), MOST_BOUNDED)
        enough = min(most, len(self.cells.values) // max(2, degree + 1))
        if degree not in self._models or len(self._models[degree].squares) < enough:
            self._models[degree] = bounded_models(self.cells, degree, most)
        return self._models[degree]


def curve_models(curve: UtilizationCurve, *, fine: bool = False) -> CurveModels:
    """Return those of a curve; ``fine`` splits the samples of short series (`cells_of`)."""
    cached = _made.setdefault(curve, {})
    if fine not in cached:
        cells = cells_of(moment_tree(curve), curve.n_locations, fine=fine)
        other = cached.get(not fine)
        same = other is not None and len(other.cells.values) == len(cells.values)
        cached[fine] = other if other is not None and same else CurveModels(cells)
    return cached[fine]


class Bounded(SequenceSegmenter):
    """Dynamic programme over 512 cells of equal duration, whose phases do not leave [0, P] by more than 2 % of P.

    The default. Its breaks lie where the behaviour changes; refinement places them on the steps of the curve. A phase
    that would leave the bounds has a lower degree. More than 128 phases are left to `hill-climb`, the mixed basis and
    functions to `minimax`.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> Bounded().segment(curve, 2, Basis(degree=0)).breaks.round(2)
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        searched = curve_models(curve, fine=True)
        models = searched.of_degree(min(basis.degree, 2), max(counts))
        segmentations = []
        for n in counts:
            if n >= curve.n_steps:
                each = Segmentation(curve.relative_edges.copy(), np.zeros(curve.n_steps, np.int64))
            elif n > min(len(models.squares), MOST_BOUNDED):
                each = HillClimb().segment(curve, n, basis)
            else:
                breaks = models.breaks[n - 1].astype(np.float64) * searched.cells.width
                breaks[-1] = curve.duration
                degrees = models.degrees[n - 1]
                if basis.degree == 3:  # searched with quadratics; refinement sees to the bounds of cubics
                    degrees = np.where(degrees == 2, 3, degrees)
                each = Segmentation(breaks, degrees)
            segmentations.append(each)
        return segmentations
