"""Nested intervals against a brute-force count over every moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_io.traces.pj_dump import CrossingError, innermost


@st.composite
def nested(draw, start=0, end=30, depth=0):
    """Intervals (start, end, depth) that lie within one another or apart."""
    found = []
    cuts = sorted(draw(st.lists(st.integers(start, end), max_size=4)))
    for first, last in zip(cuts[::2], cuts[1::2], strict=False):
        found.append((first, last, depth))
        if depth < 3:
            found += draw(nested(first, last, depth + 1))
    return found


@given(intervals=st.lists(nested(), min_size=1, max_size=2), order=st.randoms(use_true_random=False))
def test_every_moment_belongs_to_the_deepest_interval(intervals, order):
    rows = [(where, *row) for where, location in enumerate(intervals) for row in location]
    order.shuffle(rows)
    location, start, end, depth = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    piece, first, last = innermost(location, start, end, depth)
    assert (last > first).all()
    for where in range(len(intervals)):
        for moment in range(30):
            holding = [n for n, (at, a, b, _) in enumerate(rows) if at == where and a <= moment < b]
            expected = {max(rows[n][3] for n in holding)} if holding else set()
            mine = [n for n, a, b in zip(piece, first, last, strict=True) if location[n] == where and a <= moment < b]
            assert {rows[n][3] for n in mine} == expected
            assert len(mine) == len(expected)


def test_intervals_that_cross_are_named():
    zero = np.zeros(2, dtype=np.int64)
    with pytest.raises(CrossingError) as caught:
        innermost(zero, np.array([3, 0]), np.array([9, 5]), zero)
    assert (caught.value.one, caught.value.two) == (1, 0)
