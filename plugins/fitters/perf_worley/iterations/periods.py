"""Which durations a run may repeat itself with: correlation of neighbouring windows, for windows of every length.

Windows are 16 to 31 cells long, on cells that double from one octave to the next: so much is smoothed that sections
whose durations differ by some per cent still look alike. `perf_worley.iterations.alignment` then looks at each
candidate closely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_worley.iterations.signal import Signal

Floats = npt.NDArray[np.float64]

FEWEST = 4  # sections that are called iterations
_SHORTEST = 16  # cells
_LIKE = 0.3  # correlation from which on neighbouring windows look alike
_MOST = 8  # candidates
_APART = 0.2  # between the logarithms of two
_FLOOR = 0.02  # share of the run's variance below which a window has nothing to compare


class Candidate(NamedTuple):
    """A duration that may be a period."""

    period: float
    start: float
    end: float
    score: float  # how many windows are alike, each counted by its correlation


def candidates(signal: Signal) -> list[Candidate]:
    """Durations that may be periods, the best first; none where no stretch looks like its neighbour.

    Parameters
    ----------
    signal : Signal
    """
    likely_periods: list[Candidate] = []
    variance = float((signal.cells**2).sum(axis=1).mean())
    if not variance > 0.0:  # an even run
        return []
    n = signal.n_cells
    while n >= FEWEST * _SHORTEST:
        cells = signal.coarse(n)
        scale = signal.n_cells / n
        sums = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(cells, axis=0)])
        squares = np.concatenate([[0.0], np.cumsum((cells**2).sum(axis=1))])
        for lag in range(_SHORTEST, 2 * _SHORTEST):
            if FEWEST * lag > n + lag // 2:
                break
            correlation = _alike(cells, sums, squares, lag, _FLOOR * variance)
            start, end = _best_run(correlation - _LIKE)
            score = float(correlation[start:end].sum()) / lag
            if end - start >= (FEWEST - 2) * lag:
                likely_periods.append(Candidate(lag * scale, start * scale, (end + 2 * lag) * scale, score))
        n //= 2
    return _apart(likely_periods)


def _alike(cells: Floats, sums: Floats, squares: Floats, lag: int, floor: float) -> Floats:
    """Correlation of the window from each cell with the window that follows it."""
    products = np.concatenate([[0.0], np.cumsum((cells[:-lag] * cells[lag:]).sum(axis=1))])
    product = products[lag:] - products[:-lag]
    means = sums[lag:] - sums[:-lag]
    spread = squares[lag:] - squares[:-lag] - (means**2).sum(axis=1) / lag
    count = len(product)
    covariance = product - (means[:count] * means[lag : lag + count]).sum(axis=1) / lag
    correlation: Floats = 2.0 * covariance / (spread[:count] + spread[lag : lag + count] + 2.0 * floor * lag)
    return correlation


def _best_run(values: Floats) -> tuple[int, int]:
    """Start and end of the contiguous run of the largest sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lowest = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - lowest))
    start = int(np.argmin(sums[: end + 1]))
    return start, end


def _apart(likely_periods: list[Candidate]) -> list[Candidate]:
    """The best ones of different periods."""
    kept: list[Candidate] = []
    for each in sorted(likely_periods, key=lambda candidate: -candidate.score):
        if all(abs(np.log(each.period / other.period)) > _APART for other in kept):
            kept.append(each)
        if len(kept) == _MOST:
            break
    return kept
