"""Worley's Algorithm M: the n phases whose largest local error is least."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from perf_worley.segmenters.algorithm_k import ErrorTree, Mixed, Partition, PhaseRule, Uniform, partition
from perf_worley.segmenters.bracketing import close_in
from perf_worley.segmenters.options import MinimaxOptions
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

# The least tolerance that n phases of the mixed basis can meet.
#
# Worley's heuristic takes for each phase the simplest degree that wins enough time, so that a larger tolerance may
# take
# another degree, end a phase earlier and need more phases: what is feasible has gaps. A search that halves a bracket
# ends at one edge of one gap, and at another one where it starts elsewhere. Here tolerances are scanned upwards on a
# grid
# that depends on the curve alone, from the least one of quadratics, below which no mixed partition can be; the first
# feasible one is then narrowed down to the edge below it. So the answer for n does not depend on what else is asked
# for.
# Only where the feasible tolerances make an island narrower than the grid's 0.1 % can it be missed.

_RATIO = 1.001  # between two tolerances of the grid
_RELATIVE = 1e-12


class MixedTolerances:
    """Least tolerances of one curve."""

    def __init__(self, tree: ErrorTree, most: int, gap: float = 0.0) -> None:
        self.tree, self.most, self.gap, self.rule = tree, most, gap, Mixed()
        self.largest = self.rule.finish(tree, 0.0, 0).error
        self.evaluations = self.updates = 0
        self._needed: dict[int, int] = {}

    def least(self, n_phases: int, below: float, absolute: float | None = None) -> Partition:
        """The partition of the least tolerance."""
        if self.largest <= 0.0:
            result = partition(self.tree, 1, 1.0, self.rule, self.gap)
            result.tolerance = 0.0
            return result
        place = 0 if below <= 0.0 else max(math.ceil(math.log(self.largest / below) / math.log(_RATIO)), 0)
        while place > 0 and self._phases(place) > n_phases:
            place -= 1
        upper = self._tolerance(place)
        best = self._partition(n_phases, upper)
        while best.objective < 0.0:  # one phase, up to rounding
            upper *= 1.0 + 4.0 * _RELATIVE
            best = self._partition(n_phases, upper)
        if n_phases == 1:
            return best

        def objective(tolerance: float) -> float:
            nonlocal best
            result = self._partition(n_phases, tolerance)
            f = result.objective
            if f >= 0.0 and tolerance < best.tolerance:
                best = result
            return f if f >= 0.0 else -math.log1p(-f)

        lower = self._tolerance(place + 1)
        f_lower = objective(lower)
        if f_lower < 0.0:
            width = 0.5 * absolute if absolute is not None else _RELATIVE * upper
            close_in(objective, lower, f_lower, upper, objective(upper), width)
        return best

    def _tolerance(self, place: int) -> float:
        return self.largest * _RATIO**-place

    def _partition(self, n_phases: int, tolerance: float) -> Partition:
        result = partition(self.tree, n_phases, tolerance, self.rule, self.gap)
        self.evaluations += 1
        self.updates += result.updates
        return result

    def _phases(self, place: int) -> int:
        """How many phases a tolerance of the grid needs; more never do worse."""
        if place in self._needed:
            return self._needed[place]
        tolerance = self._tolerance(place)
        begin, step, count = 0.0, 0, 1
        self.evaluations += 1
        while count <= self.most:
            if self.rule.finish(self.tree, begin, step).error <= tolerance:
                break
            element = self.rule.extend(self.tree, begin, step, tolerance, self.gap)
            self.updates += element.updates
            if element.end >= self.tree.duration:
                break
            begin, step, count = element.end, element.step, count + 1
        self._needed[place] = count
        return count


# Relative width at which the search for the tolerance ends when the user sets none.
_SMALLEST = 1e-300  # no tolerance is sought below this


class Minimax(SequenceSegmenter):
    """Worley's segmenter: all local L2 errors equal, hence their maximum least (Theorem 2.3, Corollary 2.4).

    Choose it to see a run at a glance and for a sequence of models; it is the fastest by far. It does not place
    breakpoints well where phases differ in length, since a short phase grows until its error equals the others':
    refine it (`hill-climb`) when places matter.

    With a mixed basis the weighted errors are bounded by the tolerance, and the partition is Worley's heuristic, not
    an optimum; for some n it has fewer phases, when the least tolerance needs no more.

    Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", sections 3 and 5. Deviations: local
    errors come from a tree instead of a linear update, and the default tolerances are relative.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 3, 10], [1, 5])
    >>> Minimax().segment(curve, 2, Basis(degree=0)).breaks
    array([ 0.,  3., 10.])
    """

    Options = MinimaxOptions
    objective = "largest local L2 error"
    supports_mixed = True
    supports_functions = True
    options: MinimaxOptions

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for increasing n; the tolerance for each n bounds the next one's from above."""
        # Imported here, with the compiler: help and completion ask this module for its options only.
        from perf_worley.trees.error_trees import error_tree

        tree = error_tree(curve, basis)
        segmentations: list[Segmentation] = []
        mixed = MixedTolerances(tree, max(counts), self.options.break_tolerance or 0.0) if basis.mixed else None
        rule = Uniform(2 if basis.mixed else basis.degree)  # quadratics bound the mixed basis from below
        upper = rule.finish(tree, 0.0, 0).error
        with progress.bar("phases", len(counts)) as advance:
            for n in counts:
                if n >= curve.n_steps:
                    # As many phases as steps: each step is a phase of its own and the error is zero.
                    result, evaluations, updates = _steps(curve), 0, 0
                else:
                    result, evaluations, updates = least_tolerance(
                        tree,
                        n,
                        rule,
                        upper,
                        self.options.epsilon_tolerance,
                        self.options.break_tolerance or 0.0,
                    )
                upper = result.tolerance
                if mixed is not None and n < curve.n_steps:
                    before = (mixed.evaluations, mixed.updates)
                    result = mixed.least(n, result.tolerance, self.options.epsilon_tolerance)
                    evaluations += mixed.evaluations - before[0]
                    updates += mixed.updates - before[1]
                segmentations.append(
                    Segmentation(
                        np.array(result.breaks),
                        np.array(result.degrees) if basis.mixed else None,
                        {
                            "tolerance": result.tolerance,
                            "evaluations": evaluations,
                            "updates": updates,
                        },
                    )
                )
                advance(1)
        return segmentations


def least_tolerance(
    tree: ErrorTree,
    n_phases: int,
    rule: PhaseRule,
    upper: float,
    absolute: float | None = None,
    gap: float = 0.0,
) -> tuple[Partition, int, int]:
    """Solve f(epsilon) = 0 for the least tolerance that n phases can meet."""
    evaluations = updates = 0
    best: Partition | None = None

    def objective(tolerance: float) -> float:
        nonlocal evaluations, updates, best
        result = partition(tree, n_phases, tolerance, rule, gap)
        evaluations += 1
        updates += result.updates
        f = result.objective
        if f >= 0.0 and (best is None or tolerance < best.tolerance):
            best = result
        # f falls like -1/tolerance towards 0; its logarithm keeps the sign and is nearly straight there.
        return f if f >= 0.0 else -math.log1p(-f)

    if upper <= 0.0:
        result = partition(tree, 1, 1.0, rule, gap)
        result.tolerance = 0.0
        return result, 1, result.updates
    f_upper = objective(upper)
    while f_upper < 0.0:  # a bound that is right up to rounding
        upper *= 1.0 + 4.0 * _RELATIVE
        f_upper = objective(upper)
    if n_phases > 1:
        lower, f_lower, shrink = upper, f_upper, 0.8
        while f_lower >= 0.0 and lower > _SMALLEST:
            upper, f_upper = lower, f_lower
            lower *= shrink
            f_lower = objective(lower)
            shrink *= shrink  # the tolerance of n + 1 phases is near that of n, of 20 far from that of one
        width = 0.5 * absolute if absolute is not None else _RELATIVE * upper
        if f_lower < 0.0:
            close_in(objective, lower, f_lower, upper, f_upper, width)
    assert best is not None
    return best, evaluations, updates


def _steps(curve: UtilizationCurve) -> Partition:
    edges = curve.relative_edges
    return Partition(0.0, breaks=edges.tolist(), degrees=[0] * curve.n_steps)
