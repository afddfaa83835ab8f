"""A curve as means of equal cells: what the number of phases is chosen on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from perf_worley.moment_tree import MomentTree

CELLS = 512  # the constants of the rule are calibrated at this number
TOLERANCE = 0.02  # of the processors: how far a phase may leave [0, P], so that a ramp from 0 to P is one

LONGEST_OUTLIER = 3  # cells
_FAR = 3.5  # standard deviations of what is one; both set on samples of t(3) and rare dips

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Means over cells of equal duration."""

    values: Floats  # in processors
    width: float  # duration of a cell, in the curve's time unit
    low: float  # what a phase must stay within; ``high`` is infinite where the number of processors is not known
    high: float
    scale: float  # number of processors, else the highest height: what a small difference is small next to
    period: float = 0.0


def cells_of(tree: MomentTree, n_locations: int | None, *, fine: bool = False) -> Cells:
    """Means of 512 cells; of evenly sampled series with fewer samples the samples themselves."""
    samples = _samples(tree)
    n_cells = CELLS if samples is None else samples * (max(1, CELLS // samples) if fine else 1)
    cuts = np.linspace(0.0, tree.duration, n_cells + 1)
    means = np.array([tree.interval(begin, end)[1] for begin, end in pairwise(cuts.tolist())])
    scale = float(n_locations or tree.extremes[1]) or 1.0
    high = (1.0 + TOLERANCE) * scale if n_locations else np.inf
    return Cells(means + tree.origin, tree.duration / n_cells, -TOLERANCE * scale, high, scale)


def without_outliers(cells: Cells) -> Cells:
    """Cells that are far from the median of their neighbours moved near it; the same object where there are none."""
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(cells.values, LONGEST_OUTLIER, mode="edge"), 2 * LONGEST_OUTLIER + 1
    )
    middle = np.median(windows, axis=1)
    deviations = cells.values - middle
    most = _FAR * float(np.median(np.abs(deviations))) / 0.6745
    if most <= 0.0 or (np.abs(deviations) <= most).all():
        return cells
    return replace(cells, values=middle + np.clip(deviations, -most, most))


def _samples(tree: MomentTree) -> int | None:
    """How many samples an even series has; None where the steps are uneven, or there are more than cells."""
    if tree.n_steps > CELLS:
        return None
    widths = np.diff(tree.edges)
    number = tree.duration / float(widths.min())
    multiples = widths / float(widths.min())
    even = bool((np.abs(multiples - np.round(multiples)) < 1e-3 * multiples).all())
    return round(number) if even and round(number) <= CELLS else None


# Cells of a curve that repeats itself every few cells, averaged over its period.
#
# Iterations that end with a barrier drop to a few processors again and again. That is no noise of the level: it adds up
# to the same in each iteration, but estimates from neighbouring cells take it for much noise, and a search for phases
# finds the drops. On means over one period only what changes from one iteration to the next is left.

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
