"""Intervals of locations: which one counts where they overlap, gaps before launches, and a store on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.levels import NOT_STARTED, WAITING_FOR_HOST
from perfcore.base.arrays import Ints

AnyIntegers = npt.NDArray[Any]
UNKNOWN_NS = -(1 << 62)  # of a launch that is not recorded
UNLAUNCHED = "have no recorded launch: launched before the trace, or without correlation ids"
REPLAYED = "kernels were replayed to count"
WITHOUT_LAUNCHES = "no launches by the host: idle streams do not tell whether they wait for it"


@kernel(small=20_000)
def _pairs(location: Ints, begins: npt.NDArray[np.bool_], partner: Ints) -> None:  # pragma: no cover
    stack = np.empty(len(location), np.int64)
    depth = 0
    for row in range(len(location)):
        if row > 0 and location[row] != location[row - 1]:
            depth = 0
        if begins[row]:
            stack[depth] = row
            depth += 1
        elif depth > 0:
            depth -= 1
            partner[stack[depth]] = row
            partner[row] = stack[depth]


@kernel(small=20_000)
def _running(location: Ints, start: Ints, end: Ints, owner: Ints, first: Ints, last: Ints) -> int:  # pragma: no cover
    n_pieces, depth, since = 0, 0, 0
    stack = np.empty(len(location) + 1, np.int64)
    for row in range(len(location) + 1):
        over = row == len(location)
        while depth > 0:
            until = end[stack[depth - 1]]
            if not (over or location[stack[depth - 1]] != location[row] or until <= start[row]):
                break
            depth -= 1
            if until > since:
                if len(owner) > 0:
                    owner[n_pieces], first[n_pieces], last[n_pieces] = stack[depth], since, until
                n_pieces += 1
                since = until
        if over:
            break
        if depth > 0 and start[row] > since:
            if len(owner) > 0:
                owner[n_pieces], first[n_pieces], last[n_pieces] = stack[depth - 1], since, start[row]
            n_pieces += 1
        stack[depth] = row
        depth += 1
        since = start[row]
    return n_pieces


def pair_events(location: Ints, time: Ints, begins: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Which event ends what another one began."""
    order = np.lexsort((time, location))
    partner = np.full(len(order), -1, np.int64)
    _pairs(location[order].astype(np.int64), begins[order], partner)
    return order, partner


def _by_location_and_start(location: Ints, start: Ints, end: Ints) -> Ints:
    """The order of intervals; tracers write those of one location in order, so mostly only locations need sorting."""
    # numpy sorts 16 bits by radix, ten times as fast.
    keys = location.astype(np.uint16) if len(location) and 0 <= location.min() <= location.max() < 1 << 16 else location
    order = np.argsort(keys, kind="stable")
    place, first, last = location[order], start[order], end[order]
    together = (first[1:] == first[:-1]) & (last[1:] > last[:-1])
    wrong = (place[1:] == place[:-1]) & ((first[1:] < first[:-1]) | together)
    return np.lexsort((-end, start, location)) if wrong.any() else order


def latest_running(location: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut intervals so that at each time and location only the one counts that began last and still runs."""
    order = _by_location_and_start(location, start, end)
    place, first, last = location[order], start[order], end[order]
    if not ((place[1:] == place[:-1]) & (first[1:] < last[:-1])).any():
        lasting = last > first
        return (order, first, last) if lasting.all() else (order[lasting], first[lasting], last[lasting])
    place = place.astype(np.int64)
    nothing = np.empty(0, np.int64)
    n_pieces = _running(place, first, last, nothing, nothing, nothing)
    owner, starts, ends = (np.empty(n_pieces, np.int64) for _ in range(3))
    _running(place, first, last, owner, starts, ends)
    return order[owner], starts, ends


def clip_at_next(
    location: Ints, start: Ints, end: Ints, in_order: npt.NDArray[np.bool_]
) -> tuple[int, int, int] | None:
    """End intervals that happen in order, in place, where the next of their location begins, if they outlast that.

    Those that end within the next one overlap it, as kernels do whose launch is programmatically dependent, and remain.
    Intervals of no duration contradict none.
    Returns the row that loses most, how much, and how many lost any; None if none did.
    """
    order = _by_location_and_start(location, start, end)
    order = order[in_order[order] & (end > start)[order]]
    place, first = location[order], start[order]
    if not ((place[1:] == place[:-1]) & (first[1:] < end[order][:-1])).any():
        return None
    begins = np.flatnonzero(np.append(True, (place[1:] != place[:-1]) | (first[1:] != first[:-1])))
    limit, next_end = np.full(len(begins), 1 << 62), np.full(len(begins), 1 << 62)
    follows = place[begins[1:]] == place[begins[:-1]]
    limit[:-1][follows] = first[begins[1:]][follows]
    next_end[:-1][follows] = end[order[begins[1:]]][follows]
    limit, next_end = (np.repeat(each, np.diff(np.append(begins, len(order)))) for each in (limit, next_end))
    excess = np.where(end[order] >= next_end, end[order] - limit, 0)
    clipped = excess > 0
    if not clipped.any():
        return None
    end[order[clipped]] -= excess[clipped]
    row = int(np.argmax(excess))
    return int(order[row]), int(excess[row]), int(clipped.sum())


def launch_ends(numbers: Ints, ends: Ints, correlation: Ints) -> Ints:
    """When the call that launched each interval had returned, by a number that both have; numbers are sorted."""
    launched = np.full(len(correlation), UNKNOWN_NS, np.int64)
    position = np.searchsorted(numbers, correlation)
    matched = np.flatnonzero((correlation >= 0) & (position < len(numbers)))
    matched = matched[numbers[position[matched]] == correlation[matched]]
    launched[matched] = ends[position[matched]]
    return launched


def add_launch_gaps(
    location: AnyIntegers,
    state: AnyIntegers,
    start: AnyIntegers,
    end: AnyIntegers,
    is_call: npt.NDArray[np.bool_],
    launched: AnyIntegers,
    first: int,
    states: list[str],
) -> list[AnyIntegers]:
    """Columns up to ``is_call`` of the intervals of streams, and of those in which they are empty."""
    before = np.empty_like(start)
    before[:1], before[1:] = first, end[:-1]
    before[1:][location[1:] != location[:-1]] = first
    has_gap = (launched > UNKNOWN_NS) & (start > before)
    until = np.clip(launched, before, start)
    late, not_started = has_gap & (until > before), has_gap & (until < start)
    codes = len(states), len(states) + 1
    states += [WAITING_FOR_HOST, NOT_STARTED]
    columns = [
        np.concatenate([location, location[late], location[not_started]]),
        np.concatenate([state, np.full(late.sum(), codes[0]), np.full(not_started.sum(), codes[1])]),
        np.concatenate([start, before[late], until[not_started]]),
        np.concatenate([end, until[late], start[not_started]]),
        np.concatenate([is_call, np.ones(late.sum() + not_started.sum(), np.bool_)]),
    ]
    order = np.lexsort((columns[2], columns[0]))
    return [column[order] for column in columns]
