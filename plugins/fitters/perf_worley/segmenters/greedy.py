"""One breakpoint at a time, each where it lowers the sum of squared errors most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perf_worley.segmenters.best_split import best_split
from perf_worley.trees.error_trees import moment_tree
from perf_worley.trees.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter


class Greedy(SequenceSegmenter):
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

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for increasing n, each the previous ones with breakpoints added."""
        tree = moment_tree(curve)
        candidates = {0: _Candidate.unsearched(tree, 0, tree.n_steps, basis.degree)}
        segmentations = []
        with progress.bar("phases", max(counts)) as advance:
            for n in counts:
                while len(candidates) < min(n, tree.n_steps):
                    first, best = max(candidates.items(), key=lambda item: (item[1].gain, item[1].exact))
                    if not best.exact:
                        # The best known gain of the others is all that it must beat: noise is passed over quickly.
                        rival = max((c.gain for c in candidates.values() if c.exact), default=0.0)
                        candidates[first] = best.searched(tree, first, basis.degree, rival)
                        continue
                    candidates[first] = _Candidate.unsearched(tree, first, best.middle, basis.degree)
                    candidates[best.middle] = _Candidate.unsearched(tree, best.middle, best.last, basis.degree)
                    advance(1)
                edges = [*sorted(candidates), tree.n_steps]
                segmentations.append(Segmentation(tree.edges[edges]))
        return segmentations


@dataclass(frozen=True)
class _Candidate:
    """A phase that may be split: by its last edge, its error, and what a split gains, exactly or at most."""

    last: int
    error: float
    middle: int
    gain: float
    exact: bool

    @classmethod
    def unsearched(cls, tree: MomentTree, first: int, last: int, degree: int) -> _Candidate:
        """Nothing is known but that a split gains at most the whole error."""
        error = tree.error(tree.between(first, last), degree)
        if last - first < 2:
            return cls(last, error, first, -math.inf, True)
        return cls(last, error, (first + last) // 2, error, False)

    def searched(self, tree: MomentTree, first: int, degree: int, rival: float) -> _Candidate:
        """The best split if it gains more than ``rival``; otherwise the knowledge that it does not."""
        below = self.error - rival
        middle, squared = best_split(tree, first, self.last, degree, below=below)
        if squared < below:
            return replace(self, middle=middle, gain=self.error - squared, exact=True)
        # With no rival to beat, no split gains anything: any will do.
        return replace(self, gain=rival, exact=rival == 0.0)
