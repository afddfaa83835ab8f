"""Where a model of codes on systems is asked to predict: columns checked, names turned into indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.errors import DataError, OptionError, UnknownNameError

__all__ = ["Places", "check_coverage", "places"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Places:
    """Points at which to predict.

    Parameters
    ----------
    points : mapping of str to (n,) float
        Parameters by symbol.
    code, system : (n,) int
        Index into the model's codes and systems.
    """

    points: Mapping[str, Floats]
    code: Ints
    system: Ints

    def __len__(self) -> int:
        return len(self.code)


def places(given: Any, columns: Mapping[str, str], codes: Sequence[str], systems: Sequence[str]) -> Places:
    """Points as a user gives them.

    Parameters
    ----------
    given : mapping or DataFrame of columns, or (n,) float
        A plain array is the first parameter of a model with one parameter, one code and one system. Single values
        hold for all points; code and system may be left out where there is only one.
    columns : mapping of str to str
        Parameters: symbol to the name in the data; either is accepted.
    codes, systems : sequence of str
        Names that the model knows.

    Raises
    ------
    UnknownNameError
        A column, a code or a system that the model does not have.
    OptionError
        A parameter, code or system is missing.
    DataError
        A parameter that is no positive number, or columns of different lengths.
    """
    table = _as_columns(given, columns)
    symbols = {**{column: symbol for symbol, column in columns.items()}, **{symbol: symbol for symbol in columns}}
    named = {}
    for name, values in table.items():
        if name not in symbols and name not in ("code", "system"):
            raise UnknownNameError("variable of the model", str(name), [*columns, "code", "system"])
        named[symbols.get(name, name)] = np.atleast_1d(np.asarray(values))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(columns)}; {symbol} is missing")
    for what, known in (("code", codes), ("system", systems)):
        if what not in named:
            if len(known) > 1:
                raise OptionError(f"name the {what}, one of {', '.join(known[:20])}")
            named[what] = np.array([known[0]])
    try:
        shaped = dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None
    return Places(
        {symbol: _positive(symbol, shaped[symbol]) for symbol in columns},
        _indices("code", shaped["code"], codes),
        _indices("system", shaped["system"], systems),
    )


def check_coverage(interval: float) -> None:
    """Refuse a coverage that is none.

    Raises
    ------
    OptionError
    """
    if not 0.0 < interval < 1.0:
        raise OptionError(f"interval {interval}: the coverage must be above 0 and below 1, such as 0.95")


def _as_columns(given: Any, columns: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "columns"):  # a DataFrame
        return {str(name): given[name].to_numpy() for name in given.columns}
    if len(columns) > 1:
        raise OptionError(f"the model is one of {', '.join(columns)}; give a mapping with a column for each")
    return {next(iter(columns)): given}


def _positive(symbol: str, values: npt.NDArray[Any]) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        met = next(str(value) for value in values.ravel().tolist() if not _is_number(value))
        raise DataError(f"{symbol} must be numbers, not {met[:40]!r}") from None
    wrong = ~((numbers > 0.0) & (numbers < np.inf))
    if wrong.any():
        raise DataError(f"{symbol}={numbers[wrong][0]:g}: a positive number is expected")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _indices(what: str, names: npt.NDArray[Any], known: Sequence[str]) -> Ints:
    order = {name: number for number, name in enumerate(known)}
    unique, inverse = np.unique(names.astype(np.str_), return_inverse=True)
    for name in unique:
        if str(name) not in order:
            raise UnknownNameError(what, str(name), known)
    return np.array([order[str(name)] for name in unique], dtype=np.int64)[inverse]
