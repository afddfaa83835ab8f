"""Collectives of a run by operation: how many, of how many bytes, and how long their members were there in vain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perf_traces.messages.communication import Communication


@dataclass(frozen=True)
class CollectiveRow:
    """Collectives of one operation."""

    operation: str
    count: int
    bytes: int  # the most that one member sends or receives, summed up
    timed: int  # those that have several members, all of which the trace holds; times are of these
    until_all_ns: int  # how long members were in the call before the last of them came, and from then on
    after_ns: int


def collective_rows(communication: Communication) -> tuple[CollectiveRow, ...]:
    """Sum up collectives of data and barriers, those with most bytes first."""
    calls, collectives = communication.calls, communication.collectives
    collectives = collectives.only(collectives.of_data)
    member_counts = np.bincount(collectives.member_of, minlength=len(collectives))
    complete = (member_counts == collectives.size) & (member_counts > 1)
    enter, leave = (times[collectives.member_call] for times in (calls.enter_ns, calls.leave_ns))
    last = np.full(len(collectives), np.iinfo(np.int64).min)
    np.maximum.at(last, collectives.member_of, enter)
    arrived = np.clip(last[collectives.member_of], enter, leave)
    operation = collectives.operation
    of_member, timed = operation[collectives.member_of], complete[collectives.member_of]
    columns = (
        (operation, np.ones(len(collectives), np.int64)),
        (operation, collectives.bytes),
        (operation[complete], np.ones(int(complete.sum()), np.int64)),
        (of_member[timed], (arrived - enter)[timed]),
        (of_member[timed], (leave - arrived)[timed]),
    )
    sums = np.zeros((len(columns), len(calls.operations)), np.int64)
    for total, (where, values) in zip(sums, columns, strict=True):
        np.add.at(total, where, values)
    rows = [CollectiveRow(name, *of) for name, of in zip(calls.operations, sums.T.tolist(), strict=True) if of[0]]
    return tuple(sorted(rows, key=lambda row: -row.bytes))
