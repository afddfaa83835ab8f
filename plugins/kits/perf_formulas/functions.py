"""Functions from which models are built: registered ones by name, and any other as a formula."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from perf_formulas.formula import Formula
from perf_formulas.parser import FormulaError
from perfcore.base.errors import OptionError, PerfError, UnknownNameError, listing
from perfcore.hooks.registry import registry
from perfcore.models.function import Function

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class FormulaFunction(Function):
    """A function that its formula computes: a subclass gives `name`, `formula` and `variables`, and is complete."""

    def __call__(self, points: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Values of the formula at points; arguments and result as of `Function`."""
        return _parsed(self.formula).evaluate(points)


_parsed = functools.lru_cache(Formula)


def functions_of(variables: Collection[str], *, constant: bool = False) -> tuple[str, ...]:
    """Names of the registered functions of no other variables, in order of registration by name."""
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
    """A function in other names of its variables; one without them, or whose name is no formula, stays as it is."""
    new = {name: Formula(other) for name, other in names.items() if name != other}
    try:
        formula = Formula(text)
        return formula.substituted(new).canonical if new.keys() & set(formula.names) else text
    except FormulaError:
        return text


def find_function(text: str, variables: Collection[str], own_names: Mapping[str, str] | None = None) -> Function:
    """A function by its registered name, or one that is the formula typed."""
    own_names = dict(own_names or {})
    text = renamed(text.strip(), {own: variable for variable, own in own_names.items()})
    if text in registry().entries("functions"):
        function: Function = registry().load("functions", text)()
    else:
        try:
            function = _of_formula(Formula(text))
        except FormulaError as error:
            raise OptionError(
                f"{error}; or the name of a function: {listing(functions_of(variables, constant=True))}"
            ) from None
    registered = functions_of(variables, constant=True)
    if function.variables == (text,) and text not in (*variables, *registered):
        raise UnknownNameError("function", text, (*registered, *(own_names.get(name, name) for name in variables)))
    unknown = [name for name in function.variables if name not in variables]
    if unknown:
        called = [own_names.get(name, name) for name in variables]
        raise OptionError(
            f"function {renamed(text, own_names)!r} is one of {unknown[0]!r}; the data have {listing(called)}"
        )
    return function


def _of_formula(formula: Formula) -> Function:
    class Typed(FormulaFunction):
        name = formula.canonical

    Typed.formula, Typed.variables = formula.canonical, formula.names
    return Typed()
