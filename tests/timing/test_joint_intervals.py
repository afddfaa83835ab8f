"""Profile intervals: the asymptotic ones in the linear limit, open where the data leave them open."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import f as fisher
from scipy.stats import t as student

from perf_timing.joint.resampling import profile_intervals, reciprocal
from perf_timing.joint.solver import solve


def test_linear_limit(joint):
    problem = joint(noise=1e-5).problem
    fit = solve(problem)
    found = profile_intervals(problem, fit, range(14), level=0.9)
    half = student.ppf(0.95, 82) * np.sqrt(np.diag(fit.covariance))
    assert (fit.theta - found.lower) / half == pytest.approx(np.ones(14), abs=1e-4)
    assert (found.upper - fit.theta) / half == pytest.approx(np.ones(14), abs=1e-4)


@pytest.fixture(scope="module")
def noisy(joint):
    """The second speed of the last system (PCArray) is as uncertain as in Table 4, 3.878 +- 4.918."""
    problem = joint(noise=1.0, seed=0).problem
    return problem, solve(problem)


def least_with(problem, fit, index, value):
    """Least sum of squares with one parameter held, by scipy with a numerical Jacobian."""
    free = np.arange(14) != index

    def residuals(part):
        theta = np.insert(part, index, value)
        return problem.residuals(theta)

    return 2 * least_squares(residuals, fit.theta[free], x_scale="jac", ftol=1e-12, xtol=1e-12).cost


def test_ends_are_where_the_sum_of_squares_reaches_the_limit(noisy):
    problem, fit = noisy
    chosen = [0, 5, problem.inverse_speed_index(0, 1), problem.inverse_speed_index(1, 2)]
    counted = []
    found = profile_intervals(problem, fit, chosen, advance=counted.append)
    assert counted == [1] * 4
    limit = fit.sum_of_squares * (1 + fisher.ppf(0.95, 1, 82) / 82)
    for index, *ends in zip(chosen, found.lower, found.upper, strict=True):
        for end in ends:
            assert least_with(problem, fit, index, end) == pytest.approx(limit, rel=1e-6)
    assert found.converged.all()
    assert found.lowest == fit.sum_of_squares


def test_speed_is_open_above_where_the_inverse_may_be_zero(noisy):
    problem, fit = noisy
    index = problem.inverse_speed_index(1, 3)
    found = profile_intervals(problem, fit, [index])
    # The interval of v closes on the far side of zero; every speed from some value on agrees with the data.
    assert -1 < found.lower[0] < 0 < fit.theta[index] < found.upper[0] < 1
    low, high = reciprocal(found.lower, found.upper, fit.theta[[index]])
    assert low[0] == 1 / found.upper[0]
    assert high[0] == np.inf


def test_interval_that_never_closes(joint):
    """Where w may be zero for the only code that a function concerns, any v agrees with the data."""
    w = np.array([[4.0, 3.0], [0.02, 0.02]])
    problem = joint(w=w, r=np.array([[1.0, 0.5], [1.0, 1.0]]), noise=1.0, seed=3).problem
    fit = solve(problem)
    found = profile_intervals(problem, fit, [problem.inverse_speed_index(1, 1)])
    assert np.isinf([found.lower[0], found.upper[0]]).any()


def test_nonnegative_intervals_stop_at_zero(joint):
    problem = joint(noise=4.0, seed=0).problem
    fit = solve(problem, positive=True)
    index = int(np.flatnonzero(fit.at_bound)[0])
    found = profile_intervals(problem, fit, [index])
    assert found.lower[0] == 0.0
    assert found.upper[0] > 0.0


def test_what_cannot_be_said(joint):
    double = joint(("1/p", "1/p"), noise=0.5).problem
    open_ended = profile_intervals(double, solve(double), [0])
    assert (open_ended.lower[0], open_ended.upper[0]) == (-np.inf, np.inf)
    exact = joint(noise=0.5, processors=(4, 8), r=np.ones((2, 1))).problem
    none_left = profile_intervals(exact, solve(exact), [0, 1])
    assert np.isnan([none_left.lower, none_left.upper]).all()
    robust = joint(noise=0.5).problem
    with pytest.raises(ValueError, match="huber"):
        profile_intervals(robust, solve(robust, loss="huber"), [0])


def test_reciprocal_of_negative_inverse_speeds():
    lower, upper = reciprocal(np.array([-4.0, -2.0, 0.0]), np.array([-1.0, 1.0, np.inf]), np.array([-2.0, -1.0, 1.0]))
    assert lower.tolist() == [-1.0, -np.inf, 0.0]
    assert upper.tolist() == [-0.25, -0.5, np.inf]
