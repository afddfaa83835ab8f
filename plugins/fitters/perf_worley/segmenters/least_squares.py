"""The exact least sum of squared errors, by dynamic programming."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from perf_worley.trees.moment_tree import EMPTY, join, squared_error
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.kernels import announce_compilation, kernel
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

__all__ = ["LeastSquares"]

_ENDS_AT_ONCE = 256


@kernel
def _extend_table(edges, heights, origin, cost, back, first_end, last_end, degree):  # type: ignore[no-untyped-def]
    """Fill columns ``first_end`` to ``last_end - 1``: cost[l, j] is the least error of l phases up to edge j."""
    most = cost.shape[0] - 1
    for j in range(first_end, last_end):
        summary = EMPTY
        for i in range(j - 1, -1, -1):
            step = (edges[i + 1] - edges[i], heights[i] - origin, 0.0, 0.0, 0.0, 0.0)
            summary = join(step, summary)
            error = squared_error(summary, degree)
            for n in range(1, most + 1):
                total = cost[n - 1, i] + error
                if total < cost[n, j]:
                    cost[n, j] = total
                    back[n, j] = i
            # A local error only grows to the left; one phase is made separately, and for more of them the cost falls
            # with their number: nothing to the left can improve any.
            if most == 1 or error > cost[2, j]:
                break


@kernel
def _one_phase(edges, heights, origin, cost, degree):  # type: ignore[no-untyped-def]
    """First row of the table: everything up to edge j in one phase."""
    summary = EMPTY
    for j in range(heights.shape[0]):
        step = (edges[j + 1] - edges[j], heights[j] - origin, 0.0, 0.0, 0.0, 0.0)
        summary = join(summary, step)
        cost[1, j + 1] = squared_error(summary, degree)


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
        started = time.perf_counter()
        announce_compilation(_one_phase, _extend_table)
        edges, heights = curve.relative_edges, curve.heights
        edges.flags.writeable = False
        origin = float(heights[0])
        n_steps, most = curve.n_steps, min(max(counts), curve.n_steps)
        cost = np.full((most + 1, n_steps + 1), np.inf)
        back = np.zeros((most + 1, n_steps + 1), np.int32)
        cost[0, 0] = 0.0
        _one_phase(edges, heights, origin, cost, basis.degree)
        with progress.bar("dynamic programme", n_steps) as advance:
            for first in range(1, n_steps + 1, _ENDS_AT_ONCE):
                last = min(first + _ENDS_AT_ONCE, n_steps + 1)
                _extend_table(edges, heights, origin, cost, back, first, last, basis.degree)
                advance(last - first)
        seconds = time.perf_counter() - started
        found = []
        for n in counts:
            places = [n_steps]
            for phase in range(min(n, n_steps), 0, -1):
                places.append(int(back[phase, places[-1]]))
            found.append(Segmentation(edges[places[::-1]], statistics={"seconds": seconds}))
        return found
