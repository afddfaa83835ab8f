"""Noise from repetitions: means, outliers, and what paths say about each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_laws.evidence.noise import common_variance, noise_of, runs_of


def joined(values):
    """Runs from an array (K, runs, n), NaN where there was none."""
    values = np.asarray(values, dtype=float)
    n_paths, _, n = values.shape
    path, _, point = np.indices(values.shape)
    there = np.isfinite(values)
    return runs_of(path[there], point[there], values[there], (n_paths, n))


def noisy(rng, n_paths, n_runs, n, noise=0.05):
    level = np.exp(rng.normal(0.0, 2.0, (n_paths, 1, n)))
    return level * (1.0 + noise * rng.standard_normal((n_paths, n_runs, n)))


def test_means_counts_and_variances_are_those_of_numpy():
    """With two runs nothing is an outlier."""
    values = noisy(np.random.default_rng(0), 20, 2, 4)
    runs = joined(values)
    assert runs.means == pytest.approx(values.mean(axis=1), rel=1e-12)
    assert (runs.counts == 2.0).all()
    assert runs.variances == pytest.approx(values.var(axis=1, ddof=1) / values.mean(axis=1) ** 2, rel=1e-9)
    assert not runs.outliers.any()


def test_runs_in_any_order():
    rng = np.random.default_rng(1)
    values = noisy(rng, 6, 5, 4)
    path, _, point = (index.ravel() for index in np.indices(values.shape))
    order = rng.permutation(values.size)
    before = runs_of(path, point, values.ravel(), (6, 4))
    after = runs_of(path[order], point[order], values.ravel()[order], (6, 4))
    assert after.means == pytest.approx(before.means, rel=1e-12)
    assert after.variances == pytest.approx(before.variances, rel=1e-9)
    assert np.array_equal(after.outliers, before.outliers)


@given(factor=st.floats(1e-9, 1e9), seed=st.integers(0, 1000), n_runs=st.integers(1, 6))
@settings(deadline=None, max_examples=30)
def test_the_unit_of_the_values_does_not_matter(factor, seed, n_runs):
    values = noisy(np.random.default_rng(seed), 5, n_runs, 4)
    before, after = joined(values), joined(factor * values)
    assert after.means == pytest.approx(factor * before.means, rel=1e-9)
    assert after.counts == pytest.approx(before.counts, rel=1e-9)
    for own, other in zip(noise_of(before), noise_of(after), strict=True):
        assert other == pytest.approx(own, rel=1e-6)


def test_missing_points_have_no_mean_and_no_weight():
    values = noisy(np.random.default_rng(2), 3, 5, 4)
    values[1, :, 2] = np.nan
    values[2, 1:, 3] = np.nan
    runs = joined(values)
    assert runs.counts[1].tolist() == [5.0, 5.0, 0.0, 5.0]
    assert np.isnan(runs.means[1, 2])
    assert runs.means[2, 3] == values[2, 0, 3]
    assert runs.variances[2, 3] == 0.0
    roots = noise_of(runs)[2]
    assert roots[1, 2] == 0.0
    assert (np.delete(roots[1], 2) > 0.0).all()


def test_one_outlier_among_five_runs_has_little_influence():
    """A run of ten times the value moves the plain mean by 180 %."""
    values = noisy(np.random.default_rng(3), 200, 5, 5, noise=0.05)
    clean = joined(values).means[:, 2]
    values[:, 1, 2] *= 10.0
    runs = joined(values)
    assert (runs.outliers >= 1).all()
    moved = runs.means[:, 2] / clean - 1.0
    # The run counts as if it were at about the limit: five deviations, of which a fifth is 5 % as the noise is.
    assert np.median(np.abs(moved)) < 0.08
    assert np.abs(moved).max() < 0.25
    assert runs.counts[:, 2].max() < 4.3
    assert (np.delete(runs.counts, 2, axis=1) > 4.0).all()


def test_few_runs_of_normal_noise_are_taken_for_outliers():
    """The scale comes from 25 runs and is uncertain by a fifth: five of it may be three, and 0.3 % are beyond that."""
    runs = joined(noisy(np.random.default_rng(4), 400, 5, 5))
    assert runs.outliers.sum() <= 0.005 * 400 * 25


@pytest.mark.parametrize("n_runs", [3, 5, 10])
def test_variance_is_unbiased(n_runs):
    """Of 400 paths x 5 points the mean variance is known to 3 %."""
    runs = joined(noisy(np.random.default_rng(5), 400, n_runs, 5, noise=0.05))
    # Relative to the mean of the runs: its own noise matters to second order, 0.05^2.
    assert runs.variances.mean() == pytest.approx(0.05**2, rel=0.04)


def test_weights_are_those_of_the_means():
    """Four times the runs: half the deviation, where all points are equally noisy."""
    values = noisy(np.random.default_rng(6), 300, 16, 2, noise=0.05)
    values[:, 4:, 0] = np.nan
    roots = noise_of(joined(values))[2]
    assert np.median(roots[:, 1] / roots[:, 0]) == pytest.approx(2.0, rel=0.05)


def test_a_noisy_point_weighs_less():
    rng = np.random.default_rng(7)
    values = 1.0 + np.array([0.02, 0.02, 0.02, 0.02, 0.3]) * rng.standard_normal((50, 10, 5))
    roots = noise_of(joined(values))[2]
    assert (roots[:, 4] < roots[:, :4].min(axis=1)).mean() > 0.9


@pytest.mark.parametrize("n_runs", [1, 2, 5])
def test_identical_runs(n_runs):
    """No spread at all: what is known beforehand remains, and nothing is infinite."""
    runs = joined(np.tile([[[3.0, 5.0, 7.0]]], (20, n_runs, 1)))
    assert (runs.variances == 0.0).all()
    assert not runs.outliers.any()
    within, freedom, roots = noise_of(runs)
    assert (within > 0.0).all()
    assert freedom == pytest.approx(3.0 * (n_runs - 1) + 1.0)
    assert np.isfinite(roots).all()
    assert roots == pytest.approx(roots[0, 0])


def test_one_run_says_nothing_of_the_noise():
    within, freedom, roots = noise_of(joined(noisy(np.random.default_rng(8), 50, 1, 5)))
    assert np.ptp(within) == np.ptp(freedom) == 0.0
    assert roots == pytest.approx(1.0)


def test_a_path_with_one_run_learns_from_the_others():
    values = noisy(np.random.default_rng(9), 200, 5, 5, noise=0.1)
    values[0, 1:] = np.nan
    within, freedom, _ = noise_of(joined(values))
    assert within[0] / freedom[0] == pytest.approx(0.1**2, rel=0.1)


def scaled_inverse_chi(rng, size, known, shared, freedom):
    """Variances estimated from `freedom` squares each; the true ones are drawn as Smyth's model has them (eq. 2)."""
    true = known * shared / rng.chisquare(known, size)
    return true * rng.chisquare(freedom, size) / freedom


@pytest.mark.parametrize("known", [2.0, 4.0, 10.0, 40.0])
@pytest.mark.parametrize("freedom", [4, 20])
def test_common_variance_of_drawn_variances(known, freedom):
    """The moments of Smyth (2004), section 6.2, over 20,000 paths.

    Where much more is known than was measured, little shows how paths differ.
    """
    rng = np.random.default_rng(int(10 * known) + freedom)
    drawn = scaled_inverse_chi(rng, 20_000, known, 0.0025, freedom)
    shared, found = common_variance(drawn, np.full(20_000, float(freedom)))
    assert shared == pytest.approx(0.0025, rel=0.05)
    assert found == pytest.approx(known, rel=0.25 if known > freedom else 0.1)


def test_paths_of_equal_noise_share_it_wholly():
    rng = np.random.default_rng(10)
    drawn = 0.01 * rng.chisquare(4, 5000) / 4
    shared, known = common_variance(drawn, np.full(5000, 4.0))
    assert shared == pytest.approx(0.01, rel=0.05)
    assert known > 50.0


def test_freedoms_may_differ():
    rng = np.random.default_rng(11)
    freedom = rng.choice([1.0, 4.0, 16.0], 30_000)
    drawn = scaled_inverse_chi(rng, 30_000, 8.0, 0.04, freedom)
    shared, known = common_variance(drawn, freedom)
    assert shared == pytest.approx(0.04, rel=0.05)
    assert known == pytest.approx(8.0, rel=0.2)


def test_shrinkage_brings_variances_nearer_to_the_truth():
    """The reason to do it: the mean squared error of the logarithm falls."""
    rng = np.random.default_rng(12)
    noise = 0.05 * np.sqrt(8.0 / rng.chisquare(8.0, 500))
    values = 1.0 + noise[:, None, None] * rng.standard_normal((500, 3, 4))
    runs = joined(values)
    within, freedom, _ = noise_of(runs)
    alone, shrunk = (np.log(v / noise**2) for v in (runs.variances.mean(axis=1), within / freedom))
    assert (shrunk**2).mean() < 0.75 * (alone**2).mean()


def test_too_few_paths_have_nothing_in_common():
    assert common_variance(np.full(5, 0.3), np.full(5, 20.0)) == common_variance(np.empty(0), np.empty(0))
