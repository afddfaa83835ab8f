"""Robust losses against scipy's own and against differences."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from perf_statistics.trust_region import LOSSES, influence


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives(loss):
    z = np.array([0.0, 0.3, 0.9, 1.2, 4.0, 250.0])
    step = 1e-6 * (1 + z)
    value, first, second = LOSSES[loss](z)
    below, above = LOSSES[loss](z + step), LOSSES[loss](np.maximum(z - step, 0))
    width = z + step - np.maximum(z - step, 0)
    assert (below[0] - above[0]) / width == pytest.approx(first, rel=2e-6)
    assert (below[1] - above[1]) / width == pytest.approx(second, rel=5e-6, abs=1e-10)
    assert value[0] == 0.0


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
