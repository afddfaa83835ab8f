"""Samples that follow one another: how much they are worth, which modes they have, and when."""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
from scipy import fft, ndimage

from perf_tables.series import Window
from perfcore.base.arrays import Floats
from perfcore.data.units import nanoseconds_per

_LONGEST_LAG = 3  # the autocorrelation is summed up to one in so many samples
_GRID, _SILVERMAN = 512, 0.9  # places of a density, and the constant of its bandwidth
_LEAST_SHARE, _DEEPEST_VALLEY = 0.05, 0.5  # of the samples in a mode, and of the lower peak beside a valley
_FEWEST_OF_MODES = 50
_TICKS = 10.0  # steps of rounding that a spread has at least
_FIRST_DATE, _LAST_DATE, _DAY, _HOURS = 1e9, 4e9, 86_400.0, 24  # seconds since 1970
_FEWEST_DAYS, _EXPLAINED = 3.0, 0.25  # share of the variance of ranks that the hour must explain


def effective_size(values: Floats) -> float:
    """Return how many independent samples know the mean as well as these, in their order.

    Source: C. J. Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7 (1992): the sum of
    autocorrelations in pairs, as long as these are positive and fall. Ranks stand for the values, so that outliers
    don't hide what depends on what.

    Examples
    --------
    >>> effective_size(np.repeat(np.random.default_rng(0).normal(size=200), 10)) < 400
    True
    """
    count = len(values)
    if count < 4 or values.min() == values.max():
        return float(count)
    _, places = np.unique(values, return_inverse=True)
    centred = places - places.mean()
    spectrum = fft.rfft(centred, fft.next_fast_len(2 * count))
    covariance = fft.irfft(np.abs(spectrum) ** 2)[: 2 * max(1, count // (2 * _LONGEST_LAG))]
    pairs = (covariance / covariance[0]).reshape(-1, 2).sum(axis=1)
    positive = np.append(pairs > 0.0, False).argmin()
    time = 2.0 * np.minimum.accumulate(pairs[:positive]).sum() - 1.0 if positive else 1.0
    return float(count / max(time, 1.0))


def modes_of(values: Floats) -> list[tuple[float, float]]:
    """Return the modes of samples, each with its share of them; one if there are no valleys between peaks.

    Peaks of a density by Gaussian kernels of Silverman's width, over ranks of magnitude if the values span many.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [round(share, 2) for _, share in modes_of(np.concatenate([rng.normal(0, 1, 300), rng.normal(9, 1, 100)]))]
    [0.75, 0.25]
    """
    if len(values) < _FEWEST_OF_MODES:
        return []
    low, high = np.quantile(values, [0.005, 0.995])
    quartiles = np.quantile(values, [0.25, 0.75])
    inside = values[(values >= low) & (values <= high)]
    spread = min(float(inside.std()), float(np.ptp(quartiles)) / 1.34 or math.inf)
    if not high > low or not spread >= 0.0:
        return []
    steps = np.diff(np.unique(inside))
    spread = max(spread, float(steps.min()) * _TICKS if len(steps) else 0.0)  # values that are rounded are no modes
    width = _SILVERMAN * spread * len(inside) ** -0.2 / ((high - low) / _GRID)
    counts, edges = np.histogram(inside, _GRID, (low, high))
    density = ndimage.gaussian_filter1d(counts.astype(np.float64), max(width, 1.0), mode="constant")
    padded = np.concatenate([[-1.0], density, [-1.0]])
    peaks = np.flatnonzero((density > padded[:-2]) & (density >= padded[2:])).tolist()
    while len(peaks) > 1:
        valleys = [first + int(density[first:second].argmin()) for first, second in itertools.pairwise(peaks)]
        ends = [0, *valleys, _GRID]
        shares = [float(counts[start:end].sum()) / len(inside) for start, end in itertools.pairwise(ends)]
        depth = [float(density[at]) / min(density[peaks[k]], density[peaks[k + 1]]) for k, at in enumerate(valleys)]
        weak = [max(depth[max(k - 1, 0) : k + 1]) / _DEEPEST_VALLEY for k in range(len(peaks))]
        weak = [max(one, _LEAST_SHARE / max(share, 1e-9)) for one, share in zip(weak, shares, strict=True)]
        if max(weak) <= 1.0:
            return [(float(edges[peak]), share) for peak, share in zip(peaks, shares, strict=True)]
        worst = max(weak)
        peaks.remove(
            min((peak for peak, one in zip(peaks, weak, strict=True) if one == worst), key=lambda k: density[k])
        )
    return [(float(edges[peak]), 1.0) for peak in peaks]


def hours_of(window: Window) -> str:
    """Return when values are high and low by the time of day; empty if that explains little or is not known."""
    seconds = window.times * (nanoseconds_per(window.time_unit) / 1e9)
    if not _FIRST_DATE <= seconds[0] < _LAST_DATE or seconds[-1] - seconds[0] < _FEWEST_DAYS * _DAY:
        return ""
    hours = ((seconds % _DAY) // 3600.0).astype(np.intp)
    counts = np.bincount(hours, minlength=_HOURS)
    if counts.min() < _FEWEST_DAYS:
        return ""
    ranks = np.searchsorted(np.sort(window.values), window.values).astype(np.float64)
    means = np.bincount(hours, ranks, _HOURS) / counts
    if float(means[hours].var()) < _EXPLAINED * float(ranks.var()):
        return ""
    is_high = means > 0.5 * (means.max() + means.min())
    start = next((hour for hour in range(_HOURS) if is_high[hour] and not is_high[hour - 1]), 0)
    length = next((k for k in range(1, _HOURS) if not is_high[(start + k) % _HOURS]), _HOURS)
    day = np.isin(hours, (start + np.arange(length)) % _HOURS)
    high, low = np.median(window.values[day]), np.median(window.values[~day])
    clock = [datetime.time(hour % _HOURS).strftime("%H:%M") for hour in (start, start + length)]
    share = float(means[hours].var()) / float(ranks.var())
    return f"median {high:.3g} from {clock[0]} to {clock[1]} UTC, {low:.3g} otherwise (the hour explains {share:.0%})"
