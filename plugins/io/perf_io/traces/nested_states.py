"""States as they are entered and left, event by event: the innermost one counts at each time."""

from __future__ import annotations

from array import array
from collections.abc import KeysView, Sequence
from typing import Any

import numpy as np

from perfcore.base.errors import InputError
from perfcore.data.trace import Trace

__all__ = ["NestedStates"]


class NestedStates:
    """Collects the intervals of all locations in 24 bytes each.

    Parameters
    ----------
    source : str
        Name of the input, for messages.

    Raises
    ------
    InputError
        By every method with ``line``: the time is before that of the location's event before.

    Examples
    --------
    >>> states = NestedStates("demo")
    >>> states.push(0, 0, at=10, line=1)
    >>> states.push(0, 1, at=20, line=2)
    >>> states.pop(0, at=30, line=3)
    True
    >>> states.finish(at=40)
    >>> trace = states.trace(["cpu"], ["outer", "inner"], time_unit="ns")
    >>> trace.state.tolist(), trace.start_ns.tolist()
    ([0, 1, 0], [10, 20, 30])
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._location, self._state = array("i"), array("i")
        self._start, self._end = array("q"), array("q")
        self._open: dict[int, list[int]] = {}
        self._since: dict[int, int] = {}

    def push(self, location: int, state: int, at: int, line: int) -> None:
        """Enter ``state``; the one before continues when it is left."""
        self._advance(location, at, line)
        self._open.setdefault(location, []).append(state)

    def pop(self, location: int, at: int, line: int) -> bool:
        """Leave the innermost state; False if there is none."""
        self._advance(location, at, line)
        stack = self._open.get(location)
        if not stack:
            return False
        stack.pop()
        return True

    def innermost(self, location: int) -> int | None:
        """The state that the location is in."""
        stack = self._open.get(location)
        return stack[-1] if stack else None

    def clear(self, location: int, at: int, line: int) -> None:
        """Leave all states."""
        self._advance(location, at, line)
        self._open[location] = []

    def touch(self, location: int, at: int, line: int) -> None:
        """Note that the location was still in its state."""
        self._advance(location, at, line)

    def finish(self, at: int | None = None) -> None:
        """Leave all states of all locations at the end of the run; by default each at its own last event."""
        for location, stack in self._open.items():
            since = self._since[location]
            self._advance(location, since if at is None else max(at, since), 0)
            stack.clear()

    def _advance(self, location: int, at: int, line: int) -> None:
        stack = self._open.get(location)
        since = self._since.get(location, at)
        if at < since:
            raise InputError(
                self._source,
                f"the time goes back from {since} to {at} ns; the events of one location must be in order of time",
                line=line,
            )
        if stack and at > since:
            self._location.append(location)
            self._state.append(stack[-1])
            self._start.append(since)
            self._end.append(at)
        self._since[location] = at

    def __len__(self) -> int:
        return len(self._start)

    @property
    def locations(self) -> KeysView[int]:
        """All locations that had an event, in the order of their first one."""
        return self._since.keys()

    def trace(self, locations: Sequence[str], states: Sequence[str], **facts: Any) -> Trace:
        """All intervals.

        Parameters
        ----------
        locations : sequence of str
            A name for each of `locations`, in that order.
        states : sequence of str
            Names by state.
        **facts
            Keywords of `perfcore.Trace`.

        Raises
        ------
        InputError
            There are none.
        """
        if not len(self):
            raise InputError(self._source, "contains no state that lasts")
        position = {location: place for place, location in enumerate(self._since)}
        codes, where = np.unique(np.frombuffer(self._location, np.int32), return_inverse=True)
        return Trace(
            np.array([position[code] for code in codes.tolist()], np.int32)[where],
            np.frombuffer(self._state, np.int32),
            np.frombuffer(self._start, np.int64),
            np.frombuffer(self._end, np.int64),
            locations,
            states,
            source=self._source,
            **facts,
        )
