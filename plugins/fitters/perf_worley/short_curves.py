"""Errors of phases of a curve of few steps, in array operations: nothing is compiled and no tree is made."""

from __future__ import annotations

import bisect
import math

import numpy as np
import numpy.typing as npt

from perf_worley.moment_tree import EMPTY, MomentTree, Reach, Summary, within_step
from perfcore import UtilizationCurve

SHORT = 30_000  # steps

Floats = npt.NDArray[np.float64]

# Integrals of Legendre polynomials over [0, s], by s, from (k + 1)-fold integrals of powers by s^(k + 1), k = 0 to 3.
_TO_LEGENDRE = np.array([[1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [1.0, -3.0, 2.0, 0.0], [-1.0, 6.0, -10.0, 5.0]])
_NORMS = np.array([1.0, 3.0, 5.0, 7.0])
_STEPS_AT_ONCE = 256  # that a phase is first sought in
_ROUNDING, _MOST_ALIKE = 1e-12, 8  # share of the squares; splits that are compared once more
_CANCELLED = 0.05  # share of the squares below which what is left of them is summed once more


class ShortTree(MomentTree):
    """What a moment tree answers."""

    def __init__(self, curve: UtilizationCurve) -> None:
        super().__init__(curve)
        self._between: dict[tuple[int, int], Summary] = {}

    def _build(self) -> None:
        """No tree."""

    def between(self, first: int, last: int) -> Summary:
        """Summary between two edges, given by index."""
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
        """Summary of steps between x, from 0, by the squares and the means of Legendre polynomials times the curve."""
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

    def reach(self, begin: float, step: int, limit: float, degree: int, gap: float = 0.0) -> Reach:
        """The longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
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
                part, whole, joins = within_step.interpreted(summary, width, height, limit, degree, gap)
                if part < width:
                    return Reach(at + part, step + fit, whole, joins + 1)
            # The running squares are the difference of two that are far larger than the limit.
            fit = bisect.bisect_right(range(1, n + 1), limit, key=lambda k: self.error(summary_of(k), degree))
            summary = summary_of(fit) if fit else EMPTY
        return Reach(float(self.edges[step + fit]), step + max(fit - 1, 0), summary, 1)

    def best_split(
        self, first: int, last: int, degree: int, right_degree: int, initial: int, below: float
    ) -> tuple[int, float]:
        """Edge strictly between two with the least sum of the two squared errors, and that sum."""
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
    """What the best polynomials leave of the running squares."""
    explained = _NORMS[: degree + 1] @ (means[: degree + 1] ** 2)
    return np.maximum(squares - x[1:] * explained, 0.0)
