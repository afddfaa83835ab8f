"""Curves of few steps are summed up in array operations; the moment tree answers the same."""

import numpy as np
import pytest

from perf_worley.moment_tree import MomentTree, ShortTree
from perf_worley.segmenters import best_split
from perfcore import UtilizationCurve


@pytest.mark.parametrize("seed", range(12))
def test_array_operations_and_the_tree_agree(seed):
    rng = np.random.default_rng(seed)
    n, degree = int(rng.integers(3, 900)), seed % 4
    edges = np.concatenate([[0.0], np.cumsum(rng.exponential(size=n) * 10.0 ** rng.integers(-3, 3))])
    heights = 9.0 + rng.integers(0, 4, n) + 10.0 ** rng.integers(-1, 7) + rng.normal(size=n) * (seed % 3)
    curve = UtilizationCurve(edges, heights)
    short, tree = ShortTree(curve), MomentTree(curve)
    for begin, end in np.sort(rng.uniform(0.0, tree.duration, (6, 2)), axis=1).tolist():
        assert short.interval(begin, end) == pytest.approx(tree.interval(begin, end), rel=1e-10, abs=1e-12)
        step = tree.step_at(begin)
        limit = rng.uniform(1e-6, 1.2) * tree.error(tree.rest(begin, step), degree)
        one, other = (each.reach(begin, step, limit, degree) for each in (short, tree))
        assert one.end == pytest.approx(other.end, rel=1e-10)
        assert one.summary == pytest.approx(other.summary, rel=1e-9, abs=1e-11)
    first, last = sorted(rng.choice(tree.n_steps + 1, 2, replace=False).tolist())
    one, other = (best_split(each, first, last, degree, right_degree=seed % 2) for each in (short, tree))
    assert one == (other[0], pytest.approx(other[1], rel=1e-10, abs=1e-12))
