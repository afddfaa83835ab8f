"""Functions of the copies of what is replicated, point by point: of the first few, the k-th smallest, one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]


def whole(name: str, numbers: npt.ArrayLike, least: int, most: float) -> Floats:
    """Numbers rounded to whole ones."""
    return within(name, np.rint(np.asarray(numbers, dtype=np.float64)), least, most)


def within(name: str, numbers: npt.ArrayLike, least: float, most: float = np.inf) -> Floats:
    """Numbers that are none less than the least, and none more than the most that is accepted."""
    values = np.asarray(numbers, dtype=np.float64)
    if not np.all((values >= least) & (values <= most)):  # NaN is neither
        low, high = float(values.min()), float(values.max())
        span = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        accepted = f"at least {least:.0f}" if most == np.inf else f"{least:.0f} to {most:.0f}"
        raise DataError(f"the {name} came to {span}; {accepted} is accepted")
    return values


def sum_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Sum of the first copies; the last argument says of how many, 0 to all."""
    *values, count = arguments
    number = whole("number of copies", count, 0, len(values))
    total: Floats = np.zeros(())
    for place, value in enumerate(values, start=1):
        total = total + np.where(place <= number, value, 0.0)
    return total


def mean_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Mean of the first copies, 1 to all; arguments as of `sum_of_first`."""
    number = whole("number of copies", arguments[-1], 1, len(arguments) - 1)
    return sum_of_first(*arguments) / number


def max_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Largest of the first copies, 1 to all; arguments as of `sum_of_first`."""
    return _extreme(np.maximum, arguments)


def min_of_first(*arguments: npt.ArrayLike) -> Floats:
    """Smallest of the first copies, 1 to all; arguments as of `sum_of_first`."""
    return _extreme(np.minimum, arguments)


def _extreme(choose: np.ufunc, arguments: Sequence[npt.ArrayLike]) -> Floats:
    *values, count = arguments
    number = whole("number of copies", count, 1, len(values))
    best = np.asarray(values[0], dtype=np.float64)
    for place, value in enumerate(values[1:], start=2):
        best = np.where(place <= number, choose(best, value), best)
    return best


def k_th(k: npt.ArrayLike, *values: npt.ArrayLike) -> Floats:
    """The k-th smallest of some: 2 of 3 answers are there after the second."""
    place, *spread = np.broadcast_arrays(whole("place", k, 1, len(values)), *values)
    in_order = np.sort(spread, axis=0)
    return _take(in_order, place)


def picked(*arguments: npt.ArrayLike) -> Floats:
    """One of the copies; the last argument says which, from 1."""
    *values, number = arguments
    place, *spread = np.broadcast_arrays(whole("number of the copy", number, 1, len(values)), *values)
    return _take(np.array(spread), place)


def _take(values: Floats, place: Floats) -> Floats:
    """At each point the value at a place, counted from 1."""
    selected: Floats = np.take_along_axis(values, place[None].astype(int) - 1, axis=0)[0]
    return selected
