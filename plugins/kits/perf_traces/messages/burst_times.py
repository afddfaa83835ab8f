"""How much of the time between calls a location spends in some of its states."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication
from perf_traces.messages.search_kernels import last_not_after
from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]


def burst_spans(communication: Communication) -> tuple[Integers, Integers, Integers]:
    """Location, start and end of each burst, as `perf_traces.messages.replay.Replay.burst_ns` counts them."""
    calls, first = communication.calls, communication.first_call
    has_calls = first[1:] > first[:-1]
    before = np.concatenate([[communication.start_ns], calls.leave_ns[:-1]])
    before[first[:-1][has_calls]] = communication.start_ns
    after = np.full(len(communication.locations), communication.start_ns, np.int64)
    after[has_calls] = calls.leave_ns[first[1:][has_calls] - 1]
    location = np.concatenate([calls.location.astype(np.int64), np.arange(len(communication.locations))])
    return (
        location,
        np.concatenate([before, after]).astype(np.int64),
        np.concatenate([calls.enter_ns, np.maximum(communication.end_ns, after)]).astype(np.int64),
    )


class BurstTimes:
    """Times of bursts by state."""

    def __init__(self, trace: Trace, communication: Communication) -> None:
        order = np.lexsort((trace.start_ns, trace.location))
        self._first = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1)).astype(np.int64)
        self._start, self._end = trace.start_ns[order], trace.end_ns[order]
        self._state = trace.state[order]
        self.location, self.start_ns, self.end_ns = burst_spans(communication)

    def within(self, states: npt.NDArray[np.bool_], bursts: npt.NDArray[np.integer] | None = None) -> Integers:
        """How long each burst is spent in the states of a mask, in nanoseconds."""
        length = np.where(states[self._state], self._end - self._start, 0)
        passed = np.concatenate([[0], np.cumsum(length)])

        def until(location: Integers, when: Integers) -> Integers:
            index = last_not_after(self._first, self._start, location, when)
            has_started = index >= 0
            index = np.where(has_started, index, self._first[location])
            part = np.minimum(
                np.clip(when - self._start[np.minimum(index, len(length) - 1)], 0, None), _take_clipped(length, index)
            )
            return np.asarray(passed[index] - passed[self._first[location]] + np.where(has_started, part, 0))

        chosen = slice(None) if bursts is None else bursts
        location = np.ascontiguousarray(self.location[chosen])
        ends = until(location, np.ascontiguousarray(self.end_ns[chosen]))
        return ends - until(location, np.ascontiguousarray(self.start_ns[chosen]))


def _take_clipped(values: Integers, places: Integers) -> Integers:
    return values[np.minimum(places, len(values) - 1)]
