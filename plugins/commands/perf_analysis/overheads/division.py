"""Cycles of those locations of a run that can be told without the others: all of them, those of a rank, or of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.category_set import LOCATIONS, READY, WORK_EXISTS, CategorySet
from perf_analysis.overheads.events import state_events
from perf_analysis.overheads.passes import Clocks, Moments, attributed, numbered
from perf_analysis.overheads.state_classes import StateClasses
from perf_traces.lazy_columns import no_interval
from perf_traces.levels import LocatedTrace, level_names
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace
from perfcore.data.units import readable


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cycles:
    """Time of some locations, in nanoseconds."""

    cycles_ns: Integers
    class_cycles_ns: Integers
    timeline_ns: Integers  # of all locations together
    pieces_ns: Integers  # between the edges of markers, of all locations together

    @classmethod
    def joined(cls, parts: Sequence[Cycles], places: Sequence[Integers] | None = None) -> Cycles:
        """Those of several parts, one behind the other, or at their places among all of them."""
        order = slice(None) if places is None else np.argsort(np.concatenate(places))
        return cls(
            np.concatenate([part.cycles_ns for part in parts], axis=1)[:, order],
            np.concatenate([part.class_cycles_ns for part in parts], axis=1)[:, order],
            np.sum([part.timeline_ns for part in parts], axis=0),
            np.sum([part.pieces_ns for part in parts], axis=0),
        )


@dataclass(frozen=True)
class Division:
    """By what the time of every part of a run is divided."""

    rules: CategorySet
    names: StateClasses
    run_ns: tuple[int, int]  # start and end of the run on the clock of the trace
    ready: tuple[Integers, npt.NDArray[np.float64]] | None
    edges_ns: Integers
    bins_ns: Integers
    pieces_ns: Integers
    source: str  # for messages

    def of(self, part: Trace) -> Cycles:
        """The time of the locations of a trace, whose predicates count these locations.

        Raises
        ------
        DataError
            A location is in no category, or in two.
        """
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


def by_device(trace: Trace) -> Iterator[tuple[Integers, Trace]]:
    """The streams of each GPU, with their positions among all; a location that is a GPU is by itself."""
    devices = trace.locations if isinstance(trace, LocatedTrace) else level_names(trace, "device")
    distinct = dict.fromkeys(devices)
    if len(distinct) == 1:
        yield np.arange(len(devices)), trace
        return
    for device in distinct:
        places = np.flatnonzero([device == each for each in devices])
        of_device = np.full(len(devices), -1, np.int32)
        of_device[places] = np.arange(len(places))
        rows = np.flatnonzero(of_device[trace.location] >= 0)
        columns = (
            (of_device[trace.location[rows]], trace.state[rows], trace.start_ns[rows], trace.end_ns[rows])
            if len(rows)
            else no_interval(trace.span_ns[0])
        )
        yield (
            places,
            Trace(
                *columns,
                [trace.locations[place] for place in places.tolist()],
                trace.states,
                time_unit=trace.time_unit,
                busy_states=trace.busy_states,
                span_ns=trace.span_ns,
                source=trace.source,
            ),
        )


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
        groups += [tuple(g for g in taking if int(mask) >> g & 1) for mask in distinct]
    return Clocks(tuple(owners), tuple(groups), clock_of)


def _summed(spent: Integers, owner: Sequence[int], n_owners: int) -> Integers:
    """Time (n_phases, n_locations, n_clocks) as (n_owners, n_locations, n_phases), summed over each owner's clocks."""
    result = np.zeros((n_owners, spent.shape[1], spent.shape[0]), dtype=np.int64)
    for clock, row in enumerate(owner):
        if row >= 0:
            result[row] += spent[:, :, clock].T
    return result
