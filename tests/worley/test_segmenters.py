"""Segmenters by their names: against all partitions of small curves, and dense sums of squares."""

import itertools

import numpy as np
import pytest

import perfcore
from perfcore import UtilizationCurve
from perfcore.contracts import Basis
from perfcore.hooks.registry import build_options, registry


def segmenter(name, **options):
    entry = registry().entry("segmenters", name)
    return entry.load()(build_options(entry, options)[0])


def sum_of_squares(dense, curve, breaks, degree):
    return sum(dense(curve, degree, a, b) ** 2 for a, b in itertools.pairwise(breaks))


def small(seed, n_steps=12):
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n_steps))]).astype(float)
    return UtilizationCurve(edges, rng.integers(0, 30, n_steps)).merged()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("degree", "n_phases"), [(0, 2), (0, 4), (1, 3), (2, 3), (3, 2)])
def test_least_squares_is_the_best_of_all_partitions(exact, dense, seed, degree, n_phases):
    curve = small(seed)
    edges, heights = curve.relative_edges.tolist(), curve.heights.tolist()
    pairs = itertools.combinations(range(len(edges)), 2)
    error = {(i, k): exact(edges, heights, edges[i], edges[k], degree) for i, k in pairs}
    least = min(
        sum(error[pair] for pair in itertools.pairwise((0, *inner, len(edges) - 1)))
        for inner in itertools.combinations(range(1, len(edges) - 1), n_phases - 1)
    )
    found = segmenter("least-squares").segment(curve, n_phases, Basis(degree))
    assert len(found.breaks) == n_phases + 1
    assert sum_of_squares(dense, curve, found.breaks, degree) == pytest.approx(float(least), rel=1e-10, abs=1e-9)


def test_greedy_keeps_the_breaks_it_placed(noisy):
    for fewer, more in itertools.pairwise(segmenter("greedy").sequence(noisy(500), range(1, 9), Basis(1))):
        assert set(fewer.breaks) < set(more.breaks)


@pytest.mark.parametrize(("n_steps", "degree"), [(3, 0), (64, 1), (323, 0), (323, 1), (323, 3), (31_000, 0)])
def test_the_first_break_of_greedy_is_the_best_of_all_edges(noisy, dense, n_steps, degree):
    curve = noisy(n_steps, seed=degree)
    edges = curve.relative_edges
    begin, end, found = edges[0], edges[-1], segmenter("greedy").segment(curve, 2, Basis(degree)).breaks[1]
    tried = edges[1:-1] if n_steps < 1000 else [*edges[1:-1:2000], *edges[np.abs(edges - found) < 20.0]]
    sums = {at: sum_of_squares(dense, curve, (begin, at, end), degree) for at in tried}
    assert sums[found] <= min(sums.values()) * (1 + 1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_hill_climb_cannot_be_improved_by_moving_one_break(noisy, dense, degree):
    curve = noisy(300, seed=3)
    breaks = segmenter("hill-climb").segment(curve, 6, Basis(degree)).breaks
    assert len(breaks) == 7
    for before, here, after in zip(breaks, breaks[1:], breaks[2:], strict=False):
        reached = sum_of_squares(dense, curve, (before, here, after), degree)
        for at in curve.relative_edges[(curve.relative_edges > before) & (curve.relative_edges < after)]:
            assert sum_of_squares(dense, curve, (before, at, after), degree) >= reached * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_order_of_the_sums_of_squares(noisy, seed):
    """Exact is best, and climbing is exact where there are few steps."""
    curve = noisy(400, seed=seed)
    options = {"fitter": "phases", "phases": 7, "degree": 1, "refine": False}
    exact, climb = (perfcore.fit(curve, segmenter=name, **options) for name in ("least-squares", "hill-climb"))
    minimax = perfcore.fit(curve, fitter="worley", phases=7, degree=1)
    assert climb.sum_of_squares == pytest.approx(exact.sum_of_squares, rel=1e-12)
    assert exact.sum_of_squares < minimax.sum_of_squares
