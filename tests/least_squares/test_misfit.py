"""Misfit, shapes and their average: against integrals, dense covariances, and distributions by another way."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

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

P = np.array([2.0, 4.0, 8.0, 16.0, 32.0])


@pytest.mark.parametrize(("first", "second"), [(0.7, 1.9), (-0.8, 1.1), (-0.3, -1.2)])
def test_covariance_of_the_drift_is_the_integral_over_its_slopes(first, second):
    """Slopes of variance length/2 with correlation exp(-distance/length), integrated from 0 to both places."""
    area = dblquad(lambda a, b: 32.0 * np.exp(-abs(a - b) / 64.0), 0.0, first, 0.0, second)[0]
    found = drift_covariance(np.array([[first]]), np.array([[second]]))[0, 0]
    assert found == pytest.approx(area, rel=1e-6)


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
    mixture = NormalMixture.of(weights, means, variances)
    found = mixture.quantiles([0.025, 0.5, 0.975])
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
        rng.normal(size=(2, n)),
        rng.normal(size=(2, k)),
        tilts,
        tilts_asked,
        np.array([0.3, 0.8]),
        np.zeros(2),
        np.arange(2),
    )
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
