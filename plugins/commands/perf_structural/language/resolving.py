"""Quantiles within an equation become the numbers that they are, before the equation is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from perf_formulas.parser import QUANTILE
from perf_structural.algebra import Algebra
from perf_structural.correlation import Pair
from perf_structural.evaluation import evaluate_expression
from perf_structural.expression import Call, Constant, Expression, Extremum, Leaf, Product, Sum, ordered, shown
from perf_structural.options import EvaluationOptions
from perf_structural.statistic import quantile_name
from perfcore.base.errors import OptionError
from perfcore.stochastic import StochasticValue


def resolved(
    roots: Sequence[Expression],
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    options: EvaluationOptions,
    executor: Executor | None = None,
) -> tuple[list[Expression], tuple[str, ...]]:
    """Expressions without quantiles, and a note for each quantile with its value."""
    nodes = _ordered_together(roots)
    if not any(isinstance(node, Call) and node.ufunc == QUANTILE for node in nodes):
        return list(roots), ()
    algebra, rebuilt, notes = Algebra(), dict[Expression, Expression](), []
    for node in nodes:
        operands = [rebuilt[operand] for operand in node.operands]
        if isinstance(node, Call) and node.ufunc == QUANTILE:
            number, note = _quantile(operands, values, correlations, options, executor)
            rebuilt[node] = algebra.constant(number)
            notes.append(note)
        else:
            rebuilt[node] = _again(algebra, node, operands)
    return [rebuilt[root] for root in roots], tuple(dict.fromkeys(filter(None, notes)))


def _quantile(
    operands: Sequence[Expression],
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    options: EvaluationOptions,
    executor: Executor | None,
) -> tuple[float, str]:
    operand, level = operands
    assert isinstance(level, Constant)
    if isinstance(operand, Constant):
        return operand.value, ""
    chosen = replace(options, quantile=(level.value,), below=None)
    evaluation = evaluate_expression(operand, values, correlations, chosen, executor=executor)
    name = quantile_name(level.value)
    if not evaluation.value.has_distribution:
        raise OptionError(f"{name}({shown(operand)}) is asked for of what has bounds and no distribution")
    number = evaluation.quantile(level.value)
    error = f" ± {evaluation.errors[name]:.2g}" if name in evaluation.errors else ""
    return number, f"{name}({shown(operand)}) is {number:.6g}{error}"


def _ordered_together(roots: Sequence[Expression]) -> list[Expression]:
    """All nodes below and with some, operands before those that use them."""
    nodes = {node for root in roots for node in ordered(root)}
    return sorted(nodes, key=lambda node: node.number)


def _again(algebra: Algebra, node: Expression, operands: Sequence[Expression]) -> Expression:
    """A node of another algebra, of operands that may have become numbers."""
    match node:
        case Constant():
            return algebra.constant(node.value)
        case Leaf():
            return algebra.leaf(node.name)
        case Sum():
            terms = (algebra.scale(weight, operand) for weight, operand in zip(node.weights, operands, strict=True))
            return algebra.add([*terms, algebra.constant(node.constant)])
        case Product():
            return algebra.scale(node.factor, algebra.product(zip(operands, node.powers, strict=True)))
        case Extremum():
            return algebra.extremum(node.largest, operands)
        case Call():
            return algebra.call(node.ufunc, operands)
    raise TypeError(node)
