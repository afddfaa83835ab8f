"""Evaluates an expression by the arithmetic of stochastic values, operation by operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perf_structural.expression import (
    SYMBOLS,
    Call,
    Constant,
    Expression,
    Extremum,
    Leaf,
    Product,
    Sum,
    ordered,
    repeated,
    shown,
)
from perfcore.hooks.options import describe
from perfcore.stochastic import (
    StochasticValue,
    absolute,
    add,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    performer_of,
    power,
    sqrt,
)


Quantity = StochasticValue | float

_FUNCTIONS: Mapping[str, Callable[..., StochasticValue]] = {
    "abs": absolute,
    "exp": exp,
    "log": log,
    "power": power,
    "sqrt": sqrt,
}


def why_not_exact(root: Expression) -> str | None:
    """The reason why arithmetic on independent values would not give the expression; None where it does."""
    twice = repeated(root)
    if twice:
        others = f", and so do {len(twice) - 1} others" if len(twice) > 1 else ""
        return f"{twice[0]!r} occurs more than once in {shown(root)}{others}"
    return without_arithmetic(root)


def without_arithmetic(root: Expression) -> str | None:
    """The operation for which stochastic values have no arithmetic, in words; None where there is none."""
    for node in ordered(root):
        if isinstance(node, Call) and node.ufunc not in _FUNCTIONS:
            return f"there is no exact arithmetic for {SYMBOLS[node.ufunc]!r} in {shown(root)}"
    return None


def arithmetic_value(root: Expression, values: Mapping[str, StochasticValue], bins: int) -> tuple[Quantity, float]:
    """The value of an expression, as if the operands of each operation were independent, and its error."""
    quantities: dict[Expression, Quantity] = {}
    errors: dict[Expression, float] = {}
    for node in ordered(root):
        quantities[node] = value = _value(node, [quantities[operand] for operand in node.operands], values, bins)
        brought = sum(errors[operand] for operand in node.operands)
        errors[node] = max(brought, value.cdf_error) if isinstance(value, StochasticValue) else brought
    return quantities[root], errors[root]


def _value(
    node: Expression, operands: Sequence[Quantity], values: Mapping[str, StochasticValue], bins: int
) -> Quantity:
    match node:
        case Constant():
            return node.value
        case Leaf():
            return values[node.name]
        case Sum():
            terms = [_scaled(weight, operand, bins) for weight, operand in zip(node.weights, operands, strict=True)]
            return _joined(add, [*terms, node.constant] if node.constant else terms, bins)
        case Product():
            return _quotient(node, operands, bins)
        case Extremum():
            return _joined(maximum if node.largest else minimum, operands, bins)
        case Call():
            return _applied(_FUNCTIONS[node.ufunc], operands, bins)
    raise TypeError(node)


def _quotient(node: Product, operands: Sequence[Quantity], bins: int) -> Quantity:
    """What has negative powers is multiplied up first: one division loses less than many."""
    above: list[Quantity] = []
    below: list[Quantity] = []
    for operand, exponent in zip(operands, node.powers, strict=True):
        factor = operand if abs(exponent) == 1 else _applied(power, [operand, abs(exponent)], bins)
        (above if exponent > 0 else below).append(factor)
    numerator = _scaled(node.factor, _joined(multiply, above, bins), bins) if above else node.factor
    return _applied(divide, [numerator, _joined(multiply, below, bins)], bins) if below else numerator


def _scaled(factor: float, quantity: Quantity, bins: int) -> Quantity:
    if abs(factor) != 1.0:
        return _applied(multiply, [factor, quantity], bins)
    return quantity if factor > 0.0 else -quantity


def _joined(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> Quantity:
    """An operation on any number of operands; on one it is that one."""
    return operands[0] if len(operands) == 1 else _applied(function, operands, bins)


def _applied(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> StochasticValue:
    stochastic = [operand for operand in operands if isinstance(operand, StochasticValue)]
    return function(*operands, **_options(performer_of(stochastic), bins))


@functools.cache
def _options(performer: type[StochasticValue], bins: int) -> dict[str, Any]:
    """The number of bins, for a representation whose arithmetic takes one."""
    return {"bins": bins} if any(field.name == "bins" for field in describe(performer.arithmetic())) else {}
