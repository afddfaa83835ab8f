"""The moment tree against rational arithmetic."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_worley.factor_tree import FactorTree, PhaseBasis
from perf_worley.minimax import Minimax
from perf_worley.moment_tree import BLOCK, MomentTree
from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis

# Far below the 1e-9 that is promised for epsilon; the largest seen is 1e-14.
RELATIVE = 1e-12


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("start", "offset"),
    [(0.0, 0.0), (1e12, 0.0), (0.0, 1e6), (1e12, 1e6), (0.0, 1e9)],
    ids=["plain", "edges-1e12", "heights-1e6", "both", "heights-1e9"],
)
def test_errors_are_those_of_rational_arithmetic(noisy, exact, degree, start, offset):
    curve = noisy(4 * BLOCK + 17, start=start, offset=offset)
    tree = MomentTree(curve)
    rng = np.random.default_rng(degree)
    for share in (0.9, 0.3, 0.05):
        begin = float(rng.uniform(0, (1 - share) * tree.duration))
        end = begin + share * tree.duration
        found = tree.error(tree.interval(begin, end), degree)
        # The exact figure of the same curve: times relative to its first edge, as rational numbers.
        expected = exact(tree.edges.tolist(), curve.heights.tolist(), begin, end, degree)
        assert found == pytest.approx(float(expected), rel=RELATIVE)


def test_short_interval_of_a_long_curve_keeps_its_digits(exact):
    """Prefix moments lose all digits here: 20 steps at the far end of 200,000, degree 3."""
    rng = np.random.default_rng(3)
    heights = rng.integers(0, 1000, 200_000).astype(float)
    curve = UtilizationCurve(np.arange(200_001.0), heights)
    tree = MomentTree(curve)
    found = tree.error(tree.interval(199_975.5, 199_995.25), 3)
    window = slice(199_970, 200_000)
    expected = exact(list(range(199_970, 200_001)), heights[window].tolist(), 199_975.5, 199_995.25, 3)
    assert found == pytest.approx(float(expected), rel=RELATIVE)


@given(
    heights=st.lists(st.integers(0, 1000), min_size=2, max_size=3 * BLOCK),
    cut=st.floats(0.05, 0.95),
    degree=st.integers(0, 3),
)
@settings(deadline=None, max_examples=60)
def test_error_grows_with_the_interval(heights, cut, degree):
    """Theorem 2.3's monotonicity, up to rounding."""
    tree = MomentTree(UtilizationCurve(np.arange(len(heights) + 1.0), heights))
    part = tree.error(tree.interval(0.0, cut * tree.duration), degree)
    whole = tree.error(tree.interval(0.0, tree.duration), degree)
    assert 0.0 <= part <= whole * (1 + 1e-12) + 1e-9


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.4, 0.99])
def test_reach_is_the_largest_end_under_the_limit(noisy, degree, share):
    curve = noisy(20 * BLOCK + 5, seed=degree)
    tree = MomentTree(curve)
    begin = 0.31 * tree.duration
    step = tree.step_at(begin)
    limit = share * tree.error(tree.rest(begin, step), degree)
    end, at, summary, _ = tree.reach(begin, step, limit, degree)
    assert tree.edges[at] <= end <= tree.edges[at + 1]
    assert tree.error(summary, degree) <= limit
    assert tree.error(tree.interval(begin, end), degree) == pytest.approx(limit, rel=1e-9)
    assert tree.error(tree.interval(begin, end + 1e-3), degree) > limit


def test_reach_without_limit_takes_everything(noisy):
    tree = MomentTree(noisy(3 * BLOCK))
    end, at, _, _ = tree.reach(0.0, 0, math.inf, 2)
    assert (end, at) == (tree.duration, tree.n_steps - 1)


@pytest.mark.parametrize("n_steps", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 1])
def test_sizes_around_a_block(exact, n_steps):
    rng = np.random.default_rng(n_steps)
    heights = rng.integers(0, 50, n_steps).astype(float)
    tree = MomentTree(UtilizationCurve(np.arange(n_steps + 1.0), heights))
    expected = exact(list(range(n_steps + 1)), heights.tolist(), 0, n_steps, 1)
    assert tree.error(tree.interval(0.0, float(n_steps)), 1) == pytest.approx(float(expected), rel=RELATIVE, abs=1e-12)


def test_one_spike_among_wide_steps(exact):
    """Widths over nine orders of magnitude."""
    edges = [0.0, 1e9, 1e9 + 1.0, 1e9 + 1.5, 2e9]
    heights = [1.0, 1000.0, 3.0, 2.0]
    tree = MomentTree(UtilizationCurve(edges, heights))
    for degree in range(4):
        expected = float(exact(edges, heights, 0, 2e9, degree))
        assert tree.error(tree.interval(0.0, 2e9), degree) == pytest.approx(expected, rel=RELATIVE)


def test_constant_curve_has_no_error_at_all():
    tree = MomentTree(UtilizationCurve(np.cumsum(np.full(1001, 0.1)), np.full(1000, 0.1)))
    assert tree.error(tree.interval(3.3, 77.7), 0) == 0.0


# Other functions than polynomials: the same algorithm on a tree of triangular factors.
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
def test_reach_is_the_largest_end_under_the_limit_of_factor_tree(noisy, share):
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
