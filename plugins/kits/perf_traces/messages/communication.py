"""The one notion of communication: calls of the library, messages between them, and collectives of several of them."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, InputError
from perfcore.data.trace import Trace

FACT = "messages"  # under which a trace's facts hold a function that reads them
FUNCTIONS = "user functions"  # under which they hold one that reads `FunctionChanges`
OUTSIDE_CALLS = "messages begin or end outside of calls"  # a remark on what is unmatched
UNKNOWN, NOT_RECORDED = -1, -2  # communicators: of no data, such as that of MPI_Init; and of data, not recorded
_ANNOUNCED = re.compile(
    r"p?mpi_i(barrier|bcast|(all)?gatherv?|scatterv?|(all)?reduce|reduce_scatter(_block)?|alltoall[vw]?|(ex)?scan)",
    re.IGNORECASE,
)

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Calls:
    """Outermost calls of the communication library, by location and time."""

    location: Codes  # sorted
    enter_ns: Ints  # ``enter <= leave``, sorted within each location; without overlap where they can be replayed
    leave_ns: Ints
    operation: Codes  # index into ``operations``
    operations: tuple[str, ...]  # names, such as ``MPI_Bcast``

    def __len__(self) -> int:
        return len(self.enter_ns)


@dataclass(frozen=True, eq=False)
class FunctionChanges:
    """Moments at which the innermost user function of a location changes, sorted by location and time."""

    location: Ints
    time_ns: Ints
    function: Ints  # index into ``names``, -1 outside of all
    names: tuple[str, ...]
    entered: Ints  # how often each function is entered in each location, (n_functions, n_locations)


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages whose both ends are known, as columns."""

    send_call: Ints  # calls that start to send, and in which the receive completes
    send_done_call: Ints
    post_call: Ints
    receive_call: Ints
    bytes: Ints
    tag: Ints
    communicator: Ints  # as the file calls it

    def __len__(self) -> int:
        return len(self.bytes)

    def only(self, rows: npt.NDArray[Any]) -> Messages:
        return Messages(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Collectives:
    """Collective operations, and the calls that take part in each."""

    operation: Codes  # index into the calls' ``operations``
    communicator: Ints  # as the file calls it
    bytes: Ints  # the most that one member sends or receives
    size: Ints  # members of the communicator, as far as it is known, else those met
    member_of: Ints  # the collective of each taking part
    member_call: Ints  # the call
    member_is_root: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.operation)

    def only(self, rows: npt.NDArray[np.bool_]) -> Collectives:
        kept = rows[self.member_of]
        return Collectives(
            self.operation[rows], self.communicator[rows], self.bytes[rows], self.size[rows],
            (np.cumsum(rows) - 1)[self.member_of[kept]], self.member_call[kept], self.member_is_root[kept],
        )  # fmt: skip

    @property
    def of_data(self) -> npt.NDArray[np.bool_]:
        """Those of data and barriers, without MPI_Init and the like."""
        return np.asarray(self.communicator != UNKNOWN)

    @property
    def n_on_communicators(self) -> int:
        return int(self.of_data.sum())

    @property
    def n_incomplete(self) -> int:
        return int((np.bincount(self.member_of, minlength=len(self)) != self.size).sum())


@dataclass(frozen=True, eq=False)
class Communication:
    """Calls, messages and collectives of a run."""

    locations: tuple[str, ...]  # as in the trace; those that never call are among them
    start_ns: int  # begin of the run, and the last record of each location
    end_ns: Ints
    calls: Calls
    messages: Messages
    collectives: Collectives
    unmatched: Mapping[str, int] = field(default_factory=dict)  # what was left out, in words, and how many of it
    source: str = "trace"
    not_replayed: str = ""  # why the run cannot be replayed on another network; empty where it can

    @property
    def first_call(self) -> Ints:
        """First call of each location, and the number of calls; (n_locations + 1,)."""
        return np.searchsorted(self.calls.location, np.arange(len(self.locations) + 1)).astype(np.int64)

    @property
    def sender(self) -> Codes:
        return self.calls.location[self.messages.send_call]

    @property
    def receiver(self) -> Codes:
        return self.calls.location[self.messages.receive_call]

    @property
    def backwards(self) -> npt.NDArray[np.bool_]:
        """Messages that are there before they are sent: the clocks of the two locations differ."""
        sent = self.calls.enter_ns[self.messages.send_call]
        return self.calls.leave_ns[self.messages.receive_call] < sent

    def facts(self) -> dict[str, str]:
        """What ``perf info`` says."""
        n_bytes = int(self.messages.bytes.sum())
        joined = self.collectives.communicator[self.collectives.of_data]
        n_known = len(np.unique(joined[joined != NOT_RECORDED]))
        where = f"{n_known} communicator{'s' * (n_known != 1)}"
        if (joined == NOT_RECORDED).any():
            where = f"{where} and others" if n_known else "unknown communicators"
        facts = {
            "messages": f"{len(self.messages)} of {n_bytes} bytes in all, by {len(self.calls)} calls",
            "collectives": f"{len(joined)} on {where}",
        }
        lost = self.remark_lines()
        return facts | ({"about messages": "; ".join(lost)} if lost else {})

    def remark_lines(self) -> list[str]:
        return [f"{remark} ({count})" for remark, count in self.remarks().items()]

    def remarks(self) -> dict[str, int]:
        """What is wrong with it, in words, and how often."""
        remarks = {remark: count for remark, count in self.unmatched.items() if count}
        if count := int(self.backwards.sum()):
            remarks["messages end before they are sent, so the clocks of locations differ"] = count
        if count := self.collectives.n_incomplete:
            remarks["collectives lack members"] = count
        announced = np.array([_ANNOUNCED.fullmatch(name) is not None for name in self.calls.operations], bool)
        if announced.any() and (count := int(announced[self.calls.operation].sum())):
            remarks["calls announce a collective; that it is waited for later is not known, and counts as transfer"] = (
                count
            )
        return remarks


def carry(trace: Trace, read: Callable[[], Communication]) -> Trace:
    """Let a trace carry its communication, which is read when somebody first asks for it."""
    trace.facts = {**getattr(trace, "facts", {}), FACT: functools.cache(read)}
    return trace


@contextlib.contextmanager
def once_more(source: str) -> Iterator[None]:
    """Say of a file that is gone meanwhile that it was to be read once more."""
    try:
        yield
    except OSError as error:
        raise InputError(source, f"cannot be read once more: {error.strerror or error}") from error


def on_locations(communication: Communication, place: Ints, locations: Sequence[str]) -> Communication:
    """The same where several locations are one each; unchanged where calls of one location must not overlap."""
    if not communication.not_replayed or len(place) != len(communication.locations):
        return communication
    calls, messages, collectives = communication.calls, communication.messages, communication.collectives
    location = place[calls.location].astype(np.int32)
    order = np.lexsort((calls.enter_ns, location))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    ends = np.full(len(locations), communication.start_ns, np.int64)
    np.maximum.at(ends, place, communication.end_ns)
    moved = {name: getattr(messages, name) for name in ("send_call", "send_done_call", "post_call", "receive_call")}
    enter, leave, operation = calls.enter_ns[order], calls.leave_ns[order], calls.operation[order]
    return replace(
        communication, locations=tuple(locations), end_ns=ends,
        calls=Calls(location[order], enter, leave, operation, calls.operations),
        messages=replace(messages, **{name: np.where(of < 0, of, new[of]) for name, of in moved.items()}),
        collectives=replace(collectives, member_call=new[collectives.member_call]),
    )  # fmt: skip


def communication_of(trace: Trace) -> Communication | None:
    """The communication of a trace; None where its format has none."""
    read = getattr(trace, "facts", {}).get(FACT)
    if read is None:
        return None
    communication: Communication = read()
    first, last = trace.span_ns
    is_whole = first <= communication.start_ns and int(communication.end_ns.max(initial=last)) <= last
    if not is_whole or communication.locations != trace.locations:
        raise DataError(f"{trace.source}: messages belong to the whole run and to its own locations; read it as it is")
    return communication


def replayable_communication_of(trace: Trace) -> Communication | None:
    """As `communication_of`, and None also where not all that a location waits for is recorded."""
    communication = communication_of(trace)
    return None if communication is None or communication.not_replayed else communication
