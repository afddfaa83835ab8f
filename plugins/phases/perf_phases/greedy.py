"""One breakpoint at a time, each where it lowers the sum of squared errors most."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from perf_phases.best_split import best_split
from perf_phases.moment_tree import MomentTree
from perfcore import UtilizationCurve, progress
from perfcore.contracts import Basis, Segmentation, Segmenter

__all__ = ["Greedy"]


class Greedy(Segmenter):
    """Inserts breakpoints one by one and never moves one that is placed.

    Choose it for a quick look at the strongest breaks in order of their strength, or as the start of `hill-climb`. It
    is a poor heuristic where the best breaks for n and n + 1 phases differ much, as Worley notes.

    Source: J. H. Friedman and B. W. Silverman, "Flexible Parsimonious Smoothing and Additive Modeling",
    Technometrics 31 (1989). Deviations: the pieces are discontinuous polynomials, and the best place of each
    insertion is found exactly by branch and bound instead of over a grid of knots.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> Greedy().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    def segment(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """Phases for one n."""
        return self.sequence(curve, [n_phases], basis)[0]

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for increasing n, each the previous ones with breakpoints added."""
        started = time.perf_counter()
        tree = MomentTree(curve)
        # For each phase, by its first edge: last edge, best split, and what the split gains.
        phases = {0: self._split(tree, 0, tree.n_steps, basis.degree)}
        found = []
        with progress.bar("phases", max(counts)) as advance:
            for n in counts:
                while len(phases) < min(n, tree.n_steps):
                    first = max(phases, key=lambda edge: phases[edge][2])
                    last, middle, _ = phases[first]
                    phases[first] = self._split(tree, first, middle, basis.degree)
                    phases[middle] = self._split(tree, middle, last, basis.degree)
                    advance(1)
                edges = [*sorted(phases), tree.n_steps]
                ended = time.perf_counter()
                found.append(Segmentation(tree.edges[edges], statistics={"seconds": ended - started}))
                started = ended
        return found

    @staticmethod
    def _split(tree: MomentTree, first: int, last: int, degree: int) -> tuple[int, int, float]:
        if last - first < 2:
            return last, first, -np.inf
        middle, squared = best_split(tree, first, last, degree)
        whole = tree.error(tree.between(first, last), degree)
        return last, middle, whole - squared
