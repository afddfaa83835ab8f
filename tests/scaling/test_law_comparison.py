"""Versions of a program by their scaling laws: what changed is found, what did not gives no alarm; series apart."""

import msgspec
import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_gate.comparison import probability_above, ratio_bounds

LEVELS = (4, 8, 16, 32, 64)
TARGET = 128.0
PATHS = 10
NAMES = [f"f{k}" for k in range(PATHS)]


def version(n_paths, seed, noise=0.05, factors=None, powers=None):
    """A model of paths a (1 + 0.5 (p / 16)^i), i among usual orders; the same program for every seed."""
    program = np.random.default_rng(1000)
    size = program.lognormal(0.0, 1.0, n_paths)
    power = program.choice([-1.0, 0.0, 0.0, 0.5, 1.0, 1.5], n_paths) if powers is None else powers
    p = np.array(LEVELS, dtype=float)
    times = size[:, None] * (1.0 + 0.5 * (p / 16.0) ** np.asarray(power)[:, None])
    if factors is not None:
        times *= np.asarray(factors)[:, None]
    drawn = np.random.default_rng(seed).normal(1.0, noise, (5, *times.shape))
    index = pd.MultiIndex.from_product([range(5), range(n_paths), LEVELS], names=["run", "path", "p"])
    table = pd.DataFrame({"time_s": (times * drawn).ravel()}, index=index).reset_index()
    table["path"] = "f" + table["path"].astype(str)
    return perfcore.fit(table.drop(columns="run"), fitter="scaling", parameter="p", path="path")


def part_of(model, number):
    """Ten of the paths as a model of their own, under names that are the same for every ten."""
    own = slice(number * PATHS, (number + 1) * PATHS)
    return msgspec.structs.replace(model, paths=tuple(NAMES), data=model.data[own])


@pytest.fixture(scope="module")
def few():
    """Forty pairs of versions of a program of ten paths; between the two of a pair nothing changed."""
    models = [version(40 * PATHS, seed) for seed in (1, 2)]
    at = {"p": [64.0, TARGET]}
    return [perfcore.compare(*(part_of(model, number) for model in models), at=at) for number in range(40)]


def test_bounds_of_the_ratio_hold(few):
    """They are to hold the true ratio, 1, in 95 % of 400 paths, less twice the binomial spread."""
    for place in (0, 1):
        bounds = np.concatenate([ratio_bounds(*found.of_part.draws[:, :, place]) for found in few])
        assert ((bounds[:, 0] <= 1.0) & (bounds[:, 1] >= 1.0)).mean() >= 0.928


def any_is_sure(probabilities):
    """Whether one of several holds with 95 % that none does by chance: by Holm's procedure the likeliest decides."""
    wrong = 1.0 - np.asarray(probabilities)
    return len(wrong) * wrong.min() <= 0.05


ALARMS = {
    "total": lambda found, place: probability_above(*found.totals.draws, 1.1)[place] >= 0.95,
    "any path": lambda found, place: any_is_sure(probability_above(*found.of_part.draws[:, :, place], 1.1)),
    "any law": lambda found, _: any_is_sure([change.worse for change in found.growth.values()]),
}


@pytest.mark.parametrize("alarm", ALARMS)
@pytest.mark.parametrize("place", [0, 1])
def test_what_did_not_change_gives_no_alarm(few, alarm, place):
    assert sum(bool(ALARMS[alarm](found, place)) for found in few) <= 0.05 * 40


@pytest.mark.parametrize("errors", ["fwer", "fdr"])
def test_the_gate_of_unchanged_paths_seldom_fails(errors):
    """Ten paths, five runs of each version in turn, 30 times; the 99.9 % limit of 5 % is 6."""
    rng = np.random.default_rng(7)
    index = pd.MultiIndex.from_product([range(5), ["old", "new"], NAMES], names=["round", "version", "bench"])
    failed = 0
    for _ in range(30):
        times = np.exp(rng.normal(0.0, np.tile(np.geomspace(0.005, 0.1, PATHS), 10)))
        failed += perfcore.gate(pd.DataFrame({"time_s": times}, index).reset_index(), errors=errors).outcome == "fail"
    assert failed <= 6


@pytest.fixture(scope="module")
def changed():
    """Ten paths that grow alike; the second version takes 1.5 times as long in f3."""
    powers = np.ones(PATHS)
    factors = np.where(np.arange(PATHS) == 3, 1.5, 1.0)
    models = [version(PATHS, 11, powers=powers), version(PATHS, 12, powers=powers, factors=factors)]
    return perfcore.compare(*models, at={"p": [16.0, 64.0, TARGET]})


def test_a_slower_path_is_found(changed):
    """Between measured levels; at the last, one of ten paths has to be slower by more to be told from chance."""
    assert np.flatnonzero(probability_above(*changed.of_part.draws[:, :, 0], 1.1) >= 0.995).tolist() == [3]
    assert changed.part_ratio(1)[3] == pytest.approx(1.5, rel=0.05)
    low, high = ratio_bounds(*changed.of_part.draws[:, :, 2])[3]
    assert low < 1.5 < high


def test_it_is_found_where_it_was_measured_and_beyond_of_the_total():
    """Beyond what was measured growth is open: there the total tells it, and of single paths about half."""
    powers = np.random.default_rng(5).choice([0.0, 0.5, 1.0], 100)
    old, new = version(100, 21, powers=powers), version(100, 22, powers=powers, factors=np.full(100, 1.3))
    found = perfcore.compare(old, new, at={"p": [64.0, TARGET]})
    assert (probability_above(*found.of_part.draws[:, :, 0], 1.0) >= 0.95).mean() >= 0.95
    assert (probability_above(*found.of_part.draws[:, :, 1], 1.0) >= 0.95).mean() >= 0.4
    assert probability_above(*found.totals.draws, 1.1)[1] >= 0.95
    assert found.ratio[1] == pytest.approx(1.3, rel=0.05)


def test_a_worse_law_is_found():
    powers = np.array([1.0, 1.0, 0.0, 0.0])
    old, new = version(4, 31, powers=powers), version(4, 32, powers=np.array([1.0, 2.0, 0.0, 1.0]))
    found = perfcore.compare(old, new, at={"p": [TARGET]})
    assert found.growth[3].classes[0] == "constant"
    assert found.growth[1].exponents[1] == pytest.approx(2.0, abs=0.3)


def test_the_draws_are_those_of_the_model():
    """Quantiles of the draws against `band`, which takes weighted quantiles of all draws."""
    model = version(20, 41)
    drawn = model.part_draws({"p": np.array([32.0, TARGET])})
    band = model.band([[32.0], [TARGET]], 0.9)
    np.testing.assert_allclose(drawn.parts.values, band[:, :, 0], rtol=0.03)
    sides = np.quantile(drawn.parts.draws, [0.05, 0.95], axis=2)
    np.testing.assert_allclose(sides, np.moveaxis(band[:, :, 1:], 2, 0), rtol=0.12)
