"""Weighted draws: quantiles and draws of equal weight, against numpy's and against draws that are repeated."""

import numpy as np
import pytest

from perf_laws.draws.draws import Draws, equally_probable, quantiles

LEVELS = [0.5, 0.025, 0.975, 0.0, 1.0]


@pytest.fixture
def values():
    return np.random.default_rng(0).lognormal(size=(7, 64, 3))


def weights_of(shape, seed=1):
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=1, keepdims=True)


def test_of_equal_weights_quantiles_are_hazens(values):
    """Draws stand at (i - 1/2) / n, which numpy calls hazen."""
    found = quantiles(values, np.full((7, 64), 1 / 64), LEVELS)
    np.testing.assert_allclose(found, np.quantile(values, LEVELS, axis=1, method="hazen").transpose(1, 2, 0))


def test_of_other_weights_quantiles_lie_between_the_middles_of_the_weights(values):
    weights = weights_of((7, 64))
    found = quantiles(values, weights, LEVELS)
    for k in range(7):
        for place in range(3):
            order = np.argsort(values[k, :, place])
            middle = np.cumsum(weights[k, order]) - 0.5 * weights[k, order]
            expected = np.interp(LEVELS, middle, values[k, order, place])
            np.testing.assert_allclose(found[k, place], expected, rtol=1e-9)


def test_a_draw_without_weight_does_not_count():
    values = np.array([[[5.0], [1.0], [1.0], [9.0]]])
    assert quantiles(values, np.array([[0.0, 0.5, 0.5, 0.0]]), [0.5]).item() == 1.0


def test_a_draw_is_repeated_as_often_as_its_weight_asks_for():
    rng = np.random.default_rng(2)
    repeats, values = rng.integers(0, 5, (6, 20)), rng.normal(size=(6, 20, 2))
    repeats[:, 0] += 60 - repeats.sum(axis=1)
    found = equally_probable(values, repeats / 60, 60)
    own = Draws(values, np.zeros((6, 20)), repeats / 60).of_equal_weight()
    for k in range(6):
        expected = np.repeat(values[k], repeats[k], axis=0)
        np.testing.assert_array_equal(found[k], np.sort(expected, axis=0).T)
        counts = np.bincount(own[k], minlength=20)
        assert np.abs(counts - repeats[k] / 3).max() < 1.0  # 20 of 60


def test_what_threads_take_apart_is_the_same_as_each_alone(values):
    weights = weights_of((7, 64))
    together = equally_probable(values, weights, 16)
    alone = [equally_probable(values[[k]], weights[[k]], 16)[0] for k in range(7)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(
        quantiles(values, weights, LEVELS)[3], quantiles(values[[3]], weights[[3]], LEVELS)[0]
    )
