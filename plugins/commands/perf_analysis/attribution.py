"""A trace to the cycles of each overhead category, with completeness and orthogonality checked.

Source: M. E. Crovella and T. J. LeBlanc, "Performance Debugging Using Parallel Performance Predicates" (1993). There a
predicate is evaluated for one processor at a time; here it is split into the class of that processor's state and a
formula over the counts of all processors, so that all locations in one class share one evaluation.

Costs of n intervals: one sort of 2 n whole numbers, which is about a third of the time (more where the intervals stand
in no order), and two passes over them; some 90 more bytes for each interval. Predicates are evaluated on
the different vectors of counts only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import (
    GPU,
    LOCATIONS,
    READY,
    STREAMS,
    UNSEEN,
    WAITING,
    WORK_EXISTS,
    CategorySet,
    StateClasses,
    classify,
    time_by_state,
)
from perf_analysis.collectives import WAITING_FOR_RANKS, Collectives, RankTimes, matched_collectives, with_waiting
from perf_analysis.concurrency import (
    DeviceTimes,
    MarkedStretches,
    MarkerTimes,
    device_times,
    devices_of,
    unions_of,
    usual_categories,
)
from perf_analysis.groups import LEFT_OUT
from perf_analysis.moments import Clocks, Moments, attributed, numbered, state_events
from perf_analysis.overhead_profile import OverheadProfile, profile_of_times, summary_breakdown, whole_run_only
from perf_io.traces.intervals import REPLAYED, UNLAUNCHED
from perf_traces.joined_trace import no_interval, positions, run_of
from perf_traces.levels import LocatedTrace, level_names, parts_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import with_intervals
from perf_views.names import short_name
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, readable

_BINS = 240  # of the plot over time
_OF_HOST = ("waiting for the host", "launched, not started")  # categories that need the host's calls
_NOTHING = ("other", "not running")  # categories that nobody misses


def runnable_count(
    data: Any, start_ns: int, end_ns: int, column: str | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Times and values of the steps."""
    if isinstance(data, UtilizationCurve):
        times, values = data.edges[:-1], data.heights
    elif not isinstance(data, Series):
        raise DataError(f"{type(data).__name__} is no series of the amount of ready work; give times and values")
    elif column is None and len(data.columns) > 1:
        raise OptionError(f"{data.source}: name the column of ready work: {listing(data.columns)}")
    elif column is not None and column not in data.columns:
        raise UnknownNameError("column", column, data.columns)
    else:
        times, values = data.times, data.columns[column or next(iter(data.columns))]
    factor = nanoseconds_per(data.time_unit)
    times_ns = times * factor if times.dtype.kind == "i" else np.rint(times * factor).astype(np.int64)
    is_late = times_ns[0] > start_ns
    if is_late or (times_ns[-1] < start_ns and len(times_ns) > 1):
        known = f"from {times_ns[0]} ns on" if is_late else f"until {times_ns[-1]} ns"
        raise DataError(
            f"{data.source}: the amount of ready work is known {known}, but the run starts at {start_ns} ns; give a "
            "series that begins before the run, on the clock of the trace"
        )
    first = int(np.searchsorted(times_ns, start_ns, side="right")) - 1
    times_ns, values = times_ns[first:], values[first:]
    inside = times_ns < end_ns
    times_ns, values = times_ns[inside], values[inside]
    if np.isnan(values).any():
        missing = int(times_ns[int(np.argmax(np.isnan(values)))])
        raise DataError(f"{data.source}: the amount of ready work is missing at {missing} ns; fill the gap")
    return np.maximum(times_ns - start_ns, 0), values


@dataclass(frozen=True)
class Cycles:
    """Time of some locations, in nanoseconds."""

    cycles_ns: Ints
    class_cycles_ns: Ints
    timeline_ns: Ints  # of all locations together
    pieces_ns: Ints  # between the edges of markers, of all locations together

    @classmethod
    def joined(cls, parts: Sequence[Cycles], places: Sequence[Ints] | None = None) -> Cycles:
        """Those of several parts, one behind the other, or at their places among all of them."""
        order = slice(None) if places is None else np.argsort(np.concatenate(places))
        columns = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        by_location = (np.concatenate(column, axis=1)[:, order] for column in columns[:2])
        return cls(*by_location, *(np.sum(column, axis=0) for column in columns[2:]))


@dataclass(frozen=True)
class Division:
    """By what the time of every part of a run is divided."""

    rules: CategorySet
    names: StateClasses
    run_ns: tuple[int, int]  # start and end of the run on the clock of the trace
    ready: tuple[Ints, npt.NDArray[np.float64]] | None
    edges_ns: Ints
    bins_ns: Ints
    pieces_ns: Ints
    source: str  # for messages

    def of(self, part: Trace) -> Cycles:
        """The time of the locations of a trace, whose predicates count these locations."""
        rules, names = self.rules, self.names
        steps = (np.zeros(0, np.int64), np.zeros(0)) if self.ready is None else self.ready
        values, index = np.unique(steps[1], return_inverse=True)
        moments = Moments(state_events(part, self.run_ns), steps[0], index.astype(np.int64), len(part.locations))
        ids, vectors = numbered(moments, names)
        counts = {name: vectors[:, d].astype(np.float64) for d, name in enumerate(names.counted)}
        counts[LOCATIONS] = np.full(len(vectors), float(len(part.locations)))
        if self.ready is not None:
            counts[READY] = values[vectors[:, -1]]
            counts[WORK_EXISTS] = (counts[READY] > 0).astype(np.float64)
        elif WORK_EXISTS in rules.variables:
            counts[WORK_EXISTS] = (counts["computing"] > 1).astype(np.float64)
        clocks = _clocks(rules, names.classes, counts, len(vectors))
        spent, timeline, _ = attributed(moments, ids, names.class_of, clocks, self.edges_ns, self.bins_ns)
        if any(len(group) != 1 and spent[:, :, clock].any() for clock, group in enumerate(clocks.categories)):
            raise DataError(self._violations(counts, moments, ids))
        single = [group[0] if len(group) == 1 else -1 for group in clocks.categories]
        n_categories = len(rules.categories)
        pieces = np.zeros((0, len(clocks.classes)), np.int64)
        if len(self.pieces_ns) > 1:
            _, pieces, _ = attributed(moments, ids, names.class_of, clocks, self.edges_ns, self.pieces_ns)
        return Cycles(
            _summed(spent, single, n_categories),
            _summed(spent, clocks.classes, len(names.classes)),
            _summed(timeline[:, None], single, n_categories)[:, 0],
            _summed(pieces[:, None], single, n_categories)[:, 0],
        )

    def _violations(
        self, counts: Mapping[str, npt.NDArray[np.float64]], moments: Moments, ids: npt.NDArray[np.int32]
    ) -> str:
        """Which states are in no category or in several, how long, and from when on: each state as its own class."""
        rules, names = self.rules, self.names
        of_state = [names.classes[k] for k in names.class_of]
        clocks = _clocks(rules, of_state, counts, len(counts[LOCATIONS]))
        run_edges_ns = self.edges_ns[[0, -1]]
        spent, _, first = attributed(moments, ids, np.arange(len(names.states)), clocks, run_edges_ns, run_edges_ns)
        lines = []
        for i, group in enumerate(clocks.categories):
            duration = int(spent[:, :, i].sum())
            if len(group) == 1 or not duration:
                continue
            where = " and ".join(f"{rules.categories[g].name!r}" for g in group)
            place = f"in {len(group)} categories, {where}," if group else "in no category"
            lines.append(
                f"state {names.states[clocks.classes[i]]!r} (class {of_state[clocks.classes[i]]}) is {place} for "
                f"{readable(duration, 'ns')}, first at {int(first[i]) + self.run_ns[0]} ns"
            )
        return (
            f"{self.source}: the categories of {rules.source} are not complete and orthogonal: "
            f"{'; '.join(lines)}; change `when` so that one holds at a time"
        )


def by_device(trace: Trace) -> Iterator[tuple[Ints, Trace]]:
    """The streams of each GPU, with their positions among all; a location that is a GPU stands alone."""
    devices = trace.locations if isinstance(trace, LocatedTrace) else level_names(trace, "device")
    distinct = dict.fromkeys(devices)
    if len(distinct) == 1:
        yield np.arange(len(devices)), trace
        return
    for device in distinct:
        places = np.flatnonzero([device == each for each in devices])
        of_device = positions(places.tolist(), len(devices))[trace.location]
        rows = np.flatnonzero(of_device >= 0)
        columns = of_device[rows], trace.state[rows], trace.start_ns[rows], trace.end_ns[rows]
        names = [trace.locations[place] for place in places.tolist()]
        columns = columns if len(rows) else no_interval(trace.span_ns[0])
        yield places, with_intervals(trace, columns, locations=names, levels={})


def _clocks(
    rules: CategorySet, class_names: Sequence[str], counts: Mapping[str, npt.NDArray[np.float64]], n_vectors: int
) -> Clocks:
    """Which categories each class belongs to under each vector; one class may come several times."""
    holds = [
        np.ones(n_vectors, dtype=bool) if category.predicate is None else category.predicate.evaluate(counts) != 0
        for category in rules.categories
    ]
    owners: list[int] = []
    groups: list[tuple[int, ...]] = []
    clock_of = np.empty((n_vectors, len(class_names)), dtype=np.int32)
    for k, name in enumerate(class_names):
        taking = [g for g, category in enumerate(rules.categories) if name in category.classes]
        bits = np.zeros(n_vectors, dtype=np.int64)
        for g in taking:
            bits |= holds[g].astype(np.int64) << g
        distinct, number = np.unique(bits, return_inverse=True)
        clock_of[:, k] = len(owners) + number
        owners += [k] * len(distinct)
        groups += [tuple(g for g in taking if int(mask) >> g & 1) for mask in distinct]
    return Clocks(tuple(owners), tuple(groups), clock_of)


def _summed(spent: Ints, owner: Sequence[int], n_owners: int) -> Ints:
    """Time (n_phases, n_locations, n_clocks) as (n_owners, n_locations, n_phases), summed over each owner's clocks."""
    result = np.zeros((n_owners, spent.shape[1], spent.shape[0]), dtype=np.int64)
    for clock, row in enumerate(owner):
        if row >= 0:
            result[row] += spent[:, :, clock].T
    return result


def profile_overheads(
    trace: Trace,
    categories: CategorySet | None = None,
    *,
    classes: Mapping[str, Sequence[str]] | None = None,
    ready: Any = None,
    ready_column: str | None = None,
    phase_edges_ns: Sequence[int] | None = None,
    by_marker: bool = False,
) -> OverheadProfile:
    """Cycles of a run by category, location and phase."""
    rules = usual_categories(trace) if categories is None else categories
    if isinstance(trace, SummarizedTrace):
        if ready is not None or phase_edges_ns is not None or by_marker:
            raise whole_run_only(trace)
        profile, names = summary_breakdown(trace, rules, classes)
        return replace(
            profile, notes=(*profile.notes, *_about_states(trace, rules, names)), untold=_untold(rules, names)
        )
    names = recorded_names = classify(trace, rules, classes)
    ranks = matched_collectives(trace, names) if WAITING in rules.classes else None
    waits = ranks is not None and ranks.start_ns.shape[1] > 0
    if waits:
        names = classify(trace, rules, classes, also=(WAITING_FOR_RANKS,))
    if READY in rules.variables and ready is None:
        raise OptionError(f"{rules.source}: a predicate needs the amount of ready work; give it with --ready SERIES")
    start, end = run_of(trace)
    inner = [] if phase_edges_ns is None else [int(edge) - start for edge in phase_edges_ns][1:-1]
    edges = np.array([0, *inner, end - start], dtype=np.int64)  # from the start of the run
    if not (np.diff(edges) > 0).all():
        phase = int(np.argmin(np.diff(edges) > 0)) + 1
        raise OptionError(f"{trace.source}: phase {phase} is empty; the edges of phases must increase within the run")
    n_bins = min(_BINS, end - start)
    stretches = MarkedStretches.of(trace) if by_marker else None
    amount = None if ready is None else runnable_count(ready, start, end, ready_column)
    bins = np.array([(end - start) * edge // n_bins for edge in range(n_bins + 1)], dtype=np.int64)
    pieces_ns = np.zeros(1, np.int64) if stretches is None else stretches.edges_ns - start
    division = Division(rules, names, (start, end), amount, edges, bins, pieces_ns, trace.source)
    on_gpus = devices_of(trace) is not None
    cycles, hidden, in_markers = [], [], []
    devices: list[DeviceTimes] = []
    for first, part in _parts(trace, rules, on_gpus):
        unions = unions_of(part, recorded_names) if on_gpus else ()
        if ranks is not None and waits:
            part = with_waiting(part, ranks, first)  # noqa: PLW2901 - what is attributed of it
        if on_gpus and rules.counts_over == "device":
            places, pieces = zip(*((where, division.of(each)) for where, each in by_device(part)), strict=True)
            cycles.append(Cycles.joined(pieces, places))
        else:
            cycles.append(division.of(part))
        devices += device_times(unions, (start, end))
        windows = edges[:-1] + start, edges[1:] + start
        overlapped = [[each.hidden(activity, *windows) for each in unions] for activity in ("communicating", "copying")]
        hidden.append(np.array(overlapped, dtype=np.int64).reshape(2, len(unions), len(edges) - 1))
        if stretches is not None:
            in_markers.append(stretches.times(cycles[-1].pieces_ns, unions))
    every = Cycles.joined(cycles)
    return profile_of_times(
        trace, rules, names, every.cycles_ns, every.class_cycles_ns, edges + start, every.timeline_ns,
        division.bins_ns + start, (*_notes(trace, rules, names, ready is not None),
        *_about_ranks(trace, rules, names, ranks)), devices=tuple(devices), hidden_ns=np.concatenate(hidden, axis=1),
        ranks=_ranks(trace, ranks, every.class_cycles_ns, names),
        markers=tuple(map(MarkerTimes.sum, zip(*in_markers, strict=True))), untold=_untold(rules, names),
    )  # fmt: skip


def _parts(trace: Trace, rules: CategorySet, on_gpus: bool) -> Iterable[tuple[int, Trace]]:
    """The ranks one after the other where no location needs those of other ranks; else the trace as it is."""
    if not rules.variables or (on_gpus and rules.counts_over == "device"):
        return parts_of(trace)
    return [(0, trace)]


def _ranks(
    trace: Trace, collectives: Collectives | None, class_cycles_ns: Ints, names: StateClasses
) -> tuple[RankTimes, ...]:
    if collectives is None:
        return ()
    computing, of_location = (
        class_cycles_ns[names.classes.index("computing")].sum(axis=1),
        level_names(trace, "process"),
    )
    return collectives.times(
        [int(computing[[name == rank for name in of_location]].sum()) for rank in collectives.ranks]
    )


def _about_ranks(trace: Trace, rules: CategorySet, names: StateClasses, collectives: Collectives | None) -> list[str]:
    if WAITING not in rules.classes:
        return []
    if collectives is None:
        if not names.states_of("communicating") and trace.facts.get("world_size") in (None, 1):
            return []
        return ["waiting for other ranks is seen in a run of several ranks only: read all their files as one run"]
    notes = []
    if collectives.n_unmatched:
        one = collectives.n_unmatched == 1
        who = "1 call of a collective that runs" if one else f"{collectives.n_unmatched} calls of collectives that run"
        notes.append(
            f"{who} on some ranks only, or not at once, {'counts' if one else 'count'} as communication: "
            f"{listing(collectives.unmatched, 4)}"
        )
    size = trace.facts.get("world_size")
    if isinstance(size, int) and size > len(collectives.ranks):
        notes.append(
            f"{len(collectives.ranks)} of {size} ranks are here: those that are not may have entered later, so that "
            "waiting for other ranks is at least the reported time"
        )
    return notes


def _untold(rules: CategorySet, names: StateClasses) -> tuple[str, ...]:
    """Categories of whose classes the trace has no state."""
    present = {name for name in names.classes if names.states_of(name)}
    return tuple(category.name for category in rules.categories if not present.intersection(category.classes))


def _notes(trace: Trace, rules: CategorySet, names: StateClasses, with_ready: bool) -> tuple[str, ...]:
    notes = []
    if WORK_EXISTS in rules.variables:
        if with_ready:
            notes.append("work is available while the amount of ready work is above 0")
        else:
            notes.append("assumes: work is available while two or more locations compute (set with --ready)")
            if len(trace.locations) == 2:
                notes.append("of 2 locations none is idle while two compute, so no load imbalance is seen")
    if rules.counts_over == "device" and isinstance(trace, LocatedTrace):
        notes.append("each GPU is one location, so overlap is not visible (--locations stream shows it)")
    notes += [note for note in trace.notes if note.startswith(REPLAYED) or LEFT_OUT in note]
    notes += [f"{UNSEEN}{note}" for note in trace.notes if note.endswith(UNLAUNCHED)]
    return (*notes, *_about_states(trace, rules, names))


def _about_states(trace: Trace, rules: CategorySet, names: StateClasses) -> tuple[str, ...]:
    notes = []
    is_gpu = rules.source in (GPU.name, STREAMS.name)
    # A GPU without collectives or copies has none; only what the host does may be unrecorded.
    empty = [name for name in _untold(rules, names) if (name in _OF_HOST if is_gpu else name not in _NOTHING)]
    if empty:
        notes.append(f"{UNSEEN}{', '.join(empty)}")
    times, without = time_by_state(trace)
    by_time = [trace.states[index] for index in np.argsort(-times, kind="stable").tolist() if times[index]]
    unnamed = list(dict.fromkeys(short_name(state) for state in by_time if state in names.unnamed))
    if unnamed and not is_gpu:  # kernels compute
        notes.append(
            f"assumes: unclassified states are {rules.computing_states}: {listing(unnamed, 4)} (set with --class)"
        )
    if names.unmet:
        notes.append(f"--class: no state fits {listing(map(repr, names.unmet), 6)}")
    if without:
        notes.append(f"{without} of the locations have no states at all")
    return tuple(notes)
