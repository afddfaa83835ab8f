"""What repeats: processors computing over time and, of a trace, the states that take most of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_worley.names.clipped_sums import clipped_sums
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
        """Number of cells."""
        return len(self.cells)

    def at(self, places: Floats) -> Floats:
        """Integrals from the start until places (...,) in cells; (..., n_channels)."""
        index = np.clip(places.astype(np.int64), 0, self.n_cells - 1)
        part = (places - index)[..., None]
        integrals: Floats = self.summed[index] + part * self.cells[index]
        return integrals

    def coarse(self, n: int) -> Floats:
        """Means in ``n`` cells of equal duration, (n, n_channels)."""
        edges = np.linspace(0.0, self.n_cells, n + 1)
        means: Floats = np.diff(self.at(edges), axis=0) / (self.n_cells / n)
        return means

    def sections(self, starts: Floats, ends: Floats, n: int) -> Floats:
        """Means in ``n`` equal parts of each section; places in cells; (n_sections, n, n_channels)."""
        edges = starts[:, None] + (ends - starts)[:, None] * (np.arange(n + 1) / n)
        widths = np.maximum((ends - starts) / n, 1e-300)
        means: Floats = np.diff(self.at(edges), axis=1) / widths[:, None, None]
        return means


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
