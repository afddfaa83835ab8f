"""Clocks of one trace that contradict its messages, shifted by as little as removes that.

A message cannot be there before it is sent, and nobody leaves a barrier or an all-reduce before the last one has
entered it. Each is a linear inequality for the shifts of two clocks, as in a system of difference constraints; the
shifts of least sum of absolute values that keep them all are a linear program. Only inequalities that are violated
enter, round by round. Where shifts alone cannot keep them, each clock may also run faster or slower, by a rate. The
least change leaves messages that were impossible with no time to travel, so what they took is not known afterwards.

Source: A. Duda, G. Harrus, Y. Haddad, G. Bernard, "Estimating global time in distributed systems" (1987), whose convex
hulls are these inequalities for two clocks; the choice of the least change among all that keep them is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication, carry, communication_of
from perf_traces.messages.counters import FACT as COUNTERS
from perf_traces.messages.counters import Counters, Readings
from perf_traces.nesting import Nesting, keep_nesting, nesting_of
from perfcore.base import progress
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace
from perfcore.data.units import readable

CLOCK = "clock"  # fact of a trace: the clock of each location, where several share one
_ALL_WAIT = re.compile(r"p?mpi_(barrier|allreduce|allgatherv?|alltoall[vw]?)", re.IGNORECASE)
_MOST_ROUNDS = 60
_LARGEST_RATE = 0.01  # no two clocks differ by a hundredth of their speed
_SHOWN = 4
_MARGIN_NS = 2  # of clocks with rates, whose times are rounded
_IMPOSSIBLE = "messages and collectives ended before they could"

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Order:
    """Moments that come after others: a column of each, of the same length."""

    early: Integers  # clocks
    early_ns: Integers  # ``late_ns`` is not before ``early_ns`` on a common clock
    late: Integers
    late_ns: Integers

    def __len__(self) -> int:
        return len(self.early)


@dataclass(frozen=True)
class _Change:
    """What is added to the times of each clock: a shift, and a share of the time since ``zero_ns``."""

    shift_ns: Floats
    rate: Floats
    zero_ns: int

    def of(self, clock: Any, time_ns: Integers) -> Integers:
        """Times on the common clock."""
        if not self.rate.any():
            return np.asarray(time_ns + np.rint(self.shift_ns).astype(np.int64)[clock])
        added = self.shift_ns[clock] + self.rate[clock] * (time_ns - self.zero_ns)
        return np.asarray(time_ns + np.rint(added).astype(np.int64))


def with_repaired_clocks(trace: Trace) -> Trace:
    """A trace whose clocks do not contradict its messages, as far as shifts and rates reach; a note says what was
    done.
    """
    communication = communication_of(trace)
    if communication is None or not (len(communication.messages) or len(communication.collectives)):
        raise DataError(
            f"{trace.source}: -r clocks=messages needs messages or collectives in the trace, and it has none; leave it "
            "out"
        )
    names, clock = _clocks(trace)
    before = _violated(communication, clock, _Change(np.zeros(len(names)), np.zeros(len(names)), 0))
    if not len(before):
        return _noted(trace, "clocks: no message ends before it is sent; nothing was shifted")
    change = _least_change(communication, clock, len(names), rates=False)
    if left := len(_violated(communication, clock, change)):
        drifting = _least_change(communication, clock, len(names), rates=True)
        if len(_violated(communication, clock, drifting)) < left:
            change = drifting
    left = len(_violated(communication, clock, change))
    moved = _moved(trace, communication, clock, change)
    return _noted(
        moved, f"clocks: {_largest_shifts(names, change, trace)}; {len(before)} {_IMPOSSIBLE}, {left or 'none'} do now"
    )


def _clocks(trace: Trace) -> tuple[list[str], Integers]:
    """Names of the clocks, and the clock of each location: those of one process share one."""
    names = trace.levels.get("process") or trace.facts.get(CLOCK) or trace.locations
    clocks = list(dict.fromkeys(names))
    return clocks, np.array([clocks.index(name) for name in names], np.int64)


def _violated(communication: Communication, clock: Integers, change: _Change) -> _Order:
    """What still comes before what it must come after."""
    calls = communication.calls
    call_clock = clock[calls.location]
    enter, leave = change.of(call_clock, calls.enter_ns), change.of(call_clock, calls.leave_ns)
    early, late = communication.messages.send_call, communication.messages.receive_call
    wrong = leave[late] < enter[early]
    first, second = [early[wrong]], [late[wrong]]
    operations = [_ALL_WAIT.fullmatch(name) is not None for name in calls.operations]
    together = communication.collectives
    if any(operations) and len(together.member_of):
        waits = np.array(operations)[together.operation][together.member_of]
        group, member = together.member_of[waits], together.member_call[waits]
        order = np.lexsort((enter[member], group))
        last = order[np.append(group[order][1:] != group[order][:-1], True)] if len(order) else order
        order = np.lexsort((-leave[member], group))
        soonest = order[np.append(group[order][1:] != group[order][:-1], True)] if len(order) else order
        wrong = leave[member[soonest]] < enter[member[last]]
        first.append(member[last][wrong])
        second.append(member[soonest][wrong])
    early, late = np.concatenate(first), np.concatenate(second)
    return _Order(call_clock[early], calls.enter_ns[early], call_clock[late], calls.leave_ns[late])


def _least_change(communication: Communication, clock: Integers, n_clocks: int, rates: bool) -> _Change:
    """Shifts, and rates, of least change for all that is violated, met round by round."""
    zero, last = communication.start_ns, int(communication.end_ns.max(initial=communication.start_ns + 1))
    change = _Change(np.zeros(n_clocks), np.zeros(n_clocks), zero)
    rows = np.zeros((0, 4), np.int64)
    for _ in range(_MOST_ROUNDS):
        violated = _violated(communication, clock, change)
        new = np.unique(np.concatenate([rows, _worst(violated, change)]), axis=0)
        if len(new) == len(rows):
            break
        rows = new
        change = _solved(rows, n_clocks, zero, max(1, last - zero), rates)
    return change


def _worst(violated: _Order, change: _Change) -> Integers:
    """Of each pair of clocks the row that is violated most: two clocks, and two times."""
    gap = change.of(violated.early, violated.early_ns) - change.of(violated.late, violated.late_ns)
    order = np.lexsort((-gap, violated.late, violated.early))
    pair = np.stack([violated.early[order], violated.late[order]], axis=1)
    first = np.ones(len(order), bool)
    first[1:] = (pair[1:] != pair[:-1]).any(axis=1)
    keep = order[first]
    return np.stack([violated.early, violated.late, violated.early_ns, violated.late_ns], axis=1)[keep]


def _solved(rows: Integers, n_clocks: int, zero_ns: int, length_ns: int, rates: bool) -> _Change:
    """The linear program: shifts and rates up and down, and what of each inequality is left."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    early, late, early_ns, late_ns = rows.T
    allowed = (late_ns - early_ns - (_MARGIN_NS if rates else 0)).astype(float)
    scale = float(np.abs(allowed).max())
    n_rows = len(rows)
    place = np.arange(n_rows)
    # (early + its change) - (late + its change) - what is left <= 0, changes being differences of two columns.
    entries = [(place, early, 1.0), (place, n_clocks + early, -1.0), (place, late, -1.0), (place, n_clocks + late, 1.0)]
    if rates:
        share = [(moment - zero_ns) / length_ns for moment in (early_ns, late_ns)]
        entries += [(place, 2 * n_clocks + early, share[0]), (place, 3 * n_clocks + early, -share[0])]
        entries += [(place, 2 * n_clocks + late, -share[1]), (place, 3 * n_clocks + late, share[1])]
    n_changes = (4 if rates else 2) * n_clocks
    entries.append((place, n_changes + place, -1.0))
    values = np.concatenate([np.broadcast_to(value, n_rows) for _, _, value in entries])
    where = tuple(np.concatenate([entry[axis] for entry in entries]) for axis in (0, 1))
    matrix = coo_array((values, where), shape=(n_rows, n_changes + n_rows))
    # No inequality is worth leaving while the changes of all clocks cost less.
    cost = np.concatenate([np.ones(n_changes), np.full(n_rows, 4.0 * n_clocks)])
    most = np.full(n_changes + n_rows, np.inf)
    most[2 * n_clocks : n_changes] = _LARGEST_RATE * length_ns / scale
    limits: Any = np.stack([np.zeros(len(most)), most], axis=1)
    inequalities: Any = matrix.tocsr()  # the stubs of scipy know dense ones only
    solution = linprog(cost, A_ub=inequalities, b_ub=allowed / scale, bounds=limits, method="highs-ds").x
    if solution is None:  # the solver gave up; what is left of the inequalities is told
        return _Change(np.zeros(n_clocks), np.zeros(n_clocks), zero_ns)
    shift, rate = (solution[i : i + n_clocks] - solution[i + n_clocks : i + 2 * n_clocks] if i < n_changes else
                   np.zeros(n_clocks) for i in (0, 2 * n_clocks))  # fmt: skip
    return _Change(shift * scale, rate * scale / length_ns, zero_ns)


def _moved(trace: Trace, communication: Communication, clock: Integers, change: _Change) -> Trace:
    """All that a trace holds by location, on the common clock; markers stay."""

    def corrected(location: Any, time_ns: Integers) -> Integers:
        return change.of(clock[location], time_ns)

    start, end = corrected(trace.location, trace.start_ns), corrected(trace.location, trace.end_ns)
    ends = corrected(np.arange(len(trace.locations)), communication.end_ns)
    first = min(trace.span_ns[0], int(start.min()))
    span = first, max(trace.span_ns[1], int(end.max()), int(ends.max()))
    moved = Trace(
        trace.location, trace.state, start, end, trace.locations, trace.states,
        time_unit=trace.time_unit, busy_states=trace.busy_states, span_ns=span, source=trace.source, notes=trace.notes,
        markers=trace.markers, levels=trace.levels, facts={**trace.facts, "clocks": "messages"},
    )  # fmt: skip
    if (nesting := nesting_of(trace)) is not None:
        begin, until = (corrected(nesting.location, times) for times in (nesting.start_ns, nesting.end_ns))
        keep_nesting(moved, Nesting(nesting.location, nesting.state, begin, until, nesting.is_call))
    calls, messages = communication.calls, communication.messages
    sender, receiver = communication.sender, communication.receiver
    repaired = replace(
        communication,
        start_ns=first,
        end_ns=ends,
        calls=replace(
            calls,
            enter_ns=corrected(calls.location, calls.enter_ns),
            leave_ns=corrected(calls.location, calls.leave_ns),
        ),
        messages=replace(
            messages,
            logical_send_ns=corrected(sender, messages.logical_send_ns),
            physical_send_ns=corrected(sender, messages.physical_send_ns),
            logical_receive_ns=corrected(receiver, messages.logical_receive_ns),
            physical_receive_ns=corrected(receiver, messages.physical_receive_ns),
        ),
    )
    carry(moved, lambda: repaired)
    if (counters := trace.facts.get(COUNTERS)) is not None:

        def read(names: Sequence[str]) -> Mapping[str, Readings]:
            return {
                name: replace(readings, time_ns=corrected(readings.location, readings.time_ns))
                for name, readings in counters.read(names).items()
            }

        moved.facts[COUNTERS] = Counters(counters.locations, counters.names, read)
    return moved


def _noted(trace: Trace, note: str) -> Trace:
    trace.notes = (*trace.notes, note)
    progress.note(f"{trace.source}: {note}")
    return trace


def _largest_shifts(names: Sequence[str], change: _Change, trace: Trace) -> str:
    """The largest shifts, in words."""
    length = trace.span_ns[1] - trace.span_ns[0]
    size = np.abs(change.shift_ns) + np.abs(change.rate) * length
    order = [k for k in np.argsort(-size, kind="stable").tolist() if size[k] >= 1]
    texts = []
    for k in order[:_SHOWN]:
        shift = int(np.rint(change.shift_ns[k]))
        text = f"{names[k]} {'-' if shift < 0 else '+'}{readable(abs(shift), 'ns')}"
        if change.rate[k]:
            text += f" and {change.rate[k] * 1e6:+.4g} us a second"
        texts.append(text)
    more = f", and {len(order) - _SHOWN} less" if len(order) > _SHOWN else ""
    return f"{len(order)} of {len(names)} shifted by as little as messages need ({', '.join(texts)}{more})"
