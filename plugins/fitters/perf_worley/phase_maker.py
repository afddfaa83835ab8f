"""Phases of a segmentation, and the sequence of models that the number of phases is chosen from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf_worley.bounded_models import MOST_BOUNDED, CurveModels, bounded_models, curve_models
from perf_worley.cells import Cells, phase_errors
from perf_worley.factor_tree import PhaseBasis, factor_tree, moment_tree
from perf_worley.moment_tree import MomentTree, Summary
from perf_worley.number_of_phases import Choice, choose, gains_of
from perf_worley.options import PhasesOptions
from perf_worley.phase_model import Evidence, Phase, SequenceEntry
from perf_worley.segmenters import climb
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Floats, Ints
from perfcore.contracts import Segmentation, Segmenter

LEAST_SQUARES = "sum of squared errors"
_MOST_BOUNDED = 5  # rounds of lowering degrees and moving breaks
# Worley asks for a sensitivity analysis that takes into account "how much the fit changes when an additional phase is
# assumed, and what features of the approximation are preserved" (section 1). The first is the drop of the error, the
# second the persistence of each breakpoint.
_SAME = 0.01  # of the run: breakpoints this close are the same feature
_NEAR = 2.0  # cells within which a break is placed again
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


class PhaseMaker:
    """Makes phases of segmentations of one curve."""

    def __init__(self, curve: UtilizationCurve, basis: PhaseBasis) -> None:
        self.curve, self.basis = curve, basis
        self.polynomials = moment_tree(curve)
        self.tree = factor_tree(curve, basis) if basis.functions else self.polynomials
        summary = self.polynomials.between(0, curve.n_steps)
        self.centered_squares = self.polynomials.error(summary, 0)
        width, mean = summary[0], self.polynomials.origin + summary[1]
        self.total_squares = self.centered_squares + width * mean * mean

    def refined(
        self, segmentations: Sequence[Segmentation], low: float = -np.inf, high: float = np.inf
    ) -> list[Segmentation]:
        """Return the same numbers of phases with their breaks moved to the least sum of squares.

        A phase whose ends would leave [low, high] takes a lower degree, and the breaks move once more.
        """
        result = []
        with progress.bar("refining", len(segmentations)) as advance:
            for each in segmentations:
                degrees = each.degrees if each.degrees is not None else np.full(len(each.breaks) - 1, self.basis.degree)
                moved = self._within(climb(self.polynomials, each.breaks, degrees), low, high)
                # The tolerance belongs to the partition that was left behind.
                facts = {key: value for key, value in each.statistics.items() if key != "tolerance"}
                result.append(Segmentation(moved.breaks, moved.degrees, {**facts, **moved.statistics}))
                advance(1)
        return result

    def _within(self, segmentation: Segmentation, low: float, high: float) -> Segmentation:
        """With lower degrees where ends of phases leave the bounds, and breaks moved once more; constants never do."""
        assert segmentation.degrees is not None
        facts = dict(segmentation.statistics)
        for again in reversed(range(_MOST_BOUNDED)):
            degrees = segmentation.degrees.copy()
            for k, highest in enumerate(segmentation.degrees.tolist()):
                begin, end = float(segmentation.breaks[k]), float(segmentation.breaks[k + 1])
                summary = self.polynomials.interval(begin, end)
                degree = highest
                while degree:  # a constant always stays within
                    coefficients = powers(summary, self.polynomials.origin, degree)
                    ends = coefficients[0], float(np.polyval(coefficients[::-1], end - begin))
                    if low <= min(ends) and max(ends) <= high:
                        break
                    degree -= 1
                degrees[k] = degree
            if (degrees == segmentation.degrees).all() or not again:
                break
            # A break that is put elsewhere takes its degree along, so this need not end.
            segmentation = climb(self.polynomials, segmentation.breaks, degrees)
            facts = {name: value + segmentation.statistics[name] for name, value in facts.items()}
        return Segmentation(segmentation.breaks, degrees, facts)

    def phases(self, segmentation: Segmentation) -> list[Phase]:
        degrees = segmentation.degrees
        if degrees is None:
            degrees = np.full(len(segmentation.breaks) - 1, self.basis.degree)
        origin, tree = float(self.curve.start), self.tree
        result = []
        for (begin, end), degree in zip(pairwise(segmentation.breaks.tolist()), degrees.tolist(), strict=True):
            summary: Any = tree.interval(begin, end)
            if isinstance(tree, MomentTree):
                coefficients = powers(summary, tree.origin, degree)
            else:
                coefficients = tuple(tree.coefficients(summary).tolist())
            error, shown_degree = float(np.sqrt(tree.error(summary, degree))), len(self.basis.functions) or degree
            result.append(Phase(origin + begin, origin + end, shown_degree, coefficients, error))
        return result

    def within_processors(self, phases: Sequence[Phase]) -> list[Phase]:
        """Return phases that compute on no fewer than no processors and on no more than there are."""
        lowest, highest = self.polynomials.extremes
        low, high = min(0.0, lowest), max(float(self.curve.n_locations or np.inf), highest)
        return [flattened(phase, low, high) for phase in phases]


def powers(summary: Summary, origin: float, degree: int) -> tuple[float, ...]:
    """Return coefficients of powers of ``t - start`` from a summary's Legendre coefficients."""
    width, *legendre, _ = summary
    c0, c1, c2, c3 = (c if k <= degree else 0.0 for k, c in enumerate(legendre))
    # Powers of u in [-1, 1], then of u = s tau - 1 with s = 2 / width.
    a0, a1, a2, a3 = c0 - 0.5 * c2, c1 - 1.5 * c3, 1.5 * c2, 2.5 * c3
    s = 2.0 / width
    coefficients = (origin + a0 - a1 + a2 - a3, s * (a1 - 2.0 * a2 + 3.0 * a3), s * s * (a2 - 3.0 * a3), s * s * s * a3)
    return tuple(float(value) for value in coefficients[: degree + 1])


def flattened(phase: Phase, low: float, high: float) -> Phase:
    """The phase, flattened about its mean as far as it would leave [low, high]; its processor time stays the same.

    Bounds of the search are a little wider, so that noise about a bound does not lower a degree.
    """
    length = phase.end - phase.start
    if not length > 0.0:  # shorter than the resolution of its clock
        return phase
    least, most = _range(phase.coefficients, length)
    mean = sum(c * length**k / (k + 1) for k, c in enumerate(phase.coefficients))
    share = 1.0
    if least < low:
        share = min(share, max(0.0, (mean - low) / (mean - least)))
    if most > high:
        share = min(share, max(0.0, (high - mean) / (most - mean)))
    if share == 1.0:
        return phase
    about = np.polynomial.Polynomial(phase.coefficients) - mean
    squares = float((about * about).integ()(length))
    first, *others = phase.coefficients
    return replace(
        phase,
        coefficients=(mean + share * (first - mean), *(share * c for c in others)),
        error=float(np.hypot(phase.error, (1.0 - share) * math.sqrt(max(squares, 0.0)))),
    )


def _range(coefficients: Sequence[float], length: float) -> tuple[float, float]:
    """Return the least and largest value on a phase of that length."""
    slopes = [k * c * length ** (k - 1) for k, c in enumerate(coefficients) if k]  # at shares of the length
    roots = np.roots(slopes[::-1]) if any(slopes[1:]) else np.empty(0)
    extremes = roots.real[np.abs(roots.imag) < 1e-9]
    times = np.concatenate([[0.0, length], extremes[(extremes > 0.0) & (extremes < 1.0)] * length])
    values = np.polyval(coefficients[::-1], times)
    return float(values.min()), float(values.max())


def sequence_entries(
    counts: Sequence[int],
    segmentations: Sequence[Segmentation],
    phases: Sequence[Sequence[Phase]],
    curve: UtilizationCurve,
    gains: Sequence[float] | None = None,
) -> list[SequenceEntry]:
    """Return the figures of each model of a sequence, and in how many of the following ones its breaks stay."""
    inner = [[phase.start for phase in each[1:]] for each in phases]
    kept = persistence(inner, curve.duration)
    entries = []
    for number, (n, segmentation, each) in enumerate(zip(counts, segmentations, phases, strict=True)):
        facts = segmentation.statistics
        entry = SequenceEntry(
            n_phases=n,
            epsilon=max(phase.error for phase in each),
            tolerance=facts.get("tolerance"),
            sum_of_squares=sum(phase.error**2 for phase in each),
            breaks=tuple(inner[number]),
            kept=tuple(kept[number]),
            following=len(counts) - number - 1,
            evaluations=int(facts["evaluations"]) if "evaluations" in facts else None,
            updates=int(facts["updates"]) if "updates" in facts else None,
            gain=None if gains is None else gains[number],
        )
        entries.append(entry)
    return entries


def persistence(models: Sequence[Sequence[float]], duration: float) -> list[list[int]]:
    """For each break of each model in how many of the following models it stays."""
    counts = []
    for number, breaks in enumerate(models):
        kept = np.zeros(len(breaks), dtype=np.int64)
        for later in models[number + 1 :]:
            distance = np.abs(np.subtract.outer(np.asarray(breaks), np.asarray(later)))
            kept += distance.min(axis=1, initial=np.inf) <= _SAME * duration
        counts.append(kept.tolist())
    return counts


def knee(counts: Sequence[int], errors: Sequence[float], n_steps: int) -> int:
    """Return the number of phases at the knee of the error curve.

    The point that lies farthest below the chord of (n, error) scaled to the unit square: V. Satopaa, J. Albrecht, D.
    Irwin and B. Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011, section III, without their
    smoothing since the curve is exact.
    """
    x, y = np.asarray(counts, float), np.asarray(errors, float)
    if len(x) < 3 or not y.max() > y.min():
        return int(counts[0] if not y.max() > y.min() else counts[int(np.argmin(y))])
    below = 1.0 - (x - x[0]) / (x[-1] - x[0]) - (y - y.min()) / (y.max() - y.min())
    return int(counts[int(np.argmax(below))])


def penalty(counts: Sequence[int], errors: Sequence[float], n_steps: int) -> int:
    """Return the number of phases that minimises Schwarz' criterion for change points.

    ``n_steps * log(error / n_steps) + 2 n log(n_steps)``: Y.-C. Yao, "Estimating the number of change-points via
    Schwarz' criterion", Statistics & Probability Letters 6 (1988), with a penalty for the place and one for the level
    of each phase. It takes steps for independent observations; where they are not, it tends to the largest n.
    """
    scores = [
        n_steps * math.log(max(error, 1e-300) / n_steps) + 2.0 * n * math.log(n_steps)
        for n, error in zip(counts, errors, strict=True)
    ]
    return int(counts[scores.index(min(scores))])


RULES: dict[str, Callable[[Sequence[int], Sequence[float], int], int]] = {"knee": knee, "penalty": penalty}


def by_rule_of_errors(
    maker: PhaseMaker,
    counts: Sequence[int],
    placed: Sequence[Segmentation],
    objective: str,
    rule: str,
    worth: float = 0.0,
) -> Found:
    """Return the phases of each number of them; of several numbers the rule chooses by their errors.

    The knee has no scale: where the phases that it finds lower the sum of squares of the fewest by a share of less than
    ``worth``, the fewest are taken.
    """
    phases = [maker.phases(each) for each in placed]
    sequence = sequence_entries(counts, placed, phases, maker.curve) if len(counts) > 1 else []
    chosen = 0
    if sequence:
        errors = [entry.sum_of_squares for entry in sequence]
        chosen = list(counts).index(RULES[rule](counts, errors, maker.curve.n_steps))
        if rule == "knee" and errors[chosen] > (1.0 - worth) * errors[0]:
            chosen = 0
        phases[chosen] = with_kept(phases[chosen], sequence[chosen].kept)
    return Found(maker, phases[chosen], sequence, None, objective, dict(placed[chosen].statistics))


def with_kept(phases: Sequence[Phase], kept: Sequence[int]) -> list[Phase]:
    """In how many of the following models the start of each stays."""
    return [replace(phase, kept=number) for phase, number in zip(phases, (None, *kept), strict=True)]


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


def _times(places: Ints, cells: Cells, curve: UtilizationCurve) -> Floats:
    breaks = places.astype(np.float64) * cells.width
    breaks[-1] = curve.duration
    return breaks


def _on_edges(tree: MomentTree, breaks: Floats, degrees: Ints, width: float) -> Floats:
    """Return breaks moved to the edges near them with the least sum of squares."""
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
    """Return all numbers of phases as they are on cells: refining each would take longer than all the rest."""
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
