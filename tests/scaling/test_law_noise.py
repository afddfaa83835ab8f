"""Runs that are repeated: means, spread, and outliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_scaling.runs import runs_of


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
    assert after.variances == pytest.approx(before.variances, rel=1e-6)


def test_missing_points_have_no_mean_and_no_weight():
    values = noisy(np.random.default_rng(2), 3, 5, 4)
    values[1, :, 2] = np.nan
    values[2, 1:, 3] = np.nan
    runs = joined(values)
    assert runs.counts[1].tolist() == [5.0, 5.0, 0.0, 5.0]
    assert np.isnan(runs.means[1, 2])
    assert runs.means[2, 3] == values[2, 0, 3]
    assert runs.variances[2, 3] == 0.0


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
    assert np.sqrt(np.median(runs.variances[:, 2])) < 4 * 0.05  # not the 400 % of a run ten times as long


@pytest.mark.parametrize("n_runs", [3, 4, 5])
def test_few_paths_of_normal_noise_have_a_run_that_is_called_far(n_runs):
    """The scale comes from 15 to 25 runs, of which a tenth of the paths would have some beyond five of it."""
    runs = joined(noisy(np.random.default_rng(4), 400, n_runs, 5))
    assert (runs.outliers > 0).mean() <= 0.02


@pytest.mark.parametrize("n_runs", [3, 5, 10])
def test_variance_is_unbiased(n_runs):
    """Of 400 paths x 5 points the mean variance is known to 3 %."""
    runs = joined(noisy(np.random.default_rng(5), 400, n_runs, 5, noise=0.05))
    # Relative to the mean of the runs: its own noise matters to second order, 0.05^2.
    assert runs.variances.mean() == pytest.approx(0.05**2, rel=0.04)
