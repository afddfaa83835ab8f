"""Whether a quantity is a length of time by its name, which no sample of it can be below 0."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.data.units import NANOSECONDS, unit_in_name

__all__ = ["check_durations", "is_duration"]

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
_DURATIONS = frozenset(
    ["duration", "durations", "elapsed", "latency", "latencies", "makespan", "rtt", "runtime", "runtimes", "walltime"]
)
_TIMES = frozenset(["time", "times", *_DURATIONS])
# Of times, those with a word that begins so may be negative.
_SIGNED = (
    *("change", "delta", "dev", "diff", "drift", "error", "gain", "imbalance", "lag", "lateness", "log", "offset"),
    *("relative", "residual", "saved", "saving", "series", "shift", "skew", "slack", "zone"),
)


def is_duration(column: str, source: str = "") -> bool:
    """Whether a column's name says that it holds lengths of time, which are not negative.

    Parameters
    ----------
    column : str
        With its unit, or a word such as latency in it. A column that is called ``value`` says nothing.
    source : str
        The file, whose name counts for such a column.

    Examples
    --------
    >>> is_duration("latency"), is_duration("wall_ms"), is_duration("value", "runs/durations.txt")
    (True, True, True)
    >>> is_duration("clock_offset_ms"), is_duration("temp_min"), is_duration("rate_per_s"), is_duration("value")
    (False, False, False, False)
    """
    if column == "value":
        words = _words(Path(source).stem)
        return bool(_DURATIONS & words) and not _is_signed(words)
    words, unit = _words(column), unit_in_name(column)
    if _is_signed(words) or (unit is not None and unit.kind != "time"):
        return False
    # A name that ends with min or h is more often a minimum or a height.
    return bool(_TIMES & words) or (unit is not None and unit.label in NANOSECONDS)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _is_signed(words: set[str]) -> bool:
    return any(word.startswith(_SIGNED) for word in words)


def check_durations(values: npt.ArrayLike, column: str, source: str = "") -> None:
    """Refuse negative lengths of time; see `is_duration`.

    Parameters
    ----------
    values : (n,) float
    column, source : str
        Where they are from.

    Raises
    ------
    DataError
        With the first negative one.

    Examples
    --------
    >>> check_durations([3.0, -1.0], "latency_ms")
    Traceback (most recent call last):
        ...
    perfcore.base.errors.DataError: sample 2 of 2 is -1, and a time is not negative; correct or leave out what is \
wrong; if it is a difference, declare it: within -inf,inf
    """
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
