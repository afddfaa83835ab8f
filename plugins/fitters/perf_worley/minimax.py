"""Worley's Algorithm M: the n phases whose largest local error is least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from perf_worley.factor_tree import PhaseBasis, bracket_root, error_tree
from perf_worley.moment_tree import MomentTree
from perf_worley.options import MOST_PHASES, WorleyOptions
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

_SHARE = (0.5, 0.75, 1.0)
_RATIO = 1.001  # between two tolerances of the grid
_RELATIVE = 1e-12
_SMALLEST = 1e-300  # no tolerance is sought below this


class Element(NamedTuple):
    """One element of the partition; ``error`` is what the tolerance bounds."""

    end: float
    step: int
    degree: int
    error: float
    updates: int


@dataclass(frozen=True)
class Uniform:
    """Polynomials of one degree."""

    degree: int

    def extend(self, tree: MomentTree, begin: float, step: int, tolerance: float) -> Element:
        """Step b) of Algorithm K."""
        end, last_step, summary, updates = tree.reach(begin, step, tolerance * tolerance, self.degree)
        return Element(end, last_step, self.degree, math.sqrt(tree.error(summary, self.degree)), updates)

    def finish(self, tree: MomentTree, begin: float, step: int) -> Element:
        """Return the last element of the partition."""
        error = math.sqrt(tree.error(tree.rest(begin, step), self.degree))
        return Element(tree.duration, tree.n_steps - 1, self.degree, error, 1)


@dataclass(frozen=True)
class Mixed:
    """Constant, linear or quadratic, whichever is simplest for the time that it covers (section 5.1)."""

    def extend(self, tree: MomentTree, begin: float, step: int, tolerance: float) -> Element:
        """Rules 1 to 6, and the rules for an element that reaches the end of the curve."""
        squared = tolerance * tolerance
        reaches = [tree.reach(begin, step, share * squared, degree) for degree, share in enumerate(_SHARE)]
        updates = sum(reach.updates for reach in reaches)
        constant, linear, quadratic = (reach.end - begin for reach in reaches)
        final = self.finish(tree, begin, step) if reaches[2].end == tree.duration else None
        if final is not None:
            # At the end of the curve the errors decide, since no degree can win more time.
            if reaches[final.degree].end == tree.duration:
                return final._replace(updates=updates + final.updates)
            degree = 1 if linear > 1.5 * constant and reaches[1].end < tree.duration else 0
        elif quadratic > 2.0 * constant and quadratic > 4.0 * linear / 3.0:
            degree = 2
        else:
            degree = 1 if linear > 1.5 * constant else 0
        end, last_step, summary, _ = reaches[degree]
        error = math.sqrt(tree.error(summary, degree) / _SHARE[degree])
        return Element(end, last_step, degree, error, updates)

    def finish(self, tree: MomentTree, begin: float, step: int) -> Element:
        """Quadratic and linear must each be better by the share that their parameters cost."""
        summary = tree.rest(begin, step)
        errors = [tree.error(summary, degree) for degree in range(3)]
        degree = 0
        if errors[2] < 0.5 * errors[0] and errors[2] < 0.75 * errors[1]:
            degree = 2
        elif errors[1] < errors[0] * (2.0 / 3.0):
            degree = 1
        error = math.sqrt(errors[degree] / _SHARE[degree])
        return Element(tree.duration, tree.n_steps - 1, degree, error, 1)


PhaseRule = Uniform | Mixed  # how far a phase goes and which degree it has


@dataclass
class Partition:
    """Result of Algorithm K."""

    tolerance: float  # the error tolerance that made it
    breaks: list[float] = field(default_factory=lambda: [0.0])  # from 0 to the duration
    degrees: list[int] = field(default_factory=list)
    objective: float = 0.0  # worley's f of equation (5): negative where the tolerance is too small for n phases
    evaluations: int = 0  # of f, and updates of errors, that the search for it took
    updates: int = 0

    def segmentation(self, *, with_degrees: bool, with_evaluations: bool = True) -> Segmentation:
        """Return the partition as segmenters give it."""
        facts = {"tolerance": self.tolerance, "evaluations": self.evaluations, "updates": self.updates}
        if not with_evaluations:
            del facts["evaluations"]
        return Segmentation(np.array(self.breaks), np.array(self.degrees) if with_degrees else None, facts)


def partition(tree: MomentTree, n_phases: int, tolerance: float, rule: PhaseRule) -> Partition:
    """Return the phases that one error tolerance gives, from left to right: Worley's Algorithm K.

    Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", Figure 1 and equation (5); the mixed
    constant, linear and quadratic heuristic with its rules for the final element is section 5.1. Worley's measure of
    simplicity: a constant takes two parameters (place and value), a line three, a quadratic four. Each degree may have
    the share parameters/4 of the squared tolerance and must win time in the same proportion.
    """
    result = Partition(tolerance)
    begin, step = 0.0, 0
    for number in range(1, n_phases + 1):
        element = rule.extend(tree, begin, step, tolerance) if number < n_phases else rule.finish(tree, begin, step)
        result.breaks.append(element.end)
        result.degrees.append(element.degree)
        result.updates += element.updates
        if element.end >= tree.duration:
            break
        begin, step = element.end, element.step
    result.objective = (n_phases - len(result.degrees) + 1) - element.error / tolerance
    return result


class _Objective:
    """Worley's f of a tolerance, and the partition of the least one that n phases can meet."""

    def __init__(self, tree: MomentTree, n_phases: int, rule: PhaseRule) -> None:
        self._arguments = tree, n_phases, rule
        self.best: Partition | None = None
        self.evaluations = self.updates = 0

    def __call__(self, tolerance: float) -> float:
        """F falls like -1/tolerance towards 0; its logarithm keeps the sign and is nearly straight there."""
        tree, n_phases, rule = self._arguments
        result = partition(tree, n_phases, tolerance, rule)
        self.evaluations += 1
        self.updates += result.updates
        f = result.objective
        if f >= 0.0 and (self.best is None or tolerance < self.best.tolerance):
            self.best = result
        return f if f >= 0.0 else -math.log1p(-f)

    def feasible(self, upper: float) -> tuple[float, float]:
        """Return a bound that is right up to rounding, made right, and its f."""
        f = self(upper)
        while f < 0.0:
            upper *= 1.0 + 4.0 * _RELATIVE
            f = self(upper)
        return upper, f

    def found(self) -> Partition:
        """Return the best partition, with what the search took."""
        assert self.best is not None
        return replace(self.best, evaluations=self.evaluations, updates=self.updates)


class MixedTolerances:
    """The least tolerance of one curve that n phases of the mixed basis can meet.

    Worley's heuristic takes for each phase the simplest degree that wins enough time, so that a larger tolerance may
    take another degree, end a phase earlier and need more phases: what is feasible has gaps. A search that halves a
    bracket ends at one edge of one gap, and at another one where it starts elsewhere. Here tolerances are scanned
    upwards on a grid that depends on the curve alone, from the least one of quadratics, below which no mixed partition
    can be; the first feasible one is then narrowed down to the edge below it. So the answer for n does not depend on
    what else is asked for. Only where the feasible tolerances make an island narrower than the grid's 0.1 % can it be
    missed.
    """

    def __init__(self, tree: MomentTree, most: int) -> None:
        self.tree, self.most, self.rule = tree, most, Mixed()
        self.largest = self.rule.finish(tree, 0.0, 0).error
        self._needed: dict[int, int] = {}

    def least(self, n_phases: int, below: float) -> Partition:
        """Return the partition of the least tolerance."""
        if self.largest <= 0.0:
            return _exact(self.tree, self.rule)
        place = 0 if below <= 0.0 else max(math.ceil(math.log(self.largest / below) / math.log(_RATIO)), 0)
        objective = _Objective(self.tree, n_phases, self.rule)
        while place > 0 and self._phases(place, objective) > n_phases:
            place -= 1
        upper, _ = objective.feasible(self.largest * _RATIO**-place)
        if n_phases > 1:
            lower = self.largest * _RATIO ** -(place + 1)
            f_lower = objective(lower)
            if f_lower < 0.0:
                bracket_root(objective, lower, f_lower, upper, objective(upper), _RELATIVE * upper)
        return objective.found()

    def _phases(self, place: int, counted: _Objective) -> int:
        """Return how many phases a tolerance of the grid needs; more never do worse."""
        if place not in self._needed:
            tolerance = self.largest * _RATIO**-place
            begin, step, count = 0.0, 0, 1
            counted.evaluations += 1
            while count <= self.most:
                element = self.rule.extend(self.tree, begin, step, tolerance)
                counted.updates += element.updates
                if element.end >= self.tree.duration:
                    break
                begin, step, count = element.end, element.step, count + 1
            self._needed[place] = count
        return self._needed[place]


class Minimax(SequenceSegmenter):
    """Algorithm M: all local L2 errors equal, hence their maximum least (Theorem 2.3, Corollary 2.4).

    With a mixed basis the partition is Worley's heuristic, no optimum; for some n it has fewer
    phases, when the least tolerance needs no more.

    Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", sections 3 and 5. Deviations: local
    errors come from a tree instead of a linear update, and the default tolerances are relative.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 3, 10], [1, 5])
    >>> Minimax().segment(curve, 2, Basis(degree=0)).breaks
    array([ 0.,  3., 10.])
    """

    Options = WorleyOptions
    objective = "largest local L2 error"
    options: WorleyOptions

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Return phases for increasing n; the tolerance for each n bounds the next one's from above."""
        if not isinstance(basis, PhaseBasis):
            basis = PhaseBasis(basis.degree)
        tree = error_tree(curve, basis)
        partitions: list[Partition] = []
        mixed = MixedTolerances(tree, max(counts)) if basis.mixed else None
        rule = Uniform(2 if basis.mixed else basis.degree)  # quadratics bound the mixed basis from below
        upper = rule.finish(tree, 0.0, 0).error
        with progress.bar("phases", len(counts)) as advance:
            for n in counts:
                if n >= curve.n_steps:
                    # As many phases as steps: each step is a phase of its own and the error is zero.
                    upper, result = 0.0, Partition(0.0, curve.relative_edges.tolist(), [0] * curve.n_steps)
                else:
                    result = least_tolerance(tree, n, rule, upper)
                    upper = result.tolerance
                    if mixed is not None:
                        bound, result = result, mixed.least(n, upper)
                        result.evaluations += bound.evaluations
                        result.updates += bound.updates
                partitions.append(result)
                advance(1)
        return [each.segmentation(with_degrees=basis.mixed) for each in partitions]

    def within(self, curve: UtilizationCurve, tolerance: float, basis: PhaseBasis) -> Segmentation:
        """As many phases as a tolerance needs: Algorithm K by itself."""
        most = min(MOST_PHASES, curve.n_steps)
        rule: PhaseRule = Mixed() if basis.mixed else Uniform(basis.degree)
        result = partition(error_tree(curve, basis), most, tolerance, rule)
        if result.objective < 0.0:
            raise OptionError(f"--tolerance {tolerance:g} needs more than {most:,} phases; give a larger one")
        return result.segmentation(with_degrees=basis.mixed, with_evaluations=False)


def least_tolerance(tree: MomentTree, n_phases: int, rule: PhaseRule, upper: float) -> Partition:
    """Solve f(epsilon) = 0 for the least tolerance that n phases can meet."""
    if upper <= 0.0:
        return _exact(tree, rule)
    objective = _Objective(tree, n_phases, rule)
    upper, f_upper = objective.feasible(upper)
    if n_phases > 1:
        lower, f_lower, shrink = upper, f_upper, 0.8
        while f_lower >= 0.0 and lower > _SMALLEST:
            upper, f_upper = lower, f_lower
            lower *= shrink
            f_lower = objective(lower)
            shrink *= shrink  # the tolerance of n + 1 phases is near that of n, of 20 far from that of one
        if f_lower < 0.0:
            bracket_root(objective, lower, f_lower, upper, f_upper, _RELATIVE * upper)
    return objective.found()


def _exact(tree: MomentTree, rule: PhaseRule) -> Partition:
    """Return one phase, of a curve that it fits without error."""
    return replace(partition(tree, 1, 1.0, rule), tolerance=0.0, evaluations=1)
