"""Parts of a model with their units, one expression for each place of the indices over which they are replicated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perf_structural.algebra import Algebra
from perf_structural.expression import Constant, Expression
from perf_structural.units import PLAIN, Unit
from perfcore.base.errors import DataError

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
        """Text and unit."""
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
    return indices, {
        place: tuple(
            operand.cells[tuple(place[position] for position in selection)]
            for operand, selection in zip(operands, selections, strict=True)
        )
        for place in places(indices, sizes)
    }


def joined(
    text: str,
    operation: Callable[..., Expression],
    operands: Sequence[Indexed],
    sizes: Mapping[str, int],
    unit: Unit,
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

    The number 0 has every unit, so that ``max(t, 0)`` can be said.
    """
    first = next((operand for operand in operands if operand.unit.powers), operands[0])
    quantities = []
    for operand in operands:
        if operand.unit.kind == first.unit.kind:
            quantities.append(converted(operand, first.unit, algebra))
        elif not operand.unit.powers and all(_is_zero(cell) for cell in operand.cells.values()):
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


def _is_zero(cell: Expression) -> bool:
    return isinstance(cell, Constant) and cell.value == 0.0
