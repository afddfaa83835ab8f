"""The trace: utilization against counting by hand, overlaps, and which states compute."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore import Trace
from perfcore.base.errors import DataError
from perfcore.data.trace import curve_from_intervals, default_busy, first_overlap

STATES = ("run", "wait", "sort")

cuts = st.lists(st.integers(0, 60), min_size=2, max_size=14).map(sorted)
located = st.lists(
    st.tuples(cuts, st.lists(st.sampled_from([0, 1, 2, None]), min_size=13, max_size=13)), min_size=1, max_size=5
)  # for each location its times, and the state between each two of them; None is a gap


def intervals_of(locations):
    return [
        (number, state, start, end)
        for number, (times, states) in enumerate(locations)
        for (start, end), state in zip(itertools.pairwise(times), states, strict=False)
        if state is not None
    ]


def trace_of(intervals, **facts):
    location, state, start, end = zip(*intervals, strict=True)
    names = [f"cpu{k}" for k in range(max(location) + 1)]
    return Trace(location, state, start, end, names, STATES, time_unit="ns", **facts)


@given(located, st.sets(st.sampled_from(STATES), min_size=1), st.randoms(use_true_random=False))
def test_utilization_counts_the_locations_that_compute(locations, busy, order):
    intervals = intervals_of(locations)
    order.shuffle(intervals)
    if len({time for _, _, *ends in intervals for time in ends}) < 2:
        return  # nothing lasts
    curve = trace_of(intervals).utilization(sorted(busy))
    first, last = min(i[2] for i in intervals), max(i[3] for i in intervals)
    assert (curve.start, curve.end) == (first, last)
    middles = np.arange(first, last) + 0.5
    counted = [
        sum(start < middle < end and STATES[state] in busy for _, state, start, end in intervals) for middle in middles
    ]
    assert curve.value_at(middles).tolist() == counted
    assert all(left != right for left, right in itertools.pairwise(curve.heights))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 6)), min_size=1, max_size=7))
def test_overlaps_are_found_wherever_they_are(given_intervals):
    intervals = [(location, 0, start, start + width) for location, start, width in given_intervals]
    overlap = any(
        one[0] == two[0] and max(one[2], two[2]) < min(one[3], two[3])
        for one, two in itertools.combinations([i for i in intervals if i[3] > i[2]], 2)
    )
    if overlap:
        with pytest.raises(DataError, match="states of one location must not overlap"):
            trace_of(intervals)
    else:
        assert trace_of(intervals).n_intervals == len(intervals)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"end_ns": [5, 1]}, "interval 1 of cpu1 ends at 1 ns before it starts at 2 ns"),
        ({"state": [0]}, r"columns of the trace have different lengths: \[1, 2\]"),
        ({"location": [0, 2]}, r"interval 1 has location 2, but there are 2 locations"),
        ({"location": [-1, 0]}, r"interval 0 has location -1"),
        ({"state": [0, 7]}, r"interval 1 has state 7, but there are 3 states"),
        ({"location": [], "state": [], "start_ns": [], "end_ns": []}, "has no state intervals"),
    ],
)
def test_what_is_no_trace_is_refused(changed, message):
    columns = {"location": [0, 1], "state": [0, 0], "start_ns": [0, 2], "end_ns": [4, 5]} | changed
    with pytest.raises(DataError, match=message):
        Trace(**columns, locations=["cpu0", "cpu1"], states=STATES)


def test_states_that_wait_are_idle_by_default():
    states = ("Idle", "MPI_Wait", " sleeping ", "dgemm", "Waiting a message", "Running")
    assert default_busy(states) == ("dgemm", "Running")
    assert default_busy(("idle", "wait")) == ()


def _counted(starts, ends, span):
    """Intervals that cover each moment, counted one by one."""
    return [sum(a <= t < b for a, b in zip(starts, ends, strict=True)) for t in range(*span)]


@pytest.mark.parametrize("far", [0, 1 << 62])
def test_a_curve_counts_the_intervals_at_each_moment_whatever_their_order(far):
    rng = np.random.default_rng(8)
    starts = rng.integers(0, 40, 60)
    ends = starts + rng.integers(0, 9, 60)
    span = (0, 50 + far)  # so long a span that a time and a bit do not fit into 64 bits
    late = [far + 49, far + 50] if far else []
    times = np.array([*starts, *late[:1], *ends, *late[1:]], dtype=np.int64)
    curve = curve_from_intervals(times, span, "ns", n_locations=60, source="demo")
    steps = np.searchsorted(curve.edges, np.arange(50), side="right") - 1
    assert curve.heights[steps].tolist() == _counted(starts, ends, (0, 50))


def test_an_overlap_is_found_in_sorted_and_in_shuffled_columns():
    location = np.repeat(np.arange(3, dtype=np.int32), 20)
    start = np.tile(np.arange(20, dtype=np.int64) * 10, 3)
    end = start + 10
    rng = np.random.default_rng(3)
    for order in (np.arange(60), rng.permutation(60)):
        assert first_overlap(location[order], start[order], end[order]) is None
        longer = end + (np.arange(60) == 25)
        pair = first_overlap(location[order], start[order], longer[order])
        assert pair is not None
        assert sorted(order[list(pair)].tolist()) == [25, 26]
    nothing = np.array([5, 5, 0], dtype=np.int64), np.array([5, 5, 10], dtype=np.int64)
    assert first_overlap(np.zeros(3, dtype=np.int32), *nothing) is None
