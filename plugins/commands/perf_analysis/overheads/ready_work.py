"""How much work waits to be done, as a step function of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.series import Series
from perfcore.data.units import nanoseconds_per


def ready_steps(
    data: Any, start_ns: int, end_ns: int, column: str | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Times and values of the steps."""
    times, values = _samples(data, column)
    factor = nanoseconds_per(data.time_unit)
    times_ns = times * factor if times.dtype.kind == "i" else np.rint(times * factor).astype(np.int64)
    if times_ns[0] > start_ns:
        raise DataError(
            f"{data.source}: the amount of ready work is known from {times_ns[0]} ns on, but the run starts at "
            f"{start_ns} ns; give a series that begins before the run, on the same clock"
        )
    if times_ns[-1] < start_ns and len(times_ns) > 1:
        raise DataError(
            f"{data.source}: the amount of ready work is known until {times_ns[-1]} ns, but the run starts at "
            f"{start_ns} ns; give a series on the clock of the trace"
        )
    first = int(np.searchsorted(times_ns, start_ns, side="right")) - 1
    times_ns, values = times_ns[first:], values[first:]
    inside = times_ns < end_ns
    times_ns, values = times_ns[inside], values[inside]
    if np.isnan(values).any():
        missing = int(times_ns[int(np.argmax(np.isnan(values)))])
        raise DataError(f"{data.source}: the amount of ready work is missing at {missing} ns; fill the gap")
    return np.maximum(times_ns - start_ns, 0), values


def _samples(data: Any, column: str | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    if isinstance(data, UtilizationCurve):
        return data.edges[:-1], data.heights
    if not isinstance(data, Series):
        raise DataError(f"{type(data).__name__} is no series of the amount of ready work; give times and values")
    if column is None and len(data.columns) > 1:
        raise OptionError(f"{data.source}: name the column of ready work: {listing(data.columns)}")
    name = next(iter(data.columns)) if column is None else column
    if name not in data.columns:
        raise UnknownNameError("column", name, data.columns)
    return data.times, data.columns[name]
