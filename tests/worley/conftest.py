"""Exact references, independent of the code under test: rational arithmetic and dense least squares."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from perfcore import UtilizationCurve


def exact_squared_error(edges, heights, begin, end, degree):
    """Squared L2 error of the best polynomial on [begin, end], as a rational number: integral of h^2 minus c . b."""
    begin, end = Fraction(begin), Fraction(end)
    size = degree + 1
    right = [Fraction(0)] * size
    squares = Fraction(0)
    for j, height in enumerate(heights):
        low = max(Fraction(edges[j]), begin) - begin
        high = min(Fraction(edges[j + 1]), end) - begin
        if high <= low:
            continue
        q = Fraction(height)
        squares += q * q * (high - low)
        for i in range(size):
            right[i] += q * (high ** (i + 1) - low ** (i + 1)) / (i + 1)
    width = end - begin
    gram = [[width ** (i + k + 1) / (i + k + 1) for k in range(size)] for i in range(size)]
    rows = [[*gram[i], right[i]] for i in range(size)]
    for i in range(size):  # Gauss elimination, exact
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    solution = [Fraction(0)] * size
    for i in range(size - 1, -1, -1):
        known = sum(rows[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return squares - sum(c * b for c, b in zip(solution, right, strict=True))


@pytest.fixture(scope="session")
def exact() -> Callable[..., Fraction]:
    return exact_squared_error


@pytest.fixture
def noisy() -> Callable[..., UtilizationCurve]:
    """Curves with uneven steps, a trend, jumps and noise."""

    def make(n_steps: int, seed: int = 0, *, start: float = 0.0, offset: float = 0.0) -> UtilizationCurve:
        rng = np.random.default_rng(seed)
        edges = start + np.concatenate([[0.0], np.cumsum(rng.integers(1, 9, n_steps) / 4.0)])
        at = np.arange(n_steps) / n_steps
        trend = 60 * np.sin(5 * at) ** 2 + 40 * (at > 0.3) - 25 * (at > 0.72)
        heights = offset + np.maximum(0.0, np.round(30 + trend + rng.normal(0, 6, n_steps)))
        return UtilizationCurve(edges, heights).merged()

    return make


def dense_error(curve, degree, begin, end):
    """Root of the squared error on [begin, end]: QR of Legendre columns at the Gauss points of each step."""
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    cuts = np.unique(np.clip(curve.relative_edges, begin, end))
    if len(cuts) < 2:
        return 0.0
    half, middle = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
    at = (middle[:, None] + half[:, None] * nodes).ravel()
    roots = np.sqrt(half[:, None] * weights).ravel()
    steps = np.clip(np.searchsorted(curve.relative_edges, middle, side="right") - 1, 0, curve.n_steps - 1)
    values = np.repeat(curve.heights[steps] - curve.heights[steps[0]], len(nodes))
    columns = np.polynomial.legendre.legvander((2 * at - begin - end) / (end - begin), degree)
    factor = np.linalg.qr(np.column_stack([columns, values]) * roots[:, None], mode="r")
    return abs(float(factor[-1, -1])) if factor.shape[0] > degree + 1 else 0.0


@pytest.fixture(scope="session")
def dense() -> Callable[..., float]:
    return dense_error
