"""The function behind ``perf profile``."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import NO_STATE
from perf_analysis.nested_calls import UnitedCalls, call_paths, counted_by_function
from perf_analysis.profiles import By, RunProfile
from perf_analysis.stretches import Stretches, marker_stretches, phase_stretches, whole_run
from perf_io.traces.intervals import REPLAYED
from perf_statistics.kernels import kernel
from perf_traces.joined_trace import JoinedTrace, LazyTrace
from perf_traces.levels import level_names
from perf_traces.messages.communication import FUNCTIONS, FunctionChanges, communication_of
from perf_traces.nesting import BACKGROUND, is_incomplete, merged_states, nesting_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import with_intervals
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace

Codes = npt.NDArray[np.int32]
Columns = tuple[Codes, Codes, Ints, Ints]  # location, state, start, end

_INCOMPLETE = (
    "call counts and inclusive times need one state at a time per location, from a whole trace read "
    "from one file, by stream or thread"
)
_SO_NAMED = f"{NO_STATE} (a state)"  # a state that a tracer called as what is in none is called here
_MOST_CELLS = 1 << 26  # of 16 bytes, and as many again where states are nested
_ENTERED = "entered"  # of the facts of a trace with user functions: how often each location enters each of them
_LOCATIONS, _STATES = "profiled_locations", "profiled_states"  # tables and types in a trace's database
_CODED = (("location", _LOCATIONS), ("state", _STATES))


@kernel(small=20_000)
def _add(
    location: Codes, state: Codes, start: Ints, end: Ints, function: Codes, edges: Ints, part: Ints,
    times: Ints, begun: Ints,
) -> None:  # pragma: no cover  # fmt: skip
    n_stretches, current = len(part), 0
    for row in range(len(location)):
        place, function_code = location[row], function[state[row]]
        first, last = start[row], end[row]
        if not edges[current] <= first < edges[current + 1]:
            current = min(max(np.searchsorted(edges, first, "right") - 1, 0), n_stretches - 1)
        stretch = current
        begun[function_code, place, part[stretch]] += 1
        while first < last:
            until = last if stretch == n_stretches - 1 else min(last, edges[stretch + 1])
            times[function_code, place, part[stretch]] += until - first
            first = until
            stretch += 1


def named_calls(trace: Trace) -> Trace:
    """Return a trace in which user functions, and the calls of a communication library, are states by their names.

    Paraver's states say only that a location runs or communicates. A trace whose states are calls stays as it is.
    """
    if isinstance(trace, (SummarizedTrace, JoinedTrace, LazyTrace)) or nesting_of(trace) is not None:
        return trace
    try:
        communication = communication_of(trace)
    except DataError:  # of a part of a run
        return trace
    if FUNCTIONS in trace.facts and (changes := trace.facts[FUNCTIONS]()).entered.shape[1] == len(trace.locations):
        trace = _with_functions(trace, changes)
    if communication is None or not len(communication.calls) or set(communication.calls.operations) & {*trace.states}:
        return trace
    calls, n = communication.calls, len(trace.locations)
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)])
    columns = (
        (trace.location, calls.location + np.int32(n)),
        (trace.state, calls.operation + np.int32(len(trace.states))),
        (trace.start_ns, calls.enter_ns),
        (trace.end_ns, calls.leave_ns),
    )
    rank = np.concatenate([np.where(busy, 0, 2), np.ones(len(calls.operations), np.int64)])
    merged = merged_states(*(np.concatenate(both) for both in columns), place=np.tile(np.arange(n), 2), rank=rank)
    return with_intervals(trace, merged, states=(*trace.states, *calls.operations))


def _with_functions(trace: Trace, changes: FunctionChanges) -> Trace:
    """Return a trace whose computing states are user functions, if a location is in one."""
    length = int(max(trace.end_ns.max(initial=0), changes.time_ns.max(initial=0))) + 1
    moments = changes.location * length + changes.time_ns
    location = trace.location.astype(np.int64)
    # The changes within each computing interval divide it.
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)], bool)[trace.state]
    first = np.searchsorted(moments, location * length + trace.start_ns, "right")
    behind = np.where(busy, np.searchsorted(moments, location * length + trace.end_ns, "left"), first)
    count = np.maximum(behind - first, 0) + 1
    interval = np.repeat(np.arange(len(location)), count)
    number = np.arange(len(interval)) - np.repeat(np.cumsum(count) - count, count)
    change = first[interval] + number - 1  # by which a piece begins; of the first the one before the interval
    times = np.append(changes.time_ns, 0)
    start = np.where(number > 0, times[change], trace.start_ns[interval])
    end = np.where(number < count[interval] - 1, times[np.minimum(change + 1, len(moments))], trace.end_ns[interval])
    is_own = (change >= 0) & busy[interval] & (np.append(changes.location, -1)[change] == location[interval])
    function = np.where(is_own, np.append(changes.function, -1)[change], -1)
    state = np.where(function >= 0, function + len(trace.states), trace.state[interval])
    names = tuple(f"{name} (function)" if name in trace.states else name for name in changes.names)
    entered = {_ENTERED: dict(zip(names, changes.entered, strict=True))}
    return with_intervals(
        trace, (trace.location[interval], state.astype(np.int32), start, end), states=(*trace.states, *names),
        busy_states=(*trace.busy_states, *names), facts={**trace.facts, **entered},
    )  # fmt: skip


def profile_of(trace: Trace, stretches: Stretches | None = None) -> RunProfile:
    """Exclusive and inclusive time of every function of a run, its calls, and what its counters counted."""
    trace = named_calls(trace)
    stretches = whole_run(trace) if stretches is None else stretches
    called = {state: state for state in trace.states} | ({NO_STATE: _SO_NAMED} if NO_STATE in trace.states else {})
    functions = tuple(dict.fromkeys([*(called[state] for state in trace.states), NO_STATE]))
    shape = (len(functions), len(trace.locations), len(stretches.names))
    if np.prod(shape, dtype=float) > _MOST_CELLS:
        raise DataError(
            f"{trace.source}: {shape[0]:,} functions x {shape[1]:,} locations x {shape[2]:,} parts are more than "
            f"{_MOST_CELLS:,} times; profile a part of the run or some of its locations"
        )
    place = {name: index for index, name in enumerate(functions)}
    function = np.array([place[called[name]] for name in trace.states], dtype=np.int32)
    times, begun = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    incomplete = is_incomplete(trace)
    if isinstance(trace, SummarizedTrace) and shape[2] == 1:
        times[function, :, 0], begun[function, :, 0] = (each.T for each in trace.times_and_entries())
    else:
        with contextlib.closing(_columns(trace)) as chunks:
            for columns, cut in chunks:
                _add(*columns, function, stretches.edges_ns, stretches.part, times, begun)
                incomplete |= cut
    durations = stretches.durations_ns
    times[place[NO_STATE]] += durations - times.sum(axis=0)
    inclusive, calls, united, paths = times, begun, None, None
    if (nesting := nesting_of(trace)) is not None:
        united = UnitedCalls(trace, nesting, function, stretches, shape)
        inclusive, calls = united.times(times), united.calls(begun)
        paths = call_paths(trace, nesting, function) if len(nesting) and shape[2] == 1 else None
    if (background := trace.facts.get(BACKGROUND)) in called:
        calls = calls.copy()
        calls[place[called[background]]] = 0
    for name, entered in trace.facts.get(_ENTERED, {}).items():
        calls[place[name], :, 0] = entered if shape[2] == 1 else 0
    counted = counted_by_function(trace, function, place[NO_STATE], stretches, shape, united)
    without = int((np.delete(times, place[NO_STATE], axis=0).sum(axis=(0, 2)) == 0).sum())
    notes = (*([f"{without} of the locations have no states that last"] if without else []), *counted.notes)
    notes = (*notes, *(note for note in trace.notes if note.startswith(REPLAYED)))
    return RunProfile(
        functions, trace.locations, stretches.names, times, inclusive, calls, durations,
        tuple(called[state] for state in trace.busy_states), trace.source,
        notes=(*notes, _INCOMPLETE) if incomplete else notes, has_calls=not incomplete,
        counted=counted.exclusive, counted_inclusive=counted.inclusive, paths=paths,
    )  # fmt: skip


def _columns(trace: Trace) -> Generator[tuple[Columns, bool], None, None]:
    """Columns of the trace, at once or a part at a time, and whether nested states are missing from them."""
    if hasattr(trace, "database"):  # of a table that duckdb reads
        yield from _columns_on_disk(trace)
        return
    first = 0
    for part in trace.rank_traces() if isinstance(trace, JoinedTrace) else (trace,):
        location = part.location + np.int32(first) if first else part.location
        yield (location, part.state, part.start_ns, part.end_ns), is_incomplete(part)
        first += len(part.locations)


def _columns_on_disk(trace: Any) -> Generator[tuple[Columns, bool], None, None]:
    database = trace.database
    positions: dict[str, Codes] = {}
    for table, names in ((_LOCATIONS, trace.locations), (_STATES, trace.states)):
        first = {name: index for index, name in reversed(list(enumerate(names)))}
        database.add_names(table, list(first))  # an enumeration has each name once
        positions[table] = np.array(list(first.values()), dtype=np.int32)
    try:
        codes = ", ".join(f"CAST(enum_code(CAST({name} AS {table})) AS INTEGER) AS {name}" for name, table in _CODED)
        query = f"SELECT {codes}, start_ns, end_ns FROM ({trace.query})"  # noqa: S608 - no names of the user's in it
        for chunk in database.chunks(query, trace.n_intervals, "profiling"):
            location, state = positions[_LOCATIONS][chunk["location"]], positions[_STATES][chunk["state"]]
            yield (location, state, chunk["start_ns"], chunk["end_ns"]), False
    finally:
        for _, table in _CODED:
            database.run(f"DROP TYPE IF EXISTS {table}")
            database.run(f"DROP TABLE IF EXISTS {table}")


def profile_by(trace: Trace, by: By, phases: str | int | None) -> RunProfile:
    """The profile of a run, of its phases, markers or ranks."""
    if by == "phase":
        return profile_of(trace, phase_stretches(trace, "auto" if phases is None else phases))
    if by == "marker":
        return profile_of(trace, marker_stretches(trace))
    if by != "rank":
        return profile_of(trace, whole_run(trace))
    ranks = level_names(trace, "process")
    if not any(ranks):
        raise DataError(f"{trace.source}: does not say of which rank its locations are; --by location takes each alone")
    return replace(profile_of(trace), ranks=ranks)
