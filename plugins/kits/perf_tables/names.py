"""What names and cells of tables say, since no two tools spell alike: categories, rates, durations, numbers."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.base.errors import DataError
from perfcore.data.units import NANOSECONDS, is_rate, split_unit, unit_in_name

if TYPE_CHECKING:
    import numpy.typing as npt


@functools.lru_cache(maxsize=1 << 14)  # thousands of call paths are compared with every model
def plain_name(name: str) -> str:
    """A name as it is compared: in lower case, with single blanks for ``_`` and ``-``."""
    return " ".join(re.sub(r"[_\-\s]+", " ", name).casefold().split())


# What is more the faster a program is, however it is counted; the end of names such as "parallel efficiency".
_SPEEDS = frozenset(
    [
        *("speedup", "efficiency", "throughput", "goodput", "bandwidth", "bw", "speed", "performance", "mfu", "hfu"),
        *("ipc", "mlups", "glups", "mops", "teps", "mteps", "gteps", "sypd", "tpmc"),
    ]
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STATISTIC = re.compile(r"(?P<name>.+?)[\s_-]+(?:mean|avg|average|median|min|max|total)", re.IGNORECASE)


def is_speed(unit: str | None, *names: str) -> bool:
    """Whether what was measured is work per time, by its unit, or without one by what all its columns are called."""
    return is_rate(unit) if unit and unit != "%" else bool(names) and all(map(_is_called_speed, names))


def what_zero_means(of_speed: bool) -> str:
    """Why a measured 0 is left out, of work per time or of times."""
    return "nothing was done, which no model of a rate covers" if of_speed else "below what the clock sees"


def _is_called_speed(name: str) -> bool:
    statistic = _STATISTIC.fullmatch(name.strip())
    name, unit = split_unit(statistic["name"] if statistic else name)
    if unit is not None and unit.kind not in ("count", "share"):
        return unit.kind == "rate"
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _SPEEDS or "".join(words[-2:]) in _SPEEDS)


_WORDS = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
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
    return {word.lower() for word in _WORDS.findall(name)}


def _is_signed(words: set[str]) -> bool:
    return any(word.startswith(_SIGNED) for word in words)


def check_durations(values: npt.ArrayLike, column: str, source: str = "") -> None:
    """Refuse negative lengths of time; see `is_duration`."""
    import numpy as np  # names are compared without

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
