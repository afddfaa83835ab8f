"""The tree that a formula becomes: numbers, variables, and the operations listed here; evaluated and written out.

numpy is imported when a tree is evaluated, not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "COMPARISON",
    "FUNCTIONS",
    "INFIX",
    "OR",
    "POWER",
    "PREFIX",
    "REDUCTIONS",
    "Node",
    "Number",
    "Operation",
    "Rule",
    "Variable",
    "replaced",
    "value_of",
    "variables",
    "written",
]

# How tightly an operation binds.
OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)


@dataclass(frozen=True)
class Rule:
    """An operation: its symbol, the numpy function that computes it, how it binds, how its operands must bind."""

    symbol: str
    ufunc: str
    level: int
    operands: tuple[int, ...]


def _rules(level: int, operands: tuple[int, ...], ufuncs: Mapping[str, str]) -> dict[str, Rule]:
    return {symbol: Rule(symbol, ufunc, level, operands) for symbol, ufunc in ufuncs.items()}


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
    **_rules(ATOM, (OR, OR), {"max": "maximum", "min": "minimum"}),
}
# Over the copies of what is replicated; only structural models have such, so only they ask for these.
REDUCTIONS = _rules(ATOM, (OR,), {"sum_over": "add", "max_over": "maximum", "min_over": "minimum"})


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


def value_of(node: Node, arrays: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """The tree at the values of its variables; warnings are the caller's."""
    import numpy as np

    match node:
        case Number(value):
            return np.asarray(value)
        case Variable(name):
            return arrays[name]
        case Operation(rule, operands):
            result = getattr(np, rule.ufunc)(*[value_of(operand, arrays) for operand in operands])
            # Comparisons give booleans, of which a sum would be an `or`.
            return np.asarray(result, dtype=np.float64)


def variables(node: Node) -> Iterator[str]:
    """Names in order of appearance, repeated as they are."""
    match node:
        case Variable(name):
            yield name
        case Operation(_, operands):
            for operand in operands:
                yield from variables(operand)


def replaced(node: Node, mapping: Mapping[str, Node]) -> Node:
    """The tree with variables replaced by trees, all at once."""
    match node:
        case Variable(name) if name in mapping:
            return mapping[name]
        case Operation(rule, operands):
            return Operation(rule, tuple(replaced(operand, mapping) for operand in operands))
        case _:
            return node


def written(node: Node) -> str:
    """The tree as text with the fewest parentheses."""
    match node:
        case Number(value):
            return repr(value).removesuffix(".0").replace("e+", "e")
        case Variable(name):
            return name
        case Operation(rule, operands):
            parts = []
            for operand, level in zip(operands, rule.operands, strict=True):
                loose = isinstance(operand, Operation) and operand.rule.level < level
                parts.append(f"({written(operand)})" if loose else written(operand))
            if rule.level == ATOM:
                return f"{rule.symbol}({', '.join(parts)})"
            space = "" if rule.level >= PRODUCT else " "
            return f"{space}{rule.symbol}{space}".join(parts) if len(parts) == 2 else f"{rule.symbol}{space}{parts[0]}"
