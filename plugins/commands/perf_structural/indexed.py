"""Parts of a model with their units, one expression for each place of the indices over which they are replicated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from perf_formulas.parser import FormulaError, Node, Number, Operation, Parser, Variable
from perf_structural.algebra import Algebra, Constant, Expression
from perfcore.base.errors import DataError
from perfcore.data.units import LABELS

# Units as labels: they combine by multiplication, and those of one kind convert into one another.
#
# Times, amounts of data and operation counts are known (`perfcore.data.units`); any other word is a separate kind.
# There are no quantities, prefixes or systems of units beyond that.

Powers = tuple[tuple[str, Fraction], ...]


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
        """What a number in this unit is multiplied by to be one in ``other``, of the same kind."""
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
    """A unit as a person writes it: labels joined by ``*``, ``/`` and whole powers, ``1`` for none."""
    try:
        return _unit_of(Parser(text, {}).formula())
    except (FormulaError, ValueError):
        raise DataError(f"unit {text!r}: labels joined by * and / are expected, such as s, MB/s or flop") from None


def _unit_of(node: Node) -> Unit:
    match node:
        case Variable(label):
            return Unit(((label, Fraction(1)),))
        case Number(1.0):
            return PLAIN
        case Operation(rule, (left, right)) if rule.symbol in {"*", "/"}:
            sign = 1 if rule.symbol == "*" else -1
            return _unit_of(left).times(_unit_of(right).power(Fraction(sign)))
        case Operation(rule, (base, Number(exponent))) if rule.symbol == "^" and exponent.is_integer():
            return _unit_of(base).power(Fraction(exponent))
    raise ValueError


Place = tuple[int, ...]


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
    """Every place along some indices, the last running fastest."""
    return list(itertools.product(*(range(sizes[index]) for index in indices)))


def rows(
    operands: Sequence[Indexed], sizes: Mapping[str, int]
) -> tuple[tuple[str, ...], dict[Place, tuple[Expression, ...]]]:
    """All indices of some operands, and the operands' expressions at each place."""
    indices = tuple(dict.fromkeys(index for operand in operands for index in operand.indices))
    selections = [[indices.index(index) for index in operand.indices] for operand in operands]
    chosen = list(zip(operands, selections, strict=True))
    return indices, {
        place: tuple(operand.cells[tuple(place[k] for k in selection)] for operand, selection in chosen)
        for place in places(indices, sizes)
    }


def joined(
    text: str, operation: Callable[..., Expression], operands: Sequence[Indexed], sizes: Mapping[str, int], unit: Unit
) -> Indexed:
    """An operation place by place."""
    indices, rows_by_place = rows(operands, sizes)
    return Indexed(text, {place: operation(*row) for place, row in rows_by_place.items()}, indices, unit)


def reduced(
    text: str,
    operation: Callable[[Sequence[Expression], Sequence[Expression]], Expression],
    operand: Indexed,
    over: str | None,
    others: Sequence[Indexed] = (),
) -> Indexed:
    """An operation over all places along one index, which then is gone."""
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
    groups: dict[Place, list[Expression]] = {}
    for place, cell in operand.cells.items():
        groups.setdefault(place[:axis] + place[axis + 1 :], []).append(cell)
    left = operand.indices[:axis] + operand.indices[axis + 1 :]
    cells = {place: operation(group, at_place(text, others, left, place)) for place, group in groups.items()}
    return Indexed(text, cells, left, operand.unit)


def at_place(text: str, operands: Sequence[Indexed], indices: Sequence[str], place: Place) -> list[Expression]:
    """Expressions of operands at a place along some indices."""
    cells = []
    for operand in operands:
        if not set(operand.indices) <= set(indices):
            raise DataError(f"{text}: {operand.text!r} is replicated itself; one number is expected")
        cells.append(operand.cells[tuple(place[indices.index(index)] for index in operand.indices)])
    return cells


def converted(operand: Indexed, unit: Unit, algebra: Algebra) -> Indexed:
    """The same quantity in another unit of its kind."""
    if operand.unit == unit:
        return operand
    scale = operand.unit.scale_to(unit)
    cells = {place: algebra.scale(scale, cell) for place, cell in operand.cells.items()}
    return Indexed(operand.text, cells, operand.indices, unit)


def aligned(symbol: str, operands: Sequence[Indexed], algebra: Algebra) -> tuple[list[Indexed], Unit]:
    """Operands of a sum, a maximum or a comparison in one unit, that of the first which has one.

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
