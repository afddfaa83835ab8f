"""Least squares, greedy and hill climbing, against all partitions of small curves."""

import itertools

import numpy as np
import pytest

from perf_worley import segmenters as hill_climb
from perf_worley.minimax import Minimax
from perf_worley.moment_tree import BLOCK, MomentTree
from perf_worley.options import HillClimbOptions
from perf_worley.segmenters import Greedy, HillClimb, LeastSquares, best_split, climb
from perfcore import UtilizationCurve
from perfcore.contracts import Basis


def sum_of_squares(tree, breaks, degree):
    return sum(tree.error(tree.interval(a, b), degree) for a, b in itertools.pairwise(breaks))


def small(seed, n_steps=12):
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n_steps))]).astype(float)
    return UtilizationCurve(edges, rng.integers(0, 30, n_steps)).merged()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("degree", "n_phases"), [(0, 2), (0, 4), (1, 3), (2, 3), (3, 2)])
def test_least_squares_is_the_best_of_all_partitions(exact, seed, degree, n_phases):
    curve = small(seed)
    edges, heights = curve.relative_edges.tolist(), curve.heights.tolist()
    error = {
        (i, k): exact(edges, heights, edges[i], edges[k], degree)
        for i, k in itertools.combinations(range(len(edges)), 2)
    }
    least = min(
        sum(error[pair] for pair in itertools.pairwise((0, *inner, len(edges) - 1)))
        for inner in itertools.combinations(range(1, len(edges) - 1), n_phases - 1)
    )
    found = LeastSquares().segment(curve, n_phases, Basis(degree))
    assert len(found.breaks) == n_phases + 1
    assert sum_of_squares(MomentTree(curve), found.breaks, degree) == pytest.approx(float(least), rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_best_split_is_the_best_of_all_edges(noisy, degree):
    tree = MomentTree(noisy(5 * BLOCK + 3, seed=degree))
    first, last = 10, tree.n_steps - 7
    every = [
        tree.error(tree.between(first, k), degree) + tree.error(tree.between(k, last), degree)
        for k in range(first + 1, last)
    ]
    edge, squared = best_split(tree, first, last, degree)
    assert squared == pytest.approx(min(every), rel=1e-12)
    assert every[edge - first - 1] == pytest.approx(min(every), rel=1e-12)


def test_greedy_keeps_the_breaks_it_placed(noisy):
    found = Greedy().sequence(noisy(500), range(1, 9), Basis(1))
    for fewer, more in itertools.pairwise(found):
        assert set(fewer.breaks) < set(more.breaks)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("start", ["likely", "minimax", "greedy", "equal"])
def test_hill_climb_cannot_be_improved_by_moving_one_break(noisy, degree, start):
    curve = noisy(300, seed=3)
    tree = MomentTree(curve)
    found = HillClimb(HillClimbOptions(start=start)).segment(curve, 6, Basis(degree))
    edges = np.searchsorted(tree.edges, found.breaks)
    assert len(edges) == 7
    reached = sum_of_squares(tree, found.breaks, degree)
    for i in range(1, 6):
        for place in range(edges[i - 1] + 1, edges[i + 1]):
            moved = tree.edges[[*edges[:i], place, *edges[i + 1 :]]]
            assert sum_of_squares(tree, moved, degree) >= reached * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_order_of_the_sums_of_squares(noisy, seed):
    """Exact is best, and climbing is exact where there are few steps."""
    curve = noisy(400, seed=seed)
    tree = MomentTree(curve)
    sums = {
        name: sum_of_squares(tree, segmenter.segment(curve, 7, Basis(1)).breaks, 1)
        for name, segmenter in [("exact", LeastSquares()), ("climb", HillClimb()), ("minimax", Minimax())]
    }
    assert sums["exact"] * (1 - 1e-12) <= sums["climb"] <= sums["exact"] * (1 + 1e-12) < sums["minimax"]


def bursts(seed, n_steps=1500):
    """Short bursts in noise: each is worth two breaks or none, which no move of one break finds."""
    rng = np.random.default_rng(seed)
    heights = 10.0 + rng.normal(0, 1, n_steps)
    for at in rng.integers(0, n_steps, 12):
        heights[at : at + int(rng.integers(1, 40))] += rng.uniform(5, 60)
    edges = np.concatenate([[0.0], np.cumsum(rng.pareto(1.2, n_steps) + 0.01)])
    return UtilizationCurve(edges, heights - heights.min()).merged()


@pytest.mark.parametrize(("seed", "degree"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_likely_edges_come_within_a_hundredth_of_the_exact_sum(monkeypatch, seed, degree):
    monkeypatch.setattr(hill_climb, "_EXACT", 0)
    curve, counts = bursts(seed), (7, 12)
    tree = MomentTree(curve)
    for exact, climbed in zip(
        *(each.sequence(curve, counts, Basis(degree)) for each in (LeastSquares(), HillClimb())), strict=True
    ):
        least, reached = (sum_of_squares(tree, each.breaks, degree) for each in (exact, climbed))
        assert least * (1 - 1e-12) <= reached <= 1.01 * least


def test_climb_moves_breaks_past_a_strong_one():
    """All structure lies in the second half; the start has its breaks in the first."""
    heights = np.concatenate([np.full(400, 10.0), np.repeat([50.0, 10.0, 60.0, 20.0], 100)])
    heights += np.random.default_rng(0).uniform(0, 1, 800)
    curve = UtilizationCurve(np.arange(801.0), heights)
    found = climb(MomentTree(curve), np.array([0.0, 100, 200, 300, 400, 800]), np.zeros(5, dtype=np.int64))
    assert found.breaks.tolist() == [0, 400, 500, 600, 700, 800]


def test_climb_separates_breaks_that_fall_on_one_edge():
    curve = UtilizationCurve(np.arange(6.0), [1, 5, 2, 8, 3])
    found = climb(MomentTree(curve), np.array([0.0, 2.1, 2.2, 2.3, 5.0]), np.zeros(4, dtype=np.int64))
    assert len(set(found.breaks.tolist())) == 5
