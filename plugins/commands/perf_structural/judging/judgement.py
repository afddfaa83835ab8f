"""What a comparison of predictions with what then happened found, as tables and as a picture."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_structural.judging.scores import interval_score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PIT_BINS", "Judgement", "rank_names"]

Floats = npt.NDArray[np.float64]

PIT_BINS = 10
_CONFIDENCE = 0.95  # of the limits of an observed share
_MOST_COLUMNS, _GROUPS = 10, 5  # in the table of bins


@dataclass(frozen=True)
class Judgement:
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
    at: Floats | None = None
    at_name: str = "run"
    name: str = "actual"

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{len(self.actual)} runs against predictions as {' and '.join(self.representations)}"

    @property
    def formula(self) -> str:
        """What the score measures."""
        return "CRPS = integral of (F(x) - [x >= actual])^2 dx"

    def coverage(self) -> list[dict[str, float | int | str]]:
        """For the bounds and each central interval: the share of actual values within, with its limits.

        Returns
        -------
        list of dict
            ``interval``; ``promised`` and ``observed`` share; ``low`` and ``high``, the exact 95% limits of the
            observed share (Clopper and Pearson) for runs that do not depend on one another; ``width``, the mean
            width; ``score``, the mean interval score (NaN for the bounds, which promise no share); ``runs`` counted.
        """
        from scipy.stats import binomtest

        found: list[dict[str, float | int | str]] = []
        intervals = {1.0: np.where(np.isfinite(self.support), self.support, np.nan), **self.bounds}
        for promised, limits in intervals.items():
            known = np.isfinite(limits).all(axis=1)
            lower, upper, actual = limits[known, 0], limits[known, 1], self.actual[known]
            inside = int(((lower <= actual) & (actual <= upper)).sum())
            if not known.any():
                continue
            share = binomtest(inside, len(actual)).proportion_ci(_CONFIDENCE)
            is_bounds = promised == 1.0
            found.append(
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
        return found

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

    def summary(self) -> list[str]:
        """What was compared, and the mean score beside the error of the predicted means."""
        figures = self.statistics
        lines = [self.title]
        if figures["crps"] is not None:
            lines.append(f"mean CRPS: {figures['crps']:.6g} (less is better; for a point it is the absolute error)")
        if figures["mean_error"] is not None:
            lines.append(
                f"actual minus predicted mean: {figures['mean_error']:.6g} on average, "
                f"{figures['mean_absolute_error']:.6g} in absolute terms"
            )
        return lines

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Actual values by the probability of their bin (the paper's Figure 5), coverage, and places."""
        found = []
        if len(self.ranks):
            names, first = _rank_groups(self.masses.shape[1])
            header = ["", *names, "outside"]
            observed = [
                f"{share:.1%}" for share in np.add.reduceat(self.ranks.mean(axis=0), [*first, self.masses.shape[1]])
            ]
            predicted = [f"{share:.1%}" for share in np.add.reduceat(self.masses.mean(axis=0), first)]
            rows = [["actual", *observed], ["predicted", *predicted, f"{0:.1%}"]]
            found.append(("Actual values by the probability of their bin", header, rows))
        rows = [
            [
                str(row["interval"]),
                f"{row['observed']:.1%}",
                f"{row['low']:.1%} .. {row['high']:.1%}",
                f"{row['width']:.5g}",
                "-" if row["interval"] == "bounds" else f"{row['score']:.5g}",
                str(row["runs"]),
            ]
            for row in self.coverage()
        ]
        header = ["interval", "actual within", "limits of that", "mean width", "interval score", "runs"]
        found.append(("Coverage", header, rows))
        counts = self.place_counts()
        if counts.sum():
            header = ["", *(f"{10 * k}-{10 * (k + 1)}%" for k in range(PIT_BINS))]
            shares = [f"{count / counts.sum():.1%}" for count in counts]
            found.append(
                ("Place of the actual value in its predicted distribution (even: 10.0%)", header, [["actual", *shares]])
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; NaN becomes null when it is printed."""
        return {
            **self.statistics,
            "representations": self.representations,
            "coverage": self.coverage(),
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

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw predictions against actual values, and the places in the distributions."""
        from perf_structural.judging.picture import draw_judgement

        draw_judgement(self, figure)


def rank_names(count: int) -> list[str]:
    """Headings for bins from the most to the least probable, as in the paper's Figure 5.

    Examples
    --------
    >>> rank_names(5)
    ['highest', '2nd', '3rd', '4th', 'lowest']
    """
    ends = {1: "st", 2: "nd", 3: "rd"}
    middle = [f"{k}{'th' if k % 100 in (11, 12, 13) else ends.get(k % 10, 'th')}" for k in range(2, count)]
    return ["highest", *middle, "lowest"][:count]


def _rank_groups(count: int) -> tuple[list[str], list[int]]:
    """Headings for bins from the most to the least probable, and the first bin of each; many bins stand in groups.

    Examples
    --------
    >>> _rank_groups(100)
    (['1-20', '21-40', '41-60', '61-80', '81-100'], [0, 20, 40, 60, 80])
    """
    if count <= _MOST_COLUMNS:
        return rank_names(count), list(range(count))
    first = [count * k // _GROUPS for k in range(_GROUPS)]
    return [f"{low + 1}-{high}" for low, high in itertools.pairwise([*first, count])], first


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
