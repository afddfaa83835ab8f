"""Calls, messages and collectives, taken while the events of a trace are read one after the other.

A call is an outermost region of the communication library. The k-th send belongs to the k-th receive that was posted
with the same sender, receiver, communicator and tag; requests link post and completion. A rank of the group of self,
without members, is another at each location.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from perf_traces.messages.communication import (
    UNKNOWN,
    Calls,
    Communication,
    Messages,
    called_jointly,
    collectives_in_order,
    paired_in_order,
)
from perfcore.base.arrays import Ints

_OF_ALL = -1  # in place of a communicator, and below
_LARGEST = (1 << 63) - 1  # what a column holds; damaged files say more


class CallRecorder:
    """Takes the events of one location after the other."""

    def __init__(
        self, regions: Mapping[int, str], members: Mapping[int, Sequence[int]], nanoseconds: Callable[[int], int]
    ) -> None:
        self._operations = tuple(dict.fromkeys(regions.values()))
        codes = {name: code for code, name in enumerate(self._operations)}
        self._regions = {number: codes[name] for number, name in regions.items()}
        self._members, self._nanoseconds = members, nanoseconds
        # Rows of several numbers each, one after the other.
        self._calls, self._sends, self._receives, self._joined = array("q"), array("q"), array("q"), array("q")
        self._done: dict[int, int] = {}  # call in which the n-th send completes
        self.n_calls = self._lost = self._sequence = 0
        self._ends: dict[int, int] = {}

    def begin(self, place: int) -> None:
        self._place, self._depth = place, 0
        self._sending: dict[int, int] = {}
        self._posted: dict[int, tuple[int, int]] = {}

    def enter(self, tick: int, region: int) -> None:
        if region in self._regions:
            self._depth += 1
            if self._depth == 1:
                entered = min(tick, _LARGEST)
                self._calls.extend((self._place, entered, entered, self._regions[region]))
                self.n_calls += 1
        self._ends[self._place] = tick

    def leave(self, tick: int, region: int) -> None:
        if region in self._regions and self._depth:
            self._depth -= 1
            if not self._depth:
                self._calls[-2] = min(tick, _LARGEST)
        self._ends[self._place] = tick

    def end(self, tick: int) -> None:
        """The last record of the location, where that neither enters nor leaves a region."""
        self._ends[self._place] = tick

    def send(self, receiver: int, communicator: int, tag: int, size: int, request: int | None = None) -> None:
        to = self._rank(communicator, receiver)
        if not self._depth or to is None:
            self._lost += 1
            return
        number = len(self._sends) // 7
        completion = self.n_calls - 1
        if request is not None:
            self._sending[request], completion = number, UNKNOWN
        size = min(size, _LARGEST)
        self._sends.extend((self._place, to, communicator, tag, size, self.n_calls - 1, completion))

    def sent(self, request: int) -> None:
        if self._depth and (number := self._sending.pop(request, None)) is not None:
            self._done[number] = self.n_calls - 1

    def post(self, request: int) -> None:
        if self._depth:
            self._sequence += 1
            self._posted[request] = self.n_calls - 1, self._sequence

    def cancelled(self, request: int) -> None:
        self._posted.pop(request, None)
        self._sending.pop(request, None)

    def receive(self, sender: int, communicator: int, tag: int, request: int | None = None) -> None:
        origin = self._rank(communicator, sender)
        self._sequence += 1
        posted = self.n_calls - 1, self._sequence
        if request is not None:
            posted = self._posted.pop(request, posted)
        if not self._depth or origin is None:
            self._lost += 1
            return
        self._receives.extend((origin, self._place, communicator, tag, *posted, self.n_calls - 1))

    def collective(self, communicator: int, root: int, size: int) -> None:
        if not self._depth:
            self._lost += 1
            return
        members = self._members.get(communicator, ())
        is_root = root < len(members) and members[root] == self._place
        alone = UNKNOWN if members else self._place
        self._joined.extend((self.n_calls - 1, communicator, alone, min(size, _LARGEST), is_root, len(members) or 1))

    def _rank(self, communicator: int, rank: int) -> int | None:
        members = self._members.get(communicator, ())
        if not members:
            return self._place
        return members[rank] if rank < len(members) and members[rank] >= 0 else None

    def communication(
        self, places: Sequence[int], locations: Sequence[str], start_ns: int, source: str
    ) -> Communication:
        rows = np.array(self._calls, np.int64).reshape(-1, 4)
        of_place = {place: code for code, place in enumerate(places)}
        location = np.array([of_place[place] for place in rows[:, 0].tolist()], np.int32)
        order = np.argsort(location, kind="stable")
        new = np.empty(len(order) + 1, np.int64)
        new[order], new[-1] = np.arange(len(order)), UNKNOWN  # of calls that are not known
        rows = rows[order]
        enter, leave = self._times(rows[:, 1]), self._times(rows[:, 2])
        calls = Calls(location[order], enter, leave, rows[:, 3].astype(np.int32), self._operations)
        messages, n_alone = self._messages(new)
        joined = np.array(self._joined, np.int64).reshape(-1, 6)
        joined[:, 0] = new[joined[:, 0]]
        jointly = np.setdiff1d(np.flatnonzero(called_jointly(calls, np.zeros(len(locations), np.int64))), joined[:, 0])
        more = np.full((len(jointly), 6), UNKNOWN)  # these have no record: of the world, as far as anybody knows
        more[:, 0], more[:, 1], more[:, 3], more[:, 4] = jointly, _OF_ALL - calls.operation[jointly], 0, 0
        joined = np.concatenate([joined, more])
        joined = joined[np.argsort(joined[:, 0], kind="stable")]
        _, group = np.unique(joined[:, 1:3], axis=0, return_inverse=True)
        together, n_other = collectives_in_order(
            calls, joined[:, 0].copy(), np.maximum(joined[:, 1], _OF_ALL), joined[:, 3].copy(), joined[:, 4] > 0,
            joined[:, 5].copy(), group.reshape(-1).astype(np.int64),
        )  # fmt: skip
        unmatched = {
            "sends or receives have no partner": n_alone,
            "events of messages are outside of calls or name a rank that does not exist": self._lost,
            "calls of collectives do not fit to those of other ranks": n_other,
        }
        ends = np.array([self._nanoseconds(self._ends[place]) for place in places], np.int64)
        return Communication(tuple(locations), start_ns, ends, calls, messages, together, unmatched, source)

    def _messages(self, new: Ints) -> tuple[Messages, int]:
        sends, receives = (np.array(rows, np.int64).reshape(-1, 7) for rows in (self._sends, self._receives))
        for number, call in self._done.items():
            sends[number, 6] = call
        receives = receives[np.argsort(receives[:, 5], kind="stable")]
        sent, received = paired_in_order(list(sends[:, :4].T), list(receives[:, :4].T))
        n_alone = len(sends) + len(receives) - 2 * len(sent)
        sends, receives = sends[sent], receives[received]
        ends = new[sends[:, 5]], new[sends[:, 6]], new[receives[:, 4]], new[receives[:, 6]]
        return Messages(*ends, sends[:, 4], sends[:, 3], sends[:, 2]), n_alone

    def _times(self, ticks: Ints) -> Ints:
        return np.array([self._nanoseconds(tick) for tick in ticks.tolist()], np.int64)
