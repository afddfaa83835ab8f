"""Intervals that overlap, on lanes: each takes the first that is free, so that on each lane one follows another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perfcore.base.kernels import announce_compilation, kernel


Integers = npt.NDArray[np.int64]
_FREE = np.iinfo(np.int64).min
_FEWEST = 8  # lanes for which there is room at first; a power of two


@kernel
def _first_free(start: Integers, end: Integers, first: int, until: Integers, lane: Integers) -> int:  # pragma: no cover
    """Lanes of the intervals from ``first`` on, until none is free; ``until`` is a tree of the earliest ends."""
    size = len(until) // 2
    for row in range(first, len(start)):
        if until[1] > start[row]:
            return row
        node = 1
        while node < size:
            node *= 2
            if until[node] > start[row]:
                node += 1
        lane[row] = node - size
        until[node] = end[row]
        while node > 1:
            node //= 2
            until[node] = min(until[2 * node], until[2 * node + 1])
    return len(start)


class Lanes:
    """Puts intervals on lanes, block by block; there are as many lanes as intervals are at once."""

    def __init__(self, n_locations: int) -> None:
        self._count = np.ones(n_locations, np.int64)
        self._location, self._before = 0, 0
        self._until = np.empty(0, np.int64)

    def split(self, blocks: Iterable[tuple[Integers, Integers, Integers]]) -> Iterator[Integers]:
        """The lane of each interval, counted through all locations."""
        announce_compilation(_first_free)
        for location, start, end in blocks:
            lane = np.empty(len(start), np.int64)
            changes = np.flatnonzero(location[1:] != location[:-1]) + 1
            bounds = [0, *changes.tolist(), len(location)] if len(location) else []
            for first, last in itertools.pairwise(bounds):
                self._take(int(location[first]), start[first:last], end[first:last], lane[first:last])
            yield lane

    def names(self, locations: Sequence[str]) -> list[str]:
        """A name for each lane: that of its location, numbered where it has several; ``lane 1`` of no location."""
        names = []
        for location, count in zip(locations, self._count.tolist(), strict=True):
            if location and count == 1:
                names.append(location)
            else:
                names += [f"{location} #{n}" if location else f"lane {n}" for n in range(1, count + 1)]
        return names

    def _take(self, location: int, start: Integers, end: Integers, lane: Integers) -> None:
        if location != self._location or not len(self._until):
            self._before += int(self._count[self._location : location].sum())
            self._location = location
            self._until = np.full(2 * _FEWEST, _FREE)
        row = 0
        while (row := _first_free(start, end, row, self._until, lane)) < len(start):
            self._grow()
        self._count[location] = max(self._count[location], int(lane.max()) + 1)
        lane += self._before

    def _grow(self) -> None:
        """Twice as many lanes, the first of which are as they were."""
        size = len(self._until)
        until = np.full(2 * size, _FREE)
        until[size : size + size // 2] = self._until[size // 2 :]
        for node in range(size - 1, 0, -1):
            until[node] = min(until[2 * node], until[2 * node + 1])
        self._until = until
