"""Default models fitted in batches: against statsmodels at full rank, against the pseudo-inverse below it."""

import numpy as np
import pytest
import statsmodels.api as sm

from perf_lost_cycles.default_models.sets import models_for, read_models
from perf_lost_cycles.lca.categories import best, fit_default_models, ranked, term_values
from perf_lost_cycles.options import CRITERIA

P = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
MODELS = [("1",), ("x",), ("1", "x"), ("1", "log2(x)"), ("1", "1/x", "x"), ("x - 1", "1")]


@pytest.fixture
def noisy():
    rng = np.random.default_rng(5)
    return (3 + 40 / P + 0.5 * P)[:, None] * (1 + 0.1 * rng.standard_normal((len(P), 7)))


@pytest.mark.parametrize("weighted", [False, True])
def test_full_rank_agrees_with_statsmodels(noisy, weighted):
    root = np.sqrt(np.linspace(0.5, 2.0, len(P))) if weighted else None
    fits = fit_default_models(MODELS, P, noisy, root)
    for m, terms in enumerate(MODELS):
        design = term_values(terms, P)
        constant = "1" in terms
        for k in range(noisy.shape[1]):
            weights = 1.0 if root is None else root**2
            expected = sm.WLS(noisy[:, k], design, weights=weights, hasconst=constant).fit()
            size = len(terms)
            np.testing.assert_allclose(fits.coefficients[m, k, :size], expected.params, rtol=1e-9)
            np.testing.assert_allclose(fits.standard_errors[m, k, :size], expected.bse, rtol=1e-9)
            assert fits.sum_of_squares[m, k] == pytest.approx(expected.ssr, rel=1e-10)
            if constant:
                assert fits.r2[m, k] == pytest.approx(expected.rsquared, rel=1e-9, abs=1e-12)
                assert fits.r2_adjusted[m, k] == pytest.approx(expected.rsquared_adj, rel=1e-9, abs=1e-12)
    assert (fits.coefficients[0, :, 1:] == 0.0).all()
    assert fits.determined.all()


def test_leave_one_out_is_what_leaving_out_gives(noisy):
    fits = fit_default_models(MODELS, P, noisy)
    for m, terms in enumerate(MODELS):
        design, squares = term_values(terms, P), 0.0
        for left in range(len(P)):
            kept = np.arange(len(P)) != left
            coefficients = np.linalg.lstsq(design[kept], noisy[kept], rcond=None)[0]
            squares = squares + (noisy[left] - design[left] @ coefficients) ** 2
        np.testing.assert_allclose(fits.leave_one_out[m], squares, rtol=1e-8)


@pytest.mark.parametrize(
    ("models", "levels"),
    [
        ([("1", "x", "2*x")], P),  # collinear everywhere
        ([("x", "2*x + 0*x")], P),
        ([("1", "x", "x^2", "1/x")], P[:3]),  # fewer points than coefficients
        ([("1", "log2(x)")], np.array([4.0, 4.0, 4.0])),  # one level
    ],
)
def test_deficient_rank_gives_the_solution_of_least_norm(models, levels, noisy):
    values = noisy[: len(levels)]
    fits = fit_default_models(models, levels, values)
    expected = np.linalg.pinv(term_values(models[0], levels)) @ values
    np.testing.assert_allclose(fits.coefficients[0], expected.T, rtol=1e-8, atol=1e-10)
    assert not fits.determined.any()
    assert (fits.rank[0] == np.linalg.matrix_rank(term_values(models[0], levels))).all()
    assert np.isnan(fits.standard_errors).all()
    assert np.isinf(fits.condition).all()
    assert (best(fits, "r2") == -1).all()


def test_missing_cells_are_fitted_on_the_points_that_there_are(noisy):
    values = noisy.copy()
    values[0, 1] = values[2, 1] = values[5, 3] = np.nan
    values[:, 4] = np.nan
    fits = fit_default_models(MODELS, P, values)
    for k in (1, 3):
        met = np.isfinite(values[:, k])
        alone = fit_default_models(MODELS, P[met], noisy[met][:, [k]])
        np.testing.assert_allclose(fits.coefficients[:, k], alone.coefficients[:, 0], rtol=1e-10)
        np.testing.assert_allclose(fits.r2[:, k], alone.r2[:, 0], rtol=1e-10)
    assert fits.n_points.tolist() == [6, 4, 6, 5, 0, 6, 6]
    assert best(fits, "loo")[4] == -1


def test_a_term_that_is_not_finite_takes_its_model_alone_out(noisy):
    fits = fit_default_models([("1", "1/(x - 1)"), ("1", "x")], P, noisy)
    assert np.isnan(fits.coefficients[0]).all()
    assert (fits.rank[0] == -1).all()
    assert (best(fits, "loo") == 1).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_data_give_their_own_model_and_its_coefficients(criterion):
    """Of the models that hold the truth, the one with fewest coefficients."""
    models = [model.terms for model in models_for(read_models("standard"), "other", "P")]
    truth = [np.linspace(2.0, 3.0, len(terms)) for terms in models]
    values = np.column_stack([term_values(t, P) @ c for t, c in zip(models, truth, strict=True)])
    fits = fit_default_models(models, P, values)
    np.testing.assert_array_equal(best(fits, criterion), np.arange(len(models)))
    for k, coefficients in enumerate(truth):
        np.testing.assert_allclose(fits.coefficients[k, k, : len(coefficients)], coefficients, rtol=1e-8)


def test_a_constant_category_has_no_r2_and_the_constant_model():
    """Such as communication on one processor, which takes no time."""
    fits = fit_default_models(MODELS, P, np.column_stack([np.zeros(6), np.full(6, 7.0)]))
    assert np.isnan(fits.r2).all()
    assert best(fits, "loo").tolist() == [0, 0]
    assert best(fits, "adjusted").tolist() == [0, 0]
    np.testing.assert_allclose(fits.coefficients[0, :, 0], [0.0, 7.0], atol=1e-14)


def test_as_many_coefficients_as_points_are_not_compared():
    fits = fit_default_models([("1", "x"), ("x",)], [1.0, 2.0], [[1.0], [5.0]])
    assert fits.sum_of_squares[0, 0] == pytest.approx(0.0, abs=1e-20)
    assert best(fits, "r2").tolist() == [1]


def test_models_are_chosen_among_those_that_are_allowed(noisy):
    fits = fit_default_models(MODELS, P, noisy)
    allowed = np.zeros((len(MODELS), 7), dtype=bool)
    allowed[[0, 1], :3] = allowed[4, 3:] = True
    order, comparable = ranked(fits, "loo", allowed)
    assert set(order[0, :3].tolist()) <= {0, 1}
    assert (order[0, 3:] == 4).all()
    assert comparable.sum(axis=0).tolist() == [2, 2, 2, 1, 1, 1, 1]


def test_r2_rewards_every_further_term_and_leave_one_out_does_not():
    """Amdahl's law with 5% noise: the plain R^2 takes the nested model of three terms whenever it may."""
    rng = np.random.default_rng(2)
    models = [("1", "1/x"), ("1", "1/x", "x")]
    values = (10 + 90 / P)[:, None] * (1 + 0.05 * rng.standard_normal((len(P), 400)))
    fits = fit_default_models(models, P, values)
    assert (best(fits, "r2") == 1).all()
    right = {name: float((best(fits, name) == 0).mean()) for name in ("loo", "adjusted")}
    assert right["loo"] > right["adjusted"] > 0.5
