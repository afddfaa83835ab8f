"""Intervals of locations: which one counts if they overlap, gaps before launches, and states event by event."""

from __future__ import annotations

from array import array
from collections.abc import KeysView, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.levels import NOT_STARTED, WAITING_FOR_HOST
from perf_traces.nesting import BACKGROUND, Columns, Nesting, keep_nesting, nesting_of
from perf_traces.options import WARNING
from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.base.errors import InputError, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable

AnyIntegers = npt.NDArray[Any]
_MOST_JUMPS = 1_000  # of a length that would cover the trace: shorter ones are of rounding
OUTSIDE = "(outside of all regions)"  # of a thread that computes: often nothing but calls of a library is recorded
UNKNOWN_NS = -(1 << 62)  # of a launch that is not recorded
UNLAUNCHED = "have no recorded launch: launched before the trace, or without correlation ids"
JUMPED = "the clock jumped back"
REPLAYED = "kernels were replayed to count"
WITHOUT_LAUNCHES = "no launches by the host: idle streams do not tell whether they wait for it"


@kernel(small=20_000)
def _pairs(location: Ints, begins: Booleans, partner: Ints) -> None:  # pragma: no cover
    stack = np.empty(len(location), np.int64)
    depth = 0
    for row in range(len(location)):
        if row > 0 and location[row] != location[row - 1]:
            depth = 0
        if begins[row]:
            stack[depth] = row
            depth += 1
        elif depth > 0:
            depth -= 1
            partner[stack[depth]] = row
            partner[row] = stack[depth]


@kernel(small=20_000)
def _running(location: Ints, start: Ints, end: Ints, owner: Ints, first: Ints, last: Ints) -> int:  # pragma: no cover
    n_pieces, depth, since = 0, 0, 0
    stack = np.empty(len(location) + 1, np.int64)
    for row in range(len(location) + 1):
        over = row == len(location)
        while depth > 0:
            until = end[stack[depth - 1]]
            if not (over or location[stack[depth - 1]] != location[row] or until <= start[row]):
                break
            depth -= 1
            if until > since:
                if len(owner) > 0:
                    owner[n_pieces], first[n_pieces], last[n_pieces] = stack[depth], since, until
                n_pieces += 1
                since = until
        if over:
            break
        if depth > 0 and start[row] > since:
            if len(owner) > 0:
                owner[n_pieces], first[n_pieces], last[n_pieces] = stack[depth - 1], since, start[row]
            n_pieces += 1
        stack[depth] = row
        depth += 1
        since = start[row]
    return n_pieces


def pair_events(location: Ints, time: Ints, begins: Booleans) -> tuple[Ints, Ints]:
    """Return which event ends what another one began."""
    order = np.lexsort((time, location))
    partner = np.full(len(order), -1, np.int64)
    _pairs(location[order].astype(np.int64), begins[order], partner)
    return order, partner


def _by_location_and_start(location: Ints, start: Ints, end: Ints) -> Ints:
    """Return the order of intervals; those of one location mostly are in order, and only locations need sorting."""
    # numpy sorts 16 bits by radix, ten times as fast.
    keys = location.astype(np.uint16) if len(location) and 0 <= location.min() <= location.max() < 1 << 16 else location
    order = np.argsort(keys, kind="stable")
    place, first, last = location[order], start[order], end[order]
    together = (first[1:] == first[:-1]) & (last[1:] > last[:-1])
    wrong = (place[1:] == place[:-1]) & ((first[1:] < first[:-1]) | together)
    return np.lexsort((-end, start, location)) if wrong.any() else order


def latest_running(location: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut intervals so that at each time and location only the one counts that began last and still runs."""
    order = _by_location_and_start(location, start, end)
    place, first, last = location[order], start[order], end[order]
    if not ((place[1:] == place[:-1]) & (first[1:] < last[:-1])).any():
        lasting = last > first
        return (order, first, last) if lasting.all() else (order[lasting], first[lasting], last[lasting])
    place = place.astype(np.int64)
    nothing = np.empty(0, np.int64)
    n_pieces = _running(place, first, last, nothing, nothing, nothing)
    owner, starts, ends = (np.empty(n_pieces, np.int64) for _ in range(3))
    _running(place, first, last, owner, starts, ends)
    return order[owner], starts, ends


@kernel(small=20_000)
def _crosses(location: Ints, start: Ints, end: Ints) -> bool:  # pragma: no cover
    until = np.empty(len(location) + 1, np.int64)
    depth = 0
    for row in range(len(location)):
        if row > 0 and location[row] != location[row - 1]:
            depth = 0
        while depth > 0 and until[depth - 1] <= start[row]:
            depth -= 1
        if depth > 0 and until[depth - 1] < end[row]:
            return True
        until[depth] = end[row]
        depth += 1
    return False


def is_crossed(location: Ints, start: Ints, end: Ints) -> bool:
    """Return whether an interval begins within another one of its location and ends after it."""
    order = _by_location_and_start(location, start, end)
    return bool(_crosses(location[order].astype(np.int64), start[order], end[order]))


def clip_at_next(location: Ints, start: Ints, end: Ints, in_order: Booleans) -> tuple[int, int, int] | None:
    """End intervals that happen in order, in place, where the next of their location begins, if they outlast that.

    Those that end within the next one overlap it, as kernels with programmatic launches do, and remain. Returns the
    row that loses most, how much, and how many lost any; None if none did.
    """
    order = _by_location_and_start(location, start, end)
    order = order[in_order[order] & (end > start)[order]]
    place, first = location[order], start[order]
    if not ((place[1:] == place[:-1]) & (first[1:] < end[order][:-1])).any():
        return None
    begins = np.flatnonzero(np.append(True, (place[1:] != place[:-1]) | (first[1:] != first[:-1])))
    limit, next_end = np.full(len(begins), 1 << 62), np.full(len(begins), 1 << 62)
    follows = place[begins[1:]] == place[begins[:-1]]
    limit[:-1][follows] = first[begins[1:]][follows]
    next_end[:-1][follows] = end[order[begins[1:]]][follows]
    limit, next_end = (np.repeat(each, np.diff(np.append(begins, len(order)))) for each in (limit, next_end))
    excess = np.where(end[order] >= next_end, end[order] - limit, 0)
    clipped = excess > 0
    if not clipped.any():
        return None
    end[order[clipped]] -= excess[clipped]
    row = int(np.argmax(excess))
    return int(order[row]), int(excess[row]), int(clipped.sum())


def clock_jumps(rows: Mapping[str, AnyIntegers], launched: Booleans, names: Sequence[str]) -> list[str]:
    """Return a note if a launched row begins long before the one that was launched before it in its stream."""
    order = np.flatnonzero(launched)
    order = order[np.lexsort([rows[name][order] for name in ("start", "correlation", "location")])]
    is_same = rows["location"][order][1:] == rows["location"][order][:-1]
    excess = np.where(is_same, -np.diff(rows["start"][order]), 0)
    if not len(excess) or _MOST_JUMPS * int(excess.max()) < int(rows["end"].max() - rows["start"].min()):
        return []
    name, back = names[rows["name"][order[excess.argmax() + 1]]][:60], readable(int(excess.max()), "ns")
    return [
        f"a stream runs kernels in the order of their launches, but {name!r} begins {back} before one launched "
        f"earlier: {JUMPED}, and times are wrong"
    ]


def launch_of(numbers: AnyIntegers, correlation: AnyIntegers) -> Ints:
    """Return which of sorted numbers of launches each interval has, -1 of none; of several equal ones the first."""
    position = np.searchsorted(numbers, correlation)
    is_launched = (correlation >= 0) & (np.append(numbers, -1)[position] == correlation)
    return np.where(is_launched, position, -1)


def launch_ends(numbers: Ints, ends: Ints, correlation: Ints) -> Ints:
    """Return when the call that launched each interval had returned, by a number that both have; numbers are sorted."""
    return np.append(ends, UNKNOWN_NS)[launch_of(numbers, correlation)]


def first_calls(numbers: AnyIntegers, ends: AnyIntegers, location: AnyIntegers) -> tuple[Any, Any, Any]:
    """Return the numbers of calls that launch work, sorted, and the end and location of the first that ends of each."""
    # A call of the run-time system may be one of the driver, which returns first: then the work is submitted.
    order = np.lexsort((ends, numbers))
    unique, first = np.unique(numbers[order], return_index=True)
    return unique, ends[order[first]], location[order[first]]


def add_launch_gaps(
    location: AnyIntegers, state: AnyIntegers, start: AnyIntegers, end: AnyIntegers, is_call: Booleans,
    launched: AnyIntegers, first: int, states: list[str],
) -> list[AnyIntegers]:  # fmt: skip
    """Return columns up to ``is_call`` of the intervals of streams, and of those in which they are empty."""
    before = np.empty_like(start)
    before[:1], before[1:] = first, end[:-1]
    before[1:][location[1:] != location[:-1]] = first
    has_gap = (launched > UNKNOWN_NS) & (start > before)
    until = np.clip(launched, before, start)
    late, not_started = has_gap & (until > before), has_gap & (until < start)
    codes = len(states), len(states) + 1
    states += [WAITING_FOR_HOST, NOT_STARTED]
    columns = [
        np.concatenate([location, location[late], location[not_started]]),
        np.concatenate([state, np.full(late.sum(), codes[0]), np.full(not_started.sum(), codes[1])]),
        np.concatenate([start, before[late], until[not_started]]),
        np.concatenate([end, until[late], start[not_started]]),
        np.concatenate([is_call, np.ones(late.sum() + not_started.sum(), np.bool_)]),
    ]
    order = np.lexsort((columns[2], columns[0]))
    return [column[order] for column in columns]


def used_states(
    original: Trace, *, without: str | None = None, duration_ns: int | None = None, notes: Sequence[str] = ()
) -> Trace:
    """Return the trace with the states that occur."""
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
        *columns, original.locations, names, time_unit=original.time_unit,
        span_ns=(first, last) if duration_ns is None else (min(0, first), max(duration_ns, last)),
        source=original.source, notes=[*original.notes, *notes], levels=original.levels,
        facts={BACKGROUND: original.facts[BACKGROUND]} if original.facts.get(BACKGROUND) in names else None,
    )  # fmt: skip
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

        def places(column: array[int]) -> Codes:
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
