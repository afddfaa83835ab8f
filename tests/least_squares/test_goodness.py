"""Determination coefficients, information criteria and relative errors."""

import numpy as np
import pytest
import statsmodels.api as sm

from perf_statistics.goodness import CRITERIA, information, r_squared, relative_errors


@pytest.fixture
def line():
    """Twelve points, a straight line with a constant, by an independent program."""
    rng = np.random.default_rng(0)
    x = np.linspace(1, 4, 12)
    return sm.OLS(3 + 2 * x + rng.standard_normal(12), np.column_stack([x, np.ones(12)])).fit()


def test_r_squared_of_either_kind(line):
    assert r_squared(line.ssr, line.centered_tss) == pytest.approx(line.rsquared, rel=1e-14)
    assert r_squared(line.ssr, line.uncentered_tss) == pytest.approx(1 - line.ssr / (line.model.endog**2).sum())


def test_r_squared_of_nothing_is_not_a_number():
    assert np.isnan(r_squared([0.0, 1.0], 0.0)).all()


def test_r_squared_may_be_negative_and_takes_arrays():
    assert r_squared([[0.0], [3.0]], [1.0, 2.0]).tolist() == [[1.0, 1.0], [-2.0, -0.5]]


def test_information_of_normal_errors(line):
    """Burnham and Anderson, "Model Selection and Multimodel Inference", 2002, sections 2.2 to 2.4 and 6.4.

    AICc is -2 log L + 2 k + 2 k (k + 1) / (n - k - 1) with the error variance among the k parameters.
    """
    n, k = 12, 3
    aicc, bic = information(line.ssr, n, 2)
    assert aicc == pytest.approx(-2 * line.llf + 2 * k + 2 * k * (k + 1) / (n - k - 1), rel=1e-12)
    assert bic == pytest.approx(-2 * line.llf + k * np.log(n), rel=1e-12)


def test_information_prefers_the_smaller_of_two_equal_models():
    for few, many in zip(*(information(1.0, 10, count) for count in (1, 2)), strict=True):
        assert few < many


@pytest.mark.parametrize(("n", "count"), [(3, 1), (3, 2), (2, 3), (1, 1)])
def test_information_without_enough_observations_is_infinite(n, count):
    assert [float(value) for value in information(1.0, n, count)] == [np.inf, np.inf]


def test_information_takes_arrays():
    together = information(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10], [20]]), np.array([1, 2]))
    for row, n in enumerate((10, 20)):
        for column, count in enumerate((1, 2)):
            alone = information(1.0 + 2 * row + column, n, count)
            assert [values[row, column] for values in together] == [float(value) for value in alone]


def test_relative_errors_are_shares_of_what_was_measured():
    assert relative_errors(np.array([1.0, 3.0]), np.array([2.0, 2.0])).tolist() == [0.5, 0.5]


def test_every_criterion_is_explained():
    assert all(text and text.strip() == text for text in CRITERIA.values())
