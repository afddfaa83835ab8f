"""The fitters as users call them, on synthetic curves and on real traces."""

import itertools
import json

import numpy as np
import pytest
from scipy.signal import lfilter

import perfcore
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import DataError, ModelFileError, OptionError


@pytest.fixture(scope="module")
def ramp():
    rng = np.random.default_rng(0)
    heights = np.concatenate([np.linspace(0, 100, 500), np.full(500, 40.0)]) + rng.uniform(0, 2, 1000)
    return UtilizationCurve(1000.0 + np.arange(1001.0), heights)


def test_phases_carry_coefficients_of_powers_from_their_start(ramp):
    model = perfcore.fit(ramp, fitter="phases", phases=2, degree=1)
    first, second = model.phases
    assert (first.start, second.end) == (1000.0, 2000.0)
    assert first.end == second.start == pytest.approx(1500, abs=5)
    # The ramp rises by 0.2 a step from 1 (0 plus the mean of the noise); the level is 41.
    assert first.coefficients == pytest.approx((1.0, 0.2), abs=0.3)
    assert second.coefficients == pytest.approx((41.0, 0.0), abs=0.3)
    assert model.epsilon == max(phase.error for phase in model.phases)


@pytest.mark.parametrize(
    ("fitter", "degree"), [*itertools.product(("worley", "phases"), (0, 1, 2, 3)), ("worley", "mixed")]
)
def test_errors_are_those_of_the_predictions(ramp, fitter, degree):
    """Integrate (curve - prediction)^2 by a Gauss rule on each step, independently of the tree."""
    model = perfcore.fit(ramp, fitter=fitter, phases=4, degree=degree)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    for phase in model.phases:
        inside = ramp.edges[(ramp.edges > phase.start) & (ramp.edges < phase.end)]
        cuts = np.concatenate([[phase.start], inside, [phase.end]])
        middle, half = 0.5 * (cuts[1:] + cuts[:-1]), 0.5 * np.diff(cuts)
        at = middle[:, None] + half[:, None] * nodes
        gap = ramp.value_at(middle)[:, None] - model.predict(at.ravel()).reshape(at.shape)
        squared = float((gap**2 * weights * half[:, None]).sum())
        assert np.sqrt(squared) == pytest.approx(phase.error, rel=1e-8)
    assert model.sum_of_squares == pytest.approx(sum(phase.error**2 for phase in model.phases))


def test_r_squared_is_labelled_and_right():
    figures = perfcore.fit(UtilizationCurve([0, 1, 2, 4], [2, 4, 1]), phases=1, degree=0).statistics
    mean = (2 + 4 + 2) / 4
    sse = (2 - mean) ** 2 + (4 - mean) ** 2 + 2 * (1 - mean) ** 2
    assert figures["sum_of_squares"] == pytest.approx(sse)
    assert figures["r2_uncentered"] == pytest.approx(1 - sse / (4 + 16 + 2))
    assert figures["r2_centered"] == pytest.approx(0.0)


@pytest.mark.parametrize(("phases", "said"), [
    ("auto", "number of phases by rule 'penalty' from 1..3 (--phases N)"),
    ("1..9", "number of phases by rule 'penalty' from 1..3 (--phases N)"),
    ("9", "9 phases requested, but the curve has only 3 steps"),
    ("5..9", "5..9 phases requested, but the curve has only 3 steps"),
])  # fmt: skip
def test_no_more_phases_than_steps(phases, said):
    model = perfcore.fit(UtilizationCurve([0, 1, 2, 5], [1, 9, 4]), phases=phases, degree=0, rule="penalty")
    assert len(model.phases) == 3
    assert model.report().closing()[0] == f"Assumed: {said}"


def test_refinement_finds_the_break_and_lowers_the_sum(ramp):
    plain = perfcore.fit(ramp, phases=2, degree=0, fitter="worley")
    refined = perfcore.fit(ramp, phases=2, degree=0, fitter="worley", refine=True)
    exact = perfcore.fit(ramp, phases=2, degree=0, segmenter="least-squares")
    assert refined.sum_of_squares < plain.sum_of_squares
    assert refined.epsilon > plain.epsilon  # what refinement gives up
    assert refined.sum_of_squares == pytest.approx(exact.sum_of_squares)
    assert refined.statistics["objective"] == "sum of squared errors"
    assert plain.statistics["objective"] == "largest local L2 error"


@pytest.mark.parametrize("degree", [0, 2, "mixed"])
def test_noise_is_one_phase_to_worley(degree):
    """The knee of a curve that does not fall is anywhere."""
    heights = 20.0 + np.random.default_rng(3).normal(0.0, 2.0, 2000)
    model = perfcore.fit(UtilizationCurve(np.arange(2001.0), heights), fitter="worley", degree=degree)
    assert len(model.phases) == 1
    assert "by rule 'knee' from 1..20: more explain less than 5% of the rest" in model.report().closing()[0]


@pytest.mark.parametrize("degree", [0, 2, "mixed"])
def test_a_tolerance_needs_as_many_phases_as_it_takes(ramp, degree):
    """Algorithm K alone: no more phases than Algorithm M has for the same largest error, and none is above it."""
    model = perfcore.fit(ramp, fitter="worley", tolerance=40.0, degree=degree)
    assert model.epsilon <= 40.0 * (1 + 1e-9)
    assert model.report().closing() == ["Assumed: fewest phases for the tolerance 40"]
    count = len(model.phases)
    tolerances = [
        perfcore.fit(ramp, fitter="worley", phases=n, degree=degree).statistics["tolerance"] for n in (count - 1, count)
    ]
    assert tolerances[0] > 40.0 >= tolerances[1] * (1 - 1e-9)


def test_functions_take_the_place_of_polynomials(tmp_path):
    at = np.arange(1000.0) + 0.5
    heights = np.where(at < 500, 20 + 80 * np.exp(-at / 50.0), 30 + 40 * np.exp(-(at - 500) / 50.0))
    curve = UtilizationCurve(np.arange(1001.0), heights)
    model = perfcore.fit(curve, fitter="worley", phases=2, functions="exp", scale=50.0)
    assert model.breaks == pytest.approx([500.0], abs=1.0)
    assert model.phases[0].coefficients == pytest.approx((20.0, 80.0), rel=0.02)
    assert "exp(-((t - 0)/50))" in model.formula
    model.save(tmp_path / "model.json")
    assert perfcore.load(tmp_path / "model.json").predict(at) == pytest.approx(model.predict(at))


def test_bounds_of_predictions(ramp):
    model = perfcore.fit(ramp, phases=2, degree=1)
    times = np.array([1200.0, 1800.0, 99.0])
    value, lower, upper = model.predict_array(times, interval=0.95).T
    assert value[:2] == pytest.approx(model.predict(times)[:2])
    # 1.96 root mean squares on both sides; outside of the run nothing is known.
    spread = [phase.error / np.sqrt(phase.end - phase.start) for phase in model.phases]
    assert (upper - lower)[:2] == pytest.approx(2 * 1.959964 * np.array(spread), rel=1e-6)
    assert np.isnan([value[2], lower[2], upper[2]]).all()
    with pytest.raises(OptionError, match="above 0 and below 1"):
        model.predict_array(times, interval=1.5)


@pytest.mark.parametrize(("change", "message"), [
    ({"phases": []}, "a model has at least one phase"),
    ({"time_unit": "min"}, "time_unit 'min' is none of ns, us, ms, s"),
    ({"functions": ["sine"]}, "function 'sine' is not installed"),
])  # fmt: skip
def test_model_files_edited_by_hand(ramp, tmp_path, change, message):
    content = perfcore.fit(ramp, phases=2, degree=1).to_dict()
    content["model"] |= change
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        perfcore.load(path)


def test_nanoseconds_since_1970_keep_their_differences():
    start = 1_700_000_000_000_000_000
    edges = start + np.array([0, 7, 20, 1000], dtype=np.int64)
    model = perfcore.fit(UtilizationCurve(edges, [1, 9, 4], time_unit="ns"), phases=3, degree=0)
    assert [phase.coefficients[0] for phase in model.phases] == [1.0, 9.0, 4.0]
    assert model.sum_of_squares == 0.0


@pytest.mark.parametrize(("options", "message"), [
    ({"phases": 2.5}, r"expected a number \(9\), a range \(1..20\) or auto"),
    ({"fitter": "phases", "functions": "exp"}, "unknown option of phases 'functions'"),
    ({"fitter": "worley", "degree": "auto"}, "degree='auto': unknown value 'auto': choose from"),
    ({"fitter": "worley", "phases": 3, "tolerance": 5.0}, "tolerance= says how many phases there are"),
    ({"fitter": "worley", "tolerance": -1}, "must be greater than 0"),
    ({"busy": "run"}, "these data have no states"), ({"column": "cpu"}, "column= belongs to time series"),
])  # fmt: skip
def test_options_that_are_refused(ramp, options, message):
    """Others are in tests/cli/test_mistakes.py."""
    with pytest.raises(OptionError, match=message):
        perfcore.fit(ramp, **options)


@pytest.mark.parametrize("fitter", ["worley", "phases"])
def test_values_whose_squares_overflow_are_refused(fitter):
    with pytest.raises(DataError, match=r"values of 2e\+300 are above 1e\+100"):
        perfcore.fit(UtilizationCurve([0, 10, 20], [1e300, 2e300]), fitter=fitter)


def test_the_frame_has_a_row_for_each_phase_with_all_digits():
    """Means by hand: a step function is its heights, and a ramp's mean is its middle."""
    model = perfcore.fit(UtilizationCurve([1_000_000, 1_000_004, 1_000_010], [2, 8]), phases=2, degree=0)
    frame = model.to_frame()
    times = frame[["start_us", "end_us", "duration_us"]].to_numpy().tolist()
    assert times == [[1_000_000.0, 1_000_004.0, 4.0], [1_000_004.0, 1_000_010.0, 6.0]]
    assert frame["form"].tolist() == ["constant", "constant"]
    np.testing.assert_allclose(frame[["mean", "at_start", "at_end"]], [[2.0] * 3, [8.0] * 3], rtol=1e-12)
    assert len(repr(model).splitlines()) <= 10


@pytest.mark.parametrize("seed", range(3))
def test_refined_penalty_finds_the_true_number_on_independent_noise(seed):
    """Straight pieces with independent normal noise, for which the criterion is derived."""
    rng = np.random.default_rng(seed)
    n_steps, n_true = 4000, int(rng.integers(3, 9))
    cuts = np.sort(rng.choice(np.arange(1, 20), n_true - 1, replace=False)) * (n_steps // 20)
    pieces = np.split(np.arange(n_steps), cuts)
    heights = np.concatenate(
        # Neighbours are at least 20 apart at their break, five times the noise.
        [60 + 80 * (i % 2) + rng.uniform(-20, 20) * np.linspace(-1, 1, len(piece)) for i, piece in enumerate(pieces)]
    )
    curve = UtilizationCurve(np.arange(n_steps + 1.0), np.abs(heights + rng.normal(0, 4, n_steps)))
    model = perfcore.fit(curve, phases="1..14", degree=1, refine=True, rule="penalty")
    assert len(model.phases) == n_true
    assert model.breaks == pytest.approx(cuts, abs=0.01 * n_steps)


@pytest.mark.real_data
@pytest.mark.parametrize(("path", "changes", "utilization"), [
    ("traces/paje/qr_trace.paje.worker_state.csv.gz", 9678, 0.754),
    ("traces/paraver/qsort_beo3.prv", 111, 0.293), ("traces/picl/conceptual_pingpong.trf", 3, 0.625),
])  # fmt: skip
def test_real_traces(real_data, path, changes, utilization):
    """Figures of independent parsers, which count the changes of height, from and to nothing outside of the run."""
    trace = perfcore.read(real_data / path)
    curve = trace.utilization()
    assert np.count_nonzero(np.diff(np.concatenate([[0.0], curve.heights, [0.0]]))) == changes
    assert curve.mean / curve.n_locations == pytest.approx(utilization, abs=5e-4)
    model = perfcore.fit(trace, fitter="phases", phases=3)
    assert 1 <= len(model.phases) <= 3
    assert model.statistics["r2_uncentered"] > 0.3


# Standard errors and intervals of breaks, by coverage over seeds and against closed forms.
def dependent(seed, correlation, levels=(8.0, 4.0), n=512):
    """Levels with autoregressive noise of variance 1."""
    rng = np.random.default_rng(seed)
    first, shocks = rng.normal(), rng.normal(0, np.sqrt(1 - correlation**2), n)
    noise = lfilter([1.0], [1.0, -correlation], [first, *shocks[1:]])
    heights = np.repeat(levels, n // len(levels)) + noise
    return UtilizationCurve(np.arange(n + 1.0), np.maximum(heights + 10, 0))


def test_errors_of_independent_noise_are_the_usual_ones():
    """Of a level s / sqrt(n), of a slope s sqrt(12 / n) / length."""
    rng = np.random.default_rng(0)
    curve = UtilizationCurve(np.arange(20_001.0), 50 + rng.normal(0, 3, 20_000))
    level = perfcore.fit(curve, phases=1, degree=0).phases[0]
    assert level.level_error == pytest.approx(3 / np.sqrt(20_000), rel=0.15)
    assert level.standard_errors == pytest.approx((level.level_error,))
    line = perfcore.fit(curve, phases=1, degree=1).phases[0]
    assert line.standard_errors[1] == pytest.approx(3 * np.sqrt(12 / 20_000) / 20_000, rel=0.15)


@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.slow), 0.8])
def test_coverage_with_dependent_noise(correlation):
    """95 % intervals of levels and of the break, over 16 runs; independent errors would hold half of them."""
    levels, breaks = [], []
    for seed in range(16):
        model = perfcore.fit(dependent(seed, correlation), phases=2, degree=0)
        for phase, true in zip(model.phases, (18.0, 14.0), strict=True):
            levels.append(abs(phase.coefficients[0] - true) <= 1.96 * phase.level_error)
        low, high = model.phases[1].break_interval
        breaks.append(low <= 256.0 <= high)
    assert 0.87 <= np.mean(levels) <= 0.99
    assert np.mean(breaks) >= 0.9


def test_intervals_hold_the_break_and_are_within_the_run():
    model = perfcore.fit(dependent(3, 0.5, (8.0, 2.0, 9.0, 4.0)))
    assert model.phases[0].break_interval is None
    for before, phase in zip(model.phases[:-1], model.phases[1:], strict=True):
        low, high = phase.break_interval
        assert before.start <= low <= phase.start <= high <= phase.end


def test_few_cells_have_no_errors():
    phase = perfcore.fit(UtilizationCurve([0, 1, 2], [3, 9]), phases=2, degree=0).phases[1]
    assert (phase.standard_errors, phase.level_error, phase.break_interval) == (None, None, None)


def test_predictions_say_what_their_bounds_are(tmp_path, capsys):
    model = perfcore.fit(dependent(3, 0.5), phases=2)
    assert "of the utilization at one time" in model.bounds_meaning
    assert perfcore.predict(model, at="t=5").meaning == ""
    found = perfcore.predict(model, at="t=5", interval=0.95)
    assert found.meaning == model.bounds_meaning
    assert found.to_dict()["bounds"].startswith("prediction interval of the utilization")
    assert "bounds" not in perfcore.predict(model, at="t=5").to_dict()


# Phases that begin and end where markers do: whole nanoseconds, means that are exact, and what cannot be.
MARKS = [("forward", 100, 340), ("backward", 340, 700), ("forward", 800, 1_050), ("backward", 1_050, 1_400)]


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_phases_are_those_of_the_markers(unit):
    rng = np.random.default_rng(0)
    bounds = np.sort(rng.integers(0, 1_500, (4, 100)), axis=1).reshape(-1, 2)
    trace = Trace(np.repeat(np.arange(4), 50), rng.integers(0, 2, 200), *bounds.T, list("abcd"), ["run", "MPI_Wait"],
                  span_ns=(0, 1_500), markers=MARKS, time_unit=unit)  # fmt: skip
    model = perfcore.fit(trace, fitter="phases", phases_from=["forward", "backward"])
    assert [phase.marker for phase in model.phases] == [
        "outside", "forward", "backward", "outside", "forward", "backward", "outside",
    ]  # fmt: skip
    edges = [0, 100, 340, 700, 800, 1_050, 1_400, 1_500]
    scale = {"ns": 1, "us": 1000}[unit]
    assert [round(scale * at) for at in (model.start, *model.breaks, model.end)] == edges
    busy = trace.state == 0
    for phase, start, end in zip(model.phases, edges[:-1], edges[1:], strict=True):
        inside = np.clip(trace.end_ns[busy], start, end) - np.clip(trace.start_ns[busy], start, end)
        assert phase.coefficients == pytest.approx((inside.sum() / (end - start),))
        assert phase.activity.computing_ns == inside.sum()
    assert model.to_frame()["marker"].tolist()[1:3] == ["forward", "backward"]
    assert "breakpoints: markers forward, backward" in model.report().lines[1]
    assert not [line for line in model.report().closing() if line.startswith("Assumed")]
    assert model.report().shown_tables[0][1][:2] == ["phase", "marker"]


@pytest.mark.parametrize(("marks", "edges", "labels"), [
    ([("a", 0, 100)], [0, 100], ["a"]), ([("a", -20, 50)], [0, 50, 100], ["a", "outside"]),
    ([("a", 10, 60), ("b", 50, 90)], [0, 10, 50, 90, 100], ["outside", "a", "b", "outside"]),
    ([("a", 10, 90), ("b", 20, 30)], [0, 10, 20, 30, 100], ["outside", "a", "b", "outside"]),
    ([("a", 10, 20), ("a", 20, 20), ("b", 20, 100)], [0, 10, 20, 100], ["outside", "a", "b"]),
])  # fmt: skip
def test_stretches_fill_the_run(marks, edges, labels):
    trace = Trace([0], [0], [0], [100], ["cpu"], ["run"], markers=marks, time_unit="ns")
    model = perfcore.fit(trace, fitter="phases", phases_from=sorted({name for name, _, _ in marks}))
    assert [*(phase.start for phase in model.phases), model.end] == edges
    assert [phase.marker for phase in model.phases] == labels
