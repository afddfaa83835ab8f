"""The fitter `lca` as users call it: choice, files, predictions with bounds, and what it refuses."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import perfcore
from perf_lost_cycles.default_models.sets import DefaultModel, models_for, read_models, write_models
from perf_lost_cycles.lca.categories import best, fit_default_models, term_values
from perf_lost_cycles.options import CRITERIA
from perfcore import Measurements
from perfcore.base.errors import PerfError

P = np.array([1, 2, 4, 8, 16, 32])
PARTS = {
    "pure computation": lambda p: 640 / p,
    "communication loss": lambda p: 2 + 0.5 * np.log2(p),
    "other": lambda p: 3 + 0 * p,
}


def profile(levels=P, parts=PARTS, **constant):
    rows = [(p, name, float(time(p))) for p in levels for name, time in parts.items()]
    return pd.DataFrame(rows, columns=["P", "category", "time_s"]).assign(**constant)


def fitted(data, **options):
    return perfcore.fit(Measurements(data, source="profile.csv"), fitter="lca", **{"parameter": "P=P", **options})


def test_noise_free_categories_give_their_laws_back():
    model = fitted(profile())
    assert model.formula.splitlines() == [
        "pure computation = 640/P",
        "communication loss = 2 + 0.5*log2(P)",
        "other = 3",
    ]
    p = np.array([3.0, 64.0, 1000.0])
    np.testing.assert_allclose(model.predict(p), 640 / p + 5 + 0.5 * np.log2(p), rtol=1e-9)
    np.testing.assert_allclose(model.predict({"P": p, "category": "communication loss"}), 2 + 0.5 * np.log2(p))
    assert model.statistics["r2_centered"] == pytest.approx(1.0)
    assert {fit.model.r2 for fit in model.fits} == {1.0, None}, "a constant has no R^2"


def test_a_constant_overhead_is_fitted_by_a_constant():
    names = ("load imbalance", "synchronization loss", "communication loss", "resource contention")
    constant = {name: lambda p: 3.0 + 0 * p for name in (*names, "insufficient parallelism")}
    model = fitted(profile(parts=constant))
    assert [fit.model.formula for fit in model.fits] == ["a"] * 5


def test_the_total_is_the_sum_of_its_categories():
    rng = np.random.default_rng(1)
    data = profile()
    data["time_s"] *= 1 + 0.1 * rng.standard_normal(len(data))
    model, p = fitted(data), np.array([1.0, 5.0, 100.0])
    parts = [model.predict({"P": p, "category": name}) for name in model.names]
    np.testing.assert_allclose(model.predict(p), np.sum(parts, axis=0), rtol=1e-12)


def test_a_formula_of_ones_own_is_used_and_said(tmp_path):
    write_models([DefaultModel("*", "P", "work/P + start + step*P^3")], tmp_path / "mine.toml")
    model = fitted(profile(parts={"a": lambda p: 5 / p + 2 + 0.25 * p**3}), models=str(tmp_path / "mine.toml"))
    assert model.formula == "a = 5/P + 2 + 0.25*P^3"
    assert [parameter.name for parameter in model.parameters] == ["a: 1/P", "a: 1", "a: P^3"]


def test_all_candidates_are_kept_and_ranked():
    ranking = perfcore.rank(Measurements(profile()), fitter="lca", show="communication loss", parameter="P=P")
    first = ranking.candidates[0]
    assert first.functions == ("a + b*log2(P)",)
    assert (first.figures["a"], first.figures["b"]) == pytest.approx((2.0, 0.5))
    found = [c.figures["r2_leave_one_out"] for c in ranking.candidates]
    assert found == sorted(found, reverse=True)
    every = perfcore.rank(Measurements(profile()), fitter="lca", parameter="P=P")
    assert {c.functions[0].partition(":")[0] for c in every.candidates} == set(PARTS)


@pytest.mark.slow
def test_bounds_cover_new_runs_as_often_as_they_say():
    """Errors of 2% of the run time, in two categories of which one loses what the other gains: 400 sets of points."""
    rng, coverage, hits = np.random.default_rng(3), 0.9, []

    def run(p):
        noise = 0.02 * (100 / p + 20) * rng.standard_normal((2, len(p)))
        return 100 / p + noise[0], 20 + 0.5 * noise[1] - 0.5 * noise[0]

    for _ in range(400):
        first, second = run(P)
        data = pd.DataFrame({"P": [*P, *P], "category": ["pure computation"] * 6 + ["other"] * 6})
        model = fitted(data.assign(time_s=[*first, *second]))
        _, lower, upper = model.predict_array(np.array([6.0]), interval=coverage)[0]
        hits.append(lower <= sum(run(np.array([6.0])))[0] <= upper)
    # The standard error of a share of 0.9 among 400 is 0.015; bounds also hold what these data don't have, a misfit.
    assert coverage - 0.03 < np.mean(hits)


def test_negative_times_are_taken_as_zero_and_said():
    """65 - 2 p is negative at 500, a constant is not: the total is the constant's."""
    data = profile(parts={"falling": lambda p: 65.0 - 2.0 * p, "b": lambda p: 7.0 + 0.0 * p}, levels=P[:-1])
    model, far = fitted(data, weights="equal"), np.array([500.0])
    value, lower, upper = model.predict_array(far, interval=0.9)[0]
    assert value == pytest.approx(7.0, rel=1e-9)
    assert 0.0 < lower <= value < upper
    assert model.predict({"P": far, "category": "falling"}) == [0.0]
    assert model.remarks(far) == ["extrapolated: P was 1 to 16; negative, taken as 0: falling"]
    assert model.remarks(np.array([2.0])) == [""]


def test_small_singular_values_are_reported(tmp_path):
    models = [DefaultModel("*", "*", "a*x"), DefaultModel("*", "*", "a*x + b*(2*x)")]
    write_models(models, tmp_path / "dependent.toml")
    model = fitted(profile(parts={"a": lambda p: 3.0 * p}), models=str(tmp_path / "dependent.toml"), show="a")
    good, dependent = model.fits[0].candidates
    assert good.note == ""
    assert dependent.note == "dependent terms: 1 of 2 singular values dropped, coefficients of least norm"
    # Of all a + 2 b = 3, the one of least norm.
    np.testing.assert_allclose(dependent.coefficients, [0.6, 1.2])
    assert dependent.standard_errors == (None, None)
    assert any("least norm" in cell for _, _, rows in model.tables() for row in rows for cell in row)


@pytest.mark.parametrize(
    ("data", "options", "problem"),
    [
        (profile([4]), {}, "factor 'P' has one level, P=4; .*measure at more levels"),
        (
            pd.concat([profile(n=1), profile(n=2)]),
            {"parameter": "P=P,n=n"},
            r"several parameters vary: P \(6 levels\), n \(2 levels\); .*factor='P' .* the others with where='n=1'",
        ),
        (
            pd.concat([profile(n=1), profile(n=2)]),
            {"parameter": "P=P,n=n", "factor": "P"},
            "'n' varies with 'P' .*where='n=1', or model both with fitter='modgen'",
        ),
        (profile(), {"factor": "Q"}, r"factor 'Q' is none of the parameters \(P\); .*: parameter='P,Q'"),
        (profile(), {"show": "comunication loss"}, "unknown category 'comunication loss': did you mean"),
        (profile(), {"models": "standrad"}, "unknown set of default models 'standrad'"),
        (profile().query("category != 'other' or P == 1"), {}, "'other' was measured at 1 level .*'category!=other'"),
        (profile().assign(time_s=-1.0), {}, "time_s is -1 .*a positive number or 0 is expected"),
        (profile().assign(time_s=0.0), {}, "all categories are 0 at P=1; .*weights='equal'"),
        (profile().drop(columns="category"), {"duplicates": "keep"}, "category='COLUMN'"),
    ],
)  # fmt: skip
def test_what_is_refused_in_one_line(data, options, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        fitted(data, **options)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.real_data
def test_gromacs_on_one_machine_and_molecule(real_data):
    """Force is computed on all cores: from 1 to 16 nodes the chosen law explains it, waiting is erratic."""
    path = real_data / "scaling" / "hecbiosim_gromacs_categories.csv"
    where = "machine=ARCHER2,atoms=1403180,tasks_per_node=128"
    model = perfcore.fit(path, fitter="lca", where=where, absent="zero")
    force = next(fit for fit in model.fits if fit.category == "Force")
    assert force.model.r2 > 0.95
    assert model.statistics["median_relative_error"] < 0.2


def test_measurements_are_seen_as_totals_and_categories_with_the_rows_and_joins_of_the_fit():
    """Two runs at each point, of which the fit takes the smaller; a category that one point lacks took no time."""
    one = profile(N=1)
    runs = pd.concat([one, one.assign(time_s=3 * one["time_s"]), profile(N=2).assign(time_s=1000.0)])
    model = fitted(runs, where="N=1", aggregate="minimum", absent="zero")
    lacking = runs[(runs["P"] > 1) | (runs["category"] != "other")]
    seen = model.observed(lacking)
    assert seen.points["P"].tolist() == P.tolist()
    assert set(seen.points["category"]) == {"total"}
    assert seen.parts == model.names == tuple(PARTS)
    expected = np.array([time(P) for time in PARTS.values()]).T.astype(float)
    expected[0, 2] = 0.0
    np.testing.assert_allclose(seen.of_part, expected)
    np.testing.assert_allclose(seen.value, expected.sum(axis=1))
    assert (seen.unit, seen.labels[1]) == ("s", "P=2")
    assert model.observed(runs, where="N=2,P<3").value.tolist() == [3000.0, 3000.0]
    with pytest.raises(PerfError, match=r"none of the model's categories \(pure computation, "):
        model.observed(runs.assign(category="un" + runs["category"]))


# Default models fitted in batches: against statsmodels at full rank, against the pseudo-inverse below it.
P_OF_LCA = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
MODELS = [("1",), ("x",), ("1", "x"), ("1", "log2(x)"), ("1", "1/x", "x"), ("x - 1", "1")]


@pytest.fixture
def noisy():
    rng = np.random.default_rng(5)
    return (3 + 40 / P_OF_LCA + 0.5 * P_OF_LCA)[:, None] * (1 + 0.1 * rng.standard_normal((len(P_OF_LCA), 7)))


@pytest.mark.parametrize("weighted", [False, True])
def test_full_rank_agrees_with_statsmodels(noisy, weighted):
    root = np.sqrt(np.linspace(0.5, 2.0, len(P_OF_LCA))) if weighted else None
    fits = fit_default_models(MODELS, P_OF_LCA, noisy, root)
    for m, terms in enumerate(MODELS):
        design = term_values(terms, P_OF_LCA)
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
    fits = fit_default_models(MODELS, P_OF_LCA, noisy)
    for m, terms in enumerate(MODELS):
        design, squares = term_values(terms, P_OF_LCA), 0.0
        for left in range(len(P_OF_LCA)):
            kept = np.arange(len(P_OF_LCA)) != left
            coefficients = np.linalg.lstsq(design[kept], noisy[kept], rcond=None)[0]
            squares = squares + (noisy[left] - design[left] @ coefficients) ** 2
        np.testing.assert_allclose(fits.leave_one_out[m], squares, rtol=1e-8)


@pytest.mark.parametrize(
    ("models", "levels"),
    [
        ([("1", "x", "2*x")], P_OF_LCA),  # collinear everywhere
        ([("x", "2*x + 0*x")], P_OF_LCA),
        ([("1", "x", "x^2", "1/x")], P_OF_LCA[:3]),  # fewer points than coefficients
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
    fits = fit_default_models(MODELS, P_OF_LCA, values)
    for k in (1, 3):
        met = np.isfinite(values[:, k])
        alone = fit_default_models(MODELS, P_OF_LCA[met], noisy[met][:, [k]])
        np.testing.assert_allclose(fits.coefficients[:, k], alone.coefficients[:, 0], rtol=1e-10)
        np.testing.assert_allclose(fits.r2[:, k], alone.r2[:, 0], rtol=1e-10)
    assert fits.n_points.tolist() == [6, 4, 6, 5, 0, 6, 6]
    assert best(fits, "loo")[4] == -1


def test_a_term_that_is_not_finite_takes_its_model_alone_out(noisy):
    fits = fit_default_models([("1", "1/(x - 1)"), ("1", "x")], P_OF_LCA, noisy)
    assert np.isnan(fits.coefficients[0]).all()
    assert (fits.rank[0] == -1).all()
    assert (best(fits, "loo") == 1).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_data_give_their_own_model_and_its_coefficients(criterion):
    """Of the models that hold the truth, the one with fewest coefficients."""
    models = [model.terms for model in models_for(read_models("standard"), "other", "P")]
    truth = [np.linspace(2.0, 3.0, len(terms)) for terms in models]
    values = np.column_stack([term_values(t, P_OF_LCA) @ c for t, c in zip(models, truth, strict=True)])
    fits = fit_default_models(models, P_OF_LCA, values)
    np.testing.assert_array_equal(best(fits, criterion), np.arange(len(models)))
    for k, coefficients in enumerate(truth):
        np.testing.assert_allclose(fits.coefficients[k, k, : len(coefficients)], coefficients, rtol=1e-8)


def test_a_constant_category_has_no_r2_and_the_constant_model():
    """Such as communication on one processor, which takes no time."""
    fits = fit_default_models(MODELS, P_OF_LCA, np.column_stack([np.zeros(6), np.full(6, 7.0)]))
    assert np.isnan(fits.r2).all()
    assert best(fits, "loo").tolist() == [0, 0]
    assert best(fits, "adjusted").tolist() == [0, 0]
    np.testing.assert_allclose(fits.coefficients[0, :, 0], [0.0, 7.0], atol=1e-14)


def test_as_many_coefficients_as_points_are_not_compared():
    fits = fit_default_models([("1", "x"), ("x",)], [1.0, 2.0], [[1.0], [5.0]])
    assert fits.sum_of_squares[0, 0] == pytest.approx(0.0, abs=1e-20)
    assert best(fits, "r2").tolist() == [1]


def test_r2_rewards_every_further_term_and_leave_one_out_does_not():
    """Amdahl's law with 5% noise: the plain R^2 takes the nested model of three terms whenever it may."""
    rng = np.random.default_rng(2)
    models = [("1", "1/x"), ("1", "1/x", "x")]
    values = (10 + 90 / P_OF_LCA)[:, None] * (1 + 0.05 * rng.standard_normal((len(P_OF_LCA), 400)))
    fits = fit_default_models(models, P_OF_LCA, values)
    assert (best(fits, "r2") == 1).all()
    right = {name: float((best(fits, name) == 0).mean()) for name in ("loo", "adjusted")}
    assert right["loo"] > right["adjusted"] > 0.5


# Bounds of `lca` and `modgen` where the truth is none of the formulas, and what they must not depend on.
P_OF_BOUNDS, D = (1.0, 2.0, 4.0, 8.0, 16.0), (10.0, 20.0, 40.0, 80.0)


def table_of(seed, levels=P_OF_BOUNDS, sizes=D, noise=0.05):
    """Work that speeds up less and less, and waiting that grows: powers that are among no default models."""
    rng = np.random.default_rng(seed)
    fall, grow = rng.uniform(0.6, 0.9), rng.uniform(0.3, 0.6)
    rows = []
    for p, d in itertools.product((*levels, 2 * levels[-1]), sizes):
        parts = {"work": d**1.1 * p**-fall, "wait": 0.03 * d**0.7 * p**grow, "start": 0.5 + 0.02 * p**0.8}
        rows += [(p, d, name, time * np.exp(noise * rng.standard_normal())) for name, time in parts.items()]
    table = pd.DataFrame(rows, columns=["P", "D", "category", "time_s"])
    return table[levels[-1] >= table.P], table[levels[-1] < table.P].groupby(["P", "D"], as_index=False).time_s.sum()


def held(fitter, seeds, noise, **options):
    """Share of totals at twice the processors within 95 % bounds, and the median half-width."""
    inside, width = [], []
    for seed in seeds:
        table, last = table_of(seed, sizes=D if fitter == "modgen" else D[:1], noise=noise)
        model = perfcore.fit(table, fitter=fitter, **options)
        value, lower, upper = model.predict_array({name: last[name] for name in model.factors.values()}, interval=0.95).T
        inside += ((lower <= last.time_s) & (last.time_s <= upper)).tolist()
        width += ((upper - lower) / 2 / value).tolist()
    return np.mean(inside), np.median(width)


@pytest.mark.parametrize(
    ("fitter", "seeds", "noise", "least"), [("modgen", range(10), 0.05, 0.85), ("lca", range(40), 0.01, 0.92)]
)
def test_bounds_of_totals_hold_what_no_formula_is(fitter, seeds, noise, least):
    """At twice the largest P; bounds of the chosen formulas alone held 75 % (modgen) and 88 % (lca)."""
    options = {"modgen": {"parameter": "P,D"}, "lca": {"parameter": "P=P", "where": "D=10"}}[fitter]
    coverage, width = held(fitter, seeds, noise, **options)
    assert coverage >= least
    assert width < 0.6


def test_bounds_do_not_depend_on_the_order_of_rows_or_on_units():
    table, _last = table_of(3)
    at, options = (
        {"P": 32.0, "D": [20.0, 80.0], "category": ["total", "work"]},
        {"fitter": "modgen", "parameter": "P,D"},
    )
    expected = perfcore.fit(table, **options).predict_array(at, interval=0.9)
    shuffled = perfcore.fit(table.sample(frac=1, random_state=2), **options).predict_array(at, interval=0.9)
    np.testing.assert_allclose(shuffled, expected, rtol=1e-6)
    milli = table.assign(time_ms=1e3 * table.time_s).drop(columns="time_s")
    np.testing.assert_allclose(perfcore.fit(milli, **options).predict_array(at, interval=0.9), 1e3 * expected, rtol=1e-6)


def test_a_category_that_is_mostly_zero_has_no_bounds():
    table, _ = table_of(4, sizes=D[:1])
    rare = table[table.category == "wait"].assign(category="rare", time_s=[0.0, 0.0, 0.0, 0.0, 0.1])
    model = perfcore.fit(pd.concat([table, rare]), fitter="lca", parameter="P=P", where="D=10")
    bounds = model.predict_array({"P": [4.0, 4.0], "category": ["rare", "work"]}, interval=0.95)[:, 1:]
    assert np.isnan(bounds[0]).all()
    assert np.isfinite(bounds[1]).all()


# What `perf info` says of times by category, which the fitter of such data knows.
ROWS = [
    (p, name, machine, time / p)
    for p in (1, 2, 4)
    for name, time in (("compute", 8.0), ("wait", 1.0))
    for machine in (("a", "b") if p < 4 else ("a",))
]


@pytest.fixture
def runs():
    return pd.DataFrame(ROWS, columns=["p", "category", "machine", "time_s"])
