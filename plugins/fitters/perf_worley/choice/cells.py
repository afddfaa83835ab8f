"""A curve as means of equal cells: what the number of phases is chosen on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from perf_worley.trees.moment_kernels import interval
from perf_worley.trees.moment_tree import MomentTree
from perfcore.base.kernels import kernel

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
    scale: float  # number of processors, else the highest height: what a small difference is small beside
    period: float = 0.0


@kernel
def _means(edges, heights, origin, nodes, cuts, last_steps, means):  # type: ignore[no-untyped-def]
    first = 0
    for cell in range(means.shape[0]):
        last = max(first, last_steps[cell])
        means[cell] = interval(edges, heights, origin, nodes, cuts[cell], first, cuts[cell + 1], last)[1]
        first = last
        if last < heights.shape[0] - 1 and edges[last + 1] <= cuts[cell + 1]:
            first = last + 1


def cells_of(tree: MomentTree, n_locations: int | None, *, fine: bool = False) -> Cells:
    """Means of 512 cells; of evenly sampled series with fewer samples the samples themselves."""
    samples = _samples(tree)
    return even_cells(
        tree, n_locations, CELLS if samples is None else samples * (max(1, CELLS // samples) if fine else 1)
    )


def even_cells(tree: MomentTree, n_locations: int | None, n_cells: int = CELLS) -> Cells:
    """Means of so many cells of equal duration, whatever the steps are."""
    cuts = np.linspace(0.0, tree.duration, n_cells + 1)
    means = np.empty(n_cells)
    last_steps = np.minimum(np.searchsorted(tree.edges, cuts[1:]) - 1, tree.n_steps - 1)
    _means(*tree.arrays, cuts, last_steps, means)
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
