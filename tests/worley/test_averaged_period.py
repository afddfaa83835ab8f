"""Curves that repeat themselves every few cells: their period, what is left without it, and phases on that."""

import numpy as np
import pytest

import perfcore
from perf_worley.bounded_models import bounded_models
from perf_worley.cells import Cells, averaged_over_period, period_of
from perfcore import UtilizationCurve

P = 16


def iterations(waits, count, seed=0, jitter=0.1):
    """Iterations of some 15 units that end with a barrier of 16 processors, ``count`` of each share of waiting."""
    rng = np.random.default_rng(seed)
    edges, heights, at = [0.0], [], 0.0
    for wait in np.repeat(waits, count):
        length = 15.0 * rng.uniform(1.0 - jitter, 1.0 + jitter)
        done = np.sort(at + length * (1.0 - wait * rng.beta(2, 2, P)))
        edges += [*done, at + length]
        heights += list(range(P, -1, -1))
        at += length
    return UtilizationCurve(edges, heights, "s", n_locations=P)


@pytest.mark.parametrize("seed", range(6))
def test_period_of_iterations_of_unequal_length(seed):
    curve = iterations([0.2, 0.8], 16, seed)
    cells = curve.averaged(512)[1]
    assert period_of(cells) == pytest.approx(512 / 32, rel=0.06)


@pytest.mark.parametrize("seed", range(6))
def test_noise_has_no_period(seed):
    rng = np.random.default_rng(seed)
    shocks = rng.normal(0, 1, 512)
    dips = np.zeros(512)
    dips[rng.integers(0, 512, 6)] = -9.0
    for values in (shocks, np.cumsum(shocks), rng.standard_t(3, 512), rng.poisson(5, 512) * 1.0, dips, dips * 0.0):
        assert period_of(values) == 0.0


def test_a_break_is_no_period():
    assert period_of(np.repeat([1.0, 5.0, 2.0, 9.0], 128)) == 0.0


@pytest.mark.parametrize("period", [5, 15, 40])
def test_what_repeats_exactly_is_even_without_its_period(period):
    once = np.random.default_rng(period).uniform(0, 9, period)
    values = np.tile(once, -(-512 // period))[:512]
    averaged = averaged_over_period(Cells(values, 1.0, -1.0, np.inf, 9.0))
    assert averaged.period == pytest.approx(period, rel=2e-3)
    assert averaged.values == pytest.approx(np.full(512, once.mean()), abs=0.02 * np.ptp(once))


def test_phases_of_an_averaged_curve_last_two_periods():
    curve = iterations([0.2, 0.8, 0.3], 12)
    averaged = averaged_over_period(Cells(curve.averaged(512)[1], 1.0, -1.0, np.inf, 16.0))
    found = bounded_models(averaged, 1)
    assert min(np.diff(breaks).min() for breaks in found.breaks) >= 2 * averaged.period


def test_levels_of_iterations_are_phases_and_iterations_are_none():
    """Of twelve iterations each; a level is told by that few, so that now and then one looks like two."""
    exact, within = [], []
    for seed in range(4):
        curve = iterations([0.2, 0.9, 0.4], 12, seed)
        model = perfcore.fit(curve, fitter="phases")
        assert model.evidence.period == pytest.approx(15.0, rel=0.08)
        exact.append(len(model.phases) == 3)
        # The last iteration of a phase ends where the next phase begins.
        for end in curve.edges[[12 * (P + 1), 24 * (P + 1)]]:
            nearest = min(model.phases[1:], key=lambda phase: abs(phase.start - end))
            low, high = nearest.break_interval
            within.append(low <= end <= high and high - low < 60.0)  # four iterations
    assert sum(exact) >= 3
    assert sum(within) >= 7


def test_equal_iterations_are_one_phase():
    assert len(perfcore.fit(iterations([0.6], 36), fitter="phases").phases) == 1


def test_a_number_that_was_asked_for_is_that_of_the_whole_curve():
    curve = iterations([0.2, 0.9], 16)
    model = perfcore.fit(curve, fitter="phases", phases=20, degree=0)
    assert len(model.phases) == 20
    assert model.evidence.period == 0.0
