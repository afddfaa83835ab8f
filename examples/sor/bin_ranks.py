"""Shares of actual values in the bins of their predictions, the most probable bin first: Figure 5 of Schopf's paper.

J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", 1999. The paper leaves
bins of equal probability in an order that it does not state; here each of their ranks gets an equal part.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perf_structural.samples import read_predictions
from perfcore.stochastic import StochasticValue

__all__ = ["rank_names", "ranked"]

Floats = npt.NDArray[np.float64]


def ranked(predictions: Path | Sequence[StochasticValue], actual: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the ranks of the bins of actual values (k, m + 1), the last outside of all, and the masses (k, m)."""
    values = read_predictions(predictions) if isinstance(predictions, Path) else predictions
    x = np.asarray(actual, dtype=np.float64)
    values = list(values) * len(x) if len(values) == 1 else values
    binned = [(bins, one) for value, one in zip(values, x, strict=True) if (bins := value.binned) is not None]
    most = max(len(masses) for (_, masses), _ in binned)
    ranks, ordered = np.zeros((len(binned), most + 1)), np.zeros((len(binned), most))
    for row, ((edges, masses), one) in enumerate(binned):
        ordered[row, : len(masses)] = descending = np.sort(masses)[::-1]
        if not edges[0] <= one <= edges[-1]:
            ranks[row, -1] = 1.0
            continue
        # The bin to the right of an edge; one without width has its own value.
        left, after = (int(edges.searchsorted(one, side=side)) for side in ("left", "right"))
        found = left if after - left > 1 else min(after - 1, len(edges) - 2)
        ties = np.flatnonzero(np.isclose(descending, masses[found], rtol=1e-12, atol=0.0))
        ranks[row, ties] = 1.0 / len(ties)
    return ranks, ordered


def rank_names(count: int) -> list[str]:
    """Return headings for bins from the most to the least probable, as in the paper's figure."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    middle = [f"{k}{'th' if k % 100 in (11, 12, 13) else ends.get(k % 10, 'th')}" for k in range(2, count)]
    return ["highest", *middle, "lowest"][:count]
