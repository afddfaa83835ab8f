"""The kernels of a comparison: draws and probabilities of ratios, against laws in closed form."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import perfcore
from perf_gate.comparison import (
    draws_of,
    growth_changes,
    probability_above,
    probability_beyond,
    ratio_bounds,
    sum_of_parts,
)
from perf_statistics.gating import is_confident
from perfcore.models.points import N_DRAWS, Drawn, GrowthDraws

PLACES = norm.ppf((np.arange(N_DRAWS) + 0.5) / N_DRAWS)


def grown(exponents, classes=((1.0, 0.0, 0.0),) * 2):
    """What a model says of the growth of one part over p and n: exponents with a deviation of 0.1."""
    draws = np.array(exponents)[None, :, None] + 0.1 * PLACES
    return GrowthDraws(("law",), ("constant", "linear", "square"), np.array([classes]), ("p", "n"), draws)


@pytest.mark.parametrize(("old", "new", "worse", "parameter"), [
    # By more than 0.05 with that probability; the surer of two may be wrong half as often.
    (grown([1.0, 0.5]), grown([1.3, 0.5]), 1 - 2 * norm.sf(0.25 / 0.1 / 2**0.5), "p"),
    (grown([1.0, 0.5]), grown([1.0, 0.9]), 1 - 2 * norm.sf(0.35 / 0.1 / 2**0.5), "n"),
    # Of nothing that is probable the parameter is the one over which a part grows most.
    (grown([1.0, 2.0]), grown([1.05, 2.0]), 0.0, "n"),
    # Classes: constant or linear as probably, then linear or square, is worse in three cases of four.
    (grown([0.0, 0.0], [(0.5, 0.5, 0.0)] * 2), grown([0.0, 0.0], [(0.0, 0.5, 0.5), (0.5, 0.5, 0.0)]), 0.5, "p"),
    (grown([0.0, 0.0]), grown([0.0, 0.0], [(0.01, 0.99, 0.0), (1.0, 0.0, 0.0)]), 0.98, "p"),
])  # fmt: skip
def test_growth_is_worse_by_exponents_or_classes(old, new, worse, parameter):
    found = growth_changes((old, new), np.array([[0], [0]]), {})[0]
    assert found.worse == pytest.approx(worse, abs=0.005)
    assert found.parameter == parameter
    assert found.classes[0] == "constant"


def test_draws_of_a_model_with_bounds_are_its_bounds():
    """The central 95 % of the draws are the interval of `predict`, and their median is the value."""
    rng = np.random.default_rng(3)
    points = list(itertools.product((2, 4, 8, 16), (10, 20, 40, 80)))
    rows = [(p, d, name, t) for p, d in points for name, t in (("work", 3.0 * d / p), ("start", 0.5 * p))]
    data = pd.DataFrame(rows, columns=["P", "D", "category", "time_s"])
    data["time_s"] *= rng.normal(1.0, 0.05, len(data))
    fitted = perfcore.fit(data, fitter="modgen", parameter="P,D")
    points = {"p": np.array([4.0, 16.0]), "D": np.array([20.0, 20.0])}
    assert fitted.part_draws(points) is None
    drawn = draws_of(fitted, points)
    assert drawn.names == ("work", "start")
    bounds = fitted.predict_array({**points, "category": np.array(["total", "total"])}, interval=0.95)
    np.testing.assert_allclose(drawn.total.values, bounds[:, 0])
    np.testing.assert_allclose(np.quantile(drawn.total.draws, [0.025, 0.975], axis=1).T, bounds[:, 1:], rtol=0.01)
    assert (np.diff(drawn.parts.draws, axis=2) >= 0.0).all()


def lognormal(median, spread):
    return median * np.exp(spread * PLACES)[None]


@pytest.mark.parametrize(("one", "other"), [(0.05, 0.05), (0.1, 0.3), (0.02, 0.0)])
def test_bounds_of_a_ratio_of_lognormals(one, other):
    """It is lognormal; its spread is the root of the sum of squares."""
    bounds = ratio_bounds(lognormal(2.0, one), lognormal(3.0, other))[0]
    spread = np.hypot(one, other)
    assert np.log(bounds / 1.5) / spread == pytest.approx([-1.96, 1.96], rel=0.04)


@pytest.mark.parametrize("factor", [1.0, 1.1, 1.5, 2.0])
def test_probability_that_a_ratio_is_above(factor):
    found = probability_above(lognormal(2.0, 0.1), lognormal(3.0, 0.2), factor)[0]
    assert found == pytest.approx(norm.cdf(np.log(1.5 / factor) / np.hypot(0.1, 0.2)), abs=0.003)


def test_small_probabilities():
    """Pairs resolve what either side alone could not: 1 in 2,000 with 256 draws."""
    found = probability_above(lognormal(1.0, 0.1), lognormal(1.0, 0.1), np.exp(3.29 * np.hypot(0.1, 0.1)))[0]
    assert found == pytest.approx(norm.sf(3.29), rel=0.3)


def test_values_that_agree_are_neither_larger_nor_smaller():
    exact = np.full((1, 64), 0.3)
    assert probability_above(exact, exact * (1.0 + 1e-12), 1.0).tolist() == [0.5]
    assert probability_above(exact, 1.1 * exact, 1.1).tolist() == [0.5]
    assert probability_above(exact, 1.2 * exact, 1.1).tolist() == [1.0]
    assert probability_above(exact, 1e6 * exact * (1.0 + 1e-12), 1e6).tolist() == [0.5]  # also where it is large


def test_nothing_is_said_without_draws():
    missing = np.full((1, 64), np.nan)
    assert np.isnan(ratio_bounds(missing, missing)).all()
    assert np.isnan(probability_above(missing, np.ones((1, 64)), 1.0)).all()
    assert not is_confident(np.array([np.nan]), 0.5).any()


def test_zeros():
    """What takes no time in either version did not change."""
    zero = np.zeros((1, 64))
    assert ratio_bounds(zero, zero).tolist() == [[1.0, 1.0]]
    assert probability_above(zero, zero, 1.1).tolist() == [0.5]


def test_differences():
    found = probability_beyond(PLACES[None], PLACES[None] + 1.0, 0.5)[0]
    assert found == pytest.approx(norm.cdf(0.5 / np.sqrt(2.0)), abs=0.003)


def test_holm_by_hand():
    """Four statements at 0.95: they may be wrong by 0.0125, 0.0167, 0.025, 0.05 in turn."""
    assert is_confident(np.array([0.98, 0.99, 0.984, 0.94]), 0.95).tolist() == [True, True, True, False]
    assert is_confident(np.array([0.98, 0.99, 0.97, 0.96]), 0.95).tolist() == [False, True, False, False]
    assert is_confident(np.array([0.975, 0.95]), 0.95).tolist() == [True, True]  # as sure as that, but for rounding
    assert is_confident(np.empty(0), 0.95).tolist() == []


def test_sum_of_independent_normals():
    draws = np.stack([10.0 + PLACES, 20.0 + 2.0 * PLACES, 30.0 + 2.0 * PLACES])[:, None]
    total = sum_of_parts(Drawn(np.array([[10.0], [20.0], [30.0]]), draws), np.array([True, True, True]), seed=3)
    assert total.values == pytest.approx([60.0], abs=0.2)
    assert (np.diff(total.draws) >= 0.0).all()
    assert np.quantile(total.draws[0], [0.025, 0.975]) == pytest.approx([60.0 - 5.88, 60.0 + 5.88], abs=0.5)
