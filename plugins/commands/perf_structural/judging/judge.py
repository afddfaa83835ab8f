"""Predictions against what then happened: how often, how far, and by how much they were wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_structural.judging.judgement import Judgement
from perf_structural.judging.scores import shares_by_rank
from perfcore.base.errors import DataError

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue

__all__ = ["COVERAGES", "judge"]

Floats = npt.NDArray[np.float64]

COVERAGES = (0.5, 0.8, 0.9, 0.95)


def judge(
    predictions: Sequence[StochasticValue],
    actual: npt.ArrayLike,
    *,
    at: npt.ArrayLike | None = None,
    at_name: str = "run",
    name: str = "actual",
) -> Judgement:
    """Compare predictions with what happened.

    Choose it before a prediction is trusted: shares that fall short of what was promised mean that the predicted
    distributions are too narrow, or beside the truth.

    Parameters
    ----------
    predictions : sequence of StochasticValue
        One for each run, or a single one for all.
    actual : (n,) float, finite
    at : (n,) float, optional
        Start times or run numbers.
    at_name, name : str
        What these are called.

    Raises
    ------
    DataError
        Their numbers differ, there are none, or an actual value is not finite.

    Notes
    -----
    Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling" (1999),
    Figure 5 (shares by the probability of the bin) and Figures 6 to 11; T. Gneiting and A. E. Raftery (2007) for the
    scores. The paper's table leaves bins of equal probability in an order that it does not state; here each of their
    ranks gets an equal part.
    """
    values = np.asarray(actual, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("actual values: at least one, and all of them finite, are expected")
    given = list(predictions) * len(values) if len(predictions) == 1 else list(predictions)
    if len(given) != len(values):
        raise DataError(f"{len(given)} predictions for {len(values)} actual values; give one for each, or one for all")
    ranks, masses = _ranked(given, values)
    return Judgement(
        representations=tuple(dict.fromkeys(value.name for value in given)),
        actual=values,
        mean=np.array([value.mean for value in given], dtype=np.float64),
        support=np.array([value.support for value in given], dtype=np.float64),
        bounds={each: np.array([value.central_interval(each) for value in given]) for each in COVERAGES},
        place=np.array([value.place_of(x) for value, x in zip(given, values, strict=True)]),
        crps=np.array([value.crps(x) for value, x in zip(given, values, strict=True)]),
        ranks=ranks,
        masses=masses,
        at=None if at is None else np.asarray(at, dtype=np.float64),
        at_name=at_name,
        name=name,
    )


def _bin_of(actual: float, edges: Floats) -> int | None:
    """The bin to the right of an edge, the last one at the upper end, and a bin without width for its own value."""
    if not edges[0] <= actual <= edges[-1]:
        return None
    first, after = (int(edges.searchsorted(actual, side=side)) for side in ("left", "right"))
    return first if after - first > 1 else min(after - 1, len(edges) - 2)


def _ranked(values: Sequence[StochasticValue], actual: Floats) -> tuple[Floats, Floats]:
    """Ranks of the bins that actual values fell into (k, m + 1), and ordered masses (k, m), of those with bins.

    Where histograms have different numbers of bins, those with fewer have empty ones at the end.
    """
    found = [(bins, x) for value, x in zip(values, actual, strict=True) if (bins := value.binned) is not None]
    most = max((len(masses) for (_, masses), _ in found), default=0)
    ranks, ordered = np.zeros((len(found), most + 1)), np.zeros((len(found), most))
    for row, ((edges, masses), x) in enumerate(found):
        *shares, outside = shares_by_rank(masses, _bin_of(x, edges))
        ranks[row, : len(masses)], ranks[row, -1] = shares, outside
        ordered[row, : len(masses)] = np.sort(masses)[::-1]
    return ranks, ordered
