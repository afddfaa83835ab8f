"""Where two models cross along a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Columns = Mapping[str, npt.NDArray[Any]]

SAME = 1e-9  # models that differ by less do not cross there, they agree
_SCAN = 256  # places between the ends of a line at which the models are compared in search of crossings


@dataclass(frozen=True)
class Crossing:
    """Where one model overtakes the other along a parameter."""

    at: float  # value of the parameter
    value: float  # of both models there
    below: int  # the model that is smaller before it: 0 or 1
    held: Mapping[str, float | str]  # the other variables


def crossings_of(both: Callable[[Columns], Floats], columns: Columns, along: str) -> tuple[Crossing, ...]:
    """Changes of sign of the difference along one parameter, for each combination of the others."""
    from scipy.optimize import brentq

    low, high = float(columns[along].min()), float(columns[along].max())
    scan = np.geomspace(low, high, _SCAN) if low > 0.0 else np.linspace(low, high, _SCAN)
    crossings = []
    for fixed, _ in _lines(columns, along):

        def both_at(x: npt.ArrayLike, fixed: Mapping[str, Any] = fixed) -> Floats:
            levels = np.atleast_1d(np.asarray(x, dtype=np.float64))
            return both({along: levels, **{name: np.full(len(levels), value) for name, value in fixed.items()}})

        for k, following, below in _changes(both_at(scan)):
            position = float(brentq(lambda x: float(np.subtract(*both_at(x))[0]), scan[k], scan[following]))
            crossings.append(Crossing(position, float(both_at(position)[0, 0]), below, fixed))
    return tuple(crossings)


def crossings_between(values: Floats, columns: Columns, along: str) -> tuple[Crossing, ...]:
    """The same from values at points only, by powers of the parameter in between."""
    crossings = []
    for fixed, rows in _lines(columns, along):
        order = rows[np.argsort(columns[along][rows], kind="stable")]
        x, line = np.log2(columns[along][order].astype(np.float64)), np.log2(values[:, order])
        for k, following, below in _changes(values[:, order]):
            gap = line[0] - line[1]
            share = gap[k] / (gap[k] - gap[following])
            position, value = (
                coordinate[k] + share * (coordinate[following] - coordinate[k]) for coordinate in (x, line[0])
            )
            crossings.append(Crossing(float(2.0**position), float(2.0**value), below, fixed))
    return tuple(crossings)


def _lines(columns: Columns, along: str) -> Iterator[tuple[dict[str, Any], npt.NDArray[np.int64]]]:
    """The other variables of each line along a parameter, and the points on it."""
    fixed_names = [name for name in columns if name != along]
    keys = (
        list(zip(*(columns[name].tolist() for name in fixed_names), strict=True))
        if fixed_names
        else [()] * len(columns[along])
    )
    for kept in dict.fromkeys(keys):
        yield dict(zip(fixed_names, kept, strict=True)), np.flatnonzero([key == kept for key in keys])


def _changes(values: Floats) -> Iterator[tuple[int, int, int]]:
    """Neighbours (k, l) between which the difference of two rows changes its sign, and which is smaller before."""
    first, second = values
    difference = np.where(np.abs(first - second) > SAME * np.maximum(first, second), first - second, 0.0)
    differ = np.flatnonzero(difference)
    signs = np.sign(difference[differ])
    for k in np.flatnonzero(signs[:-1] != signs[1:]).tolist():
        yield int(differ[k]), int(differ[k + 1]), 0 if signs[k] < 0 else 1
