"""Other functions than polynomials: the same algorithm on a tree of triangular factors."""

import itertools
import math

import numpy as np
import pytest

from perf_worley.factor_tree import FactorTree, PhaseBasis
from perf_worley.minimax import Minimax
from perf_worley.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis


def powers_basis(duration):
    return PhaseBasis(functions=(lambda t: t / duration, lambda t: (t / duration) ** 2), names=("t", "t2"))


def test_powers_give_what_the_moment_tree_gives(noisy):
    curve = noisy(300)
    basis = powers_basis(curve.duration)
    through_factors = Minimax().sequence(curve, range(1, 6), basis)
    through_moments = Minimax().sequence(curve, range(1, 6), Basis(2))
    for a, b in zip(through_factors, through_moments, strict=True):
        assert a.statistics["tolerance"] == pytest.approx(b.statistics["tolerance"], rel=1e-9)
        assert a.breaks == pytest.approx(b.breaks, rel=1e-6)


def test_errors_and_coefficients_are_those_of_dense_least_squares(noisy):
    curve = noisy(150)
    functions = (lambda t: np.exp(-t / 50.0), lambda t: np.log1p(t / 50.0))
    tree = FactorTree(curve, PhaseBasis(functions=functions, names=("exp", "log")))
    begin, end = 0.2 * curve.duration, 0.75 * curve.duration
    # Midpoints of 200 slices of each step: an independent rule, accurate to about 1e-7 here.
    edges = tree.edges
    fine = np.unique(
        np.clip(np.concatenate([np.linspace(a, b, 201) for a, b in itertools.pairwise(edges)]), begin, end)
    )
    middle, width = 0.5 * (fine[1:] + fine[:-1]), np.diff(fine)
    design = np.column_stack([np.ones_like(middle), *(f(middle) for f in functions)]) * np.sqrt(width)[:, None]
    target = curve.heights[np.searchsorted(edges, middle, side="right") - 1] * np.sqrt(width)
    expected, squared, _, _ = np.linalg.lstsq(design, target, rcond=None)
    summary = tree.interval(begin, end)
    assert tree.error(summary, 0) == pytest.approx(squared[0], rel=1e-6)
    assert tree.coefficients(summary) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("share", [1e-4, 0.2, 0.9])
def test_reach_is_the_largest_end_under_the_limit(noisy, share):
    curve = noisy(500)
    tree = FactorTree(curve, PhaseBasis(functions=(lambda t: 1.0 / (1.0 + t / 40.0),), names=("reciprocal",)))
    begin = 0.31 * tree.duration
    step = int(np.searchsorted(tree.edges, begin, side="right")) - 1
    limit = share * tree.error(tree.rest(begin, step), 0)
    end, at, summary, _ = tree.reach(begin, step, limit, 0)
    assert tree.edges[at] <= end <= tree.edges[at + 1]
    assert tree.error(summary, 0) <= limit
    assert tree.error(tree.interval(begin, end), 0) == pytest.approx(limit, rel=1e-8)
    assert tree.error(tree.interval(begin, end + 0.01), 0) > limit


def test_dependent_functions_are_refused():
    curve = UtilizationCurve(np.arange(11.0), np.arange(10.0))
    twice = PhaseBasis(functions=(np.sqrt, lambda t: 3.0 * np.sqrt(t)), names=("root", "three_roots"))
    with pytest.raises(
        OptionError, match=r"'three_roots' is a combination of constant, root .* Gram matrix is singular"
    ):
        FactorTree(curve, twice)
    with pytest.raises(OptionError, match="combination of constant"):
        FactorTree(curve, PhaseBasis(functions=(np.ones_like,), names=("one",)))


def test_function_that_is_not_finite_is_refused():
    curve = UtilizationCurve(np.arange(11.0), np.arange(10.0))
    with pytest.raises(OptionError, match="'pole' is not finite"):
        FactorTree(curve, PhaseBasis(functions=(lambda t: np.where(t > 4.0, np.nan, t),), names=("pole",)))


def test_short_phase_where_a_function_is_constant_to_rounding():
    """tanh has no variation left at 700 scales; the fit there is the constant's, not noise."""
    heights = np.tile([1.0, 3.0], 400)
    curve = UtilizationCurve(np.arange(801.0), heights)
    tree = FactorTree(curve, PhaseBasis(functions=(np.tanh,), names=("tanh",)))
    constant = MomentTree(curve)
    assert tree.error(tree.interval(700.0, 800.0), 0) == pytest.approx(
        constant.error(constant.interval(700.0, 800.0), 0), rel=1e-12
    )
    assert tree.coefficients(tree.interval(700.0, 800.0)).tolist() == pytest.approx([2.0, 0.0])


def test_long_step_is_integrated_to_rounding():
    """One step over 40 time constants: the panels must follow the function, not the steps."""
    tree = FactorTree(
        UtilizationCurve([0.0, 40.0, 41.0], [2.0, 5.0]), PhaseBasis(functions=(lambda t: np.exp(-t),), names=("exp",))
    )
    triangle = tree.interval(0.0, 40.0)
    gram = triangle[:, :2].T @ triangle[:, :2]
    assert gram[0, 0] == pytest.approx(40.0, rel=1e-12)
    assert gram[0, 1] == pytest.approx(1.0 - math.exp(-40.0), rel=1e-12)
    assert gram[1, 1] == pytest.approx(0.5 * (1.0 - math.exp(-80.0)), rel=1e-12)
