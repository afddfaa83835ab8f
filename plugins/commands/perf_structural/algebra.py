"""A whole formula as a graph in which equal parts are the same node.

A quantity that a formula uses twice is one quantity. Evaluating ``x - x`` from two
independent values gets a spread where there is none. So formulas are built by an `Algebra`, which collects sums and
products while it builds: ``x - x`` is 0, ``x*x`` is ``x^2``, ``x/x`` is 1, ``max(x, x)`` is ``x``; and it gives the
same node for the same expression (hash-consing), so that repeated nodes can be counted.

Only what holds for every value is used: roots are not squared away, since a root refuses negative values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from perf_formulas.parser import INFIX, PREFIX, QUANTILE
from perf_structural.functions import EQUATION_FUNCTIONS, compute
from perfcore.base.errors import DataError

_RULES = [pair for table in (INFIX, PREFIX, EQUATION_FUNCTIONS) for pair in table.items()]
SYMBOLS = {rule.ufunc: symbol for symbol, rule in _RULES if symbol != "**"}
Place = tuple[int, ...]  # of a copy along the indices over which a quantity is replicated, from 0
Pair = frozenset[str]  # names of two correlated quantities
MAX_NODES = 200_000  # some 200 MB; 1,000 processors over 100 iterations stay below
_COMPARISONS = frozenset(rule.ufunc for symbol, rule in INFIX.items() if symbol[0] in "<>=!")


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """A node; only an `Algebra` makes one, so that equal expressions of it are identical."""

    number: int  # order of creation; operands have smaller ones
    operands: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Expression):
    """A number."""

    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Leaf(Expression):
    """An uncertain quantity."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Sum(Expression):
    """``constant`` plus each operand times its weight; no operand is a sum or a constant."""

    constant: float
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Product(Expression):
    """``factor`` times each operand to its whole power; no operand is a product or a constant."""

    factor: float
    powers: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Extremum(Expression):
    """The largest or the smallest operand; at most one operand is a constant."""

    largest: bool


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expression):
    """Any other operation, named by the function that computes it (`perf_structural.functions.compute`)."""

    ufunc: str


def ordered(root: Expression) -> list[Expression]:
    """Return all nodes below and with ``root``, operands before those that use them."""
    nodes, open_nodes = {root}, [root]
    while open_nodes:
        for operand in open_nodes.pop().operands:
            if operand not in nodes:
                nodes.add(operand)
                open_nodes.append(operand)
    return sorted(nodes, key=lambda node: node.number)


def leaves(root: Expression) -> list[str]:
    """Return names of the uncertain quantities, in order of creation."""
    return [node.name for node in ordered(root) if isinstance(node, Leaf)]


def repeated(root: Expression) -> list[str]:
    """Return names of the uncertain quantities that are reached from the root in more than one way."""
    nodes = ordered(root)
    ways = dict.fromkeys(nodes, 0)
    ways[root] = 1
    for node in reversed(nodes):
        for operand in node.operands:
            ways[operand] = min(ways[operand] + ways[node], 2)
    return [node.name for node in nodes if isinstance(node, Leaf) and ways[node] > 1]


def shown(root: Expression, most: int = 100) -> str:
    """Return the expression as a formula, cut where it would be longer than a line."""
    text = _shown(root, most)
    return text if len(text) <= most else f"{text[:most]}..."


def _shown(node: Expression, most: int) -> str:
    """Written out, and gone into, only as far as it will be seen: a graph may stand for a formula of any length."""
    if most <= 0:
        return "..."
    parts: list[str] = []
    left = most
    for operand in node.operands:
        parts.append(_shown(operand, left - 1))
        left -= len(parts[-1])
        if left <= 0:
            break
    match node:
        case Constant():
            return f"{node.value:g}"
        case Leaf():
            return node.name
        case Sum():
            terms = []
            for weight, part in zip(node.weights, parts, strict=False):
                if abs(weight) == 1.0:
                    terms.append(part if weight > 0.0 else f"-{part}")
                else:
                    terms.append(f"{weight:g}{part[1:]}" if part.startswith("1/") else f"{weight:g}*{part}")
            if node.constant:
                terms.append(f"{node.constant:g}")
            return " + ".join(terms).replace("+ -", "- ")
        case Product():
            above, below = [f"{node.factor:g}"] if node.factor != 1.0 else [], list[str]()
            for operand, part, power in zip(node.operands, parts, node.powers, strict=False):
                base = f"({part})" if isinstance(operand, Sum) else part
                (above if power > 0 else below).append(base if abs(power) == 1 else f"{base}^{abs(power)}")
            return "/".join(["*".join(above) or "1", *below])
        case Extremum():
            return f"{'max' if node.largest else 'min'}({', '.join(parts)})"
        case Call():
            symbol = SYMBOLS[node.ufunc]
            return f"({f' {symbol} '.join(parts)})" if symbol in INFIX else f"{symbol}({', '.join(parts)})"
    raise TypeError(node)


class Algebra:
    """Makes expressions, simplified."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Expression] = {}
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._known)

    def _node(self, key: Hashable, make: Callable[[int], Expression]) -> Expression:
        expression = self._known.get(key)
        if expression is None:
            if len(self._known) >= MAX_NODES:
                raise DataError(f"the model has more than {MAX_NODES:,} operations when it is written out")
            expression = self._known[key] = make(next(self._numbers))
        return expression

    def constant(self, value: float) -> Expression:
        if not np.isfinite(value):
            raise DataError(f"a number becomes {value}")
        value = float(value) + 0.0  # -0.0 and 0.0 are one node
        return self._node(("constant", value), lambda number: Constant(number, (), value))

    def leaf(self, name: str) -> Expression:
        return self._node(("leaf", name), lambda number: Leaf(number, (), name))

    def add(self, terms: Iterable[Expression]) -> Expression:
        return self._sum((term, 1.0) for term in terms)

    def scale(self, factor: float, operand: Expression) -> Expression:
        return self._sum([(operand, factor)])

    def _sum(self, terms: Iterable[tuple[Expression, float]]) -> Expression:
        constant, weights = 0.0, dict[Expression, float]()
        for term, weight in terms:
            match term:
                case Constant():
                    constant += weight * term.value
                case Sum():
                    constant += weight * term.constant
                    for operand, inner in zip(term.operands, term.weights, strict=True):
                        weights[operand] = weights.get(operand, 0.0) + weight * inner
                case Product():
                    unscaled = self._product(1.0, dict(zip(term.operands, term.powers, strict=True)))
                    weights[unscaled] = weights.get(unscaled, 0.0) + weight * term.factor
                case _:
                    weights[term] = weights.get(term, 0.0) + weight
        weights = {operand: weight for operand, weight in weights.items() if weight != 0.0}
        if not weights:
            return self.constant(constant)
        if not np.isfinite(constant) or not all(map(np.isfinite, weights.values())):
            raise DataError("a number is too large")
        if len(weights) == 1 and constant == 0.0:
            ((operand, weight),) = weights.items()
            if weight == 1.0:
                return operand
            powers = {operand: 1}
            if isinstance(operand, Product):
                powers = dict(zip(operand.operands, operand.powers, strict=True))
            return self._product(weight, powers)
        return self._node(
            ("sum", constant, frozenset(weights.items())),
            lambda number: Sum(number, tuple(weights), constant, tuple(weights.values())),
        )

    def product(self, factors: Iterable[tuple[Expression, int]]) -> Expression:
        constant, powers = 1.0, dict[Expression, int]()
        for factor, power in factors:
            match factor:
                case Constant():
                    constant *= self._constant_power(factor.value, power)
                case Product():
                    constant *= self._constant_power(factor.factor, power)
                    for operand, inner in zip(factor.operands, factor.powers, strict=True):
                        powers[operand] = powers.get(operand, 0) + power * inner
                case _:
                    powers[factor] = powers.get(factor, 0) + power
        return self._product(constant, {operand: power for operand, power in powers.items() if power != 0})

    def _constant_power(self, value: float, power: int) -> float:
        if value == 0.0 and power < 0:
            raise DataError("a divisor is zero")
        try:
            return value**power
        except OverflowError:
            raise DataError(f"{value:g}^{power} is too large") from None

    def _product(self, factor: float, powers: Mapping[Expression, int]) -> Expression:
        if factor == 0.0 or not powers:
            return self.constant(factor)
        if not np.isfinite(factor):
            raise DataError("a number is too large")
        if len(powers) == 1:
            ((operand, power),) = powers.items()
            if power == 1 and factor == 1.0:
                return operand
            if power == 1 and isinstance(operand, Sum):
                return self._sum([(operand, factor)])
        return self._node(
            ("product", factor, frozenset(powers.items())),
            lambda number: Product(number, tuple(powers), factor, tuple(powers.values())),
        )

    def power(self, base: Expression, exponent: Expression) -> Expression:
        """Return a power; one whose exponent is a whole number joins the products."""
        if isinstance(exponent, Constant):
            if exponent.value.is_integer() and abs(exponent.value) <= 2**31:
                return self.product([(base, int(exponent.value))])
            if exponent.value == 0.5:
                return self.call("sqrt", [base])
        elif isinstance(base, Constant) and base.value > 0.0:
            return self.call("exp", [self.scale(float(np.log(base.value)), exponent)])
        return self.call("power", [base, exponent])

    def extremum(self, largest: bool, operands: Iterable[Expression]) -> Expression:
        """Return the largest or the smallest of some; by the lattice laws ``max(x, min(x, y))`` is ``x``."""
        members = dict[Expression, None]()
        numbers = []
        for operand in operands:
            inner = operand.operands if isinstance(operand, Extremum) and operand.largest == largest else (operand,)
            for member in inner:
                if isinstance(member, Constant):
                    numbers.append(member.value)
                else:
                    members[member] = None
        kept = [
            member
            for member in members
            if not (isinstance(member, Extremum) and any(operand in members for operand in member.operands))
        ]
        if numbers:
            kept.append(self.constant(max(numbers) if largest else min(numbers)))
        if len(kept) == 1:
            return kept[0]
        return self._node(("extremum", largest, frozenset(kept)), lambda number: Extremum(number, tuple(kept), largest))

    def call(self, ufunc: str, operands: Iterable[Expression]) -> Expression:
        arguments = tuple(operands)
        if ufunc == "where" and isinstance(arguments[0], Constant):
            return arguments[1] if arguments[0].value != 0.0 else arguments[2]
        same = ufunc in _COMPARISONS and len(set(arguments)) == 1
        if ufunc != QUANTILE and (same or all(isinstance(argument, Constant) for argument in arguments)):
            numbers = [argument.value if isinstance(argument, Constant) else 0.0 for argument in arguments]
            with np.errstate(all="ignore"):
                value = float(compute(ufunc, *numbers))
            if not np.isfinite(value):
                shown_numbers = ", ".join(f"{number:g}" for number in numbers)
                raise DataError(f"{SYMBOLS[ufunc]}({shown_numbers}) is {value}")
            return self.constant(value)
        if ufunc in {"log2", "log10"}:
            return self.scale(1.0 / float(np.log(float(ufunc[3:]))), self.call("log", arguments))
        return self._node(("call", ufunc, arguments), lambda number: Call(number, arguments, ufunc))
