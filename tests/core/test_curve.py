"""The utilization curve: what it refuses, and what it keeps."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfcore.data.curve
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, UnknownNameError
from perfcore.data.trace import curve_from_intervals, default_busy, first_overlap

widths_and_heights = st.lists(
    st.tuples(st.integers(1, 1000), st.integers(0, 4)), min_size=1, max_size=60
)  # few heights, so that neighbours are often equal


def curve_of(steps):
    return UtilizationCurve(np.concatenate([[0], np.cumsum([w for w, _ in steps])]), [h for _, h in steps])


@pytest.mark.parametrize(("edges", "heights", "message"), [
    ([0, 1], [1, 2], "2 edges and 2 heights; a curve has one edge more"),
    ([[0, 1]], [1], "both one-dimensional"), (3.0, 2.0, "1 edges and 1 heights"), ([0], [], "has no steps"),
    ([0, 1, 2, 3], [1, -2, 3], r"height -2.0 of step 1 \(from time 1\); heights must be finite and not negative"),
    ([0, 1, 2, 3], [1, 2, np.nan], r"height nan of step 2 \(from time 2\)"),
    ([0, 1, 2], [np.inf, 2], r"height inf of step 0"),
    ([0, 1, 2, 1.5], [1, 2, 3], "time 1.5 follows 2.0 at edge 3; times must be finite and increase"),
    ([0, np.nan, 2], [1, 2], "time nan follows 0.0 at edge 1"),
    ([0, 1, np.inf], [1, 2], "time inf at edge 2; times must be finite"),
    ([-np.inf, 1, 2], [1, 2], "time -inf at edge 0; times must be finite"),
    ([5, 5, 5], [1, 2], "no duration, all its edges are 5"),
    ([0, np.inf, np.inf], [1, 2], "time inf follows 0.0 at edge 1"),
    (["a", "b"], [1], "edges: numbers are expected"), ([0, 1], ["x"], "heights: numbers are expected"),
    ([0, 1], [None], "height nan of step 0"),
])  # fmt: skip
def test_what_is_no_curve_is_refused_in_one_line_with_its_place(edges, heights, message):
    with pytest.raises(DataError, match=message) as caught:
        UtilizationCurve(edges, heights, source="x.csv")
    assert "\n" not in str(caught.value)


def test_steps_of_zero_width_are_dropped():
    curve = UtilizationCurve([0, 0, 1, 1, 1, 3, 3], [7, 1, 8, 9, 2, 6])
    assert curve.edges.tolist() == [0, 1, 3]
    assert curve.heights.tolist() == [1, 2]


def test_whole_edges_stay_whole():
    first = 1_700_000_000_000_000_001  # nanoseconds since 1970: neighbours are one float64
    curve = UtilizationCurve([first, first + 1, first + 3], [4, 1], "ns")
    assert curve.edges.tolist() == [first, first + 1, first + 3]
    assert curve.relative_edges.tolist() == [0.0, 1.0, 3.0]
    assert curve.mean == 2.0
    assert curve.value_at(np.array([first, first + 1])).tolist() == [4, 1]


@given(widths_and_heights)
def test_merged_is_the_same_function(steps):
    curve = curve_of(steps)
    merged = curve.merged()
    middles = (curve.edges[1:] + curve.edges[:-1]) / 2
    np.testing.assert_array_equal(merged.value_at(middles), curve.heights)
    assert (merged.start, merged.end) == (curve.start, curve.end)
    assert merged.integral == curve.integral  # whole numbers: no rounding
    assert all(left != right for left, right in itertools.pairwise(merged.heights))
    assert merged.merged() is merged


def test_fingerprint_tells_data_apart():
    edges, heights = np.arange(2001), np.arange(2000) % 7 + 1
    same = {UtilizationCurve(edges, heights, source=name).fingerprint for name in ("a.csv", "b.csv")}
    assert len(same) == 1
    higher, later = heights + (edges[1:] == 1234), edges + (edges == 2000)
    others = [(edges, higher), (later, heights), (edges, heights, "ms"), (edges[:-1], heights[:-1])]
    assert len({UtilizationCurve(*other).fingerprint for other in others} | same) == 5


@given(widths_and_heights, st.integers(1, 12))
def test_averages_keep_the_area(steps, n_bins):
    curve = curve_of(steps)
    edges, means = curve.averaged(n_bins)
    assert len(means) == n_bins
    assert (edges[0], edges[-1]) == (curve.start, pytest.approx(curve.end))
    np.testing.assert_allclose(np.diff(edges), curve.duration / n_bins)
    np.testing.assert_allclose(means.mean(), curve.mean, rtol=1e-12, atol=1e-12)
    low, high = curve.heights.min(), curve.heights.max()
    assert (means >= low - 1e-9).all()
    assert (means <= high + 1e-9).all()


@given(widths_and_heights, st.sampled_from([0, -7, 0.3, 1_700_000_000_000_000_000]), st.integers(1, 9))
def test_areas_and_joined_steps_do_not_depend_on_the_chunks(steps, start, chunk):
    edges = start + np.concatenate([[0], np.cumsum([width for width, _ in steps])])
    curve = UtilizationCurve(edges, [height for _, height in steps])
    area = np.concatenate([[0.0], np.cumsum(np.diff(curve.edges) * curve.heights)])
    elapsed = np.linspace(0.0, curve.duration, 40).reshape(4, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perfcore.data.curve, "_CHUNK", chunk)
        assert (curve.area_until(elapsed) == np.interp(elapsed, curve.relative_edges, area)).all()
        merged = curve.merged()
    assert (merged is curve) == (np.diff(curve.heights) != 0).all()
    assert (np.diff(merged.heights) != 0).all()


# The time series: several columns, gaps, and one column as a curve.
def test_columns_and_gaps_are_kept_and_a_column_becomes_a_curve():
    columns = {"user": [1, np.nan, 3], "system": [4, 5, 6]}
    series = Series([0, 1, 3], columns, "ms", source="x.csv", notes=["a"])
    assert repr(series) == "Series(3 samples of user, system, from x.csv)"
    np.testing.assert_equal(dict(series.columns), columns)
    assert (series.times.dtype, series.notes) == (np.int64, ("a",))
    curve = series.curve("system")
    # Widths 1 and 2: the median is 1.5, so whole times are rounded down.
    assert (curve.edges.tolist(), curve.heights.tolist()) == ([0, 1, 3, 4], [4, 5, 6])
    assert (curve.time_unit, curve.source) == ("ms", "x.csv (system)")
    assert Series([0, 1], {"user": [1, 2], "system": [4, 5]}).curve().heights.tolist() == [1.0, 2.0]  # of the first
    with pytest.raises(UnknownNameError, match="did you mean 'user'"):
        series.curve("usr")


# The trace: utilization against counting by hand, overlaps, and which states compute.
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


@pytest.mark.parametrize(("changed", "message"), [
    ({"end_ns": [5, 1]}, "interval 1 of cpu1 ends at 1 ns before it starts at 2 ns"),
    ({"state": [0]}, r"columns of the trace have different lengths: \[1, 2\]"),
    ({"location": [0, 2]}, r"interval 1 has location 2, but there are 2 locations"),
    ({"location": [-1, 0]}, r"interval 0 has location -1"),
    ({"state": [0, 7]}, r"interval 1 has state 7, but there are 3 states"),
    ({"location": [], "state": [], "start_ns": [], "end_ns": []}, "has no state intervals"),
])  # fmt: skip
def test_what_is_no_trace_is_refused(changed, message):
    columns = {"location": [0, 1], "state": [0, 0], "start_ns": [0, 2], "end_ns": [4, 5]} | changed
    with pytest.raises(DataError, match=message):
        Trace(**columns, locations=["cpu0", "cpu1"], states=STATES)


def test_states_that_wait_are_idle_by_default():
    states = ("Idle", "MPI_Wait", " sleeping ", "dgemm", "Waiting a message", "Running")
    assert default_busy(states) == ("dgemm", "Running")
    assert default_busy(("idle", "wait")) == ()


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
    counted = [sum(a <= t < b for a, b in zip(starts, ends, strict=True)) for t in range(50)]  # one by one
    assert curve.heights[steps].tolist() == counted


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
