"""Schopf's own arithmetic: the paper's equations 3 to 6."""

import numpy as np
import pytest

from perf_stochastic.histogram_arithmetic import cartesian, intermediate_results, overlap_mass, spread_evenly
from perfcore.base.errors import OptionError
from perfcore.stochastic import add, exp, representation_named

Histogram = representation_named("histogram")

D = Histogram([1, 3, 5], [0.25, 0.75])
E = Histogram([2, 4, 5, 8], [0.6, 0, 0.4])
BREAKS = np.array([3.0, 5, 6, 7, 8, 9, 13])


def test_intermediate_results():
    """Equation 5, its second interval [6, 11], which is printed as [6, 1]."""
    intervals, masses = intermediate_results("add", D.bins, E.bins)
    assert intervals.tolist() == [[3, 7], [6, 11], [5, 9], [8, 13]]
    assert masses == pytest.approx([0.15, 0.1, 0.45, 0.3])


def test_overlap_mass():
    """Equation 6 on its own edges, which leave out the break at 11; with all breaks one number more."""
    edges, masses = overlap_mass("add", D.bins, E.bins, BREAKS)
    assert edges is BREAKS
    assert masses == pytest.approx([0.15, 0.6, 0.7, 0.55, 0.85, 0.4])
    assert masses.sum() == pytest.approx(3.25)
    edges, masses = overlap_mass("add", D.bins, E.bins)
    assert edges.tolist() == [3, 5, 6, 7, 8, 9, 11, 13]
    assert masses == pytest.approx([0.15, 0.6, 0.7, 0.55, 0.85, 0.4, 0.3])


def test_overlap_mass_bounds_probability():
    """No bin of the exact sum has more."""
    exact = np.diff(add(D, E, bins=200).cdf(BREAKS))
    assert (exact <= overlap_mass("add", D.bins, E.bins, BREAKS)[1] + 1e-6).all()


def test_masses_spread_evenly():
    """By hand: each interval's probability per unit is 0.0375, 0.02, 0.1125 and 0.06."""
    masses = spread_evenly(*intermediate_results("add", D.bins, E.bins), BREAKS)
    assert masses == pytest.approx([0.075, 0.15, 0.17, 0.1325, 0.1925, 0.28])


def test_it_widens_sums():
    """Each interval of the sum of uniform values is spread evenly where it is triangular: variance w^2/3 for w^2/6.

    With one bin in place of the sum the deviation is too large by sqrt(2), with ever more bins by less.
    """
    unit = Histogram([0, 1], [1])
    assert add(unit, unit, method="cartesian").std == pytest.approx(np.sqrt(1 / 3))
    assert add(unit, unit, bins=200).std == pytest.approx(np.sqrt(1 / 6), rel=1e-4)
    ten = [Histogram(np.linspace(0, 1, 6), np.full(5, 0.2))] * 10
    assert add(*ten, method="cartesian").std > 1.5 * np.sqrt(10 / 12)
    assert add(*ten, bins=25).std == pytest.approx(np.sqrt(10 / 12), rel=1e-2)


@pytest.mark.parametrize("operation", ["add", "subtract", "multiply", "divide", "maximum", "minimum"])
def test_mass_is_kept(operation):
    found = cartesian(operation, [D.bins, E.bins], 8)
    assert len(found.masses) == 8
    assert found.masses.sum() == pytest.approx(1.0, abs=1e-15)
    exact = Histogram.operate(operation, [D, E])
    assert (found.edges[0], found.edges[-1]) == pytest.approx(exact.support)


def test_single_values():
    found = cartesian("maximum", [D.bins, Histogram([3, 3], [1]).bins], 2)
    assert found.edges.tolist() == [3, 4, 5]
    assert found.masses == pytest.approx([0.625, 0.375])


def test_what_it_does_not_do():
    assert exp(D, method="cartesian") == exp(D)
    with pytest.raises(OptionError, match="--method cartesian has no power"):
        Histogram.operate("power", [D, E], Histogram.Arithmetic(method="cartesian"))
    with pytest.raises(OptionError, match="divisor can be 0"):
        cartesian("divide", [D.bins, Histogram([-1, 1], [1]).bins])
