"""Classes of growth and local exponents, against laws whose growth is known."""

import msgspec
import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore import Measurements
from perfcore.base.errors import OptionError

LEVELS = np.array([4.0, 8, 16, 32, 64])
TARGET = 256.0
LAWS = {
    "falling": lambda p: 10 + 1000 / p, "constant": lambda p: np.full_like(p, 7.0),
    "logarithmic": lambda p: 1 + np.log2(p), "sublinear": lambda p: 1 + np.sqrt(p), "linear": lambda p: 1 + 0.5 * p,
    "n log n": lambda p: 1 + 0.2 * p * np.log2(p), "subquadratic": lambda p: 1 + 0.1 * p**1.5,
    "quadratic": lambda p: 1 + 0.01 * p**2, "superquadratic": lambda p: 1 + 0.001 * p**3,
}  # fmt: skip
CLASSES = tuple(LAWS)
SURE = 0.9  # of what is said: below, one of ten answers would be wrong


@pytest.fixture(scope="module")
def model():
    """One path for each class, runs without noise."""
    rows = [(p, name, law(np.array([p]))[0]) for name, law in LAWS.items() for p in LEVELS]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at=f"p={TARGET}")


def growths(model, parameter=0):
    """How each path grows over a parameter, in the order of the paths."""
    found = {row.path: row.growths[parameter] for row in model.rows}
    return [found[path] for path in model.paths]


def test_each_class_is_recognised(model):
    """Or the next one: n log n and a power a little above 1 are the same over a factor of 16."""
    found = [CLASSES.index(growth.name) for growth in growths(model)]
    assert np.abs(np.array(found) - np.arange(len(CLASSES))).max() <= 1
    assert sum(k == number for k, number in enumerate(found)) >= 7


def test_the_exponent_is_the_slope_of_the_true_law(model):
    """d log value / d log p of the law itself, between the largest level and the target."""
    for path, growth in zip(model.paths, growths(model), strict=True):
        values = LAWS[path](np.array([64.0, TARGET]))
        slope = np.log(values[1] / values[0]) / np.log(TARGET / 64.0)
        assert growth.exponent == pytest.approx(slope, abs=0.2), path  # what noise of 1 % and drift leave open
        assert growth.low <= growth.exponent <= growth.high


def test_growth_over_an_octave_is_the_slope_of_the_true_law_there(model):
    """Of draws up to a measured level, which versions are compared by."""
    medians = np.median(model.growth_draws({"p": 16.0}).exponents[:, 0], axis=1)
    ends = np.array([8.0, 16.0])
    slopes = [np.log2(law(ends)[1] / law(ends)[0]) for law in (LAWS[path] for path in model.paths)]
    assert medians == pytest.approx(np.array(slopes), abs=0.2)


def test_what_is_sure_is_said_of_what_is_not(model):
    """A class, or a bound on one or both sides; nine classes, of which a statement names one or two."""
    for growth in growths(model):
        if growth.probability >= SURE:
            assert growth.statement == growth.name
        else:
            words = growth.statement.removeprefix("at least ").removeprefix("at most ")
            assert words == "inconclusive" or all(word in CLASSES for word in words.split(" to "))


def class_of_term(exponent, logarithm):
    """The class of a + b p^exponent log2(p)^logarithm."""
    if exponent in (0, 1, 2):
        names = {0: ("constant", "logarithmic"), 1: ("linear", "n log n"), 2: ("quadratic", "superquadratic")}
        return names[exponent][logarithm > 0]
    return ("sublinear", "subquadratic", "superquadratic")[min(int(exponent), 2)]


def test_what_is_sure_is_right():
    """Over 400 functions drawn as in the benchmark: nine of ten statements hold the true class, less 4.5 % chance."""
    rng = np.random.default_rng(77)
    orders = [(i, j) for i in range(13) for j in range(3) if (i, j) != (0, 0)]
    rows, true = [], {}
    for k in range(400):
        i, j = orders[rng.integers(len(orders))] if rng.uniform() > 0.1 else (0, 0)
        share = rng.uniform(0.3, 0.99)
        term = LEVELS ** (i / 4) * np.log2(LEVELS) ** j
        values = (1 - share + share * term / term[-1])[:, None] * (1 + 0.05 * rng.standard_normal((5, 5)))
        rows += [(p, f"f{k}", y) for p, own in zip(LEVELS, values, strict=True) for y in own]
        true[f"f{k}"] = CLASSES.index(class_of_term(i / 4, j))
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at="p=256")
    right = []
    for growth, path in zip(growths(model), model.paths, strict=True):
        statement = growth.statement
        ends = statement.removeprefix("at least ").removeprefix("at most ").split(" to ")
        if statement == "inconclusive":
            continue
        low, high = CLASSES.index(ends[0]), CLASSES.index(ends[-1])
        low, high = (0 if statement.startswith("at most") else low), (8 if statement.startswith("at least") else high)
        right.append(low <= true[path] <= high)
    assert len(right) > 300
    assert np.mean(right) >= 0.855


def test_growth_over_each_of_two_parameters():
    rows = [(p, n, 1 + 3 * n**2 / p) for p in LEVELS for n in (10.0, 20, 40, 80)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "n", "time_s"]), fitter="scaling", parameter="p,n")
    (over_p,), (over_n,) = (growths(model, parameter) for parameter in (0, 1))
    assert (over_p.name, over_n.name) == ("falling", "quadratic")
    assert over_n.exponent == pytest.approx(2.0, abs=0.1)
    assert over_p.exponent == pytest.approx(-1.0, abs=0.1)


# What to measure next: what it says of the draws, and by following the advice.
@pytest.fixture(scope="module")
def narrow():
    """Linear growth, measured over a factor of 8 only."""
    levels = np.repeat([64.0, 128, 256, 512], 5)
    times = (1 + 0.01 * levels) * (1 + 0.02 * np.random.default_rng(0).standard_normal(20))
    return perfcore.fit(pd.DataFrame({"p": levels, "time_s": times}), fitter="scaling")


def test_growth_that_is_not_determined_names_its_rivals_and_where_they_part(narrow):
    (found,) = narrow.details()["advice"]
    assert found["path"] == narrow.paths[0]
    assert len(set(found["rivals"])) == 2
    assert {*found["rivals"]} <= {*CLASSES}
    assert found["here"] < 0.05  # what the data cannot see: at the first level, which may be of another kind, most
    if found["point"] is not None:
        assert found["there"] > 2 * 0.02 / np.sqrt(5)  # more than the noise of a mean hides


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
    assert perfcore.next_points(model, points=1).choices[0].point == {"p": 128.0}
    _, after = error(6, noisy)
    assert after < 0.6 * before


# `perf experiment next` on a scaling law: what it expects against the covariance of draws.
NOISE = 0.05


def two_paths(seed):
    """A model of two paths with known means, of which each has five runs at each level."""
    rng = np.random.default_rng(seed)
    means = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS}
    rows = [
        (p, path, y * (1 + NOISE * z))
        for path, own in means.items()
        for p, y in zip(LEVELS, own, strict=True)
        for z in rng.standard_normal(5)
    ]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling", at="p=256")


@pytest.fixture(scope="module")
def model_of_law_next():
    return two_paths(2)


def test_the_expected_gain_is_what_simulated_runs_bring(model_of_law_next):
    """Refits with five runs more, drawn from what the model leaves open at p = 128, against the expected variance."""
    model = model_of_law_next
    number = model.paths.index("exchange")
    advice = perfcore.next_points(model, {"p": 256.0, "path": "exchange"}, [{"p": 128.0}, {"p": 32.0}], points=1)
    assert advice.value == pytest.approx(130, rel=0.2)
    assert advice.choices[0].point == {"p": 128.0}
    assert advice.choices[0].repetitions == 5
    draws = model.draws([[128.0]], [number])
    values = np.exp(draws.logs[0, :, 0] + draws.scatter[0])
    rng = np.random.default_rng(4)
    rows = [(p, y) for p, y in zip(LEVELS, model.means[number], strict=True) for _ in range(5)]
    now = np.ptp(np.log(model.band([[256.0]], 0.95, [number])[0, 0, 1:]))
    ratios = []
    for value in np.quantile(values, [0.1, 0.3, 0.5, 0.7, 0.9]):
        runs = value * (1.0 + NOISE * rng.standard_normal(5))
        noisy = [(p, y * (1.0 + NOISE * z)) for (p, y), z in zip(rows, rng.standard_normal(len(rows)), strict=True)]
        table = pd.DataFrame([*noisy, *((128.0, y) for y in runs)], columns=["p", "time_s"])
        refit = perfcore.fit(table, fitter="scaling", at="p=256")
        ratios.append((np.ptp(np.log(refit.band([[256.0]], 0.95)[0, 0, 1:])) / now) ** 2)
    assert 1.0 - np.mean(ratios) == pytest.approx(advice.choices[0].gain, abs=0.15)


def test_fit_and_next_recommend_the_same_point(model_of_law_next):
    """The target itself where it is within reach, and nothing beyond it."""
    for level in (256.0, 128.0, 96.0):
        model = model_of_law_next.at({"p": level})
        chosen = perfcore.next_points(model, {"p": level}, points=1).choices[0].point
        assert chosen == model.details()["next_point"]


def test_without_a_path_the_total_is_looked_at(model_of_law_next):
    model = msgspec.structs.replace(model_of_law_next, target={"p": 256.0})
    advice = perfcore.next_points(model, candidates=[{"p": 128.0}], points=1)
    assert advice.value == pytest.approx(130 + 10 + 1000 / 256, rel=0.1)
    assert 0.3 < advice.choices[0].gain < 1.0
    with pytest.raises(OptionError, match="points of one path are expected, not of solve, exchange"):
        model_of_law_next.design_rows({"p": [256.0, 256.0], "path": ["solve", "exchange"]})


# Speedup and efficiency, against the formulas of known times.
def fitted_of_law_speedup(values, columns=("p", "function", "time_s"), **options):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(LEVELS, own, strict=True)]
    return perfcore.fit(pd.DataFrame(rows, columns=list(columns)), fitter="scaling", **options)


def test_amdahls_law():
    """T = 10 + 1000 / p from p = 4: S = 260 / T; the efficiency is a half where 1040 / (10 p + 1000) is, at p = 108."""
    found = fitted_of_law_speedup({"solve": 10 + 1000 / LEVELS}, at="p=256").speedup
    assert (found.symbol, found.base) == ("p", 4.0)
    assert [at.level for at in found.levels] == [4, 8, 16, 32, 64, 128, 256]
    assert [at.measured is not None for at in found.levels] == [True] * 5 + [False] * 2
    for at in found.levels:
        time = 10 + 1000 / at.level
        share = 260 / time * 4 / at.level
        for name, true in (("speedup", 260 / time), ("efficiency", share), ("cost", 1 / share)):
            middle, low, high = getattr(at, name)
            assert middle == pytest.approx(true, rel=0.03)
            assert low <= true * (1 + 1e-9)
            assert true <= high * (1 + 1e-9)
        assert (at.measured or at.predicted)[0] == pytest.approx(time, rel=1e-9 if at.measured else 0.03)
    assert found.half == pytest.approx(108, rel=0.05)
    first = found.levels[0]
    assert first.speedup == first.efficiency == first.cost == (1.0, 1.0, 1.0)


def test_efficiency_that_stays_high_has_no_half():
    assert fitted_of_law_speedup({"solve": 1000 / LEVELS}).speedup.half is None


@pytest.mark.parametrize("columns", [("x", "function", "time_s"), ("p", "function", "bytes")])
def test_only_times_over_processors_have_a_speedup(columns):
    names = {"parameter": columns[0], "value": columns[2], "path": columns[1]}
    assert fitted_of_law_speedup({"a": 1000 / LEVELS}, columns, **names).speedup is None


def test_a_rate_over_processors_has_the_speedup_of_its_time():
    """The same series as times of a unit of work and as rates of it, in plain figures."""
    times = 1e-4 * (0.05 + 1 / LEVELS)
    slow = perfcore.fit(pd.DataFrame({"gpus": LEVELS, "time_s": times}), fitter="scaling", scaling="strong")
    fast = perfcore.fit(pd.DataFrame({"gpus": LEVELS, "samples/s": 1 / times}), fitter="scaling")
    for one, other in zip(slow.speedup.levels, fast.speedup.levels, strict=True):
        assert one.efficiency == pytest.approx(other.efficiency, rel=1e-6)
        assert one.cost == pytest.approx(other.cost, rel=1e-6)
        if one.predicted:
            assert (one.predicted[0], *one.predicted[:0:-1]) == pytest.approx(
                [1 / v for v in other.predicted], rel=1e-6
            )
    assert "e+" not in fast.report().answer
    assert "efficiency" in fast.report().answer


# Weak and strong scaling: what the table says, and efficiency and speedup of each.
RANKS = [1, 2, 4, 8, 16, 32]


def table(time, **columns):
    return pd.DataFrame({"ranks": RANKS, **columns, "time_s": [time(p) for p in RANKS]})


def flat(p):
    return 8.0 + 0.08 * np.log2(p)


@pytest.mark.parametrize(("columns", "scaling"), [
    ({}, ""), ({"cells_per_rank": [1000] * 6}, "weak"), ({"atoms per core": [5e4] * 6}, "weak"),
    ({"tasks_per_node": [128] * 6}, ""),
    ({"gpus_per_node": [4] * 6, "memory_per_core": [2.0] * 6, "atoms": [1403180.0] * 6}, "strong"),
    ({"local_size": [64] * 6}, "weak"), ({"cells": [1000 * p for p in RANKS]}, "weak"),
    ({"n_atoms": [990, 2000, 4010, 7990, 16000, 32050]}, "weak"),
    ({"problem_size": [4096] * 6}, "strong"), ({"scaling": ["weak"] * 6, "n": [7] * 6}, "weak"),
    ({"experiment": ["Strong scaling, full node"] * 6}, "strong"),
    ({"iterations": [100] * 6, "seed": [1] * 6, "nodes": [1, 1, 1, 1, 2, 4]}, ""),
    ({"cells": [1000, 1000, 2000, 5000, 5000, 5000]}, ""),
])  # fmt: skip
def test_the_table_says_it(columns, scaling):
    found = perfcore.fit(Measurements(table(flat, **columns), "ranks", "time_s"), fitter="scaling").speedup
    assert (found.scaling if found.is_told else "") == scaling


def test_runs_of_both_kinds_are_refused():
    with pytest.raises(OptionError, match="both weak and strong scaling: choose where='scaling=weak' or"):
        perfcore.fit(table(flat, scaling=["weak"] * 3 + ["strong"] * 3), fitter="scaling")


def test_a_size_that_is_a_parameter_says_nothing():
    rows = [(p, n, 8.0 + n / p) for p in RANKS for n in (1000 * p, 3000 * p)]
    data = Measurements(pd.DataFrame(rows, columns=["ranks", "cells", "time_s"]), "p=ranks,n=cells", "time_s")
    assert perfcore.fit(data, fitter="scaling").scaling == ""


def test_a_code_that_keeps_95_percent_keeps_them():
    model = perfcore.fit(table(flat, cells_per_rank=[1000] * 6), fitter="scaling")
    found = model.speedup
    assert (found.scaling, found.is_told, found.half) == ("weak", True, None)
    last = next(level for level in found.levels if level.level == 32)
    assert last.efficiency[1] <= 8.0 / flat(32) <= last.efficiency[2]
    assert last.speedup == pytest.approx([32 * share for share in last.efficiency])
    report = model.report()
    assert any("Weak scaling" in table.title for table in report.tables)
    assert report.figures[1].name == "weak-scaling efficiency"
    low, high = report.figures[1].interval
    assert low <= 8.0 / flat(128) <= high <= 1 / 0.95 + 1e-9  # no faster than one rank, but for 5 %


def test_a_time_that_falls_is_strong_scaling_and_says_so():
    model = perfcore.fit(table(lambda p: 1.0 + 100.0 / p), fitter="scaling")
    found = model.speedup
    assert (found.scaling, found.is_told) == ("strong", False)
    assert found.levels[1].speedup[0] == pytest.approx(101 / 51)
    assert any("since the time falls" in line for line in model.report().closing())
    # So does one that rises again with threads beyond the best number: 36 s, 29 s, and 45 s.
    model = perfcore.fit(table(lambda p: 18.0 + 16.5 / p + 1.5 * p), fitter="scaling")
    assert (model.speedup.scaling, model.speedup.is_told) == ("strong", False)


def test_times_that_stay_flat_are_weak_scaling():
    found = perfcore.fit(table(flat), fitter="scaling")
    assert (found.speedup.scaling, found.speedup.is_told) == ("weak", False)
    assert any("since the time stays flat" in line for line in found.report().closing())
    rising = perfcore.fit(table(lambda p: 1.0 + 0.5 * p), fitter="scaling")
    assert rising.speedup is None
    assert any("set --scaling weak or strong" in line for line in rising.report().closing())


def test_rates_do_not_exceed_linear_speedup_unless_the_data_do():
    gpus = np.array([1.0, 2, 4, 8, 16])
    rates = np.array([310.0, 619, 1237, 2470, 4930])
    model = perfcore.fit(pd.DataFrame({"gpus": gpus, "samples_per_s": rates}), fitter="scaling")
    value, low, high = model.predict_array([1024.0], 0.95)[0]
    assert low < value < high <= 310.0 * 1024 / 0.95 * (1.0 + 1e-9)  # with the slack of 5 %
    faster = perfcore.fit(pd.DataFrame({"gpus": gpus, "samples_per_s": 310 * gpus**1.2}), fitter="scaling")
    assert faster.predict_array([64.0], 0.95)[0, 0] > 1.5 * 310.0 * 64
