"""Standard errors and intervals of breaks, by coverage over seeds and against closed forms."""

import numpy as np
import pytest

import perfcore
from perf_worley.moment_tree import MomentTree
from perf_worley.phase_errors import processor_cycle
from perfcore import UtilizationCurve


def dependent(seed, correlation, levels=(8.0, 4.0), n=512):
    """Levels with autoregressive noise of variance 1."""
    rng = np.random.default_rng(seed)
    noise = np.empty(n)
    noise[0] = rng.normal()
    shocks = rng.normal(0, np.sqrt(1 - correlation**2), n)
    for i in range(1, n):
        noise[i] = correlation * noise[i - 1] + shocks[i]
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


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_coverage_with_dependent_noise(correlation):
    """95 % intervals of levels and of the break, over 120 runs; independent errors would hold half of them."""
    levels, breaks = [], []
    for seed in range(120):
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


def test_a_processor_cycle():
    """Two processors that start work every 4 time units: 16 starts in 32."""
    edges = np.arange(33.0)
    curve = UtilizationCurve(edges, np.tile([1.0, 2.0, 1.0, 0.0], 8), n_locations=2)
    assert processor_cycle(MomentTree(curve), 2) == pytest.approx(4.0)
    assert processor_cycle(MomentTree(curve), None) == 0.0


def test_few_cells_have_no_errors():
    phase = perfcore.fit(UtilizationCurve([0, 1, 2], [3, 9]), phases=2, degree=0).phases[1]
    assert (phase.standard_errors, phase.level_error, phase.break_interval) == (None, None, None)


def test_predictions_say_what_their_bounds_are(tmp_path, capsys):
    model = perfcore.fit(dependent(3, 0.5), phases=2)
    assert "how far the curve strays" in model.bounds_meaning
    assert perfcore.predict(model, at="t=5").meaning == ""
    found = perfcore.predict(model, at="t=5", interval=0.95)
    assert found.meaning == model.bounds_meaning
    assert found.to_dict()["bounds"].startswith("how far the curve strays from the model")
    assert "bounds" not in perfcore.predict(model, at="t=5").to_dict()
