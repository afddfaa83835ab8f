"""Stretches of long curves: nothing is left out, and means are exact."""

import itertools

import numpy as np
import pytest

from perf_worley.curve_views import CurveSummary, Zoom, zoom_blocks
from perfcore import UtilizationCurve


def noisy(n_steps, seed=1):
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[50.0], 50.0 + np.cumsum(rng.uniform(0.1, 2.0, n_steps))])
    return UtilizationCurve(edges, rng.uniform(0.0, 9.0, n_steps))


@pytest.mark.parametrize("n_steps", [3, 1000, 200_000])  # as they are, step by step, by blocks
@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (0.2, 0.9), (0.41, 0.42)])
def test_bins_hold_extremes_and_means_of_their_own_steps(n_steps, start, end):
    curve = noisy(n_steps)
    first, last = (curve.start + share * curve.duration for share in (start, end))
    part = CurveSummary(curve).stretch(first, last, 50)
    assert len(part.low) <= 50
    assert part.edges[0] <= first
    assert part.edges[-1] >= last
    assert (np.diff(part.edges) > 0).all()
    for k, (left, right) in enumerate(itertools.pairwise(part.edges)):
        i, j = np.searchsorted(curve.edges, [left, right])
        assert curve.edges[i] == left
        assert curve.edges[j] == right
        assert part.low[k] == curve.heights[i:j].min()
        assert part.high[k] == curve.heights[i:j].max()
        mean = np.average(curve.heights[i:j], weights=np.diff(curve.edges[i : j + 1]))
        assert part.mean[k] == pytest.approx(mean, rel=1e-9)


def test_the_address_says_the_stretch_and_links_stay_inside():
    summary = CurveSummary(noisy(1000))
    whole = Zoom.of(summary.curve, {})
    assert whole.query() == {}
    assert [link.text for link in whole.links((), {})] == ["Closer"]
    inner = Zoom.of(summary.curve, {"from": "100", "to": "200"})
    assert (inner.start, inner.end) == (100.0, 200.0)  # times of the axis, which begins at 50
    assert Zoom.of(summary.curve, inner.query()) == inner
    for link in inner.links(("x",), {"phases": "3"}):
        assert link.query["phases"] == "3"
        there = Zoom.of(summary.curve, link.query)
        assert whole.start <= there.start < there.end <= whole.end
    assert Zoom.of(summary.curve, {"from": "-5", "to": "1e9"}) == whole


def test_the_table_beside_the_picture_adds_up():
    curve = noisy(5000)
    summary = CurveSummary(curve)
    chart = zoom_blocks(summary, Zoom.of(summary.curve, {}), (), {})[0]
    rows = chart.tables[0].rows
    assert min(float(row[3]) for row in rows) == pytest.approx(curve.heights.min(), rel=1e-3)
    assert max(float(row[4]) for row in rows) == pytest.approx(curve.heights.max(), rel=1e-3)
    assert all(row[0].link.query for row in rows)
