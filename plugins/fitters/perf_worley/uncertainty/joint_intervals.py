"""Intervals of breaks that several curves of one run share.

The sum of squares of all curves, each in units of its noise, is near its least where the break may be, as for one curve
(`perf_worley.uncertainty.phase_errors`). Curves that vary together, as the states of one trace do, tell the same thing
several times: the limit is as many times wider as the sum of their noise varies more than that of one, at most, which
is the largest eigenvalue of the covariance of their residuals in those units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_worley.choice.cells import Cells
from perf_worley.trees.moment_tree import MomentTree
from perf_worley.uncertainty.phase_errors import (
    LIMIT,
    near_least,
    noises_of_phases,
    processor_cycle,
    split_squares,
    tried_places,
)


Floats = npt.NDArray[np.float64]

_TOGETHER = 4  # cells over which residuals are averaged before they are correlated


def joint_break_intervals(
    trees: Sequence[MomentTree],
    curve_cells: Sequence[Cells],
    breaks: Floats,
    degrees: Sequence[npt.NDArray[np.int64]],
    noises: Floats,
    n_locations: int | None,
) -> list[tuple[float, float] | None]:
    """95 % intervals of when the program changed, at the start of each phase; None for the first, and for few cells."""
    n_cells, n_phases, width = len(curve_cells[0].values), len(breaks) - 1, curve_cells[0].width
    places = np.round(breaks / width).astype(np.int64)
    if (
        n_cells < max(3 * n_phases * (max(int(curve_degrees.max()) for curve_degrees in degrees) + 1), 8)
        or (np.diff(places) < 1).any()
    ):
        return [None] * n_phases
    each = [
        noises_of_phases(cells, places, curve_degrees)
        for cells, curve_degrees in zip(curve_cells, degrees, strict=True)
    ]
    correlations = _correlations([errors for _, errors in each], max(cells.period for cells in curve_cells))
    # Of each phase, standard deviations of the curves in the units that their squares were counted in.
    sizes = np.sqrt(np.array([of_phases for of_phases, _ in each]) / noises[:, None])
    limits = [LIMIT * width * float(np.linalg.eigvalsh(correlations * np.outer(size, size))[-1]) for size in sizes.T]
    cycle = processor_cycle(trees[0], n_locations)
    longest = max(curve_cells, key=lambda cells: cells.period)
    intervals: list[tuple[float, float] | None] = [None]
    for k in range(1, n_phases):
        around = breaks[k - 1 : k + 2]
        candidates = tried_places(around, width)
        squares = np.zeros(len(candidates))
        for tree, curve_degrees, noise in zip(trees, degrees, noises, strict=True):
            squares += split_squares(tree, candidates, around, curve_degrees[k - 1 : k + 1].tolist()) / noise
        low, high = near_least(
            candidates, squares, np.where(candidates < around[1], limits[k - 1], limits[k]), around, longest
        )
        intervals.append((max(low - cycle, float(around[0])), high))
    return intervals


def _correlations(curve_errors: Sequence[Floats], period: float) -> Floats:
    """Of the residuals of several curves, (K, K)."""
    together = max(_TOGETHER, math.ceil(period))
    n = len(curve_errors[0]) // together
    if len(curve_errors) == 1 or n < 2:
        return np.ones((len(curve_errors), len(curve_errors)))
    means = np.array([errors[: n * together].reshape(n, together).mean(axis=1) for errors in curve_errors])
    size = np.sqrt((means**2).mean(axis=1))
    correlations: Floats = (means @ means.T) / n / np.maximum(np.outer(size, size), 1e-300)
    return correlations
