"""The rule ``auto``: how many phases, of which degree, within the processors."""

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter

import perfcore
from perf_worley.cells import TOLERANCE, Cells, autoregressive, cells_of, first_order, residuals
from perf_worley.moment_tree import MomentTree
from perf_worley.phase_maker import likeliest
from perf_worley.segmenters import bounded_models, leaves_bounds
from perfcore import UtilizationCurve


def samples(values, **facts):
    return UtilizationCurve(np.arange(len(values) + 1.0), values, **facts)


def steps(levels, length, noise, seed, processors=16):
    rng = np.random.default_rng(seed)
    heights = np.repeat(np.asarray(levels, float), length) + rng.normal(0, noise, length * len(levels))
    return samples(np.clip(heights, 0, processors), n_locations=processors)


def cost_by_hand(values, degree, low, high):
    """Least squares by numpy, of the highest degree that stays within the bounds."""
    x = np.arange(len(values)) + 0.5
    for d in range(min(degree, len(values) - 1), -1, -1):
        coefficients = np.polynomial.polynomial.polyfit(x, values, d)
        inside = np.polynomial.polynomial.polyval(np.linspace(0, len(values), 401), coefficients)
        if d == 0 or (inside.min() >= low and inside.max() <= high):
            fitted = np.polynomial.polynomial.polyval(x, coefficients)
            return float(np.sum((values - fitted) ** 2))
    raise AssertionError


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_bounded_search_is_optimal(degree, seed):
    """Against every partition of a short series, each stretch fitted by itself."""
    rng, n_cells = np.random.default_rng(seed), 14
    values = np.clip(rng.choice([0.0, 2.0, 4.0], n_cells) + rng.normal(0, 0.4, n_cells), 0, 4)
    low, high = -TOLERANCE * 4, (1 + TOLERANCE) * 4
    costs = {
        (a, b): cost_by_hand(values[a:b], degree, low, high) for a, b in itertools.combinations(range(n_cells + 1), 2)
    }
    found = bounded_models(Cells(values, 1.0, low, high, 4.0), degree, 4)
    shortest = max(2, degree + 1)
    for n in range(1, len(found.squares) + 1):
        best = min(
            sum(costs[a, b] for a, b in itertools.pairwise((0, *inner, n_cells)))
            for inner in itertools.combinations(range(1, n_cells), n - 1)
            if all(b - a >= shortest for a, b in itertools.pairwise((0, *inner, n_cells)))
        )
        assert found.squares[n - 1] == pytest.approx(best, rel=1e-6, abs=1e-9)
        breaks = found.breaks[n - 1]
        assert (breaks[0], breaks[-1], len(breaks)) == (0, n_cells, n + 1)


def test_parabolas_leave_bounds_at_their_vertex():
    assert leaves_bounds(0.0, 4.0, -4.0, 1.0, 0.0, 0.99)
    assert not leaves_bounds(0.0, 4.0, -4.0, 1.0, 0.0, 1.01)


@pytest.mark.parametrize("n_steps", [700, 5000])
def test_cells_are_means_of_the_curve(n_steps, noisy):
    curve = noisy(n_steps)
    assert cells_of(MomentTree(curve), None).values == pytest.approx(curve.averaged(512)[1], rel=1e-9)


def test_residuals_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    values, breaks = rng.normal(size=90), np.array([0, 20, 61, 90])
    for degree in range(4):
        left = residuals(values, breaks, np.full(3, degree))
        for a, b in itertools.pairwise(breaks):
            x = np.arange(b - a)
            assert left[a:b] == pytest.approx(values[a:b] - np.polyval(np.polyfit(x, values[a:b], degree), x), abs=1e-9)


def test_long_run_variance_of_a_known_process():
    """Of an autoregression with correlation r and variance 1 it is (1 + r)/(1 - r)."""
    rng = np.random.default_rng(1)
    for correlation in (0.0, 0.5, 0.8):
        values = np.empty(50_000)
        values[0] = rng.normal()
        shocks = rng.normal(0, np.sqrt(1 - correlation**2), len(values))
        for i in range(1, len(values)):
            values[i] = correlation * values[i - 1] + shocks[i]
        true = (1 + correlation) / (1 - correlation)
        assert first_order(values, 1, 0, 1) == pytest.approx(true, rel=0.08)
        assert autoregressive(values, np.array([0, len(values)]), 0) == pytest.approx(true, rel=0.12)


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_one_phase(seed):
    model = perfcore.fit(samples(20 + np.random.default_rng(seed).normal(0, 1, 2000)), fitter="phases")
    assert len(model.phases) == 1
    assert model.rule == "auto"
    assert "not significant" in model.closing()[0]


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


def test_units_do_not_matter():
    """A run in other units of time and utilization has the same phases; powers of two round nothing."""
    curve = steps([2, 12, 5], 400, 2.0, 1)
    other = UtilizationCurve(curve.edges * 4, curve.heights * 8, n_locations=8 * 16)
    one, scaled = perfcore.fit(curve), perfcore.fit(other)
    assert [4 * at for at in one.breaks] == list(scaled.breaks)
    assert one.evidence.gain == pytest.approx(scaled.evidence.gain, rel=1e-9)


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
    assert "Uncertain: 4 is the largest number tried; extend with --phases 1..8" in model.closing()


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
@pytest.mark.parametrize(
    ("path", "least", "most"),
    [
        ("traces/paje/qr_trace.paje.worker_state.csv.gz", 2, 9),
        ("traces/paraver/qsort_beo3.prv", 2, 9),
        ("traces/paraver/imagemagick_omp4", 3, 3),
        ("traces/chrome/rank0.json.gz", 1, 9),
    ],
)
def test_recorded_runs_have_few_phases(real_data, path, least, most):
    path = real_data / path
    if path.is_dir():
        path = next(path.glob("*.prv*"))
    assert least <= len(perfcore.fit(path, fitter="phases").phases) <= most


@pytest.mark.parametrize("seed", range(2))
def test_single_cells_far_away_make_no_phases(seed):
    rng = np.random.default_rng(seed)
    heights = 80 + np.clip(rng.standard_t(2, 1500), -79, 500)
    model = perfcore.fit(UtilizationCurve(np.arange(1501.0), heights), fitter="phases")
    assert len(model.phases) == 1


def test_a_dead_second_in_the_middle_is_a_phase():
    """It lasts 2 % of the run: longer than what counts as an outlier."""
    heights = 20 + np.random.default_rng(1).normal(0, 1, 1000)
    heights[400:420] = 0.0
    model = perfcore.fit(UtilizationCurve(np.arange(1001.0), heights), fitter="phases")
    assert model.breaks == pytest.approx((400.0, 420.0), abs=1.0)


def test_an_outlier_takes_no_phase_away_from_the_levels():
    heights = np.repeat([20.0, 26.0, 22.0], 120) + np.random.default_rng(5).normal(0, 0.7, 360)
    heights[50] = 42.0
    model = perfcore.fit(UtilizationCurve(np.arange(361.0), heights), fitter="phases")
    assert model.breaks == pytest.approx((120.0, 240.0), abs=1.0)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (1, {}), (0, {"phases": 7, "degree": 2}), (1, {"phases": 5, "degree": 3}), (2, {"segmenter": "hill-climb"}),
    ],
)  # fmt: skip
def test_no_model_leaves_the_processors_by_anything(seed, options):
    rng = np.random.default_rng(seed)
    hill = 16 * (1 - np.linspace(-1, 1, 200) ** 2)
    shape = np.concatenate([np.linspace(0, 15.9, 200), hill, np.linspace(16, 0, 120)])
    curve = samples(np.clip(np.roll(shape, 20 * seed) + rng.normal(0, 0.6, len(shape)), 0, 16), n_locations=16)
    model = perfcore.fit(curve, **options)
    for phase in model.phases:
        length = phase.end - phase.start
        values = np.polynomial.polynomial.polyval(np.linspace(0.0, length, 2001), phase.coefficients)
        assert values.min() >= -1e-9
        assert values.max() <= 16 + 1e-9
        area = np.polynomial.Polynomial(phase.coefficients).integ()(length)
        first, last = round(phase.start), round(phase.end)
        if (first, last) == (phase.start, phase.end):
            assert area == pytest.approx(curve.heights[first:last].sum(), rel=1e-9)


def test_the_likelihood_of_a_level_that_wanders_is_that_of_its_covariance():
    rng = np.random.default_rng(1)
    left, counts = rng.normal(0, 2, 40), rng.random(40) > 0.2
    lags = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    by_hand = []
    for correlation, step in [(0.0, 0.0), (0.9, 0.5)]:
        covariance = (step / (1 - correlation**2) * correlation**lags + np.eye(40))[np.ix_(counts, counts)]
        squares = left[counts] @ np.linalg.solve(covariance, left[counts]) / counts.sum()
        by_hand.append(-0.5 * (counts.sum() * np.log(squares) + np.linalg.slogdet(covariance)[1]))
    assert likeliest(left, counts, np.array([0.9]), np.array([0.5])) == pytest.approx(max(by_hand), rel=1e-9)


@pytest.mark.parametrize("noise", ["walk", "slow and fast"])
def test_what_wanders_without_a_scale_has_no_phases(noise):
    """Before this was asked, half of such curves had several."""
    one = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        steps = 0.01 * rng.normal(size=400)
        level = np.cumsum(steps) if noise == "walk" else lfilter([1.0], [1.0, -0.95], steps)
        model = perfcore.fit(
            samples(0.5 + level + 0.03 * (noise != "walk") * rng.normal(size=400) + 1), fitter="phases"
        )
        one += len(model.phases) == 1
    assert one >= 5


@pytest.mark.parametrize("course", ["logistic", "decay"])
def test_a_level_that_changes_slowly_does_not_wander(course):
    at = np.linspace(0.0, 1.0, 3000)
    level = (
        2 + 10 / (1 + np.exp((0.5 - at) / 0.03))
        if course == "logistic"
        else 2 + 10 * np.exp(-12 * np.fmax(at - 0.4, 0))
    )
    model = perfcore.fit(samples(level + np.random.default_rng(3).normal(0, 0.5, 3000)), fitter="phases")
    assert len(model.phases) == 3


def test_a_step_in_noise_is_no_level_that_wanders():
    model = perfcore.fit(steps([4, 6, 5], 150, 0.8, 3), fitter="phases")
    assert len(model.phases) == 3
