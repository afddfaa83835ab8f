"""Designs: counts by arithmetic, balance by counting, files, mistakes; samples of this machine; ranks of intervals."""

import itertools
import math
import os
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_experiments import make_design, read_design, write_design
from perf_experiments.recommendation import PartialFit
from perf_experiments.run_records import median_interval
from perfcore.models.points import DesignRows

FACTORS = {"p": [1, 2, 4, 8], "D": [12, 16, 20]}


def points_of(design):
    return [tuple(point.values()) for point in design.chosen()]


def test_constraints_are_python_arithmetic():
    design = make_design(FACTORS, constraints=["D % p == 0", "p <= cores or p < 3"])
    cores = len(os.sched_getaffinity(0))
    expected = [(p, d) for p, d in itertools.product(*FACTORS.values()) if d % p == 0 and (p <= cores or p < 3)]
    assert points_of(design) == expected


def test_one_at_a_time_costs_the_sum_of_the_levels():
    design = make_design(FACTORS, "one-at-a-time", centre={"D": 12})
    assert points_of(design) == [(2, 12), (1, 12), (4, 12), (8, 12), (2, 16), (2, 20)]


def test_each_replication_is_all_points_in_an_order_of_its_own():
    design = make_design(FACTORS, seed=3)
    points = design.chosen()
    orders = [tuple(map(str, design.block(number, points))) for number in range(1, 6)]
    assert all(sorted(order) == sorted(map(str, points)) for order in orders)
    assert len(set(orders)) == 5
    assert orders == [tuple(map(str, make_design(FACTORS, seed=3).block(number, points))) for number in range(1, 6)]


def test_a_fraction_is_balanced():
    pytest.importorskip("pyDOE3")
    points = points_of(make_design({name: [1, 2, 3, 4] for name in "abc"}, "fractional", part=2))
    assert len(points) == 4**3 / 2
    for column in zip(*points, strict=True):
        assert set(Counter(column).values()) == {8}


def test_a_latin_hypercube_uses_every_level_once():
    factors = {"a": list(range(8)), "b": list(range(10, 18))}
    points = points_of(make_design(factors, "latin-hypercube", count=8, seed=5))
    assert [sorted(column) for column in zip(*points, strict=True)] == [list(levels) for levels in factors.values()]


def test_sobol_fills_evenly_and_meets_constraints():
    factors = {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}
    # The first 2^4 points of a Sobol' sequence in two dimensions put one into each cell of a 4 by 4 grid.
    points = points_of(make_design(factors, "sobol", count=16))
    assert sorted(points) == list(itertools.product(range(4), range(4)))
    constrained = points_of(make_design(factors, "sobol", count=5, constraints=["a >= b"]))
    assert len(set(constrained)) == 5
    assert all(a >= b for a, b in constrained)


levels = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=4, unique=True),
    st.lists(st.text(min_size=1, max_size=5).filter(str.isprintable), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(0.0009765625, 1e9), min_size=1, max_size=3, unique=True),
)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(factors=st.dictionaries(st.sampled_from(["p", "D", "x_1"]), levels, min_size=1), seed=st.integers(0, 9))
def test_a_file_reads_back(tmp_path_factory, factors, seed):
    path = tmp_path_factory.getbasetemp() / "design.toml"
    for kind in ("factorial", "one-at-a-time", "latin-hypercube"):
        design = make_design(factors, kind, seed=seed, count=3, replications=seed + 1)
        write_design(design, path)
        assert read_design(path) == design


# Sampling of this machine: shares from counters, by a clock that the tests move, and interrupts.
pytest.importorskip("psutil")
SECOND = 1_000_000_000


class Machine:
    """Two processors whose counters rise with a clock that only sleeping moves."""

    def __init__(self, monkeypatch, busy=(0.25, 0.75), late_s=0.0):
        self.now_ns, self.busy, self.late_s, self.naps = 5 * SECOND, busy, late_s, []
        self.interrupt_after = None
        clock = SimpleNamespace(
            time=lambda: 1.7e9 + self.now_ns / 1e9,
            monotonic=lambda: self.now_ns / 1e9,
            monotonic_ns=lambda: self.now_ns,
            sleep=self.sleep,
        )
        monkeypatch.setattr("perf_experiments.measurement.time", clock)
        monkeypatch.setattr("psutil.cpu_times", self.cpu_times)
        monkeypatch.setattr("psutil.net_io_counters", self.net_io_counters)

    def sleep(self, seconds):
        if len(self.naps) == self.interrupt_after:
            raise KeyboardInterrupt
        self.naps.append(seconds)
        self.now_ns += round((seconds + self.late_s) * SECOND)

    def times(self, share):
        elapsed = self.now_ns / SECOND
        # A tenth is spent waiting for I/O, and guests are counted twice, as the kernel does.
        fields = {"user": share * elapsed, "idle": (0.9 - share) * elapsed, "iowait": 0.1 * elapsed, "guest": 3.0}
        return SimpleNamespace(_asdict=lambda: fields)

    def cpu_times(self, percpu=False):
        return [self.times(share) for share in self.busy] if percpu else self.times(sum(self.busy) / len(self.busy))

    def net_io_counters(self, pernic):
        elapsed = self.now_ns / SECOND
        return {"eth0": SimpleNamespace(bytes_recv=1000.0 * elapsed, bytes_sent=0.0)}


def test_shares_of_busy_time(monkeypatch):
    Machine(monkeypatch)
    series = perfcore.sample("cpu", for_="3s", every="1s")
    assert list(series.columns) == ["cpu all busy", "cpu 0 busy", "cpu 1 busy"]
    for name, share in zip(series.columns, (0.5, 0.25, 0.75), strict=True):
        np.testing.assert_allclose(series.columns[name], share, rtol=1e-12)
    # The first sample is about the interval that ends a second after the start.
    np.testing.assert_allclose(series.times, 1.7e9 + np.array([6.0, 7.0, 8.0]), rtol=0, atol=1e-6)


def test_bytes_per_second(monkeypatch):
    Machine(monkeypatch)
    series = perfcore.sample("network", for_="2s", every="0.5s")
    np.testing.assert_allclose(series.columns["network eth0 received B/s"], 1000.0)
    np.testing.assert_array_equal(series.columns["network eth0 sent B/s"], 0.0)


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    Machine(monkeypatch).interrupt_after = 2
    series = perfcore.sample("cpu", for_=10.0, every=1.0)
    assert len(series.times) == 2
    assert series.notes == ("interrupted after 2 of 10 samples",)


# What no answer shows by itself: variances of several parts, and ranks of the interval of a median.
def fresh_variance(rows, target, errors):
    """V from inverses computed anew: sum over k, l of S_kl t_k' A_k X_k' X_l A_l t_l."""
    inverses = [np.linalg.inv(part.T @ part) for part in rows]
    moved = [part @ inverse @ wanted for part, inverse, wanted in zip(rows, inverses, target, strict=True)]
    return sum(
        errors[k, m] * moved[k] @ moved[m] for k in range(len(rows)) for m in range(len(rows))
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [(3,), (2, 4), (1, 2, 3)])
def test_variances_agree_with_fresh_inverses(sizes):
    rng = np.random.default_rng(len(sizes))
    measured = tuple(rng.normal(size=(9, size)) * 10.0 ** rng.integers(-3, 4, size) for size in sizes)
    asked = tuple(
        rng.normal(size=(6, size)) * np.linalg.norm(part, axis=0) for part, size in zip(measured, sizes, strict=True)
    )
    root = rng.normal(size=(len(sizes), len(sizes)))
    rows = DesignRows(measured, asked, root @ root.T, np.ones(6), {}, np.ones(9, int), None)
    fit = PartialFit.of(rows)
    assert fit.determined
    target = [part[0] for part in asked]
    np.testing.assert_allclose(fit.variance, fresh_variance(measured, target, rows.errors), rtol=1e-9)
    both = ([np.vstack([x, new[c]]) for x, new in zip(measured, asked, strict=True)] for c in range(1, 6))
    expected = [fresh_variance(points, target, rows.errors) for points in both]
    np.testing.assert_allclose(fit.variances_with_one(), expected, rtol=1e-9)
    np.testing.assert_allclose(fit.with_one(3).variance, expected[3], rtol=1e-9)


@pytest.mark.parametrize("count", range(6, 41))
def test_ranks_by_counting_outcomes(count):
    """Among 2^n equally likely outcomes, fewer than k values lie below the median in sum_{i<k} C(n, i) of them."""
    missed = [Fraction(2 * sum(math.comb(count, i) for i in range(k)), 2**count) for k in range(1, count)]
    rank = sum(share <= Fraction(5, 100) for share in missed)
    values = np.random.default_rng(0).permutation(count) + 1.0
    assert median_interval(values) == (rank, count + 1 - rank)
