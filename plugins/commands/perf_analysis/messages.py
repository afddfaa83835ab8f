"""Show the communication matrix and message sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from perf_analysis.collectives import CollectiveSpeed, RankTimes, collective_speeds
from perf_traces.messages.communication import Communication, communication_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace
from perfcore.reading.recognise import named_files
from perfcore.report import Result


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
    sums = np.zeros((5, len(calls.operations)), np.int64)
    np.add.at(sums[0], operation, 1)
    np.add.at(sums[1], operation, collectives.bytes)
    np.add.at(sums[2], operation[complete], 1)
    np.add.at(sums[3], of_member[timed], (arrived - enter)[timed])
    np.add.at(sums[4], of_member[timed], (leave - arrived)[timed])
    rows = [CollectiveRow(name, *of) for name, of in zip(calls.operations, sums.T.tolist(), strict=True) if of[0]]
    return tuple(sorted(rows, key=lambda row: -row.bytes))


@dataclass(frozen=True, eq=False, repr=False)
class MessageTable(Result):
    """Messages by sender and receiver, and by size; collectives by operation."""

    reporter: ClassVar[str] = "perf_analysis.message_answers:report_of"
    json_kind: ClassVar[str] = "messages"

    source: str
    locations: tuple[str, ...]  # those that send or receive
    count: Ints  # from the row's location to the column's
    bytes: Ints
    sizes: Ints  # upper ends of classes of sizes, powers of 2 and 0, and how many messages each has
    of_size: Ints
    bytes_of_size: Ints
    collectives: tuple[CollectiveRow, ...] = ()
    remarks: tuple[str, ...] = ()  # what is wrong with the trace
    speeds: tuple[CollectiveSpeed, ...] = ()  # of collectives of GPUs
    waits: tuple[RankTimes, ...] = ()  # without their computing
    n_calling: int = 0  # locations that call the library

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a message nor a collective."""
        return not len(self.sizes) and not self.collectives

    def to_dict(self) -> dict[str, Any]:
        sizes = zip(self.sizes.tolist(), self.of_size.tolist(), self.bytes_of_size.tolist(), strict=True)
        columns = ("at_most_bytes", "messages", "bytes")
        waits = [{key: value for key, value in asdict(row).items() if key != "computing_ns"} for row in self.waits]
        return {
            "source": self.source, "calling_locations": self.n_calling, "locations": list(self.locations),
            "messages": self.count.tolist(), "bytes": self.bytes.tolist(),
            "sizes": [dict(zip(columns, row, strict=True)) for row in sizes],
            "collectives": [asdict(row) for row in self.collectives],
            "collective_speeds": [row.to_dict() for row in self.speeds], "waits": waits, "remarks": list(self.remarks),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class MessageRuns(Result):
    """Messages of several runs."""

    reporter: ClassVar[str] = "perf_analysis.message_answers:report_of_runs"
    json_kind: ClassVar[str] = "message-runs"

    runs: tuple[MessageTable, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"runs": [run.to_dict() for run in self.runs]}


def message_table(communication: Communication, trace: Trace | None = None) -> MessageTable:
    """Sum up the messages of a run; with its trace also how fast collectives of GPUs are."""
    ends = np.concatenate([communication.sender, communication.receiver])
    ranks, code = np.unique(ends, return_inverse=True)
    code = code.reshape(-1)
    pair = code[: len(code) // 2] * len(ranks) + code[len(code) // 2 :]
    size = communication.messages.bytes
    count = np.bincount(pair, minlength=len(ranks) ** 2).reshape(len(ranks), len(ranks))
    total = np.zeros(len(ranks) ** 2, np.int64)
    np.add.at(total, pair, size)
    ceiling = np.where(size > 0, 1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64), 0)
    sizes, which = np.unique(ceiling, return_inverse=True)
    of_size, bytes_of_size = np.bincount(which.reshape(-1), minlength=len(sizes)), np.zeros(len(sizes), np.int64)
    np.add.at(bytes_of_size, which.reshape(-1), size)
    names = tuple(communication.locations[place] for place in ranks.tolist())
    return MessageTable(
        communication.source, names, count.astype(np.int64), total.reshape(count.shape), sizes,
        of_size.astype(np.int64), bytes_of_size, collective_rows(communication), tuple(communication.remark_lines()),
        *(((), ()) if trace is None else collective_speeds(communication, trace)),
        n_calling=int((np.diff(communication.first_call) > 0).sum()),
    )  # fmt: skip


def trace_and_calls(
    trace: str | os.PathLike[str] | Trace, read: Callable[[str, Sequence[type]], Any]
) -> tuple[Trace, Communication]:
    """A trace and its calls; an error where it has none."""
    data = trace if isinstance(trace, Trace) else read(os.fspath(trace), (Trace,))
    if not isinstance(data, Trace):
        if not isinstance(trace, Trace) and len(named_files(os.fspath(trace)) or ()) > 1:
            raise DataError(
                f"{trace}: names several runs, and one is asked about; name its file, or give -r files=ranks where the "
                "files are ranks of one run"
            )
        raise DataError(f"{trace}: holds no states or messages; give a trace of a run, such as one of Paraver or OTF2")
    if isinstance(data, SummarizedTrace):
        raise DataError(f"{data.source}: a summary keeps no calls and messages; give the traces that went into it")
    communication = communication_of(data)
    if communication is None or not len(communication.calls):
        raise DataError(f"{data.source}: no MPI or NCCL calls recorded; trace communication to use this command")
    return data, communication
