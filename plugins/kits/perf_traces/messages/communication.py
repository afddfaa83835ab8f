"""The one notion of communication: calls of the library, messages, collectives, and what belongs to one of these."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.base.errors import DataError, InputError, listing
from perfcore.data.trace import Trace

FACT = "messages"  # under which a trace's facts hold a function that reads them
FUNCTIONS = "user functions"  # under which they hold one that reads `FunctionChanges`
OUTSIDE_CALLS = "messages begin or end outside of calls"  # a remark on what is unmatched
UNKNOWN, NOT_RECORDED = -1, -2  # communicators: of no data, such as that of MPI_Init; and of data, not recorded
_ANNOUNCED = re.compile(
    r"p?mpi_i(barrier|bcast|(all)?gatherv?|scatterv?|(all)?reduce|reduce_scatter(_block)?|alltoall[vw]?|(ex)?scan)",
    re.IGNORECASE,
)

# Operations that all ranks of a communicator call, and that may synchronise, without being collectives of data.
_JOINTLY = re.compile(
    r"p?mpi_(init|init_thread|finalize|comm_(dup|split|split_type|create|free)|cart_(create|sub)|graph_create|"
    r"dist_graph_create(_adjacent)?|intercomm_(create|merge)|win_(create|fence|free|allocate))",
    re.IGNORECASE,
)

OF_RANK = "calls of a rank"  # under which a trace's facts hold those of its file
UNTOLD, COLLECTIVE, SEND, RECEIVE = range(4)  # what a call does; of the first kind nothing is known
COLUMNS = (
    "location", "enter_ns", "leave_ns", "operation", "kind", "group", "size", "number", "bytes", "peer", "tag", "done",
)  # fmt: skip
ITSELF, NOWHERE = -1, -2  # in which row a call ends
_ENDS = ("send_call", "send_done_call", "post_call", "receive_call")  # of messages; -1 is no call
# Kernels of one collective that overlap by clocks which agree; collectives of microseconds end that far apart.
_APART_NS = 500_000
_MOST_NAMED = 4


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

    def at(self, rows: Any, location: Codes | None = None) -> Calls:
        """Return some of the calls, in another order or at other locations."""
        place = self.location if location is None else location
        return Calls(place[rows], self.enter_ns[rows], self.leave_ns[rows], self.operation[rows], self.operations)


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
    member_is_root: Booleans

    def __len__(self) -> int:
        return len(self.operation)

    def only(self, rows: Booleans) -> Collectives:
        kept = rows[self.member_of]
        return Collectives(
            self.operation[rows], self.communicator[rows], self.bytes[rows], self.size[rows],
            (np.cumsum(rows) - 1)[self.member_of[kept]], self.member_call[kept], self.member_is_root[kept],
        )  # fmt: skip

    @property
    def of_data(self) -> Booleans:
        """Those of data and barriers, without MPI_Init and the like."""
        return np.asarray(self.communicator != UNKNOWN)


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

    def bursts(self) -> tuple[Ints, Ints]:
        """Return the begin and end of the time before each call, then of that behind the last call of each location."""
        first, leave = self.first_call, self.calls.leave_ns
        has_calls = first[1:] > first[:-1]
        before, after = np.empty_like(leave), np.full(len(self.locations), self.start_ns, np.int64)
        before[1:] = leave[:-1]
        before[first[:-1][has_calls]] = self.start_ns
        after[has_calls] = leave[first[1:][has_calls] - 1]
        ends = np.concatenate([self.calls.enter_ns, np.maximum(self.end_ns, after)])
        return np.concatenate([before, after]).astype(np.int64), ends.astype(np.int64)

    @property
    def sender(self) -> Codes:
        return self.calls.location[self.messages.send_call]

    @property
    def receiver(self) -> Codes:
        return self.calls.location[self.messages.receive_call]

    @property
    def backwards(self) -> Booleans:
        """Messages that are there before they are sent: the clocks of the two locations differ."""
        sent = self.calls.enter_ns[self.messages.send_call]
        return self.calls.leave_ns[self.messages.receive_call] < sent

    def only(self, kept: npt.NDArray[np.bool_]) -> Communication:
        """Some of the calls, and the messages and collectives between them."""
        calls, messages, collectives = self.calls, self.messages, self.collectives
        new = np.append(np.where(kept, np.cumsum(kept) - 1, NOWHERE), ITSELF)  # -1 is no call
        moved = {name: new[getattr(messages, name)] for name in _ENDS}
        inside = np.all([of != NOWHERE for of in moved.values()], axis=0)
        members = kept[collectives.member_call]
        collectives = replace(
            collectives, member_of=collectives.member_of[members], member_is_root=collectives.member_is_root[members],
            member_call=new[collectives.member_call[members]],
        )  # fmt: skip
        return replace(
            self, messages=replace(messages, **moved).only(inside),
            calls=calls.at(kept),
            collectives=collectives.only(np.bincount(collectives.member_of, minlength=len(collectives)) > 0),
        )  # fmt: skip

    def at(self, chosen: Ints) -> Communication:
        """Calls of some locations, in rising order, and the messages and collectives between them."""
        place = np.full(len(self.locations), -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        part = self.only(place[self.calls.location] >= 0)
        locations = tuple(self.locations[k] for k in chosen.tolist())
        calls = replace(part.calls, location=place[part.calls.location])
        return replace(part, locations=locations, end_ns=self.end_ns[chosen], calls=calls)

    def between(self, first_ns: int, last_ns: int) -> Communication:
        """A part of the run: its calls end there, and what begins before it or ends after it is not waited for."""
        enter, leave, joined = self.calls.enter_ns, self.calls.leave_ns, self.collectives
        kept = (enter < last_ns) & (leave > first_ns) & (leave > enter)
        kept |= (enter == leave) & (first_ns <= enter) & (enter <= last_ns)
        n_inside = np.bincount(joined.member_of, kept[joined.member_call], len(joined))
        whole = n_inside == np.bincount(joined.member_of, minlength=len(joined))
        begun = enter[self.messages.send_call] >= first_ns
        part = replace(self, messages=self.messages.only(begun), collectives=joined.only(whole)).only(kept)
        calls = replace(
            part.calls, enter_ns=np.maximum(part.calls.enter_ns, first_ns),
            leave_ns=np.minimum(part.calls.leave_ns, last_ns),
        )  # fmt: skip
        return replace(part, start_ns=first_ns, end_ns=np.clip(self.end_ns, first_ns, last_ns), calls=calls)

    def facts(self) -> dict[str, str]:
        """Return what ``perf info`` says."""
        n_bytes = int(self.messages.bytes.sum())
        joined = self.collectives.communicator[self.collectives.of_data]
        n_known = len(np.unique(joined[joined != NOT_RECORDED]))
        where = f"{n_known} communicator{'s' * (n_known != 1)}"
        if (joined == NOT_RECORDED).any():
            where = f"{where} and others" if n_known else "unknown communicators"
        sent = f"{len(self.messages)} of {n_bytes} bytes in all" if len(self.messages) else "none"
        facts = {"messages": f"{sent}, {len(self.calls)} calls", "collectives": f"{len(joined)} on {where}"}
        lost = self.remark_lines()
        return facts | ({"about messages": "; ".join(lost)} if lost else {})

    def remark_lines(self) -> list[str]:
        return [f"{remark} ({count})" for remark, count in self.remarks().items()]

    def remarks(self) -> dict[str, int]:
        """Return what is wrong with it, in words, and how often."""
        remarks = {remark: count for remark, count in self.unmatched.items() if count}
        if count := int(self.backwards.sum()):
            remarks["messages end before they are sent, so the clocks of locations differ"] = count
        members = np.bincount(self.collectives.member_of, minlength=len(self.collectives))
        if count := int((members != self.collectives.size).sum()):
            remarks["collectives lack members"] = count
        announced = np.array([_ANNOUNCED.fullmatch(name) is not None for name in self.calls.operations], bool)
        if announced.any() and (count := int(announced[self.calls.operation].sum())):
            remark = "calls announce a collective; that it is waited for later is not known, and counts as transfer"
            remarks[remark] = count
        return remarks


def carry(trace: Trace, read: Callable[[], Communication]) -> Trace:
    """Let a trace carry its communication, which is read when somebody first asks for it."""
    trace.facts = {**trace.facts, FACT: functools.cache(read)}
    return trace


@contextlib.contextmanager
def once_more(source: str) -> Iterator[None]:
    """Say of a file that is gone meanwhile that it was to be read once more."""
    try:
        yield
    except OSError as error:
        raise InputError(source, f"cannot be read once more: {error.strerror or error}") from error


def on_locations(communication: Communication, place: Ints, locations: Sequence[str]) -> Communication:
    """Return the same where several locations are one each; unchanged where calls of one location must not overlap."""
    if not communication.not_replayed or len(place) != len(communication.locations):
        return communication
    calls, messages, collectives = communication.calls, communication.messages, communication.collectives
    location = place[calls.location].astype(np.int32)
    order = np.lexsort((calls.enter_ns, location))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    ends = np.full(len(locations), communication.start_ns, np.int64)
    np.maximum.at(ends, place, communication.end_ns)
    moved = {name: getattr(messages, name) for name in _ENDS}
    return replace(
        communication, locations=tuple(locations), end_ns=ends,
        calls=calls.at(order, location),
        messages=replace(messages, **{name: np.where(of < 0, of, new[of]) for name, of in moved.items()}),
        collectives=replace(collectives, member_call=new[collectives.member_call]),
    )  # fmt: skip


def communication_of(trace: Trace) -> Communication | None:
    """Return the communication of a trace; None if its format has none."""
    read = trace.facts.get(FACT)
    if read is None:
        return None
    communication: Communication = read()
    first, last = trace.span_ns
    if communication.locations != trace.locations:
        raise DataError(f"{trace.source}: messages belong to the run's own locations; read it as it is")
    is_whole = first <= communication.start_ns and int(communication.end_ns.max(initial=last)) <= last
    return communication if is_whole else communication.between(first, last)


def calls_of(trace: Trace) -> Calls | None:
    """Return the calls of a trace, or of the whole run that it is a part of, at its locations."""
    read = trace.facts.get(FACT)
    if read is None:
        return None
    communication: Communication = read()
    calls = communication.calls
    if communication.locations == trace.locations:
        return calls
    places = {name: place for place, name in enumerate(trace.locations)}
    place = np.array([places.get(name, -1) for name in communication.locations], np.int32)[calls.location]
    order = np.lexsort((calls.enter_ns, place))[np.count_nonzero(place < 0) :]
    return calls.at(order, place)


def numbered(group: npt.NDArray[np.integer]) -> Ints:
    """Return how many of the same group come before each row."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(group) else np.zeros(0, int)
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - np.repeat(begins, np.diff([*begins, len(group)]))
    return number


def paired_in_order(sends: Sequence[Ints], receives: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Pair the k-th send with the k-th receive of the same key."""
    code = codes_of([np.concatenate(columns) for columns in zip(sends, receives, strict=True)])
    n_sends = len(sends[0])
    one, other = (part * (len(code) + 1) + numbered(part) for part in (code[:n_sends], code[n_sends:]))
    _, sent, received = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return sent.astype(np.int64), received.astype(np.int64)


def called_jointly(calls: Calls, application: Ints) -> Booleans:
    """Return calls such as MPI_Init that all calling locations of an application make equally often."""
    jointly = np.array([_JOINTLY.fullmatch(name) is not None for name in calls.operations], bool)
    found = np.zeros(len(calls), bool)
    if not jointly.any():
        return found
    count = sums_of((calls.operation, calls.location), 1, (len(calls.operations), len(application)))
    for number in np.unique(application).tolist():
        counts = count[:, (application == number) & count.any(axis=0)]
        everyone = jointly & (counts.min(axis=1, initial=len(calls)) == counts.max(axis=1, initial=0))
        found |= everyone[calls.operation] & (application == number)[calls.location]
    return found


def sums_of(group: Any, values: Any, shape: int | tuple[int, ...]) -> Ints:
    """Return the whole sum of the values of each group, which indices into the shape name."""
    sums = np.zeros(shape, np.int64)
    np.add.at(sums, group, values)
    return sums


def latest_of(group: Ints, values: npt.NDArray[np.integer], n_groups: int) -> Ints:
    """Return the largest value of each group; the least number of 64 bits of one without any."""
    latest = np.full(n_groups, np.iinfo(np.int64).min)
    np.maximum.at(latest, group, values)
    return latest


def earliest_of(group: Ints, values: npt.NDArray[np.integer], n_groups: int) -> Ints:
    """Return the smallest value of each group; the largest number of 64 bits of one without any."""
    return -1 - latest_of(group, -1 - values, n_groups)


def codes_of(columns: Sequence[npt.NDArray[np.integer]]) -> Ints:
    """Return one number from 0 for each combination of values."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, part = np.unique(column, return_inverse=True)
        _, joined = np.unique(code * (int(part.max(initial=0)) + 1) + part.reshape(-1), return_inverse=True)
        code = joined.reshape(-1).astype(np.int64)
    return code


def collectives_in_order(
    calls: Calls, taking_part: Ints, communicator: Ints, n_bytes: Ints, is_root: Booleans,
    sizes: Ints, group: Ints,
) -> tuple[Collectives, int]:  # fmt: skip
    """Return the k-th call of a location in a group, such as on a communicator, belongs to the k-th of the others."""
    number = numbered(codes_of([group, calls.location[taking_part].astype(np.int64)]))
    member_of = codes_of([group, number])
    n_met = int(member_of.max(initial=-1)) + 1
    named = np.empty(n_met, np.int64)
    named[member_of] = communicator
    operation = calls.operation[taking_part]
    least = earliest_of(member_of, operation, n_met)
    most, size, data = (latest_of(member_of, column, n_met) for column in (operation, sizes, n_bytes))
    size = np.where(size < 0, np.bincount(member_of, minlength=n_met), size)
    good = least == most
    collectives = Collectives(
        most.astype(np.int32), named, np.maximum(data, 0), size, member_of, taking_part, is_root
    )  # fmt: skip
    return collectives.only(good), int((~good[member_of]).sum())


@dataclass(frozen=True, eq=False)
class RankCalls:
    """Calls of one rank, as columns."""

    columns: Ints
    operations: tuple[str, ...]  # A group is named so that no other one of the run has the same name
    groups: tuple[str, ...]
    unmatched: Mapping[str, int]  # what was left out, in words, and how many of it
    not_replayed: str  # why the run cannot be replayed on another network

    def save(self, path: Path) -> None:
        """Write them to ``PATH.calls.npy`` and ``PATH.calls.json``."""
        np.save(f"{path}.calls.npy", self.columns, allow_pickle=False)
        document = {name: value for name, value in vars(self).items() if name != "columns"}
        Path(f"{path}.calls.json").write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RankCalls:
        document = json.loads(Path(f"{path}.calls.json").read_text(encoding="utf-8"))
        columns: Ints = np.load(f"{path}.calls.npy", mmap_mode="r", allow_pickle=False)
        names = {name: tuple(document[name]) for name in ("operations", "groups")}
        return cls(columns, **{**document, **names})


def communication_of_ranks(
    parts: Sequence[tuple[int, int, int, RankCalls]],
    locations: Sequence[str],
    span_ns: tuple[int, int],
    source: str,
    world_size: int | None,
) -> Communication:
    """Return what the calls of several ranks are together."""
    operations: dict[str, int] = {}
    groups: dict[str, int] = {}
    unmatched: dict[str, int] = {}
    firsts = itertools.accumulate((len(part[-1].columns) for part in parts), initial=0)
    columns = np.concatenate([_of_run(*each, operations, groups) for each in zip(parts, firsts, strict=False)])
    for *_, part in parts:
        for remark, count in part.unmatched.items():
            unmatched[remark] = unmatched.get(remark, 0) + count
    rank = np.repeat([part[0] for part in parts], [len(part[-1].columns) for part in parts])
    order = np.lexsort((columns[:, 1], columns[:, 0]))
    rank = rank[order]
    of = dict(zip(COLUMNS, columns[order].T, strict=True))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    elsewhere = np.where(of["done"] < 0, -1, new[np.maximum(of["done"], 0)])
    of["done"] = np.where(of["done"] == ITSELF, np.arange(len(order)), elsewhere)
    of["size"] = np.where((of["size"] < 0) & (of["group"] >= 0), len(parts), of["size"])
    location, operation = of["location"].astype(np.int32), of["operation"].astype(np.int32)
    calls = Calls(location, of["enter_ns"], of["leave_ns"], operation, tuple(operations))
    collectives, of_collectives = _collectives(calls, of, rank, world_size in (None, len(parts)))
    messages, of_messages = _messages(of, rank, world_size)
    ends = np.full(len(locations), span_ns[1], np.int64)
    return Communication(
        tuple(locations), span_ns[0], ends, calls, messages, collectives, unmatched | of_collectives | of_messages,
        source, parts[0][-1].not_replayed,
    )  # fmt: skip


def _of_run(
    part: tuple[int, int, int, RankCalls], first_row: int, operations: dict[str, int], groups: dict[str, int]
) -> Ints:
    """Return the columns of a rank with the locations, times, operations, groups and rows of the run."""
    _, first, shift, calls = part
    columns = np.array(calls.columns)
    named = [operations.setdefault(name, len(operations)) for name in calls.operations]
    grouped = [*(groups.setdefault(name, len(groups)) for name in calls.groups), -1]
    of = dict(zip(COLUMNS, columns.T, strict=True))
    of["location"] += first
    of["done"] += np.where(of["done"] >= 0, first_row, 0)
    of["enter_ns"] += shift
    of["leave_ns"] += shift
    of["operation"][:] = np.array(named, np.int64)[of["operation"]]
    of["group"][:] = np.array(grouped, np.int64)[of["group"]]
    return columns


def calls_at_once(calls: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Of each rank the positions of calls that run at one moment with one of every other rank (n_ranks, n)."""
    counts = {len(starts) for starts, _ in calls}
    if len(counts) == 1:
        starts, ends = np.array([each[0] for each in calls]), np.array([each[1] for each in calls])
        if (starts.max(axis=0) < ends.min(axis=0)).all():
            return np.tile(np.arange(counts.pop()), (len(calls), 1))
    begun, ended = ([each[which].tolist() for each in calls] for which in (0, 1))
    positions, matches = [0] * len(calls), []
    while all(place < len(each) for place, each in zip(positions, begun, strict=True)):
        over = [each[place] for place, each in zip(positions, ended, strict=True)]
        if max(each[place] for place, each in zip(positions, begun, strict=True)) < min(over):
            matches.append(tuple(positions))
            positions = [place + 1 for place in positions]
        else:
            positions[over.index(min(over))] += 1
    return np.array(matches, dtype=np.int64).reshape(-1, len(calls)).T


def _collectives(calls: Calls, of: Mapping[str, Ints], rank: Ints, are_all: bool) -> tuple[Collectives, dict[str, int]]:
    rows = np.flatnonzero(of["kind"] == COLLECTIVE)
    group, number = of["group"][rows], of["number"][rows]
    alone = group < 0
    # Without a group, calls of one operation in which all ranks are at one moment are one collective.
    meeting, ranks = np.where(alone, np.arange(len(rows)), -1), np.unique(rank).tolist()
    for operation in np.unique(of["operation"][rows[alone]]).tolist() if are_all and len(ranks) > 1 else ():
        of_operation = np.flatnonzero(alone & (of["operation"][rows] == operation))
        of_operation = of_operation[np.argsort(calls.enter_ns[rows[of_operation]], kind="stable")]
        of_rank = [of_operation[rank[rows[of_operation]] == each] for each in ranks]
        at_once = calls_at_once([(calls.enter_ns[rows[each]], calls.leave_ns[rows[each]]) for each in of_rank])
        members = [each[places] for each, places in zip(of_rank, at_once, strict=True)]
        for each in members:
            meeting[each] = members[0]
    alone &= np.bincount(meeting[alone], minlength=len(rows))[meeting] < 2
    together = codes_of([group, meeting, number])
    # A rank may have its calls on several locations.
    in_time = np.argsort(calls.enter_ns[rows], kind="stable")
    repeated = np.empty(len(rows), np.int64)
    repeated[in_time] = numbered(codes_of([together, rank[rows]])[in_time])
    together = codes_of([together, repeated])
    collectives, n_different = collectives_in_order(
        calls, rows, np.where(group < 0, NOT_RECORDED, group), of["bytes"][rows], np.zeros(len(rows), np.bool_),
        of["size"][rows], together,
    )  # fmt: skip
    begun = latest_of(collectives.member_of, calls.enter_ns[collectives.member_call], len(collectives))
    ended = earliest_of(collectives.member_of, calls.leave_ns[collectives.member_call], len(collectives))
    is_numbered = np.zeros(len(collectives), np.bool_)
    is_numbered[collectives.member_of] = of["number"][collectives.member_call] >= 0
    refuted = ~is_numbered & (begun > ended + _APART_NS)
    n_refuted = int(refuted[collectives.member_of].sum())
    return collectives.only(~refuted), {
        "calls of collectives do not fit to those of other ranks": n_different + n_refuted,
        "collectives name no known group of processes: each call of a rank counts as one": int(alone.sum()),
    }


def _messages(of: Mapping[str, Ints], rank: Ints, world_size: int | None) -> tuple[Messages, dict[str, int]]:
    sends, receives = np.flatnonzero(of["kind"] == SEND), np.flatnonzero(of["kind"] == RECEIVE)
    both = np.concatenate([sends, receives])
    peer = of["peer"][both]
    strange = peer >= (np.iinfo(np.int64).max if world_size is None else world_size)
    strangers = np.unique(peer[strange]).tolist()
    named = f" ({listing([f'rank {number}' for number in strangers], _MOST_NAMED)})" if strangers else ""
    # Messages of one pair of ranks keep their order, which is that of times where a rank has several streams.
    sends, receives = (rows[np.argsort(of["enter_ns"][rows], kind="stable")] for rows in (sends, receives))
    columns = ("group", "tag")
    sent, received = paired_in_order(
        [rank[sends], of["peer"][sends], *(of[name][sends] for name in columns)],
        [of["peer"][receives], rank[receives], *(of[name][receives] for name in columns)],
    )
    send, post = sends[sent], receives[received]
    fits = of["bytes"][send] <= of["bytes"][post]
    send, post = send[fits], post[fits]
    ends = send, of["done"][send], post, of["done"][post]
    messages = Messages(*ends, of["bytes"][send], of["tag"][send], of["group"][send])
    return messages, {
        f"sends or receives name ranks that do not exist{named}": int(strange.sum()),
        "sends or receives have no partner in the files": len(both) - int(strange.sum()) - 2 * len(send),
    }
