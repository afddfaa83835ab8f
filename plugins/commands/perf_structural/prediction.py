"""What a structural model predicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.evaluation import Evaluation
from perfcore.results import Result
from perfcore.stochastic import StochasticValue


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """The distribution of one result.

    Parameters
    ----------
    name : str
    unit : str
        Empty where there is none.
    evaluation : Evaluation
    composition_notes : tuple of str
        What was met when the equation was written out.
    draws : (nets, points) float, optional
        Values at points that are the same for all that it was predicted together with.
    """

    name: str
    unit: str
    evaluation: Evaluation
    composition_notes: tuple[str, ...] = ()
    draws: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def value(self) -> StochasticValue:
        """The distribution; what was sampled is a histogram."""
        return self.evaluation.value

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind, each once."""
        return tuple(dict.fromkeys((*self.composition_notes, *self.evaluation.notes)))

    @property
    def statistics(self) -> dict[str, float]:
        """Mean, standard deviation, quantiles and bounds; NaN where there is none."""
        evaluation = self.evaluation
        lowest, highest = evaluation.support
        limit = {} if evaluation.limit is None else {f"P(<= {evaluation.limit:g})": evaluation.below_limit}
        return {
            "mean": evaluation.mean,
            "std": evaluation.std,
            **evaluation.quantiles,
            "lowest": lowest,
            "highest": highest,
            **limit,
        }

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON-ready values; `perf_structural.inputs.read_value` reads its value again."""
        return {
            "name": self.name,
            "unit": self.unit,
            "method": self.evaluation.method,
            "statistics": self.statistics,
            "errors": dict(self.evaluation.errors),
            "notes": list(self.notes),
            "value": self.value.to_dict(),
        }
