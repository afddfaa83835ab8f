"""Durations as a user types them: ``5min``, ``0.5s``, or ``all``."""

from __future__ import annotations

import re

from perfcore.base.errors import OptionError
from perfcore.data.units import LABELS, NANOSECONDS

_DURATION_NS = {unit: int(LABELS[unit][1] * NANOSECONDS["s"]) for unit in (*NANOSECONDS, "min", "h", "d")}
_DURATION = re.compile(r"\s*(\d{1,15}(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*")


def parse_duration(text: str) -> int:
    """A duration with its unit as whole nanoseconds; a bare number is seconds."""
    match = _DURATION.fullmatch(text)
    factor = None if match is None else _DURATION_NS.get(match[2] or "s")
    length = 0 if match is None or factor is None else round(float(match[1]) * factor)
    if length < 1:
        raise OptionError(
            f"duration {text!r}: a positive number with one of {', '.join(_DURATION_NS)} is expected, 5min"
        )
    return length


def check_length(length: str) -> str:
    """The length of a window, a duration or ``"all"``, as it was given."""
    if length != "all":
        parse_duration(length)
    return length
