"""Private kernels against rational arithmetic, dense least squares, plain loops and closed forms."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.signal import lfilter

import perfcore
from perf_worley import segmenters as hill_climb
from perf_worley.activity import clipped_sums
from perf_worley.cells import (
    TOLERANCE,
    Cells,
    autoregressive,
    cells_of,
    first_order,
    period_of,
    processor_cycle,
    residuals,
)
from perf_worley.comparison import Shape, agreed_models, match_phases
from perf_worley.factor_tree import FactorTree, PhaseBasis
from perf_worley.minimax import Minimax, Mixed, Uniform, least_tolerance, partition
from perf_worley.moment_tree import BLOCK, MomentTree, ShortTree
from perf_worley.phase_maker import knee, likeliest, penalty, persistence
from perf_worley.phase_model import Phase, Repetition
from perf_worley.segmenters import HillClimb, LeastSquares, best_split, bounded_models, climb
from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis

# Far below the 1e-9 that is promised for epsilon; the largest seen is 1e-14.
RELATIVE = 1e-12


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize(("start", "offset"), [
    (0.0, 0.0), (1e12, 0.0), (0.0, 1e6), (1e12, 1e6), (0.0, 1e9),
], ids=["plain", "edges-1e12", "heights-1e6", "both", "heights-1e9"])  # fmt: skip
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
    problem = r"'three_roots' is a combination of constant, root .* Gram matrix is singular"
    with pytest.raises(OptionError, match=problem):
        FactorTree(curve, twice)
    with pytest.raises(OptionError, match="combination of constant"):
        FactorTree(curve, PhaseBasis(functions=(np.ones_like,), names=("one",)))


def test_short_phase_where_a_function_is_constant_to_rounding():
    """tanh has no variation left at 700 scales; the fit there is the constant's, not noise."""
    heights = np.tile([1.0, 3.0], 400)
    curve = UtilizationCurve(np.arange(801.0), heights)
    tree = FactorTree(curve, PhaseBasis(functions=(np.tanh,), names=("tanh",)))
    constant = MomentTree(curve)
    expected = constant.error(constant.interval(700.0, 800.0), 0)
    assert tree.error(tree.interval(700.0, 800.0), 0) == pytest.approx(expected, rel=1e-12)
    assert tree.coefficients(tree.interval(700.0, 800.0)).tolist() == pytest.approx([2.0, 0.0])


def test_long_step_is_integrated_to_rounding():
    """One step over 40 time constants: the panels must follow the function, not the steps."""
    basis = PhaseBasis(functions=(lambda t: np.exp(-t),), names=("exp",))
    tree = FactorTree(UtilizationCurve([0.0, 40.0, 41.0], [2.0, 5.0]), basis)
    triangle = tree.interval(0.0, 40.0)
    gram = triangle[:, :2].T @ triangle[:, :2]
    assert gram[0, 0] == pytest.approx(40.0, rel=1e-12)
    assert gram[0, 1] == pytest.approx(1.0 - math.exp(-40.0), rel=1e-12)
    assert gram[1, 1] == pytest.approx(0.5 * (1.0 - math.exp(-80.0)), rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_array_operations_and_the_tree_agree(seed):
    rng = np.random.default_rng(seed)
    n, degree = int(rng.integers(3, 900)), seed % 4
    edges = np.concatenate([[0.0], np.cumsum(rng.exponential(size=n) * 10.0 ** rng.integers(-3, 3))])
    heights = 9.0 + rng.integers(0, 4, n) + 10.0 ** rng.integers(-1, 7) + rng.normal(size=n) * (seed % 3)
    curve = UtilizationCurve(edges, heights)
    short, tree = ShortTree(curve), MomentTree(curve)
    for begin, end in np.sort(rng.uniform(0.0, tree.duration, (6, 2)), axis=1).tolist():
        assert short.interval(begin, end) == pytest.approx(tree.interval(begin, end), rel=1e-10, abs=1e-12)
        step = tree.step_at(begin)
        limit = rng.uniform(1e-6, 1.2) * tree.error(tree.rest(begin, step), degree)
        one, other = (each.reach(begin, step, limit, degree) for each in (short, tree))
        assert one.end == pytest.approx(other.end, rel=1e-10)
        assert one.summary == pytest.approx(other.summary, rel=1e-9, abs=1e-11)
    first, last = sorted(rng.choice(tree.n_steps + 1, 2, replace=False).tolist())
    one, other = (best_split(each, first, last, degree, right_degree=seed % 2) for each in (short, tree))
    assert one == (other[0], pytest.approx(other[1], rel=1e-10, abs=1e-12))


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_best_split_is_the_best_of_all_edges(noisy, degree):
    tree = MomentTree(noisy(5 * BLOCK + 3, seed=degree))
    first, last = 10, tree.n_steps - 7
    every = [
        tree.error(tree.between(first, k), degree) + tree.error(tree.between(k, last), degree)
        for k in range(first + 1, last)
    ]
    edge, squared = best_split(tree, first, last, degree)
    assert squared == pytest.approx(min(every), rel=1e-12)
    assert every[edge - first - 1] == pytest.approx(min(every), rel=1e-12)


def test_climb_moves_breaks_past_a_strong_one():
    """All structure lies in the second half; the start has its breaks in the first."""
    heights = np.concatenate([np.full(400, 10.0), np.repeat([50.0, 10.0, 60.0, 20.0], 100)])
    heights += np.random.default_rng(0).uniform(0, 1, 800)
    curve = UtilizationCurve(np.arange(801.0), heights)
    found = climb(MomentTree(curve), np.array([0.0, 100, 200, 300, 400, 800]), np.zeros(5, dtype=np.int64))
    assert found.breaks.tolist() == [0, 400, 500, 600, 700, 800]


def test_climb_separates_breaks_that_fall_on_one_edge():
    curve = UtilizationCurve(np.arange(6.0), [1, 5, 2, 8, 3])
    found = climb(MomentTree(curve), np.array([0.0, 2.1, 2.2, 2.3, 5.0]), np.zeros(4, dtype=np.int64))
    assert len(set(found.breaks.tolist())) == 5


@pytest.mark.parametrize("seed", range(4))
def test_no_tolerance_of_a_scan_is_smaller(noisy, seed):
    """The scan steps by 0.2 % from the answer down to a bound; it cannot see what lies between its own steps."""
    curve = noisy(300, seed=seed)
    tree = MomentTree(curve)
    for n in (2, 5, 8):
        found = Minimax().segment(curve, n, PhaseBasis(mixed=True)).statistics["tolerance"]
        assert partition(tree, n, found, Mixed()).objective >= 0.0
        bound = least_tolerance(tree, n, Uniform(2), Uniform(2).finish(tree, 0.0, 0).error)
        scan = np.arange(bound.tolerance, found * 0.998, 0.002 * found)
        smaller = [t for t in scan if partition(tree, n, t, Mixed()).objective >= 0.0]
        assert len(smaller) <= 1  # islands narrower than the grid


def cost_by_hand(values, degree, low, high):
    """Least squares by numpy, of the highest degree that stays within the bounds."""
    x = np.arange(len(values)) + 0.5
    for d in range(min(degree, len(values) - 1), -1, -1):
        coefficients = np.polynomial.polynomial.polyfit(x, values, d)
        inside = np.polynomial.polynomial.polyval(np.linspace(0, len(values), 401), coefficients)
        if d == 0 or (inside.min() >= low and inside.max() <= high):
            fitted = np.polynomial.polynomial.polyval(x, coefficients)
            return float(np.sum((values - fitted) ** 2))
    raise AssertionError


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_bounded_search_is_optimal(degree, seed):
    """Against every partition of a short series, each stretch fitted by itself."""
    rng, n_cells = np.random.default_rng(seed), 14
    values = np.clip(rng.choice([0.0, 2.0, 4.0], n_cells) + rng.normal(0, 0.4, n_cells), 0, 4)
    low, high = -TOLERANCE * 4, (1 + TOLERANCE) * 4
    pairs = itertools.combinations(range(n_cells + 1), 2)
    costs = {(a, b): cost_by_hand(values[a:b], degree, low, high) for a, b in pairs}
    found = bounded_models(Cells(values, 1.0, low, high, 4.0), degree, 4)
    shortest = max(2, degree + 1)
    for n in range(1, len(found.squares) + 1):
        best = min(
            sum(costs[a, b] for a, b in itertools.pairwise((0, *inner, n_cells)))
            for inner in itertools.combinations(range(1, n_cells), n - 1)
            if all(b - a >= shortest for a, b in itertools.pairwise((0, *inner, n_cells)))
        )
        assert found.squares[n - 1] == pytest.approx(best, rel=1e-6, abs=1e-9)
        breaks = found.breaks[n - 1]
        assert (breaks[0], breaks[-1], len(breaks)) == (0, n_cells, n + 1)


@pytest.mark.parametrize("n_steps", [700, 5000])
def test_cells_are_means_of_the_curve(n_steps, noisy):
    curve = noisy(n_steps)
    assert cells_of(MomentTree(curve), None).values == pytest.approx(curve.averaged(512)[1], rel=1e-9)


def test_residuals_are_those_of_least_squares():
    values, breaks = np.random.default_rng(0).normal(size=90), np.array([0, 20, 61, 90])
    for degree in range(4):
        left = residuals(values, breaks, np.full(3, degree))
        for a, b in itertools.pairwise(breaks):
            x = np.arange(b - a)
            assert left[a:b] == pytest.approx(values[a:b] - np.polyval(np.polyfit(x, values[a:b], degree), x), abs=1e-9)


def test_long_run_variance_of_a_known_process():
    """Of an autoregression with correlation r and variance 1 it is (1 + r)/(1 - r)."""
    rng = np.random.default_rng(1)
    for correlation in (0.0, 0.5, 0.8):
        shocks = rng.normal(0, np.sqrt(1 - correlation**2), 50_000)
        values = lfilter([1.0], [1.0, -correlation], shocks)
        true = (1 + correlation) / (1 - correlation)
        assert first_order(values, 1, 0, 1) == pytest.approx(true, rel=0.08)
        assert autoregressive(values, np.array([0, len(values)]), 0) == pytest.approx(true, rel=0.12)


def test_the_likelihood_of_a_level_that_wanders_is_that_of_its_covariance():
    rng = np.random.default_rng(1)
    left, counts = rng.normal(0, 2, 40), rng.random(40) > 0.2
    lags = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    by_hand = []
    for correlation, step in [(0.0, 0.0), (0.9, 0.5)]:
        covariance = (step / (1 - correlation**2) * correlation**lags + np.eye(40))[np.ix_(counts, counts)]
        squares = left[counts] @ np.linalg.solve(covariance, left[counts]) / counts.sum()
        by_hand.append(-0.5 * (counts.sum() * np.log(squares) + np.linalg.slogdet(covariance)[1]))
    assert likeliest(left, counts, np.array([0.9]), np.array([0.5])) == pytest.approx(max(by_hand), rel=1e-9)


def test_persistence_counts_following_models_with_the_break():
    models = [[], [50.0], [30.0, 50.9], [30.0, 70.0], [29.5, 50.0, 70.5]]
    # Within 1 % of a run of 100: 50 stays in the third and the last model, 30 in both that follow it.
    assert persistence(models, 100.0) == [[], [2], [2, 1], [1, 1], [0, 0, 0]]


def test_knee_of_a_curve_with_a_corner_and_without_fall_the_fewest():
    counts = list(range(1, 11))
    errors = [100 - 24 * (n - 1) if n <= 5 else 4 - 0.5 * (n - 5) for n in counts]
    assert knee(counts, errors, 1000) == 5
    assert knee([1, 2, 3], [0.0, 0.0, 0.0], 10) == 1
    assert knee([4, 5], [3.0, 1.0], 10) == 5


def test_penalty_stops_where_a_phase_gains_less_than_it_costs():
    # At 1000 steps a phase costs 2 log(1000) = 13.8: a factor of exp(-0.0138) = 0.9863 of the error.
    counts = [1, 2, 3, 4]
    assert penalty(counts, [100.0, 90.0, 88.6, 87.0], 1000) == 4
    assert penalty(counts, [100.0, 90.0, 89.0, 88.5], 1000) == 2


def test_a_processor_cycle():
    """Two processors that start work every 4 time units: 16 starts in 32."""
    curve = UtilizationCurve(np.arange(33.0), np.tile([1.0, 2.0, 1.0, 0.0], 8), n_locations=2)
    assert processor_cycle(MomentTree(curve), 2) == pytest.approx(4.0)
    assert processor_cycle(MomentTree(curve), None) == 0.0


def test_a_phase_has_the_iterations_whose_middle_lies_in_it():
    iterations = Repetition(10, 4.0, 0.0, 100.0, 180.0, "")  # with as long a time between two of them
    phases = [Phase(start, end, 0, (1.0,), 0.0) for start, end in ((0.0, 111.0), (111.0, 150.0), (150.0, 300.0))]
    assert [iterations.text_within(phase, "s") for phase in phases] == ["", "5 x 4 s", "4 x 4 s"]


@pytest.mark.parametrize("seed", range(6))
def test_noise_has_no_period(seed):
    rng = np.random.default_rng(seed)
    shocks = rng.normal(0, 1, 512)
    dips = np.zeros(512)
    dips[rng.integers(0, 512, 6)] = -9.0
    a_break = np.repeat([1.0, 5.0, 2.0, 9.0], 128)
    noise = shocks, np.cumsum(shocks), rng.standard_t(3, 512), rng.poisson(5, 512) * 1.0
    for values in (*noise, dips, dips * 0.0, a_break):
        assert period_of(values) == 0.0


def shapes_of(shapes):
    def joined(i, j):
        part = shapes[i:j]
        share = sum(s.share for s in part)
        return Shape(share, sum(s.share * s.level for s in part) / share, part[-1].level - part[0].level)

    return joined


def all_matchings(n, m):
    """Every order-preserving matching of spans of up to three with one, or of one with none."""
    if n == 0 and m == 0:
        yield []
    for k, q in [(1, 0), (0, 1), (1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]:
        if k <= n and q <= m:
            for earlier in all_matchings(n - k, m - q):
                yield [*earlier, (range(n - k, n), range(m - q, m))]


@pytest.mark.parametrize("seed", range(6))
def test_no_matching_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    runs = []
    for n in (4, 3):
        shares = rng.dirichlet(np.ones(n))
        runs.append([Shape(float(s), float(level), 0.0) for s, level in zip(shares, rng.uniform(0, 1, n), strict=True)])
    shapes = tuple(map(shapes_of, runs))

    def price(pairs):
        total = 0.0
        for one, other in pairs:
            if not one or not other:
                which, span = (0, one) if one else (1, other)
                total += 0.5 * runs[which][span[0]].share
                continue
            a, b = shapes[0](one[0], one[-1] + 1), shapes[1](other[0], other[-1] + 1)
            apart = abs(a.level - b.level) + 0.5 * abs(a.rise - b.rise) + 0.15 * abs(np.log(a.share / b.share))
            total += (apart + 0.03 * (len(one) + len(other) - 2)) * (a.share + b.share)
        return total

    pairs, cost = match_phases((4, 3), shapes)
    assert cost == pytest.approx(min(price(each) for each in all_matchings(4, 3)))
    assert price(pairs) == pytest.approx(cost)
    assert list(itertools.chain.from_iterable(pair.first for pair in pairs)) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_time_of_each_state_is_that_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 600, 150)
    end, state, edges = start + rng.integers(0, 300, 150), rng.integers(0, 4, 150), [10, 10, 11, 90, 400, 700]
    (found,) = clipped_sums(start, end, np.array(edges), [(state, 4)])
    expected = np.zeros_like(found)
    for code, first, last in zip(state, start, end, strict=True):
        for k, (low, high) in enumerate(itertools.pairwise(edges)):
            expected[k, code] += max(min(last, high) - max(first, low), 0)
    assert (found == expected).all()


def test_long_intervals_across_many_stretches_take_no_memory():
    """Pieces of 10^5 locations in 1,024 cells were 4 GB; here a thousandth of them would be 32 MB in each array."""
    start, end, codes = np.zeros(1000, np.int64), np.arange(4_000_000, 4_001_000), np.zeros(1000, np.int64)
    edges = np.arange(4001) * 1000
    tracemalloc.start()
    (sums,) = clipped_sums(start, end, edges, [(codes, 1)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sums.ravel().tolist() == [1_000_000] * 4000
    assert peak < 2_000_000


def bursts(seed, n_steps=1000):
    """Short bursts in noise: each is worth two breaks or none, which no move of one break finds."""
    rng = np.random.default_rng(seed)
    heights = 10.0 + rng.normal(0, 1, n_steps)
    for at in rng.integers(0, n_steps, 12):
        heights[at : at + int(rng.integers(1, 40))] += rng.uniform(5, 60)
    edges = np.concatenate([[0.0], np.cumsum(rng.pareto(1.2, n_steps) + 0.01)])
    return UtilizationCurve(edges, heights - heights.min()).merged()


@pytest.mark.parametrize(("seed", "degree"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_likely_edges_come_within_a_hundredth_of_the_exact_sum(monkeypatch, seed, degree):
    monkeypatch.setattr(hill_climb, "_EXACT", 0)
    curve, counts = bursts(seed), (7, 12)
    tree = MomentTree(curve)
    for exact, climbed in zip(
        *(each.sequence(curve, counts, Basis(degree)) for each in (LeastSquares(), HillClimb())), strict=True
    ):
        least, reached = (
            sum(tree.error(tree.interval(a, b), degree) for a, b in itertools.pairwise(found.breaks))
            for found in (exact, climbed)
        )
        assert least * (1 - 1e-12) <= reached <= 1.01 * least


def test_short_interval_of_a_long_curve_keeps_its_digits(exact):
    """Prefix moments lose all digits here: 20 steps at the far end of 200,000, degree 3."""
    heights = np.random.default_rng(3).integers(0, 1000, 200_000).astype(float)
    tree = MomentTree(UtilizationCurve(np.arange(200_001.0), heights))
    found = tree.error(tree.interval(199_975.5, 199_995.25), 3)
    window = slice(199_970, 200_000)
    expected = exact(list(range(199_970, 200_001)), heights[window].tolist(), 199_975.5, 199_995.25, 3)
    assert found == pytest.approx(float(expected), rel=RELATIVE)


def test_constant_curve_has_no_error_at_all():
    tree = MomentTree(UtilizationCurve(np.cumsum(np.full(1001, 0.1)), np.full(1000, 0.1)))
    assert tree.error(tree.interval(3.3, 77.7), 0) == 0.0


def test_a_run_with_fewer_phases_is_fitted_with_as_many_as_the_others():
    rng = np.random.default_rng(0)
    heights = np.repeat([14.0, 4.0, 11.0, 6.0], 100) + rng.normal(0, 0.5, (3, 400))
    curves = [UtilizationCurve(np.arange(401.0), each, "s", n_locations=16) for each in heights]
    models = [perfcore.fit(curve, phases=n) for curve, n in zip(curves, (4, 3, 4), strict=True)]
    found = agreed_models(models, "abc", lambda k, n: perfcore.fit(curves[k], phases=n))
    assert [(len(model.phases), again) for model, again in found] == [(4, False), (4, True), (4, False)]
