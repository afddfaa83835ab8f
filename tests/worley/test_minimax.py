"""Algorithms K and M: optimal, equidistributed, invariant."""

import itertools
import math

import numpy as np
import pytest
from givens_update import GivensUpdate, least_tolerances
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from perf_worley.factor_tree import PhaseBasis
from perf_worley.minimax import Minimax, Mixed, Uniform, least_tolerance, partition
from perf_worley.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.contracts import Basis


def tolerance(curve, n_phases, degree):
    return Minimax().segment(curve, n_phases, Basis(degree)).statistics["tolerance"]


def local_errors(exact, curve, breaks, degree):
    edges, heights = curve.relative_edges.tolist(), curve.heights.tolist()
    return [math.sqrt(exact(edges, heights, a, b, degree)) for a, b in itertools.pairwise(breaks)]


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize(("start", "offset"), [(0.0, 0.0), (1e12, 1e6)])
def test_epsilon_in_exact_arithmetic(noisy, exact, degree, start, offset):
    """No partition can have all errors below the least local error of another one (the argument of Corollary 2.4).

    So the partition found bounds the optimum from above, and Algorithm K's for a tolerance just too small from below.
    The last error alone may be far from epsilon when breaks are ill-conditioned, which the optimum is not.
    """
    curve = noisy(300, seed=7, start=start, offset=offset)
    found = Minimax().segment(curve, 6, Basis(degree))
    epsilon = found.statistics["tolerance"]
    assert len(found.breaks) == 7
    above = local_errors(exact, curve, found.breaks.tolist(), degree)
    assert max(above) <= epsilon * (1 + 1e-9)
    too_small = partition(MomentTree(curve), 6, epsilon * (1 - 1e-10), Uniform(degree))
    assert too_small.objective < 0
    below = local_errors(exact, curve, too_small.breaks, degree)
    assert min(below) >= epsilon * (1 - 1e-9)
    # Equidistribution: all errors but the last are met exactly.
    assert above[:-1] == pytest.approx([epsilon] * 5, rel=1e-9)
    assert above[-1] == pytest.approx(epsilon, rel=1e-4)


class BruteForce:
    """The least largest error over all partitions: E_n(x) = min over y of max(E_{n-1}(y), e(y, x)).

    Local errors are residuals of dense least squares (QR of Legendre columns at the Gauss points of each step). E_{n-1}
    rises with y and e falls, so that the minimum over y is where they cross, found by bisection down to neighbouring
    floats; neither equal errors nor a sweep from left to right are assumed. Breaks may lie anywhere.
    """

    def __init__(self, curve, degree):
        self.edges, self.heights, self.degree = curve.relative_edges, curve.heights, degree
        self.nodes, self.weights = np.polynomial.legendre.leggauss(degree + 1)

    def error(self, begin, end):
        cuts = np.unique(np.clip(self.edges, begin, end))
        if len(cuts) < 2:
            return 0.0
        half, middle = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
        at = (middle[:, None] + half[:, None] * self.nodes).ravel()
        roots = np.sqrt(half[:, None] * self.weights).ravel()
        steps = np.clip(np.searchsorted(self.edges, middle, side="right") - 1, 0, len(self.heights) - 1)
        values = np.repeat(self.heights[steps] - self.heights[steps[0]], len(self.nodes))
        columns = np.polynomial.legendre.legvander((2 * at - begin - end) / (end - begin), self.degree)
        factor = np.linalg.qr(np.column_stack([columns, values]) * roots[:, None], mode="r")
        return abs(float(factor[-1, -1])) if factor.shape[0] > self.degree + 1 else 0.0

    def least(self, n_phases, end):
        if n_phases == 1:
            return self.error(0.0, end)

        def difference(y):
            return self.least(n_phases - 1, y) - self.error(y, end)

        if difference(end) <= 0.0:
            return 0.0
        y = optimize.brentq(difference, 0.0, end, xtol=1e-15 * end, rtol=4 * np.finfo(float).eps)
        return max(self.least(n_phases - 1, y), self.error(y, end))


@pytest.mark.parametrize("seed", range(36))
def test_epsilon_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_steps = int(rng.integers(6, 15))
    edges = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 5.0, n_steps))])
    curve = UtilizationCurve(edges, rng.uniform(0.0, 30.0, n_steps))
    degree, n_phases = seed % 4, 2 if seed % 3 else 3
    expected = BruteForce(curve, degree).least(n_phases, curve.duration)
    found = Minimax().segment(curve, n_phases, Basis(degree))
    assert found.statistics["tolerance"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    errors = [BruteForce(curve, degree).error(a, b) for a, b in itertools.pairwise(found.breaks)]
    assert max(errors) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_equidistribution_on_a_large_curve(noisy, degree):
    """Necessary condition of Theorem 2.3 at 50,000 steps, errors recomputed from the breaks."""
    curve = noisy(50_000, seed=degree)
    tree = MomentTree(curve)

    def errors(breaks):
        return [math.sqrt(tree.error(tree.interval(a, b), degree)) for a, b in itertools.pairwise(breaks)]

    found = Minimax().segment(curve, 20, Basis(degree))
    epsilon = found.statistics["tolerance"]
    assert max(errors(found.breaks)) <= epsilon * (1 + 1e-9)
    assert errors(found.breaks)[:-1] == pytest.approx([epsilon] * 19, rel=1e-9)
    too_small = partition(tree, 20, epsilon * (1 - 1e-10), Uniform(degree))
    assert min(errors(too_small.breaks)) >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_tree_and_givens_agree(noisy, degree):
    curve = noisy(700, seed=11)
    counts = range(1, 9)
    fast = Minimax().sequence(curve, counts, Basis(degree))
    slow = GivensUpdate(curve)
    for n, segmentation, tolerance in zip(counts, fast, least_tolerances(slow, counts, degree), strict=True):
        assert segmentation.statistics["tolerance"] == pytest.approx(tolerance, rel=1e-10)
        assert segmentation.breaks == pytest.approx(partition(slow, n, tolerance, Uniform(degree)).breaks, rel=1e-7)


def test_sequence_equals_single_fits_and_falls(noisy):
    curve = noisy(400)
    sequence = [s.statistics["tolerance"] for s in Minimax().sequence(curve, range(1, 13), Basis(1))]
    assert sequence == pytest.approx([tolerance(curve, n, 1) for n in range(1, 13)], rel=1e-11)
    assert all(later < earlier for earlier, later in itertools.pairwise(sequence))


curves = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 200)), min_size=8, max_size=60).map(
    lambda steps: UtilizationCurve(
        np.concatenate([[0], np.cumsum([w for w, _ in steps])]).astype(float), [float(h) for _, h in steps]
    ).merged()
)


@given(curve=curves, degree=st.integers(0, 3), n=st.integers(1, 5), a=st.floats(1e-3, 1e3), b=st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=60)
def test_scaling_time_and_height(curve, degree, n, a, b):
    """Time by a and height by b scale epsilon by b sqrt(a)."""
    scaled = UtilizationCurve(curve.edges * a, curve.heights * b)
    if n >= curve.n_steps:
        return
    before, after = tolerance(curve, n, degree), tolerance(scaled, n, degree)
    assert after == pytest.approx(b * math.sqrt(a) * before, rel=1e-8, abs=1e-8 * b * math.sqrt(a))


@given(curve=curves, degree=st.integers(0, 3), n=st.integers(1, 5), shift=st.integers(-(10**6), 10**6))
@settings(deadline=None, max_examples=60)
def test_shifting_and_reversing(curve, degree, n, shift):
    before = tolerance(curve, n, degree)
    shifted = UtilizationCurve(curve.edges + shift, curve.heights)
    reverse = UtilizationCurve(curve.edges[-1] - curve.edges[::-1], curve.heights[::-1])
    assert tolerance(shifted, n, degree) == pytest.approx(before, rel=1e-9)
    assert tolerance(reverse, n, degree) == pytest.approx(before, rel=1e-8, abs=1e-8)


@given(curve=curves, n=st.integers(1, 12))
@settings(deadline=None, max_examples=80)
def test_mixed_keeps_its_bounds(curve, n):
    """Section 5.1: constants within half of the squared tolerance, lines in three quarters, quadratics in all of it."""
    found = Minimax().segment(curve, n, PhaseBasis(mixed=True))
    assert 1 <= len(found.breaks) - 1 <= max(n, 1)
    assert found.breaks[0] == 0.0
    assert found.breaks[-1] == curve.duration
    tree = MomentTree(curve)
    bound = found.statistics["tolerance"] ** 2
    for begin, end, degree in zip(found.breaks[:-1], found.breaks[1:], found.degrees, strict=True):
        squared = tree.error(tree.interval(begin, end), int(degree))
        assert squared <= (0.5, 0.75, 1.0)[degree] * bound * (1 + 1e-9) + 1e-12


def test_mixed_of_one_phase_weights_the_constant():
    """Figures 6 and 18 of the paper: 117534.4 for one mixed phase is sqrt(2) times the constant's 83109.4."""
    curve = UtilizationCurve(np.arange(101.0), np.tile([0.0, 10.0], 50))
    constant = tolerance(curve, 1, 0)
    mixed = Minimax().segment(curve, 1, PhaseBasis(mixed=True))
    assert mixed.degrees.tolist() == [0]
    assert mixed.statistics["tolerance"] == pytest.approx(math.sqrt(2.0) * constant, rel=1e-12)
    assert pytest.approx(83109.4 * math.sqrt(2.0), abs=0.1) == 117534.4


def test_mixed_takes_the_simplest_form_that_fits():
    """A level, a ramp and a parabola, each in its own stretch, with a little noise."""
    rng = np.random.default_rng(2)
    at = np.arange(1000.0)
    shape = np.concatenate([np.full(1000, 50.0), 20 + 0.15 * at, 180 - 160 * (at / 500 - 1) ** 2])
    curve = UtilizationCurve(np.arange(3001.0), shape + rng.uniform(0, 1, 3000))
    # The noise alone has a squared error of 1000 / 12 in each stretch: within half of the squared tolerance.
    found = partition(MomentTree(curve), 9, math.sqrt(300.0), Mixed())
    assert found.degrees == [0, 1, 2]
    assert found.breaks == pytest.approx([0, 1000, 2000, 3000], abs=15)
    # Asked for three phases, the search must find a tolerance at least as small.
    assert Minimax().segment(curve, 3, PhaseBasis(mixed=True)).statistics["tolerance"] <= math.sqrt(300.0)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_degenerate_curves(degree):
    one_step = UtilizationCurve([0, 5], [3])
    assert Minimax().segment(one_step, 4, Basis(degree)).breaks.tolist() == [0.0, 5.0]
    constant = UtilizationCurve([0, 2, 5, 9], [3, 3, 3]).merged()
    assert tolerance(constant, 1, degree) == 0.0
    three = UtilizationCurve([0, 2, 5, 9], [3, 1, 4])
    exactly = Minimax().segment(three, 3, Basis(degree))
    assert exactly.breaks.tolist() == [0.0, 2.0, 5.0, 9.0]
    assert exactly.statistics["tolerance"] == 0.0
    assert Minimax().segment(three, 50, Basis(degree)).breaks.tolist() == [0.0, 2.0, 5.0, 9.0]


def test_step_exactly_at_a_breakpoint():
    """Two levels: both phases have no error, whatever n asks for."""
    curve = UtilizationCurve([0, 3, 10], [1, 5])
    found = Minimax().segment(curve, 2, Basis(0))
    assert found.breaks.tolist() == [0.0, 3.0, 10.0]


@pytest.mark.parametrize("seed", range(4))
def test_no_tolerance_of_a_scan_is_smaller(noisy, seed):
    """The scan steps by 0.2 % from the answer down to a bound; it cannot see what lies between its own steps."""
    curve = noisy(300, seed=seed)
    tree = MomentTree(curve)
    for n in (2, 5, 8):
        found = Minimax().segment(curve, n, PhaseBasis(mixed=True)).statistics["tolerance"]
        assert partition(tree, n, found, Mixed()).objective >= 0.0
        bound, _, _ = least_tolerance(tree, n, Uniform(2), Uniform(2).finish(tree, 0.0, 0).error)
        scan = np.arange(bound.tolerance, found * 0.998, 0.002 * found)
        smaller = [t for t in scan if partition(tree, n, t, Mixed()).objective >= 0.0]
        assert len(smaller) <= 1  # islands narrower than the grid


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_does_not_depend_on_what_else_is_asked_for(noisy, seed):
    curve = noisy(300, seed=seed)
    together = Minimax().sequence(curve, range(1, 10), PhaseBasis(mixed=True))
    tolerances = [found.statistics["tolerance"] for found in together]
    assert tolerances == sorted(tolerances, reverse=True)
    for n, found in enumerate(together, 1):
        alone = Minimax().segment(curve, n, PhaseBasis(mixed=True))
        assert alone.statistics["tolerance"] == found.statistics["tolerance"]
        assert alone.breaks.tolist() == found.breaks.tolist()
