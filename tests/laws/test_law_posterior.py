"""Laws of many paths: the truth is found, probabilities are what they say, and nothing depends on what it must not."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_laws.evidence.hypotheses import hypotheses_of
from perf_laws.evidence.noise import Runs, runs_of
from perf_laws.evidence.posterior import fit_laws

N = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
GRID = np.array(list(itertools.product(N, repeat=2)))
LAWS = hypotheses_of(N[:, None])


@pytest.fixture(scope="module")
def laws_of_two():
    return hypotheses_of(GRID)


def joined(values):
    """Runs from an array (K, runs, n), NaN where there was none."""
    path, _, point = np.indices(values.shape)
    there = np.isfinite(values)
    return runs_of(path[there], point[there], values[there], (values.shape[0], values.shape[2]))


def measured(truth, noise, n_runs=5, seed=0):
    """Runs of curves (K, n), with noise relative to them."""
    truth = np.atleast_2d(truth)
    shape = (len(truth), n_runs, truth.shape[1])
    return joined(truth[:, None] * (1.0 + noise * np.random.default_rng(seed).standard_normal(shape)))


def drawn(laws, n_paths, rng):
    """Laws and their coefficients, drawn from the prior; the sum of the coefficients is 1."""
    law = rng.choice(len(laws), n_paths, p=np.exp(laws.log_prior))
    curves = []
    for members in laws.members[law]:
        shares = rng.dirichlet(np.ones((members >= 0).sum() + 1))
        curves.append(shares[0] + shares[1:] @ laws.columns[members[members >= 0]])
    return law, np.array(curves)


def text(laws, law, symbols="nr"):
    """A law without its coefficients, ``1/n + r*log2(r)``."""
    columns = [laws.terms[f] for f in laws.members[law] if f >= 0]
    return " + ".join("*".join(term.text(symbols[p]) for p, term in column) for column in columns) or "constant"


def by_text(laws, found, path):
    return {
        text(laws, law): p
        for law, p in zip(found.kept[path].tolist(), found.probability[path].tolist(), strict=True)
        if law >= 0
    }


def by_number(laws, found):
    """Probabilities (K, H) of the laws that have more than 2 %; of rarer ones only some are kept, for the others."""
    table = np.zeros((len(found.kept), len(laws)))
    for row, kept, probability in zip(table, found.kept, found.probability, strict=True):
        row[kept[probability > 0.02]] = probability[probability > 0.02]
    return table


def assert_alike(one, other, tolerance):
    """Alike but for laws that have 2 % in one and a little less in the other."""
    assert np.abs(one - other)[(one > 0.02 + tolerance) | (other > 0.02 + tolerance)].max(initial=0.0) <= tolerance


EXACT = {
    "constant": np.full(5, 5.0),
    "1/n": 10.0 + 1000.0 / N,
    "n*log2(n)": 3.0 + 2.0 * N * np.log2(N),
    "log2(n)": 1.0 + np.log2(N),
    "log2(n)^2": 7.0 + np.log2(N) ** 2,
    "n": 1e-9 * (3.0 + N),
    "n^3": 1.0 + 1e-3 * N**3,
    "1/n^(1/2)": 4.0 / np.sqrt(N),
    "n^(4/3)": 100.0 + N ** (4 / 3),
    "1/n + n": 8.0 / N + 0.1 * N,
    "1/n + log2(n)": 64.0 / N + np.log2(N),
}


@pytest.mark.parametrize("law", EXACT)
def test_exact_data_get_their_law(law):
    """1 % is the noise that is taken for possible where there is no spread; what looks alike in that keeps a part."""
    found = fit_laws(measured(EXACT[law], 0.0), LAWS)
    assert by_text(LAWS, found, 0)[law] > 0.9
    assert not found.scattered[0]


@pytest.mark.parametrize("law", ["constant", "1/n", "n*log2(n)", "1/n + n"])
@pytest.mark.parametrize("n_runs", [1, 2])
def test_one_run_of_exact_data_is_enough(law, n_runs):
    found = fit_laws(measured(EXACT[law], 0.0, n_runs), LAWS)
    assert next(iter(by_text(LAWS, found, 0))) == law


@given(factor=st.floats(1e-12, 1e12), seed=st.integers(0, 1000), n_runs=st.integers(1, 5))
@settings(deadline=None, max_examples=25)
def test_the_unit_of_the_values_does_not_matter(factor, seed, n_runs):
    truth = drawn(LAWS, 4, np.random.default_rng(seed))[1]
    before, after = (fit_laws(measured(unit * truth, 0.1, n_runs, seed), LAWS) for unit in (1.0, factor))
    assert_alike(by_number(LAWS, after), by_number(LAWS, before), 0.01)
    assert after.freedom == pytest.approx(before.freedom, rel=1e-6)
    assert after.within == pytest.approx(before.within, rel=1e-6)


@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=15)
def test_order_of_points_and_paths_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    runs = measured(drawn(LAWS, 6, rng)[1], 0.1, 5, seed)
    point, path = rng.permutation(5), rng.permutation(6)
    mixed = Runs(*(a[path][:, point] for a in (runs.means, runs.counts, runs.variances)), runs.outliers[path])
    before, after = fit_laws(runs, LAWS), fit_laws(mixed, hypotheses_of(N[point][:, None]))
    assert_alike(by_number(LAWS, after), by_number(LAWS, before)[path], 0.01)
    assert after.scattered.tolist() == before.scattered[path].tolist()


def test_one_path_is_weighed_as_among_others():
    """Few paths have no noise in common, so each is on its own."""
    runs = measured(drawn(LAWS, 5, np.random.default_rng(1))[1], 0.05, 5)
    together = fit_laws(runs, LAWS)
    for k in range(5):
        alone = fit_laws(Runs(*(getattr(runs, f.name)[k : k + 1] for f in dataclasses.fields(Runs))), LAWS)
        assert alone.kept[0].tolist() == [law for law in together.kept[k].tolist() if law >= 0]
        assert alone.probability[0] == pytest.approx(together.probability[k][: len(alone.probability[0])], abs=1e-9)


@pytest.mark.parametrize("missing", range(5))
@pytest.mark.parametrize("curve", [3.0 + N, 10.0 + 1000.0 / N], ids=["rising", "falling"])
def test_a_path_measured_at_fewer_points_is_as_if_there_were_no_others(missing, curve):
    """Exactly so, but at the ends, where terms are largest: shares are those of the largest values at all points."""
    rng = np.random.default_rng(2)
    wide, narrow = (hypotheses_of(n[:, None], logarithms=(0,)) for n in (N, np.delete(N, missing)))
    values = curve * (1.0 + 0.05 * rng.standard_normal((3, 5, 5)))
    gap = values.copy()
    gap[:, :, missing] = np.nan
    with_gap, without = fit_laws(joined(gap), wide), fit_laws(joined(np.delete(values, missing, axis=2)), narrow)
    assert_alike(by_number(wide, with_gap), by_number(narrow, without), 0.15 if missing in (0, 4) else 1e-9)
    assert (with_gap.root_weights[:, missing] == 0.0).all()


def test_points_without_runs_may_be_anywhere():
    """No NaN comes out, whichever single point is missing."""
    values = np.tile((10.0 + 1000.0 / N) * np.ones((1, 5, 1)), (5, 1, 1))
    for k in range(5):
        values[k, :, k] = np.nan
    found = fit_laws(joined(values), LAWS)
    assert [next(iter(by_text(LAWS, found, k))) for k in range(5)] == ["1/n"] * 5
    assert np.isfinite(found.probability).all()
    assert ((found.root_weights == 0.0) == np.eye(5, dtype=bool)).all()


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.2])
def test_probabilities_are_calibrated(noise):
    """Laws and coefficients drawn from the prior: of what is said to have probability 0.3, some 30 % are true.

    1,500 paths; three standard deviations of the counts. Rare laws that are kept stand for others, so that they count
    as one part in 256 though few of them are true: those are tested together.
    """
    rng = np.random.default_rng(3)
    law, truth = drawn(LAWS, 1500, rng)
    found = fit_laws(measured(truth, noise, 5, seed=4), LAWS)
    said = found.probability[found.kept >= 0]
    true = (found.kept == law[:, None])[found.kept >= 0]
    for low, high in itertools.pairwise([0.0, 0.02, 0.1, 0.25, 0.5, 0.8, 1.0 + 1e-9]):
        some = (said >= low) & (said < high)
        bound = 3.0 * np.sqrt((said[some] * (1.0 - said[some])).sum()) / some.sum()
        assert true[some].mean() == pytest.approx(said[some].mean(), abs=bound + 0.002)
    # Where noise is what was drawn, hardly any path is said to have more.
    assert found.scattered.mean() < 0.03
    assert np.median(found.within / found.freedom) == pytest.approx(noise**2, rel=0.1)


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_constants_are_recognised(noise):
    found = fit_laws(measured(np.full((300, 5), 7.0), noise, 5, seed=5), LAWS)
    constant = np.array([by_text(LAWS, found, k).get("constant", 0.0) for k in range(300)])
    assert (constant > 0.5).mean() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_falling_and_rising_laws_are_not_confused(seed):
    for curve, falls in ((10.0 + 1000.0 / N, True), (10.0 + N, False)):
        found = fit_laws(measured(curve, 0.05, 5, seed), LAWS)
        laws = LAWS.members[found.kept[0][found.kept[0] >= 0]]
        single = laws[(laws >= 0).sum(axis=1) == 1][:, 0]
        assert len(single)
        assert all(LAWS.terms[f][0][1].falls == falls or LAWS.terms[f][0][1].slope(16.0) == 0.0 for f in single)


def test_points_that_miss_every_law_have_the_noise_of_their_misses():
    """Runs agree to 0.1 %, points are off by 30 % up and down: no law of a constant and a term explains that."""
    zigzag = np.array([1.0, 1.5, 1.0, 1.5, 1.0]) * 10.0
    found = fit_laws(measured(np.stack([zigzag, np.full(5, 10.0)]), 1e-3, 5, seed=6), LAWS)
    assert found.scattered.tolist() == [True, False]
    # What the repetitions said is set aside, so that the misses decide; each point counts alike, relative to its mean.
    assert found.freedom[0] < 5.0 < found.freedom[1]
    relative = found.root_weights[0] * zigzag
    assert relative.max() < 2.5 * relative.min()


def test_scatter_between_points_is_found_over_many_paths():
    """Runs agree to 1 %, points scatter by 10 % about their law."""
    rng = np.random.default_rng(7)
    truth = (3.0 + N) * (1.0 + 0.1 * rng.standard_normal((200, 5)))
    found = fit_laws(measured(truth, 0.01, 5, seed=8), LAWS)
    assert found.scattered.mean() > 0.9
    own = found.within[found.scattered] / found.freedom[found.scattered]
    assert np.median(np.sqrt(own)) == pytest.approx(0.1, rel=0.25)


def test_two_parameters_at_low_noise(laws_of_two):
    n, r = GRID.T
    truths = {
        "constant": np.full(25, 3.0),
        "n": 5.0 + n,
        "r*log2(r)": 10.0 + r * np.log2(r),
        "n + r^2": 20.0 + 3.0 * n + 0.1 * r**2,
        "n*r": 10.0 + n * r,
        "n^2*log2(r)": 100.0 + n**2 * np.log2(r),
        "1/n*r": 0.5 + r / n,
    }
    found = fit_laws(measured(np.stack(list(truths.values())), 0.005, 5, seed=9), laws_of_two)
    for path, law in enumerate(truths):
        assert by_text(laws_of_two, found, path).get(law, 0.0) > 0.5


@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_cells_of_laws_find_what_all_laws_find(laws_of_two, noise):
    """Two parameters: against weighing each of some 10,000 laws, which is what cells are there to save."""
    every = dataclasses.replace(
        laws_of_two,
        coarse=np.arange(len(laws_of_two)),
        finer=np.empty((len(laws_of_two), 0), dtype=np.int64),
    )
    truth = drawn(laws_of_two, 40, np.random.default_rng(10))[1]
    runs = measured(truth, noise, 5, seed=11)
    some, all_of_them = (by_number(laws_of_two, fit_laws(runs, laws)) for laws in (laws_of_two, every))
    missed = (all_of_them * (some == 0.0)).sum(axis=1)
    assert np.mean(missed) < 0.03
    assert (missed > 0.3).sum() <= 1


def test_kept_laws_are_ordered_and_their_probabilities_sum_to_one():
    found = fit_laws(measured(drawn(LAWS, 100, np.random.default_rng(12))[1], 0.1, 5, seed=13), LAWS)
    assert found.probability.sum(axis=1) == pytest.approx(1.0)
    assert (np.diff(found.probability, axis=1) <= 0.0).all()
    assert ((found.kept >= 0) == (found.probability > 0.0)).all()
    for kept in found.kept:
        own = kept[kept >= 0]
        assert len(set(own.tolist())) == len(own)


@pytest.mark.parametrize(
    ("levels", "law"),
    [
        ([1.0, 2.0, 4.0, 8.0, 16.0], "log2(n)"),
        ([1.0, 2.0, 4.0, 8.0, 16.0], "1/n"),
        ([0.25, 0.5, 1.0, 2.0, 4.0], "n"),
        ([1e12, 2e12, 4e12, 8e12, 16e12], "n"),
        ([1e12, 2e12, 4e12, 8e12, 16e12], "1/n"),
        ([1e12, 2.0, 1e3, 1e9, 1e6], "n*log2(n)"),
    ],
)
def test_unusual_levels(levels, law):
    n = np.array(levels)
    laws = hypotheses_of(n[:, None])
    (term,) = (term for ((_, term),) in laws.terms if term.text("n") == law)
    column = term.values(n)
    found = fit_laws(measured(0.1 * np.median(column) + column, 0.0), laws)
    assert by_text(laws, found, 0)[law] > 0.9


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_narrow_range_gives_finite_probabilities(noise):
    n = np.array([1000.0, 1001.0, 1002.0, 1003.0, 1004.0])
    laws = hypotheses_of(n[:, None])
    found = fit_laws(measured(n**2, noise), laws)
    assert found.probability.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(found.root_weights).all()
