"""A trace to the cycles of each overhead category, with completeness and orthogonality checked.

Source: M. E. Crovella and T. J. LeBlanc, "Performance Debugging Using Parallel Performance Predicates" (1993). There a
predicate is evaluated for one processor at a time; here it is split into the class of that processor's state and a
formula over the counts of all processors, so that all locations in one class share one evaluation.

Costs of n intervals: one sort of 2 n whole numbers, which is about a third of the time (more where the intervals stand
in no order), and two passes over them; some 90 more bytes for each interval. Predicates are evaluated on
the different vectors of counts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis import categories as kinds
from perf_analysis import concurrency, overhead_profile
from perf_analysis.collectives import WAITING_FOR_RANKS, Collectives, RankTimes, matched_collectives, with_waiting
from perf_analysis.groups import LEFT_OUT
from perf_io.traces.intervals import REPLAYED, UNLAUNCHED
from perf_statistics.kernels import kernel
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
_FIRST_CAPACITY = 1 << 15
_BITS = 63  # of an int64 that is not negative
_HASH_FACTOR = 1_000_003  # a prime below 2^20: with 40 bits kept, products stay within int64
_HASH_MASK = (1 << 40) - 1


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
        columns = [[getattr(part, each.name) for part in parts] for each in fields(cls)]
        by_location = (np.concatenate(column, axis=1)[:, order] for column in columns[:2])
        return cls(*by_location, *(np.sum(column, axis=0) for column in columns[2:]))


@dataclass(frozen=True)
class Division:
    """By what the time of every part of a run is divided."""

    rules: kinds.CategorySet
    names: kinds.StateClasses
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
        moments = replace(state_changes(part, self.run_ns), ready_times=steps[0], ready_index=index.astype(np.int64))
        ids, vectors = numbered(moments, names)
        counts = {name: vectors[:, d].astype(np.float64) for d, name in enumerate(names.counted)}
        counts[kinds.LOCATIONS] = np.full(len(vectors), float(len(part.locations)))
        if self.ready is not None:
            counts[kinds.READY] = values[vectors[:, -1]]
            counts[kinds.WORK_EXISTS] = (counts[kinds.READY] > 0).astype(np.float64)
        elif kinds.WORK_EXISTS in rules.variables:
            counts[kinds.WORK_EXISTS] = (counts["computing"] > 1).astype(np.float64)
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
            overhead_profile.summed(spent, single, n_categories),
            overhead_profile.summed(spent, clocks.classes, len(names.classes)),
            overhead_profile.summed(timeline[:, None], single, n_categories)[:, 0],
            overhead_profile.summed(pieces[:, None], single, n_categories)[:, 0],
        )

    def _violations(
        self, counts: Mapping[str, npt.NDArray[np.float64]], moments: Moments, ids: npt.NDArray[np.int32]
    ) -> str:
        """Which states are in no category or in several, how long, and from when on: each state as its own class."""
        rules, names = self.rules, self.names
        of_state = [names.classes[k] for k in names.class_of]
        clocks = _clocks(rules, of_state, counts, len(counts[kinds.LOCATIONS]))
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
    rules: kinds.CategorySet, class_names: Sequence[str], counts: Mapping[str, npt.NDArray[np.float64]], n_vectors: int
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


def profile_overheads(
    trace: Trace,
    categories: kinds.CategorySet | None = None,
    *,
    classes: Mapping[str, Sequence[str]] | None = None,
    ready: Any = None,
    ready_column: str | None = None,
    phase_edges_ns: Sequence[int] | None = None,
    by_marker: bool = False,
) -> overhead_profile.OverheadProfile:
    """Cycles of a run by category, location and phase."""
    rules = concurrency.usual_categories(trace) if categories is None else categories
    if isinstance(trace, SummarizedTrace):
        if ready is not None or phase_edges_ns is not None or by_marker:
            raise overhead_profile.whole_run_only(trace)
        profile, names = overhead_profile.summary_breakdown(trace, rules, classes)
        return replace(
            profile, notes=(*profile.notes, *_about_states(trace, rules, names)), untold=_untold(rules, names)
        )
    names = recorded_names = kinds.classify(trace, rules, classes)
    ranks = matched_collectives(trace, names) if kinds.WAITING in rules.classes else None
    waits = ranks is not None and ranks.start_ns.shape[1] > 0
    if waits:
        names = kinds.classify(trace, rules, classes, also=(WAITING_FOR_RANKS,))
    if kinds.READY in rules.variables and ready is None:
        raise OptionError(f"{rules.source}: a predicate needs the amount of ready work; give it with --ready SERIES")
    start, end = run_of(trace)
    inner = [] if phase_edges_ns is None else [int(edge) - start for edge in phase_edges_ns][1:-1]
    edges = np.array([0, *inner, end - start], dtype=np.int64)  # from the start of the run
    if not (np.diff(edges) > 0).all():
        phase = int(np.argmin(np.diff(edges) > 0)) + 1
        raise OptionError(f"{trace.source}: phase {phase} is empty; the edges of phases must increase within the run")
    n_bins = min(_BINS, end - start)
    stretches = concurrency.MarkedStretches.of(trace) if by_marker else None
    amount = None if ready is None else runnable_count(ready, start, end, ready_column)
    bins = np.array([(end - start) * edge // n_bins for edge in range(n_bins + 1)], dtype=np.int64)
    pieces_ns = np.zeros(1, np.int64) if stretches is None else stretches.edges_ns - start
    division = Division(rules, names, (start, end), amount, edges, bins, pieces_ns, trace.source)
    on_gpus = concurrency.devices_of(trace) is not None
    cycles, hidden, in_markers = [], [], []
    devices: list[concurrency.DeviceTimes] = []
    # Ranks come one after the other if no location needs those of other ranks.
    is_apart = not rules.variables or (on_gpus and rules.counts_over == "device")
    for first, part in parts_of(trace) if is_apart else [(0, trace)]:
        unions = concurrency.unions_of(part, recorded_names) if on_gpus else ()
        if ranks is not None and waits:
            part = with_waiting(part, ranks, first)  # noqa: PLW2901 - what is attributed of it
        if on_gpus and rules.counts_over == "device":
            places, pieces = zip(*((where, division.of(each)) for where, each in by_device(part)), strict=True)
            cycles.append(Cycles.joined(pieces, places))
        else:
            cycles.append(division.of(part))
        devices += concurrency.device_times(unions, (start, end))
        windows = edges[:-1] + start, edges[1:] + start
        overlapped = [[each.hidden(activity, *windows) for each in unions] for activity in ("communicating", "copying")]
        hidden.append(np.array(overlapped, dtype=np.int64).reshape(2, len(unions), len(edges) - 1))
        if stretches is not None:
            in_markers.append(stretches.times(cycles[-1].pieces_ns, unions))
    every = Cycles.joined(cycles)
    rank_times: tuple[RankTimes, ...] = ()
    if ranks is not None:
        computing = every.class_cycles_ns[names.classes.index("computing")].sum(axis=1)
        of_location = level_names(trace, "process")
        of_ranks = [int(computing[[name == rank for name in of_location]].sum()) for rank in ranks.ranks]
        rank_times = ranks.times(of_ranks)
    return overhead_profile.profile_of_times(
        trace, rules, names, every.cycles_ns, every.class_cycles_ns, edges + start, every.timeline_ns,
        division.bins_ns + start, (*_notes(trace, rules, names, ready is not None),
        *_about_ranks(trace, rules, names, ranks)), devices=tuple(devices), hidden_ns=np.concatenate(hidden, axis=1),
        ranks=rank_times, markers=tuple(map(concurrency.MarkerTimes.sum, zip(*in_markers, strict=True))),
        untold=_untold(rules, names),
    )  # fmt: skip


def _about_ranks(
    trace: Trace, rules: kinds.CategorySet, names: kinds.StateClasses, collectives: Collectives | None
) -> list[str]:
    if kinds.WAITING not in rules.classes:
        return []
    size = trace.facts.get("world_size")
    if collectives is None:
        if not names.states_of("communicating") and size in (None, 1):
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
    if isinstance(size, int) and size > len(collectives.ranks):
        notes.append(
            f"{len(collectives.ranks)} of {size} ranks are here: those that are not may have entered later, so that "
            "waiting for other ranks is at least the reported time"
        )
    return notes


def _untold(rules: kinds.CategorySet, names: kinds.StateClasses) -> tuple[str, ...]:
    """Categories of whose classes the trace has no state."""
    present = {name for name in names.classes if names.states_of(name)}
    return tuple(category.name for category in rules.categories if not present.intersection(category.classes))


def _notes(trace: Trace, rules: kinds.CategorySet, names: kinds.StateClasses, with_ready: bool) -> tuple[str, ...]:
    notes = []
    if kinds.WORK_EXISTS in rules.variables and with_ready:
        notes.append("work is available while the amount of ready work is above 0")
    elif kinds.WORK_EXISTS in rules.variables:
        notes.append("assumes: work is available while two or more locations compute (set with --ready)")
        if len(trace.locations) == 2:
            notes.append("assumes: idle time of one of 2 locations is insufficient parallelism, not load imbalance")
    if rules.counts_over == "device" and isinstance(trace, LocatedTrace):
        notes.append("each GPU is one location, so overlap is not visible (--locations stream shows it)")
    notes += [note for note in trace.notes if note.startswith(REPLAYED) or LEFT_OUT in note]
    notes += [f"{kinds.UNSEEN}{note}" for note in trace.notes if note.endswith(UNLAUNCHED)]
    return (*notes, *_about_states(trace, rules, names))


def _about_states(trace: Trace, rules: kinds.CategorySet, names: kinds.StateClasses) -> tuple[str, ...]:
    notes = []
    is_gpu = rules.source in (kinds.GPU.name, kinds.STREAMS.name)
    # A GPU without collectives or copies has none; only what the host does may be unrecorded.
    empty = [name for name in _untold(rules, names) if (name in _OF_HOST if is_gpu else name not in _NOTHING)]
    if empty:
        notes.append(f"{kinds.UNSEEN}{', '.join(empty)}")
    times, without = kinds.time_by_state(trace)
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


@dataclass(frozen=True)
class Moments:
    """Entries into states and exits from them, and changes of the amount of ready work."""

    times: Ints  # at one time, exits go before entries
    what: Ints  # from the lowest bit: the state, the location, 1 for an entry
    state_bits: int
    location_bits: int
    duration_ns: int  # of the run
    n_locations: int
    ready_times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    ready_index: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


def state_changes(trace: Trace, run_ns: tuple[int, int]) -> Moments:
    """Return both ends of every interval that lasts, sorted."""
    start, end = run_ns
    state_bits = len(trace.states).bit_length()  # one number more, for being in no state
    location_bits = max(len(trace.locations) - 1, 1).bit_length()
    bits = state_bits + location_bits + 1
    lasting = trace.end_ns > trace.start_ns
    keep = slice(None) if lasting.all() else lasting
    n = int(lasting.sum())
    codes = np.empty(2 * n, dtype=np.int64)
    exits, entries = codes[:n], codes[n:]
    exits[:] = trace.location[keep]
    exits <<= state_bits
    exits |= trace.state[keep]
    np.bitwise_or(exits, 1 << (bits - 1), out=entries)
    times = np.empty(2 * n, dtype=np.int64)
    np.subtract(trace.end_ns[keep], start, out=times[:n])
    np.subtract(trace.start_ns[keep], start, out=times[n:])
    run = (end - start, len(trace.locations))
    if (end - start).bit_length() + bits > _BITS:
        order = np.argsort(times, kind="stable")  # the exits stand first
        return Moments(times[order], codes[order], state_bits, location_bits, *run)
    times <<= bits
    times |= codes
    del codes, exits, entries
    # In order already but for the exits among the entries: runs, which the stable sort merges.
    times.sort(kind="stable")
    codes = times & ((1 << bits) - 1)
    times >>= bits
    return Moments(times, codes, state_bits, location_bits, *run)


# A moment is a time at which a location changes its state or the amount of ready work changes. Between two moments the
# counts that predicates look at are constant. The first pass numbers the different vectors of counts, so that each
# predicate is evaluated once for each vector; the second runs one clock for each pair of class and category, and when a
# location leaves a class it is given what the clocks of that class have gained since it entered.


@kernel(small=2 * _FIRST_CAPACITY + 1)
def number_vectors(
    times: Any, codes: Any, state_bits: int, location_bits: int, n_locations: int, member: Any, ready_times: Any,
    ready_index: Any, end: int, ids: Any, vectors: Any, table: Any,
) -> tuple[int, int]:  # fmt: skip
    """Number the vectors of counts by their first appearance."""
    n_states, n_counts = member.shape
    slots = len(table) - 1
    current = np.zeros(n_counts + 1, np.int64)
    for d in range(n_counts):
        current[d] = n_locations * member[n_states - 1, d]
    state_mask = (1 << state_bits) - 1
    entering = 1 << (state_bits + location_bits)
    n_vectors, n_moments, i, r, now = 0, 0, 0, 0, 0
    while now < end:
        while i < len(times) and times[i] <= now:
            state = codes[i] & state_mask
            sign = 1 if codes[i] & entering else -1
            for d in range(n_counts):
                current[d] += sign * (member[state, d] - member[n_states - 1, d])
            i += 1
        while r < len(ready_times) and ready_times[r] <= now:
            current[n_counts] = ready_index[r]
            r += 1
        key = 0
        for d in range(n_counts + 1):
            key = (key * _HASH_FACTOR + current[d]) & _HASH_MASK
        place = (key ^ (key >> 17)) & slots
        while True:
            number = table[place]
            if number < 0:
                if n_vectors == len(vectors):
                    return -1, n_moments
                number = n_vectors
                table[place] = number
                for d in range(n_counts + 1):  # assigning the row at once takes seconds longer to compile
                    vectors[number, d] = current[d]
                n_vectors += 1
                break
            equal = True
            for d in range(n_counts + 1):
                if vectors[number, d] != current[d]:
                    equal = False
                    break
            if equal:
                break
            place = (place + 1) & slots
        ids[n_moments] = number
        n_moments += 1
        now = end
        if i < len(times):
            now = min(now, times[i])
        if r < len(ready_times):
            now = min(now, ready_times[r])
    return n_vectors, n_moments


@kernel(small=2 * _FIRST_CAPACITY + 1)
def attribute_time(
    times: Any, codes: Any, state_bits: int, location_bits: int, class_of: Any, ids: Any, clock_of: Any,
    first_clock: Any, ready_times: Any, phase_edges: Any, bin_edges: Any, spent: Any, timeline: Any, first: Any,
) -> None:  # fmt: skip
    """Give each location the time that it spent on each clock."""
    n_locations = spent.shape[1]
    n_classes = len(first_clock) - 1
    most = 0
    for k in range(n_classes):
        most = max(most, first_clock[k + 1] - first_clock[k])
    no_state = len(class_of) - 1
    current_class = np.full(n_locations, class_of[no_state], np.int64)
    entered = np.zeros((n_locations, most), np.int64)
    clocks = np.zeros(spent.shape[2], np.int64)
    members = np.zeros(n_classes, np.int64)
    members[class_of[no_state]] = n_locations
    state_mask = (1 << state_bits) - 1
    location_mask = (1 << location_bits) - 1
    end = phase_edges[-1]
    i, r, moment, phase, bin_, now = 0, 0, 0, 0, 0, 0
    while now < end:
        while i < len(times) and times[i] <= now:
            location = (codes[i] >> state_bits) & location_mask
            state = codes[i] & state_mask if codes[i] >> (state_bits + location_bits) else no_state
            old, new = current_class[location], class_of[state]
            i += 1
            if old == new:
                continue
            for clock in range(first_clock[old], first_clock[old + 1]):
                spent[phase, location, clock] += clocks[clock] - entered[location, clock - first_clock[old]]
            for clock in range(first_clock[new], first_clock[new + 1]):
                entered[location, clock - first_clock[new]] = clocks[clock]
            current_class[location] = new
            members[old] -= 1
            members[new] += 1
        while r < len(ready_times) and ready_times[r] <= now:
            r += 1
        following = end
        if i < len(times):
            following = min(following, times[i])
        if r < len(ready_times):
            following = min(following, ready_times[r])
        vector = ids[moment]
        moment += 1
        while now < following:
            stop = min(following, phase_edges[phase + 1], bin_edges[bin_ + 1])
            for k in range(n_classes):
                if members[k]:
                    clock = clock_of[vector, k]
                    clocks[clock] += stop - now
                    timeline[bin_, clock] += members[k] * (stop - now)
                    if first[clock] < 0:
                        first[clock] = now
            now = stop
            if now == bin_edges[bin_ + 1]:
                bin_ += 1
            if now == phase_edges[phase + 1]:
                for location in range(n_locations):
                    k = current_class[location]
                    for clock in range(first_clock[k], first_clock[k + 1]):
                        slot = clock - first_clock[k]
                        spent[phase, location, clock] += clocks[clock] - entered[location, slot]
                        entered[location, slot] = clocks[clock]
                phase += 1


@dataclass(frozen=True)
class Clocks:
    """Pairs of a class and of the categories that its cycles belong to at a time: one, none, or several."""

    classes: tuple[int, ...]  # class of each clock, increasing
    categories: tuple[tuple[int, ...], ...]  # categories of each clock
    clock_of: npt.NDArray[np.int32]  # the clock that runs under each vector of counts


def numbered(moments: Moments, names: kinds.StateClasses) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return the number of the vector from each moment on, and the vectors; take more room until they fit."""
    most = len(moments.times) + len(moments.ready_times) + 1
    ids = np.empty(most, dtype=np.int32)
    capacity = _FIRST_CAPACITY
    while True:
        vectors = np.empty((min(capacity, most), len(names.counted) + 1), dtype=np.int64)
        n_vectors, n_moments = number_vectors(
            moments.times, moments.what, moments.state_bits, moments.location_bits, moments.n_locations, names.member,
            moments.ready_times, moments.ready_index, moments.duration_ns, ids, vectors,
            np.full(2 * capacity, -1, dtype=np.int32),
        )  # fmt: skip
        if n_vectors >= 0:
            return ids[:n_moments], vectors[:n_vectors]
        capacity *= 8


def attributed(
    moments: Moments, ids: npt.NDArray[np.int32], class_of: Ints, clocks: Clocks, edges: Ints, bins: Ints
) -> tuple[Ints, Ints, Ints]:
    """Time by phase, location and clock; by bin and clock; and when each clock first ran for a location."""
    n_clocks = len(clocks.classes)
    first_clock = np.searchsorted(clocks.classes, np.arange(clocks.clock_of.shape[1] + 1)).astype(np.int64)
    spent = np.zeros((len(edges) - 1, moments.n_locations, n_clocks), dtype=np.int64)
    timeline = np.zeros((len(bins) - 1, n_clocks), dtype=np.int64)
    first = np.full(n_clocks, -1, dtype=np.int64)
    attribute_time(
        moments.times, moments.what, moments.state_bits, moments.location_bits, class_of, ids, clocks.clock_of,
        first_clock, moments.ready_times, edges, bins, spent, timeline, first,
    )  # fmt: skip
    return spent, timeline, first
