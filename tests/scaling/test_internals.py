"""What no answer shows by itself: components of a posterior, kernels, terms, runs, trees, parts of advice."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scaling.test_law_posterior import N, fitted, noisy
from scipy import special
from scipy.stats import multivariate_normal, norm

import perfcore
from perf_formulas import Formula
from perf_scaling import array_form, engine, kernels
from perf_scaling.call_tree import tree_of
from perf_scaling.data import runs_of
from perf_scaling.engine import PARTS, check_holdout, fit_posterior, weigh_one_parameter
from perf_scaling.family import (
    GROUPS,
    block_log_prior,
    changes,
    deviating_variances,
    run_variance,
    shapes_of,
    spread_factor,
)
from perf_scaling.growth import CLASSES, class_of, deciding_points, outcomes, slope_points
from perf_scaling.options import Given
from perf_scaling.posterior import SIDES, equally_probable
from perf_scaling.terms import Factor, Term, product_text, product_values
from perf_statistics import student

FLAT = 1e6  # variance of the level that stands for a flat prior


def posterior_of(values, levels=N, **options):
    """Of values (K, runs, n)."""
    values = np.asarray(values, dtype=float)
    path, _, point = np.indices(values.shape)
    runs = runs_of(path.ravel(), point.ravel(), values.ravel(), (values.shape[0], values.shape[2]))
    counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
    spread = run_variance(runs.variances, counts)
    return fit_posterior(np.reshape(levels, (len(levels), -1)), runs.means, counts, spread, **options)


@functools.cache
def drift_by_integration(last, length):
    """Covariance of the integral of an Ornstein-Uhlenbeck process of variance 1 from the first level on, by sums."""
    at = np.log(np.append(N, last))
    step = (at.max() - at[0]) / 4000
    grid = at[0] + (np.arange(4000) + 0.5) * step
    inside = (grid[None] < at[:, None]).astype(float) * step
    return inside @ np.exp(-np.abs(grid[:, None] - grid) / length) @ inside.T


def brute_force(logs, noise, shape, setting, level, at):
    """Evidence, and mean and variance at a place, of one component by conditioning a normal distribution."""
    tau, kappa, length = setting
    covariance = 0.5 * kappa**2 * length * drift_by_integration(at, length) + FLAT
    own = covariance[:-1, :-1] + np.diag(tau**2 + noise)
    if level >= 0:
        own[level, level] += deviating_variances(np.array(tau), 1)[min(level, 1)]
    evidence = multivariate_normal(np.zeros(len(N)), own).logpdf(logs - shape[:-1])
    gain = np.linalg.solve(own, covariance[:-1, -1])
    mean = shape[-1] + gain @ (logs - shape[:-1])
    return evidence, mean, covariance[-1, -1] - gain @ covariance[:-1, -1]


@pytest.mark.parametrize("values", [3.0 + N, 8.0 / N + 0.1 * N, np.array([5.0, 5.2, 4.9, 5.1, 9.0])])
def test_components_against_brute_force(values):
    """Ratios of the weights of likely components, and what these predict; the integrals are sums of 4,000 steps."""
    given = {"given": Given(("1",), (0,))}
    noise = np.full(5, 2e-3)
    found = weigh_one_parameter(N, values[None], np.ones((1, 5)), noise[:1], parts=PARTS, **given)
    shapes = shapes_of(N, **given)
    prior = block_log_prior(np.bincount(shapes.group, minlength=len(GROUPS)) > 0)
    means, variances = found.components([[200.0]])
    likely = np.argsort(-found.weight[0])[:8]
    evidence = []
    for c in likely:
        law, setting, level = found.law[0, c], found.setting[0, c], found.level[0, c]
        laws = found.laws
        terms = zip(laws.coefficients[law], laws.exponents[law, :, 0], strict=True)
        curve = np.log(sum(a * np.append(N, 200.0) ** i for a, i in terms))
        own, mean, variance = brute_force(np.log(values), noise, curve, found.settings[setting], level, 200.0)
        of_level = np.log(0.5) if level < 0 else np.log(0.5 / 5)
        evidence.append(own + of_level + shapes.log_weight[law] + prior[setting, shapes.group[law]])
        assert means[0, c, 0] == pytest.approx(mean, abs=2e-3)
        assert variances[0, c, 0] == pytest.approx(variance, rel=2e-2, abs=1e-4)
    heavy = found.weight[0, likely] > 1.01 / 256  # lighter ones stand for others
    weights = np.log(found.weight[0, likely])[heavy]
    assert heavy.sum() >= 3
    assert weights - weights[0] == pytest.approx(np.array(evidence)[heavy] - evidence[0], abs=5e-3)


def test_what_is_left_out_does_not_matter():
    """Quantiles of 256 components against those of some 8,000, which are all that count."""
    values = noisy([3.0 + N, 10.0 + 1000.0 / N, np.full(5, 2.0)], 0.1).mean(axis=1)
    given = (N, values, np.full(values.shape, 5.0), np.full(3, 0.01))
    few, many = (weigh_one_parameter(*given, parts=parts).quantiles([[256.0]], SIDES) for parts in (PARTS, 8192))
    width = np.log(many[:, :, 2] / many[:, :, 0])
    assert np.abs(np.log(few / many) / width[:, :, None]).max() < 0.05


@pytest.mark.parametrize("at", [32.0, 256.0])
def test_quantiles_are_those_of_the_mixture(at):
    """Beyond the last level with a share where the slope has changed."""
    found = posterior_of(noisy([3.0 + N], 0.1))
    means, variances = found.components([[at]])
    rate, deviation = (one[0, 0] for one in changes(N[None, :1], N[None, -1:], np.array([[at]])))
    assert (rate > 0.0) == (at > N[-1])
    quantiles = np.log(found.quantiles([[at]], SIDES, smooth=True)[0, 0])
    # As the posterior has them, before they are as sharply peaked as errors of real series. Of this width and noise,
    # intervals at four times the last level are neither widened nor narrowed.
    factor = spread_factor(np.log(max(at / N[-1], 1.0)), np.array(SIDES))
    quantiles = quantiles[1] + (quantiles - quantiles[1]) / factor
    for quantile, level in zip(np.exp(quantiles), SIDES, strict=True):
        shares = [
            found.weight[0] @ norm.cdf((np.log(quantile) - means[0, :, 0]) / np.sqrt(variances[0, :, 0] + extra))
            for extra in (0.0, deviation**2)
        ]
        assert (1.0 - rate) * shares[0] + rate * shares[1] == pytest.approx(level, abs=1e-6)


# Terms of scaling laws: their text is what they compute.
LEVELS = np.array([1.0, 2.0, 3.0, 7.5, 64.0, 1e6, 1e12])
EXPONENTS = (-2.0, -4 / 3, -1.0, -0.5, -1 / 3, 0.0, 0.25, 0.44, 0.5, 2 / 3, 1.0, 1.3, 1.5, 7 / 4, 2.0, 3.0)


@pytest.mark.parametrize(("exponent", "logarithm"), list(itertools.product(EXPONENTS, (0, 1, 2))))
def test_text_and_values_are_the_same_function(exponent, logarithm):
    """The formula parser knows nothing of terms."""
    if not (exponent or logarithm):
        return
    factors = [Factor("p", exponent, logarithm)]
    found = Formula(product_text(factors, {"p": "ranks"})).evaluate({"ranks": LEVELS})
    assert product_values(factors, {"p": LEVELS}) == pytest.approx(found, rel=1e-12)


def test_text_of_a_product():
    factors = [Factor("cells", 1.5, 0), Factor("p", -1.0, 0), Factor("n", 1 / 3, 1)]
    assert product_text(factors, {"cells": "cells", "p": "ranks", "n": "n"}) == "cells^(3/2)*n^(1/3)*log2(n)/ranks"


def test_shapes_are_positive_and_no_two_of_a_group_are_the_same():
    shapes = shapes_of([4.0, 8, 16, 32, 64])
    assert np.isfinite(shapes.logs).all()
    assert np.exp(np.logaddexp.reduce(shapes.log_weight[shapes.group == 5])) == pytest.approx(1.0)
    centred = shapes.logs - shapes.logs[:, :1]
    for group in range(10):
        own = centred[shapes.group == group].round(9)
        weight = len(np.unique(own, axis=0)) / len(own)
        assert weight > 0.75  # powers on two grids meet


@pytest.mark.parametrize("levels", [[1.0, 2, 4], [0.25, 0.5, 1, 2], [1e12, 2e12, 4e12], [1000.0, 1001, 1002]])
def test_unusual_levels(levels):
    shapes = shapes_of(levels)
    assert len(shapes.group) > 100
    assert np.isfinite(shapes.logs).all()
    if min(levels) < 1.0:
        assert not shapes.logarithms.any()


# Draws of equal weight, against numpy's quantiles.
def test_fewer_draws_stand_at_the_middles_of_as_many_probabilities():
    values = np.random.default_rng(0).lognormal(size=(7, 64, 3))
    found = equally_probable(values, 16)
    expected = np.quantile(values, (np.arange(16) + 0.5) / 16, axis=1, method="hazen")
    np.testing.assert_allclose(found, expected.transpose(1, 2, 0))


# Runs that are repeated: means, spread, and outliers.
def joined(values):
    """Runs from an array (K, runs, n), NaN where there was none."""
    values = np.asarray(values, dtype=float)
    n_paths, _, n = values.shape
    path, _, point = np.indices(values.shape)
    there = np.isfinite(values)
    return runs_of(path[there], point[there], values[there], (n_paths, n))


def noisy_of_law_noise(rng, n_paths, n_runs, n, noise=0.05):
    level = np.exp(rng.normal(0.0, 2.0, (n_paths, 1, n)))
    return level * (1.0 + noise * rng.standard_normal((n_paths, n_runs, n)))


def test_one_outlier_among_five_runs_has_little_influence():
    """A run of ten times the value moves the plain mean by 180 %."""
    values = noisy_of_law_noise(np.random.default_rng(3), 200, 5, 5, noise=0.05)
    clean = joined(values).means[:, 2]
    values[:, 1, 2] *= 10.0
    runs = joined(values)
    assert (runs.outliers >= 1).all()
    moved = runs.means[:, 2] / clean - 1.0
    # The run counts as if it were at about the limit: five deviations, of which a fifth is 5 % as the noise is.
    assert np.median(np.abs(moved)) < 0.08
    assert np.abs(moved).max() < 0.25
    assert runs.counts[:, 2].max() < 4.3
    assert (np.delete(runs.counts, 2, axis=1) > 4.0).all()
    assert np.sqrt(np.median(runs.variances[:, 2])) < 4 * 0.05  # not the 400 % of a run ten times as long


@pytest.mark.parametrize("n_runs", [3, 4, 5])
def test_few_paths_of_normal_noise_have_a_run_that_is_called_far(n_runs):
    """The scale comes from 15 to 25 runs, of which a tenth of the paths would have some beyond five of it."""
    assert (joined(noisy_of_law_noise(np.random.default_rng(4), 400, n_runs, 5)).outliers > 0).mean() <= 0.02


@pytest.mark.parametrize("n_runs", [3, 5, 10])
def test_variance_is_unbiased(n_runs):
    """Of 400 paths x 5 points the mean variance is known to 3 %."""
    runs = joined(noisy_of_law_noise(np.random.default_rng(5), 400, n_runs, 5, noise=0.05))
    # Relative to the mean of the runs: its own noise matters to second order, 0.05^2.
    assert runs.variances.mean() == pytest.approx(0.05**2, rel=0.04)


@pytest.mark.parametrize("seed", range(4))
def test_array_operations_give_what_compiled_kernels_give(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.choice(2.0 ** np.arange(14), rng.integers(3, 10), replace=False))
    truth = levels ** rng.uniform(-1.0, 1.5, (3, 1)) + rng.uniform(0.0, 2.0, (3, 1))
    values = noisy(truth, 0.03, seed=seed)
    values[0, :, 1] = np.nan
    points = levels[-1] * np.array([[0.7], [1.0], [2.0], [4.0]])
    answers = []
    for few in (24, 0):
        monkeypatch.setattr(array_form, "FEW", few)
        posterior = posterior_of(values, levels)
        draws = posterior.draws(points)
        quantiles = [posterior.quantiles(points, SIDES, run=run) for run in (False, True)]
        answers.append((posterior.weight, np.log(quantiles), draws.logs, np.log(draws.runs()), draws.component))
    for of_arrays, compiled, most in zip(*answers, (1e-11, 1e-10, 1e-9, 1e-9, 0.0), strict=True):
        np.testing.assert_allclose(of_arrays, compiled, rtol=0.0, atol=most)


def test_distributions_in_array_operations_are_those_of_scipy():
    rng = np.random.default_rng(0)
    freedom = np.append(np.arange(1.0, 40.0), [300.0, 4000.0])[:, None]
    t = np.append(rng.standard_cauchy(200), [0.0, -1e6])
    np.testing.assert_allclose(student.stdtr(freedom, t), special.stdtr(freedom, t), rtol=1e-10, atol=1e-12)
    for level in (0.001, 0.025, 0.5, 0.9):
        of_scipy = special.stdtrit(freedom, level)
        np.testing.assert_allclose(student.stdtrit(freedom, level), of_scipy, rtol=1e-10, atol=1e-15)
    ratio = np.append(rng.exponential(2.0, 200) ** 2, [0.0, np.inf])
    other = np.array([[[1.0]], [[7.0]], [[90.0]]])
    expected = special.fdtrc(freedom, other, ratio)
    np.testing.assert_allclose(student.fdtrc(freedom, other, ratio), expected, rtol=1e-9, atol=1e-12)


def test_deviating_levels_count_as_robust_weights_say():
    """Weights of Student's t of four degrees of freedom (Lange, Little, Taylor 1989), scaled by statsmodels' MAD."""
    from statsmodels.robust.scale import mad

    residuals = np.random.default_rng(4).normal(0.0, 0.03, (1, 25))
    residuals[0, :2] = 0.3, -0.2
    weights = 5.0 / (4.0 + (residuals / mad(residuals, center=0.0, axis=1)[:, None]) ** 2)
    found = engine._counting_less(residuals, np.full((1, 25), 3.0))
    np.testing.assert_allclose(found, 3.0 * np.minimum(weights, 1.0), rtol=1e-4)


@pytest.mark.parametrize(("n_parameters", "many", "rounds"), [(1, 29, 2), (2, 29, 1), (2, 30, 2)])
def test_many_means_at_points_of_several_parameters_are_weighed_once_more_and_others_twice(
    monkeypatch, n_parameters, many, rounds
):
    """Of thirty means more than so many, since each round takes long."""
    seen, weigh = [], engine._counting_less
    monkeypatch.setattr(engine, "_MANY_MEANS", many)
    monkeypatch.setattr(engine, "_counting_less", lambda *given: seen.append(len(given)) or weigh(*given))
    points = np.array([(p, n) for p in 2.0 ** np.arange(6) for n in (10.0, 20.0, 40.0, 80.0, 160.0)])
    points = points if n_parameters == 2 else np.arange(1.0, 31.0)[:, None]
    means = (points[:, -1] / points[:, 0] + 1.0)[None] * np.random.default_rng(2).lognormal(0.0, 0.02, 30)
    fit_posterior(points, means, np.full((1, 30), 3.0), np.full(1, 1e-4))
    assert len(seen) == rounds


def test_rates_leave_open_what_their_reciprocals_do():
    rates, levels = np.array([[1.0, 1.9, 3.5, 6.1, 9.2]]), np.array([0.1, 0.5, 0.9])
    counts, spread, points = np.full((1, 5), 2.0), np.full(1, 1e-4), 2.0 ** np.arange(6)[:, None]
    found = fit_posterior(points[:5], rates, counts, spread, reciprocal=True).quantiles(points, levels)
    times = fit_posterior(points[:5], 1.0 / rates, counts, spread).quantiles(points, levels)
    np.testing.assert_allclose(found, 1.0 / times[:, :, ::-1], rtol=1e-9)


def test_the_paths_with_the_largest_means_are_checked(monkeypatch):
    """One that is erratic and small does not count where one path is looked at."""
    monkeypatch.setattr(engine, "_MOST_PATHS", 1)
    p = [1, 2, 4, 8, 16]
    rows = [(path, at, time) for path, times in (("a", [1, 9, 1, 9, 90]), ("b", [100 + 1600 / at for at in p]))
            for at, time in zip(p, times, strict=True)]  # fmt: skip
    model = perfcore.fit(pd.DataFrame(rows, columns=["path", "p", "time_s"]), fitter="scaling", path="path")
    checked = check_holdout(model)
    assert (checked.paths, checked.inside) == (1, 1.0)
    assert checked.median_error < 0.05


# Growth, and what advice and comparisons are made of.
@pytest.mark.parametrize(("terms", "name"), [
    ([], "constant"), ([("-1", 0)], "falling"), ([("-1/3", 2)], "falling"), ([("-1", 0), ("0", 1)], "logarithmic"),
    ([("2/3", 2)], "sublinear"), ([("1", 0), ("-2", 0)], "linear"), ([("1", 2)], "n log n"),
    ([("7/6", 0)], "subquadratic"), ([("5/3", 1)], "subquadratic"), ([("2", 0)], "quadratic"),
    ([("2", 1)], "superquadratic"), ([("9/4", 0)], "superquadratic"),
])  # fmt: skip
def test_the_class_is_that_of_the_fastest_term(terms, name):
    law = tuple(Term(1.0, (Factor("p", float(Fraction(exponent)), logarithm),)) for exponent, logarithm in terms)
    assert CLASSES[class_of(law, "p")] == name


@pytest.mark.parametrize(("target", "levels"), [(256, (64, 256)), (64, (4, 64)), (16, (4, 16)), (4, (64, 4))])
def test_the_slope_ends_at_the_target(target, levels):
    data = pd.DataFrame({"p": N, "time_s": 1 + N})
    model = perfcore.fit(data, fitter="scaling", at=f"p={target}")
    assert slope_points(model, "p").ravel().tolist() == list(levels)


def test_gaps_come_first_then_larger_levels_then_smaller_ones():
    levels = np.array([4.0, 8, 128, 256])
    points = deciding_points(fitted([[1 + levels]], levels), "p").ravel().tolist()
    assert points == [32, 512, 2, 1]  # nobody measures far only to name a growth


def test_the_other_parameters_stay_at_their_largest_level():
    rows = [(p, n, p * n) for p in (1, 2, 4, 8) for n in (10.0, 20, 40, 80)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n")
    assert (deciding_points(model, "p")[:, 1] == 80).all()
    assert (deciding_points(model, "n")[:, 0] == 8).all()


def test_the_variance_now_is_that_of_the_logarithm():
    model = fitted(noisy([1 + 0.2 * N**1.5], 0.1), at="x=256")
    draws = model.draws([[256.0], [64.0], [128.0], [256.0]])
    rate, deviation = changes(np.array([[N[0]]]), np.array([[N[-1]]]), np.array([[256.0]]))
    found = outcomes(model, [[64.0], [128.0], [256.0]], range(len(model.paths)))
    expected = np.log(draws.unchanged()[:, :, 0]).var() + (rate * deviation**2)[0, 0]
    assert found.variance == pytest.approx(expected)
    # A measurement never makes it worse on average; at the target itself it leaves no more than about its own noise.
    then = found.variances_with_one()
    assert (then <= found.variance * (1 + 1e-9)).all()
    assert then[2] < min(then[1], 0.5 * found.variance)


paths_of_trees = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("->".join), min_size=1, max_size=12, unique=True
)


@given(paths_of_trees)
@settings(deadline=None)
def test_callees_are_added_up_once(names):
    values = 2.0 ** np.arange(len(names))  # every sum tells what was added
    tree = tree_of(names, range(len(names)))
    for node, full in enumerate(tree.full_names):
        own = [v for name, v in zip(names, values, strict=True) if f"{name}->".startswith(f"{full}->")]
        assert tree.with_callees(values)[node] == sum(own)
        assert [tree.names[one] for one in (*tree.above(node), node)] == full.split("->")


@given(paths_of_trees)
def test_inclusive_values_are_not_added_up_again(names):
    exclusive = np.arange(1.0, len(names) + 1.0)
    alone = tree_of(names, range(len(names)))
    whole = alone.with_callees(exclusive)
    inclusive = np.array([whole[alone.paths.index(k)] for k in range(len(names))])
    np.testing.assert_array_equal(tree_of(names, range(len(names)), "", True).with_callees(inclusive), whole)


@pytest.mark.parametrize(
    ("levels", "n_noises"),
    [(((1, 2, 4, 8, 16), (1, 3, 9, 20), (10, 100, 1000)), 1), (((2, 4, 8, 16, 32, 64),), 3)],
    ids=["grid of 5 x 4 x 3 levels", "of several noises"],
)
@pytest.mark.parametrize("factorize", [None, kernels.factorize])
def test_covariances_are_those_of_all_points(levels, n_noises, factorize):
    """Inverse, without the level, and determinant as numpy has them of all points."""
    grid = np.log(list(itertools.product(*levels)))
    k = len(grid)
    noise, (tau, kappa, length) = np.random.default_rng(1).uniform(0.5, 2.0, (n_noises, k)) * 1e-2, (0.1, 0.25, 3.0)
    found = array_form.Covariances(grid, noise, np.array([[tau, kappa, length]]), factorize)
    assert found.few_rows == (len(levels) > 1)
    between = np.abs(grid[:, None] - grid)
    variogram = (length * (between + length * np.expm1(-between / length))).sum(axis=2)
    drift = 0.5 * kappa**2 * length * (variogram[:1] + variogram[:, :1] - variogram)
    for n in {0, n_noises - 1}:
        covariance = drift + np.diag(tau**2 + found.noises[n])
        inverse = np.linalg.inv(covariance)
        sums = inverse.sum(axis=1)
        projection = inverse - np.outer(sums, sums) / sums.sum()
        rows = found.rows(np.full(k, n), np.zeros(k, dtype=np.int64), np.arange(k))
        np.testing.assert_allclose(rows, projection, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found.diagonal[n, 0], np.diag(projection), rtol=1e-9)
        evidence = -0.5 * (np.linalg.slogdet(covariance)[1] + np.log(sums.sum()) + (k - 1) * np.log(2.0 * np.pi))
        assert found.evidence[n, 0] == pytest.approx(evidence, rel=1e-9)  # the reference of the drift does not matter
