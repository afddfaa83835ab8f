"""Starting values: fits of cells, factors, alternating fits, the gauge."""

import numpy as np
import pytest

from perf_timing.joint.problem import in_gauge
from perf_timing.joint.solver import alternate, cell_fits, data_driven_start, random_start, rank_one


def test_cells_are_fitted_alone(joint):
    problem = joint(noise=1.0, missing=[(1, 2)]).problem
    coefficients, information = cell_fits(problem)
    for c in range(4):
        for s in range(4):
            rows = (problem.code == c) & (problem.system == s)
            if (c, s) == (1, 2):
                assert (coefficients[:, c, s] == 0).all()
                assert (information[:, c, s] == 0).all()
            else:
                expected = np.linalg.lstsq(problem.basis[rows], problem.target[rows])[0]
                assert coefficients[:, c, s] == pytest.approx(expected, rel=1e-8)
                assert information[:, c, s] == pytest.approx((problem.basis[rows] ** 2).sum(axis=0))


def test_cell_with_one_observation_has_the_shortest_coefficients(joint):
    """In scaled columns: each function explains the same part of the observation."""
    problem = joint(processors=(16,)).problem
    coefficients, _ = cell_fits(problem)
    for row in range(problem.n_rows):
        parts = problem.basis[row] * coefficients[:, problem.code[row], problem.system[row]]
        assert parts == pytest.approx([problem.target[row] / 2] * 2, rel=1e-8)


def test_factors_with_equal_weights_are_the_first_singular_pair():
    table = np.random.default_rng(1).uniform(0.5, 2, (5, 4))
    left, singular, right = np.linalg.svd(table)
    work, inverse_speed = rank_one(table, np.ones_like(table))
    assert np.outer(work, inverse_speed) == pytest.approx(singular[0] * np.outer(left[:, 0], right[0]), rel=1e-8)


@pytest.mark.parametrize("reference", [0, 3])
def test_start_of_exact_data_is_the_solution(joint, reference):
    problem = joint(reference=reference).problem
    residuals = problem.residuals(data_driven_start(problem))
    assert np.abs(residuals).max() < 1e-6 * problem.target.max()


def test_alternating_never_gets_worse(joint):
    problem = joint(noise=2.0).problem
    v = np.random.default_rng(2).uniform(0.2, 3, (2, 4))
    v[:, 0] = 1.0
    sums = []
    for _ in range(4):
        theta = alternate(problem, v)
        v = problem.unpack(theta)[1]
        sums.append((problem.residuals(theta) ** 2).sum())
    assert sums == sorted(sums, reverse=True)


def test_reference_without_a_part_leaves_a_usable_start(joint):
    r = np.array([[1.0, 0.5, 2.0], [1e12, 1.0, 0.5]])
    w = np.array([[2.0, 3.0, 4.0], [3.0, 2.0, 1.0]])
    problem = joint(w=w, r=r).problem
    theta = data_driven_start(problem)
    assert np.isfinite(theta).all()
    assert np.abs(theta).max() < 1e5


def test_copies_of_a_function_start_apart(joint):
    problem = joint(("1/p", "1/p"), noise=1.0).problem
    w, v = problem.unpack(data_driven_start(problem))
    assert np.abs(v[0] - v[1]).max() > 0.05
    w, v = problem.unpack(random_start(problem, np.random.default_rng(0)))
    assert np.abs(w[0] - w[1]).max() > 0.05


@pytest.mark.parametrize("copies", [[[0], [1]], [[0, 1]]])
def test_gauge_leaves_the_model(copies):
    rng = np.random.default_rng(8)
    w, v = rng.standard_normal((2, 5)), rng.standard_normal((2, 4)) * np.array([[1e3], [1e-4]])
    if copies == [[0, 1]]:
        v[1, 2] = 0.0
    after_w, after_v = in_gauge(w, v, 2, copies)
    assert (after_v[:, 2] == 1).all()
    if len(copies) == 2:
        for k in range(2):
            assert np.outer(after_w[k], after_v[k]) == pytest.approx(np.outer(w[k], v[k]), rel=1e-12)
    else:
        assert after_w.T @ after_v == pytest.approx(w.T @ v, rel=1e-10, abs=1e-12)
        assert np.abs(after_v).max() < 100
