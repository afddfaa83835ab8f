"""Worley's own least-squares update: Givens rotations on the rows of a Newton-Cotes rule, one step of the curve a time.

The readable reference that tests and benchmarks hold the moment tree against. It reads the curve from the start of the
phase, so that one evaluation of f costs O(M).

Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", section 3.2 and Figure 2; the weights are
those of closed Newton-Cotes rules with 2 k + 1 equidistant points (Davis and Polonsky in Abramowitz and Stegun, 25.4),
all positive for k <= 3.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perf_statistics.kernels import kernel
from perf_worley.factor_tree import rotate_in
from perf_worley.minimax import Uniform, least_tolerance
from perf_worley.moment_tree import Reach
from perfcore import UtilizationCurve

# Rows k = 0..3: weights of the closed rule with 2 k + 1 points on an interval of length 1 (one point: the midpoint).
_WEIGHTS = np.array(
    [
        [1.0, 0, 0, 0, 0, 0, 0],
        [1 / 6, 4 / 6, 1 / 6, 0, 0, 0, 0],
        [7 / 90, 32 / 90, 12 / 90, 32 / 90, 7 / 90, 0, 0],
        [41 / 840, 216 / 840, 27 / 840, 272 / 840, 27 / 840, 216 / 840, 41 / 840],
    ]
)
_BISECTIONS = 200


@kernel
def add_step(triangle, degree, left, right, height, weights):  # type: ignore[no-untyped-def]
    """Rotate the 2 k + 1 weighted rows of one step into the triangle; returns what they add to the squared error.

    ``triangle`` is (degree + 1, degree + 2): the upper triangle of A and, last, the transformed right-hand side.
    """
    n_points = 2 * degree + 1
    squared = 0.0
    row = np.empty(degree + 2)
    for m in range(n_points):
        place = left + (right - left) * (m / (2.0 * degree) if degree else 0.5)
        scale = np.sqrt(weights[degree, m] * (right - left))
        power = scale
        for i in range(degree + 1):
            row[i] = power
            power *= place
        row[degree + 1] = scale * height
        squared += rotate_in(triangle, row, degree + 1) ** 2
    return squared


@kernel
def scan(edges, heights, begin, step, limit, degree, gap, weights):  # type: ignore[no-untyped-def]
    """Step b) of Algorithm K, Figure 2: add steps until the squared error passes the limit, then bisect the last."""
    triangle = np.zeros((degree + 1, degree + 2))
    squared, updates = 0.0, 0
    left = 0.0
    for j in range(step, heights.shape[0]):
        right = edges[j + 1] - begin
        before = triangle.copy()
        # Steps count from the start of the phase: powers of t - start, as in equation (6).
        added = add_step(triangle, degree, left, right, heights[j], weights)
        updates += 1
        if squared + added > limit:
            lower, upper, inside = left, right, 0.0
            for _ in range(_BISECTIONS):
                middle = 0.5 * (lower + upper)
                if upper - lower <= gap or not lower < middle < upper:
                    break
                trial = before.copy()
                added = add_step(trial, degree, left, middle, heights[j], weights)
                updates += 1
                if squared + added <= limit:
                    lower, inside = middle, added
                else:
                    upper = middle
            return begin + lower, j, squared + inside, updates
        squared += added
        left = right
    return edges[-1], heights.shape[0] - 1, squared, updates


class GivensUpdate:
    """Local errors by Worley's linear update; the same face as `MomentTree`.

    A summary is the squared error itself, for the degree that was asked last.
    """

    def __init__(self, curve: UtilizationCurve) -> None:
        self.edges = curve.relative_edges
        self.heights = curve.heights
        self.n_steps = curve.n_steps
        self.duration = float(self.edges[-1])

    def reach(self, begin: float, step: int, limit: float, degree: int, gap: float = 0.0) -> Reach:
        """The longest phase from ``begin`` (in ``step``) whose squared error is at most ``limit``."""
        end, last_step, squared, updates = scan(self.edges, self.heights, begin, step, limit, degree, gap, _WEIGHTS)
        return Reach(end, last_step, squared, updates)

    def rest(self, begin: float, step: int) -> tuple[float, int]:
        """The interval from ``begin`` to the end, to be measured by `error`."""
        return begin, step

    def error(self, summary: float | tuple[float, int], degree: int) -> float:
        """Squared error of a summary of `reach` or `rest`."""
        if isinstance(summary, tuple):
            return float(self.reach(*summary, np.inf, degree).summary)
        return summary


def least_tolerances(update: GivensUpdate, counts: Iterable[int], degree: int) -> list[float]:
    """The least tolerance of each number of phases, in rising order; each bounds the next one's from above."""
    rule, tolerances = Uniform(degree), []
    upper = rule.finish(update, 0.0, 0).error
    for n in counts:
        upper = least_tolerance(update, n, rule, upper).tolerance
        tolerances.append(upper)
    return tolerances
