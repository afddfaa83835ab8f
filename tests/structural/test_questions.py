"""Which value suffices, and how many more measurements decide: against closed forms."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from perf_structural import StructuralModel, decide, solve
from perf_structural.deciding import compare_samples
from perfcore.base.errors import DataError, OptionError

FAST = {"samples": 4096}
SERVICE = StructuralModel(
    "wait/servers", inputs={"wait": {"exponential": [0, 100], "unit": "ms"}, "servers": 1}, unit="ms"
)


def test_the_least_number_of_servers():
    """Of an exponential wait with the mean 100/n: 1 - exp(-n/2) is 0.99 from 9.2 on."""
    found = solve(SERVICE, "servers=1..64", 50, 0.99, **FAST)
    assert found.found.value == 10
    assert found.found.probability == pytest.approx(1 - math.exp(-5), abs=5e-4)
    assert (found.most, found.unit, found.notes) == (False, "ms", ())
    frame = found.to_frame()
    assert frame.loc[frame["found"], "servers"].tolist() == [10]


@pytest.mark.parametrize(
    ("equation", "value", "most"),
    [("t/x", 10 + NormalDist().inv_cdf(0.9), False), ("t*x", 10 / (10 + NormalDist().inv_cdf(0.9)), True)],
)
def test_a_number_that_is_not_whole(equation, value, most):
    limit = 1.0 if not most else 10.0
    found = solve(equation, "x=0.5..20.0", limit, 0.9, inputs={"t": {"normal": [10, 1]}})
    assert found.found.value == pytest.approx(value, abs=4e-3)
    assert found.most is most
    assert found.found.probability >= 0.9


def test_a_value_inside_where_neither_end_suffices():
    found = solve(
        "abs(x - 20) + t", "x=1..40", 2.5, 0.99, inputs={"t": {"histogram": {"edges": [0, 1], "masses": [1]}}}
    )
    assert found.found.value == 19  # |x - 20| <= 1 keeps 2.5 always
    nothing = solve("x + t", "x=5..9", 2.5, 0.99, inputs={"t": {"normal": [1, 1]}}, **FAST)
    assert nothing.found is None
    assert nothing.best.value == 5


def test_a_value_on_the_edge_is_said():
    found = solve("x*t", "x=1..9", 5, 0.5, inputs={"t": {"normal": [1, 0.1]}}, **FAST)
    assert "too near to what is asked for" in found.notes[0]


RANDOM = np.random.default_rng(7)


def test_the_limits_are_welchs():
    first, second = RANDOM.normal(10, 1, 12), RANDOM.normal(10.5, 3, 30)
    found = compare_samples(first, second)
    theirs = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert found.verdict == "undecided"


def test_as_many_more_decide_it_with_the_probability_said():
    """From samples with exactly the mean and deviation, so that what they say is the truth."""
    base = stats.norm.ppf((np.arange(50) + 0.5) / 50)
    base = (base - base.mean()) / base.std(ddof=1)
    found = compare_samples(10 + base, 10.3 + 2 * base, power=0.8)
    assert found.verdict == "undecided"
    sizes = [50 + more for more in found.more]
    assert found.more[1] + 50 == pytest.approx(2 * (found.more[0] + 50), rel=0.01)  # as the deviations
    decided = np.mean(
        [
            compare_samples(RANDOM.normal(10, 1, sizes[0]), RANDOM.normal(10.3, 2, sizes[1])).verdict == "first"
            for _ in range(600)
        ]
    )
    assert decided == pytest.approx(0.8, abs=0.06)


def test_a_quantiles_limits_hold_as_often_as_they_say():
    held = np.mean(
        [
            compare_samples(RANDOM.exponential(1, 200), RANDOM.exponential(1, 200), quantile=0.9).verdict == "undecided"
            for _ in range(300)
        ]
    )
    assert held == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ([1.0, 2.0], {}, DataError, "first: 2 samples; at least 3 say how much they vary"),
        ([1.0, 2.0, math.nan], {}, DataError, "first: a sample is not finite"),
        ([1e200, 2e200, 3e200], {}, DataError, "first: samples up to 3e\\+200; give them in a unit"),
        ([1e-200, 2e-200, 0.0], {}, DataError, "first: samples up to 2e-200; give them in a unit"),
        ([1.0, 2.0, 3.0], {"quantile": 1.0}, OptionError, "--quantile 1: a number between 0 and 1"),
        ([1.0, 2.0, 3.0], {"min_effect": -1.0}, OptionError, "--min-effect -1: a share of at least 0"),
        ([1.0, 2.0, 3.0], {"power": 0.0}, OptionError, "--power 0: a number between 0 and 1"),
    ],
)
def test_samples_that_decide_nothing(given, options, error, message):
    with pytest.raises(error, match=message):
        decide(given, [1.0, 2.0, 4.0], **options)
