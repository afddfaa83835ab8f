"""A structural model written out: components in the order of their needs, inputs as the quantities of expressions."""

from __future__ import annotations

import graphlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from perf_formulas import parser
from perf_structural.algebra import (
    EQUATION_FUNCTIONS,
    OVER_COPIES,
    Algebra,
    Constant,
    Expression,
    Pair,
    Place,
    as_integer,
    parsed,
)
from perf_structural.model_file import Component, StructuralModelError, error_context, predict_fitted
from perf_structural.sampling import correlated_pairs
from perfcore.base import grouped
from perfcore.base.errors import DataError, UnknownNameError
from perfcore.data.units import LABELS
from perfcore.stochastic import StochasticValue

# Units as labels: they combine by multiplication, and those of one kind convert into one another.
#
# Times, amounts of data and operation counts are known (`perfcore.data.units`); any other word is a separate kind.
# There are no quantities, prefixes or systems of units beyond that.

if TYPE_CHECKING:
    from perf_structural.inputs import Input

Powers = tuple[tuple[str, Fraction], ...]
_OF_SHARES = frozenset({"barrier_over", "grained_barrier_over"})
_EXTREMA = {"max": True, "min": False}
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_KEEP_THE_UNIT = frozenset({"abs", "ceil", "floor"})
_LOGICAL = frozenset({"and", "or", "not"})
_LONG = 200  # numbers, names and operations
_FLAT = {"+": "+", "-": "+", "*": "*", "/": "*"}
_LONGEST = 200  # characters of a part that a message shows


def _collected(powers: Iterable[tuple[str, Fraction]]) -> Powers:
    total: dict[str, Fraction] = {}
    for label, power in powers:
        total[label] = total.get(label, Fraction(0)) + power
    return tuple((label, power) for label, power in total.items() if power)


@dataclass(frozen=True)
class Unit:
    """A product of powers of labels."""

    powers: Powers = ()  # each label once, without zeros; empty for a number without unit

    @property
    def kind(self) -> Unit:
        """What it measures: the same for all units that convert into one another."""
        return Unit(tuple(sorted(_collected((LABELS.get(label, (label,))[0], power) for label, power in self.powers))))

    @property
    def size(self) -> Fraction:
        """How many of the kind's own unit it is."""
        product = Fraction(1)
        for label, power in self.powers:
            if label in LABELS and LABELS[label][1] != 1:
                if power.denominator != 1:
                    raise DataError(f"the unit {self} cannot be converted; use {LABELS[label][0]} for {label}")
                product *= LABELS[label][1] ** power.numerator
        return product

    def times(self, other: Unit) -> Unit:
        return Unit(_collected((*self.powers, *other.powers)))

    def power(self, exponent: Fraction) -> Unit:
        return Unit(_collected((label, power * exponent) for label, power in self.powers))

    def scale_to(self, other: Unit) -> float:
        """Return what a number in this unit is multiplied by to be one in ``other``, of the same kind."""
        return float(self.size / other.size)

    def __str__(self) -> str:
        above = [_power(label, power) for label, power in self.powers if power > 0]
        below = [_power(label, -power) for label, power in self.powers if power < 0]
        return "/".join(["*".join(above) or "1", *below])


PLAIN = Unit()


def _power(label: str, power: Fraction) -> str:
    if power == 1:
        return label
    return f"{label}^{power}" if power.denominator == 1 else f"{label}^({power})"


def parse_unit(text: str) -> Unit:
    """Return a unit as a person writes it: labels joined by ``*``, ``/`` and whole powers, ``1`` for none."""
    try:
        return _unit_of(parser.Parser(text, {}).formula())
    except (parser.FormulaError, ValueError):
        raise DataError(f"unit {text!r}: labels joined by * and / are expected, such as s, MB/s or flop") from None


def _unit_of(node: parser.Node) -> Unit:
    match node:
        case parser.Variable(label):
            return Unit(((label, Fraction(1)),))
        case parser.Number(1.0):
            return PLAIN
        case parser.Operation(rule, (left, right)) if rule.symbol in {"*", "/"}:
            sign = 1 if rule.symbol == "*" else -1
            return _unit_of(left).times(_unit_of(right).power(Fraction(sign)))
        case parser.Operation(rule, (base, parser.Number(exponent))) if rule.symbol == "^" and exponent.is_integer():
            return _unit_of(base).power(Fraction(exponent))
    raise ValueError


@dataclass(frozen=True)
class Indexed:
    """A quantity, or one for each processor, iteration or whatever it is replicated over."""

    text: str  # as the user wrote it, for messages
    cells: Mapping[Place, Expression]  # one for each place, counted from 0 along each index
    indices: tuple[str, ...] = ()
    unit: Unit = PLAIN

    @property
    def described(self) -> str:
        return f"{self.text!r} is in {self.unit}" if self.unit.powers else f"{self.text!r} has no unit"


def places(indices: Sequence[str], sizes: Mapping[str, int]) -> list[Place]:
    """Return every place along some indices, the last running fastest."""
    return list(itertools.product(*(range(sizes[index]) for index in indices)))


def rows(
    operands: Sequence[Indexed], sizes: Mapping[str, int]
) -> tuple[tuple[str, ...], dict[Place, tuple[Expression, ...]]]:
    """Return all indices of some operands, and the operands' expressions at each place."""
    indices = tuple(dict.fromkeys(index for operand in operands for index in operand.indices))
    selected = [(operand, [indices.index(index) for index in operand.indices]) for operand in operands]
    return indices, {
        place: tuple(operand.cells[tuple(place[k] for k in selection)] for operand, selection in selected)
        for place in places(indices, sizes)
    }


def joined(
    text: str, operation: Callable[..., Expression], operands: Sequence[Indexed], sizes: Mapping[str, int], unit: Unit
) -> Indexed:
    """Return an operation place by place."""
    indices, rows_by_place = rows(operands, sizes)
    return Indexed(text, {place: operation(*row) for place, row in rows_by_place.items()}, indices, unit)


def reduced(
    text: str,
    operation: Callable[[Sequence[Expression], Sequence[Expression]], Expression],
    operand: Indexed,
    over: str | None,
    others: Sequence[Indexed] = (),
) -> Indexed:
    """Return an operation over all places along one index, which then is gone."""
    if not operand.indices:
        raise DataError(
            f"{text}: {operand.text!r} is not replicated; give a list for one of its inputs, or take it alone"
        )
    index = operand.indices[0] if len(operand.indices) == 1 else over
    if index is None or index not in operand.indices:
        index_names = " and ".join(operand.indices)
        raise DataError(
            f"{text}: {operand.text!r} is replicated over {index_names}; make it a component and say which with over = "
            f"{operand.indices[0]!r}"
        )
    axis = operand.indices.index(index)
    groups = grouped((place[:axis] + place[axis + 1 :], cell) for place, cell in operand.cells.items())
    left = operand.indices[:axis] + operand.indices[axis + 1 :]
    cells = {place: operation(group, at_place(text, others, left, place)) for place, group in groups.items()}
    return Indexed(text, cells, left, operand.unit)


def at_place(text: str, operands: Sequence[Indexed], indices: Sequence[str], place: Place) -> list[Expression]:
    """Return expressions of operands at a place along some indices."""
    cells = []
    for operand in operands:
        if not set(operand.indices) <= set(indices):
            raise DataError(f"{text}: {operand.text!r} is replicated itself; one number is expected")
        cells.append(operand.cells[tuple(place[indices.index(index)] for index in operand.indices)])
    return cells


def converted(operand: Indexed, unit: Unit, algebra: Algebra) -> Indexed:
    """Return the same quantity in another unit of its kind."""
    if operand.unit == unit:
        return operand
    scale = operand.unit.scale_to(unit)
    cells = {place: algebra.scale(scale, cell) for place, cell in operand.cells.items()}
    return Indexed(operand.text, cells, operand.indices, unit)


def aligned(symbol: str, operands: Sequence[Indexed], algebra: Algebra) -> tuple[list[Indexed], Unit]:
    """Return operands of a sum, a maximum or a comparison in one unit, that of the first which has one.

    The number 0 has every unit, so that ``max(t, 0)`` is valid.
    """
    first = next((operand for operand in operands if operand.unit.powers), operands[0])
    quantities = []
    for operand in operands:
        if operand.unit.kind == first.unit.kind:
            quantities.append(converted(operand, first.unit, algebra))
        elif not operand.unit.powers and all(
            isinstance(cell, Constant) and cell.value == 0.0 for cell in operand.cells.values()
        ):
            quantities.append(operand)
        else:
            raise DataError(f"{symbol} needs one unit, but {first.described} and {operand.described}")
    return quantities, first.unit


def need_numbers(label: str, parts: Sequence[Indexed]) -> None:
    """Refuse quantities with a unit."""
    for part in parts:
        if part.unit.powers:
            raise DataError(
                f"{label} takes a number without unit, but {part.described}; divide by a quantity in {part.unit}"
            )


class Composer:
    """Turns equations over known names into expressions."""

    def __init__(self, algebra: Algebra, known: dict[str, Indexed], sizes: dict[str, int]) -> None:
        self.algebra, self.known, self.sizes = algebra, known, sizes

    def compose(self, text: str, unit: str | None = None, over: str | None = None) -> Indexed:
        """Return what an equation stands for."""
        if over is not None and over not in self.sizes:
            raise UnknownNameError("index", over, self.sizes)
        node = parsed(text)
        # Of a long equation sums and products are one operation each: term by term they would take quadratic time.
        if parser.folded(node, lambda _, below: 1 + sum(below)) > _LONG:
            node = parser.folded(node, _flat)
        return self.in_unit(parser.folded(node, lambda part, below: self._part(part, below, over))[1], unit)

    def in_unit(self, quantity: Indexed, unit: str | None) -> Indexed:
        """Return a quantity converted to a unit; one without unit takes it as its label."""
        if unit is None:
            return quantity
        target = parse_unit(unit)
        if not quantity.unit.powers:
            return Indexed(quantity.text, quantity.cells, quantity.indices, target)
        if quantity.unit.kind != target.kind:
            raise DataError(f"the result is in {quantity.unit}, which cannot be converted to {target}")
        return converted(quantity, target, self.algebra)

    def _part(self, node: parser.Node, below: Sequence[tuple[str, Indexed]], over: str | None) -> tuple[str, Indexed]:
        text = parser.assembled(node, [text for text, _ in below])
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}..."
        match node:
            case parser.Number(value):
                return text, Indexed(text, {(): self.algebra.constant(value)})
            case parser.Variable(name):
                try:
                    return text, self.known[name]
                except KeyError:
                    raise UnknownNameError("component or input", name, self.known) from None
        rule, parts = node.rule, [part for _, part in below]
        if rule.symbol in EQUATION_FUNCTIONS and rule.symbol not in parser.FUNCTIONS:
            return text, self._call(text, rule.symbol, parts, over)
        try:
            return text, self._operation(text, rule.symbol, rule.ufunc, parts, rule.level == parser.COMPARISON)
        except DataError as error:
            # The innermost operation is named: what it joins is what is wrong.
            message = str(error)
            raise DataError(message if message.startswith("'") else f"{text!r}: {message}") from None

    def _operation(self, text: str, symbol: str, ufunc: str, parts: Sequence[Indexed], comparison: bool) -> Indexed:
        algebra = self.algebra
        if symbol in {"+", "-"}:
            parts, unit = aligned(symbol, parts, algebra)
            weights = [*[1.0] * (len(parts) - 1), 1.0 if symbol == "+" else -1.0]

            def added(*cells: Expression) -> Expression:
                return algebra.add(algebra.scale(weight, cell) for weight, cell in zip(weights, cells, strict=True))

            return joined(text, added, parts, self.sizes, unit)
        if symbol in {"*", "/"}:
            powers = [*[1] * (len(parts) - 1), 1 if symbol == "*" else -1]
            unit = PLAIN
            for part, power in zip(parts, powers, strict=True):
                unit = unit.times(part.unit.power(Fraction(power)))
            if not unit.kind.powers and unit.powers:  # MB/kB is a number
                parts = [converted(part, part.unit.kind, algebra) for part in parts]
                unit = PLAIN
            return joined(
                text, lambda *cells: algebra.product(zip(cells, powers, strict=True)), parts, self.sizes, unit
            )
        if symbol == "^":
            return self._power(text, *parts)
        if symbol in _EXTREMA:
            parts, unit = aligned(symbol, parts, algebra)
            largest = _EXTREMA[symbol]
            return joined(text, lambda *cells: algebra.extremum(largest, cells), parts, self.sizes, unit)
        if symbol == "if":
            branches, unit = aligned(symbol, parts[1:], algebra)
            parts = [parts[0], *branches]
        elif comparison:
            parts, _ = aligned(symbol, parts, algebra)
            unit = PLAIN
        elif symbol in _ROOTS:
            unit = parts[0].unit.power(_ROOTS[symbol])
        elif symbol in _KEEP_THE_UNIT:
            unit = parts[0].unit
        else:
            if symbol not in _LOGICAL:
                need_numbers(symbol, parts)
            unit = PLAIN
        return joined(text, lambda *cells: algebra.call(ufunc, cells), parts, self.sizes, unit)

    def _power(self, text: str, base: Indexed, exponent: Indexed) -> Indexed:
        need_numbers("an exponent", [exponent])
        unit: Unit = PLAIN
        if base.unit.powers:
            values = {cell.value for cell in exponent.cells.values() if isinstance(cell, Constant)}
            if len(values) != 1 or len(exponent.cells) != 1:
                raise DataError(f"{base.described}; only a number to which it is raised gives a unit")
            unit = base.unit.power(Fraction(values.pop()).limit_denominator(1000))
        return joined(text, self.algebra.power, [base, exponent], self.sizes, unit)

    def _call(self, text: str, symbol: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        try:
            if symbol == "pipeline_over":
                return self._pipeline(text, parts, over)
            if symbol in OVER_COPIES:
                return self._over_copies(text, symbol, parts, over)
            if symbol == parser.QUANTILE:
                return joined(text, self._quantile, parts, self.sizes, parts[0].unit)
            need_numbers("the place", parts[:1])
            values, unit = aligned(symbol, parts[1:], self.algebra)
            return joined(text, lambda k, *cells: self._k_th(k, cells), [parts[0], *values], self.sizes, unit)
        except DataError as error:
            message = str(error)
            raise DataError(message if message.startswith(text) else f"{text}: {message}") from None

    def _over_copies(self, text: str, symbol: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        place = OVER_COPIES[symbol]
        others = [*parts[:place], *parts[place + 1 :]]
        if symbol in _OF_SHARES:
            need_numbers("a share", parts[:1])
        if symbol == "grained_barrier_over":
            others, _ = aligned("a grain and a slice", others, self.algebra)
        else:
            need_numbers(symbol, others)
        return reduced(text, lambda group, numbers: self._of_copies(symbol, group, numbers), parts[place], over, others)

    def _of_copies(self, symbol: str, group: Sequence[Expression], numbers: Sequence[Expression]) -> Expression:
        algebra = self.algebra
        match symbol:
            case "k_th_over":
                return self._k_th(numbers[0], group)
            case "barrier_over" | "grained_barrier_over":
                return algebra.call(symbol, [*group, *numbers])
        for count in numbers:
            if not isinstance(count, Constant):
                return algebra.call(symbol, [*group, count])
            least = 0 if symbol == "sum_over" else 1
            group = group[: int(as_integer("number of copies", count.value, least, len(group)))]
        if symbol in {"max_over", "min_over"}:
            return algebra.extremum(symbol == "max_over", group)
        return algebra.add(group) if symbol == "sum_over" else algebra.scale(1.0 / len(group), algebra.add(group))

    def _k_th(self, k: Expression, cells: Sequence[Expression]) -> Expression:
        if isinstance(k, Constant):
            place = int(as_integer("place", k.value, 1, len(cells)))
            if place in {1, len(cells)}:
                return self.algebra.extremum(place == len(cells), cells)
        return self.algebra.call("k_th", [k, *cells])

    def _quantile(self, operand: Expression, level: Expression) -> Expression:
        if not isinstance(level, Constant) or not 0.0 < level.value < 1.0:
            raise DataError("the level of a quantile is a number between 0 and 1, such as 0.95")
        return operand if isinstance(operand, Constant) else self.algebra.call(parser.QUANTILE, [operand, level])

    def _pipeline(self, text: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        times, room = parts
        need_numbers("the room between two stages", [room])
        if len(times.indices) != 2:
            replication = f"replicated over {' and '.join(times.indices)}" if times.indices else "not replicated"
            raise DataError(
                f"{times.text!r} is {replication}; one time for each stage and item is expected: "
                'each = [...], over = "stage", replicate = { item = 100 }'
            )
        stage = times.indices.index(over) if over in times.indices else 0
        in_order = [
            times.cells[place if stage == 1 else place[::-1]]
            for place in places([times.indices[1 - stage], times.indices[stage]], self.sizes)
        ]
        (capacity,) = at_place(text, [room], (), ())
        stages = self.algebra.constant(float(self.sizes[times.indices[stage]]))
        return Indexed(text, {(): self.algebra.call("pipeline_over", [*in_order, capacity, stages])}, (), times.unit)


def _flat(node: parser.Node, operands: Sequence[parser.Node]) -> parser.Node:
    if not isinstance(node, parser.Operation):
        return node
    if len(operands) != 2 or node.rule.symbol not in _FLAT:
        return parser.Operation(node.rule, tuple(operands))
    (left, right), joint = operands, parser.INFIX[_FLAT[node.rule.symbol]]
    if node.rule.symbol == "-":
        right = parser.Operation(parser.PREFIX["-"], (right,))
    elif node.rule.symbol == "/":
        right = parser.Operation(node.rule, (parser.Number(1.0), right))
    before = left.operands if isinstance(left, parser.Operation) and left.rule is joint else (left,)
    return parser.Operation(joint, (*before, right))


@dataclass(frozen=True)
class Composition:
    """An equation written out in uncertain quantities."""

    result: Indexed
    values: Mapping[str, StochasticValue]
    correlations: Mapping[Pair, float]  # correlation of the normal scores of two of them
    notes: tuple[str, ...]  # such as inputs that nothing uses


class Composing(Composer):
    """Writes the equation of a model out."""

    def __init__(self, inputs: Mapping[str, Input], components: Mapping[str, Component], source: str) -> None:
        super().__init__(Algebra(), {}, {})
        self.inputs, self.components, self.source = inputs, components, source
        self.values: dict[str, StochasticValue] = {}
        self.copies: dict[str, dict[Place, str]] = {}  # names of the leaves of an uncertain input
        self.notes: list[str] = []

    def result(self, equation: str, unit: str | None, correlations: Mapping[str, float]) -> Composition:
        """Return the equation, written out once for each object."""
        for name, definition in self.inputs.items():
            with error_context(self.source, f"inputs.{name}"):
                for index, copies in definition.sizes.items():
                    if self.sizes.setdefault(index, copies) != copies:
                        before = self.sizes[index]
                        raise DataError(f"there are {copies} over {index}, but {before} in an input before it")
                cells = {place: self.quantity(name, place, quantity) for place, quantity in definition.cells.items()}
                input_unit = PLAIN if definition.unit is None else parse_unit(definition.unit)
                self.known[name] = Indexed(name, cells, tuple(definition.sizes), input_unit)
        needs = {name: self.needs(name, component) for name, component in self.components.items()}
        graph = {name: needed & set(self.components) for name, needed in needs.items()}
        try:
            in_order = list(graphlib.TopologicalSorter(graph).static_order())
        except graphlib.CycleError as error:
            cycle = " needs ".join(reversed(error.args[1]))
            raise StructuralModelError(f"{self.source}: components: {cycle}; a component cannot need itself") from None
        for name in in_order:
            with error_context(self.source, f"components.{name}"):
                component = self.components[name]
                if component.equation is None:
                    self.known[name] = self.fitted(name, component)
                else:
                    self.known[name] = self.compose(component.equation, component.unit, component.over)
        with error_context(self.source, "equation"):
            result = self.compose(equation, unit)
            used = set(parser.variables(parsed(equation)))
        with error_context(self.source, "correlations"):
            pairs = correlated_pairs(correlations, self.copies)
        waiting = list(used)  # what the equation needs, directly or through components
        while waiting:
            new = needs.get(waiting.pop(), set()) - used
            used |= new
            waiting += new
        self.notes += [f"input {name!r} is not used" for name in self.inputs if name not in used]
        self.notes += [f"component {name!r} is not used" for name in self.components if name not in used]
        return Composition(result, self.values, pairs, tuple(self.notes))

    def quantity(self, name: str, place: Place, quantity: float | StochasticValue) -> Expression:
        """Return a leaf; a number, and a value without spread, is a constant."""
        if isinstance(quantity, StochasticValue):
            lowest, highest = quantity.support
            if lowest < highest:
                leaf = f"{name}[{','.join(str(k + 1) for k in place)}]" if place else name
                self.values[leaf] = quantity
                self.copies.setdefault(name, {})[place] = leaf
                return self.algebra.leaf(leaf)
            quantity = lowest
        return self.algebra.constant(quantity)

    def needs(self, name: str, component: Component) -> set[str]:
        """Return names on which a component depends."""
        with error_context(self.source, f"components.{name}"):
            if component.equation is not None:
                return set(parser.variables(parsed(component.equation)))
            texts = [str(equation) for name, equation in component.at.items() if name not in component.model.levels]
            return {needed for text in texts for needed in parser.variables(parsed(text))}

    def fitted(self, name: str, component: Component) -> Indexed:
        """Return predictions of a fitted model, one for each place of the equations in ``at``."""
        model = component.model
        numbers = {
            variable: self.compose(str(equation))
            for variable, equation in component.at.items()
            if variable not in model.levels
        }
        indices, rows_by_place = rows(list(numbers.values()), self.sizes)
        points = []
        for row in rows_by_place.values():
            point = dict(component.at)
            for (variable, part), cell in zip(numbers.items(), row, strict=True):
                if not isinstance(cell, Constant):
                    at = f"at.{variable}: {part.text!r}"
                    raise DataError(f"{at} is uncertain; a fitted model is evaluated at numbers")
                point[variable] = cell.value
            points.append(point)
        cells = {}
        for place, (value, notes) in zip(rows_by_place, predict_fitted(model, points), strict=True):
            cells[place] = self.quantity(name, place, value)
            self.notes += [f"{name}: {note}" for note in notes]
        label = getattr(model, "unit", None)
        unit = PLAIN if label is None else parse_unit(label)
        return self.in_unit(Indexed(name, cells, indices, unit), component.unit)
