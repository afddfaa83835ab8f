"""Compiled loops over calls, and over graphs of events."""

from __future__ import annotations

import numpy as np

from perf_statistics.kernels import kernel
from perfcore.base.arrays import Codes, Ints


@kernel(small=20_000)
def last_not_after(first: Ints, times: Ints, location: Ints, when: Ints) -> Ints:  # pragma: no cover
    """Return the index of the last of a location's times that is not after a moment, -1 if there is none."""
    indices = np.full(len(when), -1, np.int64)
    for k in range(len(when)):
        if not 0 <= location[k] < len(first) - 1:
            continue
        begin, low, high = first[location[k]], first[location[k]], first[location[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if times[middle] <= when[k]:
                low = middle + 1
            else:
                high = middle
        if low > begin:
            indices[k] = low - 1
    return indices


@kernel(small=20_000)
def arrange(n_nodes: int, source: Codes, target: Codes) -> tuple[Codes, Ints, Codes, int]:  # pragma: no cover
    """Number nodes so that each comes after all that it depends on, and sort edges by the node that they lead to."""
    n_edges = len(source)
    waits, begins_out = np.zeros(n_nodes, np.int32), np.zeros(n_nodes + 1, np.int64)
    for e in range(n_edges):
        waits[target[e]] += 1
        begins_out[source[e] + 1] += 1
    for node in range(n_nodes):
        begins_out[node + 1] += begins_out[node]
    fill, leads = begins_out[:-1].copy(), np.empty(n_edges, np.int32)
    for e in range(n_edges):
        leads[fill[source[e]]] = target[e]
        fill[source[e]] += 1
    place, queue = np.full(n_nodes, -1, np.int32), np.empty(n_nodes, np.int32)
    begins = np.zeros(n_nodes + 1, np.int64)
    tail = 0
    for node in range(n_nodes):
        begins[node] = waits[node]  # kept here until the order is known
        if waits[node] == 0:
            queue[tail] = node
            tail += 1
    head = 0
    while head < tail:
        node = queue[head]
        place[node] = head
        head += 1
        for k in range(begins_out[node], begins_out[node + 1]):
            waits[leads[k]] -= 1
            if waits[leads[k]] == 0:
                queue[tail] = leads[k]
                tail += 1
    degree = begins.copy()
    begins = np.zeros(tail + 1, np.int64)
    for node in range(tail):
        begins[node + 1] = begins[node] + degree[queue[node]]
    fill, edge = begins[:-1].copy(), np.full(begins[tail], -1, np.int32)
    for e in range(n_edges):
        into = place[target[e]]
        if into >= 0:
            edge[fill[into]] = e
            fill[into] += 1
    return place, begins, edge, tail


@kernel(small=20_000)
def latest_cause(begins: Ints, source: Codes, times: Ints) -> Ints:  # pragma: no cover
    """Return for each node the latest time of those that it depends on; the smallest number where there are none."""
    latest = np.full(len(begins) - 1, np.iinfo(np.int64).min, np.int64)
    for node in range(len(latest)):
        for e in range(begins[node], begins[node + 1]):
            latest[node] = max(latest[node], times[source[e]])
    return latest


@kernel(small=20_000)
def longest(begins: Ints, source: Codes, index: Codes, cost: Ints, times: Ints) -> None:  # pragma: no cover
    """When each node happens if all start at 0 and each edge takes ``cost[index]``."""
    for node in range(len(begins) - 1):
        first, last = begins[node], begins[node + 1]
        latest = np.int64(0)
        if first < last:
            latest = times[source[first]] + cost[index[first]]
            for e in range(first + 1, last):
                latest = max(latest, times[source[e]] + cost[index[e]])
        times[node] = latest


@kernel(small=20_000)
def longest_of_several(begins: Ints, source: Codes, index: Codes, cost: Ints, times: Ints) -> None:  # pragma: no cover
    """The same for costs (n, k) and times (n_nodes, k) of k replays, which wait for memory once."""
    several = times.shape[1]
    for node in range(len(begins) - 1):
        first, last = begins[node], begins[node + 1]
        for k in range(several):
            times[node, k] = 0 if first == last else times[source[first], k] + cost[index[first], k]
        for e in range(first + 1, last):
            origin, price = source[e], index[e]
            for k in range(several):
                times[node, k] = max(times[node, k], times[origin, k] + cost[price, k])


@kernel(small=20_000)
def longest_with_causes(
    begins: Ints, source: Codes, index: Codes, cost: Ints, times: Ints, cause: Codes
) -> None:  # pragma: no cover
    """The same, and for each node the first edge by which it was latest, -1 if it has none."""
    for node in range(len(begins) - 1):
        first, last = begins[node], begins[node + 1]
        latest, chosen = np.int64(0), -1
        for e in range(first, last):
            time = times[source[e]] + cost[index[e]]
            if chosen < 0 or time > latest:
                latest, chosen = time, e
        times[node], cause[node] = latest, chosen


@kernel(small=20_000)
def path_to(node: int, source: Codes, cause: Codes) -> Codes:  # pragma: no cover
    """Return the edges that lead to a node, the last one first."""
    n_edges, current = 0, node
    while cause[current] >= 0:
        n_edges += 1
        current = source[cause[current]]
    path = np.empty(n_edges, np.int32)
    current = node
    for k in range(n_edges):
        path[k] = cause[current]
        current = source[cause[current]]
    return path
