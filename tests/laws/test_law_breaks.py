"""Breaks in scaling laws: found where they are, invented nowhere."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy import integrate, special

from perf_laws.breaks.kernels import weigh_segmentations
from perf_laws.breaks.search import find_breaks
from perf_laws.evidence.hypotheses import hypotheses_of
from perf_laws.evidence.noise import runs_of
from perf_laws.evidence.posterior import fit_laws
from perf_laws.evidence.terms import generic_terms

POINTS = 2.0 ** np.arange(1, 11)


def breaks_of(points, truth, *, noise, runs=5, seed=0, missing=None, scatter=0.0):
    """Breaks of paths whose means are `truth` (K, n)."""
    rng = np.random.default_rng(seed)
    n_paths, n = truth.shape
    drawn = truth[:, :, None] * (1.0 + scatter * rng.standard_normal((n_paths, n, 1)))
    drawn = drawn * (1.0 + noise * rng.standard_normal((n_paths, n, runs)))
    path, point, _ = np.indices(drawn.shape).reshape(3, -1)
    met = np.ones((n_paths, n), dtype=bool) if missing is None else ~missing
    kept = met[path, point]
    joined = runs_of(path[kept], point[kept], drawn.ravel()[kept], (n_paths, n))
    hypotheses = hypotheses_of(points[:, None])
    return find_breaks(points, joined, fit_laws(joined, hypotheses), hypotheses)


def single_laws(count, seed):
    """A constant and one generic term, whose share at the largest point is 0.3 to 0.99; every fifth a constant."""
    rng = np.random.default_rng(seed)
    terms = generic_terms()
    found = np.ones((count, len(POINTS)))
    for k in range(count):
        if k % 5:
            share, values = rng.uniform(0.3, 0.99), terms[rng.integers(len(terms))].values(POINTS)
            found[k] = 1.0 - share + share * values / values.max()
    return found


def test_a_jump_is_found_where_it_is():
    """Time for each element rises by half once the data leave the cache."""
    truth = np.tile(3.0 * POINTS, (20, 1)) * np.where(POINTS > 64.0, 1.5, 1.0)
    found = breaks_of(POINTS, truth, noise=0.02)
    assert found.count.tolist() == [1] * 20
    assert found.places[:, 0] == pytest.approx(math.sqrt(64.0 * 128.0))
    assert np.isnan(found.places[:, 1:]).all()
    assert (found.probability > 0.95).all()


def test_a_change_of_slope_is_found_beside_its_place():
    """From n to n^1.5 without a jump: the point where both meet may belong to either side."""
    truth = np.tile(np.where(POINTS <= 32.0, POINTS, 32.0 * (POINTS / 32.0) ** 1.5), (20, 1))
    found = breaks_of(POINTS, truth, noise=0.02)
    assert (found.count == 1).sum() >= 18
    assert np.abs(found.begins[found.count == 1, 0] - 5).max() <= 1


def test_two_breaks_are_both_found():
    points = 2.0 ** np.arange(1, 15)
    truth = np.tile(points, (20, 1)) * np.where(points > 16.0, 1.5, 1.0) * np.where(points > 512.0, 2.0, 1.0)
    found = breaks_of(points, truth, noise=0.01)
    assert found.count.tolist() == [2] * 20
    assert found.begins[:, :2].tolist() == [[4, 9]] * 20


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("runs", [1, 5])
def test_no_break_is_invented(noise, runs):
    """Fewer than 2 % of paths that follow one law."""
    found = breaks_of(POINTS, single_laws(300, seed=1), noise=noise, runs=runs)
    assert (found.count > 0).mean() < 0.02


def test_scatter_between_points_is_no_break():
    """Runs agree to 1 %, but points are off by 8 %: not what segments could explain."""
    found = breaks_of(POINTS, single_laws(200, seed=2), noise=0.01, scatter=0.08)
    assert (found.count > 0).mean() < 0.02


def test_a_curve_that_bends_has_no_break():
    """Division of work, a sum over processors and a square: no single term, but smooth."""
    truth = np.tile(1000.0 / POINTS + 2.0 * POINTS + 0.01 * POINTS**2, (50, 1))
    assert breaks_of(POINTS, truth, noise=0.01).count.sum() == 0


def test_missing_points():
    """The break lies between the points that were measured; too few of them have none."""
    truth = np.tile(POINTS, (3, 1)) * np.where(POINTS > 64.0, 3.0, 1.0)
    missing = np.zeros(truth.shape, dtype=bool)
    missing[1, 6] = True  # n = 128, the first behind the break
    missing[2, :4] = True
    found = breaks_of(POINTS, truth, noise=0.01, missing=missing)
    assert found.count.tolist() == [1, 1, 0]
    assert found.places[:2, 0] == pytest.approx(np.sqrt([64.0 * 128.0, 64.0 * 256.0]))
    assert found.probability[2] == 0.0


def test_fewer_than_seven_points_have_no_break():
    points = POINTS[:6]
    truth = np.tile(points, (5, 1)) * np.where(points > 8.0, 5.0, 1.0)
    assert breaks_of(points, truth, noise=0.01).count.sum() == 0


def test_points_must_increase():
    with pytest.raises(ValueError, match="increasing"):
        breaks_of(POINTS[::-1].copy(), np.ones((1, 10)), noise=0.01)


def test_segments_have_the_laws_of_their_side():
    """A constant up to 64 and n beyond: the last segment's law predicts beyond the range."""
    truth = np.tile(np.where(POINTS <= 64.0, 100.0, POINTS), (10, 1))
    found = breaks_of(POINTS, truth, noise=0.01)
    assert found.count.tolist() == [1] * 10
    assert {(part.begin, part.end) for part in found.segments} == {(0, 6), (6, 10)}
    first, last = found.segments
    assert first.paths.tolist() == last.paths.tolist() == list(range(10))
    for part in found.segments:
        assert part.laws.probability.sum(axis=1) == pytest.approx(np.ones(10))
        assert part.laws.root_weights.shape == (10, part.end - part.begin)
        assert part.hypotheses.columns.max(axis=1) == pytest.approx(np.ones(len(part.hypotheses.terms)))
    constant = np.flatnonzero((first.hypotheses.members < 0).all(axis=1))
    assert (first.laws.kept[:, 0] == constant).mean() >= 0.8
    rising = [last.hypotheses.terms[last.hypotheses.members[law, 0]][0][1] for law in last.laws.kept[:, 0]]
    assert np.median([float(term.exponent) + term.logarithm / 5.0 for term in rising]) == pytest.approx(1.0, abs=0.2)


def test_evidence_is_the_integral_over_all_coefficients():
    """Two segments of three points by brute force: numerical integrals over the coefficients of each law."""
    points = np.arange(1.0, 7.0)
    means, noise = np.array([[1.0, 1.1, 1.2, 3.0, 4.1, 5.0]]), 0.1
    columns, prior = (points / 6.0)[None, :], np.log([0.3, 0.7])
    shape = (1, 1)
    evidence, share, likeliest = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int64)
    begins = np.empty((1, 1, 1), dtype=np.int64)
    weigh_segmentations(
        means, 1.0 / means, columns, prior, np.array([[noise]]), np.zeros(1), -1.0, evidence, share, likeliest, begins
    )

    def brute(own):
        y, x = means[0, own], columns[0, own] / columns[0, own].max()
        deviation = noise * y

        def likelihood(*coefficients):
            law = coefficients[0] + (coefficients[1] * x if len(coefficients) > 1 else 0.0)
            # Without the factors that all segmentations share.
            return math.exp(-0.5 * (((y - law) / deviation) ** 2).sum()) * noise ** -len(y)

        level, _ = integrate.quad(lambda c: likelihood(c) / c, 1e-9, 3.0 * y.max(), points=[y.mean()], limit=200)
        pair, _ = integrate.dblquad(
            lambda a, b: likelihood(a, b) / (a + b) ** 2, 0.0, 2.0 * y.max(), 1e-9, 2.0 * y.max(), epsabs=1e-4
        )
        return 0.3 * level + 0.7 * pair

    expected = math.log(brute(slice(0, 3)) * brute(slice(3, 6))) - 1.0
    # Cutting off coefficients below 0 one after the other costs some percent.
    assert evidence[0, 0] == pytest.approx(expected, abs=0.2)
    assert begins[0, 0, 0] == 3
    assert share[0, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("breaks", [1, 2])
def test_dynamic_programme_equals_the_sum_over_all_segmentations(breaks):
    """Segments with constants alone, whose evidence is an integral over one number; every segmentation by hand."""
    rng = np.random.default_rng(4)
    n, noise = 11, 0.1
    means = rng.uniform(1.0, 1.3, n) * np.where(np.arange(n) > 4, 2.0, 1.0)
    evidence, share = np.empty((1, breaks)), np.empty((1, breaks))
    likeliest, begins = np.empty((1, breaks), dtype=np.int64), np.empty((1, breaks, breaks), dtype=np.int64)
    weigh_segmentations(
        means[None], 1.0 / means[None], np.empty((0, n)), np.zeros(1), np.array([[noise]]), np.zeros(1), -1.0,
        evidence, share, likeliest, begins,
    )  # fmt: skip

    def of_segment(y):
        def likelihood(level):
            return math.exp(-0.5 * ((1.0 - level / y) ** 2).sum() / noise**2) * noise ** -len(y) / level

        return integrate.quad(likelihood, 0.2, 6.0, points=[y.min(), y.max()], limit=200)[0]

    ways = [cut for cut in itertools.combinations(range(3, n - 2), breaks) if min(np.diff([0, *cut, n])) >= 3]
    by_hand = [sum(math.log(of_segment(y)) for y in np.split(means, cut)) - breaks for cut in ways]
    # Of 1 / c only the value at the middle counts, an error of the squared noise for each segment.
    assert evidence[0, breaks - 1] == pytest.approx(special.logsumexp(by_hand) - math.log(len(ways)), abs=0.03)
    assert tuple(begins[0, breaks - 1]) == ways[int(np.argmax(by_hand))]


def test_five_thousand_paths_take_about_a_second():
    """Of processor time; ten points, five runs."""
    truth = np.tile(single_laws(500, seed=3), (10, 1))
    breaks_of(POINTS, truth[:10], noise=0.05)  # compiles
    rng = np.random.default_rng(5)
    drawn = truth[:, :, None] * (1.0 + 0.05 * rng.standard_normal((5000, 10, 5)))
    path, point, _ = np.indices(drawn.shape).reshape(3, -1)
    joined = runs_of(path, point, drawn.ravel(), (5000, 10))
    hypotheses = hypotheses_of(POINTS[:, None])
    laws = fit_laws(joined, hypotheses)
    started = time.process_time()
    find_breaks(POINTS, joined, laws, hypotheses)
    assert time.process_time() - started < 3.0
