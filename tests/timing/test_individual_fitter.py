"""The fitter `individual` as users call it: against statsmodels, its rankings, its files, and what it refuses."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formula_texts import EQUATION_3 as U
from scipy.optimize import nnls

import perfcore
from perfcore.base.errors import PerfError


@pytest.fixture
def runs():
    """Two codes on two systems over different processors; one pair has two points only."""
    rng = np.random.default_rng(0)
    points = {("BT", "SP2"): (4, 9, 16, 25, 36), ("LU", "SP2"): (2, 4, 8, 16, 32, 64), ("BT", "T3D"): (4, 16),
              ("LU", "T3D"): (8, 16, 32, 64, 128)}  # fmt: skip
    rows = [
        (code, system, p, (900 / p + 30 / np.sqrt(p)) * (1 + 0.05 * rng.standard_normal()))
        for (code, system), processors in points.items()
        for p in processors
    ]
    return pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])


@pytest.fixture
def one(runs):
    """The longest series alone."""
    return runs[(runs["code"] == "LU") & (runs["system"] == "SP2")]


def by_hand(data, functions, weights=None):
    """One pair in the scale t * p by statsmodels."""
    p, time = data["p"].to_numpy(float), data["time_s"].to_numpy()
    design = np.column_stack([p * U[name](p) for name in functions])
    # 1/p is constant in this scale, and statsmodels would count it apart and give the centered R^2.
    if weights is None:
        return sm.OLS(time * p, design, hasconst=False).fit()
    return sm.WLS(time * p, design, weights=weights(time * p), hasconst=False).fit()


def pair_of(model, code, system):
    return next(pair for pair in model.pairs if (pair.code, pair.system) == (code, system))


@pytest.mark.parametrize("functions", [("1/p", "1/sqrt(p)"), ("log(p)/p",), ("1/p^2", "1", "p")])
def test_each_pair_is_the_fit_of_an_independent_program(runs, functions):
    model = perfcore.fit(runs, fitter="individual", functions=functions, sign="any")
    for (code, system), data in runs.groupby(["code", "system"]):
        pair = pair_of(model, code, system)
        assert pair.n_observations == len(data)
        if len(data) < len(functions):
            assert pair.note == "too few points"
            assert pair.standard_errors == (None,) * len(functions)
            continue
        line = by_hand(data, functions)
        assert pair.coefficients == pytest.approx(line.params, rel=1e-9)
        assert pair.total_squares == pytest.approx(line.uncentered_tss)
        if len(data) == len(functions):
            assert pair.sum_of_squares == pytest.approx(0, abs=1e-12 * line.uncentered_tss)
            assert pair.standard_errors == (None,) * len(functions)
            assert pair.note.startswith("as many functions as points")
            continue
        assert pair.sum_of_squares == pytest.approx(line.ssr, rel=1e-9)
        assert pair.standard_errors == pytest.approx(line.bse, rel=1e-9)
        assert 1 - pair.sum_of_squares / pair.total_squares == pytest.approx(line.rsquared, rel=1e-9)


@pytest.mark.parametrize("weights", ["equal", "relative"])
def test_predictions_of_an_independent_program(one, weights):
    model = perfcore.fit(one, fitter="individual", functions="1/p,1/sqrt(p)", weights=weights)
    line = by_hand(one, ("1/p", "1/sqrt(p)"), None if weights == "equal" else lambda scaled: scaled**-2.0)
    p = np.array([2.0, 7.0, 256.0])
    expected = np.column_stack([np.ones(3), np.sqrt(p)]) @ line.params / p
    assert model.predict(p) == pytest.approx(expected, rel=1e-9)
    value, lower, upper = model.predict_array(p, interval=0.9).T
    assert value == pytest.approx(expected, rel=1e-9)
    assert (lower > 0.0).all()
    assert (lower < value).all()
    assert (value < upper).all()


def test_figures_of_all_pairs_together(runs):
    runs = runs[(runs["code"] == "LU") | (runs["system"] == "SP2")]
    model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    lines = [by_hand(data, ("1/p", "1")) for _, data in runs.groupby(["code", "system"])]
    figures = model.statistics
    squares, total = sum(line.ssr for line in lines), sum(line.uncentered_tss for line in lines)
    press = sum(((line.resid / (1 - line.get_influence().hat_matrix_diag)) ** 2).sum() for line in lines)
    assert (figures["n_observations"], figures["n_pairs"], figures["n_parameters"]) == (16, 3, 6)
    assert figures["sse"] == pytest.approx(squares)
    assert figures["sst_uncentered"] == pytest.approx(total)
    assert figures["r2_uncentered"] == pytest.approx(1 - squares / total)
    about_means = sum((line.model.endog.var() * line.nobs) for line in lines)
    assert figures["r2_centered"] == pytest.approx(1 - squares / about_means)
    assert figures["loo_rmse"] == pytest.approx(np.sqrt(press / 16))
    relative = np.concatenate([np.abs(line.resid) / line.model.endog for line in lines])
    assert figures["mean_relative_error"] == pytest.approx(relative.mean())
    assert figures["max_relative_error"] == pytest.approx(relative.max())


@pytest.mark.parametrize("criterion", ["loo", "aicc", "bic", "sse"])
def test_the_best_of_all_models_of_a_series(one, criterion):
    """Every subset of one to three of the seven functions by statsmodels, in the order of the criterion."""

    def judge(line):
        n, count = line.nobs, len(line.params) + 1  # and the variance
        if criterion == "sse":
            return line.ssr
        if criterion == "loo":
            return ((line.resid / (1 - line.get_influence().hat_matrix_diag)) ** 2).sum()
        if criterion == "bic":
            return -2 * line.llf + count * np.log(n)
        return -2 * line.llf + 2 * count * n / (n - count - 1)

    sets = (frozenset(names) for size in (1, 2, 3) for names in itertools.combinations(U, size))
    lines = {names: judge(by_hand(one, names)) for names in sets}
    ranking = perfcore.rank(one, fitter="individual", criterion=criterion, sign="any")
    found = [lines[frozenset(candidate.functions)] for candidate in ranking.candidates]
    assert len(found) == 63
    assert found == pytest.approx(sorted(lines.values()), rel=1e-6)
    model = perfcore.fit(one, fitter="individual", criterion=criterion, sign="any")
    assert lines[frozenset(model.pairs[0].functions)] == pytest.approx(min(lines.values()), rel=1e-6)


def test_the_same_functions_for_all_pairs_or_each_its_own(runs):
    each = perfcore.fit(runs, fitter="individual", functions="each", terms=2, sign="any")
    same = perfcore.fit(runs, fitter="individual", functions="all", terms=2, sign="any")
    ranking = perfcore.rank(runs, fitter="individual", terms=2, sign="any")
    assert len({pair.functions for pair in same.pairs}) == 1
    assert ranking.candidates[0].functions == ("best of each pair",)
    assert ranking.candidates[1].functions == same.pairs[0].functions
    assert same.statistics["sse"] == pytest.approx(ranking.candidates[1].figures["sse"], rel=1e-9)
    enough = {(p.code, p.system): p for p in each.pairs if p.n_observations > 2}
    for pair in same.pairs:
        if (pair.code, pair.system) in enough:
            assert enough[pair.code, pair.system].leave_one_out <= pair.leave_one_out
    assert each.ranking == same.ranking == ranking.candidates


@pytest.mark.parametrize("criterion", ["loo", "aicc", "bic", "sse"])
def test_exact_times_find_their_function(criterion):
    """Errors of nothing at all are better than any, not worse."""
    exact = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [16, 8, 4, 2, 1]})
    ranking = perfcore.rank(exact, fitter="individual", terms=1, criterion=criterion)
    assert ranking.candidates[0].functions == ("1/p",)
    assert perfcore.fit(exact, fitter="individual", terms=1, criterion=criterion).pairs[0].functions == ("1/p",)


@pytest.mark.parametrize("criterion", ["loo", "aicc", "bic", "sse"])
def test_models_with_negative_coefficients_come_last_and_are_not_chosen(one, criterion):
    """Each part of the ranking is in the order of the criterion, whose values are those of `sign="any"`."""
    by_criterion = perfcore.rank(one, fitter="individual", criterion=criterion, sign="any").candidates
    ranking = perfcore.rank(one, fitter="individual", criterion=criterion)
    negative = ["negative" in candidate.note for candidate in by_criterion]
    assert any(negative)
    assert negative != sorted(negative)  # some would be before others
    assert list(ranking.candidates) == sorted(by_criterion, key=lambda candidate: "negative" in candidate.note)
    assert any("those with negative coefficients last" in line for line in ranking.report().lines)
    model = perfcore.fit(one, fitter="individual", criterion=criterion)
    assert model.pairs[0].functions == ranking.candidates[0].functions
    assert min(model.pairs[0].coefficients) >= 0


def test_a_model_for_several_pairs_is_ranked_as_it_is_fitted(runs):
    """With functions held at 0 in the pairs that would need them below: no pair discredits a model for the others."""
    best = perfcore.rank(runs, fitter="individual", terms=2).candidates[1]
    model = perfcore.fit(runs, fitter="individual", functions=best.functions)
    assert model.statistics["sse"] == pytest.approx(best.figures["sse"], rel=1e-9)
    same = perfcore.fit(runs, fitter="individual", functions="all", terms=2)
    assert same.statistics["sse"] == pytest.approx(model.statistics["sse"], rel=1e-9)
    assert ("held at 0" in best.note) == (sum("held at 0" in pair.note for pair in model.pairs) > 0)


def test_few_degrees_of_freedom_are_a_warning_and_have_no_bounds():
    """Student's t with one degree of freedom has bounds, but of a spread that one number tells."""
    rows = [("many", p) for p in (1, 2, 4, 8)] + [("three", p) for p in (1, 2, 4)] + [("two", p) for p in (1, 2)]
    runs = pd.DataFrame(rows, columns=["code", "p"])
    runs["time_s"] = 16 / runs["p"] + 1 + 0.01 * np.cos(np.arange(9.0))
    model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    warning = "warning: 2 of 3 pairs have fewer than 2 degrees of freedom"
    assert any(line.startswith(warning.replace("warning", "Uncertain")) for line in model.report().closing())
    assert any(line.startswith(warning) for line in perfcore.rank(runs, fitter="individual", terms=2).report().lines)
    points = {"p": [2.0, 2.0, 16.0, 2.0], "code": ["many", "three", "three", "two"]}
    assert np.isfinite(model.predict_array(points, interval=0.95)).all(axis=1).tolist() == [True, False, False, False]
    one = "no bounds: 1 degree of freedom"
    assert model.remarks(points) == ["", one, f"extrapolated: p was 1 to 4; {one}", "no bounds: 0 degrees of freedom"]
    alone = perfcore.fit(runs[runs["code"] == "many"], fitter="individual", functions="1/p,1")
    assert not any(line.startswith("warning") for line in alone.report().lines)


def test_nonnegative_coefficients(runs):
    functions = ("1/p", "1", "p")
    model = perfcore.fit(runs, fitter="individual", functions=functions, sign="bounded")
    free = perfcore.fit(runs, fitter="individual", functions=functions, sign="any")
    assert any(c < 0 for pair in free.pairs for c in pair.coefficients)
    for (code, system), data in runs.groupby(["code", "system"]):
        p = data["p"].to_numpy(float)
        design = np.column_stack([p * U[name](p) for name in functions])
        coefficients, norm = nnls(design, (data["time_s"] * p).to_numpy())
        pair = pair_of(model, code, system)
        found = dict(zip(pair.functions, pair.coefficients, strict=True))
        assert [found.get(name, 0.0) for name in functions] == pytest.approx(coefficients, rel=1e-8)
        assert pair.sum_of_squares == pytest.approx(norm**2, rel=1e-6, abs=1e-9)


def test_prediction_intervals_cover_a_new_run():
    """A hundred independent series with the law that is fitted: 95 % bounds hold it, and are not huge."""
    rng = np.random.default_rng(7)
    p = np.array([2.0, 4.0, 8.0, 16.0, 32.0])
    series = [f"{number}" for number in range(100)]
    law = 40 + 3 * np.sqrt(p)
    data = pd.DataFrame({
        "code": np.repeat(series, 5), "p": np.tile(p, 100),
        "time_s": ((law + rng.standard_normal((100, 5))) / p).ravel(),
    })  # fmt: skip
    model = perfcore.fit(data, fitter="individual", functions="1/p,1/sqrt(p)")
    for at, widest in ((2.0, 0.3), (12.0, 0.3), (128.0, 0.6)):
        run = (40 + 3 * np.sqrt(at) + rng.standard_normal(100)) / at
        value, lower, upper = model.predict_array({"p": at, "code": series}, interval=0.95).T
        assert ((lower <= run) & (run <= upper)).mean() >= 0.92
        assert np.median((upper - lower) / 2 / value) < widest
        assert value == pytest.approx(model.predict({"p": at, "code": series}))


AT = {"p": [3.0, 48.0], "code": "LU", "system": "SP2"}


# Operation counts weigh the codes against each other if one model is chosen for all of them.
@pytest.mark.parametrize("options", [{}, {"weights": "relative"}, {"functions": "1/p,1"}])
def test_predictions_do_not_depend_on_the_scale_of_the_fit(runs, options):
    expected = perfcore.fit(runs, fitter="individual", **options).predict_array(AT, interval=0.9)
    scale = {"operations": {"BT": 168.284e9, "LU": 119.297}, "peak": {"SP2": 266e6, "T3D": 150}}
    found = perfcore.fit(runs, fitter="individual", **options, **scale).predict_array(AT, interval=0.9)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("criterion", ["loo", "sse"])
def test_which_of_several_exact_fits_is_chosen_does_not_depend_on_rounding(criterion):
    """Two points are met by every two functions, with errors of rounding alone."""
    data = pd.DataFrame({"p": [4, 16], "time_s": [3.3, 1.17]})
    scaled = (data.assign(time_s=factor * data["time_s"]) for factor in (1, 1e3, 7, 1 / 3, 1e-3))
    fits = (perfcore.fit(table, fitter="individual", terms=2, criterion=criterion) for table in scaled)
    chosen = {model.pairs[0].functions for model in fits}
    assert len(chosen) == 1


def test_weights_of_repeated_runs_are_those_of_single_ones(one):
    """The mean of k runs with weight k has the coefficients of the k runs."""
    rng = np.random.default_rng(1)
    repeated = pd.concat([one.iloc[:3]] * 3 + [one.iloc[3:]])
    repeated["time_s"] *= 1 + 0.05 * rng.standard_normal(len(repeated))
    line = by_hand(repeated, ("1/p", "1"))
    options = {"aggregate": "mean", "weights": "repetitions", "duplicates": "keep"}
    model = perfcore.fit(repeated, fitter="individual", functions="1/p,1", **options)
    assert model.pairs[0].coefficients == pytest.approx(line.params, rel=1e-9)


def test_several_parameters_and_formulas():
    """Matrix work n^3/p with surfaces n^2/sqrt(p): exact times give their coefficients."""
    rows = [(n, p, 2e-9 * n**3 / p + 3e-8 * n**2 / np.sqrt(p)) for n in (500, 1000, 2000) for p in (4, 16, 64)]
    data = pd.DataFrame(rows, columns=["n", "p", "time_s"])
    model = perfcore.fit(data, fitter="individual", parameter="p,n", functions="n^3/p,n^2/sqrt(p)")
    assert model.pairs[0].coefficients == pytest.approx((2e-9, 3e-8), rel=1e-9)
    assert model.variables == {"p": "p", "n": "n"}
    assert model.predict({"n": 4000, "p": 256}) == pytest.approx([2e-9 * 4000**3 / 256 + 3e-8 * 4000**2 / 16])
    model = perfcore.fit(data, fitter="individual", parameter="p,n", function="n^3/p,n^2/sqrt(p)", terms=2)
    assert set(model.pairs[0].functions) == {"n^3/p", "n^2/sqrt(p)"}
    assert model.remarks({"n": [1000, 4000], "p": 16}) == ["", "extrapolated: n was 500 to 2000"]


@pytest.mark.parametrize("fitter", ["individual", "strohmaier"])
def test_a_parameter_that_no_function_has_is_no_error_of_the_fit(fitter):
    """A time of size^2 / ranks: over ranks alone it would be off by a factor of 16."""
    rows = [
        (code, system, ranks, size, speed * weight * size**2 / ranks)
        for code, weight in (("a", 1.0), ("b", 3.0))
        for system, speed in (("x", 1.0), ("y", 0.6))
        for size in (100, 200, 400)
        for ranks in (1, 2, 4, 8)
    ]
    data = pd.DataFrame(rows, columns=["code", "system", "ranks", "size", "time_s"])
    with pytest.raises(PerfError, match=r"size was varied, 100 to 400, and no function has it; .* where='size=400'"):
        perfcore.fit(data, fitter=fitter, parameter="ranks,size")
    model = perfcore.fit(data, fitter=fitter, parameter="ranks,size", functions="size^2/ranks")
    assert model.statistics["max_relative_error"] < 1e-6
    model = perfcore.fit(data, fitter=fitter, parameter="ranks,size", function="size^2/ranks", terms="1")
    assert model.statistics["max_relative_error"] < 1e-6
