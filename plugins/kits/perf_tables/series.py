"""The part of a series that a prediction is made from: by default its last five minutes."""

from __future__ import annotations

import contextlib
import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.arguments import parse_duration
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.data import type_in_words
from perfcore.data.columns import is_signed, words, words_of
from perfcore.data.curve import PROCESSORS_COMPUTING, UtilizationCurve
from perfcore.data.series import Series
from perfcore.data.units import NANOSECONDS, nanoseconds_per, readable, unit_in_name

_TIMES = frozenset(words("words", "time"))
_PLAIN_TIMES = frozenset(["time", "times", "wall", "took", "seconds"])  # that many things are called
DEFAULT_WINDOW = "5min"  # Schopf, section 3.2: "no worse than using larger or smaller windows of data"


@dataclass(frozen=True)
class Window:
    """Samples of one quantity within a stretch of time."""

    column: str  # what was sampled
    times: npt.NDArray[Any]  # in ``time_unit``, increasing
    values: Floats  # finite
    time_unit: str
    missing: int  # samples of the stretch that had no value
    source: str  # where the series came from

    @property
    def variation(self) -> float:
        return float(np.ptp(self.values))

    def describe(self) -> str:
        """Return one line: how many samples, of what, over which time."""
        span = readable(float(self.times[-1] - self.times[0]), self.time_unit)
        gaps = f", {self.missing} missing" if self.missing else ""
        count = len(self.values)
        return f"{count} sample{'s' if count > 1 else ''}{gaps} of {self.column!r} over {span}, from {self.source}"


def select_column(data: Any, column: str | None = None) -> tuple[str, npt.NDArray[Any], Floats, str]:
    """Return the name, times, values and time unit of one column of a series.

    A curve, which is what a table of one value column is read as, counts as the series of its heights at the times
    where they begin, and its column has the name that it has in the table.
    """
    if isinstance(data, UtilizationCurve):
        name = "value" if data.quantity == PROCESSORS_COMPUTING else data.quantity
        data = Series(data.edges[:-1], {name: data.heights}, data.time_unit, source=data.source)
    if not isinstance(data, Series):
        raise DataError(f"samples over time are expected, a series, not {type_in_words(data)}")
    column = data.chosen(column)
    return column, data.times, data.columns[column], data.time_unit


def take_window(
    data: Any, length: str = DEFAULT_WINDOW, column: str | None = None, until: float | str | None = None
) -> Window:
    """Return the samples of the last stretch of a series."""
    column, times, values, unit = select_column(data, column)
    if not len(times):
        raise DataError(f"{data.source}: the series has no samples")
    end, is_date = (times[-1], False) if until is None else _moment(until, unit)
    inside = times <= end
    if length != "all":
        inside &= times > end - parse_duration(length) / nanoseconds_per(unit)
    finite = np.isfinite(values)
    kept = inside & finite
    if not kept.any():
        finite_rows = np.flatnonzero(finite)
        earlier = finite_rows[times[finite_rows] <= end]
        if len(earlier):
            last = _shown(times[earlier[-1]], unit, is_date)
            nearest = f"the last one before is at {last}; give a longer --window, or 'all'"
        elif len(finite_rows):
            nearest = f"the first one is at {_shown(times[finite_rows[0]], unit, is_date)}; give a later --to"
        else:
            nearest = "it has none at all"
        raise DataError(
            f"{data.source}: no value of {column!r} in the {length} until {_shown(end, unit, is_date)}; {nearest}"
        )
    return Window(column, times[kept], values[kept], unit, int((inside & ~finite).sum()), data.source)


def _moment(moment: float | str, unit: str) -> tuple[float, bool]:
    """Return a time in the unit, and whether it was given as a date."""
    with contextlib.suppress(ValueError):
        return float(moment), False
    try:
        date = datetime.datetime.fromisoformat(str(moment).strip())
    except ValueError:
        raise OptionError(
            f"--to {moment!r}: a number in the unit of the series, or a date such as 2014-09-13 14:05, is expected"
        ) from None
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.UTC)
    return date.timestamp() * nanoseconds_per("s") / nanoseconds_per(unit), True


def _shown(time: float, unit: str, is_date: bool) -> str:
    if not is_date:
        return f"{time:.15g} {unit}"
    seconds = float(time) * nanoseconds_per(unit) / nanoseconds_per("s")
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def is_duration(column: str, source: str = "") -> bool:
    """Return whether a column's name says that it holds lengths of time, which are not negative."""
    if column == "value":
        names = set(words_of(Path(source).stem))
        return bool((_TIMES - _PLAIN_TIMES) & names) and not is_signed(names)
    names, unit = set(words_of(column)), unit_in_name(column)
    if is_signed(names) or (unit is not None and unit.kind != "time"):
        return False
    # A name that ends with min or h is more often a minimum or a height.
    return bool(_TIMES & names) or (unit is not None and unit.label in NANOSECONDS)


def check_durations(values: npt.ArrayLike, column: str, source: str = "") -> None:
    """Refuse negative lengths of time; see `is_duration`."""
    samples = np.asarray(values, dtype=np.float64)
    if not len(samples) or samples.min() >= 0.0 or not is_duration(column, source):
        return
    negative = np.flatnonzero(samples < 0.0)
    first = int(negative[0])
    others = f" (and {len(negative) - 1} more)" if len(negative) > 1 else ""
    raise DataError(
        f"sample {first + 1} of {len(samples)} is {samples[first]:.6g}{others}, and a time is not negative; correct or "
        "leave out what is wrong; if it is a difference, declare it: within -inf,inf"
    )
