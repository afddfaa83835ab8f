"""Standard errors of coefficients and levels, and intervals of breaks, from the long-run variance of the curve.

Least squares over dependent cells is unbiased, but its usual errors are too small by far: intervals that take the
cells for independent hold 42 to 85 % where 95 % are meant. The covariance of the coefficients of a phase is
``noise (X'X)^-1`` with the long-run variance of its residual.

A break's interval are the places whose sum of squares is near the least, with the neighbouring breaks fixed: those
within 7.35 long-run variances of the side that loses cells. Its start is one processor cycle earlier, since breaks of
utilization are seen late: a processor in the middle of its old cycle keeps its old behaviour. So the curve changes at
the break, and the program changed within the interval.

Source of the limit: for independent noise ``P(V(true) - V(best) <= x noise) = (1 - exp(-x/2))^2``, Y.-C. Yao,
"Approximating the Distribution of the Maximum Likelihood Estimate of the Change-Point", Annals of Statistics 15 (1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_worley.choice.averaged_period import averaged_over_period
from perf_worley.choice.cells import Cells
from perf_worley.choice.long_run_variance import first_order, residuals
from perf_worley.trees.moment_kernels import interval, squared_error
from perf_worley.trees.moment_tree import MomentTree
from perfcore.base.kernels import kernel
from perfcore.base.scratch_arrays import chunks

COVERAGE = 0.95
LIMIT = -2.0 * math.log(1.0 - math.sqrt(COVERAGE))  # 7.35
_SHORT, _MIDDLE = 24, 80  # cells of a phase below which its noise is everyone's, and is not averaged over four cells
_FEWEST_PERIODS = 8  # likewise, of a curve that repeats itself
_POOLED = 0.25  # of everyone's noise: no phase has less

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PhaseErrors:
    """How sure one phase is."""

    coefficients: tuple[float, ...]  # standard errors, of powers of ``t - start``
    level: float  # standard error of the phase's mean
    start: tuple[float, float] | None  # interval of the break at its start, from the curve's start


def phase_errors(
    tree: MomentTree, cells: Cells, breaks: Floats, degrees: Sequence[int], n_locations: int | None
) -> list[PhaseErrors] | None:
    """How sure the phases of a fit are; None where the curve has too few cells to tell."""
    n_cells, n_phases = len(cells.values), len(degrees)
    if n_cells < 3 * n_phases * (max(degrees) + 1) or n_cells < 8:
        return None
    places = np.round(breaks / cells.width).astype(np.int64)
    if (np.diff(places) < 1).any():
        return None
    averaged = averaged_over_period(cells)
    noises, _ = noises_of_phases(averaged, places, np.asarray(degrees, np.int64))
    cycle, misplaced = processor_cycle(tree, n_locations), _misplaced(averaged, places)
    per_phase = []
    for k in range(n_phases):
        length = float(breaks[k + 1] - breaks[k])
        # Per time instead of per cell.
        errors = _coefficient_errors(noises[k] * cells.width, length, degrees[k])
        start = None
        if k:
            start = _break_interval(
                tree, averaged, breaks[k - 1 : k + 2], degrees[k - 1 : k + 1], noises[k - 1 : k + 1]
            )
            start = (max(start[0] - cycle, float(breaks[k - 1])), start[1])
        level = math.hypot(math.sqrt(noises[k] * cells.width / length), *(misplaced[k : k + 2] * cells.width / length))
        per_phase.append(PhaseErrors(errors, level, start))
    return per_phase


def processor_cycle(tree: MomentTree, n_locations: int | None) -> float:
    """Mean time from one start of work of a processor to its next; 0 where their number is not known."""
    if not n_locations:
        return 0.0
    heights = tree.heights
    upward = float(heights[0])
    for part in chunks(tree.n_steps - 1):
        upward += float(np.maximum(np.diff(heights[part.start : part.stop + 1]), 0.0).sum())
    return min(n_locations * tree.duration / upward, tree.duration) if upward > 0.0 else 0.0


def noises_of_phases(cells: Cells, places: Integers, degrees: Integers) -> tuple[Floats, Floats]:
    """Long-run variance of a cell of each phase, and the residuals (n_cells,)."""
    values = cells.values
    errors = np.empty(len(values))
    residuals(values, places, degrees, errors)
    highest, period = int(degrees.max()), math.ceil(cells.period)
    # Over how many cells residuals are averaged; of several the largest variance counts.
    widths = (period,) if period else (1, 2, 4)
    pooled = max(first_order(errors, len(degrees), highest, m) for m in widths if len(values) >= 4 * m)
    noises = np.empty(len(degrees))
    for k, degree in enumerate(degrees):
        phase_residuals = errors[places[k] : places[k + 1]]
        if len(phase_residuals) < max(_SHORT, _FEWEST_PERIODS * period):
            noises[k] = pooled
            continue
        inner = widths if len(phase_residuals) >= _MIDDLE else widths[:2]
        noises[k] = max(*(first_order(phase_residuals, 1, int(degree), m) for m in inner), _POOLED * pooled)
    return noises, errors


def _misplaced(cells: Cells, places: Integers) -> Floats:
    """What each break adds to a phase's sum over cells if it lies anywhere within a period: standard deviation."""
    half = math.ceil(0.5 * cells.period)
    last = len(cells.values) - 1
    jumps = cells.values[np.minimum(places + half, last)] - cells.values[np.maximum(places - 1 - half, 0)]
    jumps[[0, -1]] = 0.0
    return np.asarray(jumps * cells.period / math.sqrt(12.0))


def _coefficient_errors(noise: float, length: float, degree: int) -> tuple[float, ...]:
    """Standard errors of coefficients of powers of time, for noise per time over ``length``."""
    powers = np.arange(degree + 1)
    # In units of the length, where the matrix of integrals of t^(i + j) is Hilbert's.
    inverse = np.linalg.inv(1.0 / (powers[:, None] + powers[None, :] + 1.0))
    return tuple(float(e) for e in np.sqrt(noise / length * np.diag(inverse)) / length**powers)


@kernel
def _split_squares(edges, heights, origin, nodes, ends, steps, places, place_steps, left, right, squares):  # type: ignore[no-untyped-def]
    """Fill the sum of squares of two phases that meet at each place."""
    for i in range(places.shape[0]):
        place, step = places[i], place_steps[i]
        before = interval(edges, heights, origin, nodes, ends[0], steps[0], place, step)
        after_step = step
        if edges[step + 1] <= place:
            after_step = step + 1
        after = interval(edges, heights, origin, nodes, place, after_step, ends[1], steps[1])
        squares[i] = squared_error(before, left) + squared_error(after, right)


def _break_interval(
    tree: MomentTree, cells: Cells, breaks: Floats, degrees: Sequence[int], noises: Floats
) -> tuple[float, float]:
    """Where the middle of three breaks may be, without the cycle."""
    places = tried_places(breaks, cells.width)
    limits = LIMIT * cells.width * np.where(places < breaks[1], noises[0], noises[1])
    return near_least(places, split_squares(tree, places, breaks, degrees), limits, breaks, cells)


def tried_places(breaks: Floats, width: float) -> Floats:
    """Edges of cells between the outer ones of three breaks, and the middle one."""
    begin, middle, end = (float(value) for value in breaks)
    inner = np.arange(math.floor(begin / width) + 2, math.ceil(end / width) - 1) * width
    return np.unique(np.append(inner[(inner > begin) & (inner < end)], middle))


def split_squares(tree: MomentTree, places: Floats, breaks: Floats, degrees: Sequence[int]) -> Floats:
    """Sums of squares of two phases that meet at each place."""
    steps = np.searchsorted(tree.edges, places, side="left") - 1
    outer = np.array([tree.step_at(breaks[0]), int(np.searchsorted(tree.edges, breaks[2], side="left")) - 1])
    squares = np.empty(len(places))
    _split_squares(*tree.arrays, breaks[[0, 2]], outer, places, steps, degrees[0], degrees[1], squares)
    return squares


def near_least(places: Floats, squares: Floats, limits: Floats, breaks: Floats, cells: Cells) -> tuple[float, float]:
    """First and last place whose squares are within the limits, and one cell more."""
    begin, middle, end = (float(value) for value in breaks)
    near = places[squares - squares.min() <= limits]
    low, high = min(float(near.min(initial=middle)), middle), max(float(near.max(initial=middle)), middle)
    # A mean over a period is blurred by half of it.
    blur = max(1.0, 0.5 * cells.period) * cells.width
    return max(low - blur, begin), min(high + blur, end)
