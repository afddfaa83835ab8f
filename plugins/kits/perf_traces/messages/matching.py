"""Which calls of different ranks belong together: sends and receives, and members of collectives."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import NOT_RECORDED, Calls, Collectives, Communication, Messages
from perfcore.base.arrays import Ints
from perfcore.base.errors import listing

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
# Kernels of one collective that overlap by clocks which agree; collectives of microseconds end that far apart.
_APART_NS = 500_000
_MOST_NAMED = 4


def numbered(group: npt.NDArray[np.integer]) -> Ints:
    """How many of the same group come before each row."""
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


def called_jointly(calls: Calls, n_locations: int) -> npt.NDArray[np.bool_]:
    """Calls such as MPI_Init that every location which calls at all makes equally often: the k-th belong together."""
    jointly = np.array([_JOINTLY.fullmatch(name) is not None for name in calls.operations], bool)
    if not jointly.any():
        return np.zeros(len(calls), bool)
    count = np.zeros((len(calls.operations), n_locations), np.int64)
    np.add.at(count, (calls.operation, calls.location), 1)
    count = count[:, count.any(axis=0)]
    everyone = jointly & (count.min(axis=1) == count.max(axis=1))
    return np.asarray(everyone[calls.operation])


def codes_of(columns: Sequence[npt.NDArray[np.integer]]) -> Ints:
    """One number from 0 for each combination of values."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, part = np.unique(column, return_inverse=True)
        _, joined = np.unique(code * (int(part.max(initial=0)) + 1) + part.reshape(-1), return_inverse=True)
        code = joined.reshape(-1).astype(np.int64)
    return code


def collectives_in_order(
    calls: Calls, taking_part: Ints, communicator: Ints, n_bytes: Ints, is_root: npt.NDArray[np.bool_],
    sizes: Ints, group: Ints,
) -> tuple[Collectives, int]:  # fmt: skip
    """The k-th call of a location in a group, such as on a communicator, belongs to the k-th of the others."""
    location = calls.location[taking_part].astype(np.int64)
    number = numbered(codes_of([group, location]))
    member_of = codes_of([group, number])
    n_met = int(member_of.max(initial=-1)) + 1
    named = np.empty(n_met, np.int64)
    named[member_of] = communicator
    operation = calls.operation[taking_part]
    least, most = np.full(n_met, np.iinfo(np.int32).max, np.int32), np.full(n_met, -1, np.int32)
    np.minimum.at(least, member_of, operation)
    np.maximum.at(most, member_of, operation)
    size, data = np.full(n_met, -1, np.int64), np.zeros(n_met, np.int64)
    np.maximum.at(size, member_of, sizes)
    np.maximum.at(data, member_of, n_bytes)
    counts = np.bincount(member_of, minlength=n_met)
    size = np.where(size < 0, counts, size)
    good = least == most
    collectives = Collectives(most, named, data, size, member_of, taking_part, is_root)
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
    """What the calls of several ranks are together."""
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
    collectives, of_collectives = _collectives(calls, of, rank)
    messages, of_messages = _messages(calls, of, rank, world_size)
    ends = np.full(len(locations), span_ns[1], np.int64)
    return Communication(
        tuple(locations), span_ns[0], ends, calls, messages, collectives, unmatched | of_collectives | of_messages,
        source, parts[0][-1].not_replayed,
    )  # fmt: skip


def _of_run(
    part: tuple[int, int, int, RankCalls], first_row: int, operations: dict[str, int], groups: dict[str, int]
) -> Ints:
    """The columns of a rank with the locations, times, operations, groups and rows of the run."""
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


def _collectives(calls: Calls, of: Mapping[str, Ints], rank: Ints) -> tuple[Collectives, dict[str, int]]:
    rows = np.flatnonzero(of["kind"] == COLLECTIVE)
    group, number = of["group"][rows], of["number"][rows]
    alone = group < 0
    together = codes_of([group, np.where(alone, np.arange(len(rows)), -1), number])
    # A rank may have its calls on several locations.
    in_time = np.argsort(calls.enter_ns[rows], kind="stable")
    repeated = np.empty(len(rows), np.int64)
    repeated[in_time] = numbered(codes_of([together, rank[rows]])[in_time])
    together = codes_of([together, repeated])
    collectives, n_different = collectives_in_order(
        calls, rows, np.where(alone, NOT_RECORDED, group), of["bytes"][rows], np.zeros(len(rows), np.bool_),
        of["size"][rows], together,
    )  # fmt: skip
    begun = np.full(len(collectives), np.iinfo(np.int64).min)
    ended = np.full(len(collectives), np.iinfo(np.int64).max)
    is_numbered = np.zeros(len(collectives), np.bool_)
    np.maximum.at(begun, collectives.member_of, calls.enter_ns[collectives.member_call])
    np.minimum.at(ended, collectives.member_of, calls.leave_ns[collectives.member_call])
    is_numbered[collectives.member_of] = of["number"][collectives.member_call] >= 0
    refuted = ~is_numbered & (begun > ended + _APART_NS)
    n_refuted = int(refuted[collectives.member_of].sum())
    return collectives.only(~refuted), {
        "calls of collectives do not fit to those of other ranks": n_different + n_refuted,
        "collectives name no known group of processes: each call of a rank counts as one": int(alone.sum()),
    }


def _messages(
    calls: Calls, of: Mapping[str, Ints], rank: Ints, world_size: int | None
) -> tuple[Messages, dict[str, int]]:
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
