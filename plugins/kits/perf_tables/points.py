"""Where a model of codes on systems is asked to predict: columns checked, names turned into indices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing


@dataclass(frozen=True)
class Places:
    """Points at which to predict."""

    points: Mapping[str, Floats]  # parameters by symbol
    code: Ints  # index into the model's codes and systems
    system: Ints

    def __len__(self) -> int:
        return len(self.code)


def places(user_points: Any, columns: Mapping[str, str], codes: Sequence[str], systems: Sequence[str]) -> Places:
    """Points as a user gives them to a model of codes on systems; see `named_points`."""
    points, index = named_points(user_points, columns, {"code": codes, "system": systems})
    return Places(points, index["code"], index["system"])


def named_points(
    user_points: Any,
    columns: Mapping[str, str],
    known: Mapping[str, Sequence[str]],
    usual: str | None = None,
    signed: bool = False,
) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """Points as a user gives them."""
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


def by_symbol(user_points: Any, columns: Mapping[str, str], names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Columns of points under the symbols of a model's variables; values and lengths are not looked at."""
    named = {}
    for name, values in _as_columns(user_points, columns).items():
        symbols = [name] if name in columns else [symbol for symbol, column in columns.items() if column == name]
        if not symbols and name not in names:
            raise UnknownNameError("variable", str(name), [*columns, *names])
        named.update(dict.fromkeys(symbols or [name], np.atleast_1d(np.asarray(values))))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(columns)}; {symbol} is missing")
    return named


def of_one_length(named: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Columns whose single values are repeated as often as the others have values."""
    try:
        return dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None


def check_coverage(interval: float) -> None:
    """Refuse a coverage that is none."""
    if not 0.0 < interval < 1.0:
        raise OptionError(f"interval {interval}: the coverage must be above 0 and below 1, such as 0.95")


def _as_columns(user_points: Any, columns: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(user_points, Mapping):
        return user_points
    if hasattr(user_points, "columns"):  # a DataFrame
        return {str(name): user_points[name].to_numpy() for name in user_points.columns}
    if len(columns) > 1:
        raise OptionError(f"the model is one of {', '.join(columns)}; give a mapping with a column for each")
    return {next(iter(columns)): user_points}


def _numbers(symbol: str, values: npt.NDArray[Any], signed: bool) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        text = next(str(value) for value in values.ravel().tolist() if not _is_number(value))
        raise DataError(f"{symbol} must be numbers, not {text[:40]!r}") from None
    wrong = ~((numbers > (-np.inf if signed else 0.0)) & (numbers < np.inf))
    if wrong.any():
        expected = "a finite number" if signed else "a positive number"
        raise DataError(f"{symbol}={numbers[wrong][0]:g}: {expected} is expected")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _indices(variable: str, names: npt.NDArray[Any], known: Sequence[str]) -> Ints:
    order = {name: number for number, name in enumerate(known)}
    unique, inverse = np.unique(names.astype(np.str_), return_inverse=True)
    for name in unique:
        if str(name) not in order:
            raise UnknownNameError(variable, str(name), known)
    return np.array([order[str(name)] for name in unique], dtype=np.int64)[inverse.ravel()]
