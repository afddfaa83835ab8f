"""Draws of equal weight, against numpy's quantiles."""

import numpy as np

from perf_scaling.posterior.posterior import equally_probable


def test_fewer_draws_stand_at_the_middles_of_as_many_probabilities():
    values = np.random.default_rng(0).lognormal(size=(7, 64, 3))
    found = equally_probable(values, 16)
    expected = np.quantile(values, (np.arange(16) + 0.5) / 16, axis=1, method="hazen")
    np.testing.assert_allclose(found, expected.transpose(1, 2, 0))


def test_as_many_draws_are_sorted_only():
    values = np.random.default_rng(1).normal(size=(2, 32))
    np.testing.assert_allclose(equally_probable(values, 32), np.sort(values, axis=1))
