"""Choosing among allocations by one statistic of what a structural model predicts for each.

Source: J. M. Schopf and F. Berman, "Stochastic scheduling", Supercomputing 1999: the mean plus a tuning factor times
the standard deviation, so that a user says how much variation costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perf_structural.mistakes import StructuralModelError, located
from perf_structural.prediction import Prediction
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel
from perf_structural.together import predict_together, probability_below
from perfcore.results import Result


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
    beaten : mapping of str to float
        For each other candidate the probability that the chosen one is smaller, at the same draws of what both share;
        empty where that is not known, as of bounds.
    """

    predictions: Mapping[str, Prediction]
    statistic: Statistic
    figures: Mapping[str, float]
    chosen: str
    beaten: Mapping[str, float] = field(default_factory=dict)

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
                {
                    "candidate": name,
                    "by": self.figures[name],
                    "beaten": self.beaten.get(name),
                    **prediction.to_dict(),
                }
                for name, prediction in self.predictions.items()
            ],
        }


def predict_candidates(
    model: StructuralModel, candidates: Mapping[str, Mapping[str, Any]], **options: Any
) -> dict[str, Prediction]:
    """What the model predicts with each candidate's inputs in the place of its own; options as of `predict`.

    All are drawn at the same points, so that what they share does not blur their difference. An input that a candidate
    gives itself is another quantity than that of the same name in another candidate, independent of it, unless the
    model declares correlations of it. A recalibration of the model corrects each.

    Raises
    ------
    PerfError
        As of `StructuralModel.predict`, with the candidate's name; or there are none.
    """
    return predict_models(with_candidates(model, candidates), candidates, **options)


def with_candidates(model: StructuralModel, candidates: Mapping[str, Mapping[str, Any]]) -> dict[str, StructuralModel]:
    """The model with each candidate's inputs in the place of its own."""
    if not candidates:
        raise StructuralModelError(
            f"{model.source}: there are no candidates; write [[candidate]] tables with a name and inputs"
        )
    models = {}
    for name, inputs in candidates.items():
        with located(model.source, f"candidate {name!r}"):
            models[name] = model.with_inputs(inputs)
    return models


def predict_models(
    models: Mapping[str, StructuralModel], candidates: Mapping[str, Mapping[str, Any]], **options: Any
) -> dict[str, Prediction]:
    """What the model of each candidate predicts, all drawn at the same points; see `predict_candidates`."""
    parts = []
    for name, model in models.items():
        with located(model.source, f"candidate {name!r}"):
            parts.append(model.part(f"candidate {name!r}", set(candidates[name])))
    predicted = predict_together(parts, options)
    return {
        name: model.recalibrated(prediction)
        for (name, model), (prediction,) in zip(models.items(), predicted, strict=True)
    }


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
    chosen = min(figures, key=figures.__getitem__)
    best = predictions[chosen].draws
    beaten = {
        name: probability_below(best, other.draws)
        for name, other in predictions.items()
        if name != chosen and best is not None and other.draws is not None
    }
    return Choice(predictions, statistic, figures, chosen, beaten)
