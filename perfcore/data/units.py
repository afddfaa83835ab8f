"""Units of time: their size in nanoseconds, and how a person reads a duration."""

from __future__ import annotations

from perfcore.base.errors import UnknownNameError

__all__ = ["NANOSECONDS", "nanoseconds_per", "readable", "shown_origin"]

NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def nanoseconds_per(time_unit: str) -> int:
    """Nanoseconds in one ``time_unit``.

    Examples
    --------
    >>> nanoseconds_per("us")
    1000
    """
    try:
        return NANOSECONDS[time_unit]
    except KeyError:
        raise UnknownNameError("time unit", time_unit, NANOSECONDS) from None


def readable(duration: float, time_unit: str) -> str:
    """A duration in the largest unit that keeps it at least 1.

    Examples
    --------
    >>> readable(2_500_000, "us")
    '2.5 s'
    """
    amount = duration * nanoseconds_per(time_unit)
    for unit in ("s", "ms", "us"):
        if abs(amount) >= NANOSECONDS[unit]:
            return f"{amount / NANOSECONDS[unit]:.6g} {unit}"
    return f"{amount:.6g} ns"


def shown_origin(start: float, end: float) -> float:
    """Time from which a table or picture counts: 0, or the start where times are dates and would all look alike.

    Examples
    --------
    >>> shown_origin(5.0, 105.0), shown_origin(1.7e9, 1.7e9 + 60.0)
    (0.0, 1700000000.0)
    """
    return float(start) if abs(start) > 1000.0 * (end - start) else 0.0
