"""Algorithms K and M: optimal, equidistributed, invariant."""

import itertools
import math

import numpy as np
import pytest
from givens_update import GivensUpdate, least_tolerances
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import perfcore
from perfcore import UtilizationCurve


def worley(curve, **options):
    return perfcore.fit(curve, fitter="worley", **options)


def tolerance(curve, n_phases, degree):
    return worley(curve, phases=n_phases, degree=degree).statistics["tolerance"]


def edges_of(model, curve):
    """Edges of the phases, counted from the curve's start."""
    return [0.0, *(at - curve.start for at in model.breaks), curve.duration]


def local_errors(exact, curve, breaks, degree):
    edges, heights = curve.relative_edges.tolist(), curve.heights.tolist()
    return [math.sqrt(exact(edges, heights, a, b, degree)) for a, b in itertools.pairwise(breaks)]


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_epsilon_in_exact_arithmetic(noisy, exact, degree, offset):
    """No partition can have all errors below the least local error of another one (the argument of Corollary 2.4).

    So the partition found bounds the optimum from above, and Algorithm K's for a tolerance just too small from below.
    The last error alone may be far from epsilon when breaks are ill-conditioned, which the optimum is not.
    """
    curve = noisy(300, seed=7, offset=offset)
    found = worley(curve, phases=6, degree=degree)
    epsilon = found.statistics["tolerance"]
    assert len(found.phases) == 6
    above = local_errors(exact, curve, edges_of(found, curve), degree)
    assert max(above) <= epsilon * (1 + 1e-9)
    too_small = worley(curve, tolerance=epsilon * (1 - 1e-10), degree=degree)
    assert len(too_small.phases) > 6
    below = local_errors(exact, curve, [*edges_of(too_small, curve)[:6], curve.duration], degree)
    assert min(below) >= epsilon * (1 - 1e-9)
    # Equidistribution: all errors but the last are met exactly.
    assert above[:-1] == pytest.approx([epsilon] * 5, rel=1e-9)
    assert above[-1] == pytest.approx(epsilon, rel=1e-4)
    assert tolerance(noisy(300, seed=7, start=1e12, offset=offset), 6, degree) == pytest.approx(epsilon, rel=1e-12)


def least(dense, curve, degree, n_phases, end):
    """The least largest error over all partitions: E_n(x) = min over y of max(E_{n-1}(y), e(y, x)).

    E_{n-1} rises with y and e falls, so that the minimum over y is where they cross, found by bisection down to
    neighbouring floats; neither equal errors nor a sweep from left to right are assumed. Breaks may lie anywhere.
    """
    if n_phases == 1:
        return dense(curve, degree, 0.0, end)

    def difference(y):
        return least(dense, curve, degree, n_phases - 1, y) - dense(curve, degree, y, end)

    if difference(end) <= 0.0:
        return 0.0
    y = optimize.brentq(difference, 0.0, end, xtol=1e-15 * end, rtol=4 * np.finfo(float).eps)
    return max(least(dense, curve, degree, n_phases - 1, y), dense(curve, degree, y, end))


@pytest.mark.parametrize("seed", range(36))
def test_epsilon_is_that_of_brute_force(dense, seed):
    rng = np.random.default_rng(seed)
    n_steps = int(rng.integers(6, 15))
    edges = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 5.0, n_steps))])
    curve = UtilizationCurve(edges, rng.uniform(0.0, 30.0, n_steps))
    degree, n_phases = seed % 4, 2 if seed % 3 else 3
    expected = least(dense, curve, degree, n_phases, curve.duration)
    found = worley(curve, phases=n_phases, degree=degree)
    assert found.statistics["tolerance"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    errors = [dense(curve, degree, a, b) for a, b in itertools.pairwise(edges_of(found, curve))]
    assert max(errors) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_tree_and_givens_agree(noisy, degree):
    """Against Worley's own linear update."""
    curve = noisy(700, seed=11)
    expected = least_tolerances(GivensUpdate(curve), range(1, 9), degree)
    sequence = worley(curve, phases="1..8", degree=degree).sequence
    assert [entry.tolerance for entry in sequence] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("degree", "seeds"), [(1, 1), ("mixed", 3)])
def test_the_answer_does_not_depend_on_what_else_is_asked_for(noisy, degree, seeds):
    for curve in (noisy(300, seed=seed) for seed in range(seeds)):
        together = worley(curve, phases="1..10", degree=degree).sequence
        tolerances = [entry.tolerance for entry in together]
        assert tolerances == sorted(set(tolerances), reverse=True) or degree == "mixed"
        assert tolerances == sorted(tolerances, reverse=True)
        for entry in together:
            alone = worley(curve, phases=entry.n_phases, degree=degree)
            exactly = 0.0 if degree == "mixed" else 1e-11
            assert alone.statistics["tolerance"] == pytest.approx(entry.tolerance, rel=exactly, abs=0.0)
            assert alone.breaks == pytest.approx(entry.breaks, rel=exactly and 1e-6, abs=0.0)


curves = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 200)), min_size=8, max_size=60).map(
    lambda steps: UtilizationCurve(
        np.concatenate([[0], np.cumsum([w for w, _ in steps])]).astype(float), [float(h) for _, h in steps]
    ).merged()
)


@given(curve=curves, degree=st.integers(0, 3), n=st.integers(1, 5), shift=st.integers(-(10**6), 10**6))
def test_shifting_and_reversing(curve, degree, n, shift):
    before = tolerance(curve, n, degree)
    shifted = UtilizationCurve(curve.edges + shift, curve.heights)
    reverse = UtilizationCurve(curve.edges[-1] - curve.edges[::-1], curve.heights[::-1])
    assert tolerance(shifted, n, degree) == pytest.approx(before, rel=1e-9)
    assert tolerance(reverse, n, degree) == pytest.approx(before, rel=1e-8, abs=1e-8)


@given(curve=curves, n=st.integers(1, 12))
def test_mixed_keeps_its_bounds(dense, curve, n):
    """Section 5.1: constants within half of the squared tolerance, lines in three quarters, quadratics in all of it."""
    found = worley(curve, phases=n, degree="mixed")
    assert 1 <= len(found.phases) <= n
    assert (found.phases[0].start, found.end) == (curve.edges[0], curve.edges[-1])
    bound = found.statistics["tolerance"] ** 2
    for phase in found.phases:
        squared = dense(curve, phase.degree, phase.start - curve.start, phase.end - curve.start) ** 2
        assert squared <= (0.5, 0.75, 1.0)[phase.degree] * bound * (1 + 1e-9) + 1e-12


def test_mixed_of_one_phase_weights_the_constant():
    """Figures 6 and 18 of the paper: 117534.4 for one mixed phase is sqrt(2) times the constant's 83109.4."""
    curve = UtilizationCurve(np.arange(101.0), np.tile([0.0, 10.0], 50))
    mixed = worley(curve, phases=1, degree="mixed")
    assert [phase.degree for phase in mixed.phases] == [0]
    assert mixed.statistics["tolerance"] == pytest.approx(math.sqrt(2.0) * tolerance(curve, 1, 0), rel=1e-12)
    assert pytest.approx(83109.4 * math.sqrt(2.0), abs=0.1) == 117534.4


def test_mixed_takes_the_simplest_form_that_fits():
    """A level, a ramp and a parabola, each in its own stretch, with a little noise."""
    rng = np.random.default_rng(2)
    at = np.arange(1000.0)
    shape = np.concatenate([np.full(1000, 50.0), 20 + 0.15 * at, 180 - 160 * (at / 500 - 1) ** 2])
    curve = UtilizationCurve(np.arange(3001.0), shape + rng.uniform(0, 1, 3000))
    # The noise alone has a squared error of 1000 / 12 in each stretch: within half of the squared tolerance.
    found = worley(curve, tolerance=math.sqrt(300.0), degree="mixed")
    assert [phase.degree for phase in found.phases] == [0, 1, 2]
    assert found.breaks == pytest.approx([1000, 2000], abs=15)
    # Asked for three phases, the search must find a tolerance at least as small.
    assert tolerance(curve, 3, "mixed") <= math.sqrt(300.0)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_degenerate_curves(degree):
    assert worley(UtilizationCurve([0, 5], [3]), phases=4, degree=degree).breaks == ()
    assert tolerance(UtilizationCurve([0, 2, 5, 9], [3, 3, 3]), 1, degree) == 0.0
    three = UtilizationCurve([0, 2, 5, 9], [3, 1, 4])
    for n in (3, 50):
        exactly = worley(three, phases=n, degree=degree)
        assert exactly.breaks == (2.0, 5.0)
        assert exactly.statistics["tolerance"] == 0.0


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize(("edges", "heights"), [
    *((np.arange(n + 1.0).tolist(), ((np.arange(n) * 7919) % 50).tolist()) for n in (1, 2, 63, 64, 65, 128, 321)),
    ([0.0, 1e9, 1e9 + 1.0, 1e9 + 1.5, 2e9], [1.0, 1000.0, 3.0, 2.0]),  # a spike among wide steps
])  # fmt: skip
def test_errors_of_one_phase_in_exact_arithmetic(exact, edges, heights, degree):
    error = worley(UtilizationCurve(edges, heights), phases=1, degree=degree).epsilon
    assert error**2 == pytest.approx(float(exact(edges, heights, 0, edges[-1], degree)), rel=1e-11, abs=1e-12)
