"""The factorisation against numpy's own least squares and inverses."""

import numpy as np
import pytest

from perf_statistics.trust_region import JacobianFactor

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
