"""Nonlinear least squares against NIST's certified values, and on bounds, losses and failures."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize, nnls

from perf_statistics import trust_region
from perf_statistics.trust_region import LOSSES, JacobianFactor, Status, influence

DATA = Path(__file__).parent / "nist" / "nonlinear"


def exponentials(b, x):
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def rational(b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def gauss(b, x):
    peaks = b[2] * np.exp(-((x - b[3]) ** 2) / b[4] ** 2) + b[5] * np.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    return b[0] * np.exp(-b[1] * x) + peaks


def enso(b, x):
    def wave(cosine, sine, period):
        return cosine * np.cos(2 * np.pi * x / period) + sine * np.sin(2 * np.pi * x / period)

    return b[0] + wave(b[1], b[2], 12) + wave(b[4], b[5], b[3]) + wave(b[7], b[8], b[6])


MODELS = {
    "Misra1a": lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
    "Chwirut2": lambda b, x: np.exp(-b[0] * x) / (b[1] + b[2] * x),
    "Lanczos3": exponentials,
    "Gauss1": gauss,
    "DanWood": lambda b, x: b[0] * x ** b[1],
    "Kirby2": lambda b, x: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Hahn1": rational,
    "Nelson": lambda b, x: b[0] - b[1] * x[0] * np.exp(-b[2] * x[1]),
    "MGH17": lambda b, x: b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4]),
    "Lanczos1": exponentials,
    "Roszman1": lambda b, x: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi,
    "ENSO": enso,
    "MGH09": lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "Thurber": rational,
    "BoxBOD": lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
    "Rat42": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)),
    "MGH10": lambda b, x: b[0] * np.exp(b[1] / (x + b[2])),
    "Eckerle4": lambda b, x: b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Rat43": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "Bennett5": lambda b, x: b[0] * (b[1] + x) ** (-1 / b[2]),
}
# Matching digits of (parameters, standard deviations, sum of squares), of eleven certified; both starts reach them.
FLOOR = dict.fromkeys(MODELS, (10.0, 10.0, 10.0))
# The residuals of Lanczos1 are near the rounding of its data, see the README of the folder.
FLOOR["Lanczos1"] = (10.0, 2.5, 2.5)


def read(name):
    """A problem from NIST's file: starts (2, P), certified values, data."""
    lines = (DATA / f"{name}.dat").read_text().splitlines()
    number = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
    rows = [re.findall(number, line.split("=")[1]) for line in lines if re.match(r"\s*b\d+ =.*", line)]
    values = np.array(rows, dtype=float)
    squares = next(line for line in lines if line.startswith("Residual Sum of Squares"))
    begin = int(next(re.findall(r"\d+", line)[0] for line in lines if line.strip().startswith("Data   ")))
    data = np.array([line.split() for line in lines[begin - 1 :] if line.strip()], dtype=float)
    y, x = data[:, 0], data[:, 1:].T
    return SimpleNamespace(
        starts=values[:, :2].T,
        parameters=values[:, 2],
        deviations=values[:, 3],
        squares=float(squares.split(":")[1]),
        x=x if len(x) > 1 else x[0],
        y=np.log(y) if name == "Nelson" else y,
    )


def digits(found, certified):
    """Least number of matching digits, the log relative error; at most the eleven that are certified."""
    error = np.abs(np.asarray(found) - certified) / np.abs(certified)
    return float(-np.log10(np.maximum(error, 1e-11).max()))


def solve_nist(name, start):
    """Digits reached from one of NIST's starts, with derivatives by complex steps (exact to rounding)."""
    problem, model = read(name), MODELS[name]
    count = len(problem.parameters)

    def jacobian(b):
        steps = b + 1e-30j * np.eye(count)
        return np.stack([model(one, problem.x).imag / 1e-30 for one in steps], axis=1)

    found = trust_region.solve(lambda b: model(b, problem.x) - problem.y, jacobian, problem.starts[start])
    variance = found.sum_of_squares / (len(problem.y) - count)
    deviations = np.sqrt(variance * np.diag(JacobianFactor.of(found.jacobian).inverse_normal))
    reached = (
        digits(found.theta, problem.parameters),
        digits(deviations, problem.deviations),
        digits(found.sum_of_squares, problem.squares),
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


def test_upper_bounds():
    rng = np.random.default_rng(9)
    design, target = rng.standard_normal((25, 4)), rng.standard_normal(25)
    free = np.linalg.lstsq(design, target)[0]
    upper = np.where(free > 0, free / 2, free + 1)
    found = trust_region.solve(*linear(design, target), np.full(4, 9.0), upper=upper)
    expected = minimize(
        lambda b: ((design @ b - target) ** 2).sum(),
        np.full(4, -1.0),
        jac=lambda b: 2 * design.T @ (design @ b - target),
        bounds=[(None, u) for u in upper],
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12},
    )
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


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_robust_loss_is_a_stationary_point(loss):
    rng = np.random.default_rng(2)
    x = np.linspace(0, 3, 40)
    y = 5 * np.exp(-0.7 * x) + 0.05 * rng.standard_normal(40)
    y[::9] += 4.0

    def model(b):
        return b[0] * np.exp(-b[1] * x) - y

    def jacobian(b):
        return np.stack([np.exp(-b[1] * x), -b[0] * x * np.exp(-b[1] * x)], axis=1)

    found = trust_region.solve(model, jacobian, np.array([3.0, 1.0]), loss=loss, loss_scale=0.1)
    z = (found.residuals / 0.1) ** 2
    weight = {"huber": np.minimum(1, z**-0.5), "soft_l1": (1 + z) ** -0.5, "cauchy": 1 / (1 + z)}[loss]
    assert found.status is Status.CONVERGED
    assert found.jacobian.T @ (weight * found.residuals) == pytest.approx([0, 0], abs=1e-11)
    assert found.theta == pytest.approx([5.0, 0.7], rel=0.05)


def test_exact_fit():
    x = np.linspace(0, 3, 10)
    found = trust_region.solve(
        lambda b: np.exp(-b[0] * x) - np.exp(-0.5 * x), lambda b: -x[:, None] * np.exp(-b[0] * x)[:, None], np.ones(1)
    )
    assert found.status is Status.CONVERGED
    assert found.theta == pytest.approx([0.5], rel=1e-14)


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


RNG_SEED = 5


@pytest.fixture
def jacobian():
    rng = np.random.default_rng(RNG_SEED)
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
        assert 1.7**2 * LOSSES[loss](np.array([(residual / 1.7) ** 2]))[0, 0] == pytest.approx(
            2 * found.cost, rel=1e-14
        )


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
