"""What a critical path is made of: by class of state, by rank, and by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.messages.bursts import BurstTimes
from perf_traces.messages.replay import BURST, CALL, COLLECTIVE, MESSAGE, POSTED, Path, Replay

_IN_MESSAGES, _NO_STATE, _SILENT = "messages", "no state", "after the last record"
_MOST_MESSAGES = 5


@dataclass(frozen=True)
class PathShares:
    """Nanoseconds of a critical path."""

    total_ns: int
    by_class: Mapping[str, int]  # classes of states between calls
    by_rank: Mapping[str, int]  # A message counts to who receives it
    messages: Sequence[tuple[str, str, int, int]]
    n_messages: int  # all by which the path goes from one rank to another

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        fields = ("sender", "receiver", "messages", "time_ns")
        return {
            "total_ns": self.total_ns,
            "by_class_ns": dict(self.by_class),
            "by_rank_ns": dict(self.by_rank),
            "n_messages": self.n_messages,
            "by_message": [dict(zip(fields, row, strict=True)) for row in self.messages],
        }


Change = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]


def path_shares(
    path: Path,
    replay: Replay,
    times: BurstTimes,
    classes: Sequence[str],
    changes: Sequence[Change] = (),
    silent_ns: int = 0,
) -> PathShares:
    """Sum up a path."""
    communication = replay.communication
    bursts = path.kind == BURST
    number, cost = path.subject[bursts], path.cost_ns[bursts].astype(np.float64)
    by_class: dict[str, float] = {}
    rest = cost.sum()
    changed = [(mask, delta[number], times.within(mask, number)) for mask, delta in changes]
    for name in dict.fromkeys(classes):
        mask = np.array([each == name for each in classes])
        spent = float(times.within(mask, number).sum())
        for states, delta, inside in changed:
            class_ns = times.within(mask & states, number)
            share = np.divide(class_ns, inside, out=np.zeros(len(class_ns)), where=inside > 0)
            if mask[states.argmax()]:
                share[inside <= 0] = 1.0  # what was added where nothing of it was
            spent += float((delta * share).sum())
        if round(spent):
            by_class[name] = spent
            rest -= spent
    by_class |= {_NO_STATE: rest} if rest >= 1 else {}
    by_class |= {_SILENT: silent_ns} if silent_ns else {}
    if spent := float(path.cost_ns[np.isin(path.kind, (MESSAGE, POSTED))].sum()):
        by_class[_IN_MESSAGES] = spent
    is_call = np.isin(path.kind, (CALL, COLLECTIVE))
    in_operation = np.bincount(
        communication.calls.operation[path.call[is_call]],
        path.cost_ns[is_call],
        minlength=len(communication.calls.operations),
    )
    by_class |= {
        f"in {communication.calls.operations[k]}": float(in_operation[k]) for k in np.flatnonzero(in_operation)
    }
    rank = np.where(bursts, times.location[np.where(bursts, path.subject, 0)], 0)
    in_calls = path.call >= 0
    rank[in_calls] = communication.calls.location[path.call[in_calls]]
    of_rank = np.zeros(len(communication.locations), np.int64)
    np.add.at(of_rank, rank, path.cost_ns)
    by_rank = {communication.locations[k]: int(of_rank[k]) for k in np.argsort(-of_rank, kind="stable") if of_rank[k]}
    ordered = dict(sorted(by_class.items(), key=lambda item: -item[1]))
    return PathShares(
        path.runtime_ns + silent_ns,
        {name: round(spent) for name, spent in ordered.items()},
        by_rank,
        _pairs(path, replay),
        path.n_messages,
    )


def _pairs(path: Path, replay: Replay) -> list[tuple[str, str, int, int]]:
    """Pairs of ranks whose messages take longest on the path."""
    communication = replay.communication
    rows = path.kind == MESSAGE
    sender, receiver = communication.sender[path.subject[rows]], communication.receiver[path.subject[rows]]
    pair, which, count = np.unique(np.stack([sender, receiver], 1), axis=0, return_inverse=True, return_counts=True)
    spent: npt.NDArray[np.int64] = np.zeros(len(pair), np.int64)
    np.add.at(spent, which.reshape(-1), path.cost_ns[rows])
    order = np.lexsort((-count, -spent))[:_MOST_MESSAGES]
    names = communication.locations
    return [(names[pair[k, 0]], names[pair[k, 1]], int(count[k]), int(spent[k])) for k in order.tolist()]
