"""What to measure next: what it says of the draws, and by following the advice."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_scaling.advice import advice, deciding_points, expected_spread, measurable, next_point, next_points
from perf_scaling.growth import CLASSES
from perf_scaling.posterior.family import changes

LEVELS = np.array([4.0, 8, 16, 32, 64])


def fitted(values, levels=LEVELS, runs=5, noise=0.0, seed=0, **options):
    """A model of paths with known means (K, n), with normal noise; without noise, of one run."""
    runs = runs if noise else 1
    rng = np.random.default_rng(seed)
    made = np.asarray(values)[:, :, None] * (1 + noise * rng.standard_normal((len(values), len(levels), runs)))
    rows = [(p, f"f{k}", y) for k, path in enumerate(made) for p, own in zip(levels, path, strict=True) for y in own]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", **options)


@pytest.fixture(scope="module")
def narrow():
    """Linear growth, measured over a factor of 8 only."""
    levels = np.array([64.0, 128, 256, 512])
    return fitted([1 + 0.01 * levels], levels, noise=0.02)


def test_growth_that_is_not_determined_names_its_rivals_and_where_they_part(narrow):
    (found,) = advice(narrow)
    assert found.path == narrow.paths[0]
    assert len(set(found.rivals)) == 2
    assert found.text.startswith("not determined by these data: ")
    for name in found.rivals:
        assert name in found.text
        assert name in CLASSES
    assert found.here < 0.05  # what the data cannot see: at the first level, which may be of another kind, most
    if found.point is not None:
        assert found.there > 2 * 0.02 / np.sqrt(5)  # more than the noise of a mean hides


def test_gaps_come_first_then_larger_levels_then_smaller_ones():
    levels = np.array([4.0, 8, 128, 256])
    points = deciding_points(fitted([1 + levels], levels), "p").ravel().tolist()
    assert points == [32, 512, 2, 1]  # nobody measures far only to name a growth


def test_the_other_parameters_stay_at_their_largest_level():
    rows = [(p, n, p * n) for p in (1, 2, 4, 8) for n in (10.0, 20, 40, 80)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n")
    assert (deciding_points(model, "p")[:, 1] == 80).all()
    assert (deciding_points(model, "n")[:, 0] == 8).all()


def test_candidates_are_the_largest_levels_and_steps_of_two():
    model = fitted([1 + LEVELS])
    assert measurable(model, 1.0).ravel().tolist() == [64]
    assert measurable(model, 2.0).ravel().tolist() == [64, 128]
    assert measurable(model, 5.0).ravel().tolist() == [64, 128]  # neither the target, 256, nor beyond it
    rows = [(p, n, p * n) for p in (1, 2, 4, 8) for n in (10.0, 20, 40, 80)]
    two = perfcore.fit(pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n")
    assert sorted(map(tuple, measurable(two, 2.0).tolist())) == [(8, 80), (8, 160), (16, 80), (16, 160)]


def test_the_spread_now_is_the_variance_of_the_logarithm():
    model = fitted([1 + 0.2 * LEVELS**1.5, 3 + LEVELS], noise=0.1, at="p=256")
    draws = model.draws([[256.0], [64.0], [128.0], [256.0]])
    rate, deviation = changes(np.array([[LEVELS[0]]]), np.array([[LEVELS[-1]]]), np.array([[256.0]]))
    expected = np.log(draws.unchanged()[:, :, 0]).var(axis=1) + (rate * deviation**2)[0, 0]
    spread = expected_spread(model, [[64.0], [128.0], [256.0]])
    assert np.allclose(spread[:, 0], expected)
    np.testing.assert_allclose(expected_spread(model, [[64.0], [128.0], [256.0]], [1])[0], spread[1])
    # A measurement never makes it worse on average; at the target itself it leaves no more than about its own noise.
    assert (spread[:, 1:] <= spread[:, :1] * (1 + 1e-9)).all()
    assert (spread[:, 3] < spread[:, 2]).all()
    assert (spread[:, 3] < 0.5 * spread[:, 0]).all()


def test_the_point_for_all_is_that_of_the_paths_when_they_agree():
    model = fitted([1 + 0.2 * LEVELS**1.5, 3 + LEVELS], noise=0.1, at="p=256")
    assert next_points(model) == ({"p": 128.0}, {"p": 128.0})
    assert next_point(model) == {"p": 128.0}
    assert next_point(model, largest=3.0) == {"p": 192.0}


def test_following_the_advice_nearly_halves_the_error():
    """200 functions a + b n^i log2(n)^j as in the benchmark; error at n = 256 of 5 points, and of the advised sixth."""
    rng = np.random.default_rng(11)
    levels = np.array([*LEVELS, 128.0, 256.0])
    orders = [(i / 4, j) for i in range(13) for j in range(3) if (i, j) != (0, 0)]
    values = []
    for _ in range(200):
        i, j = orders[rng.integers(len(orders))]
        term = levels**i * np.log2(levels) ** j
        share = rng.uniform(0.3, 0.99) if rng.uniform() > 0.1 else 0.0
        values.append(1 - share + share * term / term[4])
    values = np.array(values)
    noisy = values[:, :, None] * (1 + 0.05 * rng.standard_normal((200, 7, 5)))

    def error(count, runs):
        rows = [(levels[i], f"f{k}", y) for k in range(200) for i in range(count) for y in runs[k, i]]
        frame = pd.DataFrame(rows, columns=["p", "function", "time_s"])
        model = perfcore.fit(frame, fitter="scaling", at="p=256")
        predicted = model.band([[256.0]], 0.95)[:, 0, 0]
        return model, np.median(np.abs(predicted / values[:, -1] - 1))

    model, before = error(5, noisy)
    assert next_point(model) == {"p": 128.0}
    _, after = error(6, noisy)
    assert after < 0.6 * before
