"""How much of the time between calls a location spends in some of its states."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_messages.communication import Communication
from perf_messages.search_kernels import last_not_after
from perfcore.data.trace import Trace

__all__ = ["BurstTimes", "burst_spans"]

Integers = npt.NDArray[np.int64]


def burst_spans(found: Communication) -> tuple[Integers, Integers, Integers]:
    """Location, start and end of each burst, as `perf_messages.replay.Replay.burst_ns` counts them.

    Examples
    --------
    >>> from perf_messages.testing import exchange
    >>> location, start, end = burst_spans(exchange())
    >>> (end - start).tolist()
    [40, 0, 10, 0, 50, 20]
    """
    calls, first = found.calls, found.first_call
    has_calls = first[1:] > first[:-1]
    before = np.concatenate([[found.start_ns], calls.leave_ns[:-1]])
    before[first[:-1][has_calls]] = found.start_ns
    after = np.full(len(found.locations), found.start_ns, np.int64)
    after[has_calls] = calls.leave_ns[first[1:][has_calls] - 1]
    location = np.concatenate([calls.location.astype(np.int64), np.arange(len(found.locations))])
    return (
        location,
        np.concatenate([before, after]).astype(np.int64),
        np.concatenate([calls.enter_ns, np.maximum(found.end_ns, after)]).astype(np.int64),
    )


class BurstTimes:
    """Times of bursts by state.

    Parameters
    ----------
    trace : Trace
        Of the same run.
    found : Communication
    """

    def __init__(self, trace: Trace, found: Communication) -> None:
        order = np.lexsort((trace.start_ns, trace.location))
        self._first = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1)).astype(np.int64)
        self._start, self._end = trace.start_ns[order], trace.end_ns[order]
        self._state = trace.state[order]
        self.location, self.start_ns, self.end_ns = burst_spans(found)

    def within(self, states: npt.NDArray[np.bool_], bursts: npt.NDArray[np.integer] | None = None) -> Integers:
        """How long each burst is spent in the states of a mask, in nanoseconds.

        Parameters
        ----------
        states : (n_states,) bool
        bursts : (n,) int, optional
            Only of these.
        """
        length = np.where(states[self._state], self._end - self._start, 0)
        passed = np.concatenate([[0], np.cumsum(length)])

        def until(location: Integers, when: Integers) -> Integers:
            at = last_not_after(self._first, self._start, location, when)
            there = at >= 0
            at = np.where(there, at, self._first[location])
            own = np.minimum(np.clip(when - self._start[np.minimum(at, len(length) - 1)], 0, None), _at(length, at))
            return np.asarray(passed[at] - passed[self._first[location]] + np.where(there, own, 0))

        chosen = slice(None) if bursts is None else bursts
        location = np.ascontiguousarray(self.location[chosen])
        ends = until(location, np.ascontiguousarray(self.end_ns[chosen]))
        return ends - until(location, np.ascontiguousarray(self.start_ns[chosen]))


def _at(values: Integers, places: Integers) -> Integers:
    return values[np.minimum(places, len(values) - 1)]
