"""Numbers as a user types several: lists and ranges."""

from __future__ import annotations

import math

from perfcore.base.errors import OptionError

__all__ = ["parse_values"]

_MOST_POINTS = 10_000_000


def parse_values(text: str) -> list[float]:
    """``1,2,3``, ``FIRST..LAST:STEP`` or ``FIRST..LAST*FACTOR`` as numbers.

    Raises
    ------
    ValueError, ZeroDivisionError
        The text is none of these, or a number is not finite.
    OptionError
        A range of more than ten million numbers.

    Examples
    --------
    >>> parse_values("0..10:5"), parse_values("1..64*4"), parse_values("1,64")
    ([0.0, 5.0, 10.0], [1.0, 4.0, 16.0, 64.0], [1.0, 64.0])
    """
    found: list[float] = []
    for part in text.split(","):
        first_text, dots, rest = part.partition("..")
        if not dots:
            found.append(float(part))
            continue
        by = "*" if "*" in rest else ":"
        last_text, _, step_text = rest.partition(by)
        first, last, step = float(first_text), float(last_text), float(step_text)
        if by == ":":
            count = (last - first) / step
            if not count >= 0:
                raise ValueError
            _check(count, part)
            found += [first + k * step for k in range(int(count + 1e-9) + 1)]
        else:
            if not (0 < first <= last < float("inf") and step > 1.0):
                raise ValueError
            _check(math.log(last / first) / math.log(step), part)
            while first <= last * (1 + 1e-9):
                found.append(first)
                first *= step
    if not all(abs(value) < float("inf") for value in found):
        raise ValueError
    return found


def _check(count: float, part: str) -> None:
    if count >= _MOST_POINTS:
        raise OptionError(f"{part}: {count:.3g} points, and at most {_MOST_POINTS:,} can be asked for")
