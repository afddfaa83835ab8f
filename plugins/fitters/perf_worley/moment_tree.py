"""The moment tree: the best polynomial on any interval of a step function, in logarithmic time.

An interval is summed up by six numbers ``(w, c0, c1, c2, c3, r)``: its width, the Legendre coefficients of its best
cubic on the interval mapped to [-1, 1], and the squared L2 error of that cubic. Two neighbours join exactly: the
joint polynomial is the projection of the two, and its squared error is a sum of nonnegative terms,

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

import bisect
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from perf_statistics.kernels import kernel
from perf_traces.scratch_arrays import chunks, zeros
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Floats

# Steps in a block. A step costs some 6 ns in a summary, a join as much as some ten steps; 64 keeps the tree at a tenth
# to a fifth of the curve's memory and the work in the last block about that of the climb.
BLOCK = 64
# A breakpoint is placed until the squared error is within this share of its limit: far below the 1e-9 that users may
# rely on, above the rounding of one summary.
_RELATIVE_GAP = 1e-13
_MAX_ITERATIONS = 200
Summary = tuple[float, float, float, float, float, float]
EMPTY: Summary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_BLOCKS_AT_ONCE = 1 << 14  # a million steps between two reports of progress
SHORT = 30_000  # steps
# Integrals of Legendre polynomials over [0, s], by s, from (k + 1)-fold integrals of powers by s^(k + 1), k = 0 to 3.
_TO_LEGENDRE = np.array([[1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [1.0, -3.0, 2.0, 0.0], [-1.0, 6.0, -10.0, 5.0]])
_NORMS = np.array([1.0, 3.0, 5.0, 7.0])
_STEPS_AT_ONCE = 256  # that a phase is first sought in
_ROUNDING, _MOST_ALIKE = 1e-12, 8  # share of the squares; splits that are compared once more
_CANCELLED = 0.05  # share of the squares below which what is left of them is summed once more


def relative_edges(curve: UtilizationCurve) -> Floats:
    """`UtilizationCurve.relative_edges` (n_steps + 1,), read-only; of a long curve mapped from a file."""
    if curve.edges.dtype == np.float64 and curve.edges[0] == 0.0:
        return curve.edges
    edges = zeros(curve.edges.shape)
    for part in chunks(len(edges)):
        edges[part] = curve.edges[part] - curve.edges[0]
    edges.flags.writeable = False
    return edges


@kernel
def summarize(edges, heights, origin, first, last, begin, end):  # type: ignore[no-untyped-def]
    """Return the summary of steps ``first`` to ``last - 1`` cut to [begin, end], made directly from the steps.

    Heights count from ``origin``.
    """
    width = end - begin
    if not width > 0.0:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    # In the loop heights count from the first one: coefficients and error of a constant stretch are exactly zero.
    base = heights[first]
    scale = 1.0 / width
    s0 = s1 = s2 = s3 = 0.0
    for j in range(first, last):
        left = max(edges[j], begin) - begin
        right = min(edges[j + 1], end) - begin
        half = (right - left) * scale  # half the step's width on [-1, 1]
        mid = (right + left) * scale - 1.0
        weighted = half * (heights[j] - base)
        mid2, half2 = mid * mid, half * half
        # Means over the step of P1, P2 and P3, each exact for the constant that the curve is there.
        s0 += weighted
        s1 += weighted * mid
        s2 += weighted * (1.5 * mid2 + 0.5 * half2 - 0.5)
        s3 += weighted * mid * (2.5 * (mid2 + half2) - 1.5)
    c0, c1, c2, c3 = s0, 3.0 * s1, 5.0 * s2, 7.0 * s3
    # Powers of u for the residual.
    a0, a1, a2, a3 = c0 - 0.5 * c2, c1 - 1.5 * c3, 1.5 * c2, 2.5 * c3
    squared = 0.0
    for j in range(first, last):
        left = max(edges[j], begin) - begin
        right = min(edges[j + 1], end) - begin
        half = (right - left) * scale
        mid = (right + left) * scale - 1.0
        half2 = half * half
        # Height minus cubic on the step, in Legendre coefficients of the step: squares add up.
        value = heights[j] - base - (a0 + mid * (a1 + mid * (a2 + mid * a3)))
        slope = half * (a1 + mid * (2.0 * a2 + mid * (3.0 * a3)))
        curvature = half2 * (a2 + 3.0 * a3 * mid)
        third = half2 * half * a3
        e0 = value - curvature / 3.0
        e1 = slope + 0.6 * third
        squared += half * (
            e0 * e0 + e1 * e1 / 3.0 + curvature * curvature * (4.0 / 45.0) + third * third * (4.0 / 175.0)
        )
    return (width, (base - origin) + c0, c1, c2, c3, width * squared)


@kernel
def join(left, right):  # type: ignore[no-untyped-def]
    """Return the summary of two neighbouring intervals together.

    With a and b the shares of the width, P_l of the whole is on the left part (s = a, t = -b) and on the right part
    (s = b, t = a) the combination ``sum_j T[l, j] P_j`` with ``T`` from expanding ``P_l(s v + t)``. Only the
    difference of the two means enters, so a large common height costs no digits.
    """
    wl, l0, l1, l2, l3, rl = left
    wr, m0, m1, m2, m3, rr = right
    if wl == 0.0:
        return right
    if wr == 0.0:
        return left
    width = wl + wr
    a, b = wl / width, wr / width
    ab = a * b
    delta = m0 - l0
    a2, b2 = a * a, b * b
    # Rows T[l, j] shared by both parts up to sign: t is -b on the left and a on the right.
    t20l, t20r = b * (b - a), a * (a - b)
    t30 = 1.0 - 5.0 * ab
    t31l, t31r = 3.0 * ab * (2.0 * b - a), 3.0 * ab * (2.0 * a - b)
    # Projection: c_l = sum_j (2 l + 1) / (2 j + 1) * (a T_left[l, j] l_j + b T_right[l, j] m_j).
    c0 = l0 + b * delta
    c1 = 3.0 * ab * delta + a2 * l1 + b2 * m1
    c2 = 5.0 * ab * (a - b) * delta + 5.0 * ab * (b * m1 - a * l1) + a2 * a * l2 + b2 * b * m2
    c3 = (
        7.0 * ab * t30 * delta
        + (7.0 / 3.0) * (a * t31l * l1 + b * t31r * m1)
        + 7.0 * ab * (b2 * m2 - a2 * l2)
        + a2 * a2 * l3
        + b2 * b2 * m3
    )
    # Differences between each part's own cubic and the joint one, in the part's coefficients.
    d0 = -b * delta + b * c1 - t20l * c2 + b * t30 * c3
    d1 = l1 - a * c1 + 3.0 * ab * c2 - t31l * c3
    d2 = l2 - a2 * c2 + 5.0 * a2 * b * c3
    d3 = l3 - a2 * a * c3
    e0 = a * delta - a * c1 - t20r * c2 - a * t30 * c3
    e1 = m1 - b * c1 - 3.0 * ab * c2 - t31r * c3
    e2 = m2 - b2 * c2 - 5.0 * b2 * a * c3
    e3 = m3 - b2 * b * c3
    squared = (
        rl
        + rr
        + wl * (d0 * d0 + d1 * d1 / 3.0 + d2 * d2 / 5.0 + d3 * d3 / 7.0)
        + wr * (e0 * e0 + e1 * e1 / 3.0 + e2 * e2 / 5.0 + e3 * e3 / 7.0)
    )
    return (width, c0, c1, c2, c3, squared)


@kernel
def squared_error(summary, degree):  # type: ignore[no-untyped-def]
    """Return the squared L2 error of the best polynomial of ``degree`` 0 to 3."""
    w, _, c1, c2, c3, r = summary
    if degree < 3:
        r += w * c3 * c3 / 7.0
    if degree < 2:
        r += w * c2 * c2 / 5.0
    if degree < 1:
        r += w * c1 * c1 / 3.0
    return r


@kernel
def node(nodes, i):  # type: ignore[no-untyped-def]
    """Return a row as a summary."""
    return (nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3], nodes[i, 4], nodes[i, 5])


@kernel
def build(edges, heights, origin, nodes, first_block, last_block):  # type: ignore[no-untyped-def]
    """Fill the leaves of blocks ``first_block`` to ``last_block - 1``."""
    n_leaves = nodes.shape[0] // 2
    n_steps = heights.shape[0]
    for block in range(first_block, last_block):
        first = block * BLOCK
        last = min(first + BLOCK, n_steps)
        summary = summarize(edges, heights, origin, first, last, edges[first], edges[last])
        for k in range(6):
            nodes[n_leaves + block, k] = summary[k]


@kernel
def join_levels(nodes):  # type: ignore[no-untyped-def]
    """Fill the inner nodes from the leaves; node i joins 2 i and 2 i + 1, the root is 1."""
    for i in range(nodes.shape[0] // 2 - 1, 0, -1):
        summary = join(node(nodes, 2 * i), node(nodes, 2 * i + 1))
        for k in range(6):
            nodes[i, k] = summary[k]


@kernel
def within_step(summary, width, height, limit, degree):  # type: ignore[no-untyped-def]
    """Return how much of the next step a phase takes, its summary, and the number of joins."""
    # The error grows with the part of the step that is taken (Theorem 2.3).
    lower, upper, updates = 0.0, width, 0
    joined = join(summary, (upper, height, 0.0, 0.0, 0.0, 0.0))
    f_lower = squared_error(summary, degree) - limit
    f_upper = squared_error(joined, degree) - limit
    if f_upper <= 0.0:  # only by the rounding of a different order of joins
        return width, joined, updates
    slack = -f_lower
    moved = 0
    for _ in range(_MAX_ITERATIONS):
        if slack <= _RELATIVE_GAP * limit or upper <= lower:
            break
        # Regula falsi; an end that stays twice has its value halved (Illinois), so that both ends close in.
        part = lower + (upper - lower) * (f_lower / (f_lower - f_upper))
        if not lower < part < upper:
            part = 0.5 * (lower + upper)
            if not lower < part < upper:
                break
        joined = join(summary, (part, height, 0.0, 0.0, 0.0, 0.0))
        updates += 1
        value = squared_error(joined, degree) - limit
        if value <= 0.0:
            lower, f_lower, slack = part, value, -value
            if moved < 0:
                f_upper *= 0.5
            moved = -1
        else:
            upper, f_upper = part, value
            if moved > 0:
                f_lower *= 0.5
            moved = 1
    return lower, join(summary, (lower, height, 0.0, 0.0, 0.0, 0.0)), updates


@kernel
def reach(edges, heights, origin, nodes, begin, step, limit, degree):  # type: ignore[no-untyped-def]
    """Return the largest end at which the phase from ``begin`` has a squared error of at most ``limit``.

    Returns the end, the step in which it lies, the summary of the phase, and the number of joins.
    """
    n_steps = heights.shape[0]
    n_leaves = nodes.shape[0] // 2
    updates = 0
    block = step // BLOCK
    last = min((block + 1) * BLOCK, n_steps)
    summary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    first = step
    block_summary = summarize(edges, heights, origin, first, last, begin, edges[last])
    if squared_error(block_summary, degree) <= limit:
        summary = block_summary
        if last == n_steps:
            return edges[n_steps], n_steps - 1, summary, updates
        # Climb while whole subtrees fit; then descend into the first that does not.
        i = n_leaves + block + 1
        while True:
            while i % 2 == 0:
                i //= 2
            joined = join(summary, node(nodes, i))
            updates += 1
            if squared_error(joined, degree) > limit:
                break
            summary = joined
            i += 1
            if i & (i - 1) == 0:  # one past the right end of the tree
                return edges[n_steps], n_steps - 1, summary, updates
        while i < n_leaves:
            i *= 2
            joined = join(summary, node(nodes, i))
            updates += 1
            if squared_error(joined, degree) <= limit:
                summary = joined
                i += 1
        first = (i - n_leaves) * BLOCK
        if first >= n_steps:  # the parent failed only by the rounding of a different order of joins
            return edges[n_steps], n_steps - 1, summary, updates
        last = min(first + BLOCK, n_steps)
        begin = edges[first]
    # The block [first, last) does not fit whole: halve it down to one step.
    while last - first > 1:
        middle = (first + last) // 2
        joined = join(summary, summarize(edges, heights, origin, first, middle, begin, edges[middle]))
        updates += 1
        if squared_error(joined, degree) <= limit:
            summary = joined
            first = middle
            begin = edges[middle]
        else:
            last = middle
    width = edges[first + 1] - begin
    part, summary, further = within_step(summary, width, heights[first] - origin, limit, degree)
    return edges[first + 1] if part == width else begin + part, first, summary, updates + further


@kernel
def interval(edges, heights, origin, nodes, begin, first, end, last):  # type: ignore[no-untyped-def]
    """Return the summary of [begin, end], where ``begin`` lies in step ``first`` and ``end`` in step ``last``."""
    n_leaves = nodes.shape[0] // 2
    left_block, right_block = first // BLOCK, last // BLOCK
    if left_block == right_block:
        return summarize(edges, heights, origin, first, last + 1, begin, end)
    border = (left_block + 1) * BLOCK
    left = summarize(edges, heights, origin, first, border, begin, edges[border])
    border = right_block * BLOCK
    right = summarize(edges, heights, origin, border, last + 1, edges[border], end)
    i, k = n_leaves + left_block + 1, n_leaves + right_block
    while i < k:
        if i % 2 == 1:
            left = join(left, node(nodes, i))
            i += 1
        if k % 2 == 1:
            k -= 1
            right = join(node(nodes, k), right)
        i //= 2
        k //= 2
    return join(left, right)


class Reach(NamedTuple):
    """How far a phase extends: its end, the step in which it ends, its summary, and the joins that this took."""

    end: float
    step: int
    summary: Any
    updates: int


class MomentTree:
    """Moment tree of one curve."""

    def __init__(self, curve: UtilizationCurve) -> None:
        self.edges = relative_edges(curve)
        self.heights = curve.heights
        # Near the heights, so that a large common height costs no digits: a difference of near numbers is exact.
        self.origin = float(curve.heights[0])
        self.n_steps = curve.n_steps
        self.duration = float(self.edges[-1])

    @functools.cached_property
    def arrays(self) -> tuple[Floats, Floats, float, Floats]:
        """What kernels take: edges, heights, origin, and the nodes of the tree, which is built when it is needed."""
        n_blocks = -(-self.n_steps // BLOCK)
        n_leaves = 1 << (n_blocks - 1).bit_length()
        nodes = zeros((2 * n_leaves, 6))
        arrays = (self.edges, self.heights, self.origin, nodes)
        with progress.bar("moment tree", n_blocks) as advance:
            for first in range(0, n_blocks, _BLOCKS_AT_ONCE):
                last = min(first + _BLOCKS_AT_ONCE, n_blocks)
                build(*arrays, first, last)
                advance(last - first)
        join_levels(nodes)
        return arrays

    @functools.cached_property
    def extremes(self) -> tuple[float, float]:
        """Lowest and highest height, in one pass."""
        parts = (self.heights[part] for part in chunks(self.n_steps))
        lowest, highest = zip(*((part.min(), part.max()) for part in parts), strict=True)
        return float(min(lowest)), float(max(highest))

    def reach(self, begin: float, step: int, limit: float, degree: int) -> Reach:
        """Return the longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
        return Reach(*reach(*self.arrays, begin, step, limit, degree))

    def interval(self, begin: float, end: float) -> Summary:
        """Return the summary of [begin, end]."""
        first = self.step_at(begin)
        # At an edge the interval ends with the step to its left.
        last = max(int(np.searchsorted(self.edges, end, side="left")) - 1, first)
        return self._summary(begin, first, end, last)

    def between(self, first: int, last: int) -> Summary:
        """Return the summary between two edges, given by index."""
        return self._summary(float(self.edges[first]), first, float(self.edges[last]), last - 1)

    def rest(self, begin: float, step: int) -> Any:
        """Return the summary from ``begin`` (in ``step``) to the end of the curve."""
        return self._summary(begin, step, self.duration, self.n_steps - 1)

    def _summary(self, begin: float, first: int, end: float, last: int) -> Summary:
        return interval(*self.arrays, begin, first, end, last)  # type: ignore[no-any-return]

    def step_at(self, time: float) -> int:
        """Return the step that begins at ``time`` or contains it."""
        return min(max(int(np.searchsorted(self.edges, time, side="right")) - 1, 0), self.n_steps - 1)

    def error(self, summary: Any, degree: int) -> float:
        """Return the squared L2 error of the best polynomial of this degree."""
        return squared_error.__wrapped__(summary, degree)  # type: ignore[no-any-return]


class ShortTree(MomentTree):
    """What a moment tree answers, by array operations on the steps instead of a tree."""

    def __init__(self, curve: UtilizationCurve) -> None:
        super().__init__(curve)
        self._between: dict[tuple[int, int], Summary] = {}

    def between(self, first: int, last: int) -> Summary:
        """Return the summary between two edges, given by index."""
        if (first, last) not in self._between:
            self._between[first, last] = super().between(first, last)
        return self._between[first, last]

    def _summary(self, begin: float, first: int, end: float, last: int) -> Summary:
        first += bool(self.edges[first + 1] <= begin)
        if first > last or not end > begin:
            return EMPTY
        x = self.edges[first : last + 2] - begin
        x[0], x[-1] = 0.0, end - begin
        heights = self.heights[first : last + 1] - self.heights[first]
        squares, means = _running(x, heights)
        return self._summarized(x, heights, squares[-1], means[:, -1], first)

    def _summarized(self, x: Floats, heights: Floats, squares: float, means: Floats, first: int) -> Summary:
        """Return the summary of steps between x from squares and means of Legendre polynomials times the curve."""
        width, (c0, c1, c2, c3) = float(x[-1]), (_NORMS * means).tolist()
        mean = float(self.heights[first]) - self.origin + c0
        error = float(squares) - width * (c0 * c0 + c1 * c1 / 3.0 + c2 * c2 / 5.0 + c3 * c3 / 7.0)
        if error > _CANCELLED * squares:
            return width, mean, c1, c2, c3, error
        a0, a1, a2, a3 = c0 - 0.5 * c2, c1 - 1.5 * c3, 1.5 * c2, 2.5 * c3
        # As in `moment_tree.summarize`: height minus cubic on each step, in its Legendre coefficients.
        half, mid = (x[1:] - x[:-1]) / width, (x[1:] + x[:-1]) / width - 1.0
        curvature = half * half * (a2 + 3.0 * a3 * mid)
        third = half * half * half * a3
        e0 = heights - (a0 + mid * (a1 + mid * (a2 + mid * a3))) - curvature / 3.0
        e1 = half * (a1 + mid * (2.0 * a2 + 3.0 * a3 * mid)) + 0.6 * third
        errors = e0 * e0 + e1 * e1 / 3.0 + curvature * curvature * (4.0 / 45.0) + third * third * (4.0 / 175.0)
        return width, mean, c1, c2, c3, width * float(half @ errors)

    def reach(self, begin: float, step: int, limit: float, degree: int) -> Reach:
        """Return the longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
        if self.edges[step + 1] <= begin:
            if step + 1 == self.n_steps:
                return Reach(self.duration, step, EMPTY, 0)
            step += 1
        size, n, fit = _STEPS_AT_ONCE, self.n_steps - step, 0
        while True:
            x = self.edges[step : step + size + 1] - begin
            x[0] = 0.0
            heights = self.heights[step : step + size] - self.heights[step]
            squares, means = _running(x, heights)
            too_much = _left(x, squares, means, degree) > limit
            fit = int(too_much.argmax()) if too_much.any() else len(heights)
            if fit < size or size >= n:
                break
            size *= 4

        def summary_of(fit: int) -> Summary:
            return self._summary(begin, step, float(self.edges[step + fit]), step + fit - 1)

        summary = (
            self._summarized(x[: fit + 1], heights[:fit], squares[fit - 1], means[:, fit - 1], step) if fit else EMPTY
        )
        for _ in range(2):
            if self.error(summary, degree) <= limit:
                if fit == n:
                    return Reach(self.duration, self.n_steps - 1, summary, 1)
                at = begin if not fit else float(self.edges[step + fit])
                width, height = float(self.edges[step + fit + 1]) - at, float(self.heights[step + fit]) - self.origin
                part, whole, joins = within_step.interpreted(summary, width, height, limit, degree)
                if part < width:
                    return Reach(at + part, step + fit, whole, joins + 1)
            # The running squares are the difference of two that are far larger than the limit.
            fit = bisect.bisect_right(range(1, n + 1), limit, key=lambda k: self.error(summary_of(k), degree))
            summary = summary_of(fit) if fit else EMPTY
        return Reach(float(self.edges[step + fit]), step + max(fit - 1, 0), summary, 1)

    def best_split(
        self, first: int, last: int, degree: int, right_degree: int, initial: int, below: float
    ) -> tuple[int, float]:
        """Return the edge strictly between two with the least sum of the two squared errors, and that sum."""
        x, heights = self.edges[first : last + 1], self.heights[first:last]
        heights = heights - heights.mean()
        left, right = x - x[0], (x[-1] - x)[::-1]
        total, means = _running(left, heights)
        sums = _left(left, total, means, degree)[:-1]
        sums += _left(right, *_running(right, heights[::-1]), right_degree)[-2::-1]
        rounding = _ROUNDING * float(total[-1])
        if sums.min(initial=math.inf) > below + rounding:
            return initial, below

        def squared(edge: int) -> float:
            return self.error(self.between(first, edge), degree) + self.error(self.between(edge, last), right_degree)

        best, least = initial, min(squared(initial), below)
        for place in np.flatnonzero(sums <= sums.min(initial=math.inf) + rounding)[:_MOST_ALIKE].tolist():
            value = squared(first + 1 + place)
            if value < least:
                best, least = first + 1 + place, value
        return best, least


def _running(x: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Of the first 1, 2, ... steps between x, from 0: squares, and means of Legendre polynomials times the curve."""
    powers, products = np.empty((4, len(x))), np.empty((5, len(heights)))
    powers[0] = x
    for k in range(1, 4):
        np.multiply(powers[k - 1], x, out=powers[k])
    np.multiply(powers[:, 1:] - powers[:, :-1], heights, out=products[:4])
    np.multiply(products[0], heights, out=products[4])
    np.add.accumulate(products, axis=1, out=products)
    return products[4], _TO_LEGENDRE @ (products[:4] / powers[:, 1:])


def _left(x: Floats, squares: Floats, means: Floats, degree: int) -> Floats:
    """Return what the best polynomials leave of the running squares."""
    explained = _NORMS[: degree + 1] @ (means[: degree + 1] ** 2)
    return np.maximum(squares - x[1:] * explained, 0.0)
