"""Overlapping intervals of one location: each on a lane of its own, or their union."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_io.tables.duck import Database
from perf_io.tables.lanes import Lanes
from perf_io.tables.tabular_trace import INTERVALS, coded_query
from perf_io.traces.interval_kernels import latest_running
from perf_io.traces.interval_store import IntervalStore
from perf_traces.nesting import mark_nested
from perfcore.data.trace import Trace


_LARGEST_BLOCK = 10_000_000  # rows of whole locations that are held at once, unless one location alone has more

Integers = npt.NDArray[np.int64]


def counted(database: Database, n_intervals: int, locations: Sequence[str], **facts: Any) -> Trace:
    """A trace in which overlapping intervals count each: a location is as many lanes as its intervals need."""
    store, lanes = IntervalStore(database.source), Lanes(len(locations))
    query = f"{coded_query()} ORDER BY location, start_ns, end_ns"
    states: list[Any] = []

    def blocks() -> Iterator[tuple[Integers, Integers, Integers]]:
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
