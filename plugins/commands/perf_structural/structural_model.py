"""Structural models: a performance equation over components and inputs, from a TOML file or from Python.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", NWU-CS-99-2,
1999, section 2: a top-level model, component models and input parameters.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from perf_formulas.parser import Parser, Variable
from perf_structural.algebra import EQUATION_FUNCTIONS
from perf_structural.composition import Composing, Composition
from perf_structural.inputs import Input, as_quantities, read_input, with_words
from perf_structural.judging import Recalibration
from perf_structural.model_file import ModelFile, StructuralModelError, by_name, error_context, read_as, read_component
from perf_structural.options import PredictionOptions, Statistic
from perf_structural.prediction import Part, Prediction, predict_jointly, probability_below
from perfcore.base.errors import DataError
from perfcore.report import Result

# Runs that follow are compared with the prediction.
TO_VALIDATE = " --json > predictions.json  # then perf validate predictions.json RUNS.csv"


@dataclass(frozen=True, repr=False)
class StructuralModel(Result):
    """A performance equation over named components and inputs; frozen.

    Parameters are as in the model file. An input is a number, a `StochasticValue`, a text ``"normal:10,2"``, a mapping
    ``{"normal": [10, 2], "unit": "ms"}``, or a sequence with one of these for each processor.

    Examples
    --------
    >>> model = StructuralModel(
    ...     "iterations*max_over(work/speed)",
    ...     inputs={"iterations": 10, "work": [6.0, 4.0], "speed": [{"interval": [1, 2]}, 2.0]},
    ... )
    >>> model.predict().value.support
    (30.0, 60.0)
    """

    reporter: ClassVar[str] = "perf_structural.answers:report_of_model"
    Options: ClassVar[type] = PredictionOptions

    equation: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    components: Mapping[str, Any] = field(default_factory=dict)  # A text is the component's equation
    correlations: Mapping[str, float] = field(default_factory=dict)
    name: str = ""  # of the result; it is converted to the unit
    unit: str | None = None
    candidates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = "model"  # what messages name: the file
    folder: Path = Path()  # where the names of files begin
    recalibration: str | Recalibration | None = None  # what past predictions of this model taught, or its file

    def __post_init__(self) -> None:
        components = {}
        for name, entry in self.components.items():
            with error_context(self.source, f"components.{name}"):
                _check_name(name)
                if name in self.inputs:
                    raise DataError("an input has the same name")
                components[name] = read_component(entry, self.folder)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "inputs", self._read(self.inputs))
        if isinstance(self.recalibration, str):
            with error_context(self.source, "recalibration"):
                object.__setattr__(self, "recalibration", Recalibration.read(self.folder / self.recalibration))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StructuralModel:
        file, source = read_as(ModelFile, path), os.fspath(path)
        same = ("equation", "inputs", "components", "correlations", "unit", "recalibration")
        return cls(
            **{name: getattr(file, name) for name in same},
            name=file.name or Path(path).stem,
            candidates=by_name(file.candidate, source),
            source=source,
            folder=Path(path).parent,
        )

    def with_inputs(self, inputs: Mapping[str, Any]) -> StructuralModel:
        """Return the same model with some inputs replaced or added, given as for the constructor."""
        definitions = self._read(inputs)
        for name, definition in definitions.items():
            if definition.unit is None and name in self.inputs:
                definitions[name] = replace(definition, unit=self.inputs[name].unit)
        return replace(self, inputs={**self.inputs, **definitions})

    def compose(self) -> Composition:
        """Return the equation written out in uncertain quantities."""
        composition = self._composed(self.equation, self.unit)
        if composition.result.indices:
            index = composition.result.indices[0]
            raise StructuralModelError(
                f"{self.source}: equation: the result is replicated over {index}; write max_over(...) or sum_over(...) "
                "around what is"
            )
        return composition

    def predict(self, inputs: Mapping[str, Any] | Sequence[str] | None = None, **options: Any) -> Prediction:
        """Predict the result, with some inputs replaced; options as of `perf_structural.EvaluationOptions`."""
        model = self.with_inputs(as_quantities(inputs))
        prediction = model.recalibrated(predict_jointly([model.part()], options)[0][0])
        if not self.source.endswith(".toml"):
            return prediction
        source = shlex.quote(self.source)
        if self.candidates:
            return replace(prediction, next=f"perf stochastic schedule {source} --by quantile:0.95")
        return replace(prediction, next=f"perf predict {source}{with_words(inputs)}{TO_VALIDATE}")

    def recalibrated(self, prediction: Prediction) -> Prediction:
        """Return a prediction of the result as the model's recalibration corrects it; without one as it is.

        Figures are those of its histogram then, and draws keep their order.
        """
        if not isinstance(self.recalibration, Recalibration):
            return prediction
        evaluation, draws = prediction.evaluation, prediction.draws
        value = self.recalibration.corrected(evaluation.value)
        notes = (*evaluation.notes, f"corrected by what {self.recalibration.runs} past runs taught")
        if draws is not None:
            ordered = np.sort(draws, axis=None)
            levels = 0.5 * (ordered.searchsorted(draws) + ordered.searchsorted(draws, side="right")) / draws.size
            draws = np.asarray(value.quantile(levels))
        corrected = replace(evaluation, value=value, sample=None, errors={}, notes=notes)
        return replace(prediction, evaluation=corrected, draws=draws)

    def part(self, label: str = "equation", own_inputs: Collection[str] = (), name: str | None = None) -> Part:
        """Return its result, or a replicated component or input, as a `Part` of a prediction."""
        composition = self.compose() if name is None else self._composed(name, None)
        return Part(name or self.name or self.equation, label, self.source, composition, own_inputs)

    def _composed(self, equation: str, unit: str | None) -> Composition:
        return Composing(self.inputs, self.components, self.source).result(equation, unit, self.correlations)

    def _read(self, inputs: Mapping[str, Any]) -> dict[str, Input]:
        definitions = {}
        for name, entry in inputs.items():
            with error_context(self.source, f"inputs.{name}"):
                _check_name(name)
                definitions[name] = entry if isinstance(entry, Input) else read_input(entry, self.folder)
        return definitions


def _check_name(name: str) -> None:
    """Refuse what an equation could not name."""
    tree = Parser(name, EQUATION_FUNCTIONS).formula() if name.isidentifier() else None
    if not isinstance(tree, Variable):
        raise DataError(
            f"{name!r} cannot be a name: letters, digits and _ are, that begin with no digit and name no function"
        )


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """Candidates side by side."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_choice"

    predictions: Mapping[str, Prediction]  # by the candidates' names, in the order given
    statistic: Statistic
    figures: Mapping[str, float]  # the statistic of each
    chosen: str  # the candidate with the smallest; of equals the first
    beaten: Mapping[str, float] = field(default_factory=dict)
    next: str = ""  # the command that follows

    @property
    def unit(self) -> str:
        """Of all results; empty where there is none."""
        return next(iter(self.predictions.values())).unit

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.statistic.name,
            "chosen": self.chosen,
            "candidates": [
                {"candidate": name, "by": self.figures[name], "beaten": self.beaten.get(name), **prediction.to_dict()}
                for name, prediction in self.predictions.items()
            ],
        }


def predict_candidates(
    model: StructuralModel, candidates: Mapping[str, Mapping[str, Any]], **options: Any
) -> dict[str, Prediction]:
    """What the model predicts with each candidate's inputs in place of the model's, all drawn at the same points.

    Options are as of `StructuralModel.predict`.
    """
    if not candidates:
        raise StructuralModelError(
            f"{model.source}: there are no candidates; write [[candidate]] tables with a name and inputs"
        )
    parts = []
    for name, inputs in candidates.items():
        with error_context(model.source, f"candidate {name!r}"):
            parts.append(model.with_inputs(inputs).part(f"candidate {name!r}", set(inputs)))
    predicted = predict_jointly(parts, options)
    return {name: model.recalibrated(prediction) for name, (prediction,) in zip(candidates, predicted, strict=True)}


def choose(predictions: Mapping[str, Prediction], statistic: Statistic) -> Choice:
    """Return the candidate with the smallest statistic."""
    figures = {name: statistic(prediction.evaluation.distribution, name) for name, prediction in predictions.items()}
    chosen = min(figures, key=figures.__getitem__)
    best = predictions[chosen].draws
    beaten = {
        name: probability_below(best, other.draws)
        for name, other in predictions.items()
        if name != chosen and best is not None and other.draws is not None
    }
    return Choice(predictions, statistic, figures, chosen, beaten)
