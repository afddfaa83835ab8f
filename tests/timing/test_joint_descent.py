"""The compiled way to the joint optimum: lossless compression, the same answers as the careful way, and its limits."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_timing.joint.descent import CompressedProblem, evaluate, is_worth_compiling
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.resampling import bootstrap, leave_one_cell_out, profile_intervals
from perf_timing.joint.solver import JointStatus, solve


def rows_of(compressed, problem):
    """The triangles as a problem of their own: m + 1 rows for each cell of the table."""
    n_codes, n_systems, side, _ = compressed.triangles.shape
    rows = compressed.triangles.reshape(-1, side)
    code, system = (x.ravel().repeat(side) for x in np.indices((n_codes, n_systems)))
    return JointProblem(rows[:, :-1], rows[:, -1], code, system, n_codes, n_systems, problem.reference)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_compression_loses_nothing(seed, n_functions, n_rows):
    rng = np.random.default_rng(seed)
    code, system = rng.integers(0, 3, n_rows), rng.integers(0, 4, n_rows)
    basis = rng.standard_normal((n_rows, n_functions)) * 10.0 ** rng.integers(-5, 6, n_functions)
    problem = JointProblem(basis, rng.standard_normal(n_rows), code, system, 3, 4, 1)
    few = rows_of(CompressedProblem.of(problem), problem)
    theta = rng.standard_normal(problem.n_parameters)
    residuals, jacobian = problem.residuals(theta), problem.jacobian(theta)
    length = np.linalg.norm(jacobian, axis=0)
    length[length == 0.0] = 1.0
    jacobian /= length
    other = few.jacobian(theta) / length
    size = max(np.linalg.norm(residuals), 1.0)
    assert few.residuals(theta) @ few.residuals(theta) == pytest.approx(residuals @ residuals, rel=1e-12)
    assert other.T @ other == pytest.approx(jacobian.T @ jacobian, abs=1e-12)
    assert other.T @ few.residuals(theta) == pytest.approx(jacobian.T @ residuals, abs=1e-12 * size)


def test_residuals_and_jacobian_of_all_rows(joint):
    problem = joint(noise=1.0, reference=2, missing=[(0, 1)]).problem
    theta = np.random.default_rng(1).uniform(0.5, 2.0, problem.n_parameters)
    residuals, jacobian = evaluate(problem, theta)
    assert residuals == pytest.approx(problem.residuals(theta), rel=1e-13, abs=1e-13)
    assert jacobian == pytest.approx(problem.jacobian(theta), rel=1e-15)


@pytest.mark.parametrize("reference", [0, 3])
@pytest.mark.parametrize("functions", [("1/p",), ("1/p", "1/sqrt(p)"), ("1/p^2", "p"), ("1/p^2", "1/p", "1")])
def test_both_ways_agree(joint, functions, reference):
    w, r = np.random.default_rng(7).uniform(0.5, 3.0, (2, len(functions), 4))
    data = joint(functions, w=w, r=r, noise=0.05, relative=True, seed=8, reference=reference, missing=[(1, 2)])
    assert CompressedProblem.of(data.problem).search() is not None
    quick, careful = (solve(data.problem, compiled=compiled) for compiled in (True, False))
    assert quick.status is careful.status is JointStatus.CONVERGED
    assert quick.sum_of_squares == pytest.approx(careful.sum_of_squares, rel=1e-12)
    assert quick.theta == pytest.approx(careful.theta, rel=1e-9)
    assert quick.residuals == pytest.approx(careful.residuals, abs=1e-9)
    assert quick.jacobian == pytest.approx(careful.jacobian, rel=1e-9)
    scale = np.sqrt(np.outer(np.diag(careful.covariance), np.diag(careful.covariance)))
    assert quick.covariance / scale == pytest.approx(careful.covariance / scale, abs=1e-8)
    assert quick.rank == careful.rank
    assert quick.starts_reached >= careful.starts_reached


def test_quick_optimum_is_stationary_to_the_last_digits(joint):
    problem = joint(noise=0.5, seed=3).problem
    fit = solve(problem, starts=1)
    gradient = fit.jacobian.T @ fit.residuals
    scale = np.linalg.norm(fit.jacobian, axis=0) * np.linalg.norm(fit.residuals)
    assert np.abs(gradient / scale).max() < 1e-13


def test_refits_agree_with_the_careful_way(joint):
    problem = joint(noise=0.3, seed=5).problem
    quick, careful = (solve(problem, starts=1, compiled=compiled) for compiled in (True, False))
    draws = [bootstrap(problem, fit, draws=10, seed=2).draws for fit in (quick, careful)]
    # Refits the careful way are not polished, so that they have half of the digits.
    assert draws[0] == pytest.approx(draws[1], rel=1e-5)
    assert leave_one_cell_out(problem, quick) == pytest.approx(leave_one_cell_out(problem, careful), rel=1e-5)
    ends = [profile_intervals(problem, fit, [0, 5, 9]) for fit in (quick, careful)]
    width = ends[1].upper - ends[1].lower
    assert (ends[0].lower - ends[1].lower) / width == pytest.approx(np.zeros(3), abs=1e-5)
    assert (ends[0].upper - ends[1].upper) / width == pytest.approx(np.zeros(3), abs=1e-5)


def test_a_way_that_leads_through_infinity(joint):
    """Inverse speeds that begin with the wrong sign: v of the reference has to pass 0, which its gauge cannot."""
    problem = joint(noise=0.2).problem
    v = np.array([[1.0, -2.0, -2.0, -2.0], [1.0, -1.0, -1.0, -0.3]])
    found = CompressedProblem.of(problem).search(v)
    assert found is not None
    assert found.theta == pytest.approx(solve(problem, compiled=False).theta, rel=1e-9)


ALMOST_ONE = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0 + 1e-7]])


@pytest.mark.parametrize(
    "case",
    [
        {"functions": ("1/p", "1/p")},
        {"missing": [(c, s) for c in range(4) for s in range(4) if (c < 2) != (s < 2)]},
        {"missing": [(c, s) for c in range(4) for s in range(4) if c != s and s], "processors": (4,)},
        {"missing": [(c, 3) for c in range(4)]},
        {"w": np.ones((2, 4)), "r": ALMOST_ONE, "processors": (1.0, 1.0 + 1e-7)},
        {"w": np.array([[2.0, 3.0, 4.0], [3.0, 2.0, 1.0]]), "r": np.array([[1.0, 0.5, 2.0], [np.inf, 1.0, 0.5]])},
    ],
    ids=["doubled function", "table in two parts", "P > n", "unobserved system", "nearly collinear", "no reference"],
)
def test_what_the_data_leave_open_goes_the_careful_way(joint, case):
    problem = joint(**case, noise=0.1 if "r" not in case else 0.0).problem
    assert CompressedProblem.of(problem).search() is None
    quick, careful = (solve(problem, starts=1, compiled=compiled) for compiled in (True, False))
    assert quick.status is careful.status
    assert quick.theta.tolist() == careful.theta.tolist()
    assert quick.rank == careful.rank


@pytest.mark.parametrize("asked", [{"positive": True}, {"loss": "huber", "loss_scale": 0.1}])
def test_bounds_and_robust_losses_go_the_careful_way(joint, asked):
    problem = joint(noise=0.3).problem
    quick, careful = (solve(problem, starts=1, compiled=compiled, **asked) for compiled in (True, False))
    assert quick.theta.tolist() == careful.theta.tolist()
    assert not quick.compiled


def test_a_code_out_of_range_is_refused(joint):
    problem = joint().problem
    problem.code[5] = 4
    with pytest.raises(IndexError, match="out of range"):
        CompressedProblem.of(problem)


def test_few_small_fits_do_not_load_the_kernels(joint):
    problem = joint().problem
    assert not is_worth_compiling(problem, 5)
    assert is_worth_compiling(problem, 2000)
    program = "import sys, perf_timing.joint.fitter; print('numba' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "False\n"
