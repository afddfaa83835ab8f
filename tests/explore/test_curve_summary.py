"""Stretches of long curves: nothing is left out, and means are exact."""

import itertools

import numpy as np
import pytest

from perf_worley.curve_views import CurveSummary
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
