"""Where a model of codes on systems is asked to predict: columns checked, names turned into indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.selection import is_number
from perfcore.models.points import by_symbol, of_one_length


@dataclass(frozen=True)
class Places:
    """Points at which to predict."""

    points: Mapping[str, Floats]  # parameters by symbol
    code: Ints  # index into the model's codes and systems
    system: Ints

    def __len__(self) -> int:
        return len(self.code)


def places(user_points: Any, columns: Mapping[str, str], codes: Sequence[str], systems: Sequence[str]) -> Places:
    """Return points as a user gives them to a model of codes on systems; see `named_points`."""
    points, index = named_points(user_points, columns, {"code": codes, "system": systems})
    return Places(points, index["code"], index["system"])


def named_points(
    user_points: Any,
    columns: Mapping[str, str],
    known: Mapping[str, Sequence[str]],
    usual: str | None = None,
    signed: bool = False,
) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """Return points as a user gives them."""
    named = by_symbol(user_points, columns, known)
    for variable, names in known.items():
        if variable not in named:
            if len(names) > 1 and usual is None:
                raise OptionError(f"name the {variable}, as {variable}=NAME: {listing(names)}")
            named[variable] = np.array([usual or names[0]])
    shaped = of_one_length(named)
    return (
        {symbol: _numbers(symbol, shaped[symbol], signed) for symbol in columns},
        {variable: _indices(variable, shaped[variable], names) for variable, names in known.items()},
    )


def _numbers(symbol: str, values: npt.NDArray[Any], signed: bool) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        text = next(text for text in map(str, values.ravel().tolist()) if not is_number(text))
        raise DataError(f"{symbol} must be numbers, not {text[:40]!r}") from None
    wrong = ~((numbers > (-np.inf if signed else 0.0)) & (numbers < np.inf))
    if wrong.any():
        expected = "a finite number" if signed else "a positive number"
        raise DataError(f"{symbol}={numbers[wrong][0]:g}: {expected} is expected")
    return numbers


def _indices(variable: str, names: npt.NDArray[Any], known: Sequence[str]) -> Ints:
    order = {name: number for number, name in enumerate(known)}
    unique, inverse = np.unique(names.astype(np.str_), return_inverse=True)
    for name in unique:
        if str(name) not in order:
            raise UnknownNameError(variable, str(name), known)
    return np.array([order[str(name)] for name in unique], dtype=np.int64)[inverse.ravel()]


def describe_outside(
    points: Mapping[str, Floats], ranges: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]], names: Mapping[str, str]
) -> list[str]:
    """Say of each point (n,) which parameters are outside of their ranges, of all or of each (n,); empty if none is."""
    outside: list[list[str]] = [[] for _ in range(len(next(iter(points.values()))))]
    for symbol, values in points.items():
        low, high = (np.broadcast_to(end, values.shape) for end in ranges[symbol])
        for place in np.flatnonzero((values < low) | (values > high)).tolist():
            outside[place].append(f"{names[symbol]} was {low[place]:g} to {high[place]:g}")
    return [f"extrapolated: {', '.join(texts)}" if texts else "" for texts in outside]
