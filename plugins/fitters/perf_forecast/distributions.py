"""Samples of what may come as a distribution: quantiles between and beyond them, within bounds, and recalibrated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from perf_forecast import levels

Floats = npt.NDArray[np.float64]

LEVELS: Floats = np.array(levels.LEVELS)
_OUTERMOST = 5e-4  # probability beyond the first and the last edge, which are no infinite quantiles
_EVIDENCE = 30.0  # origins whose places weigh as much as the belief that a distribution is right as it is
_LEAST_DISPERSION, _MOST_DISPERSION = 0.75, 1.0 / 0.75  # beyond, values that repeat are the cause, not the width


def resolution_of(values: Floats) -> float:
    """The step by which values are rounded; 0 where most are different."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 0.5 * len(values):
        return 0.0
    steps = np.diff(distinct)
    return float(steps[steps > 1e-9 * np.ptp(distinct)].min())


def quantiles_of(samples: Floats, weights: Floats, resolution: float, bounds: tuple[float, float]) -> Floats:
    """Quantiles of weighted samples at `LEVELS`.

    A sample stands for the values that are rounded to it, except at a bound. Between samples quantiles are linear;
    beyond them they go on as those of a normal distribution from the median to the outermost sample would.
    """
    order = np.argsort(samples, kind="stable")
    values = np.clip(samples[order], *bounds)
    share = weights[order] / weights.sum()
    if resolution > 0.0:
        values = _unrounded(values, resolution, bounds)
    tail_probability = 1.0 / (
        1.0 + 1.0 / float(np.sum(share**2))
    )  # probability outside of as many samples as these are worth
    places = (np.cumsum(share) - 0.5 * share) * (1.0 - tail_probability) + 0.5 * tail_probability
    probabilities = np.clip(LEVELS, _OUTERMOST, 1.0 - _OUTERMOST)
    interpolated = np.interp(probabilities, places, values)
    middle = float(np.interp(0.5, places, values))
    for outside, end in ((probabilities < places[0], 0), (probabilities > places[-1], -1)):
        if places[end] != 0.5:
            interpolated[outside] = middle + (values[end] - middle) * ndtri(probabilities[outside]) / ndtri(places[end])
    quantiles: Floats = np.maximum.accumulate(np.clip(interpolated, *bounds))
    return quantiles


def _unrounded(values: Floats, resolution: float, bounds: tuple[float, float]) -> Floats:
    """Equal values, spread evenly over what is rounded to them; those at a bound stay."""
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > 0.0)
    counts = np.diff(starts, append=len(values))
    offsets = (np.arange(len(values)) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts) - 0.5
    free = (values > bounds[0]) & (values < bounds[1])
    return np.where(free, values + resolution * offsets, values)


def centrality(quantiles: Floats, actual: float) -> float:
    """Coverage of the narrowest central interval that holds a value: 0 at the median, 1 at and beyond the ends."""
    first, after = (int(quantiles.searchsorted(actual, side=side)) for side in ("left", "right"))
    if after > first:  # one of the edges, or several: whichever level is nearest to the middle
        low, high = LEVELS[first], LEVELS[after - 1]
        return float(2.0 * max(low - 0.5, 0.5 - high, 0.0))
    return float(abs(2.0 * np.interp(actual, quantiles, LEVELS) - 1.0))


def dispersion_of(centralities: Floats) -> float:
    """The exponent g with which central intervals of coverage c held c^g of the values; 1 where they were right."""
    mean = (float(centralities.sum()) + 0.5 * _EVIDENCE) / (len(centralities) + _EVIDENCE)
    return round(min(max(mean / (1.0 - mean), _LEAST_DISPERSION), _MOST_DISPERSION), 12)


def redispersed(quantiles: Floats, dispersion: float) -> Floats:
    """Quantiles at `LEVELS` whose central intervals hold what they say, after those that held another share."""
    central = 2.0 * LEVELS - 1.0
    moved = 0.5 + 0.5 * np.sign(central) * np.abs(central) ** (1.0 / dispersion)
    moved_quantiles: Floats = np.interp(moved, LEVELS, quantiles)
    return moved_quantiles
