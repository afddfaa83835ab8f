"""The joint solver and its refits: against scipy, statsmodels, singular values, and incomplete tables."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from backwards import Backwards
from scipy.optimize import curve_fit, least_squares, minimize
from scipy.stats import f as fisher
from scipy.stats import t as student

import perfcore
from perf_timing.individual_model import fit_individually, subsets
from perf_timing.joint_resampling import (
    bootstrap,
    leave_one_cell_out,
    leave_one_out_residuals,
    profile_intervals,
    reciprocal,
)
from perf_timing.joint_solver import (
    JointProblem,
    JointStatus,
    components,
    search,
    solve,
)
from perf_timing.prepared import quantities_of
from perfcore.base.errors import OptionError

# Second functions with enough weight that intervals of r = 1/v are nearly symmetric.


@pytest.fixture(scope="module")
def joint(joint):
    """The synthetic tables as problems for the solver."""

    def make(*arguments, **named):
        data = joint(*arguments, **named)
        n_codes, n_systems = data.w.shape[1], data.r.shape[1]
        data.problem = JointProblem(data.basis, data.target, data.code, data.system, n_codes, n_systems, data.reference)
        return data

    return make


def test_every_random_start_reaches_the_optimum(joint):
    assert solve(joint(noise=0.5, seed=3).problem, starts=61, rng=11).starts_reached == 61


def test_starts_that_end_higher_are_not_counted(joint, monkeypatch):
    objectives = iter([1.0, 1.5, 1.01, 1.0])

    def ends_higher(*arguments, **named):
        found = search(*arguments, **named)
        return replace(found, objective=found.objective * next(objectives))

    monkeypatch.setattr("perf_timing.joint_solver.search", ends_higher)
    assert solve(joint(noise=0.5, seed=3).problem, starts=4).starts_reached == 2


def fit_in_speeds(problem, w, r):
    """The same model in (w, r) by scipy's curve_fit with a numerical Jacobian."""

    def model(rows, *parameters):
        work = np.reshape(parameters[:8], (2, 4))
        speed = np.ones((2, 4))
        speed[:, 1:] = np.reshape(parameters[8:], (2, 3))
        return (problem.basis * (work[:, problem.code] / speed[:, problem.system]).T).sum(axis=1)

    start = np.concatenate([w.ravel(), r[:, 1:].ravel()])
    options = {"method": "trf", "x_scale": "jac", "ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "jac": "3-point"}
    found, covariance = curve_fit(model, None, problem.target, start, **options)
    return found, np.sqrt(np.diag(covariance))


def inverse_speed_index(problem, function, system):
    """Where theta holds v of a system: behind all w, function by function, without the reference."""
    before = problem.n_functions * problem.n_codes + function * len(problem.fitted_systems)
    return before + int(np.searchsorted(problem.fitted_systems, system))


def errors_of(problem, fit):
    """Asymptotic standard errors of w and v."""
    errors = np.where(fit.undetermined | fit.at_bound, np.nan, np.sqrt(np.diag(fit.covariance)))
    return problem.unpack(errors)


def test_parameters_and_errors_of_a_fit_in_w_and_r(joint):
    data = joint(noise=0.5, seed=1)
    fit = solve(data.problem)
    assert fit.starts_reached == 5
    found, errors = fit_in_speeds(data.problem, data.w, data.r)
    assert np.concatenate([fit.w.ravel(), (1 / fit.v[:, 1:]).ravel()]) == pytest.approx(found, rel=1e-6)
    w_errors, v_errors = errors_of(data.problem, fit)
    assert np.concatenate([w_errors.ravel(), (v_errors / fit.v**2)[:, 1:].ravel()]) == pytest.approx(errors, rel=1e-4)
    assert fit.degrees_of_freedom == 96 - 14


def singular_values_of_cells(data):
    """Rank-one and rank-two approximations of equally weighted cells are in their singular values (Eckart, Young)."""
    problem, u = data.problem, data.problem.basis[:6, 0]
    target = problem.target.reshape(4, 4, 6)
    coefficients = target @ u / (u @ u)
    within = ((target - coefficients[..., None] * u) ** 2).sum()
    return within, (u @ u) * np.linalg.svd(coefficients)[1] ** 2


@pytest.mark.parametrize("function", ["1/p^2", "1/p", "log(p)/p", "1/sqrt(p)", "1", "log(p)", "p"])
def test_a_function_allowed_twice_is_the_nearest_matrix_of_rank_two(joint, function):
    w, r = np.random.default_rng(5).uniform(0.5, 3, (2, 2, 4))
    data = joint((function, function), w=w, r=r, noise=0.1, seed=6)
    within, squares = singular_values_of_cells(data)
    fit = solve(data.problem, starts=1)
    assert fit.sum_of_squares == pytest.approx(within + squares[2:].sum(), rel=1e-12)
    assert fit.status is JointStatus.UNDETERMINED
    # Two of the 14 parameters are free: a 2 x 2 mixing of the copies that leaves both v of the reference at 1.
    assert fit.rank == 12
    assert fit.undetermined.all()
    assert np.isnan(errors_of(data.problem, fit)[0]).all()
    assert np.abs(fit.v).max() < 100
    # Yet the predictions are determined, with errors that do not depend on the factors.
    variances = np.einsum("np,pq,nq->n", fit.jacobian, fit.covariance, fit.jacobian)
    other = solve(data.problem, starts=4, rng=1)
    others = np.einsum("np,pq,nq->n", other.jacobian, other.covariance, other.jacobian)
    assert variances == pytest.approx(others, rel=1e-6)
    assert variances.sum() == pytest.approx(12 * fit.sum_of_squares / (96 - 12), rel=1e-9)


def test_table_in_two_parts(joint):
    """Codes 0 and 1 ran on systems 0 and 1, codes 2 and 3 on 2 and 3: nothing compares the two groups."""
    data = joint(noise=0.2, missing=[(c, s) for c in range(4) for s in range(4) if (c < 2) != (s < 2)])
    problem = data.problem
    assert components(problem.code, problem.system, 4, 4)[1].tolist() == [0, 0, 1, 1]
    fit = solve(problem)
    assert fit.status is JointStatus.UNDETERMINED
    assert fit.rank == 12
    undetermined = problem.pack(np.tile([0, 0, 1, 1], (2, 1)), np.tile([1, 0, 1, 1], (2, 1))).astype(bool)
    assert fit.undetermined.tolist() == undetermined.tolist()
    assert np.isnan(errors_of(problem, fit)[0][:, 2:]).all()
    # The part with the reference is as if it were alone.
    here = (problem.code < 2) & (problem.system < 2)
    parts = (problem.basis, problem.target, problem.code, problem.system)
    alone = solve(JointProblem(*(part[here] for part in parts), 2, 2, 0))
    assert fit.w[:, :2] == pytest.approx(alone.w, rel=1e-9)
    assert fit.v[:, 1] == pytest.approx(alone.v[:, 1], rel=1e-9)


def test_too_few_observations(joint):
    few = joint(noise=0.2, processors=(4,), missing=[(c, s) for c in range(4) for s in range(4) if c != s and s])
    fit = solve(few.problem)
    assert few.problem.n_rows == 7
    assert fit.sum_of_squares == pytest.approx(0, abs=1e-18)
    assert fit.rank <= 7
    assert fit.degrees_of_freedom == 7 - fit.rank
    assert np.isnan(errors_of(few.problem, fit)[0]).all()
    assert np.isfinite(fit.theta).all()
    assert np.abs(fit.theta).max() < 1e4


def test_reference_without_a_part_in_a_function_is_told(joint):
    """No finite v fits a reference that takes no time where the others do."""
    data = joint(w=np.array([[2.0, 3.0, 4.0], [3.0, 2.0, 1.0]]), r=np.array([[1.0, 0.5, 2.0], [np.inf, 1.0, 0.5]]))
    fit = solve(data.problem)
    assert fit.status is JointStatus.NO_REFERENCE
    assert "another --reference" in fit.status.value
    other = JointProblem(data.problem.basis, data.problem.target, data.problem.code, data.problem.system, 3, 3, 1)
    again = solve(other)
    assert again.status is JointStatus.CONVERGED
    assert again.v[1, 0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_fit(joint, seed):
    """Against a general minimiser from the same data, and by the conditions of Karush, Kuhn and Tucker."""
    w = np.array([[4.0, 3.5, 4.2, 5.0], [0.0, 0.3, 0.8, 0.0]])
    r = np.array([[1.0, 0.4, 0.5, 0.6], [1.0, 1.2, np.inf, 0.5]])
    problem = joint(w=w, r=r, noise=1.0, seed=seed).problem
    fit = solve(problem, positive=True, starts=8)
    assert (fit.theta >= 0).all()
    assert fit.at_bound.any()
    assert (fit.theta[fit.at_bound] == 0).all()
    gradient = fit.jacobian.T @ fit.residuals
    scale = np.linalg.norm(fit.jacobian, axis=0) * np.linalg.norm(fit.residuals)
    assert np.abs(gradient[fit.theta > 0] / scale[fit.theta > 0]).max() < 1e-8
    assert (gradient[fit.at_bound] >= 0).all()
    rng = np.random.default_rng(seed)
    for _ in range(5):
        found = minimize(
            lambda theta: (problem.residuals(theta) ** 2).sum(), rng.uniform(0.1, 3, 14),
            jac=lambda theta: 2 * problem.jacobian(theta).T @ problem.residuals(theta),
            bounds=[(0, None)] * 14, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 4000},
        )  # fmt: skip
        assert fit.sum_of_squares <= found.fun * (1 + 1e-9)


def test_errors_of_a_robust_fit_of_one_system_are_those_of_a_linear_one(joint):
    """With one system the model is linear; statsmodels has the covariance of Huber's linear M-estimates."""

    problem = joint(r=np.ones((2, 1)), noise=1.0, seed=4, processors=(1, 2, 4, 8, 16, 32, 64, 128)).problem
    problem.target[::5] += 12.0
    # Its scale is estimated once, from the residuals of least squares, and kept.
    linear = sm.RLM(problem.target, problem.jacobian(np.zeros(8)), M=sm.robust.norms.HuberT(1.345))
    expected = linear.fit(update_scale=False, tol=1e-13, maxiter=500)
    fit = solve(problem, loss="huber", loss_scale=1.345 * expected.scale)
    assert fit.theta == pytest.approx(expected.params, rel=1e-8)
    assert errors_of(problem, fit)[0].ravel() == pytest.approx(expected.bse, rel=1e-6)


@pytest.mark.parametrize("reference", [0, 2, None])
def test_jacobian_against_differences(joint, reference):
    """The model is quadratic in theta, so that central differences are exact at any width."""
    problem = joint(noise=1.0, reference=reference, missing=[(0, 1), (3, 2)]).problem
    theta = np.random.default_rng(3).uniform(0.5, 2, problem.n_parameters)
    steps = np.eye(problem.n_parameters)
    differences = [(problem.residuals(theta + s) - problem.residuals(theta - s)) / 2 for s in steps]
    assert problem.jacobian(theta) == pytest.approx(np.stack(differences, axis=1), rel=1e-12, abs=1e-12)


# Profile intervals: the asymptotic ones in the linear limit, open where the data leave them open.
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
        return problem.residuals(np.insert(part, index, value))

    return 2 * least_squares(residuals, fit.theta[free], x_scale="jac", ftol=1e-12, xtol=1e-12).cost


def test_ends_are_where_the_sum_of_squares_reaches_the_limit(noisy):
    problem, fit = noisy
    chosen = [0, 5, inverse_speed_index(problem, 0, 1), inverse_speed_index(problem, 1, 2)]
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
    index = inverse_speed_index(problem, 1, 3)
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
    found = profile_intervals(problem, solve(problem), [inverse_speed_index(problem, 1, 1)])
    assert np.isinf([found.lower[0], found.upper[0]]).any()


def test_nonnegative_intervals_stop_at_zero(joint):
    problem = joint(noise=4.0, seed=0).problem
    fit = solve(problem, positive=True)
    found = profile_intervals(problem, fit, [int(np.flatnonzero(fit.at_bound)[0])])
    assert found.lower[0] == 0.0
    assert found.upper[0] > 0.0


def test_reciprocal_of_negative_inverse_speeds():
    lower, upper = reciprocal(np.array([-4.0, -2.0, 0.0]), np.array([-1.0, 1.0, np.inf]), np.array([-2.0, -1.0, 1.0]))
    assert lower.tolist() == [-1.0, -np.inf, 0.0]
    assert upper.tolist() == [-0.25, -0.5, np.inf]


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
    error = errors_of(problem, fit)[1][0, 1]
    assert found.draws[:, -1].std() == pytest.approx(np.sqrt(0.8) * error, rel=0.12)
    assert found.draws[:, -1].mean() == pytest.approx(fit.v[0, 1], abs=0.2 * error)
    lower, upper = found.intervals(0.9)
    share = ((found.draws >= lower) & (found.draws <= upper)).mean(axis=0)
    assert share == pytest.approx(np.full(31, 0.9), abs=0.009)


def test_the_only_link_between_two_parts(joint):
    """Codes 0, 1 on systems 0, 1 and codes 2, 3 on systems 2, 3, with the cell (0, 2) between them."""
    missing = [(c, s) for c in range(4) for s in range(4) if (c < 2) != (s < 2) and (c, s) != (0, 2)]
    problem = joint(noise=0.5, missing=missing).problem
    assert np.isnan(leave_one_cell_out(problem, solve(problem))).tolist() == (problem.cell == 2).tolist()


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
        rest = solve(problem.subset(np.arange(problem.n_rows) != row), starts=1)
        assert residuals[row] == pytest.approx(problem.residuals(rest.theta)[row], rel=1e-8)


def test_observation_that_alone_determines_a_parameter():
    """The second code was seen once."""
    code = np.array([0, 0, 0, 1])
    fit = solve(JointProblem(np.ones((4, 1)), np.array([1.0, 2.0, 4.0, 8.0]), code, np.zeros(4, int), 2, 1, 0))
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


def test_points_that_do_not_determine_a_fit():
    """Two points, one of them twice as a different value: two functions are the most."""
    p = np.array([2.0, 2.0, 8.0])
    design = np.column_stack([np.ones(3), np.log(p), p])
    fits, _ = fit_individually(design, np.array([1.0, 2.0, 5.0]), np.zeros(3, int), subsets(3, [2, 3]))
    assert fits.determined.tolist() == [[True, True, True, False]]
    assert fits.rank[0].tolist() == [2, 2, 2, 2]
    assert np.isinf(fits.criterion("sse")[0, 3])
    # Without the third point no two functions are determined.
    assert np.isinf(fits.leave_one_out).all()


@pytest.mark.real_data
def test_printed_rates_and_published_counts_agree(real_data):
    """FT and MG of class C are in both files; rates are printed with two decimals, in Mop/s."""
    runs = perfcore.read(real_data / "scaling" / "npb_mpi_picluster.csv").with_roles(code="code,class")

    def of_codes(words):
        return quantities_of((str(words),), runs, "code", "--operations")

    _, measured = of_codes("mops_total*time_s/1000")
    _, published = of_codes(f"{real_data / 'scaling' / 'npb_opcounts.csv'}:gflop")
    assert set(measured) & set(published) == {"FT C", "MG C"}
    for code in ("FT C", "MG C"):
        assert measured[code] == pytest.approx(published[code], rel=1e-4)
    assert published["FT C"] == 396.388
    with pytest.raises(OptionError, match=r"npb_opcounts.csv: say which column to take, .*iterations, gflop"):
        of_codes(real_data / "scaling" / "npb_opcounts.csv")
