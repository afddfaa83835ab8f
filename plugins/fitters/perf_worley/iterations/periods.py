"""Which durations a run may repeat itself with: correlation of neighbouring windows, for windows of every length.

Windows are 16 to 31 cells long, on cells that double from one octave to the next: so much is smoothed that sections
whose durations differ by some per cent still look alike. `perf_worley.iterations.alignment` then looks at each
candidate closely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_worley.activity import clipped_sums
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per

Floats = npt.NDArray[np.float64]

_MOST_CELLS, _CELLS_PER_CHANGE = 1 << 16, 32
_MOST_STATES = 5
_MOST_INTERVALS = 1 << 20  # of longer traces the curve alone is looked at
_MOST_PIECES = 1 << 22  # locations times cells
_FEWEST_CELLS, _SHORTEST_NS = 1 << 10, 16  # cells of the states, whose edges are whole nanoseconds


class Signal:
    """Step functions on common cells, whose means between any two times are known."""

    def __init__(self, cells: Floats, start: float, end: float, n_changes: int) -> None:
        self.start, self.end, self.n_changes = start, end, n_changes
        # The mean of a channel tells nothing of what repeats, and would cost digits.
        self.cells = cells - cells.mean(axis=0)
        self.summed = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(self.cells, axis=0)])

    @property
    def n_cells(self) -> int:
        return len(self.cells)

    def at(self, places: Floats) -> Floats:
        """Integrals from the start until places (...,) in cells; (..., n_channels)."""
        index = np.clip(places.astype(np.int64), 0, self.n_cells - 1)
        part = (places - index)[..., None]
        return np.asarray(self.summed[index] + part * self.cells[index])

    def coarse(self, n: int) -> Floats:
        """Means in ``n`` cells of equal duration, (n, n_channels)."""
        edges = np.linspace(0.0, self.n_cells, n + 1)
        return np.asarray(np.diff(self.at(edges), axis=0) / (self.n_cells / n))

    def sections(self, starts: Floats, ends: Floats, n: int) -> Floats:
        """Means in ``n`` equal parts of each section; places in cells; (n_sections, n, n_channels)."""
        edges = starts[:, None] + (ends - starts)[:, None] * (np.arange(n + 1) / n)
        widths = np.maximum((ends - starts) / n, 1e-300)
        return np.asarray(np.diff(self.at(edges), axis=1) / widths[:, None, None])


def signal_of(curve: UtilizationCurve, trace: Trace | None = None) -> Signal:
    """The signal of a run."""
    start, end = float(curve.start), float(curve.end)
    changes = max(curve.n_steps, 0 if trace is None else trace.n_intervals // len(trace.locations))
    n_cells = min(_MOST_CELLS, max(_FEWEST_CELLS, 1 << (_CELLS_PER_CHANGE * changes - 1).bit_length()))
    heights = curve.averaged(n_cells)[1][:, None]
    if trace is None or trace.n_intervals > _MOST_INTERVALS or len(trace.states) < 2:
        return Signal(heights, start, end, changes)
    n, factor = n_cells, nanoseconds_per(curve.time_unit)
    while n > _FEWEST_CELLS and (n * len(trace.locations) > _MOST_PIECES or (end - start) * factor < _SHORTEST_NS * n):
        n //= 2
    totals = np.bincount(trace.state, trace.end_ns - trace.start_ns, minlength=len(trace.states))
    kept = np.argsort(-totals, kind="stable")[:_MOST_STATES]
    place = np.full(len(trace.states), _MOST_STATES)
    place[kept] = np.arange(len(kept))
    first, last = trace.span_ns
    edges = first + np.round(np.linspace(0.0, last - first, n + 1)).astype(np.int64)
    (times,) = clipped_sums(trace.start_ns, trace.end_ns, edges, [(place[trace.state], _MOST_STATES + 1)])
    means = times[:, : len(kept)] / np.maximum(np.diff(edges), 1)[:, None]
    return Signal(np.hstack([heights, np.repeat(means, n_cells // n, axis=0)]), start, end, changes)


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
    """Durations that may be periods, the best first; none where no stretch looks like its neighbour."""
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
    kept: list[Candidate] = []  # the best ones of different periods
    for each in sorted(likely_periods, key=lambda candidate: -candidate.score):
        if all(abs(np.log(each.period / other.period)) > _APART for other in kept):
            kept.append(each)
    return kept[:_MOST]


def _alike(cells: Floats, sums: Floats, squares: Floats, lag: int, floor: float) -> Floats:
    """Correlation of the window from each cell with the window that follows it."""
    products = np.concatenate([[0.0], np.cumsum((cells[:-lag] * cells[lag:]).sum(axis=1))])
    product = products[lag:] - products[:-lag]
    means = sums[lag:] - sums[:-lag]
    spread = squares[lag:] - squares[:-lag] - (means**2).sum(axis=1) / lag
    count = len(product)
    covariance = product - (means[:count] * means[lag : lag + count]).sum(axis=1) / lag
    return np.asarray(2.0 * covariance / (spread[:count] + spread[lag : lag + count] + 2.0 * floor * lag))


def _best_run(values: Floats) -> tuple[int, int]:
    """Start and end of the contiguous run of the largest sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lowest = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - lowest))
    start = int(np.argmin(sums[: end + 1]))
    return start, end
