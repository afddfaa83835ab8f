"""Profiles of runs as one result, and as one table of measurements."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from perf_analysis.categories import NO_STATE
from perf_analysis.nested_calls import CallPaths, UnitedCalls, call_paths, counted_by_function
from perf_analysis.stretches import Stretches, marker_stretches, phase_stretches
from perf_io.traces.intervals import REPLAYED
from perf_statistics.kernels import kernel
from perf_traces.joined_trace import LazyTrace, run_of
from perf_traces.levels import level_names, parts_of
from perf_traces.messages.communication import FACT, FUNCTIONS, FunctionChanges, communication_of, sums_of
from perf_traces.nesting import BACKGROUND, is_incomplete, nesting_of
from perf_traces.options import next_step
from perf_traces.runs import REPETITIONS, symbols_of
from perf_traces.states import class_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import overlaid, with_intervals
from perfcore.base import grouped, pd
from perfcore.base.arrays import Booleans, Codes, Floats, Ints
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace
from perfcore.data.units import readable
from perfcore.reading.recognise import write
from perfcore.report import Result

By = Literal["function", "location", "rank", "phase", "marker"]

FUNCTION, PATH, STATE = "function", "path", "state"
_ARROW = "->"  # as Extra-P's files part the names of a path
_OWN = {
    *(FUNCTION, PATH, STATE, "location", "rank", "phase", "marker", "time_s", "longest_s", "all_locations_ns"),
    *("inclusive_s", "calls", "imbalance", "longest_location", "file"),
}
_INCLUSIVE = "inclusive_"  # before the column of a counter: with what callees counted
_ALIKE = 2.0  # runs of one point that differ by more are hardly repetitions

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


@dataclass(frozen=True, eq=False)
class RunProfile:
    """Times of one run; of each location the exclusive ones sum to the time that the run took."""

    functions: tuple[str, ...]  # states by name, each once, and the time in none of them
    locations: tuple[str, ...]
    parts: tuple[str, ...]  # phases or markers; one, without a name, for the whole run
    times_ns: Ints
    inclusive_ns: Ints  # with what callees take
    calls: Ints  # calls that begin there; intervals where no states are nested
    parts_ns: Ints  # duration of each part
    computing: tuple[str, ...]  # functions that count as computing
    source: str  # the trace
    notes: tuple[str, ...] = ()  # what a reader of the numbers must know
    ranks: tuple[str, ...] = ()  # the rank of each location, where it was asked for
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what was varied
    has_calls: bool = True
    counted: Mapping[str, Ints] = field(default_factory=dict)
    counted_inclusive: Mapping[str, Ints] = field(default_factory=dict)  # with their callees
    paths: CallPaths | None = None  # of a trace with calls within calls
    has_messages: bool = False  # or collectives, as its format records them

    @property
    def elapsed_ns(self) -> int:
        return int(self.parts_ns.sum())

    @property
    def total_ns(self) -> int:
        """Locations times duration, which is what all functions sum to."""
        return int(self.times_ns.sum())

    @functools.cached_property
    def by_location_ns(self) -> Ints:
        """Time of each function in each location (n_functions, n_locations)."""
        return np.asarray(self.times_ns.sum(axis=2))

    @functools.cached_property
    def by_function_ns(self) -> Ints:
        """Time of each function in all locations (n_functions,)."""
        return np.asarray(self.by_location_ns.sum(axis=1))

    @functools.cached_property
    def occurs(self) -> Booleans:
        """Which functions the run has at all (n_functions,)."""
        occurring = (self.by_function_ns > 0) | self.calls.any(axis=(1, 2))
        for counts in self.counted.values():
            occurring |= counts.any(axis=(1, 2))
        return np.asarray(occurring)

    @functools.cached_property
    def imbalance(self) -> Floats:
        """Longest over mean time of each function (n_functions,)."""
        return imbalance_of(self.by_location_ns)

    @property
    def present(self) -> frozenset[str]:
        return frozenset(name for name, occurs in zip(self.functions, self.occurs.tolist(), strict=True) if occurs)


def imbalance_of(times_ns: Ints) -> Floats:
    """The largest time over the mean time of locations; NaN where there is no time."""
    mean, ratio = times_ns.mean(axis=1), np.full(len(times_ns), np.nan)
    np.divide(times_ns.max(axis=1), mean, out=ratio, where=mean > 0)
    return ratio


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(Result):
    """Times of every function of runs of one program."""

    reporter: ClassVar[str] = "perf_analysis.profile_answers:report_of"
    json_kind: ClassVar[str] = "profile"

    runs: tuple[RunProfile, ...]  # at least one
    by: By = "function"  # split of the times, next to functions
    notes: tuple[str, ...] = ()  # of all runs together

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table, a row for each function of each run; gives what the command line says of it."""
        path = os.fspath(path)
        write(self.measurements, path)
        lines = [f"table: {path}"]
        if path.endswith(".jsonl") and self.counters:
            lines.append(f"{path} holds times alone; a file .csv or .parquet holds {', '.join(self.counters)}, too")
        if len(self) > 1 and self.by not in ("location", "rank"):
            lines.append(next_step(path, [run.parameters for run in self.runs], self.parameters))
        return lines

    def __post_init__(self) -> None:
        """Refuse runs that are no runs of one program."""
        fields = [tuple(run.parameters) for run in self.runs]
        if len(set(fields)) > 1:
            raise OptionError(f"the names of some files say {listing(fields[0])}, and those of others not")
        counted = {f"{prefix}{name}" for name in self.counters for prefix in ("", _INCLUSIVE)}
        if clashes := (_OWN | counted) & set(fields[0]):
            raise OptionError(f"--from-name: profiles have a column {min(clashes)!r}; call the field otherwise")
        _refuse_different_programs(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[RunProfile]:
        return iter(self.runs)

    def __getitem__(self, run: int) -> RunProfile:
        return self.runs[run]

    @property
    def parameters(self) -> dict[str, str]:
        """Symbols of what was varied, processors first, and their columns; of runs at one point all that is known."""
        return symbols_of([run.parameters for run in self.runs])

    @property
    def counters(self) -> tuple[str, ...]:
        """Columns of what was counted in any run."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.counted))

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions that occur in any run, those with the longest times first and no state last."""
        total: dict[str, float] = {}
        for run in self.runs:
            for name, time, occurs in zip(run.functions, run.by_function_ns.tolist(), run.occurs.tolist(), strict=True):
                if occurs:
                    total[name] = total.get(name, 0.0) + time / run.total_ns
        return tuple(sorted(total, key=lambda name: (name == NO_STATE, -total[name])))

    @property
    def measurements(self) -> Measurements:
        """The table with its roles, which `perfcore.fit` takes and `perfcore.write` writes."""
        parameters = self.runs[0].parameters.items()
        words = [name for name, value in parameters if isinstance(value, str) and name not in REPETITIONS]
        part = FUNCTION if self.by == "function" else PATH
        roles, source = self.parameters, self.source
        return Measurements(self.table(), roles, "time_s", code=words, system=(), category=part, source=source)

    @property
    def source(self) -> str:
        return self.runs[0].source if len(self.runs) == 1 else f"{len(self.runs)} traces"

    def table(self) -> pd.DataFrame:
        """Return a row for each function of each run, and of each location, rank or part."""
        functions, frames = list(self.functions), list[pd.DataFrame]()
        for number, run in enumerate(self.runs, 1):
            behind = {**({} if "run" in run.parameters else {"run": number}), "file": run.source}
            for part, name, members, parts in _groups_of(run, self.by):
                names: dict[str, Any] = {FUNCTION: functions}
                if self.by != "function":
                    paths = [f"{name}{_ARROW}{function}" for function in functions]
                    names = {PATH: paths, self.by: part, STATE: functions}
                values = _values(run, functions, members, parts)
                frames.append(pd.DataFrame({**names, **run.parameters, **values, **behind}))
        table = pd.concat(frames, ignore_index=True)
        named = FUNCTION if self.by == "function" else PATH
        amounts = table[["calls", "all_locations_ns", *self.counters]].fillna(0)
        occurs = ~(table["calls"] >= 0) | (amounts != 0).any(axis=1)
        return table.loc[table[named].isin(table.loc[occurs, named])].reset_index(drop=True)

    def remarks(self) -> list[str]:
        """What a reader of the numbers must know."""
        lines = list(self.notes)
        if len(self.runs) == 1:
            return [*lines, *self.runs[0].notes]
        lines += [f"{run.source}: {note}" for run in self.runs for note in run.notes]
        alone: dict[str, list[str]] = {}
        for name in self.functions:
            having = [run.source for run in self.runs if name in run.present]
            if len(having) == 1 and name != NO_STATE:
                alone.setdefault(having[0], []).append(name)
        lines += [f"only in {source}: {listing(names, 6)}; counted as 0 elsewhere" for source, names in alone.items()]
        for name in self.counters:
            if lacking := [run.source for run in self.runs if name not in run.counted]:
                lines.append(f"{name} have no values of {listing(lacking, 4)}")
        lines += _different_sizes(self)
        if self.by in ("phase", "marker") and len({run.parts for run in self.runs}) > 1:
            counts = listing([f"{len(run.parts)} in {run.source}" for run in self.runs], 6)
            lines.append(f"the runs have different {self.by}s: {counts}; missing ones are omitted")
        return lines

    def to_dict(self) -> dict[str, Any]:
        def parts_of(run: RunProfile) -> list[dict[str, Any]]:
            pairs = zip(run.parts, run.parts_ns.tolist(), strict=True)
            return [{"name": name, "duration_ns": duration} for name, duration in pairs if name]

        runs = [
            {"source": run.source, "parameters": dict(run.parameters), "elapsed_ns": run.elapsed_ns,
             "locations": list(run.locations), "parts": parts_of(run)}
            for run in self.runs
        ]  # fmt: skip
        return {"by": self.by, "runs": runs, "rows": self.table().to_dict("records"), "notes": self.remarks()}


def _groups_of(run: RunProfile, by: By) -> Iterator[tuple[Any, str, list[int] | None, slice]]:
    """Yield the value, name, locations and parts of each table of functions: the run, or a location, rank or part."""
    every = slice(None)
    if by == "function":
        yield None, "", None, every
    elif by in ("phase", "marker"):
        for part, name in enumerate(run.parts):
            yield part + 1 if by == "phase" else name, name, None, slice(part, part + 1)
    else:
        owners = run.locations if by == "location" else run.ranks
        for owner in dict.fromkeys(owners):
            members = [index for index, each in enumerate(owners) if each == owner]
            yield owner or "(no rank)", owner or "(no rank)", members, every


def _values(run: RunProfile, functions: Sequence[str], members: list[int] | None, parts: slice) -> dict[str, Any]:
    """Return columns of functions for some locations and parts; one of another run took no time in this one."""
    chosen: Any = slice(None) if members is None else members
    index_of = {name: index for index, name in enumerate(run.functions)}
    index = np.array([index_of.get(name, -1) for name in functions])

    def by_function(table: Any) -> Any:
        return np.where(index >= 0, table[:, chosen, parts].sum(axis=(1, 2))[index], 0)

    times_ns = run.times_ns[:, chosen, parts].sum(axis=2)
    n_locations, total = times_ns.shape[1], by_function(run.times_ns)
    columns: dict[str, Any] = {"time_s": total / n_locations / 1e9, "inclusive_s": np.nan, "calls": np.nan}
    if run.has_calls:
        columns["inclusive_s"] = by_function(run.inclusive_ns) / n_locations / 1e9
        columns["calls"] = by_function(run.calls)
    if n_locations > 1 or members is None:
        where, places = times_ns.argmax(axis=1)[index], np.arange(len(run.locations))[chosen]
        columns["longest_s"] = np.where(total > 0, times_ns[index, where], 0) / 1e9
        columns["imbalance"] = np.where(total > 0, imbalance_of(times_ns)[index], np.nan)
        columns["longest_location"] = [
            run.locations[places[place]] if time else "" for place, time in zip(where, total, strict=True)
        ]
    columns["all_locations_ns"] = total
    columns |= {name: by_function(table) for name, table in run.counted.items()}
    if run.has_calls:
        columns |= {f"{_INCLUSIVE}{name}": by_function(table) for name, table in run.counted_inclusive.items()}
    return columns


def _refuse_different_programs(runs: Sequence[RunProfile]) -> None:
    """Refuse a run that computes in nothing in which any other one does."""
    computing = [run.present & set(run.computing) for run in runs]
    for index, (run, functions) in enumerate(zip(runs, computing, strict=True)):
        others = set().union(*(names for k, names in enumerate(computing) if k != index))
        if functions and others and not functions & others:
            raise DataError(
                f"{run.source}: computes in {listing(sorted(functions), 3)} only, and the others in "
                f"{listing(sorted(others), 3)}: these are no runs of one program; profile them apart"
            )


def _different_sizes(profiles: Profiles) -> list[str]:
    """Runs of one point that took very different times."""
    notes = []
    points = (tuple(v for name, v in run.parameters.items() if name not in REPETITIONS) for run in profiles.runs)
    for runs in grouped(zip(points, profiles.runs, strict=True)).values():
        short, long = (choose(runs, key=lambda run: run.elapsed_ns) for choose in (min, max))
        if long.elapsed_ns > _ALIKE * short.elapsed_ns:
            notes.append(
                f"runs of one point took from {readable(short.elapsed_ns, 'ns')} ({short.source}) to "
                f"{readable(long.elapsed_ns, 'ns')} ({long.source}): if something was varied between them, such as the "
                "size, say it by --from-name"
            )
    return notes


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
    if isinstance(trace, LazyTrace) or nesting_of(trace) is not None:
        return trace
    try:
        communication = communication_of(trace)
    except DataError:  # of a part of a run
        return trace
    if FUNCTIONS in trace.facts and (changes := trace.facts[FUNCTIONS]()).entered.shape[1] == len(trace.locations):
        trace = _with_functions(trace, changes)
    if communication is None or not len(communication.calls) or set(communication.calls.operations) & {*trace.states}:
        return trace
    calls = communication.calls
    return overlaid(trace, (calls.location, calls.operation, calls.enter_ns, calls.leave_ns), calls.operations)


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
    if stretches is None:
        stretches = Stretches(("",), np.array(run_of(trace), np.int64), np.zeros(1, np.int64))
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
    durations = sums_of(stretches.part, np.diff(stretches.edges_ns), shape[2])
    times[place[NO_STATE]] += durations - times.sum(axis=0)
    inclusive, calls, united, paths = times, begun, None, None
    if (nesting := nesting_of(trace)) is not None:
        united = UnitedCalls(trace, nesting, function, stretches, shape)
        inclusive = united.inclusive(times, united.end_ns - united.start_ns)
        calls = begun + united.more_calls
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
        has_messages=FACT in trace.facts and "communicating" in map(class_of, trace.states),
    )  # fmt: skip


def _columns(trace: Trace) -> Generator[tuple[Columns, bool], None, None]:
    """Columns of the trace, at once or a part at a time, and whether nested states are missing from them."""
    if hasattr(trace, "database"):  # of a table that duckdb reads
        yield from _columns_on_disk(trace)
        return
    for first, part in parts_of(trace):
        location = part.location + np.int32(first) if first else part.location
        yield (location, part.state, part.start_ns, part.end_ns), is_incomplete(part)


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
        return profile_of(trace)
    ranks = level_names(trace, "process")
    if not any(ranks):
        raise DataError(f"{trace.source}: does not say of which rank its locations are; --by location takes each alone")
    return replace(profile_of(trace), ranks=ranks)
