"""Words for iterations: their number, durations and order."""

from __future__ import annotations

from typing import Any

from perfcore.data.units import readable


def ordinal(number: int) -> str:
    """A number in an order."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def in_a_line(count: int, period: float, spread: float | None, unit: str, unusual: Any = None) -> str:
    """Number, duration, spread, and the iteration that differs."""
    text = f"{count} iterations, mean {rounded(period, unit)}"
    if spread is not None:
        text += f", CV {spread:.1%}"
    if unusual is not None:
        reason = f", {unusual.reason}" if unusual.reason else ""
        text += f"; outlier: {ordinal(unusual.number)} ({unusual.difference:+.0%} vs median{reason})"
    return text


def rounded(duration: float, unit: str) -> str:
    """A duration in a readable unit, with four digits."""
    return readable(float(f"{duration:.4g}"), unit)
