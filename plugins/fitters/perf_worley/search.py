"""From a curve to the phases of one model by the rule ``auto``, with standard errors and intervals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_worley.bounded_models import MOST_BOUNDED, CurveModels, bounded_models, curve_models
from perf_worley.cells import Cells
from perf_worley.factor_tree import PhaseBasis
from perf_worley.moment_tree import MomentTree
from perf_worley.number_of_phases import Choice, choose, gains_of
from perf_worley.options import PhasesOptions
from perf_worley.phase_errors import phase_errors
from perf_worley.phase_maker import (
    LEAST_SQUARES,
    Found,
    PhaseMaker,
    by_rule_of_errors,
    persistence,
    sequence_entries,
    with_kept,
)
from perf_worley.phase_model import Evidence, Phase, SequenceEntry
from perfcore import UtilizationCurve
from perfcore.contracts import Segmentation, Segmenter

Floats = npt.NDArray[np.float64]

_NEAR = 2.0  # cells within which a break is placed again
_TRIED = 48  # edges that are tried at a time; where there are more, those between the best two are tried next
_ROUNDS = 4


def by_rule_auto(curve: UtilizationCurve, counts: Sequence[int], segmenter: Segmenter, options: PhasesOptions) -> Found:
    """Choose the number of phases and their degree on cells; the segmenter and the refinement then place the breaks."""
    models = curve_models(curve)
    # Degrees that the rule does not search are searched as quadratics and below.
    degrees = (int(options.degree),) if options.degree in ("0", "1", "2") else (0, 1, 2)
    last = min(counts[-1], MOST_BOUNDED)
    searched = {degree: models.of_degree(degree, last) for degree in degrees}
    choice = choose(models.cells, searched, min(counts[0], MOST_BOUNDED), last)
    n = counts[0] if len(counts) == 1 else choice.n_phases
    degree = choice.degree if options.degree == "auto" else int(options.degree)
    maker = PhaseMaker(curve, PhaseBasis(degree))
    cells = choice.cells if options.segmenter == "bounded" and degree == choice.degree else None
    if cells is not None and n == choice.n_phases > 1:
        # Breaks where the cells that the rule asked have them, and then near by where the whole curve does.
        best = bounded_models(cells, choice.degree, n)
        breaks, phase_degrees = _times(best.breaks[-1], cells, curve), best.degrees[-1]
        if options.refine:
            breaks = _on_edges(maker.polynomials, breaks, phase_degrees, cells.width)
        objective, placed = segmenter.objective, Segmentation(breaks, phase_degrees)
    else:
        objective, placed = segmenter.objective, segmenter.segment(curve, n, maker.basis)
        if options.refine:
            objective, (placed,) = LEAST_SQUARES, maker.refined([placed], models.cells.low, models.cells.high)
    phases, sequence = maker.phases(placed), []
    if len(counts) > 1:
        sequence = _sequence(curve, models, choice, counts)
        later = [entry.breaks for entry in sequence if entry.n_phases > n]
        starts = [phase.start for phase in phases[1:]]
        phases = with_kept(phases, persistence([starts, *later], curve.duration)[0])
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


def _times(places: npt.NDArray[np.int64], cells: Cells, curve: UtilizationCurve) -> Floats:
    breaks = places.astype(np.float64) * cells.width
    breaks[-1] = curve.duration
    return breaks


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
    maker = PhaseMaker(curve, PhaseBasis(choice.degree))
    sequence_counts = [n for n in counts if n <= len(searched.squares)]
    placed = [
        Segmentation(_times(searched.breaks[n - 1], models.cells, curve), searched.degrees[n - 1])
        for n in sequence_counts
    ]
    gains = gains_of(choice, searched)
    return sequence_entries(
        sequence_counts, placed, list(map(maker.phases, placed)), curve, [gains[n - 1] for n in sequence_counts]
    )


def by_errors(curve: UtilizationCurve, counts: Sequence[int], segmenter: Segmenter, options: PhasesOptions) -> Found:
    """Fit every number of phases; the knee of their errors, or a penalty, chooses. With errors as by the rule auto."""
    degree = 2 if options.degree == "auto" else int(options.degree)
    maker, objective = PhaseMaker(curve, PhaseBasis(degree)), segmenter.objective
    placed = segmenter.sequence(curve, counts, maker.basis)
    if options.refine:
        cells = curve_models(curve).cells
        objective, placed = LEAST_SQUARES, maker.refined(placed, cells.low, cells.high)
    found = by_rule_of_errors(maker, counts, placed, objective, options.rule)
    return dataclasses.replace(found, phases=with_errors(maker, curve, found.phases, found.objective))


def with_errors(maker: PhaseMaker, curve: UtilizationCurve, phases: list[Phase], objective: str) -> list[Phase]:
    """With standard errors, and intervals of breaks that lie where the behaviour changes, as far as there are any."""
    placed = objective == LEAST_SQUARES
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
            break_interval=(origin + each.start[0], origin + each.start[1]) if each.start and placed else None,
        )
        for phase, each in zip(phases, errors, strict=True)
    ]
