"""The moments at which locations enter and leave states, in order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.categories import StateClasses
from perf_statistics.kernels import kernel
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace

_FIRST_CAPACITY = 1 << 15
_BITS = 63  # of an int64 that is not negative


_HASH_FACTOR = 1_000_003  # a prime below 2^20: with 40 bits kept, products stay within int64
_HASH_MASK = (1 << 40) - 1


@dataclass(frozen=True)
class Events:
    """Entries into states and exits from them."""

    times: Ints  # at one time, exits go before entries
    what: Ints  # from the lowest bit: the state, the location, 1 for an entry
    state_bits: int
    location_bits: int
    start_ns: int  # the run, on the trace's own clock
    end_ns: int


def state_events(trace: Trace, run_ns: tuple[int, int]) -> Events:
    """Both ends of every interval that lasts, sorted."""
    start, end = run_ns
    state_bits = len(trace.states).bit_length()  # one number more, for being in no state
    location_bits = max(len(trace.locations) - 1, 1).bit_length()
    bits = state_bits + location_bits + 1
    lasting = trace.end_ns > trace.start_ns
    keep = slice(None) if lasting.all() else lasting
    n = int(lasting.sum())
    codes = np.empty(2 * n, dtype=np.int64)
    exits, entries = codes[:n], codes[n:]
    exits[:] = trace.location[keep]
    exits <<= state_bits
    exits |= trace.state[keep]
    np.bitwise_or(exits, 1 << (bits - 1), out=entries)
    times = np.empty(2 * n, dtype=np.int64)
    np.subtract(trace.end_ns[keep], start, out=times[:n])
    np.subtract(trace.start_ns[keep], start, out=times[n:])
    if (end - start).bit_length() + bits > _BITS:
        order = np.argsort(times, kind="stable")  # the exits stand first
        return Events(times[order], codes[order], state_bits, location_bits, start, end)
    times <<= bits
    times |= codes
    del codes, exits, entries
    # In order already but for the exits among the entries: runs, which the stable sort merges.
    times.sort(kind="stable")
    codes = times & ((1 << bits) - 1)
    times >>= bits
    return Events(times, codes, state_bits, location_bits, start, end)


# A moment is a time at which a location changes its state or the amount of ready work changes. Between two moments the
# counts that predicates look at are constant. The first pass numbers the different vectors of counts, so that each
# predicate is evaluated once for each vector; the second runs one clock for each pair of class and category, and when a
# location leaves a class it is given what the clocks of that class have gained since it entered.


@kernel(small=2 * _FIRST_CAPACITY + 1)
def number_vectors(
    times: Any, codes: Any, state_bits: int, location_bits: int, n_locations: int, member: Any, ready_times: Any,
    ready_index: Any, end: int, ids: Any, vectors: Any, table: Any,
) -> tuple[int, int]:  # fmt: skip
    """Number the vectors of counts by their first appearance."""
    n_states, n_counts = member.shape
    slots = len(table) - 1
    current = np.zeros(n_counts + 1, np.int64)
    for d in range(n_counts):
        current[d] = n_locations * member[n_states - 1, d]
    state_mask = (1 << state_bits) - 1
    entering = 1 << (state_bits + location_bits)
    n_vectors, n_moments, i, r, now = 0, 0, 0, 0, 0
    while now < end:
        while i < len(times) and times[i] <= now:
            state = codes[i] & state_mask
            sign = 1 if codes[i] & entering else -1
            for d in range(n_counts):
                current[d] += sign * (member[state, d] - member[n_states - 1, d])
            i += 1
        while r < len(ready_times) and ready_times[r] <= now:
            current[n_counts] = ready_index[r]
            r += 1
        key = 0
        for d in range(n_counts + 1):
            key = (key * _HASH_FACTOR + current[d]) & _HASH_MASK
        place = (key ^ (key >> 17)) & slots
        while True:
            number = table[place]
            if number < 0:
                if n_vectors == len(vectors):
                    return -1, n_moments
                number = n_vectors
                table[place] = number
                for d in range(n_counts + 1):  # assigning the row at once takes seconds longer to compile
                    vectors[number, d] = current[d]
                n_vectors += 1
                break
            equal = True
            for d in range(n_counts + 1):
                if vectors[number, d] != current[d]:
                    equal = False
                    break
            if equal:
                break
            place = (place + 1) & slots
        ids[n_moments] = number
        n_moments += 1
        now = end
        if i < len(times):
            now = min(now, times[i])
        if r < len(ready_times):
            now = min(now, ready_times[r])
    return n_vectors, n_moments


@kernel(small=2 * _FIRST_CAPACITY + 1)
def attribute_time(
    times: Any, codes: Any, state_bits: int, location_bits: int, class_of: Any, ids: Any, clock_of: Any,
    first_clock: Any, ready_times: Any, phase_edges: Any, bin_edges: Any, spent: Any, timeline: Any, first: Any,
) -> None:  # fmt: skip
    """Give each location the time that it spent on each clock."""
    n_locations = spent.shape[1]
    n_classes = len(first_clock) - 1
    most = 0
    for k in range(n_classes):
        most = max(most, first_clock[k + 1] - first_clock[k])
    no_state = len(class_of) - 1
    current_class = np.full(n_locations, class_of[no_state], np.int64)
    entered = np.zeros((n_locations, most), np.int64)
    clocks = np.zeros(spent.shape[2], np.int64)
    members = np.zeros(n_classes, np.int64)
    members[class_of[no_state]] = n_locations
    state_mask = (1 << state_bits) - 1
    location_mask = (1 << location_bits) - 1
    end = phase_edges[-1]
    i, r, moment, phase, bin_, now = 0, 0, 0, 0, 0, 0
    while now < end:
        while i < len(times) and times[i] <= now:
            location = (codes[i] >> state_bits) & location_mask
            state = codes[i] & state_mask if codes[i] >> (state_bits + location_bits) else no_state
            old, new = current_class[location], class_of[state]
            i += 1
            if old == new:
                continue
            for clock in range(first_clock[old], first_clock[old + 1]):
                spent[phase, location, clock] += clocks[clock] - entered[location, clock - first_clock[old]]
            for clock in range(first_clock[new], first_clock[new + 1]):
                entered[location, clock - first_clock[new]] = clocks[clock]
            current_class[location] = new
            members[old] -= 1
            members[new] += 1
        while r < len(ready_times) and ready_times[r] <= now:
            r += 1
        following = end
        if i < len(times):
            following = min(following, times[i])
        if r < len(ready_times):
            following = min(following, ready_times[r])
        vector = ids[moment]
        moment += 1
        while now < following:
            stop = min(following, phase_edges[phase + 1], bin_edges[bin_ + 1])
            for k in range(n_classes):
                if members[k]:
                    clock = clock_of[vector, k]
                    clocks[clock] += stop - now
                    timeline[bin_, clock] += members[k] * (stop - now)
                    if first[clock] < 0:
                        first[clock] = now
            now = stop
            if now == bin_edges[bin_ + 1]:
                bin_ += 1
            if now == phase_edges[phase + 1]:
                for location in range(n_locations):
                    k = current_class[location]
                    for clock in range(first_clock[k], first_clock[k + 1]):
                        slot = clock - first_clock[k]
                        spent[phase, location, clock] += clocks[clock] - entered[location, slot]
                        entered[location, slot] = clocks[clock]
                phase += 1


@dataclass(frozen=True)
class Moments:
    """What changes when: states, and the amount of ready work."""

    events: Events
    ready_times: Ints
    ready_index: Ints
    n_locations: int


@dataclass(frozen=True)
class Clocks:
    """Pairs of a class and of the categories that its cycles belong to at a time: one, none, or several."""

    classes: tuple[int, ...]  # class of each clock, increasing
    categories: tuple[tuple[int, ...], ...]  # categories of each clock
    clock_of: npt.NDArray[np.int32]  # the clock that runs under each vector of counts


def numbered(moments: Moments, names: StateClasses) -> tuple[npt.NDArray[np.int32], Ints]:
    """The vector's number from each moment on, and the vectors; with more room until they fit."""
    events = moments.events
    most = len(events.times) + len(moments.ready_times) + 1
    ids = np.empty(most, dtype=np.int32)
    capacity = _FIRST_CAPACITY
    while True:
        vectors = np.empty((min(capacity, most), len(names.counted) + 1), dtype=np.int64)
        n_vectors, n_moments = number_vectors(
            events.times, events.what, events.state_bits, events.location_bits, moments.n_locations, names.member,
            moments.ready_times, moments.ready_index, events.end_ns - events.start_ns, ids, vectors,
            np.full(2 * capacity, -1, dtype=np.int32),
        )  # fmt: skip
        if n_vectors >= 0:
            return ids[:n_moments], vectors[:n_vectors]
        capacity *= 8


def attributed(
    moments: Moments, ids: npt.NDArray[np.int32], class_of: Ints, clocks: Clocks, edges: Ints, bins: Ints
) -> tuple[Ints, Ints, Ints]:
    """Time by phase, location and clock; by bin and clock; and when each clock first ran for a location."""
    events, n_clocks = moments.events, len(clocks.classes)
    first_clock = np.searchsorted(clocks.classes, np.arange(clocks.clock_of.shape[1] + 1)).astype(np.int64)
    spent = np.zeros((len(edges) - 1, moments.n_locations, n_clocks), dtype=np.int64)
    timeline = np.zeros((len(bins) - 1, n_clocks), dtype=np.int64)
    first = np.full(n_clocks, -1, dtype=np.int64)
    attribute_time(
        events.times, events.what, events.state_bits, events.location_bits, class_of, ids, clocks.clock_of,
        first_clock, moments.ready_times, edges, bins, spent, timeline, first,
    )  # fmt: skip
    return spent, timeline, first
