"""Measurements made ready for fitting: steps of the scale in their order, and weights."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_timing.options import ScalingOptions
from perf_timing.prepared import prepare
from perfcore.base.errors import OptionError
from perfcore.hooks.options import build

OPERATIONS = {"BT": 168.284, "LU": 119.297}
PEAK = {"SP2": 0.266, "T3D": 0.15}


@pytest.fixture
def runs():
    """Two codes on two systems, with two runs at each point of the first system and one at those of the second."""
    rng = np.random.default_rng(0)
    rows = [
        (code, system, p, rng.uniform(1, 2) / p)
        for code in OPERATIONS
        for system, repetitions in (("SP2", 2), ("T3D", 1))
        for p in (4, 16, 64)
        for _ in range(repetitions)
    ]
    return pd.DataFrame(rows, columns=["code", "system", "procs", "time_s"])


def prepared(data, **options):
    return prepare(data, build(ScalingOptions, options, "test"), "test")


def test_equation_4(runs):
    """t' = t p / W_c * r_peak, each step in its turn."""
    ready = prepared(runs, operations=OPERATIONS, peak=PEAK)
    assert ready.preparation.formula == "t' = t * p / operations * peak"
    seen = ready.seen
    for at in range(len(seen)):
        code, system = seen.codes[seen.code[at]], seen.systems[seen.system[at]]
        expected = seen.value[at] * seen.points["p"][at] / OPERATIONS[code] * PEAK[system]
        assert ready.target[at] == pytest.approx(expected, rel=1e-14)
    assert ready.by_point == pytest.approx(seen.points["p"])
    assert ready.target == pytest.approx(seen.value * ready.factor)
    assert (ready.root_weight == 1).all()


@pytest.mark.parametrize("column", ["bandwidth_MB_s", "rate_per_s", "gflops", "tokens/s"])
def test_a_rate_is_fitted_as_it_was_measured(runs, column):
    """t * p of a code that scales perfectly is constant; its rate times p grows like p^2 and says nothing."""
    runs[column] = 1.0 / runs.pop("time_s")
    ready = prepared(runs, value=column)
    assert ready.preparation.formula == "t' = t"
    assert (ready.factor == 1.0).all()
    assert prepared(runs, value=column, prepare="parameter").preparation.formula == "t' = t * p"  # as it was said


def test_the_unit_decides_what_a_rate_is_and_not_the_name(runs):
    runs = runs.rename(columns={"time_s": "result"})
    assert prepared(runs, value="result").preparation.formula == "t' = t * p"
    assert prepared(runs, value="result", unit="GB/s").preparation.formula == "t' = t"
    assert prepared(runs.assign(unit="items/sec"), value="result").preparation.formula == "t' = t"


def test_a_sum_of_works_over_speeds_is_no_model_of_a_rate(runs):
    """Times of the parts of a program add up to its time; their rates do not add up to its rate."""
    runs = runs.rename(columns={"time_s": "bandwidth_GB_s"})
    for call in (perfcore.fit, perfcore.rank):
        with pytest.raises(OptionError, match=r"is a rate \(GB/s\), and strohmaier adds up times") as caught:
            call(runs, fitter="strohmaier", value="bandwidth_GB_s")
        assert len(str(caught.value).splitlines()) == 1
    perfcore.fit(runs, fitter="strohmaier", value="bandwidth_GB_s", functions="1/p", prepare="none")


def test_a_law_of_a_rate_is_found_in_its_own_scale():
    """10 p of perfect scaling: one function, its coefficient, and a prediction in MB/s."""
    table = pd.DataFrame({"p": [1, 2, 4, 8, 16], "bandwidth_MB_s": [10.0, 20.0, 40.0, 80.0, 160.0]})
    model = perfcore.fit(table, fitter="individual", functions="p")
    assert model.unit == "MB/s"
    assert model.predict({"p": [32]}) == pytest.approx([320.0])


@pytest.mark.parametrize(
    ("steps", "formula"),
    [
        ("auto", "t' = t * p / operations * peak"),
        ("none", "t' = t"),
        ("parameter", "t' = t * p"),
        ("operations", "t' = t / operations"),
        ("peak", "t' = t * peak"),
        ("peak,parameter", "t' = t * p * peak"),
    ],
)
def test_steps_by_name(runs, steps, formula):
    ready = prepared(runs, operations=OPERATIONS, peak=PEAK, prepare=steps)
    assert ready.preparation.formula == formula
    back = ready.preparation.undo(
        ready.target, ready.seen.points, [ready.seen.codes[k] for k in ready.seen.code],
        [ready.seen.systems[k] for k in ready.seen.system],
    )  # fmt: skip
    assert back == pytest.approx(ready.seen.value, rel=1e-14)


def test_relative_weights_make_every_value_one(runs):
    ready = prepared(runs, weights="relative")
    assert ready.target * ready.root_weight == pytest.approx(np.ones(12))


def test_weights_by_number_of_runs(runs):
    weight = prepared(runs, weights="repetitions").root_weight ** 2
    count = prepared(runs).seen.repetitions
    assert weight.mean() == pytest.approx(1)
    assert weight / count == pytest.approx(np.full(12, 1 / 1.5))  # 18 runs of 12 points


def test_weights_by_the_spread_of_the_runs(runs):
    """Smyth's moderated variance of the relative errors: 4 shared degrees of freedom and the point's own."""
    ready = prepared(runs, weights="spread", aggregate="mean")
    seen = ready.seen
    expected = []
    shared = np.mean([_variance(runs, seen, at) for at in range(12) if seen.repetitions[at] == 2])
    for at in range(12):
        own = seen.repetitions[at] - 1
        moderated = (4 * shared + own * _variance(runs, seen, at)) / (4 + own) if own else shared
        expected.append(seen.repetitions[at] / (moderated * ready.target[at] ** 2))
    assert ready.root_weight**2 == pytest.approx(np.array(expected) / np.mean(expected), rel=1e-12)


def _variance(runs, seen, at):
    """Squared relative standard deviation of the runs of one point."""
    mine = (
        (runs["code"] == seen.codes[seen.code[at]])
        & (runs["system"] == seen.systems[seen.system[at]])
        & (runs["procs"] == seen.points["p"][at])
    )
    times = runs["time_s"][mine]
    return (times.std(ddof=1) / times.mean()) ** 2 if len(times) > 1 else 0.0


def test_a_spread_that_is_zero_by_chance_does_not_rule(runs):
    """Two runs that agree to the last digit weigh more than others, but not without bound."""
    equal = runs.copy()
    first = (equal["code"] == "BT") & (equal["system"] == "SP2") & (equal["procs"] == 4)
    equal.loc[first, "time_s"] = equal["time_s"][first].mean()
    equal.loc[equal.index[first][1], "procs"] = 4.0
    relative = prepared(equal, weights="spread", duplicates="keep")
    weight = relative.root_weight**2 * relative.target**2 / relative.seen.repetitions
    assert weight.max() <= weight[relative.seen.repetitions == 1][0] * 5 / 4 * (1 + 1e-12)


def test_selected_observations_keep_their_scale_and_weights(runs):
    ready = prepared(runs, weights="repetitions", operations=OPERATIONS, peak=PEAK)
    kept = ready.seen.system == 1
    part = ready.select(kept)
    assert part.seen.systems == (ready.seen.systems[1],)
    for name in ("factor", "by_point", "target", "root_weight"):
        assert getattr(part, name).tolist() == getattr(ready, name)[kept].tolist()
