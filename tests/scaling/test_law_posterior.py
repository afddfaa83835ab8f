"""What measurements leave open: against known truths, and what it must not depend on."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import perfcore
from perfcore.base.errors import PerfError

N = np.array([4.0, 8, 16, 32, 64])


def fitted(values, levels=N, **options):
    """A model of paths from runs (K, runs, n); over x, or over x and y. NaN where there was no run."""
    values = np.asarray(values, dtype=float)
    points = np.reshape(levels, (len(levels), -1))
    path, run, point = (index.ravel() for index in np.indices(values.shape))
    names = ["x", "y"][: points.shape[1]]
    table = pd.DataFrame(points[point], columns=names).assign(function=path, run=run, time_s=values.ravel())
    table["function"] = "f" + table["function"].astype(str)
    given = {"fitter": "scaling", "parameter": names, "path": "function", "value": "time_s", **options}
    return perfcore.fit(table.dropna(), **given)


def bounds(model, at, run=False):
    """Low, middle and high at a point (K, 3), of the mean or of a run."""
    return model.band([np.atleast_1d(at)], 0.95, run=run)[:, 0, [1, 0, 2]]


def noisy(truth, noise, n_runs=5, seed=0):
    truth = np.atleast_2d(truth)
    shape = (len(truth), n_runs, truth.shape[1])
    return truth[:, None] * np.maximum(1.0 + noise * np.random.default_rng(seed).standard_normal(shape), 0.01)


def test_a_first_level_of_another_kind_does_not_bend_the_law():
    """Within a node a collective is twenty times faster; what is left is 10 p^0.3 at the others."""
    levels = np.array([36.0, 72, 144, 288, 576])
    values = 10.0 * levels**0.3
    values[0] /= 20.0
    model = fitted([[values]], levels)
    assert bounds(model, 1152.0)[0, 1] == pytest.approx(10.0 * 1152**0.3, rel=0.1)
    found = model.posterior
    assert found.weight[0, found.level[0] == 0].sum() > 0.5


def test_growth_that_is_small_yet_is_not_excluded():
    """Of a linear term that is 2 % of the last level, after ten flat ones, the bounds hold what it becomes."""
    levels = 2.0 ** np.arange(10)
    truth = 1.0 + 0.02 * np.append(levels, 4096.0) / levels[-1]
    low, _, high = bounds(fitted(noisy(truth[:10], 0.003), levels), 4096.0)[0]
    assert low < truth[10] < high


def test_a_measured_level_is_known_as_well_as_its_runs():
    """At a measured level the mean is that of its runs within their standard error, whatever the laws make of it."""
    runs = noisy([3.0 + N, 10.0 + 1000.0 / N], 0.05)
    runs[:, :, 2] *= 1.5
    model = fitted(runs)
    middle, spread = runs[:, :, 2].mean(axis=1), np.array([entry.spread for entry in model.data])
    error = np.sqrt(spread / runs.shape[1])
    wider = student.ppf(0.975, (runs.shape[1] - 1) * runs.shape[2] + 1) / norm.ppf(0.975)  # 1% counts as a run
    for run, deviation in ((False, error), (True, np.sqrt(spread * wider**2 + error**2))):
        low, _, high = bounds(model, N[2], run).T
        assert (high / low <= np.exp(2 * 1.96 * deviation) * 1.001).all()
        assert (low < middle).all()
        assert (middle < high).all()


def test_a_turn_at_the_end_shifts_and_widens():
    """Threads beyond the cores: 22.3, 25.3, 37.1 ms at 16, 17, 18, and then 106.8 ms at 19."""
    levels = np.array([1.0, 2, 4, 8, 12, 14, 16, 17, 18])
    before = 300.0 / levels[:-2] + 3.5
    model = fitted([[np.append(before, [25.3, 37.1])]], levels)
    calm = fitted([[np.append(before, 300.0 / levels[-2:] + 3.5)]], levels)
    assert model.posterior.turns[0] > 0.05
    assert calm.posterior.turns[0] == 0.0
    low, middle, high = bounds(model, 19.0, run=True)[0]
    assert low < 37.1 < high
    assert middle > bounds(calm, 19.0, run=True)[0, 1]
    assert high / low > 1.5


@pytest.mark.parametrize("run", [False, True])
def test_draws_have_the_quantiles(run):
    model = fitted(noisy([3.0 + N, 10.0 + 1000.0 / N], 0.1))
    at = [[20.0], [100.0], [256.0]]
    draws = model.draws(at)
    drawn = np.quantile(draws.runs() if run else draws.values, (0.025, 0.5, 0.975), axis=1)
    sides = np.moveaxis(model.band(at, 0.95, run=run)[:, :, [1, 0, 2]], 2, 0)
    width = np.log(sides[2] / sides[0])
    assert np.abs(np.log(drawn / sides) / width).max() < 0.15


def test_draws_at_several_points_are_coherent():
    """The ratio of two near points is known better than either."""
    draws = fitted(noisy([3.0 + N], 0.1)).draws([[250.0], [256.0]]).values[0]
    assert np.log(draws[:, 1] / draws[:, 0]).std() < 0.2 * np.log(draws[:, 1]).std()


def test_a_real_collective_is_no_constant():
    """Grows 400-fold; a law that misses the data by far is no explanation, since noise is relative to it."""
    levels = np.array([32.0, 64, 128, 256, 512])
    model = fitted([[[14.5, 72.7, 358.0, 1750.0, 5780.0]]], levels)
    low, middle, high = bounds(model, 1024.0)[0]
    assert low < 13446 < high
    assert 13446 / 3 < middle < 13446 * 3
    at_levels = model.band(levels[:, None], 0.95)[0, :, 0]
    assert np.abs(np.log(at_levels / [14.5, 72.7, 358.0, 1750.0, 5780.0])).max() < np.log(2)
    assert model.posterior.weight[0, model.posterior.level[0] == 4].sum() > 0.3


@pytest.mark.parametrize(("noise", "share"), [(0.05, 0.99), (0.2, 0.8)])
def test_constants_are_recognised(noise, share):
    model = fitted(noisy(np.full((120, 5), 7.0), noise, seed=5))
    assert np.mean([fit.is_constant for fit in model.named]) >= share


def test_what_rises_at_every_level_is_not_called_a_constant():
    levels = np.array([1, 2, 4, 8, 16, 32, 64])
    model = fitted(noisy(np.broadcast_to(5 + 0.3 * np.log2(levels), (30, 7)), 0.02, seed=5), levels)
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
    found = bounds(fitted(noisy(truth[:, :5], noise, seed=8)), 256.0)
    inside = (found[:, 0] <= truth[:, 5]) & (truth[:, 5] <= found[:, 2])
    assert inside.mean() >= 0.905


def test_a_misfit_that_repetitions_do_not_shrink_is_in_the_bounds_of_runs():
    """Ten runs agree to 1 %, levels scatter by 10 %: bounds of a run at the next level, of 200 paths."""
    rng = np.random.default_rng(3)
    levels = np.append(N, 128.0)
    truth = (3.0 + levels) * np.exp(0.1 * rng.standard_normal((200, 6)))
    values = noisy(truth, 0.01, 10, 4)
    found = bounds(fitted(values[:, :, :5]), 128.0, run=True)
    inside = (found[:, 0] <= values[:, 0, 5]) & (values[:, 0, 5] <= found[:, 2])
    assert inside.mean() >= 0.9
    assert np.median(found[:, 2] / found[:, 0]) < 6.0


@pytest.mark.parametrize("factor", [1e3, 1e9])
def test_the_unit_of_the_parameter_does_not_matter_to_powers(factor):
    values = noisy([3.0 + N, 10.0 + 1000.0 / N], 0.1)
    given = {"exponents": "-1,-1/2,1/2,1,2", "logarithms": "0"}
    before = bounds(fitted(values, N, **given), 256.0)
    after = bounds(fitted(values, factor * N, **given), factor * 256.0)
    assert after == pytest.approx(before, rel=1e-5)


def test_what_others_are_fitted_with_does_not_matter():
    values = noisy([3.0 + N, 10.0 + 1000.0 / N, np.full(5, 2.0)], 0.1)
    together = bounds(fitted(values), 256.0)
    for k in range(3):
        assert bounds(fitted(values[[k]]), 256.0)[0] == pytest.approx(together[k], rel=1e-9)


def test_missing_levels_are_as_if_there_were_none():
    values, alone = noisy([3.0 + N, 8.0 / N + 0.1 * N, 2.0 + N**0.5], 0.1), []
    for k, missing in enumerate(([0], [4], [])):
        alone += [*bounds(fitted(np.delete(values[[k]], missing, axis=2), np.delete(N, missing)), 256.0)]
        values[k, :, missing] = np.nan
    np.testing.assert_allclose(bounds(fitted(values), 256.0), alone, rtol=1e-9)


def exponents_of(model):
    return {factor.exponent for law in model.laws for term in law for factor in term.factors}


def test_exponents_of_the_user_are_the_only_ones():
    """A power of 0.44 by none but itself, and never something else in its place."""
    model = fitted(noisy([2.0 + 3.0 * N**0.44], 0.01), exponents="11/25", logarithms="0")
    assert exponents_of(model) == {0.44}
    assert bounds(model, 256.0)[0, 1] == pytest.approx(2.0 + 3.0 * 256**0.44, rel=0.05)


HARD = {
    "all equal": np.full(5, 3.0), "twelve decades": 1e-9 * N**7, "one outlier": np.array([1.0, 1.0, 1000.0, 1.0, 1.0]),
    "a step": np.array([1.0, 1.0, 1.0, 50.0, 50.0]), "tiny": np.full(5, 1e-90) * N,
}  # fmt: skip


@pytest.mark.parametrize("kind", HARD)
def test_hard_series_have_finite_bounds(kind):
    low, middle, high = bounds(fitted([[HARD[kind]]]), 256.0, run=True)[0]
    assert 0.0 < low < middle < high < np.inf


GRID = np.array(list(itertools.product(N, repeat=2)))
TWO = {
    "sum": lambda p, n: 2.0 + 0.1 * p + 0.05 * n**1.5, "product": lambda p, n: 1.0 + 0.01 * p * n,
    "constant": lambda p, n: np.full_like(p, 5.0), "falling and rising": lambda p, n: 10.0 / p + 0.1 * n,
    "off the grid": lambda p, n: 1.0 + 0.3 * n**0.44 / p**0.17,
}  # fmt: skip


def test_two_parameters_are_predicted_within_their_bounds():
    """Twenty paths of each kind at 2 % noise, at four times both largest levels."""
    truth = np.array([law(*GRID.T) for law in TWO.values() for _ in range(20)])
    wanted = np.array([law(np.array([256.0]), np.array([256.0]))[0] for law in TWO.values() for _ in range(20)])
    found = bounds(fitted(noisy(truth, 0.02, seed=1), GRID), (256.0, 256.0))
    assert ((found[:, 0] <= wanted) & (wanted <= found[:, 2])).mean() >= 0.88
    assert np.median(np.abs(found[:, 1] / wanted - 1.0)) < 0.04


def test_exponents_of_several_parameters_of_the_user():
    model = fitted(noisy([TWO["product"](*GRID.T)], 0.02), GRID, exponents="1/2,1", logarithms="0")
    assert exponents_of(model) <= {0.5, 1.0}
    assert bounds(model, (256.0, 256.0))[0, 1] == pytest.approx(1.0 + 0.01 * 256**2, rel=0.1)


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


@pytest.mark.parametrize(("functions", "problem"), [
    ("log2(p) - 2", "is -2 at p=1"), ("1", "no function of a parameter"), ("q^2", "the data have p"),
])  # fmt: skip
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
        low, _, high = bounds(fitted(noisy([truth], 0.02), GRID), (256.0, 256.0))[0]
        widths.append(np.log(high / low))
    assert widths[1] > 1.5 * widths[0]


def test_many_points_of_two_parameters_are_searched_in_steps():
    """Of 132 points of 3 + x sqrt(y) with 3 % noise the law is found, and the bounds hold its value far beyond."""
    levels = np.array(list(itertools.product(2.0 ** np.arange(1, 13), 2.0 ** np.arange(1, 12))))
    model = fitted(noisy(3.0 + levels[:, 0] * np.sqrt(levels[:, 1]), 0.03, n_runs=1), levels)
    low, middle, high = bounds(model, (16384.0, 4096.0))[0]
    truth = 3.0 + 16384.0 * 64.0
    assert middle == pytest.approx(truth, rel=0.1)
    assert low < truth < high
