"""What a comparison of predictions with what then happened found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.judging.scores import interval_score, quantile_loss
from perf_structural.statistic import quantile_name
from perfcore.results import Result

Floats = npt.NDArray[np.float64]

PIT_BINS = 10
_CONFIDENCE = 0.95  # of the limits of an observed share


@dataclass(frozen=True, repr=False)
class Judgement(Result):
    """What `perf_structural.judging.judge.judge` found; a row or a value for each run.

    Where a prediction has no such figure (an interval has no quantiles, only a histogram has bins), it is NaN, and
    averages leave it out.

    Parameters
    ----------
    representations : tuple of str
        What the predictions are, each name once.
    actual : (n,) float
        In the order of the predictions.
    mean : (n,) float
        Predicted means.
    support : (n, 2) float
        Predicted lower and upper bounds; infinite for a normal.
    bounds : mapping of float to (n, 2) float
        By coverage: the central interval's lower and upper quantile.
    place : (n,) float
        Probability that was given to values up to the actual one: the probability integral transform (PIT).
    crps : (n,) float
        Continuous ranked probability score, in the unit of the actual values.
    ranks : (n, m + 1) float
        For predictions with bins: 1 in the place of the actual value's bin, ordered from the most to the least
        probable; last: outside of all.
    masses : (n, m) float
        The probabilities of the bins in that order.
    quantiles : mapping of float to (n,) float
        By level: the predicted quantiles that were asked for.
    at : (n,) float, optional
        Start times or run numbers, for pictures; else runs are counted from 1.
    at_name, name : str
        What ``at`` and the actual values are called.
    """

    representations: tuple[str, ...]
    actual: Floats
    mean: Floats
    support: Floats
    bounds: Mapping[float, Floats]
    place: Floats
    crps: Floats
    ranks: Floats
    masses: Floats
    quantiles: Mapping[float, Floats] = field(default_factory=dict)
    at: Floats | None = None
    at_name: str = "run"
    name: str = "actual"

    def coverage(self) -> list[dict[str, float | int | str]]:
        """For the bounds and each central interval: the share of actual values within, with its limits."""
        from scipy.stats import binomtest

        rows: list[dict[str, float | int | str]] = []
        intervals = {1.0: np.where(np.isfinite(self.support), self.support, np.nan), **self.bounds}
        for promised, limits in intervals.items():
            finite = np.isfinite(limits).all(axis=1)
            lower, upper, actual = limits[finite, 0], limits[finite, 1], self.actual[finite]
            inside = int(((lower <= actual) & (actual <= upper)).sum())
            if not finite.any():
                continue
            share = binomtest(inside, len(actual)).proportion_ci(_CONFIDENCE)
            is_bounds = promised == 1.0
            rows.append(
                {
                    "interval": "bounds" if is_bounds else f"{promised:.0%}",
                    "promised": promised,
                    "observed": inside / len(actual),
                    "low": float(share.low),
                    "high": float(share.high),
                    "width": float(np.mean(upper - lower)),
                    "score": float("nan" if is_bounds else np.mean(interval_score(lower, upper, promised, actual))),
                    "runs": len(actual),
                }
            )
        return rows

    def quantile_shares(self) -> list[dict[str, float | int | str]]:
        """For each quantile that was asked for: the share of actual values up to it, with its limits.

        Returns
        -------
        list of dict
            ``quantile``; ``promised`` and ``observed`` share; ``low`` and ``high`` as of `coverage`; ``loss``, the mean
            quantile loss; ``runs`` counted.
        """
        from scipy.stats import binomtest

        rows: list[dict[str, float | int | str]] = []
        for level, places in self.quantiles.items():
            finite = np.isfinite(places)
            if not finite.any():
                continue
            actual, predicted = self.actual[finite], places[finite]
            below = int((actual <= predicted).sum())
            share = binomtest(below, len(actual)).proportion_ci(_CONFIDENCE)
            rows.append(
                {
                    "quantile": quantile_name(level),
                    "promised": level,
                    "observed": below / len(actual),
                    "low": float(share.low),
                    "high": float(share.high),
                    "loss": float(quantile_loss(predicted, level, actual).mean()),
                    "runs": len(actual),
                }
            )
        return rows

    def place_counts(self) -> npt.NDArray[np.int64]:
        """How many actual values fell into each tenth of their predicted distribution (`PIT_BINS`,)."""
        return np.histogram(self.place[np.isfinite(self.place)], bins=PIT_BINS, range=(0.0, 1.0))[0]

    @property
    def statistics(self) -> dict[str, float | int | None]:
        """Mean score, and the errors of the predicted means; None where no prediction has one."""
        errors = self.actual - self.mean
        return {
            "runs": len(self.actual),
            "crps": _mean(self.crps),
            "mean_error": _mean(errors),
            "mean_absolute_error": _mean(np.abs(errors)),
        }

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


def _mean(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None
