"""Outliers by leave-out residuals and by a robust scale."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import median_abs_deviation

from perf_statistics.goodness import find_outliers


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


def test_errors_of_long_tails_are_not_all_called_outliers():
    """Of Laplace errors exp(-3.5 log(2) / 0.6745) = 2.7 % are beyond 3.5 robust standard deviations."""
    values = np.random.default_rng(5).laplace(size=200)
    found = judged(values)
    assert found.flagged.sum() < (np.abs(found.robust) > 3.5).sum()


def test_a_point_that_alone_determines_a_parameter_is_none():
    residuals = np.array([0.1, -0.2, 0.1, 0.2, -0.2, 0.0])
    found = find_outliers(residuals, np.append(residuals[:-1] / 0.8, np.nan), 4)
    assert np.isnan(found.studentized[-1])
    assert not found.flagged[-1]


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
