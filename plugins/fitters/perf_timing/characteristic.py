"""Characteristic functions: functions of the parameters that are 1 or 0 where all parameters are 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perf_formulas.formula import find_function, renamed
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError
from perfcore.contracts import Function
from perfcore.data.columns import shown_names
from perfcore.data.observations import Observations

_FAR = 1e6  # where functions that differ in growth differ by far


@dataclass(frozen=True)
class Characteristic:
    """One function u of the parameters, normalised."""

    name: str  # as the user spells it, over parameters as texts call them
    function: Function
    scale: float  # value at 1, by which it is divided; 1 where that is 0 or not finite

    def __call__(self, points: Mapping[str, Floats]) -> Floats:
        """Values at points (n,); not finite where the function is not defined."""
        return self.function(points) / self.scale


def characteristics(names: Sequence[str], columns: Mapping[str, str]) -> tuple[Characteristic, ...]:
    """Functions by name or formula, normalised to u(1) = 1 or 0 (Strohmaier, section 2)."""
    own_names = shown_names(columns)
    ones = {symbol: np.ones(1) for symbol in columns}
    functions = []
    for name in names:
        function = find_function(name, tuple(columns), own_names)
        value = float(function(ones)[0])
        scale = value if np.isfinite(value) and value != 0.0 else 1.0
        functions.append(Characteristic(renamed(name, own_names), function, scale))
    return tuple(functions)


def refuse_unused(functions: Sequence[Characteristic], data: Observations) -> None:
    """Refuse data over a parameter that no function has: what differs by it would pass for error."""
    for symbol, column in data.points.items():
        if len(levels := np.unique(column)) < 2:
            continue
        constant = {other: np.full(len(levels), values[0]) for other, values in data.points.items()}
        varied = {**constant, symbol: levels}
        with np.errstate(all="ignore"):
            is_used = any(not np.array_equal(each(varied), each(constant), equal_nan=True) for each in functions)
        if not is_used:
            name = data.columns[symbol]
            raise OptionError(
                f"{data.source}: {name} was varied, {levels[0]:g} to {levels[-1]:g}, and no function has it; add "
                f"functions of it, such as --function {name}, or take one level, such as --where {name}={levels[-1]:g}"
            )


def by_growth(functions: Sequence[Characteristic], variables: Sequence[str]) -> tuple[Characteristic, ...]:
    """From the one that falls fastest to the one that grows fastest, the order of equation 3."""
    far = {name: np.full(1, _FAR) for name in variables}
    return tuple(sorted(functions, key=lambda function: float(np.nan_to_num(function(far)[0], nan=np.inf))))


def design(functions: Sequence[Characteristic], points: Mapping[str, Floats]) -> Floats:
    """Values of the functions at the points, (n, number of functions)."""
    length = len(next(iter(points.values())))
    return np.column_stack([function(points) for function in functions]) if functions else np.empty((length, 0))


def measured_design(functions: Sequence[Characteristic], data: Observations) -> Floats:
    """Values of the functions at the measured points."""
    values = design(functions, data.points)
    wrong = ~np.isfinite(values)
    if wrong.any():
        k, which = (int(number) for number in np.argwhere(wrong)[0])
        raise OptionError(
            f"function {functions[which].name!r} is {values[k, which]} at {data.describe(k)}; leave it out, or leave "
            "such points out with --where"
        )
    return values
