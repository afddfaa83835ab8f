"""Phases of a segmentation, and the sequence of models that the number of phases is chosen from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf_worley.cells import (
    LONGEST_OUTLIER,
    Cells,
    autoregressive,
    averaged_over_period,
    block_variance,
    event_variance,
    first_order,
    phase_errors,
    residuals,
    without_outliers,
)
from perf_worley.factor_tree import FactorTree, PhaseBasis, error_tree, moment_tree
from perf_worley.moment_tree import MomentTree, Summary
from perf_worley.options import PhasesOptions
from perf_worley.phase_model import Evidence, Phase, SequenceEntry
from perf_worley.segmenters import MOST_BOUNDED, BoundedModels, CurveModels, bounded_models, climb, curve_models
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Booleans, Floats, Ints
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

_CORRELATIONS = np.array([0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])  # of neighbouring cells
_STEPS = np.geomspace(1e-4, 100.0, 14)  # variance of what is new in the level, over that of the error of a cell
_STILL, _OFTEN = 1e-9, 0.25  # a change that is rounding, next to all changes; share of the cells
# In halves of ln(cells) for each parameter, of each further phase and once more, as the best of many places for a break
# is taken. Set on 25 runs each of random walks, 1/f^1.5, AR(0.95) with errors, and benchmarks/phases_simulated.py.
_PRICE, _ONCE = 0.9, 1.0
# On 15 runs each of levels that rise or fall slowly, up to five phases (up and down again) lead by 18 to 114; of those
# that wander with Gaussian steps by 2 at most.
_CLEARLY, _MOST_ASKED = 20.0, 5
FIRST_ORDER, _AUTOREGRESSIVE, _TOTAL = 1.5, 2.0, 1.0  # price of a parameter, by estimate of the noise
MATERIAL = 0.5  # also, of the mean square about one level
_LEVEL = 0.01  # of the processors: differences between levels that are too small to matter
_EVENTS = 3.0
_GATE, _GATE_SHORT = 1.5, 50.0  # what must be gained is _GATE + _GATE_SHORT / N units
_LEAST_STRETCHES = 8.0
WANDERS = "not identifiable: a random walk fits as well"
FEW = 16.0  # stretches that are too few to tell


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
        self.tree = error_tree(curve, basis) if basis.functions else self.polynomials
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
            if isinstance(tree, FactorTree):
                coefficients = tuple(tree.coefficients(summary).tolist())
            else:
                coefficients = powers(summary, tree.origin, degree)
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
        breaks, phase_degrees = cells.times(best.breaks[-1], curve.duration), best.degrees[-1]
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
    counts = [n for n in counts if n <= len(searched.squares)]
    breaks = [models.cells.times(searched.breaks[n - 1], curve.duration) for n in counts]
    placed = [Segmentation(each, searched.degrees[n - 1]) for n, each in zip(counts, breaks, strict=True)]
    gains = _gains(searched.squares, choice.noise, searched.degree, choice.stretches)
    phases = [maker.phases(each) for each in placed]
    return sequence_entries(counts, placed, phases, curve, [gains[n - 1] for n in counts])


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
    degrees, cells = [phase.degree for phase in phases], curve_models(curve).cells
    errors = phase_errors(maker.polynomials, cells, breaks, degrees, curve.n_locations)
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


# How many phases a curve has, and of which degree: four questions that phases must answer.
#
# 1. Significant? A phase gains more than the noise would give it; of three estimates of the noise the middle answer. 2.
# Material? A phase explains a share of what there is to explain: at 512 cells and degree 0 1.2 % of the squares. 3.
# More than noise? All phases together gain more than those of a curve without any.
#
# 4. More than a level that wanders, as a random walk or 1/f noise does? (`RandomWalk`)
#
# They are asked once more of the curve without its outliers, whose answer counts where it has fewer phases, or as many
# and one of them was no longer than an outlier: single cells far from their neighbours make no phases, and take none. A
# curve that repeats itself every few cells is averaged over its period first (`perf_worley.cells`).
#
# Criteria of the form ``S(n) / noise + c (d + 2) n log N``, where S(n) is the least sum of squares of n phases on cells
# and N the number of independent stretches, go back to Y.-C. Yao, Statistics & Probability Letters 6 (1988).
# Deviations: the noise is a long-run variance, since cells are dependent; the constants are calibrated on simulated
# utilization of independent, alternating and synchronising processes (docs/how-we-know.md judges them on other data).


class RandomWalk:
    """A level that wanders about one curve, as a random walk or 1/f noise does, which phases are compared with.

    Such noise has no scale: whatever the length of its stretches, the level of one differs from that of the next, so
    phases gain far more than noise that is forgotten after a while. So two models are compared that have such noise,
    which is autoregressive with an error of its own in each cell (a state-space model; J. Durbin, S. J. Koopman, Time
    Series Analysis by State Space Methods, 2012, chapters 2 and 7): one curve, and the phases. Each has its likeliest
    correlation and error; what phases must gain is G. Schwarz' criterion (Annals of Statistics 6, 1978). Deviations:
    means are by least squares; the price has a factor; cells on both sides of a break do not count, as the break may
    lie within them.
    """

    def __init__(self, values: Floats, models: Mapping[int, BoundedModels]) -> None:
        self._values, self._models = values, models
        self._parameter = 0.5 * math.log(len(values))

    def lead(self, degree: int, n_phases: int) -> tuple[float, int]:
        """Return how much likelier phases are than one curve, and the degree of that curve."""
        counts = np.ones(len(self._values), dtype=np.bool_)
        breaks = self._models[degree].breaks[n_phases - 1]
        counts[breaks[1:-1] - 1] = counts[breaks[1:-1]] = False
        single = {one: self._likelihood(one, 1, counts) - self._parameter * (one + 1) for one in self._models}
        best = max(single, key=single.__getitem__)
        price = self._parameter * (degree + 2) * (_PRICE * (n_phases - 1) + _ONCE)
        return self._likelihood(degree, n_phases, counts) - price - single[best], best

    def is_refuted(self) -> bool:
        """Return whether phases of any number are far likelier, though those in question may not be."""
        return any(
            self.lead(degree, n)[0] > _CLEARLY
            for degree, models in self._models.items()
            for n in range(2, min(_MOST_ASKED, len(models.squares)) + 1)
        )

    def _likelihood(self, degree: int, n_phases: int, counts: Booleans) -> float:
        errors = residuals(self._values, self._models[degree].breaks[n_phases - 1], np.full(n_phases, degree))
        return likeliest(errors, counts, _CORRELATIONS, _STEPS)


def likeliest(errors: Floats, counts: Booleans, correlations: Floats, steps: Floats) -> float:
    """Return the largest log-likelihood of residuals (n,), those that ``counts`` marks, over what their level may do.

    By Kalman's filter, with the likeliest variance of the error.
    """
    # All that a level may do at once; first, that it stays.
    correlation = np.append(0.0, np.repeat(correlations, len(steps)))
    step = np.append(0.0, np.tile(steps, len(correlations)))
    kept, level, variance = correlation * correlation, np.zeros(len(step)), step / (1.0 - correlation * correlation)
    squares, expected = np.zeros(len(step)), np.ones((len(errors), len(step)))
    for i, (error, is_counted) in enumerate(zip(errors.tolist(), counts.tolist(), strict=True)):
        if is_counted:
            missed = error - level
            expected[i] += variance
            squares += missed * missed / expected[i]
            level = level + variance / expected[i] * missed
            variance = variance / expected[i]
        level = correlation * level
        variance = kept * variance + step
    n = int(counts.sum())
    likelihoods = n * np.log(np.maximum(squares / max(n, 1), 1e-300)) + np.log(expected).sum(axis=0)
    return -0.5 * float(likelihoods.min())


@dataclass(frozen=True)
class Choice:
    """What the rule found."""

    n_phases: int
    degree: int
    gain: float
    needed: float  # what it must be above
    stretches: float  # N, how many independent stretches the curve is worth
    noise: float  # long-run variance of a cell
    reason: str  # why it is one phase; empty where it is several
    cells: Cells | None = None


def choose(cells: Cells, models: Mapping[int, BoundedModels], first: int = 1, last: int | None = None) -> Choice:
    """Return the number of phases and degree."""
    last = max(len(each.squares) for each in models.values()) if last is None else last

    def answer_of(variant: Cells) -> Choice:
        searched = {d: bounded_models(variant, d, len(each.squares)) for d, each in models.items()}
        return dataclasses.replace(_answer(variant, searched, first, last), cells=variant)

    averaged = averaged_over_period(cells) if first < last else cells
    if averaged is not cells and len(cells.values) >= 2.0 * averaged.period * first:
        return answer_of(averaged)
    choice = _answer(cells, models, first, last)
    calm = without_outliers(cells) if choice.n_phases > first else cells
    if calm is not cells:
        calm_choice = answer_of(calm)
        spent = np.diff(models[choice.degree].breaks[choice.n_phases - 1]).min() <= LONGEST_OUTLIER
        if calm_choice.n_phases < choice.n_phases or (spent and calm_choice.n_phases == choice.n_phases):
            return calm_choice
    return choice


def _answer(cells: Cells, models: Mapping[int, BoundedModels], first: int, last: int) -> Choice:
    """Return what the questions say."""
    values = cells.values
    n_cells = len(values)
    if float(np.ptp(values)) <= 1e-12 * cells.scale or n_cells < 4:
        reason = "the curve is constant" if n_cells >= 4 else "too few cells to tell"
        most = max(len(each.squares) for each in models.values())
        return Choice(min(first, most), min(models), 0.0, math.inf, float(n_cells), 0.0, reason)
    blocks, events = block_variance(values), _EVENTS * event_variance(values)
    judged = {degree: _judge(cells, each, blocks, events, first, last) for degree, each in models.items()}
    choice = next(iter(judged.values())) if len(models) == 1 else _with_degree(cells, models, judged, first)
    # A level that often stands still is made of few steps, and does not wander.
    stands_still = np.mean(np.abs(np.diff(values)) <= _STILL * np.ptp(values)) > _OFTEN
    if first > 1 or choice.n_phases == 1 or cells.period or stands_still:
        return choice
    level = RandomWalk(values, models)
    lead, single = level.lead(choice.degree, choice.n_phases)
    if lead > 0.0:
        return choice
    if not level.is_refuted():
        return dataclasses.replace(judged[single], n_phases=1, reason=WANDERS)
    several = [each for each in judged.values() if each.n_phases > 1]
    return max(several, key=lambda each: level.lead(each.degree, each.n_phases)[0])


def _stretches(squares: Floats, noise: float, n_cells: int) -> float:
    """Return how many independent stretches the cells are worth."""
    return max(_LEAST_STRETCHES, min(n_cells, float(squares[min(9, len(squares) - 1)]) / max(noise, 1e-300)))


def _least(squares: Floats, noise: float, price: float, degree: int, stretches: float) -> int:
    """Return the number of phases at which the criterion is least."""
    n = np.arange(1, len(squares) + 1)
    return 1 + int(np.argmin(squares / noise + price * (degree + 2) * n * math.log(stretches)))


def _consistent(squares: Floats, noises: Floats, price: float, degree: int, n_cells: int, floor: float) -> float:
    """Return the noise of the model that it makes the choice: from the richest model downwards."""
    n = len(squares)
    while True:
        noise = max(float(noises[n - 1]), floor)
        chosen = _least(squares, noise, price, degree, _stretches(squares, noise, n_cells))
        if chosen >= n:
            return noise
        n = chosen


def _judge(cells: Cells, models: BoundedModels, blocks: float, events: float, first: int, last: int) -> Choice:
    values, squares, degree = cells.values, models.squares, models.degree
    n_cells, total = len(values), max(float(np.var(values)), 1e-300)
    exact = 1e-12 * total  # below it there is only rounding
    # Long-run variances of the residuals of each model: by first order, and by any order.
    simple, rich = np.empty(len(squares)), np.empty(len(squares))
    widths = [m for m in (1, 2, 4) if m == 1 or n_cells >= 40 * m]
    for i, breaks in enumerate(models.breaks):
        errors = residuals(values, breaks, np.full(i + 1, degree))
        simple[i] = min(first_order(errors, i + 1, degree, m) for m in widths)
        rich[i] = autoregressive(errors, breaks, degree)
    simple_noise = max(_consistent(squares, simple, FIRST_ORDER, degree, n_cells, exact), blocks, events)
    rich_noise = max(_consistent(squares, rich, _AUTOREGRESSIVE, degree, n_cells, max(0.5 * blocks, exact)), events)
    significant = sorted(
        (
            _least(squares, simple_noise, FIRST_ORDER, degree, _stretches(squares, simple_noise, n_cells)),
            _least(squares, rich_noise, _AUTOREGRESSIVE, degree, _stretches(squares, rich_noise, n_cells)),
            _least(squares, total, _TOTAL, degree, n_cells),
        )
    )[1]
    level = max(total, (_LEVEL * cells.scale) ** 2)
    material = _least(squares, MATERIAL * level, 1.0, degree, n_cells)
    noise = sorted((simple_noise, rich_noise, total))[1]
    n, stretches = min(significant, material), _stretches(squares, noise, n_cells)
    needed = _GATE + _GATE_SHORT / stretches  # units of the noise, to be more than noise
    gain = max(_gains(squares, noise, degree, stretches)[1 : max(n, 2)], default=0.0)
    reason = ""
    if significant == 1:
        reason = "not significant"
    elif material == 1:
        reason = "no material change"
    elif gain <= needed:
        n, reason = 1, "no more than noise"
    if reason and stretches < FEW:
        reason = "effective sample size too small"
    n = min(max(n, first), last, len(squares))
    return Choice(n, degree, gain, needed, stretches, noise, reason if n == 1 else "")


def _gains(squares: Floats, noise: float, degree: int, stretches: float) -> list[float]:
    """Return what 1, 2, ... phases gain over one, in units of the noise."""
    if noise <= 0.0:
        return [0.0] * len(squares)
    unit = noise * (degree + 2) * math.log(stretches)
    return [0.0, *(float(squares[0] - s) / (unit * j) for j, s in enumerate(squares[1:], 1))]


def _with_degree(cells: Cells, models: Mapping[int, BoundedModels], judged: Mapping[int, Choice], first: int) -> Choice:
    """Return the degree whose model costs least at its own number; several phases must beat the best single one."""
    n_cells = len(cells.values)
    noise = min(each.noise for each in judged.values())
    stretches = min(_stretches(each.squares, noise, n_cells) for each in models.values())
    price = max(
        FIRST_ORDER * noise * math.log(stretches),
        MATERIAL * max(float(np.var(cells.values)), 1e-300) * math.log(n_cells),
    )
    costs: dict[tuple[int, int], float] = {}
    for degree, each in models.items():
        for n in {1, judged[degree].n_phases} if first == 1 else {judged[degree].n_phases}:
            costs[degree, n] = float(each.squares[n - 1]) + price * (degree + 2) * n
    singles = {key: cost for key, cost in costs.items() if key[1] == 1}
    if not singles:
        return judged[min(costs, key=costs.__getitem__)[0]]
    single = min(singles, key=singles.__getitem__)
    margin = _GATE_SHORT / stretches * noise * math.log(stretches)
    several = {
        (degree, n): cost
        for (degree, n), cost in costs.items()
        if n > 1 and costs[single] - cost >= margin * (degree + 2) * (n - 1) and cost < costs[single]
    }
    if several:
        return judged[min(several, key=several.__getitem__)[0]]
    single_choice = judged[single[0]]
    # Where the same degree found several, a single curve of another does as well.
    reason = single_choice.reason or (
        "one phase fits as well" if stretches >= FEW else "effective sample size too small"
    )
    return dataclasses.replace(single_choice, n_phases=1, reason=reason)
