"""Choosing among allocations by one statistic of what a structural model predicts for each.

Source: J. M. Schopf and F. Berman, "Stochastic scheduling", Supercomputing 1999: the mean plus a tuning factor times
the standard deviation, so that a user says how much variation costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perf_structural.mistakes import StructuralModelError, located
from perf_structural.prediction import Prediction
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel
from perfcore.results import Result

__all__ = ["Choice", "choose", "predict_candidates"]


@dataclass(frozen=True, repr=False)
class Choice(Result):
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
