"""The segmenter: known breakpoints are found, within the width of a sample."""

import itertools

import numpy as np
import pytest
from perfcore_ruptures.options import RupturesOptions
from perfcore_ruptures.segmenter import RupturesSegmenter, resample

from perfcore import UtilizationCurve
from perfcore.base.errors import OptionError
from perfcore.contracts import Basis
from perfcore.testing import SegmenterSuite


class TestBottomUpContract(SegmenterSuite):
    """What perfcore asks of every segmenter."""

    segmenter = RupturesSegmenter


class TestKernelContract(SegmenterSuite):
    """The same of the exact method, which knows constant phases only."""

    segmenter = RupturesSegmenter
    options = RupturesOptions(method="kernel")
    degrees = (0,)


def noisy(levels_at_ends: list[tuple[float, float]], lengths: list[int]) -> UtilizationCurve:
    """Straight pieces with noise of standard deviation 0.1 on steps of width 1."""
    rng = np.random.default_rng(5)
    trend = [np.linspace(*ends, length) for ends, length in zip(levels_at_ends, lengths, strict=True)]
    heights = np.concatenate(trend)
    heights += 0.1 * rng.standard_normal(len(heights))
    return UtilizationCurve(np.arange(len(heights) + 1), heights)


@pytest.mark.parametrize("method", ["bottom-up", "kernel"])
def test_constant_phases_are_found_exactly(method):
    curve = noisy([(2, 2), (5, 5), (3, 3)], [300, 500, 200])
    segmenter = RupturesSegmenter(RupturesOptions(method=method))
    found = segmenter.segment(curve, 3, Basis(degree=0))
    np.testing.assert_array_equal(found.breaks, [0, 300, 800, 1000])
    assert found.statistics == {"samples": 2000.0}


def test_linear_phases_are_found_within_a_sample():
    curve = noisy([(2, 6), (3, 8), (9, 1)], [6000, 10000, 4000])
    found = RupturesSegmenter().segment(curve, 3, Basis(degree=1))
    np.testing.assert_allclose(found.breaks, [0, 6000, 16000, 20000], atol=10)


def test_breaks_are_edges_of_an_irregular_curve():
    edges = np.cumsum([0.0, 0.1, 7.0, 0.3, 2.0, 11.0, 0.7])
    curve = UtilizationCurve(edges, [1, 9, 2, 8, 3, 7])
    for n_phases in range(1, 9):
        found = RupturesSegmenter().segment(curve, n_phases, Basis(degree=0)).breaks
        assert set(found) <= set(edges)
        assert all(left < right for left, right in itertools.pairwise(found))
        assert len(found) <= n_phases + 1


def test_resampling_keeps_the_area():
    rng = np.random.default_rng(7)
    edges = np.cumsum(rng.uniform(0.1, 3.0, 101))
    curve = UtilizationCurve(edges, rng.uniform(0.0, 9.0, 100))
    # The mean of equally wide means is the mean; rounding only.
    np.testing.assert_allclose(resample(curve, 37).mean(), curve.mean, rtol=1e-12)


def test_the_exact_method_refuses_what_it_cannot_do():
    curve = UtilizationCurve([0, 1, 2], [1, 2])
    with pytest.raises(OptionError, match="use degree=0 or method='bottom-up'"):
        RupturesSegmenter(RupturesOptions(method="kernel")).segment(curve, 2, Basis(degree=1))
