"""Phases of a run by several of its curves at once, which share the breaks: states of a trace, columns of a series."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_worley.choice.bounded_search import bounded_models
from perf_worley.choice.cells import CELLS, Cells, even_cells
from perf_worley.choice.curve_models import MOST_BOUNDED
from perf_worley.choice.joint_search import joint_models, placed_together
from perf_worley.choice.number_of_phases import choose
from perf_worley.companion import Companion
from perf_worley.describe_phases import PhaseMaker, sequence_entries
from perf_worley.options import WorleyOptions
from perf_worley.phase import Evidence
from perf_worley.search import Found, with_errors
from perf_worley.trees.error_trees import moment_tree
from perf_worley.trees.moment_tree import MomentTree
from perf_worley.uncertainty.phase_errors import (
    LIMIT,
    near_least,
    noises_of_phases,
    processor_cycle,
    split_squares,
    tried_places,
)
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.contracts import Basis, Segmentation

# Intervals of breaks that several curves of one run share.
#
# The sum of squares of all curves, each in units of its noise, is near its least where the break may be, as for one
# curve
# (`perf_worley.uncertainty.phase_errors`). Curves that vary together, as the states of one trace do, tell the same
# thing
# several times: the limit is as many times wider as the sum of their noise varies more than that of one, at most,
# which
# is the largest eigenvalue of the covariance of their residuals in those units.

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


_OBJECTIVE = "sum of squared errors of all curves, each in units of its noise"


def companion_curves(data: Any, names: Sequence[str]) -> dict[str, UtilizationCurve]:
    """The curves that share the breaks: how many locations are in each state, or columns."""
    if isinstance(data, Trace):
        return {name: data.utilization([name]) for name in names}
    if not isinstance(data, Series):
        raise OptionError("--with names states of a trace, or columns of a time series; these data have neither")
    for name in names:
        if name not in data.columns:
            raise UnknownNameError("column", name, data.columns)
    return {name: data.curve(name) for name in names}


def by_joint_rule(
    curve: UtilizationCurve, others: dict[str, UtilizationCurve], counts: Sequence[int], options: WorleyOptions
) -> tuple[Found, tuple[Companion, ...]]:
    """Choose the number of phases, and place their breaks, by several curves."""
    _check(options)
    names, curves = [None, *others], [curve, *(other.merged() for other in others.values())]
    if any((each.start, each.end) != (curve.start, curve.end) for each in curves):
        raise DataError("--with: the curves do not begin and end at the same time")
    trees = [moment_tree(each) for each in curves]
    curve_cells = [even_cells(tree, each.n_locations, CELLS) for tree, each in zip(trees, curves, strict=True)]
    degrees = (0, 1, 2) if options.degree == "auto" else (int(options.degree),)
    alone = [choose(cells, {d: bounded_models(cells, d) for d in degrees}) for cells in curve_cells]
    for name, each in zip(names, alone, strict=True):
        if not each.noise > 0.0:
            raise DataError(f"--with: {name or 'the utilization'} is constant and says nothing of phases; leave it out")
    curve_cells = [
        each.cells if each.cells and each.cells.period else cells
        for each, cells in zip(alone, curve_cells, strict=True)
    ]
    degree = max(each.degree for each in alone)
    noises = np.array([each.noise for each in alone])
    last = min(counts[-1], MOST_BOUNDED)
    joint = joint_models(curve_cells, degree, noises, min(counts[0], last), last)
    choice, width, n = joint.choice, curve_cells[0].width, joint.choice.n_phases
    breaks = _times(joint.models.breaks[n - 1], width, curve)
    curve_degrees = [each[n - 1] for each in joint.degrees]
    if options.refine:
        breaks = placed_together(trees, breaks, curve_degrees, noises, width)
    makers = [PhaseMaker(each, Basis(degree=degree)) for each in curves]
    phases = [
        maker.phases(Segmentation(breaks, phase_degrees))
        for maker, phase_degrees in zip(makers, curve_degrees, strict=True)
    ]
    companions = tuple(
        Companion(name=str(name), noise=float(noise), levels=tuple(_mean(tree, a, b) for a, b in _pairs(breaks)))
        for name, tree, noise in zip(names[1:], trees[1:], noises[1:], strict=True)
    )
    sequence = []
    if len(counts) > 1:
        sequence_counts = [k for k in counts if k <= len(joint.models.squares)]
        placed = [
            Segmentation(_times(joint.models.breaks[k - 1], width, curve), joint.models.degrees[k - 1])
            for k in sequence_counts
        ]
        sequence = sequence_entries(sequence_counts, placed, [makers[0].phases(each) for each in placed], curve)
    evidence = Evidence(
        degree=degree,
        gain=choice.gain,
        needed=choice.needed,
        stretches=choice.stretches,
        noise=choice.noise,
        cell=width,
        reason=choice.reason if len(counts) > 1 else "",
        period=max(each.period for each in curve_cells) * width,
    )
    intervals = joint_break_intervals(trees, curve_cells, breaks, curve_degrees, noises, curve.n_locations)
    result = [
        replace(phase, break_interval=each and (float(curve.start) + each[0], float(curve.start) + each[1]))
        for phase, each in zip(with_errors(makers[0], curve, phases[0], _OBJECTIVE), intervals, strict=True)
    ]
    return Found(makers[0], result, sequence, evidence, _OBJECTIVE, {}), companions


def _check(options: WorleyOptions) -> None:
    conflicts = {
        "--functions": bool(options.functions),
        f"--rule {options.rule}": options.rule != "auto",
        f"--segmenter {options.segmenter}": options.segmenter != "bounded",
        f"--degree {options.degree}": options.degree in ("3", "mixed"),
    }
    for flag, is_given in conflicts.items():
        if is_given:
            raise OptionError(
                f"--with and {flag} do not go together: curves share breaks by the rule auto, up to degree 2"
            )


def _times(places: Any, width: float, curve: UtilizationCurve) -> Any:
    breaks = places.astype(np.float64) * width
    breaks[-1] = curve.duration
    return breaks


def _pairs(breaks: Any) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in itertools.pairwise(breaks)]


def _mean(tree: Any, begin: float, end: float) -> float:
    return float(tree.interval(begin, end)[1]) + float(tree.origin)
