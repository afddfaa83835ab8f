"""Designs: counts by arithmetic, balance by counting, files read back, mistakes in a line."""

import itertools
import os
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_experiments import make_design, read_design, write_design

FACTORS = {"p": [1, 2, 4, 8], "D": [12, 16, 20]}


def points_of(design):
    return [tuple(point.values()) for point in design.chosen()]


def test_full_factorial_is_the_cartesian_product():
    assert points_of(make_design(FACTORS)) == list(itertools.product(*FACTORS.values()))


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
    factors = {name: [1, 2, 3, 4] for name in "abc"}
    points = points_of(make_design(factors, "fractional", part=2))
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
