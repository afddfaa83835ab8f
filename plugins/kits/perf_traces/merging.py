"""Which state a location shows that is several recorded ones: one loop over their beginnings and ends."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.lazy_columns import Columns

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
) -> Columns:
    """States of merged locations."""
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
    sweep = _sweep if n < _INTERPRETED else _compiled()
    n_merged = sweep(*of_all, *_columns(0))
    merged = _columns(n_merged)
    sweep(*of_all, *merged)
    return merged


def _columns(n: int) -> Columns:
    return np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)


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
    for k in range(len(rank)):
        n_ranks = max(n_ranks, rank[k] + 1)
    current = np.full(len(place), -1, np.int64)
    count = np.zeros(n_ranks, np.int64)
    n, i, since, active, state = 0, 0, 0, -1, -1
    while i < len(times):
        time, target = times[i], place[changed[i]]
        while i < len(times) and times[i] == time and place[changed[i]] == target:
            who = changed[i]
            if current[who] >= 0:
                count[rank[current[who]]] -= 1
            current[who] = entered[i]
            if entered[i] >= 0:
                count[rank[entered[i]]] += 1
            i += 1
        best = 0
        while best < n_ranks and count[best] == 0:
            best += 1
        new = -1
        if best < n_ranks:
            # What is shown goes on for as long as nothing goes before it.
            if active < 0 or place[active] != target or current[active] < 0 or rank[current[active]] != best:
                for k in range(first_member[target], first_member[target + 1]):
                    active = members[k]
                    if current[active] >= 0 and rank[current[active]] == best:
                        break
            new = current[active]
        if new != state:
            if state >= 0:
                if len(starts) > 0:
                    places[n], states[n], starts[n], ends[n] = target, state, since, time
                n += 1
            state, since = new, time
    return n
