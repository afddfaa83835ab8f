"""Which state a location shows that is several recorded ones: one loop over their beginnings and ends."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["merged_states"]

Integers = npt.NDArray[np.int64]

_INTERPRETED = 3_000  # intervals below which loading the compiler takes longer than the work


def merged_states(
    location: npt.NDArray[Any],
    state: npt.NDArray[Any],
    start: Integers,
    end: Integers,
    *,
    place: Integers,
    rank: Integers,
) -> tuple[Integers, Integers, Integers, Integers]:
    """States of merged locations.

    Parameters
    ----------
    location, state, start, end : (n,) int
        Recorded intervals; those of one location do not overlap.
    place : (n_locations,) int
        The merged location of each recorded one.
    rank : (n_states,) int, >= 0
        Of the states that a merged location is in at once, one of the lowest rank is shown.

    Returns
    -------
    place, state, start, end : (m,) int
        By place and time; neighbours that touch differ.

    Examples
    --------
    >>> columns = np.array([[0, 1], [0, 1], [0, 2], [5, 9]])
    >>> [found.tolist() for found in merged_states(*columns, place=np.array([0, 0]), rank=np.array([1, 0]))]
    [[0, 0], [0, 1], [0, 2], [2, 9]]
    """
    lasting = np.flatnonzero(end > start)
    whose = location[lasting]
    times = np.concatenate([end[lasting], start[lasting]])
    changed = np.concatenate([whose, whose])
    entered = np.concatenate([np.full(len(lasting), -1), state[lasting]]).astype(np.int64)
    order = np.argsort(times, kind="stable")  # ends stand first; sorted runs are merged fast
    order = order[np.argsort(place[changed[order]].astype(np.int32), kind="stable")]
    times, changed, entered = times[order], changed[order].astype(np.int64), entered[order]
    members = np.argsort(place, kind="stable")
    first_member = np.searchsorted(place[members], np.arange(int(place.max()) + 2))
    of_all = (times, changed, entered, place.astype(np.int64), rank.astype(np.int64), members, first_member)
    sweep = _sweep if len(lasting) < _INTERPRETED else _compiled()
    nothing = np.empty(0, np.int64)
    found = [np.empty(sweep(*of_all, nothing, nothing, nothing, nothing), np.int64) for _ in range(4)]
    sweep(*of_all, *found)
    return found[0], found[1], found[2], found[3]


@functools.cache
def _compiled() -> Any:
    from perfcore.base.kernels import announce_compilation, kernel

    compiled = kernel(_sweep)
    announce_compilation(compiled)
    return compiled


def _sweep(
    times: Any,
    changed: Any,
    entered: Any,
    place: Any,
    rank: Any,
    members: Any,
    first_member: Any,
    places: Any,
    states: Any,
    starts: Any,
    ends: Any,
) -> int:
    """Count the merged intervals, and fill them in where there is room."""
    n_ranks = 0
    for at in range(len(rank)):
        n_ranks = max(n_ranks, rank[at] + 1)
    now = np.full(len(place), -1, np.int64)
    count = np.zeros(n_ranks, np.int64)
    n, i, since, shown, state = 0, 0, 0, -1, -1
    while i < len(times):
        time, here = times[i], place[changed[i]]
        while i < len(times) and times[i] == time and place[changed[i]] == here:
            who = changed[i]
            if now[who] >= 0:
                count[rank[now[who]]] -= 1
            now[who] = entered[i]
            if entered[i] >= 0:
                count[rank[entered[i]]] += 1
            i += 1
        best = 0
        while best < n_ranks and count[best] == 0:
            best += 1
        new = -1
        if best < n_ranks:
            # What is shown goes on for as long as nothing goes before it.
            if shown < 0 or place[shown] != here or now[shown] < 0 or rank[now[shown]] != best:
                for at in range(first_member[here], first_member[here + 1]):
                    shown = members[at]
                    if now[shown] >= 0 and rank[now[shown]] == best:
                        break
            new = now[shown]
        if new != state:
            if state >= 0:
                if len(starts) > 0:
                    places[n], states[n], starts[n], ends[n] = here, state, since, time
                n += 1
            state, since = new, time
    return n
