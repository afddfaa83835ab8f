"""A run once more, by its own computation and messages: as it was, on an ideal network, or with other times.

What a call needs beyond waiting is its residual: the moment at which it was left minus the latest arrival of what it
waited for. With bursts and residuals as they were the replay gives the run's own times to the nanosecond, which is
tested whenever a run is read; without residuals it is the run on a network that takes no time. The order of messages
stays that of the trace.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_traces.messages import graph_kernels
from perf_traces.messages.communication import Communication
from perf_traces.messages.event_graph import BURST, COLLECTIVE, GATHERING, MESSAGE, POSTED, EventGraph, event_graph
from perf_traces.messages.rules import Rules, observed_rules
from perfcore.base.errors import DataError
from perfcore.base.kernels import announce_compilation

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Path:
    """The chain of events that took as long as the run."""

    runtime_ns: int  # of the run
    kind: npt.NDArray[np.int8]  # the edges in order of time; see `perf_traces.messages.event_graph.EventGraph`
    subject: Codes
    call: Codes
    cost_ns: Integers  # they sum to ``runtime_ns``

    @property
    def n_messages(self) -> int:
        """Messages by which the path goes from one location to another."""
        return int((self.kind == MESSAGE).sum())


class Replay:
    """A run that can be repeated under other conditions."""

    def __init__(self, communication: Communication, rules: Rules | None = None) -> None:
        if not len(communication.calls):
            raise DataError(f"{communication.source}: has no calls of a communication library; a replay needs them")
        if communication.not_replayed:
            raise DataError(f"{communication.source}: cannot be replayed: {communication.not_replayed}")
        announce_compilation(graph_kernels.arrange, graph_kernels.longest, graph_kernels.latest_cause)
        self.communication, self.rules = communication, observed_rules(communication) if rules is None else rules
        self.graph: EventGraph = event_graph(communication, self.rules)
        calls, first = communication.calls, communication.first_call
        self._n_calls = len(calls)
        start = communication.start_ns
        self._ends = communication.end_ns.astype(np.int64) - start
        has_calls = first[1:] > first[:-1]
        self._ends[has_calls] = np.maximum(self._ends[has_calls], calls.leave_ns[first[1:][has_calls] - 1] - start)
        before = np.concatenate([[0], calls.leave_ns[:-1] - start])
        before[first[:-1][has_calls]] = 0
        tail = self._ends.copy()
        tail[has_calls] -= calls.leave_ns[first[1:][has_calls] - 1] - start
        self.burst_ns: Integers = np.concatenate([calls.enter_ns - start - before, tail])
        self.residual_ns, self.waiting_ns = self._residuals()
        # A table of costs, one for each burst, call and nothing, into which every edge points.
        graph = self.graph
        nothing = len(self.burst_ns) + self._n_calls
        index = np.where(graph.kind == BURST, graph.subject, len(self.burst_ns) + graph.call)
        self._index = np.where(graph.kind == GATHERING, nothing, index).astype(np.int32)
        self._check()

    def runtime_ns(
        self, transfer: float = 1.0, *, burst_ns: Integers | None = None, edge_cost_ns: Integers | None = None
    ) -> int:
        """How long the run takes."""
        index, cost = self._table(transfer, burst_ns, edge_cost_ns)
        times = np.empty(self.graph.n_nodes, np.int64)
        graph_kernels.longest(self.graph.begins, self.graph.source, index, cost, times)
        return int(times[self.graph.last].max())

    def runtimes_ns(self, burst_ns: Integers, transfer: float = 1.0) -> Integers:
        """How long the run takes with each of several other bursts, (n, n_calls + n_locations), at once."""
        several, n_bursts = burst_ns.shape
        cost = np.zeros((n_bursts + self._n_calls + 1, several), np.int64)
        cost[:n_bursts] = burst_ns.T
        cost[n_bursts:-1] = np.rint(self.residual_ns * transfer)[:, None]
        times = np.empty((self.graph.n_nodes, several), np.int64)
        graph_kernels.longest_of_several(self.graph.begins, self.graph.source, self._index, cost, times)
        return np.asarray(times[self.graph.last].max(axis=0))

    def path(
        self, transfer: float = 1.0, *, burst_ns: Integers | None = None, edge_cost_ns: Integers | None = None
    ) -> Path:
        """The critical path; parameters as of `runtime_ns`. Of causes that tie the location's own counts."""
        index, cost = self._table(transfer, burst_ns, edge_cost_ns)
        graph = self.graph
        times, cause = np.empty(graph.n_nodes, np.int64), np.empty(graph.n_nodes, np.int32)
        graph_kernels.longest_with_causes(graph.begins, graph.source, index, cost, times, cause)
        end = int(graph.last[times[graph.last].argmax()])
        edges = graph_kernels.path_to(end, graph.source, cause)[::-1]
        return Path(int(times[end]), graph.kind[edges], graph.subject[edges], graph.call[edges], cost[index[edges]])

    def edge_costs(self, transfer: float = 1.0, burst_ns: Integers | None = None) -> Integers:
        """Costs of all edges, for a caller that changes some of them."""
        index, cost = self._table(transfer, burst_ns, None)
        return cost[index]

    def times_ns(self, transfer: float = 1.0) -> tuple[Integers, Integers]:
        """When each call is entered and left in the replay; from the begin of the run."""
        index, cost = self._table(transfer, None, None)
        times = np.empty(self.graph.n_nodes, np.int64)
        graph_kernels.longest(self.graph.begins, self.graph.source, index, cost, times)
        return times[self.graph.arrival], times[self.graph.end]

    @functools.cached_property
    def n_contradictions(self) -> int:
        """Calls that left before what the rules say they waited for."""
        return int((self.residual_ns < 0).sum())

    def remarks(self) -> list[str]:
        """What was wrong with the trace, and what the replay did with it."""
        communication = self.communication
        lines = communication.remark_lines()
        if communication.unmatched and any(communication.unmatched.values()):
            lines.append("nobody waits in the replay for what was left out; the calls keep the time that they took")
        names = {MESSAGE: "messages", POSTED: "sends that wait for their receive"}
        for kind in sorted({kind for kind, _ in self.graph.dropped}):
            subjects = sorted({subject for each, subject in self.graph.dropped if each == kind})
            noun = names.get(kind, "collectives")
            listed = [self._named(kind, subject) for subject in subjects[:3]]
            more = ", ..." if len(subjects) > 3 else ""
            lines.append(
                f"{len(subjects)} {noun} wait for one another in a circle; nobody waits for them in the replay: "
                f"{'; '.join(listed)}{more}"
            )
        silent = int((communication.first_call[1:] == communication.first_call[:-1]).sum())
        if silent:
            lines.append(f"{silent} of {len(communication.locations)} locations never call: they keep their times")
        return lines

    def _named(self, kind: int, subject: int) -> str:
        communication = self.communication
        if kind in (MESSAGE, POSTED):
            ends = (
                communication.locations[communication.sender[subject]],
                communication.locations[communication.receiver[subject]],
            )
            messages = communication.messages
            return f"{ends[0]} to {ends[1]}, tag {messages.tag[subject]}, {messages.bytes[subject]} bytes"
        return str(communication.calls.operations[communication.collectives.operation[subject]])

    def _table(
        self, transfer: float, burst_ns: Integers | None, edge_cost_ns: Integers | None
    ) -> tuple[Codes, Integers]:
        if edge_cost_ns is not None:
            return np.arange(len(edge_cost_ns), dtype=np.int32), edge_cost_ns
        residual = self.residual_ns if transfer == 1 else np.rint(self.residual_ns * transfer).astype(np.int64)
        return self._index, np.concatenate([self.burst_ns if burst_ns is None else burst_ns, residual, [0]])

    def _residuals(self) -> tuple[Integers, Integers]:
        communication, graph = self.communication, self.graph
        start, calls = communication.start_ns, communication.calls
        times = np.zeros(graph.n_nodes, np.int64)
        times[graph.arrival] = calls.enter_ns - start
        latest = graph_kernels.latest_cause(graph.begins, graph.source, times)
        # The moment of a collective is that of its last cause; only ends of calls wait for it.
        gathered = np.unique(graph.source[graph.kind == COLLECTIVE])
        has_causes = graph.begins[gathered + 1] > graph.begins[gathered]
        times[gathered[has_causes]] = latest[gathered[has_causes]]
        latest = graph_kernels.latest_cause(graph.begins, graph.source, times)[graph.end]
        left = calls.leave_ns - start
        return left - latest, np.minimum(latest, left) - (calls.enter_ns - start)

    def _check(self) -> None:
        """Bursts and residuals give the run's own times, or something is wrong with this program."""
        communication = self.communication
        entered, left = self.times_ns()
        same = (entered == communication.calls.enter_ns - communication.start_ns).all() and (
            left == communication.calls.leave_ns - communication.start_ns
        ).all()
        if not same or self.runtime_ns() != int(self._ends.max()):
            raise DataError(f"{communication.source}: the replay does not give the run's own times; calls overlap")
