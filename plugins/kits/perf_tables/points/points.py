"""Where a model of codes on systems is asked to predict: columns checked, names turned into indices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing

__all__ = ["Places", "by_symbol", "check_coverage", "named_points", "of_one_length", "places"]

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


def places(user_points: Any, columns: Mapping[str, str], codes: Sequence[str], systems: Sequence[str]) -> Places:
    """Points as a user gives them to a model of codes on systems; see `named_points`."""
    points, index = named_points(user_points, columns, {"code": codes, "system": systems})
    return Places(points, index["code"], index["system"])


def named_points(
    user_points: Any, columns: Mapping[str, str], known: Mapping[str, Sequence[str]], usual: str | None = None
) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """Points as a user gives them.

    Parameters
    ----------
    user_points : mapping or DataFrame of columns, or (n,) float
        A plain array is the first parameter of a model with one parameter. Single values hold for all points; what has
        only one name may be left out.
    columns : mapping of str to str
        Parameters: symbol to the name in the data; either is accepted.
    known : mapping of str to sequence of str
        Variables whose levels are names, and these.
    usual : str, optional
        The name that is meant where none is given.

    Returns
    -------
    points : dict of str to (n,) float
        By symbol.
    index : dict of str to (n,) int
        Number of each name.

    Raises
    ------
    UnknownNameError
        A column or a name that the model does not have.
    OptionError
        A parameter or a name is missing.
    DataError
        A parameter that is no positive number, or columns of different lengths.

    Examples
    --------
    >>> points, index = named_points({"P": [8, 16], "category": "b"}, {"P": "procs"}, {"category": ["a", "b"]})
    >>> points["P"], index["category"]
    (array([ 8., 16.]), array([1, 1]))
    """
    named = by_symbol(user_points, columns, known)
    for variable, names in known.items():
        if variable not in named:
            if len(names) > 1 and usual is None:
                raise OptionError(f"name the {variable}, as {variable}=NAME: {listing(names)}")
            named[variable] = np.array([usual or names[0]])
    shaped = of_one_length(named)
    return (
        {symbol: _positive(symbol, shaped[symbol]) for symbol in columns},
        {variable: _indices(variable, shaped[variable], names) for variable, names in known.items()},
    )


def by_symbol(user_points: Any, columns: Mapping[str, str], names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Columns of points under the symbols of a model's variables; values and lengths are not looked at.

    Parameters
    ----------
    user_points : mapping or DataFrame of columns, or (n,) float
        See `named_points`.
    columns : mapping of str to str
        Variables that are numbers: symbol to the name in the data. A name that several symbols have is each of them.
    names : collection of str
        Variables whose levels are names; they may be missing.

    Raises
    ------
    UnknownNameError
        A column that the model does not have.
    OptionError
        A number is missing.

    Examples
    --------
    >>> by_symbol({"procs": [8, 16]}, {"P": "procs"}, ())
    {'P': array([ 8, 16])}
    """
    named = {}
    for name, values in _as_columns(user_points, columns).items():
        symbols = [name] if name in columns else [symbol for symbol, column in columns.items() if column == name]
        if not symbols and name not in names:
            raise UnknownNameError("variable of the model", str(name), [*columns, *names])
        named.update(dict.fromkeys(symbols or [name], np.atleast_1d(np.asarray(values))))
    for symbol in columns:
        if symbol not in named:
            raise OptionError(f"the model is one of {', '.join(columns)}; {symbol} is missing")
    return named


def of_one_length(named: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Columns whose single values are repeated as often as the others have values.

    Raises
    ------
    DataError
        Two have different lengths.
    """
    try:
        return dict(zip(named, np.broadcast_arrays(*named.values()), strict=True))
    except ValueError:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in named.items())
        raise DataError(f"the points have columns of different lengths ({lengths})") from None


def check_coverage(interval: float) -> None:
    """Refuse a coverage that is none.

    Raises
    ------
    OptionError
    """
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


def _positive(symbol: str, values: npt.NDArray[Any]) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        text = next(str(value) for value in values.ravel().tolist() if not _is_number(value))
        raise DataError(f"{symbol} must be numbers, not {text[:40]!r}") from None
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


def _indices(variable: str, names: npt.NDArray[Any], known: Sequence[str]) -> Ints:
    order = {name: number for number, name in enumerate(known)}
    unique, inverse = np.unique(names.astype(np.str_), return_inverse=True)
    for name in unique:
        if str(name) not in order:
            raise UnknownNameError(variable, str(name), known)
    return np.array([order[str(name)] for name in unique], dtype=np.int64)[inverse.ravel()]
