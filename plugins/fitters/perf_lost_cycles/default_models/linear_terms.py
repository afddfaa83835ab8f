"""Formulas that are linear in their coefficients, taken apart: what each coefficient multiplies."""

from __future__ import annotations

from collections.abc import Collection

from perf_formulas.formula import Formula
from perf_formulas.parser import (
    INFIX,
    PREFIX,
    FormulaError,
    Node,
    Number,
    Operation,
    Parser,
    Variable,
    replaced,
    variables,
    written,
)
from perfcore.base.errors import listing

# What coefficients multiply, by coefficient; under the empty name the part without one.
_Linear = dict[str, Node]

_ONE = Number(1.0)


def linear_terms(text: str, factor: Collection[str], variable: str) -> dict[str, str]:
    """What each coefficient of a formula multiplies."""
    formula = Formula(text)
    called = {name.casefold() for name in factor}
    names = {name: Variable(variable) for name in formula.names if name.casefold() in called}
    tree = replaced(Parser(formula.text).formula(), names)
    coefficients = [name for name in formula.names if name not in names]
    title = f"default model {formula.canonical!r}"
    if not coefficients:
        raise FormulaError(f"{title} has no coefficient; write for example a*{variable} + b")
    parts = _expanded(tree, frozenset(coefficients), title)
    left = parts.pop("", None)
    if left is not None:
        raise FormulaError(f"{title}: the term {written(left)!r} has no coefficient; give it one, as in a*{variable}")
    empty = [name for name in coefficients if name not in parts]
    if empty:
        raise FormulaError(f"{title}: coefficient {empty[0]!r} cancels out")
    return {name: Formula(written(parts[name])).canonical for name in coefficients}


def formula_over(text: str, terms: Collection[str], variable: str, name: str) -> str:
    """A formula with its factor by another name."""
    formula = Formula(text)
    for factor in formula.names:
        try:
            is_factor = list(linear_terms(text, [factor], variable).values()) == list(terms)
        except FormulaError:
            continue
        if is_factor and name not in set(formula.names) - {factor}:
            return formula.substituted({factor: Formula(name)}).canonical
    return text


def _expanded(node: Node, coefficients: frozenset[str], title: str) -> _Linear:
    """The tree as a sum of parts, by structure; raises where a coefficient is not a factor of a term."""
    if not coefficients.intersection(variables(node)):
        return {} if node == Number(0.0) else {"": node}
    match node:
        case Variable(name):
            return {name: _ONE}
        case Operation(rule, (operand,)) if rule is PREFIX["-"]:
            parts = _expanded(operand, coefficients, title)
            return {name: Operation(rule, (part,)) for name, part in parts.items()}
        case Operation(rule, (left, right)) if rule in (INFIX["+"], INFIX["-"]):
            return _added(_expanded(left, coefficients, title), _expanded(right, coefficients, title), rule.symbol)
        case Operation(rule, (left, right)) if rule is INFIX["*"]:
            first, second = (_expanded(operand, coefficients, title) for operand in (left, right))
            if not first or not second:  # times 0
                return {}
            if set(first) == {""}:
                return {name: _product(first[""], part) for name, part in second.items()}
            if set(second) == {""}:
                return {name: _product(part, second[""]) for name, part in first.items()}
        case Operation(rule, (left, right)) if rule is INFIX["/"] and not coefficients.intersection(variables(right)):
            return {name: Operation(rule, (part, right)) for name, part in _expanded(left, coefficients, title).items()}
    names = [name for name in dict.fromkeys(variables(node)) if name in coefficients]
    raise FormulaError(
        f"{title} is not linear in {listing(names)}, see {written(node)!r}; every name that is not the factor's is a "
        "coefficient, which may only multiply a term, as in a + b*x^2"
    )


def _added(first: _Linear, second: _Linear, sign: str) -> _Linear:
    total = dict(first)
    for name, part in second.items():
        if name in total:
            total[name] = Operation(INFIX[sign], (total[name], part))
        else:
            total[name] = Operation(PREFIX["-"], (part,)) if sign == "-" else part
    return total


def _product(left: Node, right: Node) -> Node:
    if left == _ONE:
        return right
    return left if right == _ONE else Operation(INFIX["*"], (left, right))
