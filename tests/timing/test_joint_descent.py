"""The compiled way to the joint optimum: lossless compression, the same answers as the careful way, and its limits."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backwards import Backwards
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_timing.joint.descent import CompressedProblem, evaluate, is_worth_compiling
from perf_timing.joint.problem import JointProblem
from perf_timing.joint.resampling import bootstrap, leave_one_cell_out, leave_one_out_residuals, profile_intervals
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


# Bootstrap and cross-validation of the joint model.
def test_spread_of_the_bootstrap(joint):
    """Thirty codes of equal work on two systems of equal speed, one observation in each cell, small errors.

    To first order v is then a mean of the differences of the two cells of a code, weighted by h = a b / (a + b) of
    their weights a, b. For Exp(1) weights h has mean 1/3 and variance 4/45: the bootstrap has sqrt(4/5) of the
    asymptotic standard error, up to 1/30. Of 250 draws the standard deviation is uncertain by 4.5 %.
    """
    problem = joint(("1",), w=np.ones((1, 30)), r=np.ones((1, 2)), noise=1e-3, seed=1, processors=(1,)).problem
    fit = solve(problem, starts=1)
    counted = []
    found = bootstrap(problem, fit, draws=250, seed=2, advance=counted.append)
    assert sum(counted) == 250
    assert found.failed == 0
    assert found.draws[:, -1].std() == pytest.approx(np.sqrt(0.8) * fit.v_errors[0, 1], rel=0.12)
    assert found.draws[:, -1].mean() == pytest.approx(fit.v[0, 1], abs=0.2 * fit.v_errors[0, 1])
    lower, upper = found.intervals(0.9)
    share = ((found.draws >= lower) & (found.draws <= upper)).mean(axis=0)
    assert share == pytest.approx(np.full(31, 0.9), abs=0.009)


def test_bootstrap_of_small_errors_has_nearly_the_asymptotic_ones(joint):
    """Of equal, independent errors; some fifth is lost with as few cells as here."""
    problem = joint(noise=0.02, seed=1, w=4 * np.ones((2, 4)), r=np.ones((2, 4))).problem
    fit = solve(problem, starts=1)
    found = bootstrap(problem, fit, draws=200, seed=2)
    ratio = found.draws.std(axis=0) / np.sqrt(np.diag(fit.covariance))
    assert 0.6 < ratio.mean() < 1.05


def test_leaving_a_cell_out(joint):
    problem = joint(noise=0.5).problem
    counted = []
    predictions = leave_one_cell_out(problem, solve(problem), advance=counted.append)
    assert sum(counted) == 16
    for cell in (0, 6, 15):
        left = problem.cell == cell
        rest = solve(problem.subset(~left))
        assert predictions[left] == pytest.approx(problem.subset(left).predict(rest.theta), rel=1e-6)


def test_cells_that_the_others_do_not_determine(joint):
    """Code 3 ran on system 2 only, and system 3 on code 0 only."""
    missing = [(3, 0), (3, 1), (3, 3), (1, 3), (2, 3)]
    problem = joint(noise=0.5, missing=missing).problem
    predictions = leave_one_cell_out(problem, solve(problem))
    unknown = np.isin(problem.cell, [3 * 4 + 2, 0 * 4 + 3])
    assert np.isnan(predictions).tolist() == unknown.tolist()


def test_the_only_link_between_two_parts(joint):
    """Codes 0, 1 on systems 0, 1 and codes 2, 3 on systems 2, 3, with the cell (0, 2) between them."""
    missing = [(c, s) for c in range(4) for s in range(4) if (c < 2) != (s < 2) and (c, s) != (0, 2)]
    problem = joint(noise=0.5, missing=missing).problem
    predictions = leave_one_cell_out(problem, solve(problem))
    assert np.isnan(predictions).tolist() == (problem.cell == 2).tolist()


def test_a_function_allowed_twice_still_predicts(joint):
    problem = joint(("1/p", "1/p"), noise=0.5).problem
    predictions = leave_one_cell_out(problem, solve(problem))
    assert np.isfinite(predictions).all()


def test_a_single_cell_has_no_others():
    problem = JointProblem(np.ones((3, 1)), np.arange(3.0), np.zeros(3, int), np.zeros(3, int), 1, 1, 0)
    fit = solve(problem)
    assert np.isnan(leave_one_cell_out(problem, fit)).all()
    # The mean without each observation, against it: (1 + 2) / 2 - 0 and so on.
    assert leave_one_out_residuals(fit.residuals, fit.jacobian) == pytest.approx([1.5, 0.0, -1.5])


def test_leaving_out_observations_of_a_linear_model(joint):
    """With one system the model is linear, and the one step is exact."""
    problem = joint(r=np.ones((2, 1)), noise=1.0).problem
    fit = solve(problem)
    residuals = leave_one_out_residuals(fit.residuals, fit.jacobian)
    for row in range(0, problem.n_rows, 5):
        others = np.arange(problem.n_rows) != row
        rest = solve(problem.subset(others), starts=1)
        assert residuals[row] == pytest.approx(problem.residuals(rest.theta)[row], rel=1e-8)


def test_observation_that_alone_determines_a_parameter():
    """The second code was seen once."""
    code = np.array([0, 0, 0, 1])
    problem = JointProblem(np.ones((4, 1)), np.array([1.0, 2.0, 4.0, 8.0]), code, np.zeros(4, int), 2, 1, 0)
    fit = solve(problem)
    assert np.isnan(leave_one_out_residuals(fit.residuals, fit.jacobian)).tolist() == [False, False, False, True]


@pytest.mark.parametrize("executor", [ThreadPoolExecutor(1), ThreadPoolExecutor(3), Backwards()])
def test_any_executor_gives_the_digits_of_this_process(joint, executor):
    problem = joint(("1/p", "1"), noise=4.0).problem
    fit = solve(problem, positive=True)
    given = {"draws": 60, "seed": 3}
    whole = bootstrap(problem, fit, **given)
    assert len(whole.draws) + whole.failed == 60
    assert (bootstrap(problem, fit, **given, executor=executor).draws == whole.draws).all()
    assert (bootstrap(problem, fit, draws=30, seed=3).draws == whole.draws[:30]).all()
    alone, several = (leave_one_cell_out(problem, fit, executor=each) for each in (None, executor))
    assert alone.tobytes() == several.tobytes()
