"""The nodes of a formula seen as a whole: a graph in which equal parts are the same node, made by an `Algebra`."""

from __future__ import annotations

from dataclasses import dataclass

from perf_formulas.parser import INFIX, PREFIX
from perf_structural.language.functions import EQUATION_FUNCTIONS

SYMBOLS = {
    rule.ufunc: symbol
    for table in (INFIX, PREFIX, EQUATION_FUNCTIONS)
    for symbol, rule in table.items()
    if symbol != "**"
}


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
    """Any other operation, named by the function that computes it (`perf_structural.language.functions.compute`)."""

    ufunc: str


def ordered(root: Expression) -> list[Expression]:
    """All nodes below and with ``root``, operands before those that use them."""
    nodes, open_nodes = {root}, [root]
    while open_nodes:
        for operand in open_nodes.pop().operands:
            if operand not in nodes:
                nodes.add(operand)
                open_nodes.append(operand)
    return sorted(nodes, key=lambda node: node.number)


def leaves(root: Expression) -> list[str]:
    """Names of the uncertain quantities, in order of creation."""
    return [node.name for node in ordered(root) if isinstance(node, Leaf)]


def repeated(root: Expression) -> list[str]:
    """Names of the uncertain quantities that are reached from the root in more than one way."""
    nodes = ordered(root)
    ways = dict.fromkeys(nodes, 0)
    ways[root] = 1
    for node in reversed(nodes):
        for operand in node.operands:
            ways[operand] = min(ways[operand] + ways[node], 2)
    return [node.name for node in nodes if isinstance(node, Leaf) and ways[node] > 1]


def shown(root: Expression, most: int = 100) -> str:
    """The expression as a formula, cut where it would be longer than a line."""
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
            terms = [_multiple(weight, part) for weight, part in zip(node.weights, parts, strict=False)]
            if node.constant:
                terms.append(f"{node.constant:g}")
            return " + ".join(terms).replace("+ -", "- ")
        case Product():
            return _fraction(node, parts)
        case Extremum():
            return f"{'max' if node.largest else 'min'}({', '.join(parts)})"
        case Call():
            symbol = SYMBOLS[node.ufunc]
            return f"({f' {symbol} '.join(parts)})" if symbol in INFIX else f"{symbol}({', '.join(parts)})"
    raise TypeError(node)


def _multiple(weight: float, part: str) -> str:
    if abs(weight) == 1.0:
        return part if weight > 0.0 else f"-{part}"
    return f"{weight:g}{part[1:]}" if part.startswith("1/") else f"{weight:g}*{part}"


def _fraction(node: Product, parts: list[str]) -> str:
    above = [f"{node.factor:g}"] if node.factor != 1.0 else []
    below: list[str] = []
    for operand, part, power in zip(node.operands, parts, node.powers, strict=False):
        base = f"({part})" if isinstance(operand, Sum) else part
        (above if power > 0 else below).append(base if abs(power) == 1 else f"{base}^{abs(power)}")
    return "/".join(["*".join(above) or "1", *below])
