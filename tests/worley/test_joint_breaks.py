"""One set of breaks for several curves of a run."""

import itertools

import numpy as np
import pytest

import perfcore
from perf_worley.choice.bounded_search import bounded_costs, bounded_models
from perf_worley.choice.cells import Cells
from perf_worley.choice.joint_search import joint_models
from perf_worley.joint_breaks import joint_break_intervals
from perf_worley.trees.moment_tree import MomentTree
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError, UnknownNameError

N = 512


def series(levels, seed=0, noise=1.0):
    """Columns of noise around levels that change at a third and at two thirds of the run."""
    rng = np.random.default_rng(seed)
    which = np.minimum(np.arange(N) * 3 // N, 2)
    columns = {name: np.asarray(own)[which] + rng.normal(0, noise, N) for name, own in levels.items()}
    return Series(np.arange(N, dtype=float), columns, "s")


def test_the_joint_sum_is_the_least_of_all_partitions():
    rng = np.random.default_rng(2)
    several = [Cells(rng.uniform(0, 9, 12), 1.0, -1.0, np.inf, 9.0) for _ in range(2)]
    noises = np.array([1.0, 4.0])
    found = joint_models(several, 0, noises, last=4)
    costs = [bounded_costs(cells, 0)[0] for cells in several]
    for n in (2, 3, 4):
        every = [
            sum(costs[0][b, a] + costs[1][b, a] / 4.0 for a, b in itertools.pairwise((0, *inner, 12)))
            for inner in itertools.combinations(range(2, 11), n - 1)
            if all(b - a >= 2 for a, b in itertools.pairwise((0, *inner, 12)))
        ]
        assert found.models.squares[n - 1] == pytest.approx(min(every))


def test_one_curve_alone_has_its_own_partitions():
    cells = Cells(np.random.default_rng(3).uniform(0, 9, 64), 1.0, -1.0, np.inf, 9.0)
    joint, own = joint_models([cells], 1, np.ones(1)).models, bounded_models(cells, 1)
    assert joint.squares == pytest.approx(own.squares)
    assert all((a == b).all() for a, b in zip(joint.breaks, own.breaks, strict=True))


def test_a_break_that_one_curve_shows_is_a_break_of_all():
    data = series({"a": (20, 26, 26), "b": (20, 20, 27)})
    model = perfcore.fit(data, fitter="worley", column="a", joint="b", degree=0)
    assert model.breaks == pytest.approx((N / 3, 2 * N / 3), abs=1.0)
    (other,) = model.companions
    assert other.levels == pytest.approx((20, 20, 27), abs=0.3)
    assert "mean b" in model.tables()[0][1]
    assert perfcore.fit(data, fitter="worley", column="a", degree=0).breaks == pytest.approx((N / 3,), abs=1.0)


def test_what_no_curve_tells_alone_several_tell_together():
    data = series({name: (20.0, 20.0, 20.0 + 0.45 * (-1) ** k) for k, name in enumerate("abcdef")}, seed=4)
    alone = perfcore.fit(data, fitter="worley", column="a", degree=0)
    together = perfcore.fit(data, fitter="worley", column="a", joint="b,c,d,e,f", degree=0, phases=2)
    assert len(alone.phases) == 1
    assert together.breaks == pytest.approx((2 * N / 3,), abs=0.03 * N)


def joint_interval(columns, **options):
    data = Series(np.arange(N, dtype=float), columns, "s")
    others = ",".join(name for name in columns if name != "a")
    model = perfcore.fit(data, fitter="worley", column="a", joint=others, degree=0, phases=2, **options)
    return model.phases[1].break_interval


def test_the_same_curve_twice_says_no_more_than_once():
    rng = np.random.default_rng(7)
    values = np.repeat([20.0, 20.9], N // 2) + rng.normal(0, 1, N)
    alone = perfcore.fit(Series(np.arange(N * 1.0), {"a": values}, "s"), fitter="worley", degree=0, phases=2)
    low, high = joint_interval({"a": values, "b": 50.0 - values})
    assert (low, high) == pytest.approx(alone.phases[1].break_interval, abs=2.0)
    other = np.repeat([20.0, 21.8], N // 2) + rng.normal(0, 1, N)
    low_of_two, high_of_two = joint_interval({"a": values, "b": other})
    assert high_of_two - low_of_two < 0.7 * (high - low)


@pytest.mark.parametrize("common", [0.0, 0.9])
def test_joint_intervals_hold_the_break(common):
    """Of 40 runs of two curves whose noise is the same for some part."""
    holds = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        shared, which = rng.normal(0, 1, N), np.arange(N) >= 200
        noises = common * shared + np.sqrt(1 - common**2) * rng.normal(0, 1, (2, N))
        values = 20.0 + np.outer([0.8, 0.6], which) + noises
        cells = [Cells(each, 1.0, 0.0, np.inf, 30.0) for each in values]
        trees = [MomentTree(UtilizationCurve(np.arange(N + 1.0), each.values)) for each in cells]
        found = joint_models(cells, 0, np.ones(2), last=2)
        breaks = found.models.breaks[1].astype(float)
        _, interval = joint_break_intervals(trees, cells, breaks, [each[1] for each in found.degrees], np.ones(2), None)
        holds.append(interval[0] <= 200.0 <= interval[1])
    assert sum(holds) >= 35


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_one_phase(seed):
    data = series(dict.fromkeys("abc", (20, 20, 20)), seed=seed)
    assert len(perfcore.fit(data, fitter="worley", column="a", joint="b,c").phases) == 1


def trace():
    """Two processors that run dgemm, then dtrsm as often: the utilization is the same throughout."""
    location, state, start, end = [], [], [], []
    for cpu, k in itertools.product(range(2), range(200)):
        location.append(cpu)
        state.append(0 if k < 120 else 1)
        start.append(1400 * k + 137 * cpu + 61 * (k % 7))
        end.append(start[-1] + 600 + 50 * (k % 5))
    return Trace(location, state, start, end, ["cpu0", "cpu1"], ["dgemm", "dtrsm"])


def test_states_of_a_trace_part_what_its_utilization_does_not(tmp_path):
    assert len(perfcore.fit(trace(), fitter="worley").phases) == 1
    model = perfcore.fit(trace(), fitter="worley", joint="dgemm,dtrsm")
    assert model.breaks == pytest.approx((168.0,), abs=2.0)
    model.save(tmp_path / "model.json")
    assert perfcore.load(tmp_path / "model.json").companions == model.companions


def test_what_cannot_share_breaks():
    with pytest.raises(OptionError, match="names states of a trace, or columns"):
        perfcore.fit(UtilizationCurve([0, 1, 2], [3, 4]), fitter="worley", joint="b")
    data = series({"a": (21, 25, 29), "b": (22, 23, 24)})
    with pytest.raises(UnknownNameError, match="column 'c'"):
        perfcore.fit(data, fitter="worley", column="a", joint="c")
    with pytest.raises(OptionError, match="--with and --rule knee do not go together"):
        perfcore.fit(data, fitter="worley", column="a", joint="b", rule="knee")
    flat = Series(np.arange(100.0), {"a": np.arange(100.0) % 7, "b": np.ones(100)}, "s")
    with pytest.raises(DataError, match="b is constant"):
        perfcore.fit(flat, fitter="worley", column="a", joint="b")
