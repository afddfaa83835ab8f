"""Computing time, and counters, by class of burst: which call comes before, and which one after.

A class names a part of a program without any function of the user's: ``MPI_Recv -> MPI_Allreduce``. Factors of a whole
run hide which part lost; classes say it. An interval of computing belongs to the burst in which it begins.

Source: the events between calls are the bursts of J. Labarta et al.; classes by neighbouring calls as PMPI profilers
have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication, replayable_communication_of
from perf_traces.messages.counters import CYCLES, INSTRUCTIONS, counted_in
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace

BEGIN, END, WITHIN = "(begin)", "(end)", "(within calls)"
# Of computing time, in which no counter was read; a factor can be wrong by as much, and is printed with four digits.
_MOST_UNCOUNTED = 0.01

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BurstClasses:
    """Computing of a run by class of burst; every computing nanosecond is in one class."""

    names: tuple[str, ...]
    time_ns: Integers
    instructions: Integers | None = None  # of all locations; None where they were not counted
    cycles: Integers | None = None
    notes: tuple[str, ...] = ()  # why they are not known

    @property
    def total_ns(self) -> Mapping[str, int]:
        """Computing time of all locations, by class."""
        return dict(zip(self.names, self.time_ns.sum(axis=1).tolist(), strict=True))

    @property
    def calls(self) -> frozenset[str]:
        """Calls between which the bursts are."""
        ends = {end for name in self.names for end in name.split(" -> ")}
        return frozenset(ends - {BEGIN, END, WITHIN})

    def counted(self, name: str) -> tuple[int, int] | None:
        """Instructions and cycles of a class; None where they were not counted."""
        if self.instructions is None or self.cycles is None or name not in self.names:
            return None
        index = self.names.index(name)
        return int(self.instructions[index]), int(self.cycles[index])

    def to_dict(self) -> list[dict[str, Any]]:
        """A row for each class, as plain data."""
        return [
            {
                "burst": name,
                "time_ns": int(times.sum()),
                "longest_ns": int(times.max()),
                "instructions": None if self.instructions is None else int(self.instructions[index]),
                "cycles": None if self.cycles is None else int(self.cycles[index]),
            }
            for index, (name, times) in enumerate(zip(self.names, self.time_ns, strict=True))
        ]


def burst_classes(trace: Trace) -> BurstClasses | None:
    """Computing of a run by class of burst; None where the trace has neither calls nor counters."""
    communication = replayable_communication_of(trace)
    busy = np.array([name in trace.busy_states for name in trace.states])[trace.state]
    rows = np.flatnonzero(busy & (trace.end_ns > trace.start_ns))
    counted, notes = None, []
    try:
        counted = counted_in(trace, rows)
    except DataError as error:
        notes.append(f"instructions, IPC and frequency are not known: {error}")
    if communication is None and counted is None:
        return None
    names, class_of = _classes(trace, communication, rows)
    time_ns = np.zeros((len(names), len(trace.locations)), np.int64)
    length = trace.end_ns[rows] - trace.start_ns[rows]
    np.add.at(time_ns, (class_of, trace.location[rows]), length)
    if counted is None:
        return BurstClasses(names, time_ns, notes=tuple(notes))
    uncounted = int(length[(counted[0] < 0) | (counted[1] < 0)].sum())
    if uncounted > _MOST_UNCOUNTED * length.sum():
        share = uncounted / int(length.sum())
        notes.append(
            f"instructions, IPC and frequency are not known: {trace.source} has no reading of {INSTRUCTIONS} and "
            f"{CYCLES} for {share:.2%} of its computing time"
        )
        return BurstClasses(names, time_ns, notes=tuple(notes))
    sums = []
    for values in counted:
        total = np.zeros(len(names), np.int64)
        np.add.at(total, class_of, np.maximum(values, 0))
        sums.append(total)
    return BurstClasses(names, time_ns, sums[0], sums[1])


def _classes(trace: Trace, communication: Communication | None, rows: Integers) -> tuple[tuple[str, ...], Integers]:
    """Names of the classes that occur, and the class of each busy interval."""
    from perf_traces.messages.search_kernels import last_not_after

    if communication is None:
        return (f"{BEGIN} -> {END}",), np.zeros(len(rows), np.int64)
    calls, first = communication.calls, communication.first_call
    location, start = trace.location[rows].astype(np.int64), trace.start_ns[rows]
    last = last_not_after(first, calls.leave_ns, location, start)  # the last call that was left
    following = np.where(last >= 0, last + 1, first[location])
    has_next = following < first[location + 1]
    operation = np.append(calls.operation.astype(np.int64), -1)
    before = np.where(last >= 0, operation[last], -1)
    after = np.where(has_next, operation[np.minimum(following, len(calls))], -1)
    inside = has_next & (np.append(calls.enter_ns, 0)[np.minimum(following, len(calls))] < start)
    n_kinds = len(calls.operations) + 1
    code = np.where(inside, n_kinds * n_kinds, (before + 1) * n_kinds + after + 1)
    codes, class_of = np.unique(code, return_inverse=True)
    begins, ends = (BEGIN, *calls.operations), (END, *calls.operations)
    names = tuple(
        WITHIN if each == n_kinds * n_kinds else f"{begins[each // n_kinds]} -> {ends[each % n_kinds]}"
        for each in codes.tolist()
    )
    return names, class_of.reshape(-1).astype(np.int64)
