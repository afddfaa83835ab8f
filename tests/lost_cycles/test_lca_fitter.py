"""The fitter `lca` as users call it: choice, files, predictions with bounds, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_lost_cycles.default_models.sets import DefaultModel, write_models
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


def test_models_are_found_by_the_column_as_well_as_by_the_symbol(tmp_path):
    path = tmp_path / "mine.toml"
    write_models([DefaultModel("communication loss", "ranks", "a + b*log2(ranks)^2", "own")], path)
    parts = {"communication loss": lambda p: 1 + np.log2(p) ** 2}
    data = profile(parts=parts).rename(columns={"P": "ranks"})
    model = fitted(data, parameter="ranks", models=f"standard,{path}")
    assert model.formula == "communication loss = 1 + 1*log2(ranks)^2"
    assert model.tables()[0][2][0][2] == "a + b*log2(ranks)^2"


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
        _, lower, upper = model.predict(np.array([6.0]), interval=coverage)[0]
        hits.append(lower <= sum(run(np.array([6.0])))[0] <= upper)
    # The standard error of a share of 0.9 among 400 is 0.015; bounds also hold what these data don't have, a misfit.
    assert coverage - 0.03 < np.mean(hits)


def test_negative_times_are_taken_as_zero_and_said():
    """65 - 2 p is negative at 500, a constant is not: the total is the constant's."""
    data = profile(parts={"falling": lambda p: 65.0 - 2.0 * p, "b": lambda p: 7.0 + 0.0 * p}, levels=P[:-1])
    model, far = fitted(data, weights="equal"), np.array([500.0])
    value, lower, upper = model.predict(far, interval=0.9)[0]
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


def test_other_parameters_are_held_and_remembered():
    data = pd.concat([profile(size=n) for n in (100, 200)])
    model = fitted(data, parameter="P=P,n=size", where="size=200")
    assert (model.factor, model.held) == ("P", {"size": 200.0})
    over_size = fitted(data.assign(time_s=data["time_s"] * data["size"]), parameter="P=P,n=size", where="P=4")
    assert over_size.factor == "n"
    assert over_size.fits[0].model.formula == "a*x"


@pytest.mark.parametrize(
    ("data", "options", "problem"),
    [
        (profile([4]), {}, "factor 'P' has one level, P=4; .*measure at more levels"),
        (
            pd.concat([profile(n=1), profile(n=2)]),
            {"parameter": "P=P,n=n"},
            r"several parameters vary: P \(6 levels\), n \(2 levels\); .*--factor P, .* the others with --where n=1",
        ),
        (
            pd.concat([profile(n=1), profile(n=2)]),
            {"parameter": "P=P,n=n", "factor": "P"},
            "'n' varies beside 'P' .*--where n=1, or model both with --fitter modgen",
        ),
        (profile(), {"factor": "Q"}, r"factor 'Q' is none of the parameters \(P\); .*: --parameter P,Q"),
        (profile(), {"show": "comunication loss"}, "unknown category 'comunication loss': did you mean"),
        (profile(), {"models": "standrad"}, "unknown set of default models 'standrad'"),
        (profile().query("category != 'other' or P == 1"), {}, "'other' was measured at 1 level .*'category!=other'"),
        (profile().assign(time_s=-1.0), {}, "time_s is -1 .*a positive number or 0 is expected"),
        (profile().assign(time_s=0.0), {}, "all categories are 0 at P=1; .*--weights equal"),
        (profile().drop(columns="category"), {"duplicates": "keep"}, "--category COLUMN"),
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
