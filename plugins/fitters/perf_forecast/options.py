"""Options of the fitter `forecast`, and what a series lies between: as declared, or as its names and samples say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perf_tables.arguments import check_length
from perfcore.base.errors import DataError, OptionError
from perfcore.data.columns import is_named
from perfcore.hooks.options import option

if TYPE_CHECKING:
    import numpy.typing as npt

COVERAGE = 0.95  # of the bounds in summary and picture
NOTEWORTHY = 0.25  # probability of a single value
JUDGED_COVERAGES = (0.5, 0.8, 0.95)

# Of the edges of a distribution: even, and close where bounds are asked for.
_TAIL = (0.0, 0.0025, 0.005, 0.01, 0.025)
LEVELS = (*_TAIL, *(percent / 100.0 for percent in range(5, 96, 5)), *(1.0 - level for level in reversed(_TAIL)))


Bounds = tuple[float, float]


def parse_within(text: str) -> Bounds | str:
    """``auto``, ``none``, or two numbers such as ``0,1`` or ``0,inf``."""
    if text in ("auto", "none"):
        return text
    try:
        lower, upper = map(float, text.split(","))
    except ValueError:
        lower, upper = math.nan, math.nan
    if not lower < upper:
        raise OptionError(
            f"within {text!r}: a lower and a higher upper bound are expected, 0,1 or 0,inf; auto; or none"
        )
    return lower, upper


def check_within(text: str) -> str:
    """The bounds as they were given, if they are some; see `parse_within`."""
    parse_within(text)
    return text


def check_ahead(text: Any) -> str:
    """Return a time ahead as it was given, ``+1h``; as a part of a list too."""
    (words,) = (text,) if isinstance(text, str) else text if len(text) == 1 else ("",)
    if not words.startswith("+"):
        raise OptionError(f"--at {words!r}: a duration after the last sample is expected, such as +1h")
    check_length(words[1:])
    return str(words)


def support_of(values: npt.ArrayLike, within: str, names: str) -> tuple[Bounds, str]:
    """Bounds of what may come, and where they are from."""
    import numpy as np

    samples = np.asarray(values, dtype=np.float64)
    bounds = parse_within(within)
    if bounds == "none":
        return (-math.inf, math.inf), "declared"
    if not isinstance(bounds, str):
        outside = np.flatnonzero((samples < bounds[0]) | (samples > bounds[1]))
        if len(outside):
            first = int(outside[0])
            raise DataError(
                f"sample {first + 1} of {len(samples)} is {samples[first]:.6g}, outside of {bounds[0]:g} to "
                f"{bounds[1]:g}, as are {len(outside) - 1} others; correct --support"
            )
        return bounds, "declared"
    if samples.min() < 0.0:
        return (-math.inf, math.inf), "some samples are negative"
    if samples.max() <= 1.0 and is_named("share", names):
        return (0.0, 1.0), "a fraction, from its name and samples"
    if samples.max() <= 100.0 and is_named("percent", names):
        return (0.0, 100.0), "percent, from its name and samples"
    return (0.0, math.inf), "no sample is negative"


@dataclass(frozen=True)
class ForecastOptions:
    """Options of the fitter `forecast`."""

    column: str | None = option(None, "series of several columns: the one to forecast", metavar="NAME")
    by: str | None = option(None, "column whose values each get a forecast, such as host", metavar="COLUMN")
    window: str = option(
        "all", "window of samples, from the end, such as 2h, or all", parse=check_length, metavar="DURATION|all"
    )
    within: str = option(
        "auto",
        "bounds of the values, such as 0,1; auto: as names and samples say",
        parse=check_within,
        flag="--support",
        metavar="LOW,HIGH|auto|none",
    )
    horizon: int = option(30, "steps ahead, each with its distribution", minimum=1)
    at: str | None = option(None, "time ahead of the answer, such as +1h", parse=check_ahead, metavar="+DURATION")
