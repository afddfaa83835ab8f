"""Collectives of several ranks: who waits in them until the last one has entered, and whom they wait for.

Collectives of one name are matched in order of time: those of all ranks that run at the same moment are one. A kernel
of a collective begins when its rank has reached it, and can do its work when the last rank has; the time from the one
to the other is waiting. What only some of the ranks take part in is not matched, and counts as communication.

Bandwidths of collectives of GPUs are those of nccl-tests (``doc/PERFORMANCE.md``), in 10^9 bytes per second:
algorithmic is size by time, with the size that a rank puts in or gets out, whichever is larger; bus is that times the
share of it which has to cross the slowest link.

Source: the late-arrival patterns of M. Geimer et al., "The Scalasca performance toolset architecture" (2010), "Wait at
N x N", for collectives in which all wait for all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import StateClasses, classify
from perf_analysis.concurrency import union, unions_of, usual_categories
from perf_traces.levels import LocatedTrace, level_names, parts_of
from perf_traces.messages.communication import NOT_RECORDED, Communication, calls_at_once, latest_of, numbered, sums_of
from perf_traces.windows import overlaid
from perf_views.names import short_name
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace

WAITING_FOR_RANKS = "(waiting for other ranks)"
_LIBRARY, _PAIRS = "nccl:", "send-recv"
_FACTORS = (  # by n ranks
    (re.compile("allreduce"), lambda n: 2 * (n - 1) / n),
    (re.compile("gather|scatter|alltoall"), lambda n: (n - 1) / n),
    (re.compile("broadcast|reduce|send-recv"), lambda n: 1.0),
)


@dataclass(frozen=True)
class RankTimes:
    """A rank in the collectives of its run, in nanoseconds."""

    rank: str
    computing_ns: int  # of its locations together
    n_last: int  # in how many collectives it was the last to enter
    held_up_ns: int  # by how much it entered these after the last but one: what all others waited for it alone
    waited_ns: int  # until the last rank had entered, hidden or not


@dataclass(frozen=True)
class Collectives:
    """Matched collectives of a run."""

    ranks: tuple[str, ...]
    place: Ints  # the location of each rank in each collective
    start_ns: Ints  # when it entered
    n_unmatched: int  # calls of single ranks that no others were found for
    unmatched: tuple[str, ...]  # names of these

    def times(self, computing_ns: Sequence[int]) -> tuple[RankTimes, ...]:
        """What each rank made of it; ``computing_ns`` is of each rank."""
        if not self.start_ns.shape[1]:
            return tuple(RankTimes(rank, time, 0, 0, 0) for rank, time in zip(self.ranks, computing_ns, strict=True))
        ordered = np.sort(self.start_ns, axis=0)
        last = self.start_ns.argmax(axis=0)
        alone = ordered[-1] - ordered[-2]
        last = np.where(alone > 0, last, -1)
        waited = (ordered[-1] - self.start_ns).sum(axis=1)
        return tuple(
            RankTimes(rank, time, int((last == row).sum()), int(alone[last == row].sum()), int(waited[row]))
            for row, (rank, time) in enumerate(zip(self.ranks, computing_ns, strict=True))
        )


def matched_collectives(trace: Trace, names: StateClasses) -> Collectives | None:
    """Collectives of the ranks of a run; None where there is one rank only."""
    if not isinstance(trace, LocatedTrace):
        return None
    recorded = trace.recorded
    of_location = level_names(recorded, "process")
    ranks = tuple(dict.fromkeys(of_location))
    if len(ranks) < 2 or "" in ranks:
        return None
    rank_of = np.array([ranks.index(name) for name in of_location])
    location, state_codes, start, end = _calls(recorded, names)
    matched, unmatched, left = [], 0, []
    for state in np.unique(state_codes).tolist():
        state_calls = np.flatnonzero(state_codes == state)
        of_rank = [state_calls[rank_of[location[state_calls]] == rank] for rank in range(len(ranks))]
        together = calls_at_once([(start[each], end[each]) for each in of_rank])
        matched.append(np.array([each[rank] for each, rank in zip(of_rank, together, strict=True)]))
        missing = len(state_calls) - together.size
        unmatched += missing
        left += [short_name(recorded.states[state])] if missing else []
    rows_of = np.concatenate(matched, axis=1) if matched else np.empty((len(ranks), 0), np.int64)
    place = np.asarray(trace.place)[location[rows_of]]
    return Collectives(ranks, place, start[rows_of], unmatched, tuple(left))


def _calls(recorded: Trace, names: StateClasses) -> list[npt.NDArray[Any]]:
    """Location, state, start and end of what communicates and lasts, by its start: of all ranks, one read at a time."""
    communicates = np.array([names.classes[code] == "communicating" for code in names.class_of[:-1]])
    calls: list[list[npt.NDArray[Any]]] = []
    for first, part in parts_of(recorded):
        rows = np.flatnonzero(communicates[part.state] & (part.end_ns > part.start_ns))
        calls.append([part.location[rows] + np.int32(first), part.state[rows], part.start_ns[rows], part.end_ns[rows]])
    columns = [np.concatenate(column) for column in zip(*calls, strict=True)]
    order = np.argsort(columns[2], kind="stable")
    return [column[order] for column in columns]


def with_waiting(trace: Trace, collectives: Collectives, first_location: int = 0) -> Trace:
    """A trace in which locations wait, rather than communicate, until the last rank has entered a collective."""
    last = collectives.start_ns.max(axis=0, initial=trace.span_ns[0])
    places = collectives.place - first_location
    waits = (collectives.start_ns < last) & (places >= 0) & (places < len(trace.locations))
    if not waits.any():
        return trace
    until, waiting = np.broadcast_to(last, waits.shape), []
    for place in np.unique(places[waits]).tolist():
        of_place = waits & (places == place)
        start, end = union(collectives.start_ns[of_place], until[of_place])
        waiting.append((np.full(len(start), place, np.int32), np.zeros(len(start), np.int32), start, end))
    location, state, start, end = (np.concatenate(column) for column in zip(*waiting, strict=True))
    return overlaid(trace, (location, state, start, end), [WAITING_FOR_RANKS])


@dataclass(frozen=True)
class CollectiveSpeed:
    """Collectives of one operation, size and number of ranks, in order of time."""

    operation: str
    bytes: int
    ranks: int | None  # None where the group is not recorded
    time_ns: tuple[int, ...]
    skew_ns: tuple[int | None, ...]  # from the first to the last rank's entry; None where ranks are missing
    last: tuple[str | None, ...]  # the rank that enters last; None where several do, or ranks are missing
    member_ns: int  # of all ranks in it
    exposed_ns: int | None  # of it, while the GPU computes nothing; None where that is not known

    @property
    def is_complete(self) -> bool:
        """Whether all ranks are there."""
        return None not in self.skew_ns

    @property
    def factor(self) -> float | None:
        """Bus by algorithmic bandwidth."""
        name = self.operation.replace("_", "")
        rule = next((rule for pattern, rule in _FACTORS if pattern.search(name)), None)
        return rule(self.ranks) if rule and self.ranks and self.ranks > 1 and self.bytes else None

    def bandwidths(self, *, bus: bool) -> list[float]:
        """GB/s of each call; without a factor there are none of the bus."""
        factor = (self.factor or 0.0) if bus else 1.0
        return [factor * self.bytes / time for time in self.time_ns] if factor and self.bytes else []

    @property
    def last_most(self) -> tuple[str, int] | None:
        """The rank that is last most often, and how often."""
        named = [rank for rank in self.last if rank is not None]
        return max(((rank, named.count(rank)) for rank in dict.fromkeys(named)), key=lambda each: each[1], default=None)

    def to_dict(self) -> dict[str, Any]:
        total = sum(self.time_ns)
        return {
            **vars(self), "algorithmic_gb_s": self.bandwidths(bus=False), "bus_gb_s": self.bandwidths(bus=True),
            "overall_algorithmic_gb_s": len(self.time_ns) * self.bytes / total,
            "overall_bus_gb_s": None if self.factor is None else self.factor * len(self.time_ns) * self.bytes / total,
            "lower_bounds": not self.is_complete,
        }  # fmt: skip


def collective_speeds(
    communication: Communication, trace: Trace
) -> tuple[tuple[CollectiveSpeed, ...], tuple[RankTimes, ...]]:
    """Collectives, sends and receives of NCCL by operation, size and ranks, and the wait time of each rank."""
    calls, messages, collectives = communication.calls, communication.messages, communication.collectives
    library = np.array([name.startswith(_LIBRARY) for name in calls.operations], bool)
    collectives = collectives.only(collectives.of_data & library[collectives.operation])
    n, pairs = len(collectives), np.arange(len(messages))
    if not library.any() or not n + len(pairs):
        return (), ()
    of = np.concatenate([collectives.member_of, n + pairs, n + pairs])
    begins = np.concatenate([collectives.member_call, messages.send_call, messages.post_call])
    ends = np.concatenate([collectives.member_call, messages.send_done_call, messages.receive_call])
    enter, leave, place = calls.enter_ns[begins], calls.leave_ns[ends], calls.location[begins]
    sizes = np.concatenate([collectives.bytes, messages.bytes])
    alone = (collectives.communicator == NOT_RECORDED) & (np.bincount(collectives.member_of, minlength=n) < 2)
    alone = np.concatenate([alone, np.zeros(len(pairs), bool)])
    ranks = np.where(alone, 0, np.concatenate([collectives.size, np.full(len(pairs), 2)]))
    operation = np.concatenate([collectives.operation, np.full(len(pairs), len(calls.operations))])
    n_met = len(sizes)
    entered, left = latest_of(of, enter, n_met), latest_of(of, leave, n_met)
    complete = (np.bincount(of, minlength=n_met) == ranks) & (ranks > 1)
    order = np.lexsort((enter, of))
    rank_in = numbered(of[order])
    first = enter[order][rank_in == 0]
    final = np.flatnonzero(np.append(rank_in[1:] == 0, True)[: len(order)])
    alone_ns = np.where(complete, enter[order][final] - enter[order][np.maximum(final - 1, 0)], 0)
    last_place = place[order][final]
    names = [rank or where for rank, where in zip(
        level_names(trace, "process"), communication.locations, strict=True)]  # fmt: skip
    hidden = _hidden(trace, place, enter, leave)
    known = left > entered  # clocks that differ leave no time
    groups: dict[tuple[int, int, int], list[int]] = {}
    keys = zip(operation.tolist(), sizes.tolist(), ranks.tolist(), strict=True)
    for row, key in sorted(zip(range(n_met), keys, strict=True), key=lambda each: entered[each[0]]):
        groups.setdefault(key, []).extend([row] if known[row] else [])
    member_ns, hidden_ns = sums_of(of, leave - enter, n_met), sums_of(of, 0 if hidden is None else hidden, n_met)
    labels = [*(name.removeprefix(_LIBRARY) for name in calls.operations), _PAIRS]
    speeds = [
        CollectiveSpeed(
            labels[kind], size, count or None, tuple((left - entered)[part].tolist()),
            tuple(s if c else None for s, c in zip(
                (entered - first)[part].tolist(), complete[part].tolist(), strict=True)),
            tuple(names[p] if a > 0 else None for p, a in zip(
                last_place[part].tolist(), alone_ns[part].tolist(), strict=True)),
            int(member_ns[part].sum()), None if hidden is None else int((member_ns - hidden_ns)[part].sum()),
        )
        for (kind, size, count), part in groups.items()
        if part
    ]  # fmt: skip
    speeds.sort(key=lambda each: -sum(each.time_ns))
    return tuple(speeds), _waits(names, complete[of], place, entered[of] - enter, last_place, alone_ns)


def _waits(
    names: Sequence[str], timed: npt.NDArray[np.bool_], place: Ints, waited: Ints, last_place: Ints, alone_ns: Ints
) -> tuple[RankTimes, ...]:
    """What each rank waited and was waited for, those that held up others most first."""
    ranks = {name: code for code, name in enumerate(dict.fromkeys(names))}
    rank_of = np.array([ranks[name] for name in names])
    n = len(ranks)
    sums = np.array([
        sums_of(rank_of[last_place[alone_ns > 0]], 1, n), sums_of(rank_of[last_place], alone_ns, n),
        sums_of(rank_of[place[timed]], waited[timed], n),
    ])  # fmt: skip
    there = set(rank_of[place[timed]].tolist())
    rows = [RankTimes(name, 0, *sums[:, code].tolist()) for name, code in ranks.items() if code in there]
    return tuple(sorted(rows, key=lambda row: (-row.held_up_ns, row.waited_ns)))


def _hidden(trace: Trace, place: Ints, enter: Ints, leave: Ints) -> Ints | None:
    """How much of each call its GPU computes at the same time; None where that is not recorded."""
    unions = unions_of(trace, classify(trace, usual_categories(trace)))
    computing = {each.device: each for each in unions}
    if not computing:
        return None
    hidden = np.zeros(len(place), np.int64)
    devices = trace.locations if all(name in computing for name in trace.locations) else level_names(trace, "device")
    for where in np.unique(place).tolist():
        rows = place == where
        if devices[where] in computing:
            hidden[rows] = computing[devices[where]].within("computing", enter[rows], leave[rows])
    return hidden
