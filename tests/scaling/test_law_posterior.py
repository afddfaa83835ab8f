"""What measurements leave open: against brute force, known truths, and what it must not depend on."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

import perfcore
from perf_formulas import Formula
from perf_scaling import engine
from perf_scaling.engine import fit_posterior
from perf_scaling.options import Given
from perf_scaling.posterior import array_form
from perf_scaling.posterior.family import (
    GROUPS,
    NOISES,
    block_log_prior,
    changes,
    deviating_variances,
    run_variance,
    shapes_of,
    spread_factor,
)
from perf_scaling.posterior.one_parameter import PARTS, weigh_one_parameter
from perf_scaling.posterior.posterior import SIDES, equally_probable
from perf_scaling.runs import runs_of
from perf_scaling.terms import Factor, product_text, product_values
from perfcore.base.errors import PerfError

N = np.array([4.0, 8, 16, 32, 64])
FLAT = 1e6  # variance of the level that stands for a flat prior


def posterior_of(values, levels=N, **options):
    """Of values (K, runs, n)."""
    values = np.asarray(values, dtype=float)
    path, _, point = np.indices(values.shape)
    runs = runs_of(path.ravel(), point.ravel(), values.ravel(), (values.shape[0], values.shape[2]))
    counts = np.where(np.isfinite(runs.means), runs.counts, 0.0)
    spread = run_variance(runs.variances, counts)
    return fit_posterior(np.reshape(levels, (len(levels), -1)), runs.means, counts, spread, **options)


def noisy(truth, noise, n_runs=5, seed=0):
    truth = np.atleast_2d(truth)
    shape = (len(truth), n_runs, truth.shape[1])
    return truth[:, None] * np.maximum(1.0 + noise * np.random.default_rng(seed).standard_normal(shape), 0.01)


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
        curve = np.log(
            sum(
                a * np.append(N, 200.0) ** i
                for a, i in zip(laws.coefficients[law], laws.exponents[law, :, 0], strict=True)
            )
        )
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


def test_a_first_level_of_another_kind_does_not_bend_the_law():
    """Within a node a collective is twenty times faster; what is left is 10 p^0.3 at the others."""
    levels = np.array([36.0, 72, 144, 288, 576])
    values = 10.0 * levels**0.3
    values[0] /= 20.0
    found = posterior_of([[values]], levels)
    assert found.quantiles([[1152.0]], (0.5,))[0, 0, 0] == pytest.approx(10.0 * 1152**0.3, rel=0.1)
    assert found.weight[0, found.level[0] == 0].sum() > 0.5


def test_growth_that_is_small_yet_is_not_excluded():
    """Of a linear term that is 2 % of the last level, after ten flat ones, the bounds hold what it becomes."""
    levels = 2.0 ** np.arange(10)
    truth = 1.0 + 0.02 * np.append(levels, 4096.0) / levels[-1]
    low, _, high = posterior_of(noisy(truth[:10], 0.003), levels).quantiles([[4096.0]], SIDES)[0, 0]
    assert low < truth[10] < high


def test_a_measured_level_is_known_as_well_as_its_runs():
    """At a measured level the mean is that of its runs within their standard error, whatever the laws make of it."""
    runs = noisy([3.0 + N, 10.0 + 1000.0 / N], 0.05)
    runs[:, :, 2] *= 1.5
    found = posterior_of(runs)
    middle = runs[:, :, 2].mean(axis=1)
    error = np.sqrt(found.spread / runs.shape[1])
    wider = student.ppf(0.975, (runs.shape[1] - 1) * runs.shape[2] + 1) / norm.ppf(0.975)  # 1% counts as a run
    for run, deviation in ((False, error), (True, np.sqrt(found.spread * wider**2 + error**2))):
        low, _, high = found.quantiles([[N[2]]], SIDES, run=run)[:, 0].T
        assert (high / low <= np.exp(2 * 1.96 * deviation) * 1.001).all()
        assert (low < middle).all()
        assert (middle < high).all()


def test_a_turn_at_the_end_shifts_and_widens():
    """Threads beyond the cores: 22.3, 25.3, 37.1 ms at 16, 17, 18, and then 106.8 ms at 19."""
    levels = np.array([1.0, 2, 4, 8, 12, 14, 16, 17, 18])
    before = 300.0 / levels[:-2] + 3.5
    found = posterior_of([[np.append(before, [25.3, 37.1])]], levels)
    calm = posterior_of([[np.append(before, 300.0 / levels[-2:] + 3.5)]], levels)
    assert found.turns[0] > 0.05
    assert calm.turns[0] == 0.0
    low, middle, high = found.quantiles([[19.0]], SIDES, run=True)[0, 0]
    assert low < 37.1 < high
    assert middle > calm.quantiles([[19.0]], (0.5,), run=True)[0, 0, 0]
    assert high / low > 1.5


@pytest.mark.parametrize("run", [False, True])
def test_draws_have_the_quantiles(run):
    found = posterior_of(noisy([3.0 + N, 10.0 + 1000.0 / N], 0.1))
    at = [[20.0], [100.0], [256.0]]
    draws = found.draws(at)
    drawn = np.quantile(draws.runs() if run else draws.values, SIDES, axis=1)
    sides = np.moveaxis(found.quantiles(at, SIDES, run=run), 2, 0)
    width = np.log(sides[2] / sides[0])
    assert np.abs(np.log(drawn / sides) / width).max() < 0.15


def test_draws_at_several_points_are_coherent():
    """The ratio of two near points is known better than either."""
    draws = posterior_of(noisy([3.0 + N], 0.1)).draws([[250.0], [256.0]]).values[0]
    assert np.log(draws[:, 1] / draws[:, 0]).std() < 0.2 * np.log(draws[:, 1]).std()


def test_a_real_collective_is_no_constant():
    """Grows 400-fold; a law that misses the data by far is no explanation, since noise is relative to it."""
    levels = np.array([32.0, 64, 128, 256, 512])
    found = posterior_of([[[14.5, 72.7, 358.0, 1750.0, 5780.0]]], levels)
    low, middle, high = found.quantiles([[1024.0]], SIDES)[0, 0]
    assert low < 13446 < high
    assert 13446 / 3 < middle < 13446 * 3
    fitted = found.quantiles(levels[:, None], (0.5,))[0, :, 0]
    assert np.abs(np.log(fitted / [14.5, 72.7, 358.0, 1750.0, 5780.0])).max() < np.log(2)
    deviates = found.weight[0, found.level[0] == 4].sum()
    assert deviates > 0.3


@pytest.mark.parametrize(("noise", "share"), [(0.05, 0.99), (0.2, 0.8)])
def test_constants_are_recognised(noise, share):
    rows = [
        (p, f"f{k}", y)
        for k, runs in enumerate(noisy(np.full((120, 5), 7.0), noise, seed=5))
        for run in runs
        for p, y in zip(N, run, strict=True)
    ]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling")
    assert np.mean([fit.is_constant for fit in model.named]) >= share


def test_what_rises_at_every_level_is_not_called_a_constant():
    levels = np.array([1, 2, 4, 8, 16, 32, 64])
    truth = np.broadcast_to(5 + 0.3 * np.log2(levels), (30, 7))
    rows = [
        (p, f"f{k}", y)
        for k, runs in enumerate(noisy(truth, 0.02, seed=5))
        for run in runs
        for p, y in zip(levels, run, strict=True)
    ]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling")
    assert not any(fit.is_constant for fit in model.named)


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_bounds_hold_the_truth(noise):
    """300 functions of Extra-P's orders, four times beyond; 93 to 98 %, less twice the binomial spread of 1.3 %."""
    rng = np.random.default_rng(7)
    orders = [(i, j) for i in (0.25, 0.5, 1, 1.5, 2, 2.5, 3) for j in (0, 1, 2)]
    levels = np.append(N, 256.0)
    truth = np.empty((300, 6))
    for k in range(300):
        i, j = orders[rng.integers(len(orders))]
        term, share = levels**i * np.log2(levels) ** j, rng.uniform(0.3, 0.99)
        truth[k] = 1.0 - share + share * term / term[4]
    found = posterior_of(noisy(truth[:, :5], noise, seed=8)).quantiles([[256.0]], SIDES)[:, 0]
    inside = (found[:, 0] <= truth[:, 5]) & (truth[:, 5] <= found[:, 2])
    assert inside.mean() >= 0.905


def test_a_misfit_that_repetitions_do_not_shrink_is_in_the_bounds_of_runs():
    """Ten runs agree to 1 %, levels scatter by 10 %: bounds of a run at the next level, of 200 paths."""
    rng = np.random.default_rng(3)
    levels = np.append(N, 128.0)
    truth = (3.0 + levels) * np.exp(0.1 * rng.standard_normal((200, 6)))
    values = noisy(truth, 0.01, 10, 4)
    found = posterior_of(values[:, :, :5]).quantiles([[128.0]], SIDES, run=True)[:, 0]
    inside = (found[:, 0] <= values[:, 0, 5]) & (values[:, 0, 5] <= found[:, 2])
    assert inside.mean() >= 0.9
    assert np.median(found[:, 2] / found[:, 0]) < 6.0


@pytest.mark.parametrize("factor", [1e-9, 1e6])
def test_the_unit_of_the_values_does_not_matter(factor):
    values = noisy([3.0 + N, 8.0 / N + 0.1 * N], 0.1)
    before, after = (posterior_of(unit * values).quantiles([[256.0]], SIDES) for unit in (1.0, factor))
    assert after == pytest.approx(factor * before, rel=1e-6)


@pytest.mark.parametrize("factor", [1e3, 1e9])
def test_the_unit_of_the_parameter_does_not_matter_to_powers(factor):
    values = noisy([3.0 + N, 10.0 + 1000.0 / N], 0.1)
    given = {"given": Given(("-1", "-1/2", "1/2", "1", "2"), (0,))}
    before = posterior_of(values, N, **given).quantiles([[256.0]], SIDES)
    after = posterior_of(values, factor * N, **given).quantiles([[factor * 256.0]], SIDES)
    assert after == pytest.approx(before, rel=1e-5)


def test_what_others_are_fitted_with_does_not_matter():
    values = noisy([3.0 + N, 10.0 + 1000.0 / N, np.full(5, 2.0)], 0.1)
    together = posterior_of(values).quantiles([[256.0]], SIDES)
    for k in range(3):
        assert posterior_of(values[[k]]).quantiles([[256.0]], SIDES)[0] == pytest.approx(together[k], rel=1e-9)


def test_missing_levels_are_as_if_there_were_none():
    values = noisy([3.0 + N], 0.1)[:, 0]
    gap = np.where(np.arange(5) == 2, np.nan, values)
    counts = np.where(np.isfinite(gap), 1.0, 0.0)
    spread = np.full(1, 0.01)
    with_gap = fit_posterior(N[:, None], gap, counts, spread, None, None)
    without = fit_posterior(np.delete(N, 2)[:, None], np.delete(values, 2, axis=1), np.ones((1, 4)), spread, None, None)
    assert with_gap.quantiles([[256.0]], SIDES) == pytest.approx(without.quantiles([[256.0]], SIDES), rel=1e-9)


def test_exponents_of_the_user_are_the_only_ones():
    """A power of 0.44 by none but itself, and never something else in its place."""
    values = noisy([2.0 + 3.0 * N**0.44], 0.01)
    found = posterior_of(values, given=Given(("11/25",), (0,)))
    used = found.laws.exponents[found.law[0][found.weight[0] > 0]]
    assert set(np.unique(used).tolist()) <= {0.0, 0.44}
    assert found.quantiles([[256.0]], (0.5,))[0, 0, 0] == pytest.approx(2.0 + 3.0 * 256**0.44, rel=0.05)


HARD = {
    "all equal": np.full(5, 3.0),
    "twelve decades": 1e-9 * N**7,
    "one outlier": np.array([1.0, 1.0, 1000.0, 1.0, 1.0]),
    "a step": np.array([1.0, 1.0, 1.0, 50.0, 50.0]),
    "tiny": np.full(5, 1e-90) * N,
}


@pytest.mark.parametrize("kind", HARD)
def test_hard_series_have_finite_bounds(kind):
    low, middle, high = posterior_of([[HARD[kind]]]).quantiles([[256.0]], SIDES, run=True)[0, 0]
    assert 0.0 < low < middle < high < np.inf


GRID = np.array(list(itertools.product(N, repeat=2)))
TWO = {
    "sum": lambda p, n: 2.0 + 0.1 * p + 0.05 * n**1.5,
    "product": lambda p, n: 1.0 + 0.01 * p * n,
    "constant": lambda p, n: np.full_like(p, 5.0),
    "falling and rising": lambda p, n: 10.0 / p + 0.1 * n,
    "off the grid": lambda p, n: 1.0 + 0.3 * n**0.44 / p**0.17,
}


def test_two_parameters_are_predicted_within_their_bounds():
    """Twenty paths of each kind at 2 % noise, at four times both largest levels."""
    truth = np.array([law(*GRID.T) for law in TWO.values() for _ in range(20)])
    wanted = np.array([law(np.array([256.0]), np.array([256.0]))[0] for law in TWO.values() for _ in range(20)])
    found = posterior_of(noisy(truth, 0.02, seed=1), GRID).quantiles([[256.0, 256.0]], SIDES)[:, 0]
    assert ((found[:, 0] <= wanted) & (wanted <= found[:, 2])).mean() >= 0.88
    assert np.median(np.abs(found[:, 1] / wanted - 1.0)) < 0.04


def test_exponents_of_several_parameters_of_the_user():
    values = noisy([TWO["product"](*GRID.T)], 0.02)
    found = posterior_of(values, GRID, given=Given(("1/2", "1"), (0,)))
    used = found.laws.exponents[found.law[0][found.weight[0] > 0]]
    assert set(np.unique(used).tolist()) <= {0.0, 0.5, 1.0}
    assert found.quantiles([[256.0, 256.0]], (0.5,))[0, 0, 0] == pytest.approx(1.0 + 0.01 * 256**2, rel=0.1)


def test_functions_of_the_user_are_terms():
    """Terms that no power of p and its logarithm gives: the weights are those of a least-squares fit of the same."""
    levels = 2.0 ** np.arange(7)
    times = 3.0 + 40.0 / (1.0 + levels) + 0.25 * np.log2(1.0 + levels)
    asked = {"fitter": "scaling", "functions": ("1/(1 + p)", "log2(1 + p)"), "at": "p=256"}
    model = perfcore.fit(pd.DataFrame({"p": levels, "time_s": times}), **asked)
    assert [parameter.estimate for parameter in model.parameters] == pytest.approx([3.0, 40.0, 0.25], rel=1e-6)
    assert model.predict([256.0])[0] == pytest.approx(3.0 + 40.0 / 257.0 + 0.25 * np.log2(257.0), rel=0.1)
    assert {term.factors[0].function for law in model.laws for term in law if term.factors} == {
        "1/(1 + p)", "log2(1 + p)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("functions", "problem"),
    [("log2(p) - 2", "is -2 at p=1"), ("1", "no function of a parameter"), ("q^2", "the data have p")],
)
def test_functions_that_are_no_terms_are_refused(functions, problem):
    table = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.0, 4.0, 2.0, 1.0]})
    with pytest.raises(PerfError, match=problem):
        perfcore.fit(table, fitter="scaling", functions=functions)


def test_too_many_exponents_of_several_parameters_are_said():
    rows = [(p, n, 1.0 + 0.01 * p * n) for p, n in GRID[(GRID[:, 0] < 64) & (GRID[:, 1] < 64)]]
    table = pd.DataFrame(rows, columns=["p", "n", "time_s"])
    asked = {"fitter": "scaling", "parameter": ("p", "n")}
    model = perfcore.fit(table, **asked, exponents=[f"{i}/5" for i in range(1, 16)])
    assert [note for note in model.notes if "15 powers and logarithms make too many; with 14 or fewer" in note]
    with pytest.raises(PerfError, match=r"55 powers and logarithms are 3,025 laws .* name at most 54"):
        perfcore.fit(table, **asked, exponents=[f"{i}/20" for i in range(1, 56)])


def test_drift_is_on_every_parameter():
    """Levels that no sum of powers explains widen the bounds beyond them."""
    p, n = GRID.T
    smooth = 1.0 + 0.01 * p * n
    bent = smooth * np.where(n > 20, 1.6, 1.0)
    widths = []
    for truth in (smooth, bent):
        low, _, high = posterior_of(noisy([truth], 0.02), GRID).quantiles([[256.0, 256.0]], SIDES)[0, 0]
        widths.append(np.log(high / low))
    assert widths[1] > 1.5 * widths[0]


def test_settings_are_those_of_the_prior():
    assert len(NOISES.tau) == 49
    assert run_variance(np.zeros((1, 5)), np.ones((1, 5))) == pytest.approx([1e-4])


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


def test_means_counts_and_variances_are_those_of_numpy():
    """With two runs nothing is an outlier."""
    values = noisy_of_law_noise(np.random.default_rng(0), 20, 2, 4)
    runs = joined(values)
    assert runs.means == pytest.approx(values.mean(axis=1), rel=1e-12)
    assert (runs.counts == 2.0).all()
    assert runs.variances == pytest.approx(values.var(axis=1, ddof=1) / values.mean(axis=1) ** 2, rel=1e-9)
    assert not runs.outliers.any()


def test_runs_in_any_order():
    rng = np.random.default_rng(1)
    values = noisy_of_law_noise(rng, 6, 5, 4)
    path, _, point = (index.ravel() for index in np.indices(values.shape))
    order = rng.permutation(values.size)
    before = runs_of(path, point, values.ravel(), (6, 4))
    after = runs_of(path[order], point[order], values.ravel()[order], (6, 4))
    assert after.means == pytest.approx(before.means, rel=1e-12)
    assert after.variances == pytest.approx(before.variances, rel=1e-9)
    assert np.array_equal(after.outliers, before.outliers)


@given(factor=st.floats(1e-9, 1e9), seed=st.integers(0, 1000), n_runs=st.integers(1, 6))
@settings(deadline=None, max_examples=30)
def test_the_unit_of_the_values_does_not_matter_of_law_noise(factor, seed, n_runs):
    values = noisy_of_law_noise(np.random.default_rng(seed), 5, n_runs, 4)
    before, after = joined(values), joined(factor * values)
    assert after.means == pytest.approx(factor * before.means, rel=1e-9)
    assert after.counts == pytest.approx(before.counts, rel=1e-9)
    assert after.variances == pytest.approx(before.variances, rel=1e-6)


def test_missing_points_have_no_mean_and_no_weight():
    values = noisy_of_law_noise(np.random.default_rng(2), 3, 5, 4)
    values[1, :, 2] = np.nan
    values[2, 1:, 3] = np.nan
    runs = joined(values)
    assert runs.counts[1].tolist() == [5.0, 5.0, 0.0, 5.0]
    assert np.isnan(runs.means[1, 2])
    assert runs.means[2, 3] == values[2, 0, 3]
    assert runs.variances[2, 3] == 0.0


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
    runs = joined(noisy_of_law_noise(np.random.default_rng(4), 400, n_runs, 5))
    assert (runs.outliers > 0).mean() <= 0.02


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
    np.testing.assert_allclose(array_form.stdtr(freedom, t), special.stdtr(freedom, t), rtol=1e-10, atol=1e-12)
    for level in (0.001, 0.025, 0.5, 0.9):
        of_scipy = special.stdtrit(freedom, level)
        np.testing.assert_allclose(array_form.stdtrit(freedom, level), of_scipy, rtol=1e-10, atol=1e-15)
    ratio = np.append(rng.exponential(2.0, 200) ** 2, [0.0, np.inf])
    other = np.array([[[1.0]], [[7.0]], [[90.0]]])
    np.testing.assert_allclose(
        array_form.fdtrc(freedom, other, ratio), special.fdtrc(freedom, other, ratio), rtol=1e-9, atol=1e-12
    )


def test_deviating_levels_count_as_robust_weights_say():
    """Weights of Student's t of four degrees of freedom (Lange, Little, Taylor 1989), scaled by statsmodels' MAD."""
    from statsmodels.robust.scale import mad

    residuals = np.random.default_rng(4).normal(0.0, 0.03, (1, 25))
    residuals[0, :2] = 0.3, -0.2
    weights = 5.0 / (4.0 + (residuals / mad(residuals, center=0.0, axis=1)[:, None]) ** 2)
    found = engine._counting_less(residuals, np.full((1, 25), 3.0))
    np.testing.assert_allclose(found, 3.0 * np.minimum(weights, 1.0), rtol=1e-4)
