"""Refits of the joint model: fewer rows with the same answers, bootstrap, and cross-validation by cell."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backwards import Backwards
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_timing.joint_resampling import bootstrap, leave_one_cell_out, leave_one_out_residuals
from perf_timing.joint_solver import JointProblem, solve


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_compression_loses_nothing(seed, n_functions, n_rows):
    rng = np.random.default_rng(seed)
    code, system = rng.integers(0, 3, n_rows), rng.integers(0, 4, n_rows)
    basis = rng.standard_normal((n_rows, n_functions)) * 10.0 ** rng.integers(-5, 6, n_functions)
    problem = JointProblem(basis, rng.standard_normal(n_rows), code, system, 3, 4, 1)
    few = problem.compressed()
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


def test_quick_optimum_is_stationary_to_the_last_digits(joint):
    problem = joint(noise=0.5, seed=3).problem
    fit = solve(problem, starts=1)
    gradient = fit.jacobian.T @ fit.residuals
    scale = np.linalg.norm(fit.jacobian, axis=0) * np.linalg.norm(fit.residuals)
    assert np.abs(gradient / scale).max() < 1e-13


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
