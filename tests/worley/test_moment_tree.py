"""The moment tree against rational arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_worley.moment_tree import BLOCK, MomentTree
from perfcore import UtilizationCurve

# Far below the 1e-9 that is promised for epsilon; the largest seen is 1e-14.
RELATIVE = 1e-12


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("start", "offset"),
    [(0.0, 0.0), (1e12, 0.0), (0.0, 1e6), (1e12, 1e6), (0.0, 1e9)],
    ids=["plain", "edges-1e12", "heights-1e6", "both", "heights-1e9"],
)
def test_errors_are_those_of_rational_arithmetic(noisy, exact, degree, start, offset):
    curve = noisy(4 * BLOCK + 17, start=start, offset=offset)
    tree = MomentTree(curve)
    rng = np.random.default_rng(degree)
    for share in (0.9, 0.3, 0.05):
        begin = float(rng.uniform(0, (1 - share) * tree.duration))
        end = begin + share * tree.duration
        found = tree.error(tree.interval(begin, end), degree)
        # The exact figure of the same curve: times relative to its first edge, as rational numbers.
        expected = exact(tree.edges.tolist(), curve.heights.tolist(), begin, end, degree)
        assert found == pytest.approx(float(expected), rel=RELATIVE)


def test_short_interval_of_a_long_curve_keeps_its_digits(exact):
    """Prefix moments lose all digits here: 20 steps at the far end of 200,000, degree 3."""
    rng = np.random.default_rng(3)
    heights = rng.integers(0, 1000, 200_000).astype(float)
    curve = UtilizationCurve(np.arange(200_001.0), heights)
    tree = MomentTree(curve)
    found = tree.error(tree.interval(199_975.5, 199_995.25), 3)
    window = slice(199_970, 200_000)
    expected = exact(list(range(199_970, 200_001)), heights[window].tolist(), 199_975.5, 199_995.25, 3)
    assert found == pytest.approx(float(expected), rel=RELATIVE)


@given(
    heights=st.lists(st.integers(0, 1000), min_size=2, max_size=3 * BLOCK),
    cut=st.floats(0.05, 0.95),
    degree=st.integers(0, 3),
)
@settings(deadline=None, max_examples=60)
def test_error_grows_with_the_interval(heights, cut, degree):
    """Theorem 2.3's monotonicity, up to rounding."""
    tree = MomentTree(UtilizationCurve(np.arange(len(heights) + 1.0), heights))
    part = tree.error(tree.interval(0.0, cut * tree.duration), degree)
    whole = tree.error(tree.interval(0.0, tree.duration), degree)
    assert 0.0 <= part <= whole * (1 + 1e-12) + 1e-9


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.4, 0.99])
def test_reach_is_the_largest_end_under_the_limit(noisy, degree, share):
    curve = noisy(20 * BLOCK + 5, seed=degree)
    tree = MomentTree(curve)
    begin = 0.31 * tree.duration
    step = tree.step_at(begin)
    limit = share * tree.error(tree.rest(begin, step), degree)
    end, at, summary, _ = tree.reach(begin, step, limit, degree)
    assert tree.edges[at] <= end <= tree.edges[at + 1]
    assert tree.error(summary, degree) <= limit
    assert tree.error(tree.interval(begin, end), degree) == pytest.approx(limit, rel=1e-9)
    assert tree.error(tree.interval(begin, end + 1e-3), degree) > limit


def test_reach_without_limit_takes_everything(noisy):
    tree = MomentTree(noisy(3 * BLOCK))
    end, at, _, _ = tree.reach(0.0, 0, math.inf, 2)
    assert (end, at) == (tree.duration, tree.n_steps - 1)


@pytest.mark.parametrize("n_steps", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 1])
def test_sizes_around_a_block(exact, n_steps):
    rng = np.random.default_rng(n_steps)
    heights = rng.integers(0, 50, n_steps).astype(float)
    tree = MomentTree(UtilizationCurve(np.arange(n_steps + 1.0), heights))
    expected = exact(list(range(n_steps + 1)), heights.tolist(), 0, n_steps, 1)
    assert tree.error(tree.interval(0.0, float(n_steps)), 1) == pytest.approx(float(expected), rel=RELATIVE, abs=1e-12)


def test_one_spike_among_wide_steps(exact):
    """Widths over nine orders of magnitude."""
    edges = [0.0, 1e9, 1e9 + 1.0, 1e9 + 1.5, 2e9]
    heights = [1.0, 1000.0, 3.0, 2.0]
    tree = MomentTree(UtilizationCurve(edges, heights))
    for degree in range(4):
        expected = float(exact(edges, heights, 0, 2e9, degree))
        assert tree.error(tree.interval(0.0, 2e9), degree) == pytest.approx(expected, rel=RELATIVE)


def test_constant_curve_has_no_error_at_all():
    tree = MomentTree(UtilizationCurve(np.cumsum(np.full(1001, 0.1)), np.full(1000, 0.1)))
    assert tree.error(tree.interval(3.3, 77.7), 0) == 0.0
