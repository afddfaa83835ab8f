"""Calls within calls, and locations merged: which of several states at one time a trace shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.data.trace import Trace

_TABLE, NESTED = "nesting", "nested"  # names among a trace's facts; the second one stays where a trace is stored
BACKGROUND = "background"  # of the fact that names the state of a location that is in no call

Columns = tuple[Codes, Codes, Ints, Ints]  # location, state, start and end

_BLOCK = 256  # of locations that are looked through at once
_INTERPRETED = 3_000  # intervals below which loading the compiler takes longer than the work


@dataclass(frozen=True, eq=False)
class Nesting:
    """Calls that are not one interval of their trace each, and which intervals are calls.

    Readers give the time of a caller to its callees while these run, so that it is left with no interval, or with
    several. They keep this with the intervals: nothing for a trace without callers, else a byte for each interval and
    24 for each caller.
    """

    location: Codes  # indices as in the trace, of calls that have callees, or that take no time
    state: Codes
    start_ns: Ints
    end_ns: Ints
    is_call: Booleans  # whether an interval of the trace is a call alone

    def __len__(self) -> int:
        return len(self.start_ns)


def keep_nesting(trace: Trace, nesting: Nesting) -> Trace:
    """Let a trace carry its nesting, if there is any."""
    if len(nesting) or not nesting.is_call.all():
        mark_nested(trace)
        trace.facts[_TABLE] = (nesting, trace.locations, trace.span_ns)
    return trace


def mark_nested(trace: Trace) -> None:
    """Let a trace know that several states at one time were made one, which leaves no whole calls."""
    trace.facts = {**trace.facts, NESTED: True}


def nesting_of(trace: Trace) -> Nesting | None:
    """Return the nesting of a trace; None if there is none, or where the trace is a part of what was read."""
    kept = trace.facts.get(_TABLE)
    if kept is None:
        return None
    nesting, locations, span_ns = kept
    is_whole = len(nesting.is_call) == trace.n_intervals and locations == trace.locations and span_ns == trace.span_ns
    return nesting if is_whole else None


def is_incomplete(trace: Trace) -> bool:
    """Return whether of several states at one time one is left, and no calls say of what it is a part."""
    return bool(trace.facts.get(NESTED)) and nesting_of(trace) is None


def nesting_of_pieces(
    start_ns: Ints, end_ns: Ints, piece: Ints, piece_start_ns: Ints, piece_end_ns: Ints
) -> tuple[Ints, Booleans]:
    """Return which intervals are no single piece each, and which pieces are whole intervals."""
    is_call = (piece_start_ns == start_ns[piece]) & (piece_end_ns == end_ns[piece])
    has_no_piece = np.ones(len(start_ns), bool)
    has_no_piece[piece[is_call]] = False
    return np.flatnonzero(has_no_piece), is_call


def merged_states(
    location: npt.NDArray[Any], state: npt.NDArray[Any], start: Ints, end: Ints, *, place: Ints, rank: Ints
) -> Columns:
    """Return states of merged locations."""
    lasting = np.flatnonzero(end > start)
    n = len(lasting)
    times = np.concatenate([end[lasting], start[lasting]])
    changed = np.empty(2 * n, np.int32)
    changed[:n] = changed[n:] = location[lasting]
    entered = np.full(2 * n, -1, np.int32)
    entered[n:] = state[lasting]
    del lasting
    order = np.argsort(times, kind="stable")  # ends stand first; sorted runs are merged fast
    if place.any():
        order = order[np.argsort(place.astype(np.int32)[changed[order]], kind="stable")]
    times, changed, entered = times[order], changed[order], entered[order]
    del order
    members = np.argsort(place, kind="stable")
    first_member = np.searchsorted(place[members], np.arange(int(place.max()) + 2))
    of_all = (times, changed, entered, place.astype(np.int64), rank.astype(np.int64), members, first_member)
    n_merged = _sweep(*of_all, *_columns(0))
    merged = _columns(n_merged)
    _sweep(*of_all, *merged)
    return merged


def _columns(n: int) -> Columns:
    return np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)


@kernel(small=2 * _INTERPRETED)
def _sweep(
    times: Any, changed: Any, entered: Any, place: Any, rank: Any, members: Any, first_member: Any,
    places: Any, states: Any, starts: Any, ends: Any,
) -> int:  # fmt: skip
    """Count the merged intervals, and fill them in where there is room."""
    n_ranks = 0
    for k in range(len(rank)):
        n_ranks = max(n_ranks, rank[k] + 1)
    current = np.full(len(place), -1, np.int64)
    count = np.zeros(n_ranks, np.int64)
    position = np.empty(len(members), np.int64)
    position[members] = np.arange(len(members))
    in_block = np.zeros((n_ranks, len(members) // _BLOCK + 1), np.int64)  # as `count`, of so many members
    n, i, since, active, state = 0, 0, 0, -1, -1
    while i < len(times):
        time, target = times[i], place[changed[i]]
        while i < len(times) and times[i] == time and place[changed[i]] == target:
            who = changed[i]
            if current[who] >= 0:
                count[rank[current[who]]] -= 1
                in_block[rank[current[who]], position[who] // _BLOCK] -= 1
            current[who] = entered[i]
            if entered[i] >= 0:
                count[rank[entered[i]]] += 1
                in_block[rank[entered[i]], position[who] // _BLOCK] += 1
            i += 1
        best = 0
        while best < n_ranks and count[best] == 0:
            best += 1
        new = -1
        if best < n_ranks:
            # What is shown goes on for as long as nothing goes before it.
            if active < 0 or place[active] != target or current[active] < 0 or rank[current[active]] != best:
                k = first_member[target]
                while True:
                    while k % _BLOCK == 0 and in_block[best, k // _BLOCK] == 0:
                        k += _BLOCK
                    active = members[k]
                    if current[active] >= 0 and rank[current[active]] == best:
                        break
                    k += 1
            new = current[active]
        if new != state:
            if state >= 0:
                if len(starts) > 0:
                    places[n], states[n], starts[n], ends[n] = target, state, since, time
                n += 1
            state, since = new, time
    return n
