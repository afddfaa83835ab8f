"""Expressions in which models are composed: what may stand in them, their units, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perf_formulas.formula import Formula
from perf_formulas.tree import Node, Number, Operation, Variable, written
from perfcore.base.errors import OptionError


_OPERATIONS = ("+", "*", "/", "max")


def check_expression(formula: Formula, names: Sequence[str]) -> None:
    """Refuse an expression that no operators make."""
    if set(formula.names) != set(names):
        raise OptionError(
            f"the expression {formula} is of {', '.join(formula.names) or 'no component'}; the components are "
            f"{', '.join(names) or 'none'}"
        )
    _check(formula.tree)


def _check(node: Node) -> None:
    if not isinstance(node, Operation):
        return
    symbol, operands = node.rule.symbol, node.operands
    if symbol not in _OPERATIONS:
        raise OptionError(f"models are composed by {', '.join(_OPERATIONS)}, not by {symbol!r}")
    if symbol == "/" and not (isinstance(operands[1], Number) and operands[1].value > 0.0):
        raise OptionError("models are divided by positive numbers only")
    for operand in operands:
        _check(operand)


def is_linear(formula: Formula) -> bool:
    """Whether no component is multiplied by a component."""
    return _is_linear(formula.tree)


def _is_linear(node: Node) -> bool:
    if not isinstance(node, Operation):
        return True
    if node.rule.symbol == "*" and all(_has_component(operand) for operand in node.operands):
        return False
    return all(map(_is_linear, node.operands))


def _has_component(node: Node) -> bool:
    return isinstance(node, Variable) or (isinstance(node, Operation) and any(map(_has_component, node.operands)))


def unit_of(formula: Formula, units: Mapping[str, str | None]) -> str | None:
    """Unit of an expression: the common one of a sum or maximum, the product of those of factors."""
    return _unit(formula.tree, units)


def _unit(node: Node, units: Mapping[str, str | None]) -> str | None:
    if isinstance(node, Variable):
        return units[node.name] or None
    if not isinstance(node, Operation):
        return None
    parts = [(operand, _unit(operand, units)) for operand in node.operands if _has_component(operand)]
    operands = [(operand, unit) for operand, unit in parts if unit is not None]
    if node.rule.symbol in ("*", "/"):
        # Of an unknown factor the product is unknown; the order of factors does not matter.
        return (
            "*".join(sorted("*".join(unit for _, unit in operands).split("*"))) if len(operands) == len(parts) else None
        )
    for operand, unit in operands[1:]:
        if unit != operands[0][1]:
            raise OptionError(
                f"{written(operands[0][0])} is in {operands[0][1]} and {written(operand)} in {unit}: parts of a sum or "
                "maximum must have one unit"
            )
    return operands[0][1] if operands else None
