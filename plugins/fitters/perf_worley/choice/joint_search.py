"""Phases of several curves of one run with the same breaks: their costs are summed up, in units of each one's noise.

A change that several curves show faintly is found where none of them tells alone, and a break is where all of them
change. Each curve has its own polynomial in each phase, so a phase has ``K (d + 1) + 1`` parameters; otherwise the
questions are those of `perf_worley.choice.number_of_phases`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_worley.choice.bounded_search import MOST, BoundedModels, bounded_costs, least_totals, shortest_phase
from perf_worley.choice.cells import Cells
from perf_worley.choice.number_of_phases import FIRST_ORDER, MATERIAL, Choice, needed_gain
from perf_worley.trees.moment_tree import MomentTree

Floats = npt.NDArray[np.float64]

_NEAR = 2.0  # cells within which a break is placed anew
_TRIED = 48  # edges that are tried at a time; where there are more, those between the best two are tried next
_ROUNDS = 4


@dataclass(frozen=True)
class JointModels:
    """The best models of 1, 2, ... phases of several curves, and how many the rule takes."""

    models: BoundedModels
    degrees: tuple[tuple[npt.NDArray[np.int64], ...], ...]  # of each curve, by number of phases
    choice: Choice
    noises: Floats  # long-run variance of a cell of each curve


def joint_models(
    curve_cells: Sequence[Cells], degree: int, noises: Floats, first: int = 1, last: int = MOST
) -> JointModels:
    """Search the breaks that several curves share, and choose their number."""
    n_cells, k = len(curve_cells[0].values), len(curve_cells)
    costs = [bounded_costs(cells, degree) for cells in curve_cells]
    weights = noises[0] / noises
    shortest = min(max(shortest_phase(cells, degree) for cells in curve_cells), n_cells)
    most = max(1, min(max(last, MOST), n_cells // shortest))
    squares, breaks = least_totals(
        np.asarray(sum(weight * each for weight, (each, _) in zip(weights, costs, strict=True))), most, shortest
    )
    degrees = tuple(
        tuple(stretch_degrees[places[1:], places[:-1]].astype(np.int64) for places in breaks)
        for _, stretch_degrees in costs
    )
    models = BoundedModels(degree, squares, breaks, degrees[0])
    gains = squares / noises[0]
    stretches = max(8.0, min(float(n_cells), float(gains[min(9, most - 1)]) / k))
    price, number = k * (degree + 1) + 1, np.arange(1, most + 1)
    significant = int(np.argmin(gains + FIRST_ORDER * price * number * math.log(stretches))) + 1
    # Material: of what varies in each curve, instead of its noise.
    levels = MATERIAL * np.array([max(float(np.var(cells.values)), 1e-300) for cells in curve_cells])
    shares = np.zeros(most)
    for level, (each, _) in zip(levels, costs, strict=True):
        shares += [float(each[places[1:], places[:-1]].sum()) / level for places in breaks]
    material = int(np.argmin(shares + price * number * math.log(n_cells))) + 1
    n = min(significant, material)
    needed = needed_gain(stretches)
    unit = price * math.log(stretches)
    gain = max(float(gains[0] - gains[j]) / (unit * j) for j in range(1, max(n, 2))) if most > 1 else 0.0
    reason = ""
    if significant == 1 or gain <= needed:
        n, reason = 1, "no more than noise"
    elif material == 1:
        reason = "no change is large enough to matter"
    n = min(max(n, first), last, most)
    choice = Choice(n, degree, gain, needed, stretches, float(noises[0]), reason if n == 1 else "")
    return JointModels(models, degrees, choice, noises)


def placed_together(
    trees: Sequence[MomentTree], breaks: Floats, degrees: Sequence[npt.NDArray[np.int64]], noises: Floats, width: float
) -> Floats:
    """Breaks moved to the edges near them where all curves together have the least sum of squares."""
    breaks = breaks.copy()

    def total(i: int, place: float) -> float:
        squares = 0.0
        for tree, phase_degrees, noise in zip(trees, degrees, noises, strict=True):
            squares += tree.error(tree.interval(float(breaks[i - 1]), place), int(phase_degrees[i - 1])) / noise
            squares += tree.error(tree.interval(place, float(breaks[i + 1])), int(phase_degrees[i])) / noise
        return squares

    for _ in range(_ROUNDS):
        before = breaks.copy()
        for i in range(1, len(breaks) - 1):
            near = _edges_within(
                trees,
                max(breaks[i] - _NEAR * width, np.nextafter(breaks[i - 1], np.inf)),
                min(breaks[i] + _NEAR * width, breaks[i + 1]),
            )
            if not len(near):
                continue
            first, last = 0, len(near) - 1
            while True:
                candidates = np.unique(np.linspace(first, last, _TRIED).astype(np.int64))
                best = int(np.argmin([total(i, float(near[k])) for k in candidates]))
                if last - first < _TRIED:
                    break
                first, last = int(candidates[max(best - 1, 0)]), int(candidates[min(best + 1, len(candidates) - 1)])
            if total(i, float(near[candidates[best]])) < total(i, float(breaks[i])):
                breaks[i] = near[candidates[best]]
        if (breaks == before).all():
            break
    return breaks


def _edges_within(trees: Sequence[MomentTree], begin: float, end: float) -> Floats:
    """Edges of any of the curves from ``begin`` on and before ``end``; of one curve no copy."""
    each = [tree.edges[slice(*np.searchsorted(tree.edges, [begin, end]))] for tree in trees]
    return each[0] if len(each) == 1 else np.unique(np.concatenate(each))
