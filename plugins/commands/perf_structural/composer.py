"""From equations to one expression: names are replaced by what they stand for, and units are checked on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from perf_formulas.parser import Parser
from perf_formulas.tree import COMPARISON, FUNCTIONS, REDUCTIONS, Node, Number, Operation, Variable, written
from perf_structural.algebra import Algebra
from perf_structural.expression import Constant, Expression
from perf_structural.indexed import Indexed, aligned, converted, joined, reduced
from perf_structural.units import PLAIN, Unit, parse_unit
from perfcore.base.errors import DataError, UnknownNameError

__all__ = ["Composer", "parsed"]

_EXTREMA = {"max": True, "min": False, "max_over": True, "min_over": False}
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_KEEP_THE_UNIT = frozenset({"abs", "ceil", "floor"})
_LOGICAL = frozenset({"and", "or", "not"})


def parsed(text: str) -> Node:
    """The tree of an equation: a formula that may also reduce over copies, as in ``max_over(work/speed)``.

    Examples
    --------
    >>> from perf_formulas.tree import variables
    >>> list(variables(parsed("sum_over(work/speed) + start")))
    ['work', 'speed', 'start']
    """
    return Parser(text.strip(), FUNCTIONS | REDUCTIONS).formula()


class Composer:
    """Turns equations over known names into expressions.

    Parameters
    ----------
    algebra : Algebra
    known : mapping of str to Indexed
        What names stand for; read when an equation is composed, so it may grow in between.
    sizes : mapping of str to int
        Copies along each index.
    """

    def __init__(self, algebra: Algebra, known: Mapping[str, Indexed], sizes: Mapping[str, int]) -> None:
        self.algebra, self.known, self.sizes = algebra, known, sizes

    def compose(self, text: str, unit: str | None = None, over: str | None = None) -> Indexed:
        """What an equation stands for.

        Parameters
        ----------
        text : str
        unit : str, optional
            Of the result: it is converted; a result without unit takes it as its label.
        over : str, optional
            The index that is reduced over where a part has several.

        Raises
        ------
        FormulaError
            The text is no equation.
        UnknownNameError
            A name stands for nothing.
        DataError
            Units do not agree, a reducing function has nothing to reduce, or a number is not defined.
        """
        if over is not None and over not in self.sizes:
            raise UnknownNameError("index", over, self.sizes)
        return self.in_unit(self._of(parsed(text), over), unit)

    def in_unit(self, found: Indexed, unit: str | None) -> Indexed:
        """A quantity converted to a unit; one without unit takes it as its label.

        Raises
        ------
        DataError
            It is in a unit of another kind.
        """
        if unit is None:
            return found
        wanted = parse_unit(unit)
        if not found.unit.powers:
            return Indexed(found.text, found.cells, found.indices, wanted)
        if found.unit.kind != wanted.kind:
            raise DataError(f"the result is in {found.unit}, which cannot be converted to {wanted}")
        return converted(found, wanted, self.algebra)

    def _of(self, node: Node, over: str | None) -> Indexed:
        text = written(node)
        match node:
            case Number(value):
                return Indexed(text, {(): self.algebra.constant(value)})
            case Variable(name):
                try:
                    return self.known[name]
                except KeyError:
                    raise UnknownNameError("component or input", name, self.known) from None
            case Operation(rule, operands):
                parts = [self._of(operand, over) for operand in operands]
                if rule.symbol in REDUCTIONS:
                    return reduced(text, lambda group: self._over(rule.symbol, group), parts[0], over)
                try:
                    return self._operation(text, rule.symbol, rule.ufunc, parts, rule.level == COMPARISON)
                except DataError as error:
                    # The innermost operation is named: what it joins is what is wrong.
                    message = str(error)
                    raise DataError(message if message.startswith("'") else f"{text!r}: {message}") from None

    def _over(self, symbol: str, group: Sequence[Expression]) -> Expression:
        if symbol == "sum_over":
            return self.algebra.add(group)
        return self.algebra.extremum(_EXTREMA[symbol], group)

    def _operation(self, text: str, symbol: str, ufunc: str, parts: Sequence[Indexed], comparison: bool) -> Indexed:
        algebra = self.algebra
        if symbol in {"+", "-"}:
            parts, unit = aligned(symbol, parts, algebra)
            weights = (1.0, 1.0 if symbol == "+" else -1.0)[-len(parts) :]
            return joined(
                text,
                lambda *cells: algebra.add(algebra.scale(w, cell) for w, cell in zip(weights, cells, strict=True)),
                parts,
                self.sizes,
                unit,
            )
        if symbol in {"*", "/"}:
            power = 1 if symbol == "*" else -1
            unit = parts[0].unit.times(parts[1].unit.power(Fraction(power)))
            if not unit.kind.powers and unit.powers:  # MB/kB is a number
                parts = [converted(part, part.unit.kind, algebra) for part in parts]
                unit = PLAIN
            return joined(text, lambda a, b: algebra.product([(a, 1), (b, power)]), parts, self.sizes, unit)
        if symbol == "^":
            return self._power(text, *parts)
        if symbol in _EXTREMA:
            parts, unit = aligned(symbol, parts, algebra)
            largest = _EXTREMA[symbol]
            return joined(text, lambda *cells: algebra.extremum(largest, cells), parts, self.sizes, unit)
        if comparison:
            parts, _ = aligned(symbol, parts, algebra)
            unit = PLAIN
        elif symbol in _ROOTS:
            unit = parts[0].unit.power(_ROOTS[symbol])
        elif symbol in _KEEP_THE_UNIT:
            unit = parts[0].unit
        else:
            if symbol not in _LOGICAL:
                _need_numbers(symbol, parts)
            unit = PLAIN
        return joined(text, lambda *cells: algebra.call(ufunc, cells), parts, self.sizes, unit)

    def _power(self, text: str, base: Indexed, exponent: Indexed) -> Indexed:
        _need_numbers("an exponent", [exponent])
        unit: Unit = PLAIN
        if base.unit.powers:
            values = {cell.value for cell in exponent.cells.values() if isinstance(cell, Constant)}
            if len(values) != 1 or len(exponent.cells) != 1:
                raise DataError(f"{base.described}; only a number to which it is raised gives a unit")
            unit = base.unit.power(Fraction(values.pop()).limit_denominator(1000))
        return joined(text, self.algebra.power, [base, exponent], self.sizes, unit)


def _need_numbers(what: str, parts: Sequence[Indexed]) -> None:
    for part in parts:
        if part.unit.powers:
            raise DataError(
                f"{what} takes a number without unit, but {part.described}; divide by a quantity in {part.unit}"
            )
