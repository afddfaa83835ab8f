"""Determination coefficients, information criteria and relative errors."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import median_abs_deviation

from perf_statistics.goodness import find_outliers, information, r_squared


@pytest.fixture
def line():
    """Twelve points, a straight line with a constant, by an independent program."""
    rng = np.random.default_rng(0)
    x = np.linspace(1, 4, 12)
    return sm.OLS(3 + 2 * x + rng.standard_normal(12), np.column_stack([x, np.ones(12)])).fit()


def test_r_squared_of_either_kind(line):
    assert r_squared(line.ssr, line.centered_tss) == pytest.approx(line.rsquared, rel=1e-14)
    assert r_squared(line.ssr, line.uncentered_tss) == pytest.approx(1 - line.ssr / (line.model.endog**2).sum())


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


@pytest.mark.parametrize("size", [6.0, -6.0, 1000.0])
def test_a_gross_outlier_among_sixty_points(size):
    values = np.random.default_rng(2).standard_normal(60)
    values[17] += size
    assert judged(values).flagged.nonzero()[0].tolist() == [17]


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


@pytest.mark.parametrize("degrees_of_freedom", [0, 1])
def test_without_degrees_of_freedom_nothing_can_be_said(degrees_of_freedom):
    found = find_outliers(np.array([0.0, 9.0, 0.1]), np.array([0.0, 9.0, 0.1]), degrees_of_freedom)
    assert np.isnan(found.studentized).all()
    assert not found.flagged.any()


def test_a_fit_without_errors_has_no_outliers():
    found = find_outliers(np.zeros(9), np.zeros(9), 7)
    assert not found.flagged.any()
    assert (found.robust == 0).all()


def test_the_only_error_of_an_otherwise_exact_fit_is_an_outlier():
    """The others fit without any error, so that it is infinitely many of their standard errors away."""
    residuals = np.zeros(20)
    residuals[4] = 8.0
    assert find_outliers(residuals, residuals / 0.75, 15).flagged.nonzero()[0].tolist() == [4]
