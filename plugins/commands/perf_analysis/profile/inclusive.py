"""Inclusive times, calls and counts, from the intervals of a trace and the calls that have callees.

The inclusive time of a function is that in which a location is in any call of it: a function that calls itself, at
whatever depth, counts once. So it is the union of its calls, and what a counter counted inclusively is what it counted
in that union.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from perf_analysis.profile.stretches import Stretches
from perf_traces.nesting import Nesting
from perfcore.base.kernels import announce_compilation, kernel
from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

_BEFORE = np.iinfo(np.int64).min


@kernel
def _unite(
    cell: Integers, start: Integers, end: Integers, edges: Integers, part: Integers, pieces: Integers
) -> int:  # pragma: no cover
    """Union of each cell's intervals, sorted by cell and start, cut at the edges.

    Fills ``pieces`` (n, 4) with row, part, start and end as far as it goes, and returns how many there are.
    """
    n_stretches, reach, count = len(part), _BEFORE, 0
    for row in range(len(cell)):
        if row == 0 or cell[row] != cell[row - 1]:
            reach = _BEFORE
        first, last = max(start[row], reach), end[row]
        reach = max(reach, last)
        if first >= last:
            continue
        stretch = min(max(np.searchsorted(edges, first, "right") - 1, 0), n_stretches - 1)
        while first < last:
            until = last if stretch == n_stretches - 1 else min(last, edges[stretch + 1])
            if count < len(pieces):
                pieces[count, 0], pieces[count, 1] = row, part[stretch]
                pieces[count, 2], pieces[count, 3] = first, until
            count += 1
            first = until
            stretch += 1
    return count


class UnitedCalls:
    """When locations are in functions that have callees, and how often each is called."""

    def __init__(
        self, trace: Trace, nesting: Nesting, function: Codes, stretches: Stretches, shape: tuple[int, ...]
    ) -> None:
        self._shape = shape
        self._stretches = stretches
        calling = self._cells(nesting.location, function[nesting.state])
        rest = np.flatnonzero(~nesting.is_call)
        self._more_calls = self._count(calling, nesting.start_ns) - self._count(
            self._cells(trace.location[rest], function[trace.state[rest]]), trace.start_ns[rest]
        )
        self._has_callees = np.zeros(shape[:2], bool)
        self._has_callees.ravel()[calling] = True
        leaves = np.flatnonzero(self._has_callees[function[trace.state], trace.location] & nesting.is_call)
        cell = np.concatenate([calling, self._cells(trace.location[leaves], function[trace.state[leaves]])])
        start = np.concatenate([nesting.start_ns, trace.start_ns[leaves]])
        end = np.concatenate([nesting.end_ns, trace.end_ns[leaves]])
        order = np.lexsort((start, cell))
        cell, columns = cell[order], (start[order], end[order], stretches.edges_ns, stretches.part)
        announce_compilation(_unite)
        pieces = np.empty((_unite(cell, *columns, np.empty((0, 4), np.int64)), 4), np.int64)
        _unite(cell, *columns, pieces)
        self._location = cell[pieces[:, 0]] % shape[1]
        self._entry = cell[pieces[:, 0]] * shape[2] + pieces[:, 1]
        self._start_ns, self._end_ns = pieces[:, 2].copy(), pieces[:, 3].copy()

    def calls(self, begun: Integers) -> Integers:
        """Calls (n_functions, n_locations, n_parts), from how many intervals begin."""
        return np.asarray(begun + self._more_calls)

    def times(self, exclusive_ns: Integers) -> Integers:
        """Inclusive times (n_functions, n_locations, n_parts), in nanoseconds, from exclusive ones."""
        return self._united(exclusive_ns, self._end_ns - self._start_ns)

    def counted(self, exclusive: Integers, passed: Callable[[Integers, Integers], Integers]) -> Integers:
        """What a counter counted inclusively (n_functions, n_locations, n_parts)."""
        counts = passed(self._location, self._end_ns) - passed(self._location, self._start_ns)
        return self._united(exclusive, counts)

    def _united(self, exclusive: Integers, values: Integers) -> Integers:
        # What has no callees is entered by whole intervals only, which do not overlap.
        inclusive = np.where(self._has_callees[:, :, None], 0, exclusive)
        np.add.at(inclusive.reshape(-1), self._entry, values)
        return inclusive

    def _cells(self, location: Codes, function: Codes) -> Integers:
        return np.asarray(function.astype(np.int64) * self._shape[1] + location)

    def _count(self, cell: Integers, start_ns: Integers) -> Integers:
        part = self._stretches.part
        stretch = np.clip(np.searchsorted(self._stretches.edges_ns, start_ns, "right") - 1, 0, len(part) - 1)
        number: Integers = np.bincount(cell * self._shape[2] + part[stretch], minlength=int(np.prod(self._shape)))
        return number.reshape(self._shape)
