"""A structural model written out: components in the order of their needs, inputs as the quantities of expressions."""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from dataclasses import dataclass

from perf_formulas.tree import variables
from perf_structural.algebra import Algebra
from perf_structural.composer import Composer
from perf_structural.correlation import Pair, correlated_pairs
from perf_structural.expression import Constant, Expression
from perf_structural.fitted import predict_fitted
from perf_structural.indexed import Indexed, Place, rows
from perf_structural.inputs import Input
from perf_structural.language.functions import parsed
from perf_structural.mistakes import StructuralModelError, located
from perf_structural.model_file import Component
from perf_structural.units import PLAIN, parse_unit
from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, default_representation


@dataclass(frozen=True)
class Composition:
    """An equation written out in uncertain quantities."""

    result: Indexed
    values: Mapping[str, StochasticValue]
    correlations: Mapping[Pair, float]  # correlation of the normal scores of two of them
    notes: tuple[str, ...]  # such as inputs that nothing uses


def compose(
    equation: str,
    unit: str | None,
    inputs: Mapping[str, Input],
    components: Mapping[str, Component],
    correlations: Mapping[str, float],
    source: str,
) -> Composition:
    """Write an equation out."""
    return _Composing(inputs, components, source).result(equation, unit, correlations)


class _Composing:
    """The state of one composition."""

    def __init__(self, inputs: Mapping[str, Input], components: Mapping[str, Component], source: str) -> None:
        self.inputs, self.components, self.source = inputs, components, source
        self.algebra = Algebra()
        self.sizes: dict[str, int] = {}
        self.known: dict[str, Indexed] = {}
        self.values: dict[str, StochasticValue] = {}
        self.copies: dict[str, dict[Place, str]] = {}  # names of the leaves of an uncertain input
        self.notes: list[str] = []
        self.composer = Composer(self.algebra, self.known, self.sizes, self.chance)

    def result(self, equation: str, unit: str | None, correlations: Mapping[str, float]) -> Composition:
        for name, definition in self.inputs.items():
            with located(self.source, f"inputs.{name}"):
                self.add_input(name, definition)
        needs = {name: self.needs(name, component) for name, component in self.components.items()}
        for name in self.in_order(needs):
            with located(self.source, f"components.{name}"):
                component = self.components[name]
                self.known[name] = (
                    self.composer.compose(component.equation, component.unit, component.over)
                    if component.equation is not None
                    else self.fitted(name, component)
                )
        with located(self.source, "equation"):
            result = self.composer.compose(equation, unit)
            used = set(variables(parsed(equation)))
        with located(self.source, "correlations"):
            pairs = correlated_pairs(correlations, self.copies)
        self.note_unused(used, needs)
        return Composition(result, self.values, pairs, tuple(self.notes))

    def add_input(self, name: str, definition: Input) -> None:
        for index, copies in definition.sizes.items():
            if self.sizes.setdefault(index, copies) != copies:
                raise DataError(f"there are {copies} over {index}, but {self.sizes[index]} in an input before it")
        cells = {place: self.quantity(name, place, quantity) for place, quantity in definition.cells.items()}
        unit = PLAIN if definition.unit is None else parse_unit(definition.unit)
        self.known[name] = Indexed(name, cells, tuple(definition.sizes), unit)

    def quantity(self, name: str, place: Place, quantity: float | StochasticValue) -> Expression:
        """A leaf; a number, and a value without spread, is a constant."""
        if isinstance(quantity, StochasticValue):
            lowest, highest = quantity.support
            if lowest < highest:
                leaf = f"{name}[{','.join(str(k + 1) for k in place)}]" if place else name
                self.values[leaf] = quantity
                self.copies.setdefault(name, {})[place] = leaf
                return self.algebra.leaf(leaf)
            quantity = lowest
        return self.algebra.constant(quantity)

    def chance(self, name: str) -> Expression:
        """A quantity of its own that lies evenly between 0 and 1."""
        if name not in self.values:
            self.values[name] = default_representation("distributions").from_dict({"edges": [0, 1], "masses": [1]})
        return self.algebra.leaf(name)

    def needs(self, name: str, component: Component) -> set[str]:
        """Names on which a component depends."""
        with located(self.source, f"components.{name}"):
            if component.equation is not None:
                return set(variables(parsed(component.equation)))
            texts = [
                str(equation) for variable, equation in component.at.items() if variable not in component.model.levels
            ]
            return {needed for text in texts for needed in variables(parsed(text))}

    def in_order(self, needs: Mapping[str, set[str]]) -> list[str]:
        """Components after those that they need."""
        graph = {name: needed & set(self.components) for name, needed in needs.items()}
        try:
            return list(graphlib.TopologicalSorter(graph).static_order())
        except graphlib.CycleError as error:
            cycle = " needs ".join(reversed(error.args[1]))
            raise StructuralModelError(f"{self.source}: components: {cycle}; a component cannot need itself") from None

    def fitted(self, name: str, component: Component) -> Indexed:
        """Predictions of a fitted model, one for each place of the equations in ``at``."""
        model, numbers = component.model, dict[str, Indexed]()
        for variable, equation in component.at.items():
            if variable not in model.levels:
                numbers[variable] = self.composer.compose(str(equation))
        indices, rows_by_place = rows(list(numbers.values()), self.sizes)
        points = []
        for row in rows_by_place.values():
            point = dict(component.at)
            for (variable, part), cell in zip(numbers.items(), row, strict=True):
                if not isinstance(cell, Constant):
                    raise DataError(
                        f"at.{variable}: {part.text!r} is uncertain; a fitted model is evaluated at numbers"
                    )
                point[variable] = cell.value
            points.append(point)
        cells = {}
        for place, prediction in zip(rows_by_place, predict_fitted(model, points), strict=True):
            cells[place] = self.quantity(name, place, prediction.value)
            self.notes += [f"{name}: {note}" for note in prediction.notes]
        label = getattr(model, "unit", None)
        unit = PLAIN if label is None else parse_unit(label)
        return self.composer.in_unit(Indexed(name, cells, indices, unit), component.unit)

    def note_unused(self, used: set[str], needs: Mapping[str, set[str]]) -> None:
        """Say what the equation does not need, directly or through components."""
        waiting = list(used)
        while waiting:
            for name in needs.get(waiting.pop(), set()) - used:
                used.add(name)
                waiting.append(name)
        for kind, names in (("input", self.inputs), ("component", self.components)):
            self.notes += [f"{kind} {name!r} is not used" for name in names if name not in used]
