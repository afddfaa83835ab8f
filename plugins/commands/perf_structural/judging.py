"""Predictions against what then happened: how often, how far, and by how much they were wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_structural.prediction_files import read_actual, read_predictions
from perf_structural.recalibration import (
    COVERAGES,
    Recalibration,
    interval_score,
    learn_recalibration,
    quantile_loss,
    shares_by_rank,
)
from perf_structural.statistic import levels_given, quantile_name
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.results import Result

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue

PIT_BINS = 10
_CONFIDENCE = 0.95  # of the limits of an observed share


@dataclass(frozen=True, repr=False)
class Judgement(Result):
    """What `perf_structural.judging.judge` found; a row or a value for each run.

    Where a prediction has no such figure (an interval has no quantiles, only a histogram has bins), it is NaN, and
    averages leave it out.
    """

    representations: tuple[str, ...]  # what the predictions are, each name once
    actual: Floats  # in the order of the predictions
    mean: Floats  # predicted means
    support: Floats  # predicted lower and upper bounds; infinite for a normal
    bounds: Mapping[float, Floats]  # by coverage: the central interval's lower and upper quantile
    place: Floats
    crps: Floats  # continuous ranked probability score, in the unit of the actual values
    ranks: Floats
    masses: Floats  # the probabilities of the bins in that order
    quantiles: Mapping[float, Floats] = field(default_factory=dict)
    at: Floats | None = None  # start times or run numbers, for pictures; else runs are counted from 1
    at_name: str = "run"  # what ``at`` and the actual values are called
    name: str = "actual"

    def coverage(self) -> list[dict[str, float | int | str]]:
        """For the bounds and each central interval: the share of actual values within, with its limits."""
        rows: list[dict[str, float | int | str]] = []
        intervals = {1.0: np.where(np.isfinite(self.support), self.support, np.nan), **self.bounds}
        for promised, limits in intervals.items():
            finite = np.isfinite(limits).all(axis=1)
            if not finite.any():
                continue
            lower, upper, actual = limits[finite, 0], limits[finite, 1], self.actual[finite]
            is_bounds = promised == 1.0
            score = float("nan" if is_bounds else np.mean(interval_score(lower, upper, promised, actual)))
            figures = {"width": float(np.mean(upper - lower)), "score": score, "runs": len(actual)}
            observed = _observed(promised, (lower <= actual) & (actual <= upper))
            rows.append({"interval": "bounds" if is_bounds else f"{promised:.0%}", **observed, **figures})
        return rows

    def quantile_shares(self) -> list[dict[str, float | int | str]]:
        """For each quantile that was asked for: the share of actual values up to it, with its limits."""
        rows: list[dict[str, float | int | str]] = []
        for level, places in self.quantiles.items():
            finite = np.isfinite(places)
            if not finite.any():
                continue
            actual, predicted = self.actual[finite], places[finite]
            loss = float(quantile_loss(predicted, level, actual).mean())
            observed = _observed(level, actual <= predicted)
            rows.append({"quantile": quantile_name(level), **observed, "loss": loss, "runs": len(actual)})
        return rows

    def place_counts(self) -> npt.NDArray[np.int64]:
        """How many actual values fell into each tenth of their predicted distribution (`PIT_BINS`,)."""
        return np.histogram(self.place[np.isfinite(self.place)], bins=PIT_BINS, range=(0.0, 1.0))[0]

    @property
    def statistics(self) -> dict[str, float | int | None]:
        """Mean score, and the errors of the predicted means; None where no prediction has one."""
        errors = self.actual - self.mean
        figures = {"crps": self.crps, "mean_error": errors, "mean_absolute_error": np.abs(errors)}
        return {"runs": len(self.actual), **{name: _mean(values) for name, values in figures.items()}}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; NaN becomes null when it is printed."""
        return {
            **self.statistics,
            "representations": self.representations,
            "coverage": self.coverage(),
            **({"quantiles": self.quantile_shares()} if self.quantiles else {}),
            "bins": {
                "actual": self.ranks.mean(axis=0).tolist() if len(self.ranks) else None,
                "predicted": self.masses.mean(axis=0).tolist() if len(self.ranks) else None,
            },
            "place_counts": self.place_counts().tolist(),
            "each": [
                {"actual": actual, "mean": mean, "lower": lower, "upper": upper, "place": place, "crps": score}
                for actual, mean, (lower, upper), place, score in zip(
                    *(a.tolist() for a in (self.actual, self.mean, self.support, self.place, self.crps)), strict=True
                )
            ],
        }


def _observed(promised: float, hits: npt.NDArray[np.bool_]) -> dict[str, float | int | str]:
    """A promised share, and the observed one with its limits."""
    from scipy.stats import binomtest

    limits = binomtest(int(hits.sum()), len(hits)).proportion_ci(_CONFIDENCE)
    observed = int(hits.sum()) / len(hits)
    return {"promised": promised, "observed": observed, "low": float(limits.low), "high": float(limits.high)}


def _mean(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


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
    distributions are too narrow or biased.

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
        Levels of quantiles to judge in addition to the intervals.
    recalibration : str, path or Recalibration, optional
        Judge the predictions as it corrects them; it should come from others, see `recalibrate`.

    Returns
    -------
    Judgement
        Coverage, scores and places; ``to_frame()`` has a row for each run.

    Raises
    ------
    PerfError
        A choice, a file or a value is not what is expected; one line says what is.

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
    """Learn from past predictions and what then happened how later ones are to be corrected."""
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
