"""Intervals to times by function, location and part: one pass in the order of the trace, in memory or from disk.

Each nanosecond of a location goes to the state that it is in, so what a caller spends in its callees is not its own.
An entry is a maximal interval: intervals of one state that follow one another without a gap are one, however the
tracer cut them. Readers give the time of nested states to the innermost, so a function that calls another one is
entered again when that returns; traces do not tell both from one another, and no number of calls is claimed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_profile.run_profile import NO_STATE, RunProfile
from perf_profile.stretches import Stretches, whole_run
from perf_summaries.summarized_trace import SummarizedTrace
from perf_traces.joined_trace import JoinedTrace
from perfcore.base.errors import DataError
from perfcore.base.kernels import announce_compilation, kernel
from perfcore.data.trace import Trace

__all__ = ["profile_of"]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Columns = tuple[Codes, Codes, Integers, Integers]  # location, state, start, end

_BEFORE = np.iinfo(np.int64).min
_MOST_CELLS = 1 << 26  # of 16 bytes
_BITS = 63  # of an int64 that is not negative
_LOCATIONS, _STATES = "profiled_locations", "profiled_states"  # tables and types in a trace's database
_CODED = (("location", _LOCATIONS), ("state", _STATES))


@kernel
def _add(
    location: Codes,
    state: Codes,
    start: Integers,
    end: Integers,
    function: Codes,
    edges: Integers,
    part: Integers,
    last_end: Integers,
    last_function: Codes,
    times: Integers,
    entries: Integers,
) -> bool:  # pragma: no cover
    n_stretches, here = len(part), 0
    for row in range(len(location)):
        at, what = location[row], function[state[row]]
        first, last = start[row], end[row]
        goes_on = last_end[at] == first and last_function[at] == what
        if last > first:
            if first < last_end[at]:
                return False
            last_end[at], last_function[at] = last, what
        if not edges[here] <= first < edges[here + 1]:
            here = min(max(np.searchsorted(edges, first, "right") - 1, 0), n_stretches - 1)
        stretch = here
        if not goes_on:
            entries[what, at, part[stretch]] += 1
        while first < last:
            until = last if stretch == n_stretches - 1 else min(last, edges[stretch + 1])
            times[what, at, part[stretch]] += until - first
            first = until
            stretch += 1
    return True


def profile_of(trace: Trace, stretches: Stretches | None = None) -> RunProfile:
    """Exclusive time of every function of a run.

    Parameters
    ----------
    trace : Trace
        Of one that is on disk a million intervals are in memory at a time, or those of one rank.
    stretches : Stretches, optional
        Parts of the run; by default it is one.

    Returns
    -------
    RunProfile

    Raises
    ------
    DataError
        The trace has no duration, or too many functions, locations and parts for a table of all of them.

    Examples
    --------
    >>> trace = Trace([0, 0, 1], [0, 1, 0], [0, 6, 1], [6, 9, 10], ["a", "b"], ["run", "wait"])
    >>> found = profile_of(trace)
    >>> dict(zip(found.functions, found.by_location_ns.tolist()))
    {'run': [6, 9], 'wait': [3, 0], '(no state)': [1, 1]}
    """
    stretches = whole_run(trace) if stretches is None else stretches
    functions = tuple(dict.fromkeys([*trace.states, NO_STATE]))
    shape = (len(functions), len(trace.locations), len(stretches.names))
    if np.prod(shape, dtype=float) > _MOST_CELLS:
        raise DataError(
            f"{trace.source}: {shape[0]:,} functions x {shape[1]:,} locations x {shape[2]:,} parts are more than "
            f"{_MOST_CELLS:,} times; profile a part of the run or some of its locations"
        )
    place = {name: at for at, name in enumerate(functions)}
    function = np.array([place[name] for name in trace.states], dtype=np.int32)
    announce_compilation(_add)
    summed = _summed(trace, function, stretches, shape, in_order=False)
    if summed is None:
        summed = _summed(trace, function, stretches, shape, in_order=True)
        assert summed is not None
    times, entries = summed
    durations = stretches.durations_ns
    times[place[NO_STATE]] += durations - times.sum(axis=0)
    return RunProfile(
        functions,
        trace.locations,
        stretches.names,
        times,
        entries,
        durations,
        tuple(trace.busy_states),
        trace.source,
        notes=_notes(np.delete(times, place[NO_STATE], axis=0)),
    )


def _summed(
    trace: Trace, function: Codes, stretches: Stretches, shape: tuple[int, int, int], in_order: bool
) -> tuple[Integers, Integers] | None:
    """Times and entries; None where a location's intervals are not in the order of time."""
    times, entries = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    if isinstance(trace, SummarizedTrace) and shape[2] == 1:
        times[function, :, 0], entries[function, :, 0] = (each.T for each in trace.times_and_entries())
        return times, entries
    last_end, last_function = np.full(shape[1], _BEFORE), np.full(shape[1], -1, np.int32)
    with contextlib.closing(_columns(trace, in_order)) as chunks:
        for columns in chunks:
            if not _add(
                *columns, function, stretches.edges_ns, stretches.part, last_end, last_function, times, entries
            ):
                return None
    return times, entries


def _columns(trace: Trace, in_order: bool) -> Generator[Columns, None, None]:
    """Columns of the trace, at once or a part at a time; if wanted, locations in the order of time."""
    from perf_io.tables.tabular_trace import TabularTrace

    if isinstance(trace, TabularTrace):
        yield from _columns_on_disk(trace, in_order)
        return
    first = 0
    for part in trace.rank_traces() if isinstance(trace, JoinedTrace) else (trace,):
        columns = (part.location, part.state, part.start_ns, part.end_ns)
        if in_order:
            order = _order(part)
            columns = (part.location[order], part.state[order], part.start_ns[order], part.end_ns[order])
        yield columns[0] + np.int32(first) if first else columns[0], *columns[1:]
        first += len(part.locations)


def _order(trace: Trace) -> Integers:
    """By location and start; what lasts comes after what does not."""
    lasts = trace.end_ns > trace.start_ns
    first, last = int(trace.start_ns.min()), int(trace.start_ns.max())
    bits = (last - first).bit_length() + 1
    if bits + len(trace.locations).bit_length() > _BITS:
        return np.lexsort((lasts, trace.start_ns, trace.location))
    key = trace.location.astype(np.int64)
    key <<= bits
    key |= (trace.start_ns - first) << 1
    key |= lasts
    return np.argsort(key)  # of one number, which takes a tenth of the time of three


def _columns_on_disk(trace: Any, in_order: bool) -> Generator[Columns, None, None]:
    database = trace.database
    positions: dict[str, Codes] = {}
    for table, names in ((_LOCATIONS, trace.locations), (_STATES, trace.states)):
        first = {name: at for at, name in reversed(list(enumerate(names)))}
        database.add_names(table, list(first))  # an enumeration has each name once
        positions[table] = np.array(list(first.values()), dtype=np.int32)
    try:
        codes = ", ".join(f"CAST(enum_code(CAST({name} AS {table})) AS INTEGER) AS {name}" for name, table in _CODED)
        query = f"SELECT {codes}, start_ns, end_ns FROM ({trace.query})"  # noqa: S608 - no names of the user's in it
        if in_order:
            query += " ORDER BY location, start_ns, end_ns > start_ns"
        for chunk in database.chunks(query, trace.n_intervals, "profiling"):
            location, state = positions[_LOCATIONS][chunk["location"]], positions[_STATES][chunk["state"]]
            yield location, state, chunk["start_ns"], chunk["end_ns"]
    finally:
        for _, table in _CODED:
            database.run(f"DROP TYPE IF EXISTS {table}")
            database.run(f"DROP TABLE IF EXISTS {table}")


def _notes(times: Integers) -> tuple[str, ...]:
    without = int((times.sum(axis=(0, 2)) == 0).sum())
    return (f"{without} of the locations have no states that last",) if without else ()
