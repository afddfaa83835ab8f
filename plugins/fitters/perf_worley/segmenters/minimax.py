"""Worley's Algorithm M: the n phases whose largest local error is least."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from perf_worley.segmenters.algorithm_k import ErrorTree, Partition, PhaseRule, Uniform, partition
from perf_worley.segmenters.bracketing import close_in
from perf_worley.segmenters.mixed_tolerance import MixedTolerances
from perf_worley.segmenters.options import MinimaxOptions
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter


# Relative width at which the search for the tolerance ends when the user sets none.
_RELATIVE = 1e-12
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

        tree = error_tree(curve, basis, linear=self.options.update == "givens")
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
