"""Whether a quantity is a length of time by its name, which no sample of it can be below 0."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError
from perfcore.data.units import NANOSECONDS, unit_in_name

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
    """Whether a column's name says that it holds lengths of time, which are not negative."""
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
