"""Structural models: a performance equation over components and inputs, from a TOML file or from Python.

Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling", NWU-CS-99-2,
1999, section 2: a top-level model, component models and input parameters.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from perf_formulas.parser import Parser, Variable
from perf_structural.composition import Composition, compose
from perf_structural.inputs import Input, read_input
from perf_structural.judging.recalibration import Recalibration
from perf_structural.language.functions import EQUATION_FUNCTIONS
from perf_structural.mistakes import StructuralModelError, located
from perf_structural.model_file import by_name, read_component, read_model_file
from perf_structural.prediction import Prediction
from perf_structural.together import Part, predict_together
from perfcore.base.errors import DataError
from perfcore.results import Result


@dataclass(frozen=True, repr=False)
class StructuralModel(Result):
    """A performance equation over named components and inputs; frozen.

    Parameters
    ----------
    equation : str
        The top-level equation: a formula that may also call ``sum_over``, ``max_over`` and ``min_over`` on what is
        replicated.
    inputs : mapping of str to number, StochasticValue, mapping or sequence
        A mapping as in the model file, ``{"normal": [10, 2], "unit": "ms"}``; a sequence is one value for each
        processor. Read, they are `Input` objects.
    components : mapping of str to str, mapping or Component
        A text is the component's equation.
    correlations : mapping of str to float
        ``{"a,b": 0.5}``: correlation of the normal scores of two inputs, -1 to 1. Of one name twice, ``"a,a"``: of
        every two copies of a replicated input. Of two replicated inputs: of the copies at the same place.
    name, unit : str, optional
        Of the result; it is converted to the unit.
    candidates : mapping of str to mapping
        Inputs that may take the place of some, to choose from.
    source : str
        What messages name: the file.
    folder : Path
        Where the names of files begin.
    recalibration : str or Recalibration, optional
        What past predictions of this model taught, or its file; `predict` corrects the result by it.

    Raises
    ------
    StructuralModelError
        An input or component is not what is expected; one line with the key.

    Examples
    --------
    >>> model = StructuralModel(
    ...     "iterations*max_over(work/speed)",
    ...     inputs={"iterations": 10, "work": [6.0, 4.0], "speed": [{"interval": [1, 2]}, 2.0]},
    ... )
    >>> model.predict().value.support
    (30.0, 60.0)
    """

    equation: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    components: Mapping[str, Any] = field(default_factory=dict)
    correlations: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    unit: str | None = None
    candidates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = "model"
    folder: Path = Path()
    recalibration: str | Recalibration | None = None

    def __post_init__(self) -> None:
        components = {}
        for name, entry in self.components.items():
            with located(self.source, f"components.{name}"):
                _check_name(name)
                if name in self.inputs:
                    raise DataError("an input has the same name")
                components[name] = read_component(entry, self.folder)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "inputs", self._read(self.inputs))
        if isinstance(self.recalibration, str):
            with located(self.source, "recalibration"):
                object.__setattr__(self, "recalibration", Recalibration.read(self.folder / self.recalibration))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StructuralModel:
        """Read a model file."""
        file, source = read_model_file(path), os.fspath(path)
        return cls(
            equation=file.equation,
            inputs=file.inputs,
            components=file.components,
            correlations=file.correlations,
            name=file.name or Path(path).stem,
            unit=file.unit,
            candidates=by_name(file.candidate, source),
            source=source,
            folder=Path(path).parent,
            recalibration=file.recalibration,
        )

    def with_inputs(self, inputs: Mapping[str, Any]) -> StructuralModel:
        """The same model with some inputs replaced or added, given as for the constructor.

        What is given without a unit is in that of the input that it replaces.
        """
        definitions = self._read(inputs)
        for name, definition in definitions.items():
            if definition.unit is None and name in self.inputs:
                definitions[name] = replace(definition, unit=self.inputs[name].unit)
        return replace(self, inputs={**self.inputs, **definitions})

    def compose(self) -> Composition:
        """The equation written out in uncertain quantities.

        Raises
        ------
        StructuralModelError
            A name is unknown, components form a cycle, units do not agree, replicated inputs differ in length, or the
            result is still replicated.
        """
        composition = self._composed(self.equation, self.unit)
        if composition.result.indices:
            index = composition.result.indices[0]
            raise StructuralModelError(
                f"{self.source}: equation: the result is replicated over {index}; write max_over(...) or sum_over(...) "
                "around what is"
            )
        return composition

    def predict(self, *, executor: Executor | None = None, **options: Any) -> Prediction:
        """The distribution of the result."""
        return self.recalibrated(predict_together([self.part()], options, executor)[0][0])

    def recalibrated(self, prediction: Prediction) -> Prediction:
        """A prediction of the result as the model's recalibration corrects it; without one as it is."""
        if not isinstance(self.recalibration, Recalibration):
            return prediction
        return _recalibrated(prediction, self.recalibration)

    def predict_each(self, name: str, *, executor: Executor | None = None, **options: Any) -> list[Prediction]:
        """The distribution of each copy of a replicated component or input; options as for `predict`."""
        return predict_together([self.part_named(name)], options, executor)[0]

    def part(self, label: str = "equation", own_inputs: Collection[str] = ()) -> Part:
        """Its result as what is predicted beside others; see `perf_structural.together.Part`."""
        return Part(self.name or self.equation, label, self.source, self.compose(), own_inputs)

    def part_named(self, name: str) -> Part:
        """A replicated component or input, likewise."""
        return Part(name, "equation", self.source, self._composed(name, None))

    def _composed(self, equation: str, unit: str | None) -> Composition:
        return compose(equation, unit, self.inputs, self.components, self.correlations, self.source)

    def _read(self, inputs: Mapping[str, Any]) -> dict[str, Input]:
        definitions = {}
        for name, entry in inputs.items():
            with located(self.source, f"inputs.{name}"):
                _check_name(name)
                definitions[name] = entry if isinstance(entry, Input) else read_input(entry, self.folder)
        return definitions


def _recalibrated(prediction: Prediction, recalibration: Recalibration) -> Prediction:
    """A prediction after the correction; figures are those of its histogram then, and draws keep their order."""
    evaluation = prediction.evaluation
    value = recalibration.corrected(evaluation.value)
    corrected = replace(evaluation, value=value, sample=None, errors={}, notes=(*evaluation.notes, recalibration.note))
    draws = prediction.draws
    if draws is not None:
        ordered = np.sort(draws, axis=None)
        levels = 0.5 * (ordered.searchsorted(draws) + ordered.searchsorted(draws, side="right")) / draws.size
        draws = np.asarray(value.quantile(levels))
    return replace(prediction, evaluation=corrected, draws=draws)


def _check_name(name: str) -> None:
    """Refuse what an equation could not name."""
    tree = Parser(name, EQUATION_FUNCTIONS).formula() if name.isidentifier() else None
    if not isinstance(tree, Variable):
        raise DataError(
            f"{name!r} cannot be a name: letters, digits and _ are, that begin with no digit and name no function"
        )
