"""From a curve to the phases of one model: by the rule ``auto``, or by a rule of the curve of errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_worley.choice.bounded_search import bounded_models
from perf_worley.choice.cells import Cells
from perf_worley.choice.curve_models import MOST_BOUNDED, CurveModels, curve_models
from perf_worley.choice.number_of_phases import Choice, choose, gains_of
from perf_worley.describe_phases import PhaseMaker, sequence_entries
from perf_worley.options import WorleyOptions
from perf_worley.phase import Evidence, Phase, SequenceEntry
from perf_worley.sensitivity import RULES, persistence
from perf_worley.trees.error_trees import moment_tree
from perf_worley.trees.moment_tree import MomentTree
from perf_worley.uncertainty.phase_errors import phase_errors
from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Segmentation, Segmenter

Floats = npt.NDArray[np.float64]

_DEGREES = (0, 1, 2)
_LEAST_SQUARES = "sum of squared errors"
_NEAR = 2.0  # cells within which a break is placed anew
_TRIED = 48  # edges that are tried at a time; where there are more, those between the best two are tried next
_ROUNDS = 4


@dataclass(frozen=True)
class Found:
    """A model's phases and where they come from."""

    maker: PhaseMaker
    phases: list[Phase]
    sequence: list[SequenceEntry]  # of all numbers of phases that were tried; empty for a single one
    evidence: Evidence | None
    objective: str
    cost: dict[str, int | float]  # of the search for this model


def by_rule_of_errors(
    curve: UtilizationCurve, counts: Sequence[int], segmenter: Segmenter, basis: Basis, rule: str, *, refine: bool
) -> Found:
    """Fit every number of phases; of several the rule chooses by their errors."""
    segmentations = segmenter.sequence(curve, counts, basis)
    maker = PhaseMaker(curve, basis)
    objective, refined = _refined(maker, segmentations, segmenter, curve, refine=refine)
    phases = [maker.phases(each) for each in refined]
    sequence = sequence_entries(counts, refined, phases, curve) if len(counts) > 1 else []
    chosen, result = 0, phases[0]
    if sequence:
        errors = [entry.sum_of_squares for entry in sequence]
        chosen = list(counts).index(RULES[rule](counts, errors, curve.n_steps))
        result = _with_kept(phases[chosen], sequence[chosen].kept)
    result = with_errors(maker, curve, result, objective)
    return Found(maker, result, sequence, None, objective, dict(refined[chosen].statistics))


def by_rule_auto(
    curve: UtilizationCurve,
    counts: Sequence[int],
    segmenter: Segmenter,
    basis_of: Callable[[str], Basis],
    options: WorleyOptions,
) -> Found:
    """Choose the number of phases and their degree on cells; the segmenter and the refinement then place the breaks."""
    models = curve_models(curve)
    choice = _choice(models, counts, options.degree)
    n = counts[0] if len(counts) == 1 else choice.n_phases
    basis = basis_of(str(choice.degree))
    maker = PhaseMaker(curve, basis)
    cells = choice.cells if options.segmenter == "bounded" and basis.degree == choice.degree else None
    if cells is not None and n == choice.n_phases > 1:
        objective, placed = segmenter.objective, _placed_on(cells, curve, choice, refine=options.refine)
    else:
        objective, (placed,) = _refined(
            maker, [segmenter.segment(curve, n, basis)], segmenter, curve, refine=options.refine
        )
    phases, sequence = maker.phases(placed), []
    if len(counts) > 1:
        sequence = _sequence(curve, models, choice, counts)
        later = [entry.breaks for entry in sequence if entry.n_phases > n]
        starts = [phase.start for phase in phases[1:]]
        phases = _with_kept(phases, persistence([starts, *later], curve.duration)[0])
    evidence = Evidence(
        degree=choice.degree,
        gain=choice.gain,
        needed=choice.needed if math.isfinite(choice.needed) else None,
        stretches=choice.stretches,
        noise=choice.noise,
        cell=models.cells.width,
        reason=choice.reason if len(counts) > 1 else "",
        period=0.0 if choice.cells is None else choice.cells.period * choice.cells.width,
    )
    phases = with_errors(maker, curve, phases, objective)
    return Found(maker, phases, sequence, evidence, objective, dict(placed.statistics))


def _choice(models: CurveModels, counts: Sequence[int], degree: str) -> Choice:
    """What the rule says; degrees that it does not search are searched as quadratics and below."""
    degrees = (int(degree),) if degree in map(str, _DEGREES) else _DEGREES
    last = min(counts[-1], MOST_BOUNDED)
    searched = {d: models.of_degree(d, last) for d in degrees}
    return choose(models.cells, searched, min(counts[0], MOST_BOUNDED), last)


def _placed_on(cells: Cells, curve: UtilizationCurve, choice: Choice, *, refine: bool) -> Segmentation:
    """Breaks where the cells that the rule asked have them, and then near by where the whole curve does."""
    searched = bounded_models(cells, choice.degree, choice.n_phases)
    breaks = searched.breaks[-1].astype(np.float64) * cells.width
    breaks[-1] = curve.duration
    degrees = searched.degrees[-1]
    if refine:
        breaks = _on_edges(moment_tree(curve), breaks, degrees, cells.width)
    return Segmentation(breaks, degrees)


def _on_edges(tree: MomentTree, breaks: Floats, degrees: npt.NDArray[np.int64], width: float) -> Floats:
    """Breaks moved to the edges near them with the least sum of squares."""
    breaks = breaks.copy()

    def squares(i: int, place: float) -> float:
        before = tree.error(tree.interval(float(breaks[i - 1]), place), int(degrees[i - 1]))
        return before + tree.error(tree.interval(place, float(breaks[i + 1])), int(degrees[i]))

    for _ in range(_ROUNDS):
        previous = breaks.copy()
        for i in range(1, len(breaks) - 1):
            begin = max(breaks[i] - _NEAR * width, np.nextafter(breaks[i - 1], np.inf))
            end = min(breaks[i] + _NEAR * width, breaks[i + 1])
            near = tree.edges[slice(*np.searchsorted(tree.edges, [begin, end]))]
            if not len(near):
                continue
            first, last = 0, len(near) - 1
            while True:
                candidates = np.unique(np.linspace(first, last, _TRIED).astype(np.int64))
                best = int(np.argmin([squares(i, float(near[k])) for k in candidates]))
                if last - first < _TRIED:
                    break
                first, last = int(candidates[max(best - 1, 0)]), int(candidates[min(best + 1, len(candidates) - 1)])
            if squares(i, float(near[candidates[best]])) < squares(i, float(breaks[i])):
                breaks[i] = near[candidates[best]]
        if (breaks == previous).all():
            break
    return breaks


def _sequence(
    curve: UtilizationCurve, models: CurveModels, choice: Choice, counts: Sequence[int]
) -> list[SequenceEntry]:
    """All numbers of phases as they are on cells: refining each would take longer than all the rest."""
    searched = models.of_degree(choice.degree, counts[-1])
    if choice.cells is not None and choice.cells.period:
        searched = bounded_models(choice.cells, choice.degree, counts[-1])
    maker = PhaseMaker(curve, Basis(degree=choice.degree))
    sequence_counts = [n for n in counts if n <= len(searched.squares)]
    placed = []
    for n in sequence_counts:
        breaks = searched.breaks[n - 1].astype(np.float64) * models.cells.width
        breaks[-1] = curve.duration
        placed.append(Segmentation(breaks, searched.degrees[n - 1]))
    gains = gains_of(choice, searched)
    return sequence_entries(
        sequence_counts, placed, list(map(maker.phases, placed)), curve, [gains[n - 1] for n in sequence_counts]
    )


def _refined(
    maker: PhaseMaker,
    segmentations: Sequence[Segmentation],
    segmenter: Segmenter,
    curve: UtilizationCurve,
    *,
    refine: bool,
) -> tuple[str, list[Segmentation]]:
    """What the breaks minimise, and the segmentations, refined where that was asked for and they are polynomials."""
    if not refine or maker.basis.functions:
        return segmenter.objective, list(segmentations)
    cells = curve_models(curve).cells
    return _LEAST_SQUARES, maker.refined(segmentations, cells.low, cells.high)


def _with_kept(phases: Sequence[Phase], kept: Sequence[int]) -> list[Phase]:
    return [replace(phase, kept=number) for phase, number in zip(phases, (None, *kept), strict=True)]


def with_errors(maker: PhaseMaker, curve: UtilizationCurve, phases: list[Phase], objective: str) -> list[Phase]:
    """With standard errors, and intervals of breaks that lie where the behaviour changes, as far as there are any."""
    placed = objective == _LEAST_SQUARES
    if maker.basis.functions:
        return phases
    if placed:
        phases = maker.within_processors(phases)
    origin = float(curve.start)
    breaks = np.array([phase.start for phase in phases] + [phases[-1].end]) - origin
    errors = phase_errors(
        maker.polynomials, curve_models(curve).cells, breaks, [phase.degree for phase in phases], curve.n_locations
    )
    if errors is None:
        return phases
    return [
        replace(
            phase,
            standard_errors=each.coefficients,
            level_error=each.level,
            break_interval=None
            if each.start is None or not placed
            else (origin + each.start[0], origin + each.start[1]),
        )
        for phase, each in zip(phases, errors, strict=True)
    ]
