"""Units as labels: they combine by multiplication, and those of one kind convert into one another.

Times, amounts of data and operation counts are known (`perfcore.data.units`); any other word is a kind of its own.
There are no quantities, prefixes or systems of units beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from perf_formulas.parser import FormulaError, Node, Number, Operation, Parser, Variable
from perfcore.base.errors import DataError
from perfcore.data.units import LABELS

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
        """Unit of a product."""
        return Unit(_collected((*self.powers, *other.powers)))

    def power(self, exponent: Fraction) -> Unit:
        """Unit of a power."""
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
