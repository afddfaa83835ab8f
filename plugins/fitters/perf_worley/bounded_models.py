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
from perf_worley.segmenters.hill_climb import HillClimb
from perfcore import UtilizationCurve
from perfcore.base.kernels import kernel
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

MOST = 20  # phases; Worley's own range (Figures 6 and 18)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoundedModels:
    """The best models of 1, 2, ... phases of one degree."""

    degree: int
    squares: Floats  # sum over cells of (mean - model)^2
    breaks: tuple[npt.NDArray[np.int64], ...]  # in cells
    degrees: tuple[npt.NDArray[np.int64], ...]  # of each phase: `degree`, or lower where that would leave the bounds


@kernel
def leaves_bounds(c0, c1, c2, length, low, high):  # type: ignore[no-untyped-def]
    """Whether ``c0 + c1 x + c2 x^2`` leaves [low, high] for x in [0, length]."""
    end = c0 + length * (c1 + length * c2)
    least, most = min(c0, end), max(c0, end)
    if c2 != 0.0:
        x = -c1 / (2.0 * c2)
        if 0.0 < x < length:
            vertex = c0 + x * (c1 + x * c2)
            least, most = min(least, vertex), max(most, vertex)
    return least < low or most > high


@kernel
def stretch_costs(values, degree, low, high, costs, stretch_degrees):  # type: ignore[no-untyped-def]
    """Fill ``costs[j, i]`` and ``stretch_degrees[j, i]``.

    These are squares and degree of the best bounded polynomial on the cells from i to j - 1.
    """
    n = values.shape[0]
    for i in range(n):
        s2 = s3 = s4 = b0 = b1 = b2 = squares = 0.0
        s0 = s1 = 0.0
        for j in range(i, n):
            x = j - i + 0.5
            v = values[j]
            xx = x * x
            s0 += 1.0
            s1 += x
            s2 += xx
            s3 += xx * x
            s4 += xx * xx
            b0 += v
            b1 += v * x
            b2 += v * xx
            squares += v * v
            length = s0
            mean = b0 / s0
            error = squares - b0 * mean
            best = 0
            if degree >= 1 and j > i:
                center = s1 / s0
                sxx = s2 - s1 * center
                slope = (b1 - center * b0) / sxx
                line = error - slope * slope * sxx
                if degree >= 2 and j > i + 1:
                    # What is left of x^2 next to 1 and x.
                    g = (s3 - center * s2) / sxx
                    h = s2 / s0
                    sxy = (b2 - h * b0) - g * (b1 - center * b0)
                    szz = (s4 - h * s2) - g * (s3 - center * s2)
                    if szz > 1e-14 * s4:
                        c2 = sxy / szz
                        c1 = slope - c2 * g
                        c0 = mean - c2 * h - c1 * center
                        if not leaves_bounds(c0, c1, c2, length, low, high):
                            error = line - c2 * sxy
                            best = 2
                if best == 0 and not leaves_bounds(mean - slope * center, slope, 0.0, length, low, high):
                    error = line
                    best = 1
            costs[j + 1, i] = max(error, 0.0)
            stretch_degrees[j + 1, i] = best


@kernel
def best_partitions(costs, most, shortest, total, back):  # type: ignore[no-untyped-def]
    """Fill ``total[n, j]`` and ``back[n, j]``: least cost of n phases up to cell j, and where the last one begins."""
    n_cells = costs.shape[0] - 1
    for n in range(1, most + 1):
        for j in range(n * shortest, n_cells + 1):
            best, begin = np.inf, 0
            for i in range((n - 1) * shortest, j - shortest + 1):
                value = total[n - 1, i] + costs[j, i]
                if value < best:
                    best, begin = value, i
            total[n, j] = best
            back[n, j] = begin


def bounded_models(cells: Cells, degree: int, most: int = MOST) -> BoundedModels:
    """The best models of 1 to ``most`` phases, fewer where the cells do not suffice."""
    n_cells = len(cells.values)
    shortest = min(max(2, degree + 1, math.ceil(2.0 * cells.period)), n_cells)
    most = max(1, min(most, n_cells // shortest))
    # At [j, i]: what a phase on cells i .. j - 1 costs, and its degree.
    costs = np.full((n_cells + 1, n_cells + 1), np.inf)
    stretch_degrees = np.zeros((n_cells + 1, n_cells + 1), np.int8)
    mean = float(cells.values.mean())
    stretch_costs(cells.values - mean, degree, cells.low - mean, cells.high - mean, costs, stretch_degrees)
    total = np.full((most + 1, n_cells + 1), np.inf)
    total[0, 0] = 0.0
    back = np.zeros((most + 1, n_cells + 1), np.int64)
    best_partitions(costs, most, shortest, total, back)
    breaks = []
    for n in range(1, most + 1):
        places = [n_cells]
        for number in range(n, 0, -1):
            places.append(int(back[number, places[-1]]))
        breaks.append(np.array(places[::-1]))
    degrees = tuple(stretch_degrees[places[1:], places[:-1]].astype(np.int64) for places in breaks)
    return BoundedModels(degree, total[1:, n_cells].copy(), tuple(breaks), degrees)


MOST_BOUNDED = 128  # phases that are looked for on cells


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


# As with trees: kept while someone uses the curve.
_made: weakref.WeakKeyDictionary[UtilizationCurve, dict[bool, CurveModels]] = weakref.WeakKeyDictionary()


def curve_models(curve: UtilizationCurve, *, fine: bool = False) -> CurveModels:
    """Those of a curve; ``fine`` splits the samples of short series (`cells_of`)."""
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
        """Phases for several n from one table."""
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
