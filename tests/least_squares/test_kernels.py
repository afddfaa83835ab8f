"""Least squares: NIST's certified values, statsmodels, scipy, exact arithmetic, dense covariances."""

import csv
import itertools

import nist
import numpy as np
import pytest
import statsmodels.api as sm
from scipy.integrate import dblquad
from scipy.optimize import brentq, least_squares, minimize, nnls
from scipy.stats import median_abs_deviation, multivariate_normal, norm
from statsmodels.stats.outliers_influence import OLSInfluence

from perf_statistics import batched as batched_least_squares
from perf_statistics import trust_region
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import find_outliers, information
from perf_statistics.model_average import (
    GatheredShapes,
    NormalMixture,
    Shapes,
    _given,
    drift_covariance,
    expected_runs,
    positions,
    run_variance,
    shape_weights,
)
from perf_statistics.trust_region import LOSSES, JacobianFactor, Status, influence
from perf_timing.individual_model import fit_individually, subsets

MODELS = nist.NONLINEAR | nist.OTHERS
WORDS = {name: getattr(np, name) for name in ("exp", "arctan", "cos", "sin", "pi")}
# Matching digits of (parameters, standard deviations, sum of squares), of eleven certified; both starts reach them.
FLOOR = dict.fromkeys(MODELS, (10.0, 10.0, 10.0))
# The residuals of Lanczos1 are near the rounding of its data, see the README of the folder.
FLOOR["Lanczos1"] = (10.0, 2.5, 2.5)


def nonlinear_digits(found, certified):
    """Least number of matching digits, the log relative error; at most the eleven that are certified."""
    error = np.abs(np.asarray(found) - certified) / np.abs(certified)
    return float(-np.log10(np.maximum(error, 1e-11).max()))


def solve_nist(name, start):
    """Digits reached from one of NIST's starts, with derivatives by complex steps (exact to rounding)."""
    problem, code = nist.read(name), compile(MODELS[name].replace("^", "**"), name, "eval")
    count = len(problem.parameters)

    def model(b):
        return eval(code, WORDS | problem.x | {f"b{k}": value for k, value in enumerate(b, 1)})

    def jacobian(b):
        steps = b + 1e-30j * np.eye(count)
        return np.stack([model(one).imag / 1e-30 for one in steps], axis=1)

    found = trust_region.solve(lambda b: model(b) - problem.y, jacobian, problem.starts[start])
    variance = found.sum_of_squares / (len(problem.y) - count)
    deviations = np.sqrt(variance * np.diag(JacobianFactor.of(found.jacobian).inverse_normal))
    reached = (
        nonlinear_digits(found.theta, problem.parameters),
        nonlinear_digits(deviations, problem.deviations),
        nonlinear_digits(found.sum_of_squares, problem.squares),
    )
    return found, reached


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", MODELS)
def test_nist(name, start):
    found, reached = solve_nist(name, start)
    assert found.status is Status.CONVERGED
    assert all(one >= floor for one, floor in zip(reached, FLOOR[name], strict=True)), reached


def linear(design, target):
    return (lambda b: design @ b - target), (lambda b: design)


def test_bounds_of_a_linear_problem():
    """Nonnegative least squares has an exact algorithm of its own."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        design, target = rng.standard_normal((25, 6)), rng.standard_normal(25)
        expected, norm = nnls(design, target)
        found = trust_region.solve(*linear(design, target), np.full(6, 0.5), lower=np.zeros(6))
        assert found.status is Status.CONVERGED
        assert found.theta == pytest.approx(expected, abs=1e-12)
        assert found.sum_of_squares == pytest.approx(norm**2, rel=1e-12)
        assert found.at_bound.tolist() == (expected == 0.0).tolist()


def test_linear_algebra_that_fails_where_a_step_leads_ends_the_search():
    start = np.array([3.0, 5.0])

    def jacobian(b):
        if (b != start).any():
            raise np.linalg.LinAlgError("SVD did not converge")
        return np.eye(2)

    found = trust_region.solve(lambda b: b - 1.0, jacobian, start)
    assert found.status is Status.NOT_FINITE
    np.testing.assert_array_equal(found.theta, start)


def test_upper_bounds():
    rng = np.random.default_rng(9)
    design, target = rng.standard_normal((25, 4)), rng.standard_normal(25)
    free = np.linalg.lstsq(design, target)[0]
    upper = np.where(free > 0, free / 2, free + 1)
    found = trust_region.solve(*linear(design, target), np.full(4, 9.0), upper=upper)
    expected = minimize(
        lambda b: ((design @ b - target) ** 2).sum(), np.full(4, -1.0),
        jac=lambda b: 2 * design.T @ (design @ b - target), bounds=[(None, u) for u in upper], method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12},
    )  # fmt: skip
    assert found.theta == pytest.approx(expected.x, abs=1e-7)
    assert found.sum_of_squares <= expected.fun * (1 + 1e-12)
    assert (found.theta[found.at_bound] == upper[found.at_bound]).all()
    assert found.at_bound.any()


def test_rank_deficient_problem_takes_the_shortest_step():
    """Two equal columns: the sum is determined, and each gets the same part of the step."""
    x = np.linspace(0, 1, 7)
    design = np.stack([x, x, np.ones(7)], axis=1)
    found = trust_region.solve(*linear(design, 2 * x + 3), np.array([0.5, -0.5, 0.0]))
    assert found.status is Status.CONVERGED
    assert found.theta == pytest.approx([1.5, 0.5, 3.0], abs=1e-7)
    assert found.theta[0] + found.theta[1] == pytest.approx(2.0, rel=1e-13)


def test_robust_loss_is_a_stationary_point():
    rng = np.random.default_rng(2)
    x = np.linspace(0, 3, 40)
    y = 5 * np.exp(-0.7 * x) + 0.05 * rng.standard_normal(40)
    y[::9] += 4.0

    def model(b):
        return b[0] * np.exp(-b[1] * x) - y

    def jacobian(b):
        return np.stack([np.exp(-b[1] * x), -b[0] * x * np.exp(-b[1] * x)], axis=1)

    found = trust_region.solve(model, jacobian, np.array([3.0, 1.0]), loss="huber", loss_scale=0.1)
    weight = np.minimum(1, 0.1 / np.abs(found.residuals))
    assert found.status is Status.CONVERGED
    assert found.jacobian.T @ (weight * found.residuals) == pytest.approx([0, 0], abs=1e-11)
    assert found.theta == pytest.approx([5.0, 0.7], rel=0.05)


def test_failures_are_told():
    x = np.linspace(1, 2, 5)

    def model(b):
        return np.log(b[0] * x)

    def jacobian(b):
        return np.full((5, 1), 1 / b[0])

    assert trust_region.solve(model, jacobian, np.array([-1.0])).status is Status.NOT_FINITE
    rosenbrock = (
        lambda b: np.array([10 * (b[1] - b[0] ** 2), 1 - b[0]]),
        lambda b: np.array([[-20 * b[0], 10.0], [-1.0, 0.0]]),
        np.array([-1.2, 1.0]),
    )
    assert trust_region.solve(*rosenbrock, max_evaluations=5, polish=False).status is Status.OUT_OF_EVALUATIONS
    assert trust_region.solve(*rosenbrock).theta == pytest.approx([1, 1], rel=1e-12)
    # A derivative of the wrong sign: no step helps.
    stuck = trust_region.solve(lambda b: b - 3.0, lambda b: -np.eye(1), np.zeros(1))
    assert stuck.status is Status.STALLED
    assert "try another start" in stuck.status.value


@pytest.fixture
def jacobian():
    rng = np.random.default_rng(5)
    return rng.standard_normal((30, 5)) * np.array([1e-8, 1.0, 30.0, 1e6, 1e-3])


def test_step_covariance_and_leverage(jacobian):
    residuals = np.random.default_rng(1).standard_normal(30)
    factor = JacobianFactor.of(jacobian)
    scale = np.linalg.norm(jacobian, axis=0)
    assert factor.rank == 5
    assert not factor.undetermined.any()
    expected = -np.linalg.lstsq(jacobian / scale, residuals)[0]
    assert factor.step(residuals) * scale == pytest.approx(expected, rel=1e-11)
    inverse = np.linalg.inv((jacobian / scale).T @ (jacobian / scale))
    assert factor.inverse_normal * np.outer(scale, scale) == pytest.approx(inverse, rel=1e-11, abs=1e-13)
    q = np.linalg.qr(jacobian / scale)[0]
    assert factor.leverage == pytest.approx((q**2).sum(axis=1), rel=1e-11)


def test_units_of_the_parameters_do_not_matter(jacobian):
    jacobian[:, 4] = jacobian[:, 0] / 1e-8 + jacobian[:, 1]
    factor = JacobianFactor.of(jacobian)
    rescaled = JacobianFactor.of(jacobian * np.array([1e12, 1.0, 1e-9, 1.0, 1e5]))
    assert factor.rank == rescaled.rank == 4
    assert factor.undetermined.tolist() == rescaled.undetermined.tolist() == [True, True, False, False, True]


def test_functions_that_the_data_determine(jacobian):
    """With column 4 the sum of columns 0 and 1, only what sees both alike is determined."""
    jacobian = jacobian / np.linalg.norm(jacobian, axis=0)
    jacobian[:, 4] = jacobian[:, 0] + jacobian[:, 1]
    gradients = np.array([[1.0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 0, 0, 2], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
    assert JacobianFactor.of(jacobian).determines(gradients).tolist() == [False, True, True, True, True]


def test_fewer_rows_than_parameters():
    factor = JacobianFactor.of(np.array([[1.0, 2.0, 0.0]]))
    assert factor.rank == 1
    assert factor.null.shape == (3, 2)
    assert factor.undetermined.all()
    # Scaled to unit columns both parameters count alike: the shortest step takes half of the residual from each.
    assert factor.step(np.array([4.0])) == pytest.approx([-2.0, -1.0, 0.0])
    assert factor.leverage == pytest.approx([1.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_same_cost_as_scipy(loss):
    """One residual that no parameter changes: scipy's cost is half of the objective."""
    for residual in (0.2, 3.0, 40.0):
        found = least_squares(lambda x, e=residual: np.array([e]) + 0 * x, [0.0], loss=loss, f_scale=1.7)
        objective = 1.7**2 * LOSSES[loss](np.array([(residual / 1.7) ** 2]))[0, 0]
        assert objective == pytest.approx(2 * found.cost, rel=1e-14)


@pytest.mark.parametrize("loss", LOSSES)
def test_influence_is_half_of_the_slope_of_the_objective(loss):
    scale, step = 2.5, 1e-5
    e = np.array([-30.0, -2.0, -0.1, 0.4, 3.0, 100.0])

    def objective(residuals):
        return scale**2 * LOSSES[loss]((residuals / scale) ** 2)[0]

    psi, derivative = influence(loss, e, scale)
    assert psi == pytest.approx((objective(e + step) - objective(e - step)) / (4 * step), rel=1e-5)
    further = [influence(loss, e + sign * step, scale)[0] for sign in (1, -1)]
    assert derivative == pytest.approx((further[0] - further[1]) / (2 * step), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("n", "count"), [(3, 1), (3, 2), (2, 3), (1, 1)])
def test_information_without_enough_observations_is_infinite(n, count):
    assert [float(value) for value in information(1.0, n, count)] == [np.inf, np.inf]


def judged(values):
    """Outliers about the mean: its leverage is 1 / n for every point."""
    residuals = values - values.mean()
    return find_outliers(residuals, residuals / (1 - 1 / len(values)), len(values) - 1)


def test_leave_out_residuals_are_those_of_a_linear_model():
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(30), rng.uniform(1, 9, 30), rng.uniform(1, 9, 30)])
    line = sm.OLS(design @ [1, 2, 3] + rng.standard_normal(30), design).fit()
    influence = line.get_influence()
    leave_out = line.resid / (1 - influence.hat_matrix_diag)
    found = find_outliers(line.resid, leave_out, 27)
    assert found.studentized == pytest.approx(influence.resid_studentized_external, rel=1e-9)
    assert found.robust == pytest.approx(line.resid / median_abs_deviation(line.resid, scale="normal"), rel=1e-12)


def test_outliers_that_hide_one_another():
    """Each of the three inflates the variance that the two others are measured by; the robust scale is not moved."""
    values = np.random.default_rng(3).standard_normal(60)
    values[[5, 6, 7]] += 9.0
    found = judged(values)
    assert found.flagged.nonzero()[0].tolist() == [5, 6, 7]
    bonferroni = 3.5  # about what Student's t with 58 degrees of freedom asks for one of 60 points
    assert (np.abs(found.studentized[[5, 6, 7]]) > bonferroni).sum() < 3


def test_normal_errors_are_seldom_called_outliers():
    """Bonferroni's limit errs in 5 % of data sets; the second rule adds less than another 5 %."""
    rng = np.random.default_rng(4)
    wrong = sum(judged(rng.standard_normal(60)).flagged.any() for _ in range(400))
    assert wrong / 400 < 0.1


def test_outliers_of_few_points_and_of_exact_fits():
    """Without degrees of freedom nothing can be said; the only error is infinitely many standard errors away."""
    for degrees_of_freedom in (0, 1):
        found = find_outliers(np.array([0.0, 9.0, 0.1]), np.array([0.0, 9.0, 0.1]), degrees_of_freedom)
        assert np.isnan(found.studentized).all()
        assert not found.flagged.any()
    found = find_outliers(np.zeros(9), np.zeros(9), 7)
    assert not found.flagged.any()
    assert (found.robust == 0).all()
    residuals = np.zeros(20)
    residuals[4] = 8.0
    assert find_outliers(residuals, residuals / 0.75, 15).flagged.nonzero()[0].tolist() == [4]


NIST = nist.FOLDER / "linear"


def characteristic(p):
    """The seven functions of Strohmaier, "Statistical Performance Modeling", equation 3."""
    return np.stack([1 / p**2, 1 / p, np.log(p) / p, 1 / np.sqrt(p), np.ones_like(p), np.log(p), p], axis=-1)


def all_subsets(n_functions, size):
    return np.array(list(itertools.combinations(range(n_functions), size)))


def problem(n_series, n_designs, n=12, seed=0):
    """Series that share designs in unequal numbers, the first design most."""
    rng = np.random.default_rng(seed)
    designs = characteristic(rng.uniform(1, 200, (n_designs, n)))
    group = np.minimum(rng.geometric(0.4, n_series) - 1, n_designs - 1)
    return designs, group, rng.normal(5.0, 2.0, (n_series, n))


def fit_one(design, y, subset=None):
    """One series, one hypothesis: the first of every array."""
    subset = range(design.shape[1]) if subset is None else subset
    return fit_subsets(design[None], [0], y[None], [list(subset)])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(("n_series", "n_designs"), [(7, 1), (5, 5), (40, 6)])
def test_as_statsmodels(n_series, n_designs, size):
    """Tolerance: scaled columns of these designs have condition numbers up to 1e6, times 1e-16, times a margin."""
    designs, group, values = problem(n_series, n_designs)
    subsets = all_subsets(7, size)[::3]
    fits = fit_subsets(designs, group, values, subsets)
    assert fits.coefficients.shape == (n_series, len(subsets), size)
    for k, h in itertools.product(range(0, n_series, 3), range(0, len(subsets), 2)):
        design = designs[group[k]][:, subsets[h]]
        scale = np.linalg.norm(design, axis=0)
        other = sm.OLS(values[k], design / scale).fit()
        assert fits.coefficients[k, h] * scale == pytest.approx(other.params, rel=1e-8, abs=1e-8)
        assert fits.standard_errors[k, h] * scale == pytest.approx(other.bse, rel=1e-8)
        assert fits.sum_of_squares[k, h] == pytest.approx(other.ssr, rel=1e-10)
        assert fits.leave_one_out[k, h] == pytest.approx(np.sum(OLSInfluence(other).resid_press ** 2), rel=1e-8)
        covariance = fits.covariance[group[k], h] * np.outer(scale, scale)
        assert covariance == pytest.approx(other.normalized_cov_params, rel=1e-8)
        assert fits.condition[group[k], h] == pytest.approx(np.linalg.cond(design / scale), rel=1e-8)
        assert fits.rank[group[k], h] == size


def test_a_point_that_alone_determines_a_coefficient():
    """The last point is the only one where the second function is not zero: nothing predicts it."""
    fits = fit_one(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0, 9.0]))
    assert fits.coefficients[0, 0] == pytest.approx([2.0, 7.0])
    assert fits.sum_of_squares[0, 0] == pytest.approx(2.0)
    assert fits.leave_one_out[0, 0] == np.inf
    assert fits.standard_errors[0, 0] == pytest.approx([(1 / 3) ** 0.5, (4 / 3) ** 0.5])


@pytest.mark.parametrize(("design", "rank"), [
    (np.column_stack([np.arange(1.0, 7), 1e-7 * np.arange(1.0, 7), np.ones(6)]), 2),
    (np.column_stack([np.arange(1.0, 7), np.zeros(6), np.ones(6)]), 2),
    (np.column_stack([np.full(6, 3.0), np.full(6, 1e9), np.ones(6)]), 1),
    (np.zeros((6, 3)), 0), (characteristic(np.array([2.0, 5.0]))[:, [1, 4, 6]], 2),
    (characteristic(np.array([2.0]))[:, [1, 4, 6]], 1),
], ids=["multiple", "zero", "constants", "nothing", "two points", "one point"])  # fmt: skip
def test_deficient_rank(design, rank):
    """The solution of least norm in scaled columns, from numpy's pseudo-inverse; fitted values do not depend on it."""
    y = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])[: len(design)]
    fits = fit_one(design, y)
    norms = np.linalg.norm(design, axis=0)
    scaled = design / np.where(norms > 0, norms, 1)
    expected = np.linalg.pinv(scaled, rcond=1e-12) @ y
    assert fits.rank[0, 0] == rank
    assert fits.coefficients[0, 0] * norms == pytest.approx(np.where(norms > 0, expected, 0), rel=1e-9, abs=1e-12)
    assert fits.condition[0, 0] == np.inf
    assert np.isnan(fits.standard_errors).all()
    assert fits.sum_of_squares[0, 0] == pytest.approx(np.sum((y - scaled @ expected) ** 2), rel=1e-12, abs=1e-25)


@pytest.mark.parametrize("floats", [1, 700, 20_000])
def test_steps_do_not_show(monkeypatch, floats):
    designs, group, values = problem(40, 6, seed=7)
    whole = fit_subsets(designs, group, values, all_subsets(7, 3))
    monkeypatch.setattr(batched_least_squares, "_FLOATS_AT_ONCE", floats)
    parts = fit_subsets(designs, group, values, all_subsets(7, 3))
    for name in ("sum_of_squares", "condition", "rank"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
    # Some points have leverages up to 1 - 1e-7: rounding differs with the order of sums, and is divided by 1e-7.
    assert parts.leave_one_out == pytest.approx(whole.leave_one_out, rel=1e-6)
    assert np.allclose(parts.coefficients, whole.coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("change", "message"), [
    ({"values": np.ones((2, 4))}, "do not agree"), ({"values": np.full((2, 5), np.nan)}, "finite"),
    ({"designs": np.full((1, 5, 3), np.inf)}, "finite"), ({"group": [0, 1]}, "group: indices from 0 to 0"),
    ({"subsets": [[0, 3]]}, "subsets: indices from 0 to 2"), ({"subsets": [0, 1]}, r"subsets \(H, m\)"),
    ({"subsets": np.zeros((1, 0))}, "at least one"),
])  # fmt: skip
def test_refused(change, message):
    given = {"designs": np.ones((1, 5, 3)), "group": [0, 0], "values": np.ones((2, 5)), "subsets": [[0, 1]]}
    with pytest.raises(ValueError, match=message):
        fit_subsets(**(given | change))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_bounded_as_scipy(most):
    """Series that have negative coefficients without the bound; one design collinear, one series all negative."""
    designs, group, values = problem(30, 4, seed=8)
    designs[1, :, 2] = 2.0 * designs[1, :, 1]
    values[0] *= -1.0
    hypotheses = subsets(7, range(1, most + 1))
    cell = np.repeat(np.arange(30), values.shape[1])
    free, bounded = fit_individually(np.concatenate(designs[group]), values.ravel(), cell, hypotheses, bounds=True)
    assert (free.coefficients < 0).any()
    assert {len(hypotheses[h]) if h >= 0 else 0 for h in bounded.effective.ravel()} == set(range(most + 1))
    for k, h in itertools.product(range(len(values)), range(len(hypotheses))):
        functions, used = list(hypotheses[h]), bounded.effective[k, h]
        part = designs[group[k]][:, functions]
        expected, norm = nnls(part, values[k])
        assert bounded.sum_of_squares[k, h] == pytest.approx(norm**2, rel=1e-10)
        scale = np.linalg.norm(part, axis=0)
        if np.linalg.matrix_rank(part / scale) == len(functions):
            found = dict(zip(hypotheses[used], free.coefficients[k, used], strict=False)) if used >= 0 else {}
            coefficients = np.array([found.get(function, 0.0) for function in functions])
            assert coefficients * scale == pytest.approx(expected * scale, rel=1e-8, abs=1e-8)
        left_out = free.leave_one_out[k, used] if used >= 0 else np.sum(values[k] ** 2)
        assert bounded.leave_one_out[k, h] == pytest.approx(left_out)


def read_certified():
    certified = {}
    with (NIST / "certified.csv").open() as file:
        for row in csv.DictReader(file):
            certified.setdefault(row["problem"], []).append(row)
    return certified


def digits(found, certified, size):
    """Fewest matching digits: log relative error, at most 15; of a certified zero, relative to the size beside it."""
    certified = np.asarray(certified)
    error = np.abs(found - certified) / np.where(certified == 0.0, size, np.abs(certified))
    return float(-np.log10(max(1e-15, np.max(error))))


def nist_digits(name):
    """Matching digits of coefficients, their standard deviations and the residual standard deviation."""
    *parameters, residual = read_certified()[name]
    data = np.loadtxt(NIST / f"{name}.csv", delimiter=",", skiprows=1)
    y, x = data[:, 0], data[:, 1:]
    numbers = [int(row["parameter"].removeprefix("B")) for row in parameters]
    # B0 is the intercept; Bi belongs to the power i of the only predictor, or to the predictor i.
    design = x ** np.array(numbers) if x.shape[1] == 1 else np.column_stack([np.ones(len(x)), x])
    fits = fit_one(design, y)
    estimates = np.array([float(row["estimate"]) for row in parameters])
    deviations = np.array([float(row["standard_deviation"]) for row in parameters])
    deviation = np.sqrt(fits.sum_of_squares[0, 0] / (len(y) - len(numbers)))
    return (
        digits(fits.coefficients[0, 0], estimates, 1.0),
        digits(fits.standard_errors[0, 0], deviations, np.abs(estimates)),
        digits(deviation, float(residual["standard_deviation"]), np.sqrt(np.mean(y**2))),
    )


# Digits to be reached: coefficients, standard deviations, residual standard deviation. Double precision has 15.6, of
# which log10(condition) may be lost (3.3 for Wampler, 9.7 for Filip), and more in Wampler4 and 5, where coefficients of
# 1 are found under noise of 10^5 and 10^7. A digit or more is left for other processors and libraries.
FLOORS = {
    "norris": (11, 13, 13), "pontius": (10, 11, 11), "noint1": (13, 13, 13), "noint2": (13, 13, 13),
    "filip": (6, 6, 7), "longley": (9, 10, 10), "wampler1": (8, 8, 14), "wampler2": (11, 11, 14),
    "wampler3": (8, 12, 13), "wampler4": (6, 12, 13), "wampler5": (4, 12, 13),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOORS)
def test_nist_certified_values(name):
    found = nist_digits(name)
    assert all(digits >= floor for digits, floor in zip(found, FLOORS[name], strict=True)), found


P = np.array([2.0, 4.0, 8.0, 16.0, 32.0])


@pytest.mark.parametrize(("first", "second"), [(0.7, 1.9), (-0.8, 1.1), (-0.3, -1.2)])
def test_covariance_of_the_drift_is_the_integral_over_its_slopes(first, second):
    """Slopes of variance length/2 with correlation exp(-distance/length), integrated from 0 to both places."""
    area = dblquad(lambda a, b: 32.0 * np.exp(-abs(a - b) / 64.0), 0.0, first, 0.0, second)[0]
    assert drift_covariance(np.array([[first]]), np.array([[second]]))[0, 0] == pytest.approx(area, rel=1e-6)


def test_positions_do_not_depend_on_units_and_pass_over_what_has_no_logarithm():
    one = positions({"p": P, "n": P - 2.0}, {"p": P[:2], "n": P[:2]})
    other = positions({"p": 1e3 * P}, {"p": 1e3 * P[:2]})
    for here, there in zip(one, other, strict=True):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_run_variance_pools_relative_spreads():
    """Two degrees of freedom of 4 squares each, and one of a hundredth."""
    repetitions, spread = np.array([2.0, 2.0, 1.0]), np.array([0.2, 0.2, np.nan])
    assert run_variance(repetitions, spread) == pytest.approx((2 * 0.04 + 1e-4) / 3)


def test_quantiles_of_a_mixture_are_roots_of_its_distribution():
    rng = np.random.default_rng(1)
    weights = np.log(rng.dirichlet(np.ones(5)))
    means, variances = rng.normal(0, 3, (5, 2)), rng.uniform(0.1, 4, (5, 2))
    found = NormalMixture.of(weights, means, variances).quantiles([0.025, 0.5, 0.975])
    for k in range(2):
        for share, value in zip((0.025, 0.5, 0.975), found[:, k], strict=True):

            def missing(x, k=k, share=share):
                return np.exp(weights) @ norm.cdf(x, means[:, k], np.sqrt(variances[:, k])) - share

            assert value == pytest.approx(brentq(missing, -50, 50, xtol=1e-12), abs=1e-4)


def test_evidence_mean_and_variance_are_those_of_the_dense_covariance():
    """The unknown factor as a variance without end, two tilts as two more directions of the covariance."""
    rng = np.random.default_rng(2)
    n, k, end = 5, 2, 1e7
    tilts, tilts_asked = rng.normal(size=(2, 2, n)), rng.normal(size=(2, 2, k))
    shapes = Shapes(
        rng.normal(size=(2, n)), rng.normal(size=(2, k)), tilts, tilts_asked, np.array([0.3, 0.8]), np.zeros(2),
        np.arange(2),
    )  # fmt: skip
    places = rng.normal(size=(n + k, 1))
    drift = drift_covariance(places, places)
    values = rng.normal(size=n)
    own = drift[:n, :n] + 0.1 * np.eye(n)
    found = _given(values - shapes.log, shapes, own, drift[:n, n:], np.diag(drift)[n:])
    dense = []
    for s in range(2):
        sides = np.hstack([tilts[s], tilts_asked[s]])
        whole = drift + shapes.variance[s] * sides.T @ sides + end
        whole[:n, :n] += 0.1 * np.eye(n)
        off = values - shapes.log[s]
        weights = np.linalg.solve(whole[:n, :n], whole[:n, n:])
        evidence = multivariate_normal(np.zeros(n), whole[:n, :n], allow_singular=True).logpdf(off) + 0.5 * np.log(end)
        mean = shapes.log_asked[s] + weights.T @ off
        dense.append((evidence, mean, np.diag(whole[n:, n:] - whole[n:, :n] @ weights)))
    assert np.diff(found[0]) == pytest.approx(np.diff([one[0] for one in dense]), abs=1e-4)
    np.testing.assert_allclose(found[1], [one[1] for one in dense], atol=1e-4)
    np.testing.assert_allclose(found[2], [one[2] for one in dense], atol=1e-3)


def gathered(values):
    """A falling function with a floor, or with growth."""
    found, far = GatheredShapes(), np.array([64.0])
    for power in (0.0, 1.0):
        functions = [np.stack([1 / at, at**power], axis=1) for at in (P, far)]
        assert found.about_fit(values, *functions, 0.0)
    return found.shapes()


def test_the_shape_that_the_values_have_is_the_likely_one():
    values, ones, none = 100 / P + 5.0, np.ones(5), np.full(5, np.nan)
    weights = shape_weights(values, ones, none, {"p": P}, gathered(values))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.8


def test_runs_do_not_depend_on_the_unit_of_the_values_nor_on_the_order():
    values, ones, none = (100 / P + 5.0) * [1.02, 0.97, 1.01, 1.03, 0.98], np.ones(5), np.full(5, np.nan)
    shares = [0.025, 0.5, 0.975]
    one = expected_runs(values, ones, none, {"p": P}, {"p": np.array([64.0])}, gathered(values))
    milli = expected_runs(1e3 * values, ones, none, {"p": P}, {"p": np.array([64.0])}, gathered(1e3 * values))
    np.testing.assert_allclose(1e3 * one.ratio_quantiles(shares), milli.ratio_quantiles(shares), rtol=1e-9)
    assert one.ratio_quantiles(shares)[0, 0] < 100 / 64 + 5 < one.ratio_quantiles(shares)[2, 0]


def test_a_sum_that_is_not_positive_is_no_shape():
    found = GatheredShapes()
    assert not found.about_fit(100 / P + P, np.stack([1 / P, P], 1), np.array([[1.0, -1e9]]), 0.0)
    assert found.shapes() is None
    found.last_resort(100 / P, 90 / P, np.array([-1.0]))
    assert found.shapes().log_asked[0, 0] == pytest.approx(np.log(0.05 * 100 / 32))
