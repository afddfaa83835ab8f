"""Costs: a power law is found from few runs, a model is asked, and the dearest points go first."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_experiments import make_design
from perf_experiments.costs import costs_by_model, costs_by_runs, duration_text, within_budget
from perfcore.base.errors import UnknownNameError

DESIGN = make_design({"p": [1, 2, 4], "D": [10, 20, 40]})
POINTS = DESIGN.chosen()


def law(point):
    return 0.5 * point["D"] ** 3 / point["p"]


def test_a_power_law_is_found_from_three_runs():
    measured = [(point, law(point)) for point in (POINTS[0], POINTS[1], POINTS[3])]
    np.testing.assert_allclose(costs_by_runs(measured, POINTS), [law(point) for point in POINTS], rtol=1e-9)


def test_noise_is_not_taken_for_an_effect():
    """Start-up takes a tenth of a second everywhere; extrapolated, a slope of noise would span orders of magnitude."""
    rng = np.random.default_rng(11)
    measured = [(point, 0.1 * (1 + 0.05 * rng.normal())) for point in POINTS for _ in range(2)]
    far = make_design({"p": [1, 4096], "D": [1, 10**6]}).chosen()
    np.testing.assert_allclose(costs_by_runs(measured, far), 0.1, rtol=0.1)


def fitted(values):
    table = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": values})
    return perfcore.fit(perfcore.Measurements(table), fitter="individual", functions="1/p")


def test_a_model_is_asked():
    points = make_design({"p": [1, 2, 16], "D": [5]}).chosen()
    np.testing.assert_allclose(costs_by_model(fitted([8.0, 4.0, 2.0, 1.0]), points), [8.0, 4.0, 0.5])
    with pytest.raises(UnknownNameError, match="which is a variable of the model 'p'"):
        costs_by_model(fitted([8.0, 4.0, 2.0, 1.0]), make_design({"D": [5]}).chosen())


def test_a_budget_leaves_out_the_dearest_first():
    costs = np.array([law(point) for point in POINTS])
    everything = within_budget(DESIGN, costs, None)
    assert everything.total_s == pytest.approx(2 * costs.sum())
    assert everything.too_dear_s == {}
    # Without the two dearest, 32,000 and 16,000 s, twice: 2*(63,875 - 48,000).
    found = within_budget(DESIGN, costs, 2 * (costs.sum() - 48_000.0) + 1.0)
    assert found.too_dear_s == {"p=1 D=40": 32_000.0, "p=2 D=40": 16_000.0}
    assert found.total_s == pytest.approx(2 * (costs.sum() - 48_000.0))
    assert len(found.chosen()) == 7


@pytest.mark.parametrize(("seconds", "text"), [(0.001, "0.001 s"), (59, "59 s"), (60, "1 min"), (172800, "2 d")])
def test_durations(seconds, text):
    assert duration_text(seconds) == text
