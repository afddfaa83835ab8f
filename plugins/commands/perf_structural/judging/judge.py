"""Predictions against what then happened: how often, how far, and by how much they were wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_structural.judging.judgement import Judgement
from perf_structural.judging.prediction_files import read_actual, read_predictions
from perf_structural.judging.recalibration import COVERAGES, Recalibration, learn_recalibration
from perf_structural.judging.scores import shares_by_rank
from perf_structural.statistic import levels_given
from perfcore.base.errors import DataError, OptionError

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue


Floats = npt.NDArray[np.float64]


def judge(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue],
    actual: str | os.PathLike[str] | npt.ArrayLike,
    *,
    column: str | None = None,
    at: str | npt.ArrayLike | None = None,
    at_name: str = "run",
    name: str = "actual",
    quantile: str | float | Sequence[float] | None = None,
    recalibration: str | os.PathLike[str] | Recalibration | None = None,
) -> Judgement:
    """Compare predictions with what happened.

    Choose it before a prediction is trusted: shares that fall short of what was promised mean that the predicted
    distributions are too narrow, or beside the truth.

    Parameters
    ----------
    predictions : str, path or sequence of StochasticValue
        A JSON file, or the values: one for each run, or a single one for all.
    actual : str, path or (n,) float, finite
        A CSV table with a row for each run, or the measured values themselves.
    column : str, optional
        Of the table: the one with the measured values. May be left out where only one holds numbers.
    at : str or (n,) float, optional
        Start times or run numbers: the name of a column of the table, or themselves.
    at_name, name : str
        What these and the actual values are called; columns of a table have their names.
    quantile : float or sequence of float, optional
        Levels of quantiles to judge beside the intervals.
    recalibration : str, path or Recalibration, optional
        Judge the predictions as it corrects them; it should come from others, see `recalibrate`.

    Returns
    -------
    Judgement
        Coverage, scores and places; ``to_frame()`` has a row for each run.

    Raises
    ------
    DataError
        Their numbers differ, there are none, or an actual value is not finite.
    InputError
        A file is missing or is not what is expected; with the line.
    OptionError
        There is no such column; it must be named, since several hold numbers; or there is no table that it is of.

    Notes
    -----
    Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling" (1999),
    Figure 5 (shares by the probability of the bin) and Figures 6 to 11; T. Gneiting and A. E. Raftery (2007) for the
    scores. The paper's table leaves bins of equal probability in an order that it does not state; here each of their
    ranks gets an equal part.

    Examples
    --------
    >>> judged = judge(
    ...     "examples/sor/recorded/predictions-normal.json", "examples/sor/recorded/runs.csv", column="time_s"
    ... )
    >>> len(judged.to_frame()) == judged.statistics["runs"]
    True
    """
    levels = () if quantile is None else levels_given(quantile)
    if isinstance(actual, (str, os.PathLike)):
        if at is not None and not isinstance(at, str):
            raise OptionError("'at' names a column of the table; a text is expected")
        name, actual, places = read_actual(actual, column, at)
        at_name = at or at_name
    elif column is not None or isinstance(at, str):
        raise OptionError(f"{column or at!r} is a column of a table; the file is expected, not its values")
    else:
        places = None if at is None else np.asarray(at, dtype=np.float64)
    distributions, values = _paired(predictions, actual)
    if recalibration is not None:
        learned = recalibration if isinstance(recalibration, Recalibration) else Recalibration.read(recalibration)
        distributions = [learned.corrected(value) for value in distributions]
    ranks, masses = _ranked(distributions, values)
    return Judgement(
        representations=tuple(dict.fromkeys(value.name for value in distributions)),
        actual=values,
        mean=np.array([value.mean for value in distributions], dtype=np.float64),
        support=np.array([value.support for value in distributions], dtype=np.float64),
        bounds={each: np.array([value.central_interval(each) for value in distributions]) for each in COVERAGES},
        place=np.array([value.place_of(x) for value, x in zip(distributions, values, strict=True)]),
        crps=np.array([value.crps(x) for value, x in zip(distributions, values, strict=True)]),
        ranks=ranks,
        masses=masses,
        quantiles={level: np.array([float(value.quantile(level)) for value in distributions]) for level in levels},
        at=places,
        at_name=at_name,
        name=name,
    )


def recalibrate(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue],
    actual: str | os.PathLike[str] | npt.ArrayLike,
    *,
    column: str | None = None,
) -> Recalibration:
    """Learn from past predictions and what then happened how later ones are to be corrected.

    Choose it where `judge` shows places that are not even, and the same model will predict more runs. Judge it by runs
    that come later: ``judge(..., recalibration=...)``.

    Parameters
    ----------
    predictions, actual, column
        As of `judge`.

    Returns
    -------
    Recalibration
        With the scores before and after on runs that it was not learned from, a fifth of them at a time.

    Raises
    ------
    DataError
        There are fewer than 40 runs, or the correction does not help on runs that it was not learned from.
    PerfError
        As of `judge`.
    """
    if isinstance(actual, (str, os.PathLike)):
        _, actual, _ = read_actual(actual, column)
    elif column is not None:
        raise OptionError(f"{column!r} is a column of a table; the file is expected, not its values")
    return learn_recalibration(*_paired(predictions, actual))


def _paired(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue], actual: npt.ArrayLike
) -> tuple[list[StochasticValue], Floats]:
    """A prediction for each actual value."""
    if isinstance(predictions, (str, os.PathLike)):
        predictions = read_predictions(predictions)
    values = np.asarray(actual, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("actual values: at least one, and all of them finite, are expected")
    distributions = list(predictions) * len(values) if len(predictions) == 1 else list(predictions)
    if len(distributions) != len(values):
        raise DataError(
            f"{len(distributions)} predictions for {len(values)} actual values; give one for each, or one for all"
        )
    return distributions, values


def _bin_of(actual: float, edges: Floats) -> int | None:
    """The bin to the right of an edge, the last one at the upper end, and a bin without width for its own value."""
    if not edges[0] <= actual <= edges[-1]:
        return None
    first, after = (int(edges.searchsorted(actual, side=side)) for side in ("left", "right"))
    return first if after - first > 1 else min(after - 1, len(edges) - 2)


def _ranked(values: Sequence[StochasticValue], actual: Floats) -> tuple[Floats, Floats]:
    """Ranks of the bins that actual values fell into (k, m + 1), and ordered masses (k, m), of those with bins."""
    binned = [(bins, x) for value, x in zip(values, actual, strict=True) if (bins := value.binned) is not None]
    most = max((len(masses) for (_, masses), _ in binned), default=0)
    ranks, ordered = np.zeros((len(binned), most + 1)), np.zeros((len(binned), most))
    for row, ((edges, masses), x) in enumerate(binned):
        *shares, outside = shares_by_rank(masses, _bin_of(x, edges))
        ranks[row, : len(masses)], ranks[row, -1] = shares, outside
        ordered[row, : len(masses)] = np.sort(masses)[::-1]
    return ranks, ordered
