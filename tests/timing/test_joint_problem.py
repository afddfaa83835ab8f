"""The bilinear model, its derivatives and its table of cells."""

import numpy as np
import pytest

from perf_timing.joint.problem import components


@pytest.mark.parametrize("reference", [0, 2, None])
def test_jacobian_against_differences(joint, reference):
    """The model is quadratic in theta, so that central differences are exact at any width."""
    problem = joint(noise=1.0, reference=reference, missing=[(0, 1), (3, 2)]).problem
    theta = np.random.default_rng(3).uniform(0.5, 2, problem.n_parameters)
    steps = np.eye(problem.n_parameters)
    differences = [(problem.residuals(theta + s) - problem.residuals(theta - s)) / 2 for s in steps]
    assert problem.jacobian(theta) == pytest.approx(np.stack(differences, axis=1), rel=1e-12, abs=1e-12)


def test_model_is_equation_6(joint):
    data = joint(reference=1)
    v = data.r[:, [1]] / data.r
    theta = data.problem.pack(data.w / data.r[:, [1]], v)
    assert data.problem.n_parameters == len(theta) == 14
    assert data.problem.predict(theta) == pytest.approx(data.exact, rel=1e-14)
    assert np.abs(data.problem.residuals(theta)).max() < 1e-13 * data.exact.max()


@pytest.mark.parametrize("reference", [0, 3, None])
def test_parameters_have_places(joint, reference):
    problem = joint(reference=reference).problem
    w = np.arange(8.0).reshape(2, 4)
    v = 10 + np.arange(8.0).reshape(2, 4)
    if reference is not None:
        v[:, reference] = 1.0
    theta = problem.pack(w, v)
    again = problem.unpack(theta)
    assert (again[0] == w).all()
    assert (again[1] == v).all()
    assert theta[problem.work_index(1, 2)] == w[1, 2]
    assert theta[problem.inverse_speed_index(1, 2)] == v[1, 2]
    if reference is not None:
        with pytest.raises(ValueError, match="reference"):
            problem.inverse_speed_index(0, reference)


def test_components():
    code = np.array([0, 0, 1, 2, 3, 3])
    system = np.array([0, 1, 1, 2, 2, 3])
    of_code, of_system = components(code, system, 5, 5)
    assert of_code.tolist() == [0, 0, 1, 1, 2]
    assert of_system.tolist() == [0, 0, 1, 1, 3]
    # One cell more joins the two parts; a code and a system without observations stay alone.
    of_code, of_system = components(np.append(code, 1), np.append(system, 3), 5, 5)
    assert of_code.tolist() == [0, 0, 0, 0, 1]
    assert of_system.tolist() == [0, 0, 0, 0, 2]
