"""A trace to the cycles of each overhead category, with completeness and orthogonality checked.

Source: M. E. Crovella and T. J. LeBlanc, "Performance Debugging Using Parallel Performance Predicates" (1993). There a
predicate is evaluated for one processor at a time; here it is split into the class of that processor's state and a
formula over the counts of all processors, so that all locations in one class share one evaluation.

Costs of n intervals: one sort of 2 n whole numbers, which is about a third of the time (more where the intervals stand
in no order), and two passes over them; some 90 bytes for each interval beside the trace. Predicates are evaluated on
the different vectors of counts only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_overheads.category_set import (
    GPU,
    LOCATIONS,
    READY,
    STANDARD,
    STREAMS,
    WORK_EXISTS,
    CategorySet,
    read_categories,
)
from perf_overheads.collectives import Collectives, RankTimes, matched_collectives, with_waiting
from perf_overheads.devices import Unions, device_times, devices_of, unions_of
from perf_overheads.events import Events, run_of, state_events
from perf_overheads.in_markers import MarkerTimes, Stretches
from perf_overheads.passes import Clocks, Moments, attributed, numbered
from perf_overheads.profile import OverheadProfile
from perf_overheads.ready_work import ready_steps
from perf_overheads.state_classes import StateClasses, classify
from perf_traces.levels import LocatedTrace, level_names
from perf_views.function_names import short_name
from perfcore.base.errors import DataError, OptionError, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable

__all__ = ["profile_overheads", "usual_categories"]

Integers = npt.NDArray[np.int64]

_WAITING = "waiting_for_ranks"  # the class that a set has which tells waiting in collectives
_BINS = 240  # of the picture over time


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
    """Cycles of a run by category, location and phase.

    Parameters
    ----------
    trace : Trace
    categories : CategorySet, optional
        By default the standard set, or, where the locations are GPUs or their streams, the set for these.
    classes : mapping of str to sequence of str, optional
        Further patterns of state names by class, which go before those of the set.
    ready : Series or UtilizationCurve, optional
        How much work waits to be done, on the clock of the trace.
    ready_column : str, optional
        Which column of ``ready``.
    phase_edges_ns : sequence of int, optional
        Where phases begin and end, increasing, on the clock of the trace; the outermost are moved to the run's start
        and end. By default the whole run is one phase.
    by_marker : bool
        Also tell the cycles within the trace's markers, by name.

    Returns
    -------
    OverheadProfile
        Every nanosecond of every location is in exactly one category.

    Raises
    ------
    DataError
        A state is in no class, in no category or in two, or the trace lacks what a predicate needs.
    OptionError
        The predicates need the amount of ready work, or a phase is empty.
    UnknownNameError
        A predicate or ``classes`` uses a name that there is not.

    Examples
    --------
    >>> trace = Trace([0, 1, 1], [0, 0, 1], [0, 0, 6], [10, 6, 9], ["a", "b"], ["run", "wait"])
    >>> profile = profile_overheads(trace)
    >>> dict(zip(profile.categories, profile.by_category_ns.tolist())) | {"elapsed": profile.elapsed_ns}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'pure computation': 16, 'load imbalance': 0, 'insufficient parallelism': 1, 'synchronization loss': 3,
     'communication loss': 0, 'input and output': 0, 'resource contention': 0, 'runtime overhead': 0,
     'not running': 0, 'other': 0, 'elapsed': 10}
    """
    rules = usual_categories(trace) if categories is None else categories
    devices = devices_of(trace) if rules.counts_over == "device" else None
    if devices and len(set(devices)) > 1:
        return _device_by_device(trace, rules, devices, classes, phase_edges_ns, by_marker)
    names = classify(trace, rules, classes)
    unions, ranks = unions_of(trace, names), None
    if _WAITING in rules.classes and (ranks := matched_collectives(trace, names)) is not None:
        trace = with_waiting(trace, ranks)
        names = classify(trace, rules, classes)
    if READY in rules.variables and ready is None:
        raise OptionError(f"{rules.source}: a predicate needs the amount of ready work; give it with --ready SERIES")
    events = state_events(trace)
    elapsed = events.end_ns - events.start_ns
    steps = (
        (np.zeros(0, np.int64), np.zeros(0))
        if ready is None
        else ready_steps(ready, events.start_ns, events.end_ns, ready_column)
    )
    values, index = np.unique(steps[1], return_inverse=True)
    moments = Moments(events, steps[0], index.astype(np.int64), len(trace.locations))
    ids, vectors = numbered(moments, names)
    counts = {name: vectors[:, d].astype(np.float64) for d, name in enumerate(names.counted)}
    counts[LOCATIONS] = np.full(len(vectors), float(len(trace.locations)))
    if ready is not None:
        counts[READY] = values[vectors[:, -1]]
        counts[WORK_EXISTS] = (counts[READY] > 0).astype(np.float64)
    elif WORK_EXISTS in rules.variables:
        counts[WORK_EXISTS] = (counts["computing"] > 1).astype(np.float64)
    clocks = _clocks(rules, names.classes, counts, len(vectors))
    edges = _phase_edges(phase_edges_ns, events, trace.source)
    bins = np.array([elapsed * at // min(_BINS, elapsed) for at in range(min(_BINS, elapsed) + 1)], dtype=np.int64)
    spent, timeline, _ = attributed(moments, ids, names.class_of, clocks, edges, bins)
    wrong = [at for at, group in enumerate(clocks.categories) if len(group) != 1 and spent[:, :, at].any()]
    if wrong:
        raise DataError(_violations(trace, rules, names, counts, moments, ids))
    single = [group[0] if len(group) == 1 else -1 for group in clocks.categories]
    n_categories = len(rules.categories)
    stretches = Stretches.of(trace) if by_marker else None
    in_markers: tuple[MarkerTimes, ...] = ()
    if stretches is not None:
        _, pieces, _ = attributed(moments, ids, names.class_of, clocks, edges, stretches.edges_ns - events.start_ns)
        in_markers = stretches.times(_summed(pieces[:, None], single, n_categories)[:, 0], unions)
    class_cycles = _summed(spent, clocks.classes, len(names.classes))
    return OverheadProfile(
        categories=tuple(category.name for category in rules.categories),
        texts=tuple(category.text for category in rules.categories),
        classes=names.classes,
        locations=trace.locations,
        cycles_ns=_summed(spent, single, n_categories),
        class_cycles_ns=class_cycles,
        edges_ns=edges + events.start_ns,
        timeline_ns=_summed(timeline[:, None], single, n_categories)[:, 0],
        timeline_edges_ns=bins + events.start_ns,
        states={name: names.states_of(name) for name in names.classes},
        source=trace.source,
        notes=(*_notes(trace, rules, names, ready is not None), *_about_ranks(trace, rules, ranks)),
        devices=device_times(unions, (events.start_ns, events.end_ns)),
        hidden_ns=_hidden(unions, edges + events.start_ns),
        ranks=_ranks(trace, ranks, class_cycles, names),
        markers=in_markers,
        untold=_untold(rules, names),
    )


def usual_categories(trace: Trace) -> CategorySet:
    """The set that is taken where none is named: one for GPUs, one for their streams, else the standard."""
    if devices_of(trace) is None:
        return read_categories(STANDARD)
    return read_categories(GPU if isinstance(trace, LocatedTrace) else STREAMS)


def _device_by_device(
    trace: Trace,
    rules: CategorySet,
    devices: Sequence[str],
    classes: Mapping[str, Sequence[str]] | None,
    phase_edges_ns: Sequence[int] | None,
    by_marker: bool,
) -> OverheadProfile:
    """The profile of several GPUs, whose streams are counted each GPU for itself."""
    span = run_of(trace)
    parts = []
    for device in dict.fromkeys(devices):
        mine = np.array([device == each for each in devices])
        rows = mine[trace.location]
        if not rows.any():
            raise DataError(f"{trace.source}: no stream of {device} is ever in a state")
        place = np.cumsum(mine) - 1
        part = Trace(
            place[trace.location[rows]],
            trace.state[rows],
            trace.start_ns[rows],
            trace.end_ns[rows],
            [name for name, is_mine in zip(trace.locations, mine.tolist(), strict=True) if is_mine],
            trace.states,
            time_unit=trace.time_unit,
            busy_states=trace.busy_states,
            span_ns=span,
            source=trace.source,
            markers=trace.markers,
            levels={
                level: [name for name, is_mine in zip(given, mine, strict=True) if is_mine]
                for level, given in trace.levels.items()
            },
        )
        parts.append(
            profile_overheads(part, rules, classes=classes, phase_edges_ns=phase_edges_ns, by_marker=by_marker)
        )
    order = [trace.locations.index(name) for part in parts for name in part.locations]
    back = np.argsort(order)
    return replace(
        parts[0],
        locations=trace.locations,
        cycles_ns=np.concatenate([part.cycles_ns for part in parts], axis=1)[:, back],
        class_cycles_ns=np.concatenate([part.class_cycles_ns for part in parts], axis=1)[:, back],
        timeline_ns=np.sum([part.timeline_ns for part in parts], axis=0),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        devices=tuple(device for part in parts for device in part.devices),
        hidden_ns=np.concatenate([part.hidden_ns for part in parts], axis=1),
        markers=tuple(map(MarkerTimes.sum, zip(*(part.markers for part in parts), strict=True))),
    )


def _hidden(unions: Sequence[Unions], edges_ns: Integers) -> Integers:
    """Communication and copies beside computing (2, n_devices, n_phases)."""
    windows = edges_ns[:-1], edges_ns[1:]
    parts = [[each.hidden(what, *windows) for each in unions] for what in ("communicating", "copying")]
    return np.array(parts, dtype=np.int64).reshape(2, len(unions), len(edges_ns) - 1)


def _ranks(
    trace: Trace, collectives: Collectives | None, class_cycles_ns: Integers, names: StateClasses
) -> tuple[RankTimes, ...]:
    if collectives is None:
        return ()
    computing = class_cycles_ns[names.classes.index("computing")].sum(axis=1)
    of_location = level_names(trace, "process")
    return collectives.times(
        [
            int(sum(time for time, name in zip(computing.tolist(), of_location, strict=True) if name == rank))
            for rank in collectives.ranks
        ]
    )


def _about_ranks(trace: Trace, rules: CategorySet, collectives: Collectives | None) -> list[str]:
    if _WAITING not in rules.classes:
        return []
    if collectives is None:
        return ["waiting for other ranks is seen in a run of several ranks only: read all their files as one run"]
    notes = []
    if collectives.n_unmatched:
        notes.append(
            f"{collectives.n_unmatched} calls of collectives that run on some ranks only, or not at once, count as "
            f"communication: {listing(collectives.unmatched, 4)}"
        )
    size = trace.facts.get("world_size")
    if isinstance(size, int) and size > len(collectives.ranks):
        notes.append(
            f"{len(collectives.ranks)} of {size} ranks are here: those that are not may have entered later, so that "
            "waiting for other ranks is at least what is told"
        )
    return notes


def _untold(rules: CategorySet, names: StateClasses) -> tuple[str, ...]:
    """Categories of whose classes the trace has no state."""
    present = {name for name in names.classes if names.states_of(name)}
    return tuple(category.name for category in rules.categories if not present.intersection(category.classes))


def _clocks(
    rules: CategorySet,
    class_names: Sequence[str],
    counts: Mapping[str, npt.NDArray[np.float64]],
    n_vectors: int,
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
        groups += [tuple(g for g in taking if int(found) >> g & 1) for found in distinct]
    return Clocks(tuple(owners), tuple(groups), clock_of)


def _summed(spent: Integers, owner: Sequence[int], n_owners: int) -> Integers:
    """Time (n_phases, n_locations, n_clocks) as (n_owners, n_locations, n_phases), summed over each owner's clocks."""
    result = np.zeros((n_owners, spent.shape[1], spent.shape[0]), dtype=np.int64)
    for clock, at in enumerate(owner):
        if at >= 0:
            result[at] += spent[:, :, clock].T
    return result


def _phase_edges(given: Sequence[int] | None, events: Events, source: str) -> Integers:
    inner = [] if given is None else [int(edge) - events.start_ns for edge in given][1:-1]
    edges = np.array([0, *inner, events.end_ns - events.start_ns], dtype=np.int64)
    if not (np.diff(edges) > 0).all():
        at = int(np.argmin(np.diff(edges) > 0))
        raise OptionError(f"{source}: phase {at + 1} is empty; the edges of phases must increase within the run")
    return edges


def _violations(
    trace: Trace,
    rules: CategorySet,
    names: StateClasses,
    counts: Mapping[str, npt.NDArray[np.float64]],
    moments: Moments,
    ids: npt.NDArray[np.int32],
) -> str:
    """Which states are in no category or in several, for how long, and from when on: each state as its own class."""
    of_state = [names.classes[k] for k in names.class_of]
    clocks = _clocks(rules, of_state, counts, len(counts[LOCATIONS]))
    whole = np.array([0, moments.events.end_ns - moments.events.start_ns], dtype=np.int64)
    spent, _, first = attributed(moments, ids, np.arange(len(names.states)), clocks, whole, whole)
    lines = []
    for at, group in enumerate(clocks.categories):
        duration = int(spent[:, :, at].sum())
        if len(group) == 1 or not duration:
            continue
        where = " and ".join(f"{rules.categories[g].name!r}" for g in group)
        place = f"in {len(group)} categories, {where}," if group else "in no category"
        lines.append(
            f"state {names.states[clocks.classes[at]]!r} (class {of_state[clocks.classes[at]]}) is {place} for "
            f"{readable(duration, 'ns')}, first at {int(first[at]) + moments.events.start_ns} ns"
        )
    return (
        f"{trace.source}: the categories of {rules.source} are not complete and orthogonal: "
        f"{'; '.join(lines)}; change `when` so that one holds at a time"
    )


def _notes(trace: Trace, rules: CategorySet, names: StateClasses, with_ready: bool) -> tuple[str, ...]:
    notes = []
    if WORK_EXISTS in rules.variables:
        if with_ready:
            notes.append("work exists while the amount of ready work is above 0")
        else:
            notes.append("work is taken to exist while two or more locations compute; --ready SERIES tells it")
            if len(trace.locations) == 2:
                notes.append("of 2 locations none is idle while two compute, so no load imbalance is seen")
    if empty := _untold(rules, names):
        notes.append(f"no state of the trace tells of {', '.join(empty)}: 0 does not mean that there was none")
    times = np.bincount(trace.state, trace.end_ns - trace.start_ns, len(trace.states))
    by_time = [trace.states[at] for at in np.argsort(-times, kind="stable").tolist() if times[at]]
    unnamed = list(dict.fromkeys(short_name(state) for state in by_time if state in names.unnamed))
    if unnamed:
        notes.append(
            f"in no class, so counted as {rules.computing_states}: {listing(unnamed, 4)}; --class CLASS=STATE,... says "
            "otherwise"
        )
    if names.unmet:
        notes.append(f"--class: no state fits {listing(map(repr, names.unmet), 6)}")
    without = len(trace.locations) - len(np.unique(trace.location))
    if without:
        notes.append(f"{without} of the locations have no states at all")
    return tuple(notes)
