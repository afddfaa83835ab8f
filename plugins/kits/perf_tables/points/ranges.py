"""Numbers as a user types several: lists and ranges."""

from __future__ import annotations

import math

from perfcore.base.errors import OptionError

MOST_POINTS = 1_000_000  # that a person asks for at once


def parse_values(text: str) -> list[float]:
    """``1,2,3``, ``FIRST..LAST:STEP`` or ``FIRST..LAST*FACTOR`` as numbers."""
    values: list[float] = []
    for part in text.split(","):
        first_text, dots, rest = part.partition("..")
        if not dots:
            values.append(float(part))
            continue
        by = "*" if "*" in rest else ":"
        last_text, _, step_text = rest.partition(by)
        first, last, step = float(first_text), float(last_text), float(step_text)
        if by == ":":
            count = (last - first) / step
            if not count >= 0:
                raise ValueError
            check_count(count, part)
            values += [first + k * step for k in range(int(count + 1e-9) + 1)]
        else:
            if not (0 < first <= last < float("inf") and step > 1.0):
                raise ValueError
            check_count(math.log(last / first) / math.log(step), part)
            while first <= last * (1 + 1e-9):
                values.append(first)
                first *= step
    if not all(abs(value) < float("inf") for value in values):
        raise ValueError
    return values


def check_count(count: float, text: str) -> None:
    """Refuse more points than memory and patience hold."""
    if count >= MOST_POINTS:
        raise OptionError(f"{text}: {count:.3g} points, and at most {MOST_POINTS:,} can be asked for")
