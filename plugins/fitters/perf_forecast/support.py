"""What a series lies between: as declared, or as its names and samples say."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from perfcore.base.errors import DataError, OptionError

if TYPE_CHECKING:
    import numpy.typing as npt


Bounds = tuple[float, float]

_SHARES = re.compile(r"busy|idle|available|share|fraction|utili[sz]ation", re.IGNORECASE)
_PERCENT = re.compile(r"percent|pct|%|utili[sz]ation", re.IGNORECASE)


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
    if samples.max() <= 1.0 and _SHARES.search(names):
        return (0.0, 1.0), "a share, by its name and samples"
    if samples.max() <= 100.0 and _PERCENT.search(names):
        return (0.0, 100.0), "per cent, by its name and samples"
    return (0.0, math.inf), "no sample is negative"
