"""Calls of one rank whose partners are in the files of other ranks, and how the calls of all ranks fit together.

Members of a collective say its group of processes, and some files its number there; where they do not, the k-th call of
a rank in a group belongs to the k-th of the others, unless a member starts after another one has ended. Sends and
receives of one tag belong together in the order of their calls between two ranks of a group, unless more was sent than
received.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import NOT_RECORDED, Calls, Collectives, Communication, Messages
from perf_traces.messages.matching import codes_of, collectives_in_order, numbered, paired_in_order
from perfcore.base.errors import listing

OF_RANK = "calls of a rank"  # under which a trace's facts hold those of its file
UNTOLD, COLLECTIVE, SEND, RECEIVE = range(4)  # what a call does; of the first kind nothing is told
COLUMNS = (
    "location", "enter_ns", "leave_ns", "operation", "kind", "group", "size", "number", "bytes", "peer", "tag", "done",
)  # fmt: skip
ITSELF, NOWHERE = -1, -2  # in which row a call ends
# Kernels of one collective that overlap by clocks which agree; collectives of microseconds end that far apart.
_APART_NS = 500_000
_MOST_NAMED = 4

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankCalls:
    """Calls of one rank, as columns."""

    columns: Integers
    operations: tuple[str, ...]  # A group is named so that no other one of the run has the same name
    groups: tuple[str, ...]
    unmatched: Mapping[str, int]  # what was left out, in words, and how many of it
    not_replayed: str  # why nobody knows what the run would be on another network

    def save(self, path: Path) -> None:
        """Write them to ``PATH.calls.npy`` and ``PATH.calls.json``."""
        np.save(f"{path}.calls.npy", self.columns, allow_pickle=False)
        document = {name: value for name, value in vars(self).items() if name != "columns"}
        Path(f"{path}.calls.json").write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RankCalls:
        """What was saved."""
        document = json.loads(Path(f"{path}.calls.json").read_text(encoding="utf-8"))
        columns: Integers = np.load(f"{path}.calls.npy", mmap_mode="r", allow_pickle=False)
        return cls(
            columns,
            tuple(document["operations"]),
            tuple(document["groups"]),
            document["unmatched"],
            str(document["not_replayed"]),
        )


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
    columns = np.concatenate(
        [_of_run(part, operations, groups, first) for part, first in zip(parts, firsts, strict=False)]
    )
    for *_, part in parts:
        for remark, count in part.unmatched.items():
            unmatched[remark] = unmatched.get(remark, 0) + count
    rank = np.repeat([part[0] for part in parts], [len(part[-1].columns) for part in parts])
    order = np.lexsort((columns[:, 1], columns[:, 0]))
    rank = rank[order]
    of = dict(zip(COLUMNS, columns[order].T, strict=True))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    done_call = of["done"]
    of["done"] = np.where(
        done_call == ITSELF, np.arange(len(order)), np.where(done_call < 0, -1, new[np.maximum(done_call, 0)])
    )
    of["size"] = np.where((of["size"] < 0) & (of["group"] >= 0), len(parts), of["size"])
    calls = Calls(
        of["location"].astype(np.int32), of["enter_ns"], of["leave_ns"], of["operation"].astype(np.int32),
        tuple(operations),
    )  # fmt: skip
    collectives, of_collectives = _collectives(calls, of, rank)
    messages, of_messages = _messages(calls, of, rank, world_size)
    ends = np.full(len(locations), span_ns[1], np.int64)
    return Communication(
        tuple(locations), span_ns[0], ends, calls, messages, collectives, unmatched | of_collectives | of_messages,
        source, parts[0][-1].not_replayed,
    )  # fmt: skip


def _of_run(
    part: tuple[int, int, int, RankCalls], operations: dict[str, int], groups: dict[str, int], first_row: int
) -> Integers:
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


def _collectives(calls: Calls, of: Mapping[str, Integers], rank: Integers) -> tuple[Collectives, dict[str, int]]:
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
    calls: Calls, of: Mapping[str, Integers], rank: Integers, world_size: int | None
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
    receive = of["done"][post]
    messages = Messages(
        send, of["done"][send], post, receive, of["bytes"][send], of["tag"][send], of["group"][send],
        calls.enter_ns[send], calls.enter_ns[send], calls.enter_ns[post], calls.leave_ns[receive],
    )  # fmt: skip
    return messages, {
        f"sends or receives name ranks that do not exist{named}": int(strange.sum()),
        "sends or receives have no partner in the files": len(both) - int(strange.sum()) - 2 * len(send),
    }
