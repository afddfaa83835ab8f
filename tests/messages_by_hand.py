"""Runs by hand: calls, messages and collectives as a person writes them."""

import numpy as np

from perf_traces.messages.communication import Calls, Collectives, Communication, Messages


def by_hand(calls, messages=(), collectives=(), ends=None, start=0):
    """A run from lists of (operation, enter, leave) for each location; ends of messages are (location, its call)."""
    names = tuple(dict.fromkeys(name for location_calls in calls for name, _, _ in location_calls))
    offsets = np.concatenate([[0], np.cumsum([len(location_calls) for location_calls in calls])]).astype(np.int64)
    flat = [(place, *call) for place, location_calls in enumerate(calls) for call in location_calls]

    def number(place):
        return int(offsets[place[0]] + place[1])

    def column(values):
        return np.array(list(values), np.int64)

    enters, leaves = column(call[2] for call in flat), column(call[3] for call in flat)
    operation = np.array([names.index(call[1]) for call in flat], np.int32)
    table = Calls(np.array([call[0] for call in flat], np.int32), enters, leaves, operation, names)
    send, receive = (column(number(message[key]) for message in messages) for key in ("send", "receive"))
    finish = column(number(message.get("done", message["send"])) for message in messages)
    post = column(number(message.get("post", message["receive"])) for message in messages)
    size, tag = (column(message.get(key, 0) for message in messages) for key in ("bytes", "tag"))
    sent = Messages(send, finish, post, receive, size, tag, np.ones(len(send), np.int64))
    members = [(k, number(place), place == root) for k, (places, root) in enumerate(collectives) for place in places]
    joined = Collectives(
        np.array([table.operation[number(places[0])] for places, _ in collectives], np.int32),
        np.ones(len(collectives), np.int64), np.zeros(len(collectives), np.int64),
        column(len(places) for places, _ in collectives), column(member[0] for member in members),
        column(member[1] for member in members), np.array([member[2] for member in members], bool),
    )  # fmt: skip
    last = [location_calls[-1][2] if location_calls else 0 for location_calls in calls] if ends is None else ends
    locations = tuple(f"rank {k}" for k in range(len(calls)))
    return Communication(locations, start, column(last), table, sent, joined, source="demo")


def exchange():
    """Two ranks: one sends after 40 ns, the other receives after 10; a barrier; then 50 and 20 ns of work."""
    return by_hand(
        [[("MPI_Send", 40, 45), ("MPI_Barrier", 45, 60)], [("MPI_Recv", 10, 50), ("MPI_Barrier", 50, 60)]],
        [{"send": (0, 0), "receive": (1, 0), "bytes": 8}],
        [([(0, 1), (1, 1)], None)],
        ends=[110, 80],
    )
