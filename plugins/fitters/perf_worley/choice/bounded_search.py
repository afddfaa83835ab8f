"""The least sum of squares on cells by phases that stay within the processors, for every number of phases at once.

Source: D. M. Hawkins, "Fitting Multiple Change-Point Models to Data", Computational Statistics & Data Analysis 37
(2001), on cell means. Deviation: a stretch costs what the polynomial of the highest degree up to d leaves that stays
within the bounds on it; a constant always does. Lowering the degree of a free fit afterwards costs far more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_worley.choice.cells import Cells
from perfcore.base.kernels import announce_compilation, kernel

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
                    # What is left of x^2 beside 1 and x.
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
    shortest = min(shortest_phase(cells, degree), n_cells)
    most = max(1, min(most, n_cells // shortest))
    costs, stretch_degrees = bounded_costs(cells, degree)
    squares, breaks = least_totals(costs, most, shortest)
    degrees = tuple(stretch_degrees[places[1:], places[:-1]].astype(np.int64) for places in breaks)
    return BoundedModels(degree, squares, breaks, degrees)


def shortest_phase(cells: Cells, degree: int) -> int:
    """How many cells a phase has at least."""
    return max(2, degree + 1, math.ceil(2.0 * cells.period))


def bounded_costs(cells: Cells, degree: int) -> tuple[Floats, npt.NDArray[np.int8]]:
    """What a phase on cells i .. j - 1 costs, and its degree, at [j, i]; (n_cells + 1, n_cells + 1) each."""
    announce_compilation(stretch_costs)
    n_cells = len(cells.values)
    mean = float(cells.values.mean())
    costs = np.full((n_cells + 1, n_cells + 1), np.inf)
    stretch_degrees = np.zeros((n_cells + 1, n_cells + 1), np.int8)
    stretch_costs(cells.values - mean, degree, cells.low - mean, cells.high - mean, costs, stretch_degrees)
    return costs, stretch_degrees


def least_totals(costs: Floats, most: int, shortest: int) -> tuple[Floats, tuple[npt.NDArray[np.int64], ...]]:
    """Least cost of 1 to ``most`` phases of at least ``shortest`` cells, and their breaks in cells."""
    announce_compilation(best_partitions)
    n_cells = len(costs) - 1
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
    return total[1:, n_cells].copy(), tuple(breaks)
