"""Formulas with coefficients: values and derivatives by the coefficients, and whether they are linear in them."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perf_formulas.formula import Formula
from perf_formulas.parser import (
    INFIX,
    FormulaError,
    Node,
    Number,
    Operation,
    Parser,
    Variable,
    folded,
    replaced,
    value_of,
    variables,
    written,
)
from perfcore.hooks.registry import registry

if TYPE_CHECKING:
    from perfcore.base.arrays import Floats

# Partial derivatives of each operation by its operands x, y, z.
_PARTIALS: dict[tuple[str, int], tuple[str, ...]] = {
    ("+", 2): ("1", "1"),
    ("-", 2): ("1", "-1"),
    ("-", 1): ("-1",),
    ("*", 2): ("y", "x"),
    ("/", 2): ("1/y", "-x/y^2"),
    ("^", 2): ("y*x^(y - 1)", "x^y*log(x)"),
    ("exp", 1): ("exp(x)",),
    ("log", 1): ("1/x",),
    ("log2", 1): (f"{1 / math.log(2)!r}/x",),
    ("log10", 1): (f"{1 / math.log(10)!r}/x",),
    ("sqrt", 1): ("0.5/sqrt(x)",),
    ("cbrt", 1): ("1/(3*cbrt(x)^2)",),
    ("abs", 1): ("if(x < 0, -1, 1)",),
    ("if", 3): ("", "if(x, 1, 0)", "if(x, 0, 1)"),
}


def derivative(root: Node, name: str) -> Node | None:
    """The derivative of a tree by a variable; None where the tree does not contain it."""

    def by_rule(node: Node, inner: list[Node | None]) -> Node | None:
        if not isinstance(node, Operation):
            return Number(1.0) if node == Variable(name) else None
        terms: list[Node] = []
        for number, slope in enumerate(inner):
            if slope is None:
                continue
            partials = _PARTIALS.get(("^" if node.rule.symbol == "**" else node.rule.symbol, len(inner)))
            if partials is None or not partials[number]:
                raise FormulaError(f"{written(node)!r} has no derivative; coefficient {name} cannot stand in it")
            outer = replaced(Parser(partials[number]).formula(), dict(zip("xyz", node.operands, strict=False)))
            factors = [factor for factor in (outer, slope) if factor != Number(1.0)]
            terms.append(functools.reduce(_product, factors) if factors else slope)
        return functools.reduce(_sum, terms) if terms else None

    return folded(root, by_rule)


def _product(left: Node, right: Node) -> Node:
    return Operation(INFIX["*"], (left, right))


def _sum(left: Node, right: Node) -> Node:
    return Operation(INFIX["+"], (left, right))


class ParametricFormula:
    """A formula in variables, registered functions of these, and coefficients.

    Examples
    --------
    >>> formula = ParametricFormula("a + b*exp(-c*p)", ("a", "b", "c"))
    >>> formula.nonlinear(), formula.nonlinear(fixed={"c"})
    (['c'], [])
    >>> [values.tolist() for values in formula.at({"p": [0.0]}, [1.0, 2.0, 3.0])]
    [[3.0], [[1.0, 1.0, -0.0]]]
    """

    def __init__(self, text: str, coefficients: Sequence[str], functions: Sequence[str] = ()) -> None:
        self.formula, self.coefficients, self.functions = Formula(text), tuple(coefficients), tuple(functions)
        self._slopes = {name: derivative(self.formula.tree, name) for name in coefficients}

    def nonlinear(self, fixed: Collection[str] = ()) -> list[str]:
        """Coefficients that keep the formula from being linear in those that are not fixed; empty where it is."""
        inside = {n: set(variables(slope)) if slope else set() for n, slope in self._slopes.items() if n not in fixed}
        return [n for n in inside if n in inside[n]] or [n for n in inside if any(n in met for met in inside.values())][
            :1
        ]

    def at(self, points: Mapping[str, Any], values: Sequence[float] | Floats) -> tuple[Floats, Floats]:
        """Values (n,) at points (n,) for values of the coefficients (k,), and derivatives (n, k)."""
        import numpy as np

        arrays = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in points.items()}
        arrays |= {name: registry().load("functions", name)()(arrays) for name in self.functions}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        arrays |= dict(zip(self.coefficients, np.asarray(values, dtype=np.float64), strict=True))
        trees = [self.formula.tree, *(slope or Number(0.0) for slope in self._slopes.values())]
        with np.errstate(all="ignore"):
            value, *slopes = (np.broadcast_to(value_of(tree, arrays), shape) for tree in trees)
        return np.array(value), np.stack(slopes, axis=-1)
