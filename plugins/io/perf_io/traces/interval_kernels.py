"""Compiled loops over the events of many locations: pairs of begin and end, and intervals within intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.base.kernels import announce_compilation, kernel

Integers = npt.NDArray[np.int64]


@kernel
def _pairs(location: Integers, begins: npt.NDArray[np.bool_], partner: Integers) -> None:  # pragma: no cover
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


@kernel
def _running(
    location: Integers, start: Integers, end: Integers, owner: Integers, first: Integers, last: Integers
) -> int:  # pragma: no cover
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


def pair_events(location: Integers, time: Integers, begins: npt.NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Which event ends what another one began."""
    order = np.lexsort((time, location))
    partner = np.full(len(order), -1, np.int64)
    announce_compilation(_pairs)
    _pairs(location[order].astype(np.int64), begins[order], partner)
    return order, partner


def _by_location_and_start(location: Integers, start: Integers, end: Integers) -> Integers:
    """The order of intervals; tracers write those of one location in order, so mostly only locations need sorting."""
    # numpy sorts 16 bits by radix, ten times as fast.
    keys = location.astype(np.uint16) if len(location) and 0 <= location.min() <= location.max() < 1 << 16 else location
    order = np.argsort(keys, kind="stable")
    place, first, last = location[order], start[order], end[order]
    together = (first[1:] == first[:-1]) & (last[1:] > last[:-1])
    wrong = (place[1:] == place[:-1]) & ((first[1:] < first[:-1]) | together)
    return np.lexsort((-end, start, location)) if wrong.any() else order


def latest_running(location: Integers, start: Integers, end: Integers) -> tuple[Integers, Integers, Integers]:
    """Cut intervals so that at each time and location only the one counts that began last and still runs."""
    order = _by_location_and_start(location, start, end)
    place, first, last = location[order], start[order], end[order]
    if not ((place[1:] == place[:-1]) & (first[1:] < last[:-1])).any():
        lasting = last > first
        return (order, first, last) if lasting.all() else (order[lasting], first[lasting], last[lasting])
    place = place.astype(np.int64)
    announce_compilation(_running)
    nothing = np.empty(0, np.int64)
    n_pieces = _running(place, first, last, nothing, nothing, nothing)
    owner, starts, ends = (np.empty(n_pieces, np.int64) for _ in range(3))
    _running(place, first, last, owner, starts, ends)
    return order[owner], starts, ends
