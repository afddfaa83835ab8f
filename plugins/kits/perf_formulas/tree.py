"""The tree that a formula becomes: numbers, variables, and the operations listed here; evaluated and written out.

numpy is imported when a tree is evaluated, not before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


# How tightly an operation binds.
OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)


@dataclass(frozen=True)
class Rule:
    """An operation: its symbol, the function that computes it, how it binds, how its operands must bind."""

    symbol: str
    ufunc: str  # the numpy function
    level: int
    operands: tuple[int, ...]  # one for each operand that must be there; those that may follow bind like the last
    most: int | None  # how many operands there may be at most; None where there may be any number

    @property
    def arity(self) -> str:
        """How many arguments it takes, in words."""
        least = _COUNTS[len(self.operands)]
        if self.most is None:
            return f"{least} arguments or more"
        if self.most > len(self.operands):
            return f"{least} to {_COUNTS[self.most]} arguments"
        return f"{least} argument{'s' if self.most > 1 else ''}"


_COUNTS = ("no", "one", "two", "three", "four", "five")


def _rules(level: int, operands: tuple[int, ...], ufuncs: Mapping[str, str], most: int | None = 0) -> dict[str, Rule]:
    most = len(operands) if most == 0 else most
    return {symbol: Rule(symbol, ufunc, level, operands, most) for symbol, ufunc in ufuncs.items()}


_ONE_ARGUMENT = ("abs", "cbrt", "ceil", "exp", "floor", "log", "log10", "log2", "sqrt")
INFIX = {
    **_rules(OR, (OR, AND), {"or": "logical_or"}),
    **_rules(AND, (AND, NOT), {"and": "logical_and"}),
    **_rules(COMPARISON, (SUM, SUM), {"<": "less", "<=": "less_equal", "==": "equal"}),
    **_rules(COMPARISON, (SUM, SUM), {">": "greater", ">=": "greater_equal", "!=": "not_equal"}),
    **_rules(SUM, (SUM, PRODUCT), {"+": "add", "-": "subtract"}),
    **_rules(PRODUCT, (PRODUCT, SIGN), {"*": "multiply", "/": "divide", "%": "mod"}),
    **_rules(POWER, (ATOM, SIGN), {"^": "power"}),
}
INFIX["**"] = INFIX["^"]
PREFIX = {
    **_rules(NOT, (NOT,), {"not": "logical_not"}),
    **_rules(SIGN, (SIGN,), {"-": "negative", "+": "positive"}),
}
FUNCTIONS = {
    **_rules(ATOM, (OR,), {name: name for name in _ONE_ARGUMENT}),
    **_rules(ATOM, (OR, OR), {"max": "maximum", "min": "minimum"}, most=None),
    **_rules(ATOM, (OR, OR, OR), {"if": "where"}),
}


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Variable:
    """A name."""

    name: str


@dataclass(frozen=True)
class Operation:
    """A rule applied to operands."""

    rule: Rule
    operands: tuple[Node, ...]


Node = Number | Variable | Operation


_Found = TypeVar("_Found")


def folded(root: Node, combine: Callable[[Node, list[_Found]], _Found]) -> _Found:
    """What a function makes of a tree, from the leaves up; a sum of thousands of terms is as deep, so nothing
    recurses.
    """
    results: list[_Found] = []
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        operands = node.operands if isinstance(node, Operation) else ()
        if operands and not ready:
            waiting.append((node, True))
            waiting += [(operand, False) for operand in reversed(operands)]
            continue
        below = results[len(results) - len(operands) :]
        del results[len(results) - len(operands) :]
        results.append(combine(node, below))
    return results.pop()


def value_of(node: Node, arrays: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """The tree at the values of its variables; warnings are the caller's."""
    import numpy as np

    def value(node: Node, operands: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        match node:
            case Number(value):
                return np.asarray(value)
            case Variable(name):
                return arrays[name]
        function = getattr(np, node.rule.ufunc)
        result = functools.reduce(function, operands) if node.rule.most is None else function(*operands)
        # Comparisons give booleans, of which a sum would be an `or`.
        return np.asarray(result, dtype=np.float64)

    return folded(node, value)


def variables(node: Node) -> Iterator[str]:
    """Names in order of appearance, repeated as they are."""
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Variable(name):
                yield name
            case Operation(_, operands):
                waiting += reversed(operands)


def replaced(node: Node, mapping: Mapping[str, Node]) -> Node:
    """The tree with variables replaced by trees, all at once."""

    def replacement(node: Node, operands: list[Node]) -> Node:
        match node:
            case Variable(name) if name in mapping:
                return mapping[name]
            case Operation(rule, _):
                return Operation(rule, tuple(operands))
        return node

    return folded(node, replacement)


def written(node: Node) -> str:
    """The tree as text with the fewest parentheses."""
    return folded(node, assembled)


def assembled(node: Node, operands: Sequence[str]) -> str:
    """A node as text with the fewest parentheses, from the texts of its operands."""
    match node:
        case Number(value):
            return repr(value).removesuffix(".0").replace("e+", "e")
        case Variable(name):
            return name
    rule, parts = node.rule, []
    for number, (operand, text) in enumerate(zip(node.operands, operands, strict=True)):
        level = rule.operands[min(number, len(rule.operands) - 1)]
        loose = isinstance(operand, Operation) and operand.rule.level < level
        parts.append(f"({text})" if loose else text)
    if rule.level == ATOM:
        return f"{rule.symbol}({', '.join(parts)})"
    space = "" if rule.level >= PRODUCT else " "
    return f"{space}{rule.symbol}{space}".join(parts) if len(parts) > 1 else f"{rule.symbol}{space}{parts[0]}"
