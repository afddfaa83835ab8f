"""A quantity that was measured at some places of another, such as a bandwidth by the size of messages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]


def interpolated(x: npt.ArrayLike, *points: npt.ArrayLike) -> Floats:
    """On lines between points; before the first and beyond the last as there."""
    rows = np.asarray(points, dtype=np.float64)
    places, values = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    steps = np.diff(places)
    if not np.all(steps > 0.0):
        index = int(np.flatnonzero(~(steps > 0.0))[0])
        raise DataError(f"points must increase, but {places[index]:.6g} comes before {places[index + 1]:.6g}")
    return np.asarray(np.interp(np.asarray(x, dtype=np.float64), places, values))
