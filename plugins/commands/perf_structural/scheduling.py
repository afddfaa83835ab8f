"""Choosing among allocations by one statistic of what a structural model predicts for each.

Source: J. M. Schopf and F. Berman, "Stochastic scheduling", Supercomputing 1999: the mean plus a tuning factor times
the standard deviation, so that a user says how much variation costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perf_structural.mistakes import StructuralModelError, located
from perf_structural.prediction import Prediction
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Choice", "choose", "predict_candidates"]


@dataclass(frozen=True)
class Choice:
    """Candidates beside one another.

    Parameters
    ----------
    predictions : mapping of str to Prediction
        By the candidates' names, in the order given.
    statistic : Statistic
    figures : mapping of str to float
        The statistic of each.
    chosen : str
        The candidate with the smallest; of equals the first.
    """

    predictions: Mapping[str, Prediction]
    statistic: Statistic
    figures: Mapping[str, float]
    chosen: str

    @property
    def unit(self) -> str:
        """Of all results; empty where there is none."""
        return next(iter(self.predictions.values())).unit

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{len(self.predictions)} candidates by {self.statistic.name}"

    @property
    def formula(self) -> str:
        """The chosen distribution as a person reads it."""
        return f"{self.chosen}: {self.predictions[self.chosen].formula}"

    def summary(self) -> list[str]:
        """Lines that say what was chosen, why, and what to keep in mind."""
        unit = f" {self.unit}" if self.unit else ""
        lines = [f"{self.chosen}: the smallest {self.statistic.name}, {self.figures[self.chosen]:.6g}{unit}"]
        for name, prediction in self.predictions.items():
            lines += [f"{name}: {note}" for note in prediction.notes]
        return lines

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Title, header and rows: each candidate with all statistics, the chosen one marked."""
        statistics = {name: prediction.statistics for name, prediction in self.predictions.items()}
        columns = list(next(iter(statistics.values())))
        extra = [] if self.statistic.name in columns else [self.statistic.name]
        rows = [
            [
                "*" if name == self.chosen else "",
                name,
                *("-" if math.isnan(found[column]) else f"{found[column]:.6g}" for column in columns),
                *([f"{self.figures[name]:.6g}"] if extra else []),
            ]
            for name, found in statistics.items()
        ]
        return [("", ["", "candidate", *columns, *extra], rows)]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready values."""
        return {
            "by": self.statistic.name,
            "chosen": self.chosen,
            "candidates": [
                {"candidate": name, "by": self.figures[name], **prediction.to_dict()}
                for name, prediction in self.predictions.items()
            ],
        }

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw densities and cumulative distributions side by side into an empty matplotlib figure."""
        from perf_structural.picture import draw_distributions

        draw_distributions(figure, {name: p.value for name, p in self.predictions.items()}, self.unit)


def predict_candidates(
    model: StructuralModel, candidates: Mapping[str, Mapping[str, Any]], **options: Any
) -> dict[str, Prediction]:
    """What the model predicts with each candidate's inputs in the place of its own; options as of `predict`.

    All are sampled with one seed, so that what they share does not blur their difference.

    Raises
    ------
    PerfError
        As of `StructuralModel.predict`, with the candidate's name; or there are none.
    """
    if not candidates:
        raise StructuralModelError(
            f"{model.source}: there are no candidates; write [[candidate]] tables with a name and inputs"
        )
    found = {}
    for name, inputs in candidates.items():
        with located(model.source, f"candidate {name!r}"):
            found[name] = model.with_inputs(inputs).predict(**options)
    return found


def choose(predictions: Mapping[str, Prediction], statistic: Statistic) -> Choice:
    """The candidate with the smallest statistic.

    Parameters
    ----------
    predictions : mapping of str to Prediction
        At least one.
    statistic : Statistic
        See `perf_structural.statistic.parse_statistic`.

    Raises
    ------
    DataError
        A candidate does not have the statistic.
    """
    figures = {name: statistic(prediction.evaluation, name) for name, prediction in predictions.items()}
    return Choice(predictions, statistic, figures, min(figures, key=figures.__getitem__))
