"""Overlapping intervals of one location: each on a separate lane, or their union."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from perf_io.tables.duck import Database
from perf_io.tables.state_table import INTERVALS, IntervalStore, coded_query
from perf_io.traces.intervals import latest_running
from perf_traces.nesting import mark_nested
from perfcore.base.arrays import Ints
from perfcore.base.kernels import kernel
from perfcore.data.trace import Trace

_FREE = np.iinfo(np.int64).min
_FEWEST = 8  # lanes for which there is room at first; a power of two


@kernel(small=20_000)
def _first_free(start: Ints, end: Ints, first: int, until: Ints, lane: Ints) -> int:  # pragma: no cover
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

    def split(self, blocks: Iterable[tuple[Ints, Ints, Ints]]) -> Iterator[Ints]:
        """The lane of each interval, counted through all locations."""
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

    def _take(self, location: int, start: Ints, end: Ints, lane: Ints) -> None:
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


_LARGEST_BLOCK = 10_000_000  # rows of whole locations that are held at once, unless one location alone has more


def counted(database: Database, n_intervals: int, locations: Sequence[str], **facts: Any) -> Trace:
    """A trace in which overlapping intervals count each: a location is as many lanes as its intervals need."""
    store, lanes = IntervalStore(database.source), Lanes(len(locations))
    query = f"{coded_query()} ORDER BY location, start_ns, end_ns"
    states: list[Any] = []

    def blocks() -> Iterator[tuple[Ints, Ints, Ints]]:
        for chunk in database.chunks(query, n_intervals, "laying out"):
            location, start, end = (chunk[name].astype(np.int64) for name in ("location", "start_ns", "end_ns"))
            states.append((chunk["state"], start, end))
            yield location, start, end

    for lane in lanes.split(blocks()):
        state, start, end = states.pop()
        store.add({"location": lane, "state": state, "start_ns": start, "end_ns": end})
    names = lanes.names(locations)
    if list(locations) != [""]:
        note = f"overlapping intervals count each (overlap=count): {len(locations)} locations are {len(names)} lanes"
    elif len(names) == 1:
        note = "no column names a location, and no two intervals are at once: they are on one lane"
    else:
        note = (
            f"no column names a location: each interval is on the first free of {len(names)} lanes, as many as there "
            "are at once; the curve is how many run at once, and lanes tell nothing of balance"
        )
    return store.trace(names, **{**facts, "notes": (*facts["notes"], note)})


def united(database: Database, n_intervals: int, locations: Sequence[str], **facts: Any) -> Trace:
    """A trace in which of overlapping intervals of a location the one counts that began last; see `counted`."""
    store, before, after = IntervalStore(database.source), 0, 0
    for first, last in _blocks(database):
        rows = database.columns(f"SELECT * FROM ({coded_query()}) WHERE location BETWEEN {first} AND {last}")
        location, start, end = (rows[name].astype(np.int64) for name in ("location", "start_ns", "end_ns"))
        piece, starts, ends = latest_running(location, start, end)
        before, after = before + int((end - start).sum()), after + int((ends - starts).sum())
        if len(piece):
            columns = {"location": location[piece], "state": rows["state"][piece], "start_ns": starts, "end_ns": ends}
            store.add(columns)
    share = (before - after) / before if before else 0.0
    note = (
        "of overlapping intervals of a location the one counts that began last (overlap=union): "
        f"{share:.3g} of the time in them lay within others"
    )
    trace = store.trace(locations, **{**facts, "notes": (*facts["notes"], note)})
    if after < before:
        mark_nested(trace)
    return trace


def _blocks(database: Database) -> Iterator[tuple[int, int]]:
    """First and last code of locations that together have few enough rows."""
    sizes = database.rows(
        "SELECT CAST(enum_code(CAST(location AS location_names)) AS INTEGER) AS code, count(*) "
        f"FROM {INTERVALS} GROUP BY code ORDER BY code"
    )
    first, rows = 0, 0
    for code, size in sizes:
        if rows and rows + size > _LARGEST_BLOCK:
            yield first, code - 1
            first, rows = code, 0
        rows += size
    yield first, sizes[-1][0]
