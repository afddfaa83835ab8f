"""The least sum of squares on 512 cells, by phases that stay within the processors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf_worley.segmenters.minimax import Minimax
from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter


class Bounded(SequenceSegmenter):
    """Dynamic programme over 512 cells of equal duration, whose phases do not leave [0, P] by more than 2 % of P.

    The default. Its breaks lie where the behaviour changes, as far as cells tell; refinement places them on the steps
    of the curve. A phase that would leave the bounds has a lower degree. The cells carry up to 128 phases; more of
    them, cubics' bounds, the mixed basis and functions are left to what handles them: `hill-climb`, the refinement,
    and `minimax`.

    Source: see `perf_worley.choice.bounded_search`.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> Bounded().segment(curve, 2, Basis(degree=0)).breaks.round(2)
    array([0., 1., 3.])
    """

    supports_mixed = True
    supports_functions = True

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for several n from one table."""
        if basis.mixed or basis.functions:
            return Minimax().sequence(curve, counts, basis)
        # Imported here, with the compiler: help and completion ask this module for its options only.
        from perf_worley.choice.curve_models import MOST_BOUNDED, curve_models
        from perf_worley.segmenters.hill_climb import HillClimb

        searched = curve_models(curve, fine=True)
        models = searched.of_degree(min(basis.degree, 2), max(counts))
        segmentations = []
        for n in counts:
            if n >= curve.n_steps:
                each = Segmentation(curve.relative_edges.copy(), np.zeros(curve.n_steps, np.int64))
            elif n > min(len(models.squares), MOST_BOUNDED):
                each = HillClimb().segment(curve, n, basis)
            else:
                breaks = models.breaks[n - 1].astype(np.float64) * searched.cells.width
                breaks[-1] = curve.duration
                degrees = models.degrees[n - 1]
                if basis.degree == 3:  # searched with quadratics; refinement sees to the bounds of cubics
                    degrees = np.where(degrees == 2, 3, degrees)
                each = Segmentation(breaks, degrees)
            segmentations.append(each)
        return segmentations
