"""The next points: variances against fresh inverses and refits, a known optimal design, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_experiments import Run, Store, make_design, needed_replications, next_points
from perfcore.base.errors import UnknownNameError


def fitted(table, **options):
    return perfcore.fit(perfcore.Measurements(pd.DataFrame(table)), **options)


P = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
NOISE = np.array([1.02, 0.99, 1.03, 0.97, 1.01])
ONE_CODE = {"p": P, "time_s": (8.0 / P + 0.5 + 0.05 * P) * NOISE}


def test_the_extrapolation_design_of_a_straight_line():
    """P. G. Hoel, A. Levine, Ann. Math. Stat. 35 (1964): runs at -1 and 1 are as (z - 1) to (z + 1), for a target z."""
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
        "code": [c for c, *_ in grid], "system": [s for _, s, _ in grid], "p": [p for *_, p in grid],
        "time_s": [(w[c] * v[s] / p + 0.3) * (1 + 0.02 * rng.normal()) for c, s, p in grid],
    }  # fmt: skip
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
        bounds = model.predict_array({name: [level] for name, level in {"p": p, **fixed}.items()}, interval=0.95)[0]
        assert advice.value == pytest.approx(bounds[0])
        assert bounds[2] - bounds[0] > 2.0 * 1.96 * np.hypot(advice.error, advice.noise)
        assert 0.0 < advice.choices[0].error < advice.error
        assert advice.choices[0].cost_s > 0.0


# Costs: a power law is found from few runs, a model is asked, and the dearest points go first.
LEVELS = {"p": [1, 2, 4], "D": [10, 20, 40]}
POINTS = make_design(LEVELS).chosen()


def run(point, replication, value=None, seconds=1.0):
    return Run(
        point=point, replication=replication, problem=None, started="", command=(), wall_ns=round(seconds * 1e9),
        user_s=0.0, system_s=0.0, peak_memory_kib=0, exit_status=0, signal=None, busy_before=None, noisy=False,
        values={} if value is None else {"t": value},
    )  # fmt: skip


@pytest.fixture
def stored(tmp_path):
    """A store of runs: point and seconds of each."""

    def keep(measured):
        with Store.hold(tmp_path / "runs.db") as store:
            for number, (point, seconds) in enumerate(measured, 1):
                store.add(run(point, number, seconds=seconds))
        return tmp_path / "runs.db"

    return keep


def law(point):
    return 0.5 * point["D"] ** 3 / point["p"]


def seconds_of(point, **told_by):
    return perfcore.design({name: [level] for name, level in point.items()}, replications=1, **told_by).total_s


def test_a_power_law_is_found_from_three_runs(stored):
    store = stored([(point, law(point)) for point in (POINTS[0], POINTS[1], POINTS[3])])
    assert [seconds_of(point, runs=store) for point in POINTS] == pytest.approx([law(point) for point in POINTS])


def test_noise_is_not_taken_for_an_effect(stored):
    """Start-up takes a tenth of a second everywhere; extrapolated, a slope of noise would span orders of magnitude."""
    rng = np.random.default_rng(11)
    store = stored([(point, 0.1 * (1 + 0.05 * rng.normal())) for point in POINTS for _ in range(2)])
    for point in make_design({"p": [1, 4096], "D": [1, 10**6]}).chosen():
        assert seconds_of(point, runs=store) == pytest.approx(0.1, rel=0.1)


def of_time(seconds):
    """A model of so many seconds over p."""
    table = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": seconds / np.array([1, 2, 4, 8])})
    return perfcore.fit(perfcore.Measurements(table), fitter="individual", functions="1/p")


def test_a_model_is_asked():
    model = of_time(8.0)
    assert [seconds_of({"p": p, "D": 5}, model=model) for p in (1, 2, 16)] == pytest.approx([8.0, 4.0, 0.5])
    with pytest.raises(UnknownNameError, match="which is a variable of the model 'p'"):
        seconds_of({"D": 5}, model=model)


def test_a_budget_leaves_out_the_dearest_first(stored):
    store, costs = stored([(point, law(point)) for point in POINTS]), sum(law(point) for point in POINTS)
    everything = perfcore.design(LEVELS, runs=store)
    assert everything.total_s == pytest.approx(2 * costs)
    assert everything.too_dear_s == {}
    # Without the two dearest, 32,000 and 16,000 s, twice: 2*(63,875 - 48,000).
    found = perfcore.design(LEVELS, runs=store, budget=2 * (costs - 48_000.0) + 1.0)
    assert found.too_dear_s == {"p=1 D=40": 32_000.0, "p=2 D=40": 16_000.0}
    assert found.total_s == pytest.approx(2 * (costs - 48_000.0))
    assert len(found.chosen()) == 7


@pytest.mark.parametrize(("seconds", "text"), [(0.001, "0.001 s"), (59, "59 s"), (60, "1 min"), (172800, "2 d")])
def test_durations(seconds, text):
    plan = perfcore.design({"p": [1]}, model=of_time(float(seconds)), replications=1)
    assert plan.report().details == [f"about {text} in total"]


# How many replications a precision needs: a textbook's example, a simulation, and the paper's step from two runs.
def test_the_example_of_jain():
    """R. Jain (1991), example 13.10: mean 20 s, standard deviation 5 s, known to 5 % with 95 %: 97 runs."""
    (found,) = needed_replications([run({"n": 1}, k, 20 + 5 * (-1) ** k) for k in range(10_000)], 0.05, 1000)
    assert found.needed == 97


def test_two_runs_of_many_points_tell_how_many_more():
    rng = np.random.default_rng(3)
    runs = [run({"n": n}, k, n * (1 + 0.03 * rng.normal())) for n in range(1, 41) for k in (1, 2)]
    found = needed_replications(runs, 0.05)
    # (2.57 * 0.03 / 0.05)^2 = 2.4 with the five degrees of freedom that a point then has.
    assert 2 <= np.median([each.needed for each in found]) <= 4
    assert all(each.replications == 2 for each in found)
    # By themselves two runs would need (12.7 * 0.03 / 0.05)^2 = 58.
    assert max(each.needed for each in found) < 15


def test_what_was_asked_for_is_reached():
    rng = np.random.default_rng(5)
    first = [run({"n": n}, k, 1 + 0.05 * rng.normal()) for n in range(20) for k in (1, 2)]
    means = [
        np.mean([1 + 0.05 * rng.normal() for _ in range(each.needed)]) for each in needed_replications(first, 0.03)
    ]
    assert np.mean(np.abs(np.array(means) - 1) <= 0.03) >= 0.9
