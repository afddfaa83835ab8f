"""Stretches of time: what intervals cover together, leave free, and share; each disjoint and in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Stretches = tuple[Integers, Integers]


def union(start: Integers, end: Integers) -> Stretches:
    """The disjoint stretches that intervals cover together."""
    lasting = end > start
    start, end = start[lasting], end[lasting]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.append(True, start[1:] > end[:-1])[: len(start)]
    return start[begins], end[np.append(begins[1:], True)[: len(start)]]


def rest(stretches: Stretches, first: int, last: int) -> Stretches:
    """What disjoint stretches leave free from ``first`` to ``last``."""
    start, end = (np.clip(each, first, last) for each in stretches)
    begins, ends = np.append(first, end), np.append(start, last)
    lasting = ends > begins
    return begins[lasting], ends[lasting]


def overlap(one: Stretches, other: Stretches, first: int, last: int) -> Stretches:
    """What two sets of disjoint stretches share from ``first`` to ``last``."""
    free = (rest(each, first, last) for each in (one, other))
    return rest(union(*map(np.concatenate, zip(*free, strict=True))), first, last)


def covered(stretches: Stretches, starts: Integers, ends: Integers) -> Integers:
    """How much of each window disjoint stretches cover (n_windows,)."""
    first, last = stretches
    total = np.concatenate([[0], np.cumsum(last - first)])

    def until(times: Integers) -> Integers:
        positions = np.searchsorted(first, times, side="right")
        sums: Integers = total[positions]
        inside = positions > 0
        sums[inside] -= np.maximum(last[positions[inside] - 1] - times[inside], 0)
        return sums

    return until(ends) - until(starts)
