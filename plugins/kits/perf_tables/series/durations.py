"""Durations as a user types them: ``5min``, ``0.5s``, or ``all``."""

from __future__ import annotations

import re

from perfcore.base.errors import OptionError
from perfcore.data.units import LABELS, NANOSECONDS

__all__ = ["check_length", "parse_duration"]

_DURATION_NS = {unit: int(LABELS[unit][1] * NANOSECONDS["s"]) for unit in (*NANOSECONDS, "min", "h", "d")}
_DURATION = re.compile(r"\s*(\d{1,15}(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*")


def parse_duration(text: str) -> int:
    """A duration with its unit as whole nanoseconds; a bare number is seconds.

    Raises
    ------
    OptionError
        It is no positive duration.

    Examples
    --------
    >>> parse_duration("5min"), parse_duration("0.5s"), parse_duration("2")
    (300000000000, 500000000, 2000000000)
    """
    match = _DURATION.fullmatch(text)
    factor = None if match is None else _DURATION_NS.get(match[2] or "s")
    length = 0 if match is None or factor is None else round(float(match[1]) * factor)
    if length < 1:
        raise OptionError(
            f"duration {text!r}: a positive number with one of {', '.join(_DURATION_NS)} is expected, 5min"
        )
    return length


def check_length(length: str) -> str:
    """The length of a window, a duration or ``"all"``, as it was given.

    Raises
    ------
    OptionError
        It is neither.
    """
    if length != "all":
        parse_duration(length)
    return length
