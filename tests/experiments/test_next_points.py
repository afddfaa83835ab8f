"""The next points: variances against fresh inverses and refits, a known optimal design, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_experiments import next_points
from perf_experiments.recommendation import PartialFit
from perfcore.base.errors import PerfError
from perfcore.models.design_rows import DesignRows


def fresh_variance(rows, target, errors):
    """V from inverses computed anew: sum over k, l of S_kl t_k' A_k X_k' X_l A_l t_l."""
    inverses = [np.linalg.inv(part.T @ part) for part in rows]
    moved = [part @ inverse @ wanted for part, inverse, wanted in zip(rows, inverses, target, strict=True)]
    return sum(
        errors[k, m] * moved[k] @ moved[m] for k in range(len(rows)) for m in range(len(rows))
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [(3,), (2, 4), (1, 2, 3)])
def test_variances_agree_with_fresh_inverses(sizes):
    rng = np.random.default_rng(len(sizes))
    measured = tuple(rng.normal(size=(9, size)) * 10.0 ** rng.integers(-3, 4, size) for size in sizes)
    asked = tuple(
        rng.normal(size=(6, size)) * np.linalg.norm(part, axis=0) for part, size in zip(measured, sizes, strict=True)
    )
    root = rng.normal(size=(len(sizes), len(sizes)))
    rows = DesignRows(measured, asked, root @ root.T, np.ones(6), {}, np.ones(9, int), None)
    fit = PartialFit.of(rows)
    assert fit.determined
    target = [part[0] for part in asked]
    np.testing.assert_allclose(fit.variance, fresh_variance(measured, target, rows.errors), rtol=1e-9)
    expected = [
        fresh_variance([np.vstack([x, new[c]]) for x, new in zip(measured, asked, strict=True)], target, rows.errors)
        for c in range(1, 6)
    ]
    np.testing.assert_allclose(fit.variances_with_one(), expected, rtol=1e-9)
    again = fit.with_one(3)
    np.testing.assert_allclose(again.variance, expected[3], rtol=1e-9)


def fitted(table, **options):
    return perfcore.fit(perfcore.Measurements(pd.DataFrame(table)), **options)


P = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
NOISE = np.array([1.02, 0.99, 1.03, 0.97, 1.01])
ONE_CODE = {"p": P, "time_s": (8.0 / P + 0.5 + 0.05 * P) * NOISE}


def test_the_extrapolation_design_of_a_straight_line():
    """P. G. Hoel, A. Levine, Ann. Math. Stat. 35 (1964): runs at -1 and at 1 are as (z - 1) to (z + 1), for a target z.

    The optimal variance follows from y(z) = ((1 + z) y(1) + (1 - z) y(-1)) / 2.
    """
    table = {"p": [1.0, 2.0, 3.0], "time_s": [1.0, 2.1, 2.9]}
    model = fitted(table, fitter="individual", functions="1,p", weights="equal", prepare="none")
    # The levels 1 to 3 are -1 to 1, and 5 is z = 3.
    advice = next_points(model, {"p": 5}, [{"p": 1}, {"p": 2}, {"p": 3}], 300)
    counts = {level: sum(choice.point["p"] == level for choice in advice.choices) for level in (1, 2, 3)}
    assert counts[2] <= 1
    assert counts[3] / 300 == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("weights", ["equal", "relative"])
def test_a_refit_with_the_chosen_point_has_the_expected_error(weights):
    options = {"fitter": "individual", "functions": "1/p,1,p", "weights": weights}
    model = fitted(ONE_CODE, **options)
    advice = next_points(model, {"p": 64}, [{"p": 4}, {"p": 32}])
    choice = advice.choices[0]
    assert choice.point == {"p": 32}
    # A new value that the model predicts exactly leaves the sum of squares as it is; one degree of freedom is added.
    grown = {"p": [*P, 32.0], "time_s": [*ONE_CODE["time_s"], float(model.predict([32.0])[0])]}
    refit = next_points(fitted(grown, **options), {"p": 64}, [{"p": 4}])
    assert refit.error**2 * 3 / 2 == pytest.approx(choice.error**2, rel=1e-9)
    assert choice.gain == pytest.approx(1 - choice.error**2 / advice.error**2)
    assert choice.cost_s == pytest.approx(float(model.predict([32.0])[0]))


def tables():
    rng = np.random.default_rng(7)
    grid = [(c, s, p) for c in ("cg", "lu") for s in ("a", "b") for p in P]
    w, v = {"cg": 3.0, "lu": 8.0}, {"a": 1.0, "b": 0.5}
    joint = {
        "code": [c for c, *_ in grid],
        "system": [s for _, s, _ in grid],
        "p": [p for *_, p in grid],
        "time_s": [(w[c] * v[s] / p + 0.3) * (1 + 0.02 * rng.normal()) for c, s, p in grid],
    }
    two = [(p, d) for p in (1, 2, 4, 8) for d in (10, 20, 40)]
    terms = {"compute": lambda p, d: 1e-3 * d**2 / p, "wait": lambda p, d: 0.01 * p, "send": lambda p, d: 0.02 * d}
    rows = [
        (p, d, name, law(p, d) * (1 + 0.02 * rng.normal())) for p, d in two for name, law in terms.items()
    ]  # fmt: skip
    categories = dict(zip(("p", "D", "category", "time_s"), zip(*rows, strict=True), strict=True))
    one = pd.DataFrame(categories)[lambda table: table["D"] == 20].drop(columns="D")
    return {
        "individual": (ONE_CODE, {"functions": "1/p,1"}, {}),
        "strohmaier": (joint, {"functions": "1/p,1"}, {"code": "cg", "system": "b"}),
        "lca": (one, {}, {}),
        "modgen": (categories, {"parameter": "p,D"}, {"D": 20}),
    }


@pytest.mark.parametrize("fitter", ["individual", "strohmaier", "lca", "modgen"])
def test_errors_are_within_the_prediction_bounds(fitter):
    """Bounds hold sqrt(error^2 + noise^2), which is what is open if the model is right, and how far it may not be."""
    table, options, fixed = tables()[fitter]
    model = fitted(table, fitter=fitter, **options)
    for p in (12.0, 24.0):
        advice = next_points(model, {"p": p, **fixed}, [{"p": 4, **fixed}])
        bounds = model.predict({name: [level] for name, level in {"p": p, **fixed}.items()}, interval=0.95)[0]
        assert advice.value == pytest.approx(bounds[0])
        assert bounds[2] - bounds[0] > 2.0 * 1.96 * np.hypot(advice.error, advice.noise)
        assert 0.0 < advice.choices[0].error < advice.error
        assert advice.choices[0].cost_s > 0.0


def test_the_measured_levels_are_the_candidates_and_runs_are_counted():
    repeated = {name: np.repeat(values, 2) for name, values in ONE_CODE.items()}
    repeated["time_s"] = repeated["time_s"] * np.tile([0.999, 1.001], 5)
    model = fitted(repeated, fitter="individual", functions="1/p,1")
    advice = next_points(model, {"p": 64}, points=2)
    assert {choice.point["p"] for choice in advice.choices} <= {1, 2, 4, 8, 16, 32}
    assert advice.choices[0].repetitions == 2
    assert advice.choices[0].in_all == 2  # none yet at twice the largest
    measured = next_points(model, {"p": 64}, points=1, largest={"p": 16})
    assert measured.choices[0].in_all == 4


def test_points_within_reach():
    model = fitted(ONE_CODE, fitter="individual", functions="1/p,1")

    def chosen(target, **limits):
        return {choice.point["p"] for choice in next_points(model, {"p": target}, points=6, **limits).choices}

    assert max(chosen(1024)) <= 32
    assert 32 not in chosen(32)  # whoever wants the target itself names it
    assert {c.point["p"] for c in next_points(model, {"p": 32}, [{"p": 32}], points=1).choices} == {32}
    assert max(chosen(1024, largest="p=256")) == 256
    assert max(chosen(1024, largest={"p": 8})) <= 8
    cheap = next_points(model, {"p": 1}, points=4, max_cost="3s")
    assert all(choice.cost_s <= 3.0 for choice in cheap.choices)
    for limits, message in (
        ({"largest": "p=0.5"}, "all that was measured lies above"),
        ({"largest": "p=-1"}, "positive"),
        ({"largest": "q=1"}, "unknown variable"),
        ({"max_cost": "1us"}, "no candidate takes so little"),
        ({"max_cost": "soon"}, "positive number"),
        ({"largest": "p=8", "candidates": [{"p": 4}]}, "leave it out"),
    ):
        with pytest.raises(PerfError, match=message):
            next_points(model, {"p": 64}, **limits)
