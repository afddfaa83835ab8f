"""Calls within calls: inclusive times and counters by function, location and part, and times of call paths.

A reading of a counter counts what passed since the one before it, and tracers read when a region is entered or left. So
all of it was counted in the state that ends there, and functions sum to the trace's total. Where a reading covers
several states, as samples do, it counts in the last of them, and the amount is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from perf_analysis.stretches import Stretches
from perf_statistics.kernels import kernel
from perf_traces.messages import bursts as papi
from perf_traces.messages.bursts import Readings
from perf_traces.messages.communication import sums_of
from perf_traces.messages.kernels import last_not_after
from perf_traces.nesting import Nesting
from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.base.errors import listing
from perfcore.data.trace import Trace

_BEFORE = np.iinfo(np.int64).min
INSTRUCTIONS, CYCLES = "instructions", "cycles"  # columns
_COLUMNS = {papi.INSTRUCTIONS: INSTRUCTIONS, papi.CYCLES: CYCLES}
_LEAST_SHARE = 0.01  # of a counter, that is reported
_MOST_PATHS, _DEEPEST = 20_000, 400  # time of further paths and of deeper ones is that of their callers


@kernel(small=20_000)
def _unite(cell: Ints, start: Ints, end: Ints, edges: Ints, part: Ints, pieces: Ints) -> int:  # pragma: no cover
    """Unite each cell's intervals, sorted by cell and start and cut at edges: row, part, start and end of pieces."""
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
        # From how many intervals begin (n_functions, n_locations, n_parts) to calls, these are added.
        self.more_calls = self._count(calling, nesting.start_ns) - self._count(
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
        pieces = np.empty((_unite(cell, *columns, np.empty((0, 4), np.int64)), 4), np.int64)
        _unite(cell, *columns, pieces)
        self.location = cell[pieces[:, 0]] % shape[1]
        self._entry = cell[pieces[:, 0]] * shape[2] + pieces[:, 1]
        self.start_ns, self.end_ns = pieces[:, 2].copy(), pieces[:, 3].copy()

    def inclusive(self, exclusive: Ints, values: Ints) -> Ints:
        """Times or counts with callees (n_functions, n_locations, n_parts), from exclusive ones and those of pieces."""
        # What has no callees is entered by whole intervals only, which do not overlap.
        inclusive = np.where(self._has_callees[:, :, None], 0, exclusive)
        np.add.at(inclusive.reshape(-1), self._entry, values)
        return inclusive

    def _cells(self, location: Codes, function: Codes) -> Ints:
        return np.asarray(function.astype(np.int64) * self._shape[1] + location)

    def _count(self, cell: Ints, start_ns: Ints) -> Ints:
        part = self._stretches.part
        stretch = np.clip(np.searchsorted(self._stretches.edges_ns, start_ns, "right") - 1, 0, len(part) - 1)
        number: Ints = np.bincount(cell * self._shape[2] + part[stretch], minlength=int(np.prod(self._shape)))
        return number.reshape(self._shape)


class Counted(NamedTuple):
    """What the counters of a trace counted, and what a reader of the numbers must know."""

    exclusive: Mapping[str, Ints]  # by counter, in functions themselves and with their callees
    inclusive: Mapping[str, Ints]
    notes: tuple[str, ...]


def counted_by_function(
    trace: Trace,
    function: Codes,
    no_state: int,
    stretches: Stretches,
    shape: tuple[int, ...],
    united: UnitedCalls | None = None,
) -> Counted:
    """What the counters of a trace counted in each function."""
    counters = getattr(trace, "facts", {}).get(papi.FACT)
    if counters is None or not counters.names:
        return Counted({}, {}, ())
    if counters.locations != trace.locations:
        return Counted({}, {}, ("counters are left out: they belong to the run's own locations; read it as it is",))
    order: Any = slice(None)
    same = trace.location[1:] == trace.location[:-1]
    in_order = (trace.location[1:] >= trace.location[:-1]).all()
    if not in_order or not (trace.start_ns[1:] >= trace.start_ns[:-1])[same].all():
        order = np.lexsort((trace.start_ns, trace.location))
    first = np.searchsorted(trace.location[order], np.arange(shape[1] + 1)).astype(np.int64)
    intervals = (first, trace.start_ns[order], trace.end_ns[order], function[trace.state[order]].astype(np.int64))
    lasting = np.unique(trace.location[trace.end_ns > trace.start_ns])
    begin, end = stretches.edges_ns[[0, -1]]
    exclusive: dict[str, Ints] = {}
    inclusive: dict[str, Ints] = {}
    notes = []
    for name, readings in counters.read(counters.names).items():
        column = _COLUMNS.get(name, name)
        inside = (readings.time_ns >= begin) & (readings.time_ns <= end)  # of a part of the run that was read
        contained = Readings(readings.location[inside], readings.time_ns[inside], readings.value[inside])
        if not contained.value.any():
            continue
        if len(lacking := np.setdiff1d(lasting, contained.location)):
            notes.append(
                f"{column} are left out: {name} was read at {len(lasting) - len(lacking)} of {len(lasting)} locations, "
                f"not at {listing([trace.locations[location] for location in lacking.tolist()], 4)}"
            )
            continue
        exclusive[column], share = _summed(contained, intervals, no_state, stretches, shape)
        inclusive[column] = exclusive[column]
        if united is not None:
            counts = _passed(contained, shape[1], united.location, united.start_ns, united.end_ns)
            inclusive[column] = united.inclusive(exclusive[column], counts)
        if share >= _LEAST_SHARE:
            notes.append(f"{share:.1%} of {column} were counted over several functions, and stand in the last of them")
    return Counted(exclusive, inclusive, tuple(notes))


def _passed(readings: Readings, n_locations: int, location: Ints, start_ns: Ints, end_ns: Ints) -> Ints:
    """Return what was counted of locations from one time to another each."""
    first = np.searchsorted(readings.location, np.arange(n_locations + 1)).astype(np.int64)
    total = np.concatenate([[0], np.cumsum(readings.value)])
    last = (last_not_after(first, readings.time_ns, location, times) for times in (start_ns, end_ns))
    start, end = (total[np.where(position >= 0, position + 1, first[location])] for position in last)
    return np.asarray(end - start)


def _summed(
    readings: Readings,
    intervals: tuple[Ints, Ints, Ints, Ints],
    no_state: int,
    stretches: Stretches,
    shape: tuple[int, ...],
) -> tuple[Ints, float]:
    """Sums of one counter, and which share of it was counted over several functions."""
    first, start, end, function = intervals
    # The state that lasts until a reading began before it.
    positions = last_not_after(first, start, readings.location, readings.time_ns - 1)
    inside = (positions >= 0) & (end[positions] >= readings.time_ns)
    functions = np.where(inside, function[positions], no_state)
    stretch = np.searchsorted(stretches.edges_ns, readings.time_ns, "left") - 1
    part = stretches.part[np.clip(stretch, 0, len(stretches.part) - 1)]
    total = sums_of((functions, readings.location, part), readings.value, shape)
    before = np.roll(readings.time_ns, 1)
    follows = np.zeros(len(before), bool)
    follows[1:] = readings.location[1:] == readings.location[:-1]
    several = follows & inside & (before < start[positions])
    return total, float(readings.value[several].sum() / max(1, readings.value.sum()))


@dataclass(frozen=True, eq=False)
class CallPaths:
    """A tree of calls, each path behind that of its caller."""

    function: Ints  # (n,) index of the function that a path ends with
    parent: Ints  # (n,) the path of the caller; -1 of outermost ones
    time_ns: Ints  # (n,) with callees, in all locations

    @property
    def depth(self) -> Ints:
        """Callers of each path (n,)."""
        depth = np.zeros(len(self.parent), np.int64)
        for path, parent in enumerate(self.parent.tolist()):
            depth[path] = depth[parent] + 1 if parent >= 0 else 0
        return depth

    def named(self, functions: Sequence[str], separator: str) -> dict[str, int]:
        """Return the time of each path by the names of its functions."""
        names: list[str] = []
        for function, parent in zip(self.function.tolist(), self.parent.tolist(), strict=True):
            names.append(f"{names[parent]}{separator}{functions[function]}" if parent >= 0 else functions[function])
        return dict(zip(names, self.time_ns.tolist(), strict=True))


def call_paths(trace: Trace, nesting: Nesting, function: Codes) -> CallPaths:
    """Return the times of call paths of all locations; ``function`` is the function of each state."""
    n = len(nesting)
    location = np.concatenate([nesting.location, trace.location]).astype(np.int64)
    start = np.concatenate([nesting.start_ns, trace.start_ns])
    end = np.concatenate([nesting.end_ns, trace.end_ns])
    functions = function[np.concatenate([nesting.state, trace.state])].astype(np.int64)
    # Calls come before the pieces that begin with them, the longest first.
    order = np.lexsort((np.arange(len(start)) >= n, -end, start, location))
    tree = np.full((4, _MOST_PATHS), -1, np.int64)
    tree[3] = 0
    count = _walk(location[order], start[order], end[order], functions[order], order < n, tree)
    function_of, parent, own = tree[0, :count].copy(), tree[1, :count].copy(), tree[3, :count].copy()
    for path in range(count - 1, 0, -1):
        if parent[path] >= 0:
            own[parent[path]] += own[path]
    return CallPaths(function_of, parent, own)


@kernel(small=20_000)
def _walk(  # pragma: no cover
    location: Ints, start: Ints, end: Ints, function: Ints, is_caller: Booleans, tree: Ints
) -> int:
    """Fill function, caller, next path of the same caller, and own time of each path; return how many there are."""
    first_child = np.full(tree.shape[1] + 1, -1, np.int64)  # of outermost paths the last place
    path_on, end_on = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    count, depth = 0, 0
    for row in range(len(start)):
        if row and location[row] != location[row - 1]:
            depth = 0
        while depth and end_on[depth - 1] <= start[row]:
            depth -= 1
        caller = path_on[depth - 1] if depth else -1
        if not is_caller[row] and caller >= 0 and tree[0, caller] == function[row]:
            tree[3, caller] += end[row] - start[row]  # what a caller does itself
            continue
        path = first_child[caller]
        while path >= 0 and tree[0, path] != function[row]:
            path = tree[2, path]
        if path < 0:
            if count == tree.shape[1]:
                if caller >= 0 and not is_caller[row]:
                    tree[3, caller] += end[row] - start[row]
                continue
            path = count
            tree[0, path], tree[1, path], tree[2, path] = function[row], caller, first_child[caller]
            first_child[caller] = path
            count += 1
        if not is_caller[row]:
            tree[3, path] += end[row] - start[row]
        elif depth < _DEEPEST and end[row] > start[row]:
            path_on[depth], end_on[depth] = path, end[row]
            depth += 1
    return count
