"""The exact least sum of squared errors, by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf_worley.segmenters.dynamic_programme import least_partitions
from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter


class LeastSquares(SequenceSegmenter):
    """Hawkins' dynamic programme: no partition into n phases has a smaller sum of squared errors.

    Choose it to judge the others, or for curves of up to some 10,000 steps; time grows with the square of the number
    of steps, except that phases whose error already exceeds the best total are cut off.

    Source: D. M. Hawkins, "Fitting Multiple Change-Point Models to Data", Computational Statistics & Data Analysis 37
    (2001), and his earlier work that Worley cites as [10] and [11]. Deviation: breakpoints lie at edges of the curve,
    as his do at data points, but steps have widths.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 1, 2, 3], [0, 9, 1])
    >>> LeastSquares().segment(curve, 2, Basis(degree=0)).breaks
    array([0., 1., 3.])
    """

    def sequence(self, curve: UtilizationCurve, counts: Sequence[int], basis: Basis) -> list[Segmentation]:
        """Phases for several n from one table."""
        edges = curve.relative_edges
        steps = np.zeros((curve.n_steps, 6))
        steps[:, 0], steps[:, 1] = np.diff(edges), curve.heights - curve.heights[0]
        partitions = least_partitions(steps, counts, basis.degree)
        return [Segmentation(edges[places]) for places in partitions]
