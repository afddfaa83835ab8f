"""The moment tree: the best polynomial on any interval of a step function, in logarithmic time.

An interval is summed up by six numbers ``(w, c0, c1, c2, c3, r)``: its width, the Legendre coefficients of its best
cubic on the interval mapped to [-1, 1], and the squared L2 error of that cubic. Two neighbours join exactly: the joint
polynomial is the projection of the two, and its squared error is a sum of nonnegative terms,

    r = r_A + r_B + |p_A - p|^2 over A + |p_B - p|^2 over B,

so that nothing cancels, whatever the number of steps. Legendre polynomials are orthogonal, hence the same summary
holds the error of every lower degree: ``r_k = r + w * sum_{l > k} c_l^2 / (2 l + 1)``.

An implicit binary tree over blocks of steps holds the summaries. `reach` climbs and descends it to find how far a
phase extends under an error limit, which is Step b) of Worley's Algorithm K in O(log M) instead of O(M). Of a long
curve the tree is mapped from a file, as are edges and heights: a search touches a few blocks, which the system loads.

Source of the problem: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", sections 2 and 3; the tree
takes the place of his Givens update.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_worley.trees.moment_kernels import BLOCK, build, interval, join_levels, reach, squared_error
from perf_worley.trees.relative_edges import relative_edges
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.kernels import announce_compilation
from perfcore.base.scratch_arrays import chunks, zeros

Floats = npt.NDArray[np.float64]
Summary = tuple[float, float, float, float, float, float]

EMPTY: Summary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


_BLOCKS_AT_ONCE = 1 << 14  # a million steps between two reports of progress


class Reach(NamedTuple):
    """How far a phase extends: its end, the step in which it ends, its summary, and the joins that this took."""

    end: float
    step: int
    summary: Any
    updates: int


class MomentTree:
    """Moment tree of one curve."""

    def __init__(self, curve: UtilizationCurve) -> None:
        announce_compilation(build, join_levels, interval, squared_error)
        self.edges = relative_edges(curve)
        self.heights = curve.heights
        # Near the heights, so that a large common height costs no digits: a difference of near numbers is exact.
        self.origin = float(curve.heights[0])
        self.n_steps = curve.n_steps
        self.duration = float(self.edges[-1])
        n_blocks = -(-self.n_steps // BLOCK)
        n_leaves = 1 << (n_blocks - 1).bit_length()
        self.nodes = zeros((2 * n_leaves, 6))
        self.arrays = (self.edges, self.heights, self.origin, self.nodes)
        with progress.bar("moment tree", n_blocks) as advance:
            for first in range(0, n_blocks, _BLOCKS_AT_ONCE):
                last = min(first + _BLOCKS_AT_ONCE, n_blocks)
                build(*self.arrays, first, last)
                advance(last - first)
        join_levels(self.nodes)

    @functools.cached_property
    def extremes(self) -> tuple[float, float]:
        """Lowest and highest height, in one pass."""
        parts = (self.heights[part] for part in chunks(self.n_steps))
        lowest, highest = zip(*((part.min(), part.max()) for part in parts), strict=True)
        return float(min(lowest)), float(max(highest))

    def reach(self, begin: float, step: int, limit: float, degree: int, gap: float = 0.0) -> Reach:
        """The longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
        announce_compilation(reach)
        return Reach(*reach(*self.arrays, begin, step, limit, degree, gap))

    def interval(self, begin: float, end: float) -> Summary:
        """Summary of [begin, end]."""
        first = self.step_at(begin)
        # At an edge the interval ends with the step to its left.
        last = max(int(np.searchsorted(self.edges, end, side="left")) - 1, first)
        return interval(*self.arrays, begin, first, end, last)  # type: ignore[no-any-return]

    def between(self, first: int, last: int) -> Summary:
        """Summary between two edges, given by index."""
        return interval(*self.arrays, self.edges[first], first, self.edges[last], last - 1)  # type: ignore[no-any-return]

    def rest(self, begin: float, step: int) -> Summary:
        """Summary from ``begin`` (in ``step``) to the end of the curve."""
        return interval(  # type: ignore[no-any-return]
            *self.arrays, begin, step, self.duration, self.n_steps - 1
        )

    def step_at(self, time: float) -> int:
        """Step that begins at ``time`` or contains it."""
        return min(max(int(np.searchsorted(self.edges, time, side="right")) - 1, 0), self.n_steps - 1)

    @staticmethod
    def error(summary: Summary, degree: int) -> float:
        """Squared L2 error of the best polynomial of this degree."""
        return squared_error(summary, degree)  # type: ignore[no-any-return]
