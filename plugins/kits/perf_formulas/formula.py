"""Formulas that a user types, such as ``p^(2/3)*log2(p)`` or ``idle > 0 and waiting == 0``, and functions.

A text becomes a tree of numbers, variables and the operations of `perf_formulas.parser`, and nothing else: there is no
way from a formula to Python. Of formulas with coefficients also the derivatives by these are known.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_formulas.parser import (
    INFIX,
    MAX_LENGTH,
    SPACE,
    FormulaError,
    Node,
    Number,
    Operation,
    Parser,
    Variable,
    excerpt,
    fail,
    folded,
    replaced,
    value_of,
    variables,
    written,
)
from perfcore.base.errors import DataError, InputError, OptionError, PerfError, UnknownNameError, listing
from perfcore.contracts import FormulaFunction, Function
from perfcore.hooks.registry import registry

if TYPE_CHECKING:
    import numpy.typing as npt

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


def read_toml(path: str | os.PathLike[str], hint: str = "") -> dict[str, Any]:
    """Return what a TOML file holds."""
    import tomllib  # most commands read none

    try:
        text = Path(path).read_text(encoding="utf-8")
        if re.search(r"(?:[\w-]{1,40}\.){100}", text):  # which takes tomllib minutes
            raise RecursionError("a key has more than 100 parts")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(path, "; ".join(filter(None, ["there is no such file", hint]))) from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"not TOML: {error}") from None


def sum_of_terms(coefficients: Sequence[float], functions: Sequence[str], digits: int = 6) -> str:
    """Return a linear combination with its coefficients."""
    text = ""
    for coefficient, function in zip(coefficients, functions, strict=True):
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        text += f"{sign}{abs(coefficient):.{digits}g}" + ("" if function == "1" else f" {function}")
    return text or "0"


@dataclass(frozen=True, repr=False)
class Formula:
    """A formula in named variables; equal to another if both have the same canonical text."""

    text: str = field(compare=False)  # as given, without surrounding space
    canonical: str = field(init=False)  # written with the fewest parentheses; ``Formula(canonical)`` is this formula
    names: tuple[str, ...] = field(init=False, compare=False)  # variables in order of first appearance
    tree: Node = field(init=False, compare=False)  # see `perf_formulas.parser`

    def __post_init__(self) -> None:
        text = self.text.strip(SPACE)
        tree = Parser(text).formula()
        canonical = written(tree)
        if len(canonical) > MAX_LENGTH:
            fail(text, 0, f"written out it has {len(canonical):,} characters; at most {MAX_LENGTH:,} are accepted")
        values = {"text": text, "canonical": canonical, "names": tuple(dict.fromkeys(variables(tree))), "tree": tree}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return self.canonical

    def __repr__(self) -> str:
        return f"Formula({self.canonical!r})"

    def evaluate(self, values: Mapping[str, npt.ArrayLike]) -> Floats:
        """Return values of the formula, point by point."""
        import numpy as np

        for name in self.names:
            if name not in values:
                raise UnknownNameError("variable of the formula", name, map(str, values))
        shapes = [np.shape(array) for array in values.values()]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            shapes_text = ", ".join(map(str, dict.fromkeys(shapes)))
            problem = f"the shapes of the values, {shapes_text}, do not broadcast"
            raise DataError(f"formula {excerpt(self.text, 0)}: {problem}") from None
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        with np.errstate(all="ignore"):
            # A copy: the formula `p` must not hand out the array that it was given.
            return np.array(np.broadcast_to(value_of(self.tree, arrays), shape))

    __call__ = evaluate

    def substituted(self, mapping: Mapping[str, Formula]) -> Formula:
        """Return the formula with variables replaced by formulas, all at once."""
        return Formula(written(replaced(self.tree, {name: formula.tree for name, formula in mapping.items()})))


def split_formulas(text: str) -> list[str]:
    """Split a list of formulas at the commas outside parentheses, without checking them."""
    parts, begin, depth = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(depth - 1, 0)
        elif character == "," and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [part.strip(SPACE) for part in (*parts, text[begin:])]


parsed = functools.lru_cache(Formula)


def functions_of(variables: Collection[str], *, constant: bool = False) -> tuple[str, ...]:
    """Return names of the registered functions of no other variables, in order of registration by name."""
    names = []
    for name, entry in registry().entries("functions").items():
        try:
            needed = entry.load().variables
        except PerfError:  # one that lacks its library must not hide the others
            continue
        if set(needed) <= set(variables) and (needed or constant):
            names.append(name)
    return tuple(names)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a function in other names of its variables; one without them, or that is no formula, as it is."""
    new = {name: Formula(other) for name, other in names.items() if name != other}
    try:
        formula = Formula(text)
        return formula.substituted(new).canonical if new.keys() & set(formula.names) else text
    except FormulaError:
        return text


def find_function(text: str, variables: Collection[str], own_names: Mapping[str, str] | None = None) -> Function:
    """Return a function by its registered name, or one that is the formula typed."""
    own_names = dict(own_names or {})
    text = renamed(text.strip(), {own: variable for variable, own in own_names.items()})
    if text in registry().entries("functions"):
        function: Function = registry().load("functions", text)()
    else:
        try:
            formula = Formula(text)
            facts = {"name": formula.canonical, "formula": formula.canonical, "variables": formula.names}
            function = type("Typed", (FormulaFunction,), facts)()
        except FormulaError as error:
            raise OptionError(
                f"{error}; or the name of a function: {listing(functions_of(variables, constant=True))}"
            ) from None
    registered = functions_of(variables, constant=True)
    if function.variables == (text,) and text not in (*variables, *registered):
        names = dict.fromkeys((*registered, *(own_names.get(name, name) for name in variables)))
        raise UnknownNameError("function", text, names)
    unknown = [name for name in function.variables if name not in variables]
    if unknown:
        called = [own_names.get(name, name) for name in variables]
        raise OptionError(
            f"function {renamed(text, own_names)!r} depends on {unknown[0]!r}; the data have {listing(called)}"
        )
    return function


def derivative(root: Node, name: str) -> Node | None:
    """Return the derivative of a tree by a variable; None if the tree does not contain it."""

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
            terms.append(functools.reduce(lambda left, right: Operation(INFIX["*"], (left, right)), factors or [slope]))
        return functools.reduce(lambda left, right: Operation(INFIX["+"], (left, right)), terms) if terms else None

    return folded(root, by_rule)


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
        """Return coefficients that keep the formula from being linear in those that are not fixed; empty if it is."""
        inside = {n: set(variables(slope)) if slope else set() for n, slope in self._slopes.items() if n not in fixed}
        met = set[str]().union(*inside.values())
        return [n for n in inside if n in inside[n]] or [n for n in inside if n in met][:1]

    def at(self, points: Mapping[str, Any], values: Sequence[float] | Floats) -> tuple[Floats, Floats]:
        """Return values (n,) at points (n,) for values of the coefficients (k,), and derivatives (n, k)."""
        import numpy as np

        value, *slopes = self._evaluated(points, values)
        return value.copy(), np.stack(slopes, axis=-1)

    def value_at(self, points: Mapping[str, Any], values: Sequence[float] | Floats) -> Floats:
        """Return the values of `at` alone, which takes a fraction of the memory."""
        return next(self._evaluated(points, values)).copy()

    def _evaluated(self, points: Mapping[str, Any], values: Sequence[float] | Floats) -> Iterator[Floats]:
        import numpy as np

        arrays = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in points.items()}
        arrays |= {name: registry().load("functions", name)()(arrays) for name in self.functions}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        arrays |= dict(zip(self.coefficients, np.asarray(values, dtype=np.float64), strict=True))
        for tree in (self.formula.tree, *(slope or Number(0.0) for slope in self._slopes.values())):
            with np.errstate(all="ignore"):
                column = value_of(tree, arrays)
            yield np.broadcast_to(column, shape)
