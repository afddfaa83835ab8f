"""The rule ``auto``: how many phases, of which degree, within the processors."""

import numpy as np
import pytest
from scipy.signal import lfilter

import perfcore
from perfcore import UtilizationCurve


def samples(values, **facts):
    return UtilizationCurve(np.arange(len(values) + 1.0), values, **facts)


def steps(levels, length, noise, seed, processors=16):
    rng = np.random.default_rng(seed)
    heights = np.repeat(np.asarray(levels, float), length) + rng.normal(0, noise, length * len(levels))
    return samples(np.clip(heights, 0, processors), n_locations=processors)


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_one_phase(seed):
    model = perfcore.fit(samples(20 + np.random.default_rng(seed).normal(0, 1, 2000)), fitter="phases")
    assert len(model.phases) == 1
    assert model.rule == "auto"
    assert "not significant" in model.report().closing()[0]


def test_clear_levels_are_counted_and_placed():
    levels = [2, 12, 5, 15, 3, 9]
    model = perfcore.fit(steps(levels, 300, 1.0, 0), fitter="phases")
    assert [phase.degree for phase in model.phases] == [0] * 6
    assert model.breaks == (300.0, 600.0, 900.0, 1200.0, 1500.0)
    assert [phase.coefficients[0] for phase in model.phases] == pytest.approx(levels, abs=0.3)
    assert model.evidence.gain > model.evidence.needed


def test_the_degree_is_chosen():
    at = np.linspace(0, 1, 2000)
    noise = np.random.default_rng(3).normal(0, 0.5, 2000)
    ramps = samples(np.clip(np.where(at < 0.5, 2 + 20 * at, 14 - 10 * at) + noise, 0, 16), n_locations=16)
    arc = samples(np.clip(14 - 12 * at**2 + noise, 0, 16), n_locations=16)
    assert perfcore.fit(ramps, fitter="phases").evidence.degree == 1
    model = perfcore.fit(arc, fitter="phases")
    assert (len(model.phases), model.evidence.degree) == (1, 2)


def test_backwards_is_the_same_run():
    curve = steps([2, 12, 5, 9], 400, 2.0, 2)
    back = UtilizationCurve(curve.edges, curve.heights[::-1], n_locations=16)
    one, other = perfcore.fit(curve), perfcore.fit(back)
    assert sorted(1600 - at for at in one.breaks) == sorted(other.breaks)


def test_no_phase_of_the_shipped_run_leaves_its_processors():
    """Between its ends either, in whatever unit of time."""
    model = perfcore.fit("examples/cholesky/cholesky_trace.csv.gz", degree=3)
    values = model.predict(np.linspace(model.start, model.end, 20_001))
    assert values.min() >= -1e-9
    assert values.max() <= 4 + 1e-9


def test_the_end_of_the_range_warns():
    model = perfcore.fit(steps([2, 12, 5, 15, 3, 9], 300, 1.0, 0), phases="1..4")
    assert len(model.phases) == 4
    assert "Uncertain: 4 is the largest number tried; extend with --phases 1..8" in model.report().closing()


def test_a_number_is_kept_and_the_degree_found():
    model = perfcore.fit(steps([2, 12, 5, 15, 3, 9], 300, 1.0, 0), phases=3)
    assert len(model.phases) == 3
    assert model.rule is None
    assert model.evidence.reason == ""


def test_the_shipped_run_has_four_phases():
    """Its breaks at degree 2 are those of the exact least sum of squares."""
    trace = perfcore.read("examples/cholesky/cholesky_trace.csv.gz")
    assert len(perfcore.fit(trace).phases) == 4
    model = perfcore.fit(trace, degree=2)
    exact = perfcore.fit(trace, degree=2, phases=4, segmenter="least-squares")
    assert [round(at) for at in model.breaks] == [335789, 2475804, 4451799]
    assert model.breaks == pytest.approx(exact.breaks)


@pytest.mark.real_data
@pytest.mark.parametrize(("path", "least", "most"), [
    ("traces/paje/qr_trace.paje.worker_state.csv.gz", 2, 9), ("traces/paraver/qsort_beo3.prv", 2, 9),
    ("traces/paraver/imagemagick_omp4", 3, 3), ("traces/chrome/rank0.json.gz", 1, 9),
])  # fmt: skip
def test_recorded_runs_have_few_phases(real_data, path, least, most):
    path = real_data / path
    if path.is_dir():
        path = next(path.glob("*.prv*"))
    assert least <= len(perfcore.fit(path, fitter="phases").phases) <= most


@pytest.mark.parametrize("seed", range(2))
def test_single_cells_far_away_make_no_phases(seed):
    heights = 80 + np.clip(np.random.default_rng(seed).standard_t(2, 1500), -79, 500)
    assert len(perfcore.fit(UtilizationCurve(np.arange(1501.0), heights), fitter="phases").phases) == 1


def test_a_dead_second_in_the_middle_is_a_phase():
    """It lasts 2 % of the run: longer than what counts as an outlier."""
    heights = 20 + np.random.default_rng(1).normal(0, 1, 1000)
    heights[400:420] = 0.0
    model = perfcore.fit(UtilizationCurve(np.arange(1001.0), heights), fitter="phases")
    assert model.breaks == pytest.approx((400.0, 420.0), abs=1.0)
    # An outlier takes no phase away from the levels.
    heights = np.repeat([20.0, 26.0, 22.0], 120) + np.random.default_rng(5).normal(0, 0.7, 360)
    heights[50] = 42.0
    model = perfcore.fit(UtilizationCurve(np.arange(361.0), heights), fitter="phases")
    assert model.breaks == pytest.approx((120.0, 240.0), abs=1.0)


@pytest.mark.parametrize(("seed", "options"), [
    (1, {}), (0, {"phases": 7, "degree": 2}), (1, {"phases": 5, "degree": 3}), (2, {"segmenter": "hill-climb"}),
])  # fmt: skip
def test_no_model_leaves_the_processors_by_anything(seed, options):
    rng = np.random.default_rng(seed)
    hill = 16 * (1 - np.linspace(-1, 1, 200) ** 2)
    shape = np.concatenate([np.linspace(0, 15.9, 200), hill, np.linspace(16, 0, 120)])
    curve = samples(np.clip(np.roll(shape, 20 * seed) + rng.normal(0, 0.6, len(shape)), 0, 16), n_locations=16)
    for phase in perfcore.fit(curve, **options).phases:
        length = phase.end - phase.start
        values = np.polynomial.polynomial.polyval(np.linspace(0.0, length, 2001), phase.coefficients)
        assert values.min() >= -1e-9
        assert values.max() <= 16 + 1e-9
        area = np.polynomial.Polynomial(phase.coefficients).integ()(length)
        first, last = round(phase.start), round(phase.end)
        if (first, last) == (phase.start, phase.end):
            assert area == pytest.approx(curve.heights[first:last].sum(), rel=1e-9)


@pytest.mark.parametrize("noise", ["walk", "slow and fast"])
def test_what_wanders_without_a_scale_has_no_phases(noise):
    """Before this was asked, half of such curves had several."""
    one = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        steps = 0.01 * rng.normal(size=400)
        level = np.cumsum(steps) if noise == "walk" else lfilter([1.0], [1.0, -0.95], steps)
        values = 0.5 + level + 0.03 * (noise != "walk") * rng.normal(size=400) + 1
        model = perfcore.fit(samples(values), fitter="phases")
        one += len(model.phases) == 1
    assert one >= 5


@pytest.mark.parametrize("course", ["logistic", "decay"])
def test_a_level_that_changes_slowly_does_not_wander(course):
    at = np.linspace(0.0, 1.0, 3000)
    logistic = 10 / (1 + np.exp((0.5 - at) / 0.03))
    level = 2 + (logistic if course == "logistic" else 10 * np.exp(-12 * np.fmax(at - 0.4, 0)))
    model = perfcore.fit(samples(level + np.random.default_rng(3).normal(0, 0.5, 3000)), fitter="phases")
    assert len(model.phases) == 3


def test_a_step_in_noise_is_no_level_that_wanders():
    assert len(perfcore.fit(steps([4, 6, 5], 150, 0.8, 3), fitter="phases").phases) == 3
