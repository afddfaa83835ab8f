"""The function behind ``perf profile``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.inclusive_times import UnitedCalls, counted_by_function
from perf_analysis.messages import read_trace
from perf_analysis.profiles import NO_STATE, By, Profiles, RunProfile
from perf_analysis.stretches import Stretches, marker_stretches, phase_stretches, whole_run
from perf_traces.joined_trace import JoinedTrace
from perf_traces.levels import level_names
from perf_traces.nesting import BACKGROUND, is_incomplete, nesting_of
from perf_traces.ranks import RANK
from perf_traces.runs import Named, Read, parameters_of_run, runs_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError, OptionError
from perfcore.base.kernels import announce_compilation, kernel
from perfcore.data.trace import Trace
from perfcore.reading.many_files import NamePattern

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Columns = tuple[Codes, Codes, Integers, Integers]  # location, state, start, end

_INCOMPLETE = (
    "of several states at one time one is kept here: calls and inclusive times are told of a whole trace that is read "
    "from one file, by stream or thread"
)
_SO_NAMED = f"{NO_STATE} (a state)"  # a state that a tracer called as what is in none is called here
_MOST_CELLS = 1 << 26  # of 16 bytes, and as many again where states are nested
_LOCATIONS, _STATES = "profiled_locations", "profiled_states"  # tables and types in a trace's database
_CODED = (("location", _LOCATIONS), ("state", _STATES))


@kernel
def _add(
    location: Codes, state: Codes, start: Integers, end: Integers, function: Codes, edges: Integers, part: Integers,
    times: Integers, begun: Integers,
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


def profile_of(trace: Trace, stretches: Stretches | None = None) -> RunProfile:
    """Exclusive and inclusive time of every function of a run, its calls, and what its counters counted."""
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
    announce_compilation(_add)
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
    inclusive, calls, united = times, begun, None
    if (nesting := nesting_of(trace)) is not None:
        united = UnitedCalls(trace, nesting, function, stretches, shape)
        inclusive, calls = united.times(times), united.calls(begun)
    if (background := trace.facts.get(BACKGROUND)) in called:
        calls = calls.copy()
        calls[place[called[background]]] = 0
    counted = counted_by_function(trace, function, place[NO_STATE], stretches, shape, united)
    without = int((np.delete(times, place[NO_STATE], axis=0).sum(axis=(0, 2)) == 0).sum())
    notes = (*([f"{without} of the locations have no states that last"] if without else []), *counted.notes)
    return RunProfile(
        functions, trace.locations, stretches.names, times, inclusive, calls, durations,
        tuple(called[state] for state in trace.busy_states), trace.source,
        notes=(*notes, _INCOMPLETE) if incomplete else notes, has_calls=not incomplete,
        counted=counted.exclusive, counted_inclusive=counted.inclusive,
    )  # fmt: skip


def _columns(trace: Trace) -> Generator[tuple[Columns, bool], None, None]:
    """Columns of the trace, at once or a part at a time, and whether nested states are missing from them."""
    from perf_io.tables.tabular_trace import TabularTrace

    if isinstance(trace, TabularTrace):
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


def profile(
    traces: Named | Trace | Sequence[Named | Trace],
    *,
    by: By | None = None,
    phases: str | int | None = None,
    from_name: str | None = None,
    files: str = "auto",
    read: Read = read_trace,
) -> Profiles:
    """Time and calls of every function of one or several runs.

    Take it to see where the time of a run goes, function by function, and to find the law of each: the fitters
    `scaling`, `lca` and `modgen` take its `measurements`, and the files that `perfcore.write` makes of them.

    Parameters
    ----------
    traces : Trace, str or path, or a sequence of them
        Runs of one program, which are read one at a time. A folder or a pattern is as many runs as it has files, or one
        run where they are its ranks.
    by : {"function", "location", "rank", "phase", "marker"}, optional
        What times are summed up for beside functions; by default functions only, or phases where there are any.
    phases : int or str, optional
        A number, a range such as ``"1..20"``, ``"auto"``, or the model file of the only trace.
    from_name : str, optional
        What the names of the files say, as ``"run_p{p:int}.prv"``; without a number of processors there, ``p`` is the
        number of locations.
    files : {"auto", "ranks", "runs"}
        Whether the files of a folder or a pattern are the ranks of one run; by default as they or their names say.
    read : callable, optional
        Reads files; takes a path and the wanted types, as `perfcore.read` does by default.

    Returns
    -------
    Profiles

    Raises
    ------
    OptionError
        Options do not go together, or nothing says what was varied.
    DataError
        A file holds no trace; a trace has no duration, or no markers or ranks where these are wanted; or runs have
        nothing in common.
    InputError
        A file cannot be read, or its name is another than the pattern.

    Examples
    --------
    >>> runs = [Trace([0] * 2, [0, 1], [0, 8 // p], [8 // p, 9], ["a"], ["solve", "wait"]) for p in (1, 2)]
    >>> profile(runs).to_frame()[["function", "p", "all_locations_ns", "calls"]].to_string(index=False).splitlines()
    ... # doctest: +NORMALIZE_WHITESPACE
    ['function  p  all_locations_ns  calls', '   solve  1                 8      1',
     '    wait  1                 1      1', '   solve  1                 4      1',
     '    wait  1                 5      1']
    """
    sources = [traces] if isinstance(traces, (str, os.PathLike, Trace)) else list(traces)
    if not sources:
        raise OptionError("there is no trace; give one or several")
    chosen = by or ("function" if phases is None else "phase")
    if phases is not None and chosen != "phase":
        raise OptionError(f"--phases is what --by phase takes, not --by {chosen}; leave out one of them")
    phase_spec = None if chosen != "phase" else "auto" if phases is None else phases
    pattern = None if from_name is None else NamePattern(from_name)
    is_file = isinstance(phase_spec, str) and phase_spec.lower().endswith(".json")
    runs: list[RunProfile] = []
    ranks: list[Mapping[str, Any]] = []
    for trace, fields in runs_of(sources, pattern, files, read):
        if is_file and runs:
            raise OptionError(
                f"--phases {phase_spec}: the phases of a model are those of one trace; give one, or a number"
            )
        runs.append(replace(_profile(trace, chosen, phase_spec), parameters=parameters_of_run(trace, fields)))
        ranks.append(trace.facts)
    numbers, sizes = {facts.get(RANK) for facts in ranks}, {facts.get("world_size") for facts in ranks}
    if len(numbers) != len(runs) or None in numbers or len(sizes) > 1 or sizes <= {None, 1} or len(runs) < 2:
        return Profiles(tuple(runs), chosen)
    note = "the files say that they are ranks of one run: give their folder, or a quoted pattern, to profile it as one"
    return Profiles(tuple(runs), chosen, (note,))


def _profile(trace: Trace, by: By, phases: str | int | None) -> RunProfile:
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
