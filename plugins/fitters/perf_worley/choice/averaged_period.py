"""Cells of a curve that repeats itself every few cells, averaged over its period.

Iterations that end with a barrier drop to a few processors again and again. That is no noise of the level: it adds up
to the same in each iteration, but estimates from neighbouring cells take it for much noise, and a search for phases
finds the drops. On means over one period only what changes from one iteration to the next is left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perf_worley.choice.cells import Cells

Floats = npt.NDArray[np.float64]

_SHORTEST = 4  # cells of a period; shorter ones are averaged out by the cells
_FEWEST_PERIODS = 12
_SEEN_PERIODS = 3  # that a longer one must have to be seen
# Of independent cells the correlation stays below 0.2; of barriers whose iterations differ by 10 % it is 0.34 and more.
_LIKE = 0.3
_FEWEST_JUMPS = 20  # that tell: larger ones count as this largest, be they breaks or a few dips at equal distances
_LONGER = 1.2  # times as alike: twice a period is no better than the period


def period_of(values: Floats) -> float:
    """How many cells it takes until the curve repeats itself; 0 where it does not.

    By the autocorrelation of differences, to which breaks and trends are single cells.
    """
    jumps = np.diff(values)
    longest = len(values) // _FEWEST_PERIODS
    if longest <= _SHORTEST or len(jumps) < _FEWEST_JUMPS:
        return 0.0
    most = float(np.sort(np.abs(jumps))[-_FEWEST_JUMPS])
    if most <= 0.0:
        return 0.0
    jumps = np.clip(jumps, -most, most)
    spectrum = np.fft.rfft(jumps - jumps.mean(), 2 * len(jumps))
    # What repeats itself seldom may have parts that are alike: these are no period.
    last = len(values) // _SEEN_PERIODS
    autocorrelation = np.fft.irfft(np.abs(spectrum) ** 2)[: last + 2]
    autocorrelation = autocorrelation / autocorrelation[0]
    inner = autocorrelation[_SHORTEST : last + 1]
    peaks = (inner >= autocorrelation[_SHORTEST - 1 : last]) & (inner >= autocorrelation[_SHORTEST + 1 : last + 2])
    best = 0
    for lag in _SHORTEST + np.flatnonzero(peaks & (inner >= _LIKE)):
        if not best or autocorrelation[lag] > _LONGER * autocorrelation[best]:
            best = int(lag)
    if not best or best > longest:
        return 0.0
    before, peak, after = autocorrelation[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float(best + (0.5 * (before - after) / bend if bend < 0.0 else 0.0))


def averaged_over_period(cells: Cells) -> Cells:
    """Each cell the mean over one period about it; the same object where the curve does not repeat itself."""
    period = period_of(cells.values)
    if not period:
        return cells
    n_cells, half = len(cells.values), 0.5 * period
    places = np.arange(n_cells + 1)
    summed = np.concatenate([[0.0], np.cumsum(cells.values)])
    middle = np.clip(places[:-1] + 0.5, half, n_cells - half)
    means = (np.interp(middle + half, places, summed) - np.interp(middle - half, places, summed)) / period
    return replace(cells, values=means, period=period)
