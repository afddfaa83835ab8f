"""Nested intervals to intervals that do not overlap: at each time the innermost one counts."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt


Integers = npt.NDArray[np.int64]


class CrossingError(Exception):
    """Two intervals of one location overlap without one containing the other."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)
        self.one, self.two = one, two


def innermost(
    location: Integers, start: Integers, end: Integers, depth: Integers
) -> tuple[Integers, Integers, Integers]:
    """Cut outer intervals where inner ones lie."""
    pieces, starts, ends = array("q"), array("q"), array("q")
    stack: list[int] = []
    since = 0

    def emit(interval: int, until: int) -> None:
        nonlocal since
        if until > since:
            pieces.append(interval)
            starts.append(since)
            ends.append(until)
        since = max(since, until)

    for row in np.lexsort((depth, start, location)).tolist():
        begins, where = int(start[row]), location[row]
        while stack and (location[stack[-1]] != where or end[stack[-1]] <= begins):
            emit(stack[-1], int(end[stack[-1]]))
            stack.pop()
        if stack:
            if end[row] > end[stack[-1]]:
                raise CrossingError(stack[-1], row)
            emit(stack[-1], begins)
        stack.append(row)
        since = begins
    while stack:
        emit(stack[-1], int(end[stack[-1]]))
        stack.pop()
    interval, first, last = (np.array(column, dtype=np.int64) for column in (pieces, starts, ends))
    return interval, first, last
