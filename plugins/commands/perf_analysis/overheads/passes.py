"""The two passes over a trace's moments, with what they need made ready."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.events import Events
from perf_analysis.overheads.state_classes import StateClasses
from perf_analysis.overheads.sweep import attribute_time, number_vectors
from perfcore.base.kernels import announce_compilation, kernel


Integers = npt.NDArray[np.int64]

_FIRST_CAPACITY = 1 << 15
_INTERPRETED = 3_000  # intervals below which compiling, or even loading the compiler, takes longer than the work


@dataclass(frozen=True)
class Moments:
    """What changes when: states, and the amount of ready work."""

    events: Events
    ready_times: Integers
    ready_index: Integers
    n_locations: int

    def kernel(self, function: Callable[..., Any]) -> Any:
        """A pass over the moments, compiled where they are many."""
        return function if len(self.events.times) < 2 * _INTERPRETED else _compiled(function)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Any:
    compiled = kernel(function)
    announce_compilation(compiled)
    return compiled


@dataclass(frozen=True)
class Clocks:
    """Pairs of a class and of the categories that its cycles belong to at a time: one, none, or several."""

    classes: tuple[int, ...]  # class of each clock, increasing
    categories: tuple[tuple[int, ...], ...]  # categories of each clock
    clock_of: npt.NDArray[np.int32]  # the clock that runs under each vector of counts


def numbered(moments: Moments, names: StateClasses) -> tuple[npt.NDArray[np.int32], Integers]:
    """The vector's number from each moment on, and the vectors; with more room until they fit."""
    events = moments.events
    most = len(events.times) + len(moments.ready_times) + 1
    ids = np.empty(most, dtype=np.int32)
    capacity = _FIRST_CAPACITY
    while True:
        vectors = np.empty((min(capacity, most), len(names.counted) + 1), dtype=np.int64)
        n_vectors, n_moments = moments.kernel(number_vectors)(
            events.times, events.what, events.state_bits, events.location_bits, moments.n_locations, names.member,
            moments.ready_times, moments.ready_index, events.end_ns - events.start_ns, ids, vectors,
            np.full(2 * capacity, -1, dtype=np.int32),
        )  # fmt: skip
        if n_vectors >= 0:
            return ids[:n_moments], vectors[:n_vectors]
        capacity *= 8


def attributed(
    moments: Moments,
    ids: npt.NDArray[np.int32],
    class_of: Integers,
    clocks: Clocks,
    edges: Integers,
    bins: Integers,
) -> tuple[Integers, Integers, Integers]:
    """Time by phase, location and clock; by bin and clock; and when each clock first ran for a location."""
    events, n_clocks = moments.events, len(clocks.classes)
    first_clock = np.searchsorted(clocks.classes, np.arange(clocks.clock_of.shape[1] + 1)).astype(np.int64)
    spent = np.zeros((len(edges) - 1, moments.n_locations, n_clocks), dtype=np.int64)
    timeline = np.zeros((len(bins) - 1, n_clocks), dtype=np.int64)
    first = np.full(n_clocks, -1, dtype=np.int64)
    moments.kernel(attribute_time)(
        events.times, events.what, events.state_bits, events.location_bits, class_of, ids, clocks.clock_of,
        first_clock, moments.ready_times, edges, bins, spent, timeline, first,
    )  # fmt: skip
    return spent, timeline, first
