"""From equations to one expression: names are replaced by what they stand for, and units are checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from perf_formulas.tree import (
    COMPARISON,
    FUNCTIONS,
    INFIX,
    PREFIX,
    Node,
    Number,
    Operation,
    Variable,
    assembled,
    folded,
)
from perf_structural.algebra import Algebra
from perf_structural.expression import Constant, Expression
from perf_structural.indexed import Indexed, aligned, converted, joined, need_numbers
from perf_structural.language.calls import Calls
from perf_structural.language.functions import EQUATION_FUNCTIONS, parsed
from perf_structural.units import PLAIN, Unit, parse_unit
from perfcore.base.errors import DataError, UnknownNameError


_EXTREMA = {"max": True, "min": False}
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_KEEP_THE_UNIT = frozenset({"abs", "ceil", "floor"})
_LOGICAL = frozenset({"and", "or", "not"})
_LONG = 200  # numbers, names and operations
_FLAT = {"+": "+", "-": "+", "*": "*", "/": "*"}
_LONGEST = 200  # characters of a part that a message shows


class Composer:
    """Turns equations over known names into expressions."""

    def __init__(
        self,
        algebra: Algebra,
        known: Mapping[str, Indexed],
        sizes: Mapping[str, int],
        chance: Callable[[str], Expression],
    ) -> None:
        self.algebra, self.known, self.sizes = algebra, known, sizes
        self.calls = Calls(algebra, sizes, chance)

    def compose(self, text: str, unit: str | None = None, over: str | None = None) -> Indexed:
        """What an equation stands for."""
        if over is not None and over not in self.sizes:
            raise UnknownNameError("index", over, self.sizes)
        return self.in_unit(self._of(parsed(text), over), unit)

    def in_unit(self, quantity: Indexed, unit: str | None) -> Indexed:
        """A quantity converted to a unit; one without unit takes it as its label."""
        if unit is None:
            return quantity
        target = parse_unit(unit)
        if not quantity.unit.powers:
            return Indexed(quantity.text, quantity.cells, quantity.indices, target)
        if quantity.unit.kind != target.kind:
            raise DataError(f"the result is in {quantity.unit}, which cannot be converted to {target}")
        return converted(quantity, target, self.algebra)

    def _of(self, node: Node, over: str | None) -> Indexed:
        # Sums of thousands of terms: what is said about a part is cut, or the texts would fill the memory.
        return folded(_with_flat_sums(node), lambda part, below: self._part(part, below, over))[1]

    def _part(self, node: Node, below: Sequence[tuple[str, Indexed]], over: str | None) -> tuple[str, Indexed]:
        """A node, from its operands, each with its text."""
        text = assembled(node, [text for text, _ in below])
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}..."
        match node:
            case Number(value):
                return text, Indexed(text, {(): self.algebra.constant(value)})
            case Variable(name):
                try:
                    return text, self.known[name]
                except KeyError:
                    raise UnknownNameError("component or input", name, self.known) from None
        rule, parts = node.rule, [part for _, part in below]
        if rule.symbol in EQUATION_FUNCTIONS and rule.symbol not in FUNCTIONS:
            return text, self.calls.of(text, rule.symbol, parts, over)
        try:
            return text, self._operation(text, rule.symbol, rule.ufunc, parts, rule.level == COMPARISON)
        except DataError as error:
            # The innermost operation is named: what it joins is what is wrong.
            message = str(error)
            raise DataError(message if message.startswith("'") else f"{text!r}: {message}") from None

    def _operation(self, text: str, symbol: str, ufunc: str, parts: Sequence[Indexed], comparison: bool) -> Indexed:
        algebra = self.algebra
        if symbol in {"+", "-"}:
            parts, unit = aligned(symbol, parts, algebra)
            weights = [*[1.0] * (len(parts) - 1), 1.0 if symbol == "+" else -1.0]
            return joined(
                text,
                lambda *cells: algebra.add(algebra.scale(w, cell) for w, cell in zip(weights, cells, strict=True)),
                parts,
                self.sizes,
                unit,
            )
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


def _with_flat_sums(root: Node) -> Node:
    """A long equation, its sums and products each as one operation: term by term they would take quadratic time."""
    return folded(root, _flat) if folded(root, _count) > _LONG else root


def _count(node: Node, below: Sequence[int]) -> int:
    return 1 + sum(below)


def _flat(node: Node, operands: Sequence[Node]) -> Node:
    if not isinstance(node, Operation):
        return node
    if len(operands) != 2 or node.rule.symbol not in _FLAT:
        return Operation(node.rule, tuple(operands))
    (left, right), joint = operands, INFIX[_FLAT[node.rule.symbol]]
    if node.rule.symbol == "-":
        right = Operation(PREFIX["-"], (right,))
    elif node.rule.symbol == "/":
        right = Operation(node.rule, (Number(1.0), right))
    before = left.operands if isinstance(left, Operation) and left.rule is joint else (left,)
    return Operation(joint, (*before, right))
