"""The utilization curve: what it refuses, and what it keeps."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfcore.data.curve
from perfcore import UtilizationCurve
from perfcore.base.errors import DataError

widths_and_heights = st.lists(
    st.tuples(st.integers(1, 1000), st.integers(0, 4)), min_size=1, max_size=60
)  # few heights, so that neighbours are often equal


def curve_of(steps):
    return UtilizationCurve(np.concatenate([[0], np.cumsum([w for w, _ in steps])]), [h for _, h in steps])


@pytest.mark.parametrize(
    ("edges", "heights", "message"),
    [
        ([0, 1], [1, 2], "2 edges and 2 heights; a curve has one edge more"),
        ([[0, 1]], [1], "both one-dimensional"),
        (3.0, 2.0, "1 edges and 1 heights"),
        ([0], [], "has no steps"),
        ([0, 1, 2, 3], [1, -2, 3], r"height -2.0 of step 1 \(from time 1\); heights must be finite and not negative"),
        ([0, 1, 2, 3], [1, 2, np.nan], r"height nan of step 2 \(from time 2\)"),
        ([0, 1, 2], [np.inf, 2], r"height inf of step 0"),
        ([0, 1, 2, 1.5], [1, 2, 3], "time 1.5 follows 2.0 at edge 3; times must be finite and increase"),
        ([0, np.nan, 2], [1, 2], "time nan follows 0.0 at edge 1"),
        ([0, 1, np.inf], [1, 2], "time inf at edge 2; times must be finite"),
        ([-np.inf, 1, 2], [1, 2], "time -inf at edge 0; times must be finite"),
        ([5, 5, 5], [1, 2], "no duration, all its edges are 5"),
        ([0, np.inf, np.inf], [1, 2], "time inf follows 0.0 at edge 1"),
        (["a", "b"], [1], "edges: numbers are expected"),
        ([0, 1], ["x"], "heights: numbers are expected"),
        ([0, 1], [None], "height nan of step 0"),
    ],
)
def test_what_is_no_curve_is_refused_in_one_line_with_its_place(edges, heights, message):
    with pytest.raises(DataError, match=message) as caught:
        UtilizationCurve(edges, heights, source="x.csv")
    assert "\n" not in str(caught.value)


def test_the_place_is_right_beyond_the_first_chunk(monkeypatch):
    monkeypatch.setattr(perfcore.data.curve, "_CHUNK", 4)
    heights = np.ones(11)
    heights[9] = -1.0
    with pytest.raises(DataError, match=r"of step 9 \(from time 9\)"):
        UtilizationCurve(np.arange(12), heights)
    edges = np.arange(12.0)
    edges[8] = 6.5
    with pytest.raises(DataError, match=r"time 6.5 follows 7.0 at edge 8"):
        UtilizationCurve(edges, np.ones(11))


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


@given(widths_and_heights, st.integers(1, 12))
def test_envelope_keeps_every_extreme(steps, n_bins):
    curve = curve_of(steps)
    edges, low, high = curve.envelope(n_bins)
    assert len(low) == len(high) == len(edges) - 1 <= max(n_bins, 1)
    assert (edges[0], edges[-1]) == (curve.start, curve.end)
    covered = 0
    for first, last, lowest, highest in zip(edges[:-1], edges[1:], low, high, strict=True):
        run = curve.heights[(curve.edges[:-1] >= first) & (curve.edges[:-1] < last)]
        assert (run.min(), run.max()) == (lowest, highest)
        covered += len(run)
    assert covered == curve.n_steps


def test_fingerprint_tells_data_apart():
    edges, heights = np.arange(2001), np.arange(2000) % 7 + 1
    same = {UtilizationCurve(edges, heights, source=name).fingerprint for name in ("a.csv", "b.csv")}
    assert len(same) == 1
    other_height, other_edge = heights.copy(), edges.copy()
    other_height[1234] += 1
    other_edge[-1] += 1
    others = {
        UtilizationCurve(edges, other_height).fingerprint,
        UtilizationCurve(other_edge, heights).fingerprint,
        UtilizationCurve(edges, heights, "ms").fingerprint,
        UtilizationCurve(edges[:-1], heights[:-1]).fingerprint,
    }
    assert len(others | same) == 5


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
