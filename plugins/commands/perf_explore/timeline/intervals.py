"""Intervals of a trace in an order that answers how long each location was in which states, in any window.

The intervals are sorted by location, group of states, and start, beside the sum of their durations up to each. So the
time of a group within a window is the difference of two sums, less what hangs over the two edges; a search for each
edge of a pixel is all that an answer costs, however many intervals there are.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.kernels import announce_compilation, kernel
from perfcore.data.trace import Trace


Integers = npt.NDArray[np.int64]
_MOST_RADIX = 1 << 16  # keys below it are sorted in linear time


@dataclass(frozen=True, eq=False)
class SortedIntervals:
    """Intervals that last, sorted by location, group and start."""

    n_groups: int  # groups of states, such as their classes
    first: Integers  # where the intervals of each location and group begin
    start_ns: Integers
    before_ns: Integers  # durations of all intervals before each one
    state: npt.NDArray[np.int32]

    @classmethod
    def of(cls, trace: Trace, group_of_state: Integers, n_groups: int) -> SortedIntervals:
        """Sort the intervals of a trace."""
        lasting: Any = trace.end_ns > trace.start_ns
        lasting = slice(None) if lasting.all() else lasting
        location, state = trace.location[lasting], trace.state[lasting]
        start, end = trace.start_ns[lasting], trace.end_ns[lasting]
        n_keys = len(trace.locations) * n_groups
        key = location.astype(np.int64) * n_groups + group_of_state[state]
        if (np.diff(location) >= 0).all() and (np.diff(start)[np.diff(location) == 0] >= 0).all():
            order = np.argsort(key.astype(np.uint16) if n_keys < _MOST_RADIX else key, kind="stable")
        else:
            order = np.lexsort((start, key))
        start, state = start[order], state[order]
        before = np.zeros(len(start) + 1, dtype=np.int64)
        np.subtract(end[order], start, out=before[1:])
        np.cumsum(before, out=before)
        first = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n_keys))])
        return cls(n_groups, first.astype(np.int64), start, before, state)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.start_ns)

    def only(self, states: npt.NDArray[np.bool_]) -> SortedIntervals:
        """Those in some states."""
        kept = np.flatnonzero(states[self.state])
        before = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum(self.before_ns[kept + 1] - self.before_ns[kept], out=before[1:])
        return replace(
            self,
            first=np.searchsorted(kept, self.first),
            start_ns=self.start_ns[kept],
            before_ns=before,
            state=self.state[kept],
        )

    def time_in(self, edges_ns: Integers, locations: Integers, rows: Integers, n_rows: int) -> Integers:
        """How long locations are in each group, between neighbouring edges."""
        time = np.zeros((n_rows, self.n_groups, len(edges_ns) - 1), dtype=np.int64)
        order = np.argsort(locations, kind="stable")
        places, begins = np.unique(np.asarray(locations, np.int64)[order], return_index=True)
        rows_of = np.append(begins, len(order)).astype(np.int64), np.asarray(rows, np.int64)[order]
        _compiled()(
            self.first, self.start_ns, self.before_ns, np.asarray(edges_ns, np.int64), places, *rows_of, time
        )  # fmt: skip
        return time

    def within(self, location: int, start_ns: int, end_ns: int) -> Integers:
        """Which intervals of a location overlap a stretch, group by group."""
        indices = []
        for segment in range(location * self.n_groups, (location + 1) * self.n_groups):
            low, high = self.first[segment], self.first[segment + 1]
            last = low + np.searchsorted(self.start_ns[low:high], end_ns)
            begin = low + np.searchsorted(self.start_ns[low:high], start_ns, side="right")
            if begin > low and self.end_ns(begin - 1) > start_ns:
                begin -= 1
            indices.append(np.arange(begin, last))
        return np.concatenate(indices)

    def end_ns(self, which: Any) -> Any:
        """Where intervals end."""
        return self.start_ns[which] + self.before_ns[which + 1] - self.before_ns[which]

    def location_of(self, which: int) -> int:
        """The location of an interval."""
        return int(np.searchsorted(self.first, which, side="right") - 1) // self.n_groups

    def longest(self) -> int:
        """The longest interval, of several the first one in the order kept here."""
        return int(np.argmax(np.diff(self.before_ns)))

    def longest_of_groups(self) -> list[int | None]:
        """The longest interval of each group; None where it has none."""
        segments = np.flatnonzero(np.diff(self.first))
        durations = np.diff(self.before_ns)
        longest = np.maximum.reduceat(durations, self.first[segments]) if len(segments) else durations
        positions: list[int | None] = []
        for group in range(self.n_groups):
            members = np.flatnonzero(segments % self.n_groups == group)
            if not len(members):
                positions.append(None)
                continue
            segment = segments[members[np.argmax(longest[members])]]
            begin, end = self.first[segment], self.first[segment + 1]
            positions.append(int(begin + np.argmax(durations[begin:end])))
        return positions


@functools.cache
def _compiled() -> Any:
    compiled = kernel(_add_time)
    announce_compilation(compiled)
    return compiled


def _add_time(
    first: Integers,
    start: Integers,
    before: Integers,
    edges: Integers,
    locations: Integers,
    first_row: Integers,
    rows: Integers,
    time: Integers,
) -> None:
    n_groups = time.shape[1]
    for place in range(len(locations)):
        for group in range(n_groups):
            segment = locations[place] * n_groups + group
            begin, end = first[segment], first[segment + 1]
            if begin == end:
                continue
            position, until_last_edge = begin, 0
            for column in range(len(edges)):
                edge = edges[column]
                # How many begin before the edge: steps that double, since the next edge is near, then halves.
                high, step = position, 1
                while high < end and start[high] < edge:
                    position = high + 1
                    high += step
                    step *= 2
                high = min(high, end)
                while position < high:
                    middle = (position + high) // 2
                    if start[middle] < edge:
                        position = middle + 1
                    else:
                        high = middle
                until = before[position] - before[begin]
                if position > begin:
                    until -= max(start[position - 1] + before[position] - before[position - 1] - edge, 0)
                if column:
                    for row in range(first_row[place], first_row[place + 1]):
                        time[rows[row], group, column - 1] += until - until_last_edge
                until_last_edge = until
