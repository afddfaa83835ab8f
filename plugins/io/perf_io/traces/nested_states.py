"""States as they are entered and left, event by event: the innermost one counts at each time."""

from __future__ import annotations

from array import array
from collections.abc import KeysView, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.nesting import BACKGROUND, Columns, Nesting, keep_nesting, nesting_of
from perf_traces.options import WARNING
from perfcore.base.errors import InputError, listing
from perfcore.data.trace import Trace


def used_states(
    original: Trace, *, without: str | None = None, duration_ns: int | None = None, notes: Sequence[str] = ()
) -> Trace:
    """The trace with the states that occur."""
    is_wanted = np.array([name != without for name in original.states])
    keep = is_wanted[original.state]
    if not keep.any():
        raise InputError(original.source, "contains no state that lasts")
    nesting, lasting = nesting_of(original), original.state[keep]
    calling = np.zeros(0, np.int64)
    if nesting is not None:
        calling = np.flatnonzero(is_wanted[nesting.state])
        lasting = np.concatenate([lasting, nesting.state[calling]])
    used, code = np.unique(lasting, return_inverse=True)
    names = [original.states[code] for code in used.tolist()]
    state = code.reshape(-1).astype(np.int32)
    n_intervals = int(keep.sum())
    first, last = original.span_ns
    columns = original.location[keep], state[:n_intervals], original.start_ns[keep], original.end_ns[keep]
    trace = Trace(
        *columns,
        original.locations,
        names,
        time_unit=original.time_unit,
        span_ns=(first, last) if duration_ns is None else (min(0, first), max(duration_ns, last)),
        source=original.source,
        notes=[*original.notes, *notes],
        levels=original.levels,
        facts={BACKGROUND: original.facts[BACKGROUND]} if original.facts.get(BACKGROUND) in names else None,
    )
    if nesting is not None:
        times = nesting.start_ns[calling], nesting.end_ns[calling]
        keep_nesting(trace, Nesting(nesting.location[calling], state[n_intervals:], *times, nesting.is_call[keep]))
    return trace


class NestedStates:
    """Collects the intervals of all locations in 25 bytes each, and calls that have callees in 24."""

    def __init__(self, source: str, background: int | None = None) -> None:
        self._source, self._background = source, background
        self._location, self._state = array("i"), array("i")
        self._start, self._end = array("q"), array("q")
        self._is_call = array("b")
        # Calls that are not one interval each; see `perf_traces.nesting`.
        self._callers = array("i"), array("i"), array("q"), array("q")
        self._open: dict[int, list[list[int]]] = {}  # state, when it was entered, and whether it has callees
        self._since: dict[int, int] = {}
        self._left_open: dict[int, int] = {}  # number of states at the end of the run

    def push(self, location: int, state: int, time: int, line: int) -> None:
        """Enter ``state``; the one before continues when it is left."""
        self.touch(location, time, line)
        stack = self._open.setdefault(location, [])
        if stack:
            stack[-1][2] = True
        stack.append([state, time, False])

    def pop(self, location: int, time: int, line: int) -> bool:
        """Leave the innermost state; False if there is none."""
        self.touch(location, time, line)
        stack = self._open.get(location)
        if not stack:
            return False
        self._close(location, stack.pop(), time)
        return True

    def innermost(self, location: int) -> int | None:
        stack = self._open.get(location)
        return stack[-1][0] if stack else None

    def clear(self, location: int, time: int, line: int) -> None:
        self.touch(location, time, line)
        self._close_all(location, time)

    def finish(self, time: int | None = None) -> None:
        """Leave all states at the end of the run, by default the last event: those of a killed run were not left."""
        last = max(self._since.values(), default=0)
        for location, stack in self._open.items():
            since = self._since[location]
            if time is None and (n_open := sum(state != self._background for state, *_ in stack)):
                self._left_open[location] = n_open
            end = max(time, since) if time is not None else last if location in self._left_open else since
            self.touch(location, end, 0)
            self._close_all(location, end)

    def touch(self, location: int, time: int, line: int) -> None:
        """Note that the location was still in its state."""
        stack = self._open.get(location)
        since = self._since.get(location, time)
        if time < since:
            raise InputError(
                self._source,
                f"the time goes back from {since} to {time} ns; the events of one location must be in order of time",
                line=line,
            )
        if stack and time > since:
            self._location.append(location)
            self._state.append(stack[-1][0])
            self._start.append(since)
            self._end.append(time)
            self._is_call.append(stack[-1][0] == self._background)
        self._since[location] = time

    def _close_all(self, location: int, time: int) -> None:
        stack = self._open.setdefault(location, [])
        while stack:
            self._close(location, stack.pop(), time)

    def _close(self, location: int, call: list[int], time: int) -> None:
        """Note a call that is over: as its interval, where it is one from begin to end."""
        state, entered, has_callees = call
        if state == self._background:
            return
        if not has_callees and time > entered and self._start[-1] == entered and self._location[-1] == location:
            self._is_call[-1] = 1
            return
        for column, value in zip(self._callers, (location, state, entered, time), strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._start)

    @property
    def locations(self) -> KeysView[int]:
        """All locations that had an event, in the order of their first one."""
        return self._since.keys()

    def trace(
        self, locations: Sequence[str], states: Sequence[str], *, notes: Sequence[str] = (), **facts: Any
    ) -> Trace:
        if not len(self):
            raise InputError(self._source, "contains no state that lasts")
        position = {location: place for place, location in enumerate(self._since)}

        def places(column: array[int]) -> npt.NDArray[np.int32]:
            codes, where = np.unique(np.frombuffer(column, np.int32), return_inverse=True)
            return np.array([position[code] for code in codes.tolist()], np.int32)[where.reshape(-1)]

        def columns(location: array[int], state: array[int], start: array[int], end: array[int]) -> Columns:
            times = np.frombuffer(start, np.int64), np.frombuffer(end, np.int64)
            return places(location), np.frombuffer(state, np.int32), *times

        own = columns(self._location, self._state, self._start, self._end)
        if self._left_open:
            left = [f"{locations[position[code]]}: {n_open}" for code, n_open in self._left_open.items()]
            notes = [
                *notes,
                f"{WARNING}regions that are left open last until the end of the trace ({listing(left, 3)})",
            ]
        trace = Trace(*own, locations, states, source=self._source, notes=notes, **facts)
        location, state, start, end = columns(*self._callers)
        is_call = np.frombuffer(self._is_call, np.bool_)
        nesting = Nesting(location[::-1], state[::-1], start[::-1], end[::-1], is_call)  # the innermost was left first
        if self._background is not None:
            trace.facts = {**trace.facts, BACKGROUND: states[self._background]}
        return keep_nesting(trace, nesting)
