"""Runs by hand, for examples and tests: calls, messages and collectives as a person writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perf_traces.messages.communication import Calls, Collectives, Communication, Messages

Call = tuple[str, int, int]  # operation, enter, leave
Place = tuple[int, int]  # location, and which of its calls


def by_hand(
    calls: Sequence[Sequence[Call]],
    messages: Sequence[Mapping[str, Any]] = (),
    collectives: Sequence[tuple[Sequence[Place], Place | None]] = (),
    ends: Sequence[int] | None = None,
    start: int = 0,
) -> Communication:
    """A run from lists."""
    names = tuple(dict.fromkeys(name for location_calls in calls for name, _, _ in location_calls))
    offsets = np.concatenate([[0], np.cumsum([len(location_calls) for location_calls in calls])]).astype(np.int64)
    flat = [(place, *call) for place, location_calls in enumerate(calls) for call in location_calls]

    def number(place: Any) -> int:
        return int(offsets[place[0]] + place[1])

    enters = np.array([each[2] for each in flat], np.int64)
    leaves = np.array([each[3] for each in flat], np.int64)
    table = Calls(
        np.array([each[0] for each in flat], np.int32), enters, leaves,
        np.array([names.index(each[1]) for each in flat], np.int32), names,
    )  # fmt: skip
    send = np.array([number(each["send"]) for each in messages], np.int64)
    receive = np.array([number(each["receive"]) for each in messages], np.int64)
    finish = np.array([number(each.get("done", each["send"])) for each in messages], np.int64)
    post = np.array([number(each.get("post", each["receive"])) for each in messages], np.int64)
    size, tag = (np.array([int(each.get(key, 0)) for each in messages], np.int64) for key in ("bytes", "tag"))
    sent = Messages(
        send, finish, post, receive, size, tag, np.ones(len(send), np.int64), enters[send], leaves[send], enters[post],
        leaves[receive],
    )  # fmt: skip
    members = [(k, number(place), place == root) for k, (places, root) in enumerate(collectives) for place in places]
    joined = Collectives(
        np.array([table.operation[number(places[0])] for places, _ in collectives], np.int32),
        np.ones(len(collectives), np.int64),
        np.zeros(len(collectives), np.int64),
        np.array([len(places) for places, _ in collectives], np.int64),
        np.array([each[0] for each in members], np.int64),
        np.array([each[1] for each in members], np.int64),
        np.array([each[2] for each in members], bool),
    )
    last = [location_calls[-1][2] if location_calls else 0 for location_calls in calls] if ends is None else ends
    return Communication(
        tuple(f"rank {k}" for k in range(len(calls))),
        start,
        np.array(last, np.int64),
        table,
        sent,
        joined,
        source="demo",
    )


def exchange() -> Communication:
    """Two ranks: one sends after 40 ns, the other receives after 10; a barrier; then 50 and 20 ns of work."""
    return by_hand(
        [[("MPI_Send", 40, 45), ("MPI_Barrier", 45, 60)], [("MPI_Recv", 10, 50), ("MPI_Barrier", 50, 60)]],
        [{"send": (0, 0), "receive": (1, 0), "bytes": 8}],
        [([(0, 1), (1, 1)], None)],
        ends=[110, 80],
    )
