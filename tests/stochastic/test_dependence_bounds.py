"""Bounds for unknown dependence: closed forms, and extreme dependences that must lie between."""

import itertools

import numpy as np
import pytest

from perf_stochastic.histogram.histogram import Histogram
from perf_stochastic.normal.normal import Normal
from perfcore.base.errors import DataError, OptionError

UNIT = Histogram([0, 1], [1])
D = Histogram([1, 3, 5], [0.25, 0.75])
E = Histogram([2, 2, 4, 5, 8], [0.1, 0.5, 0.0, 0.4])
OPERATIONS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def test_sum_of_two_uniform_values():
    """Makarov: max(0, z - 1) and min(1, z); independent, z^2/2 up to 1."""
    z = np.array([0.2, 0.7, 1.0, 1.3, 1.9])
    lower, upper = UNIT.bounds("add", UNIT).cdf(z)
    np.testing.assert_allclose(lower, np.maximum(0, z - 1), atol=1e-14)
    np.testing.assert_allclose(upper, np.minimum(1, z), atol=1e-14)


def test_product_of_two_uniform_values():
    """On [1, 2]: inf u + z/u - 2 over u is 2 sqrt(z) - 2, the upper bound; the lower one is at an end, z/2 - 1."""
    x = Histogram([1, 2], [1])
    z = np.array([1.2, 1.7, 2.2, 3.0, 3.7])
    lower, upper = x.bounds("multiply", x).cdf(z)
    np.testing.assert_allclose(upper, np.minimum(2 * np.sqrt(z) - 2, 1), atol=1e-12)
    np.testing.assert_allclose(lower, np.maximum(z / 2 - 1, 0), atol=1e-12)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_dependence_lies_between(operation):
    """Rising together, falling apart, independent, and shuffles in between, each from 4,000 pairs of quantiles."""
    levels = (np.arange(4000) + 0.5) / 4000
    x, y = D.quantile(levels), E.quantile(levels)
    bounds = D.bounds(operation, E)
    z = np.linspace(*bounds.support, 60)
    lower, upper = bounds.cdf(z)
    assert (lower <= upper + 1e-12).all()
    rng = np.random.default_rng(7)
    orders = [np.arange(4000), np.arange(4000)[::-1], rng.permutation(4000)]
    orders += [np.roll(np.arange(4000), shift) for shift in range(0, 4000, 400)]
    orders += [np.concatenate([np.arange(k)[::-1], np.arange(k, 4000)[::-1]]) for k in range(0, 4000, 400)]
    for order in orders:
        values = np.sort(OPERATIONS[operation](x, y[order]))
        shares = values.searchsorted(z, side="right") / 4000
        assert (shares >= lower - 1e-3).all()
        assert (shares <= upper + 1e-3).all()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_bounds_are_reached(operation):
    """At each place some dependence gives the bound: found by linear programming over a grid of pairs."""
    from scipy import optimize

    n = 12
    levels = (np.arange(n) + 0.5) / n
    x, y = D.quantile(levels), Histogram([2, 4, 5, 8], [0.6, 0.0, 0.4]).quantile(levels)
    bounds = D.bounds(operation, Histogram([2, 4, 5, 8], [0.6, 0.0, 0.4]))
    low, high = bounds.support
    for z in low + (high - low) * np.array([0.31, 0.52, 0.73]):
        hit = (OPERATIONS[operation](x[:, None], y) <= z).astype(float)
        most = optimize.linear_sum_assignment(hit, maximize=True)
        least = optimize.linear_sum_assignment(hit)
        lower, upper = (float(bound) for bound in bounds.cdf(z))
        # Of n values of each operand the shares are multiples of 1/n, at most one off for each.
        assert hit[most].mean() == pytest.approx(upper, abs=1.5 / n)
        assert hit[least].mean() == pytest.approx(lower, abs=1.5 / n)


def test_quantiles_are_inverse():
    bounds = D.bounds("add", E)
    least, largest = bounds.quantile([0.05, 0.5, 0.95])
    assert (least <= largest).all()
    assert bounds.cdf(least)[1] == pytest.approx([0.05, 0.5, 0.95], abs=0.06)
    for level, value in zip((0.05, 0.5, 0.95), largest, strict=True):
        assert bounds.cdf(value)[0] >= level
        assert bounds.cdf(value - 1e-6)[0] < level


def test_the_independent_answer_is_between():
    for operation, (x, y) in itertools.product(("add", "multiply", "maximum"), ((D, E), (E, D))):
        found = Histogram.operate(operation, [x, y], Histogram.Arithmetic(bins=50))
        z = found.edges[1:-1]
        lower, upper = x.bounds(operation, y).cdf(z)
        assert (found.cdf(z) >= lower - 1e-9).all()
        assert (found.cdf(z) <= upper + 1e-9).all()


def test_other_operands():
    assert UNIT.bounds("add", 1).support == (1.0, 2.0)
    lower, upper = UNIT.bounds("add", 1).cdf([1.25])
    assert (lower[0], upper[0]) == (pytest.approx(0.25), pytest.approx(0.25))
    assert UNIT.bounds("add", Normal(0, 1)).support == pytest.approx((-6, 7))


def test_bad_input():
    with pytest.raises(OptionError, match="no bounds are known for 'exp'"):
        UNIT.bounds("exp", UNIT)
    with pytest.raises(DataError, match="above 0 only"):
        UNIT.bounds("multiply", D)
