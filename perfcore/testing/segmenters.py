"""What every segmenter promises."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfcore.contracts import Basis, Segmentation, Segmenter
from perfcore.data.curve import UtilizationCurve
from perfcore.testing._options import check_options

__all__ = ["SegmenterSuite"]


class SegmenterSuite:
    """Tests of one segmenter.

    Attributes
    ----------
    segmenter : type of `perfcore.contracts.Segmenter`
    options : object, optional
        Instance of its `Options`; the defaults when left out.
    degrees : sequence of int
        Degrees of polynomials that it takes with these options.
    break_tolerance : float
        How far from a clear step its break may be, as a share of the duration; 0.01 is one step of the suite's curve.
    """

    segmenter: type[Segmenter]
    options: Any = None
    degrees: Sequence[int] = (0, 1, 2, 3)
    break_tolerance: float = 0.01

    def make(self) -> Segmenter:
        """A segmenter with the suite's options."""
        return self.segmenter(self.options)

    def check(self, curve: UtilizationCurve, n_phases: int, basis: Basis) -> Segmentation:
        """Segment, and assert what holds for every result."""
        segmentation = self.make().segment(curve, n_phases, basis)
        _check_segmentation(segmentation, curve, n_phases)
        return segmentation

    def test_says_what_it_minimises(self) -> None:
        """The objective stands in the output of ``perf fit``."""
        assert issubclass(self.segmenter, Segmenter)
        assert self.segmenter.objective.strip()

    def test_options(self) -> None:
        """Options can be listed and accept their defaults."""
        check_options(self.segmenter.Options)

    def test_breaks_lead_from_start_to_end(self) -> None:
        """For every degree and several n: from 0 to the duration, increasing, at most n phases."""
        curve = jagged(n_steps=60)
        for degree, n_phases in itertools.product(self.degrees, (2, 3, 7)):
            self.check(curve, n_phases, Basis(degree))

    def test_one_phase_is_the_whole_curve(self) -> None:
        """Whatever the degree."""
        curve = jagged(n_steps=60)
        for degree in self.degrees:
            assert len(self.check(curve, 1, Basis(degree)).breaks) == 2

    def test_more_phases_than_steps(self) -> None:
        """Few steps, or one, are no mistake of the user."""
        for n_steps in (1, 2, 5):
            for degree in self.degrees:
                self.check(jagged(n_steps), n_steps, Basis(degree))
                self.check(jagged(n_steps), n_steps + 7, Basis(degree))

    def test_a_sequence_is_its_members(self) -> None:
        """What `sequence` shares between the numbers of phases does not change them."""
        curve, counts = jagged(n_steps=60), (1, 2, 3, 5, 8)
        for degree in self.degrees:
            together = self.make().sequence(curve, counts, Basis(degree))
            assert len(together) == len(counts)
            for n_phases, segmentation in zip(counts, together, strict=True):
                alone = self.make().segment(curve, n_phases, Basis(degree))
                np.testing.assert_allclose(segmentation.breaks, alone.breaks, rtol=0.0, atol=1e-6 * curve.duration)

    def test_scaling_time_and_height_scales_the_breaks(self) -> None:
        """A curve in other units has the same phases; the factors are powers of two, so nothing is rounded."""
        curve = jagged(n_steps=60)
        scaled = UtilizationCurve(curve.edges * 4.0, curve.heights * 8.0)
        for degree in self.degrees:
            breaks = self.check(curve, 4, Basis(degree)).breaks
            np.testing.assert_allclose(self.check(scaled, 4, Basis(degree)).breaks, 4.0 * breaks, rtol=1e-6)

    def test_breaks_count_from_the_start_of_the_curve(self) -> None:
        """Also for whole nanoseconds since 1970, which a float64 cannot tell apart."""
        edges = np.concatenate([[0], np.cumsum(np.random.default_rng(2).integers(1, 9, 40))])
        heights = jagged(n_steps=40).heights
        near = UtilizationCurve(edges, heights, "ns")
        far = UtilizationCurve(edges + 1_700_000_000_000_000_001, heights, "ns")
        for degree in self.degrees:
            np.testing.assert_array_equal(
                self.check(far, 3, Basis(degree)).breaks, self.check(near, 3, Basis(degree)).breaks
            )

    def test_finds_a_clear_step(self) -> None:
        """Two levels and a ripple a thousandth of their difference: the break is where the level changes."""
        heights = np.concatenate([np.full(70, 40.0), np.full(30, 10.0)])
        heights += 0.03 * (np.arange(100) % 2)
        curve = UtilizationCurve(np.arange(101), heights)
        for degree in self.degrees:
            segmentation = self.check(curve, 2, Basis(degree))
            assert len(segmentation.breaks) == 3
            assert abs(segmentation.breaks[1] - 70.0) <= self.break_tolerance * curve.duration


def jagged(n_steps: int) -> UtilizationCurve:
    """Steps of uneven width and height around a trend with a jump; neighbours differ."""
    rng = np.random.default_rng(n_steps)
    x = np.arange(n_steps) / n_steps
    heights = 20.0 + 30.0 * x + 25.0 * (x > 0.6) + rng.integers(0, 5, n_steps) + 0.5 * (np.arange(n_steps) % 2)
    edges = np.concatenate([[0.0], np.cumsum(rng.integers(1, 9, n_steps) / 4.0)])
    return UtilizationCurve(edges, heights).merged()


def _check_segmentation(segmentation: Segmentation, curve: UtilizationCurve, n_phases: int) -> None:
    breaks = np.asarray(segmentation.breaks)
    assert breaks.ndim == 1
    assert breaks.dtype == np.float64
    assert 2 <= len(breaks) <= n_phases + 1, f"{len(breaks) - 1} phases, {n_phases} were asked for"
    assert breaks[0] == 0.0, f"the first break is {breaks[0]}, not 0"
    assert breaks[-1] == curve.duration, f"the last break is {breaks[-1]}, not the duration {curve.duration}"
    assert (np.diff(breaks) > 0.0).all(), f"the breaks do not increase: {breaks}"
    if segmentation.degrees is not None:
        assert len(segmentation.degrees) == len(breaks) - 1, "one degree for each phase is expected"
    for name, value in segmentation.statistics.items():
        assert np.isfinite(value), f"the statistic {name!r} is {value}"
