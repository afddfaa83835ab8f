"""What candidates cost, with a penalty for a missed deadline: an equation over the result, at the same draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.judging.recalibration import Recalibration
from perf_structural.mistakes import StructuralModelError, located
from perf_structural.scheduling import Choice, choose, predict_models, with_candidates
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel
from perfcore.base.errors import DataError, OptionError

__all__ = ["Costs", "choose_by_cost"]

_RESULT, _DEADLINE, _PENALTY = "result", "deadline", "penalty"
_PREDICTED, _UNIT = "result_as_predicted", "unit_of_result"  # where a recalibration corrects results

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """What is paid for.

    Parameters
    ----------
    equation : str, optional
        Over ``result``, the model's inputs and components, and ``deadline``; nothing if not given.
    deadline : float, optional
        In the result's unit.
    penalty : float, optional
        In the cost's unit, for missing the deadline.

    Raises
    ------
    OptionError
        A number is not finite; a penalty has no deadline, or a deadline neither a cost nor a penalty.
    """

    equation: str | None
    deadline: float | None
    penalty: float | None

    def __post_init__(self) -> None:
        if self.penalty is not None and self.deadline is None:
            raise OptionError("--penalty is for missing a deadline; give --deadline TIME too")
        if self.deadline is not None and self.equation is None and self.penalty is None:
            raise OptionError(
                "--deadline needs a --penalty for missing it, or a --cost; to choose by it: --by beyond:TIME"
            )
        if not all(math.isfinite(number) for number in (self.deadline, self.penalty) if number is not None):
            raise OptionError("--deadline and --penalty are finite numbers")

    @property
    def formula(self) -> str:
        """All that is paid for as a person reads it."""
        paid = [] if self.equation is None else [self.equation]
        if self.penalty is not None and self.deadline is not None:
            paid.append(f"{self.penalty:g}*({_RESULT} > {self.deadline:g})")
        return " + ".join(paid)

    def of(self, model: StructuralModel, corrected: tuple[Floats, Floats] | None = None) -> StructuralModel:
        """The model of the cost.

        Parameters
        ----------
        model : StructuralModel
        corrected : pair of (n,) float, optional
            What results become by the model's recalibration, see
            `perf_structural.judging.recalibration.Recalibration.curve_of`.

        Raises
        ------
        StructuralModelError
            A name of the model is needed for something else, or the equation cannot be read.
        """
        components = dict(model.components)
        inputs: dict[str, Any] = dict(model.inputs)
        result = model.compose().result
        unit = str(result.unit) if result.unit.powers else None
        additions: dict[str, dict[str, Any]] = {_RESULT: {"equation": model.equation, "unit": model.unit}}
        if corrected is not None:
            additions[_PREDICTED] = additions[_RESULT]
            additions[_RESULT] = {"equation": _by_lines(*corrected), "unit": unit}
            additions[_UNIT] = {"value": 1.0, "unit": unit}
        for name, number in ((_DEADLINE, self.deadline), (_PENALTY, self.penalty)):
            if number is not None:
                additions[name] = {"value": number, "unit": unit if name == _DEADLINE else None}
        for name in additions:
            if name in components or name in inputs:
                with located(model.source, "--cost"):
                    raise DataError(f"the model has a {name!r} of its own; give it another name")
        components |= {name: additions.pop(name) for name in (_RESULT, _PREDICTED) if name in additions}
        paid = self.equation or "0"
        costly = replace(
            model,
            equation=paid,
            unit=None,
            name="cost",
            components=components,
            inputs=inputs | additions,
            candidates={},
            recalibration=None,
        )
        try:
            label = costly.compose().result.unit
        except StructuralModelError as error:
            raise StructuralModelError(str(error).replace(": equation:", ": --cost:", 1)) from None
        if self.penalty is None:
            return costly
        in_unit = {_PENALTY: {"value": self.penalty, "unit": str(label) if label.powers else None}}
        return replace(
            costly, equation=f"({paid}) + {_PENALTY}*({_RESULT} > {_DEADLINE})", inputs=inputs | additions | in_unit
        )


def choose_by_cost(
    model: StructuralModel,
    candidates: Mapping[str, Mapping[str, Any]],
    statistic: Statistic,
    costs: Costs,
    **options: Any,
) -> Choice:
    """The candidate whose cost has the smallest statistic, with the probability of each of missing the deadline.

    Parameters
    ----------
    model : StructuralModel
    candidates : mapping of str to mapping
        Inputs in the place of the model's.
    statistic : Statistic
        Of the cost.
    costs : Costs
    **options
        Of `perf_structural.EvaluationOptions`.

    Raises
    ------
    PerfError
        As of `perf_structural.predict_candidates`, `perf_structural.choose` and `Costs`; or results can be infinite,
        which the model's recalibration cannot correct.
    """
    models = with_candidates(model, candidates)
    curves: dict[str, tuple[Floats, Floats]] = {}
    timed = {name: option for name, option in options.items() if name in {"method", "bins", "samples", "seed"}}
    if isinstance(model.recalibration, Recalibration):
        as_they_are = {name: replace(candidate, recalibration=None) for name, candidate in models.items()}
        for name, predicted in predict_models(as_they_are, candidates, **timed).items():
            curves[name] = model.recalibration.curve_of(predicted.value)
            if not all(np.isfinite(row).all() for row in curves[name]):
                with located(model.source, f"candidate {name!r}"):
                    raise DataError("the result can be infinite; what it costs then cannot be corrected")
    paid = {name: costs.of(candidate, curves.get(name)) for name, candidate in models.items()}
    predictions = predict_models(paid, candidates, **options)
    if isinstance(model.recalibration, Recalibration):
        note = f"the result that is paid for is {model.recalibration.note}"
        predictions = {
            name: replace(candidate, composition_notes=(*candidate.composition_notes, note))
            for name, candidate in predictions.items()
        }
    choice = replace(choose(predictions, statistic), cost=costs.formula)
    if costs.deadline is None:
        return choice
    results = predict_models(models, candidates, **timed)
    late = {name: 1.0 - result.evaluation.cdf(costs.deadline) for name, result in results.items()}
    return replace(choice, deadline=costs.deadline, late=late)


def _by_lines(before: Floats, after: Floats) -> str:
    """The equation of a corrected result; as predicted where nothing is to be corrected."""
    if len(before) < 2:
        return _PREDICTED
    points = ", ".join(f"{x!r}*{_UNIT}, {y!r}*{_UNIT}" for x, y in zip(before.tolist(), after.tolist(), strict=True))
    return f"interpolate({_PREDICTED}, {points})"
