"""Collectives of several ranks: who waits in them until the last one has entered, and whom they wait for.

Collectives of one name are matched in order of time: those of all ranks that run at the same moment are one. A kernel
of a collective begins when its rank has reached it, and can do its work when the last rank has; the time from the one
to the other is waiting. What only some of the ranks take part in is not matched, and counts as communication.

Source: the late-arrival patterns of M. Geimer et al., "The Scalasca performance toolset architecture" (2010), "Wait at
N x N", for collectives in which all wait for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import StateClasses
from perf_analysis.concurrency import union
from perf_traces.levels import LocatedTrace, level_names, parts_of
from perf_traces.nesting import merged_states
from perf_views.names import short_name
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace

WAITING_FOR_RANKS = "(waiting for other ranks)"


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
        together = _together([(start[each], end[each]) for each in of_rank])
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


def _together(calls: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Of each rank the positions of calls that run at one moment with one of every other rank (n_ranks, n)."""
    counts = {len(starts) for starts, _ in calls}
    if len(counts) == 1:
        starts, ends = np.array([each[0] for each in calls]), np.array([each[1] for each in calls])
        if (starts.max(axis=0) < ends.min(axis=0)).all():
            return np.tile(np.arange(counts.pop()), (len(calls), 1))
    begun, ended = ([each[which].tolist() for each in calls] for which in (0, 1))
    positions, matches = [0] * len(calls), []
    while all(place < len(each) for place, each in zip(positions, begun, strict=True)):
        over = [each[place] for place, each in zip(positions, ended, strict=True)]
        if max(each[place] for place, each in zip(positions, begun, strict=True)) < min(over):
            matches.append(tuple(positions))
            positions = [place + 1 for place in positions]
        else:
            positions[over.index(min(over))] += 1
    return np.array(matches, dtype=np.int64).reshape(-1, len(calls)).T


def with_waiting(trace: Trace, collectives: Collectives, first_location: int = 0) -> Trace:
    """A trace in which locations wait, rather than communicate, until the last rank has entered a collective."""
    last = collectives.start_ns.max(axis=0, initial=trace.span_ns[0])
    n, code = len(trace.locations), len(trace.states)
    places = collectives.place - first_location
    waits = (collectives.start_ns < last) & (places >= 0) & (places < n)
    if not waits.any():
        return trace
    # What waits lies next to each location as another one.
    locations, starts, ends = [trace.location], [trace.start_ns], [trace.end_ns]
    for place in np.unique(places[waits]).tolist():
        place_waits = waits & (places == place)
        first, until = union(collectives.start_ns[place_waits], np.broadcast_to(last, waits.shape)[place_waits])
        locations.append(np.full(len(first), n + place, np.int32))
        starts.append(first)
        ends.append(until)
    whose = np.concatenate(locations)
    states = np.full(len(whose), code, np.int32)
    states[: trace.n_intervals] = trace.state
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)])
    location, state, start, end = merged_states(
        whose,
        states,
        np.concatenate(starts),
        np.concatenate(ends),
        place=np.tile(np.arange(n), 2),
        rank=np.append(np.where(busy, 0, 2), 1),
    )
    return Trace(
        location,
        state,
        start,
        end,
        trace.locations,
        (*trace.states, WAITING_FOR_RANKS),
        time_unit=trace.time_unit,
        busy_states=trace.busy_states,
        span_ns=trace.span_ns,
        source=trace.source,
        notes=trace.notes,
        markers=trace.markers,
        levels=trace.levels,
        facts=trace.facts,
    )
