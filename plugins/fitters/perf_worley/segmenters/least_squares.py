"""The exact least sum of squared errors, by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_worley.moment_tree import EMPTY, join, node, squared_error
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.kernels import kernel
from perfcore.contracts import Basis, Segmentation, SequenceSegmenter

# The least sum of squared errors over pieces of a curve, by dynamic programming: exact, phases begin where pieces do.
#
# Pieces are summaries of neighbouring stretches (`perf_worley.moment_tree`): the steps of a curve, or longer ones.

_ENDS_AT_ONCE = 256

Floats = npt.NDArray[np.float64]


@kernel
def _extend_table(pieces, cost, back, first_end, last_end, degree):  # type: ignore[no-untyped-def]
    """Fill columns ``first_end`` to ``last_end - 1``: cost[n, j] is the least error of n phases up to piece j."""
    most = cost.shape[0] - 1
    for j in range(first_end, last_end):
        summary = EMPTY
        for i in range(j - 1, -1, -1):
            summary = join(node(pieces, i), summary)
            error = squared_error(summary, degree)
            # The cost falls with the number of phases: what is too much for n is too much for more.
            for n in range(2, most + 1):
                if error > cost[n, j]:
                    break
                total = cost[n - 1, i] + error
                if total < cost[n, j]:
                    cost[n, j] = total
                    back[n, j] = i
            # A local error only grows to the left; one phase is made separately: nothing to the left can improve any.
            if most == 1 or error > cost[2, j]:
                break


@kernel
def _one_phase(pieces, cost, degree):  # type: ignore[no-untyped-def]
    """First row of the table: everything up to piece j in one phase."""
    summary = EMPTY
    for j in range(pieces.shape[0]):
        summary = join(summary, node(pieces, j))
        cost[1, j + 1] = squared_error(summary, degree)


def least_partitions(pieces: Floats, counts: Sequence[int], degree: int) -> list[npt.NDArray[np.int64]]:
    """Where the phases begin, and the number of pieces, for each number of phases."""
    n_pieces = len(pieces)
    most = min(max(counts), n_pieces)
    cost = np.full((most + 1, n_pieces + 1), np.inf)
    back = np.zeros((most + 1, n_pieces + 1), np.int32)
    cost[0, 0] = 0.0
    _one_phase(pieces, cost, degree)
    with progress.bar("dynamic programme", n_pieces) as advance:
        for first in range(1, n_pieces + 1, _ENDS_AT_ONCE):
            last = min(first + _ENDS_AT_ONCE, n_pieces + 1)
            _extend_table(pieces, cost, back, first, last, degree)
            advance(last - first)
    return [traced(back, min(n, n_pieces)) for n in counts]


def traced(back: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """Where n phases begin, and the number of pieces, by where the last of 1, 2, ... phases up to each piece begins."""
    places = [back.shape[1] - 1]
    for phase in range(n, 0, -1):
        places.append(int(back[phase, places[-1]]))
    return np.array(places[::-1], dtype=np.int64)


class LeastSquares(SequenceSegmenter):
    """Hawkins' dynamic programme: no partition into n phases has a smaller sum of squared errors.

    Choose it to judge the others, or up to some 10,000 steps: time grows with their square.

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
        edges = curve.relative_edges
        steps = np.zeros((curve.n_steps, 6))
        steps[:, 0], steps[:, 1] = np.diff(edges), curve.heights - curve.heights[0]
        partitions = least_partitions(steps, counts, basis.degree)
        return [Segmentation(edges[places]) for places in partitions]
