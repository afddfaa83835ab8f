"""Every subset of functions for every series, against one fit at a time by other programs."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import nnls

from perf_timing.individual.fits import fit_individually, subsets

PROCESSORS = {0: (1, 2, 4, 8, 16, 32), 1: (1, 2, 4, 8, 16, 32), 2: (2, 4, 8, 16), 5: (1, 4, 9, 16, 25, 36, 49)}


@pytest.fixture
def ragged():
    """Four series of three sets of points, two of which share a design; of the seven functions four."""
    rng = np.random.default_rng(0)
    p = np.concatenate([np.array(points, float) for points in PROCESSORS.values()])
    cell = np.repeat(list(PROCESSORS), [len(points) for points in PROCESSORS.values()])
    design = np.column_stack([np.ones_like(p), np.log(p), np.sqrt(p), p])
    return design, design @ [5, 0.5, 0.1, 0.3] + rng.standard_normal(len(p)), cell


HYPOTHESES = subsets(4, range(1, 4))


def test_subsets_small_ones_first():
    assert HYPOTHESES[:6] == ((0,), (1,), (2,), (3,), (0, 1), (0, 2))
    assert len(HYPOTHESES) == 4 + 6 + 4
    assert len(subsets(7, range(1, 4))) == 7 + 21 + 35


def test_each_fit_is_the_one_of_an_independent_program(ragged):
    design, target, cell = ragged
    fits, _ = fit_individually(design, target, cell, HYPOTHESES)
    assert fits.n_observations.tolist() == [6, 6, 4, 7]
    assert fits.determined.all()
    for k, one in enumerate(PROCESSORS):
        for h, members in enumerate(HYPOTHESES):
            mine = cell == one
            line = sm.OLS(target[mine], design[np.ix_(mine, members)]).fit()
            m = len(members)
            assert fits.coefficients[k, h, :m] == pytest.approx(line.params, rel=1e-9)
            assert (fits.coefficients[k, h, m:] == 0).all()
            assert fits.sum_of_squares[k, h] == pytest.approx(line.ssr, rel=1e-9)
            assert fits.covariance[k, h, :m, :m] == pytest.approx(line.normalized_cov_params, rel=1e-9)
            if len(mine[mine]) > m:
                press = line.resid / (1 - line.get_influence().hat_matrix_diag)
                assert fits.leave_one_out[k, h] == pytest.approx(press @ press, rel=1e-9)


def test_leaving_a_point_out_is_a_fit_of_the_others(ragged):
    design, target, cell = ragged
    fits, _ = fit_individually(design, target, cell, HYPOTHESES)
    rows = np.flatnonzero(cell == 5)
    for h, members in enumerate(HYPOTHESES):
        squares = 0.0
        for row in rows:
            others = np.ix_(rows[rows != row], members)
            coefficients = np.linalg.lstsq(design[others], target[rows[rows != row]], rcond=None)[0]
            squares += (target[row] - design[row, list(members)] @ coefficients) ** 2
        assert fits.leave_one_out[3, h] == pytest.approx(squares, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_fits_are_those_of_lawson_and_hanson(ragged, seed):
    design, _, cell = ragged
    target = np.random.default_rng(seed).normal(0.5, 4.0, len(cell))
    _, fits = fit_individually(design, target, cell, HYPOTHESES, bounds=True)
    held = 0
    for k, one in enumerate(PROCESSORS):
        for h, members in enumerate(HYPOTHESES):
            mine = cell == one
            coefficients, norm = nnls(design[np.ix_(mine, members)], target[mine])
            assert fits.sum_of_squares[k, h] == pytest.approx(norm**2, rel=1e-9)
            positive = tuple(np.array(members)[coefficients > 0])
            place = fits.effective[k, h]
            assert (HYPOTHESES[place] if place >= 0 else ()) == positive
            if place >= 0:
                own = fits.coefficients[k, place, : len(positive)]
                assert own == pytest.approx(coefficients[coefficients > 0], rel=1e-9)
            held += place != h
    assert held  # some coefficients would be negative


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


@pytest.mark.parametrize("criterion", ["aicc", "bic"])
def test_criteria_are_those_of_the_likelihood(ragged, criterion):
    design, target, cell = ragged
    fits, _ = fit_individually(design, target, cell, HYPOTHESES)
    values = fits.criterion(criterion)
    for k, one in enumerate(PROCESSORS):
        for h, members in enumerate(HYPOTHESES):
            mine = cell == one
            n, count = int(mine.sum()), len(members) + 1
            line = sm.OLS(target[mine], design[np.ix_(mine, members)]).fit()
            penalty = 2 * count + 2 * count * (count + 1) / max(n - count - 1, 1e-300)
            expected = -2 * line.llf + (penalty if criterion == "aicc" else count * np.log(n))
            assert values[k, h] == pytest.approx(expected, rel=1e-9) if n > count + 1 else np.isinf(values[k, h])


def test_criteria_that_are_sums_of_squares(ragged):
    fits, _ = fit_individually(*ragged, HYPOTHESES)
    assert (fits.criterion("sse") == fits.sum_of_squares).all()
    assert (fits.criterion("loo") == fits.leave_one_out).all()


def test_a_series_alone_or_among_others_is_the_same(ragged):
    design, target, cell = ragged
    together, _ = fit_individually(design, target, cell, HYPOTHESES)
    for k, one in enumerate(PROCESSORS):
        mine = cell == one
        alone, _ = fit_individually(design[mine], target[mine], cell[mine], HYPOTHESES)
        assert alone.coefficients[0] == pytest.approx(together.coefficients[k], rel=1e-12)
        assert alone.leave_one_out[0] == pytest.approx(together.leave_one_out[k], rel=1e-12)
