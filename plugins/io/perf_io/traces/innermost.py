"""Nested intervals to intervals that do not overlap: at each time the innermost one counts."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

__all__ = ["CrossingError", "innermost"]

Integers = npt.NDArray[np.int64]


class CrossingError(Exception):
    """Two intervals of one location overlap without one containing the other.

    Parameters
    ----------
    one, two : int
        Their positions.
    """

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)
        self.one, self.two = one, two


def innermost(
    location: Integers, start: Integers, end: Integers, depth: Integers
) -> tuple[Integers, Integers, Integers]:
    """Cut outer intervals where inner ones lie.

    Parameters
    ----------
    location, start, end, depth : (n,) int
        Intervals in any order, ``start <= end``. Of two that begin together the deeper one is the inner one.

    Returns
    -------
    interval : (m,) int
        Which of the given intervals each piece belongs to.
    start, end : (m,) int
        The pieces, each longer than nothing.

    Raises
    ------
    CrossingError
        Intervals of one location are not nested.

    Examples
    --------
    >>> one = np.zeros(2, dtype=np.int64)
    >>> innermost(one, np.array([0, 2]), np.array([9, 5]), np.array([0, 1]))
    (array([0, 1, 0]), array([0, 2, 5]), array([2, 5, 9]))
    """
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
