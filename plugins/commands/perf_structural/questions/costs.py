"""What candidates cost, with a penalty for a missed deadline: an equation over the result, at the same draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from perf_structural.mistakes import StructuralModelError, located
from perf_structural.scheduling import Choice, choose, predict_candidates
from perf_structural.statistic import Statistic
from perf_structural.structural_model import StructuralModel
from perfcore.base.errors import DataError, OptionError

__all__ = ["Costs", "choose_by_cost"]

_RESULT, _DEADLINE, _PENALTY = "result", "deadline", "penalty"


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

    def of(self, model: StructuralModel) -> StructuralModel:
        """The model of the cost.

        Raises
        ------
        StructuralModelError
            A name of the model is needed for something else, or the equation cannot be read.
        """
        components = dict(model.components)
        inputs: dict[str, Any] = dict(model.inputs)
        result = model.compose().result
        unit = str(result.unit) if result.unit.powers else None
        given: dict[str, dict[str, Any]] = {_RESULT: {"equation": model.equation, "unit": model.unit}}
        for name, number in ((_DEADLINE, self.deadline), (_PENALTY, self.penalty)):
            if number is not None:
                given[name] = {"value": number, "unit": unit if name == _DEADLINE else None}
        for name in given:
            if name in components or name in inputs:
                with located(model.source, "--cost"):
                    raise DataError(f"the model has a {name!r} of its own; give it another name")
        components[_RESULT] = given.pop(_RESULT)
        paid = self.equation or "0"
        costly = replace(
            model,
            equation=paid,
            unit=None,
            name="cost",
            components=components,
            inputs=inputs | given,
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
            costly, equation=f"({paid}) + {_PENALTY}*({_RESULT} > {_DEADLINE})", inputs=inputs | given | in_unit
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
        As of `perf_structural.predict_candidates`, `perf_structural.choose` and `Costs`; or the model has a
        recalibration, which corrects its result and not what costs are made of.
    """
    if model.recalibration is not None:
        raise StructuralModelError(
            f"{model.source}: recalibration: it corrects results and not costs; leave it out, or choose "
            "without --cost, --deadline and --penalty"
        )
    choice = choose(predict_candidates(costs.of(model), candidates, **options), statistic)
    if costs.deadline is None:
        return choice
    timed = {name: given for name, given in options.items() if name in {"method", "bins", "samples", "seed"}}
    results = predict_candidates(model, candidates, **timed)
    late = {name: 1.0 - result.evaluation.cdf(costs.deadline) for name, result in results.items()}
    return replace(choice, deadline=costs.deadline, late=late)
