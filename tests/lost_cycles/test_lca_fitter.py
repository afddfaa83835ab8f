"""The fitter `lca` as users call it: choice, files, predictions with bounds, and what it refuses."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import perfcore
from perf_formulas import Formula
from perf_lost_cycles import DefaultModel, models_for, read_models, write_models
from perfcore import Measurements
from perfcore.base.errors import PerfError

P = np.array([1, 2, 4, 8, 16, 32])
CRITERIA = ("loo", "adjusted", "r2")
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
    assert {fits[0].r2 for fits in model.default_fits} == {1.0, None}, "a constant has no R^2"
    parts = {"pure computation": PARTS["pure computation"], "communication loss": lambda p: 0.8 * p * np.log2(p)}
    assert fitted(profile(parts=parts)).default_fits[1][0].text("P") == "0.8*P*log2(P)"


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


@pytest.mark.parametrize(("data", "options", "problem"), [
    (profile([4]), {}, "factor 'P' has one level, P=4; .*measure at more levels"),
    (
        pd.concat([profile(n=1), profile(n=2)]),
        {"parameter": "P=P,n=n"},
        r"several parameters vary: P \(6 levels\), n \(2 levels\); .*factor='P', .* the others with where='n=1'",
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
])  # fmt: skip
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
    assert next(fit for fit in model.categories if fit.name == "Force").r2_centered > 0.95
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


# Default models fitted together: against statsmodels at full rank, against the pseudo-inverse below it.
LEVELS = P.astype(float)
FUNCTIONS = {"1": lambda x: 0 * x + 1, "x": lambda x: x, "log2(x)": np.log2, "1/x": lambda x: 1 / x}
FUNCTIONS |= {"x - 1": lambda x: x - 1, "2*x": lambda x: 2 * x, "x^2": lambda x: x**2, "2*x + 0*x": lambda x: 2 * x}
MODELS = [("1",), ("x",), ("1", "x"), ("1", "log2(x)"), ("1", "1/x", "x"), ("x - 1", "1")]


@pytest.fixture
def noisy():
    rng = np.random.default_rng(5)
    return (3 + 40 / LEVELS + 0.5 * LEVELS)[:, None] * (1 + 0.1 * rng.standard_normal((len(LEVELS), 7)))


def design_of(terms, x=LEVELS):
    return np.stack([FUNCTIONS[term](x) for term in terms], axis=1)


def fits_of(folder, models, values, levels=LEVELS, **options):
    """The categories of values (n, K) fitted with models of terms, and for each its fits by their terms."""
    formulas = [" + ".join(f"c{k}*({term})" for k, term in enumerate(terms)) for terms in models]
    defaults = [DefaultModel("*", "*", formula) for formula in formulas]
    write_models(defaults, folder / "models.toml")
    rows = [(p, f"c{k}", value) for p, row in zip(levels, values, strict=True) for k, value in enumerate(row)]
    table = pd.DataFrame([row for row in rows if np.isfinite(row[2])], columns=["P", "category", "time_s"])
    model = fitted(table, **{"models": str(folder / "models.toml"), "weights": "equal", **options})
    terms_of = {default.terms: terms for default, terms in zip(defaults, models, strict=True)}
    return model, [
        {terms_of[fit.model.terms]: fit for fit in category}
        for _, category in sorted(zip(model.names, model.default_fits, strict=True))
    ]


@pytest.mark.parametrize("weights", ["equal", "relative"])
def test_full_rank_agrees_with_statsmodels(noisy, weights, tmp_path):
    _, fits = fits_of(tmp_path, MODELS, noisy, weights=weights)
    w = np.ones(6) if weights == "equal" else noisy.sum(axis=1) ** -2
    for k, by_terms in enumerate(fits):
        for terms, fit in by_terms.items():
            expected = sm.WLS(noisy[:, k], design_of(terms), weights=w, hasconst="1" in terms).fit()
            np.testing.assert_allclose(fit.coefficients, expected.params, rtol=1e-9)
            np.testing.assert_allclose(fit.standard_errors, expected.bse, rtol=1e-9)
            assert fit.sum_of_squares == pytest.approx(expected.ssr, rel=1e-10)
            if "1" in terms:
                assert fit.r2 == pytest.approx(expected.rsquared, rel=1e-9, abs=1e-12)
                assert fit.r2_adjusted == pytest.approx(expected.rsquared_adj, rel=1e-9, abs=1e-12)


def test_leave_one_out_is_what_leaving_out_gives(noisy, tmp_path):
    _, fits = fits_of(tmp_path, MODELS, noisy)
    centered = ((noisy - noisy.mean(axis=0)) ** 2).sum(axis=0)
    for terms in MODELS:
        design, squares = design_of(terms), 0.0
        for left in range(len(LEVELS)):
            kept = np.arange(len(LEVELS)) != left
            coefficients = np.linalg.lstsq(design[kept], noisy[kept], rcond=None)[0]
            squares = squares + (noisy[left] - design[left] @ coefficients) ** 2
        found = [by_terms[terms].r2_leave_one_out for by_terms in fits]
        np.testing.assert_allclose(found, 1.0 - squares / centered, rtol=1e-8)


@pytest.mark.parametrize(("terms", "levels", "note"), [
    (("1", "x", "2*x"), LEVELS, "dependent terms: 1 of 3"),  # collinear everywhere
    (("x", "2*x + 0*x"), LEVELS, "dependent terms: 1 of 2"),
    (("1", "x", "x^2", "1/x"), LEVELS[:3], "fewer points than coefficients: 1 of 4"),
])  # fmt: skip
def test_deficient_rank_gives_the_solution_of_least_norm(terms, levels, note, noisy, tmp_path):
    values = noisy[: len(levels)]
    model, fits = fits_of(tmp_path, [terms, ("1",)], values, levels, criterion="r2")
    expected = np.linalg.pinv(design_of(terms, levels)) @ values
    np.testing.assert_allclose([by_terms[terms].coefficients for by_terms in fits], expected.T, rtol=1e-8, atol=1e-10)
    assert all(set(by_terms[terms].standard_errors) == {None} for by_terms in fits)
    assert all(by_terms[terms].note.startswith(note) for by_terms in fits)
    assert {fits[0].model.terms for fits in model.default_fits} == {("1",)}, "it cannot be compared"


def test_missing_cells_are_fitted_on_the_points_that_there_are(noisy, tmp_path):
    values = noisy.copy()
    values[0, 1] = values[2, 1] = values[5, 3] = np.nan
    _, fits = fits_of(tmp_path, MODELS, values)
    for k in (1, 3):
        met = np.isfinite(values[:, k])
        _, [alone] = fits_of(tmp_path, MODELS, noisy[met][:, [k]], LEVELS[met])
        for terms in MODELS:
            np.testing.assert_allclose(fits[k][terms].coefficients, alone[terms].coefficients, rtol=1e-10)
            np.testing.assert_allclose(fits[k][terms].r2, alone[terms].r2, rtol=1e-10)


def test_a_term_that_is_not_finite_takes_its_model_alone_out(noisy, tmp_path):
    model, fits = fits_of(tmp_path, [("1", "1/(x - 1)"), ("1", "x")], noisy)
    left_out = [by_terms["1", "1/(x - 1)"] for by_terms in fits]
    assert {fit.coefficients for fit in left_out} == {(None, None)}
    assert {fit.note for fit in left_out} == {"a term is not finite at a level"}
    assert {fits[0].model.terms for fits in model.default_fits} == {("1", "x")}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_data_give_their_own_model_and_its_coefficients(criterion):
    """Of the models that hold the truth, the one with fewest coefficients."""
    defaults = models_for(read_models("standard"), "c0", "P")
    truth = [np.linspace(2.0, 3.0, len(model.terms)) for model in defaults]
    designs = [np.stack([Formula(t).evaluate({"x": LEVELS}) for t in model.terms], axis=1) for model in defaults]
    parts = {f"c{k}": design @ c for k, (design, c) in enumerate(zip(designs, truth, strict=True))}
    rows = [(p, name, values[k]) for name, values in parts.items() for k, p in enumerate(P)]
    model = fitted(pd.DataFrame(rows, columns=["P", "category", "time_s"]), criterion=criterion)
    assert [fits[0].model.terms for fits in model.default_fits] == [default.terms for default in defaults]
    for category, coefficients in zip(model.categories, truth, strict=True):
        np.testing.assert_allclose(category.coefficients, coefficients, rtol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "adjusted"])
def test_a_constant_category_has_no_r2_and_the_constant_model(criterion, tmp_path):
    model, [fits] = fits_of(tmp_path, MODELS, np.full((6, 1), 7.0), criterion=criterion)
    assert {fit.r2 for fit in fits.values()} == {None}
    assert model.default_fits[0][0].model.terms == ("1",)
    assert model.categories[0].coefficients == pytest.approx((7.0,), abs=1e-13)


def test_as_many_coefficients_as_points_are_not_compared(tmp_path):
    model, [fits] = fits_of(tmp_path, [("1", "x"), ("x",)], [[1.0], [5.0]], [1.0, 2.0], criterion="r2")
    assert fits["1", "x"].sum_of_squares == pytest.approx(0.0, abs=1e-20)
    assert fits["1", "x"].note == "as many coefficients as points"
    assert model.default_fits[0][0].model.terms == ("x",)


def test_r2_rewards_every_further_term_and_leave_one_out_does_not(tmp_path):
    """Amdahl's law with 5% noise: the plain R^2 takes the nested model of three terms whenever it may."""
    rng = np.random.default_rng(2)
    values = (10 + 90 / LEVELS)[:, None] * (1 + 0.05 * rng.standard_normal((len(LEVELS), 200)))
    right = {}
    for name in CRITERIA:
        model, _ = fits_of(tmp_path, [("1", "1/x"), ("1", "1/x", "x")], values, criterion=name)
        right[name] = np.mean([len(category.terms) == 2 for category in model.categories])
    assert right["loo"] > right["adjusted"] > 0.5
    assert right["r2"] == 0.0


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
        value, lower, upper = model.predict_array(
            {name: last[name] for name in model.factors.values()}, interval=0.95
        ).T
        inside += ((lower <= last.time_s) & (last.time_s <= upper)).tolist()
        width += ((upper - lower) / 2 / value).tolist()
    return np.mean(inside), np.median(width)


@pytest.mark.parametrize(
    ("fitter", "seeds", "noise", "least"), [("modgen", range(10), 0.05, 0.85), ("lca", range(25), 0.01, 0.92)]
)
def test_bounds_of_totals_hold_what_no_formula_is(fitter, seeds, noise, least):
    """At twice the largest P; bounds of the chosen formulas alone held 75 % (modgen) and 88 % (lca)."""
    options = {"modgen": {"parameter": "P,D"}, "lca": {"parameter": "P=P", "where": "D=10"}}[fitter]
    coverage, width = held(fitter, seeds, noise, **options)
    assert coverage >= least
    assert width < 0.6


def test_a_category_that_is_mostly_zero_has_no_bounds():
    table, _ = table_of(4, sizes=D[:1])
    rare = table[table.category == "wait"].assign(category="rare", time_s=[0.0, 0.0, 0.0, 0.0, 0.1])
    model = perfcore.fit(pd.concat([table, rare]), fitter="lca", parameter="P=P", where="D=10")
    bounds = model.predict_array({"P": [4.0, 4.0], "category": ["rare", "work"]}, interval=0.95)[:, 1:]
    assert np.isnan(bounds[0]).all()
    assert np.isfinite(bounds[1]).all()


def test_what_is_held_is_named_whatever_its_symbol(tmp_path):
    rows = [(24, size, name, time) for size in (1, 2, 4, 8) for name, time in (("work", 3.0 * size), ("start", 2.0))]
    table = pd.DataFrame(rows, columns=["P", "D", "category", "time_s"])
    model = perfcore.fit(table, fitter="lca", parameter="P,D", factor="D")
    assert "of the time at P=24, 3*D s" in model.report().answer
    assert [line.label for line in model.lines("work", "D")] == ["P=24"]
