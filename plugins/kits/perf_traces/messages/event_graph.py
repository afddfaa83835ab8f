"""Events of a run and what each waits for, in an order in which one pass finds when they happen.

Each location begins; each call has an arrival and an end, each collective a moment at which its members have come, and
each location its last record. A burst leads from an end to the next arrival; a call from its arrival to its end; a
message from the arrival at its send to the end of the call that receives it, and where the send waits for the receive,
from the arrival at the post to the end of the send. A collective of n members has 2 n edges by its moment, not n^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_traces.messages import graph_kernels
from perf_traces.messages.communication import Communication
from perf_traces.messages.rules import Rules, must_be_posted, rooted

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

# Kinds of edges. What may be left out where they go in circles has the largest numbers.
BURST, CALL, MESSAGE, GATHERING, COLLECTIVE, POSTED = range(6)
_DROPPED_FIRST = ((POSTED,), (GATHERING, COLLECTIVE), (MESSAGE,))


@dataclass(frozen=True, eq=False)
class EventGraph:
    """Edges sorted by the node that they lead to; nodes in an order in which causes come first."""

    begins: Integers  # where the edges into each node begin
    source: Codes  # the node that each edge comes from
    kind: npt.NDArray[np.int8]
    subject: Codes
    call: Codes  # the call at whose end the edge leads, -1 of others
    arrival: Codes  # nodes of arrivals and ends of calls, and of last records
    end: Codes
    last: Codes
    dropped: tuple[tuple[int, int], ...]  # kind and subject of edges that were left out, since they went in circles

    @property
    def n_nodes(self) -> int:
        """Number of events."""
        return len(self.begins) - 1


def event_graph(communication: Communication, rules: Rules) -> EventGraph:
    """The graph of a run.

    Parameters
    ----------
    communication : Communication
    rules : Rules
    """
    n_calls, n_locations, n_joined = (
        len(communication.calls),
        len(communication.locations),
        len(communication.collectives),
    )
    joined, last = 2 * n_calls, 2 * n_calls + n_joined
    n_nodes = last + 2 * n_locations  # last records, then beginnings
    edges = _Edges()
    calls, location = np.arange(n_calls), np.arange(n_locations)
    first = communication.first_call
    begins = np.full(n_locations, last + n_locations) + location
    before = 2 * (calls - 1) + 1
    has_calls = first[1:] > first[:-1]
    before[first[:-1][has_calls]] = begins[has_calls]
    edges.add(BURST, before, 2 * calls, calls)
    edges.add(BURST, np.where(has_calls, 2 * (first[1:] - 1) + 1, begins), last + location, n_calls + location)
    edges.add(CALL, 2 * calls, 2 * calls + 1, calls, calls)
    messages = communication.messages
    numbers = np.arange(len(messages))
    edges.add(MESSAGE, 2 * messages.send_call, 2 * messages.receive_call + 1, numbers, messages.receive_call)
    waiting = numbers[must_be_posted(communication, rules)]
    done_call = messages.send_done_call[waiting]
    edges.add(POSTED, 2 * messages.post_call[waiting], 2 * done_call + 1, waiting, done_call)
    _add_collectives(edges, communication, rules, joined)
    return edges.arranged(n_nodes, n_calls, last)


def _add_collectives(edges: _Edges, communication: Communication, rules: Rules, joined: int) -> None:
    together = communication.collectives
    if not len(together):
        return
    names = communication.calls.operations
    waits = np.array([rules.waits.get(name, "nobody") for name in names])[together.operation][together.member_of]
    toward = np.array([rooted(name) or "" for name in names])[together.operation][together.member_of]
    by_root = waits == "the root"
    causes = (waits == "all") | (by_root & ((toward == "to") | together.member_is_root))
    waiting = (waits == "all") | (by_root & ((toward == "from") | together.member_is_root))
    member, call = together.member_of, together.member_call
    edges.add(GATHERING, 2 * call[causes], joined + member[causes], member[causes])
    edges.add(COLLECTIVE, joined + member[waiting], 2 * call[waiting] + 1, member[waiting], call[waiting])


class _Edges:
    """Edges as they are added, and then in order."""

    def __init__(self) -> None:
        self._columns: list[tuple[npt.NDArray[np.integer], ...]] = []

    def add(
        self, kind: int, source: Integers, target: Integers, subject: Integers, call: Integers | None = None
    ) -> None:
        calls = np.full(len(source), -1) if call is None else call
        self._columns.append((np.full(len(source), kind, np.int8), source, target, subject, calls))

    def arranged(self, n_nodes: int, n_calls: int, last: int) -> EventGraph:
        kind = np.concatenate([columns[0] for columns in self._columns])
        source, target, subject, call = (
            np.concatenate([columns[k] for columns in self._columns]).astype(np.int32) for k in range(1, 5)
        )
        dropped: list[tuple[int, int]] = []
        place, begins, order, n_done = graph_kernels.arrange(n_nodes, source, target)
        for kinds in _DROPPED_FIRST:
            if n_done == n_nodes:
                break
            backwards, *_ = graph_kernels.arrange(n_nodes, target, source)
            on_circle = (place < 0) & (backwards < 0)
            circular = np.isin(kind, kinds) & on_circle[source] & on_circle[target]
            dropped += zip(kind[circular].tolist(), subject[circular].tolist(), strict=True)
            kind, source, target, subject, call = (
                column[~circular] for column in (kind, source, target, subject, call)
            )
            place, begins, order, n_done = graph_kernels.arrange(n_nodes, source, target)
        return EventGraph(
            begins, place[source[order]], kind[order], subject[order], call[order], place[0 : 2 * n_calls : 2],
            place[1 : 2 * n_calls : 2], place[last : n_nodes - (n_nodes - last) // 2], tuple(dropped),
        )  # fmt: skip
