"""Replay of a run: as recorded, on an ideal network, or with other times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from perf_traces.messages import kernels as graph_kernels
from perf_traces.messages.communication import Communication, latest_of
from perfcore.base.arrays import Booleans, Codes, Ints
from perfcore.base.errors import DataError

Waits = Literal["all", "the root", "nobody"]

# Sends of so few bytes do not wait for the receive in any library by its own settings: the smallest limit is that of
# Open MPI within a node (btl sm), MPICH and Intel MPI have 16 KiB and more.
EAGER_AT_LEAST = 4096
_BSC_EAGER = 32768
_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_TOWARD = {**dict.fromkeys(_FROM_ROOT, "from"), **dict.fromkeys(_TO_ROOT, "to")}  # whether data go from or to the root
_OF_ALL = (
    "barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
    "reduce_scatter_block",
)  # fmt: skip
_ELSE_OF_ALL = ("init", "init_thread", "scan", "exscan")  # to BSC's tools; MPI says it of none of them
_SYNCHRONOUS = ("ssend", "issend", "ssend_init")
_INIT = re.compile(r"p?mpi_init(_thread)?_?", re.IGNORECASE)

# Kinds of edges. What may be left out where they go in circles has the largest numbers.
BURST, CALL, MESSAGE, GATHERING, COLLECTIVE, POSTED = range(6)
_DROPPED_FIRST = ((POSTED,), (GATHERING, COLLECTIVE), (MESSAGE,))


@dataclass(frozen=True)
class Refutation:
    """What the trace says of one operation."""

    operation: str
    calls: int  # how many there are
    tested: str  # the prerequisite
    refuted: int  # calls that left before it was met
    waits_for: str  # whom it is taken to wait for


@dataclass(frozen=True)
class Rules:
    """Whom calls wait for."""

    name: str
    eager_bytes: int  # sends of more wait until their receive is posted
    waits: Mapping[str, Waits]  # of each collective operation, by name
    refutations: tuple[Refutation, ...] = ()  # how that was found


def bsc_rules(communication: Communication) -> Rules:
    """Return those of the figures that BSC's tools publish: every collective and MPI_Init wait for all members."""
    of_all = {*_TOWARD, *_OF_ALL, *_ELSE_OF_ALL}
    names = _operations(communication)
    return Rules("bsc", _BSC_EAGER, {name: "all" if _plain(name) in of_all else "nobody" for name in names})


def observed_rules(communication: Communication) -> Rules:
    """Return those that the standard demands, and of the others those that the trace does not refute."""
    waits: dict[str, Waits] = {}
    table = []
    calls, joined = communication.calls, communication.collectives
    last = latest_of(joined.member_of, calls.enter_ns[joined.member_call], len(joined))
    left = calls.leave_ns[joined.member_call]
    early = left < last[joined.member_of]
    operation = joined.operation[joined.member_of]
    for name in _operations(communication):
        of_name = operation == calls.operations.index(name)
        count = int((early & of_name).sum())
        plain = _plain(name)
        if plain in _TOWARD:
            waits[name] = "the root"
        elif plain in _OF_ALL or not count:
            waits[name] = "all"
        else:
            waits[name] = "nobody"
        if plain.startswith("i") and plain[1:] in (*_TOWARD, *_OF_ALL):
            waits[name] = "nobody"  # it only announces; the waiting is in a later call that the trace does not link
        table.append(Refutation(name, int(of_name.sum()), "all members have arrived", count, waits[name]))
    eager, sends = _eager(communication)
    return Rules("observed", eager, waits, (*table, *sends))


def _eager(communication: Communication) -> tuple[int, list[Refutation]]:
    """Return the largest size of a send that did not wait for its receive, and what that was found from."""
    messages, calls = communication.messages, communication.calls
    finished = messages.send_done_call >= 0
    size = messages.bytes[finished]
    early = calls.leave_ns[messages.send_done_call[finished]] < calls.enter_ns[messages.post_call[finished]]
    eager = max(EAGER_AT_LEAST, int(size[early].max(initial=0)))
    if not len(size):
        return eager, []
    tested = "the receive is posted"
    waits = f"the receive above {eager} bytes" if (size > eager).any() else "nobody"
    return eager, [Refutation("sends", len(size), tested, int(early.sum()), waits)]


def must_be_posted(communication: Communication, rules: Rules) -> Booleans:
    """Return messages whose send waits until the receive is posted."""
    messages, calls = communication.messages, communication.calls
    names = np.array([_plain(name) in _SYNCHRONOUS for name in calls.operations], dtype=bool)
    large = messages.bytes > rules.eager_bytes
    if len(names):
        large = large | names[calls.operation[messages.send_call]]
    return large & (messages.send_done_call >= 0)


def _operations(communication: Communication) -> Sequence[str]:
    return [communication.calls.operations[code] for code in np.unique(communication.collectives.operation).tolist()]


def _plain(name: str) -> str:
    """Return a name without its library's prefix; tools that wrap it write PMPI."""
    return re.sub(r"^p?mpi_", "", name.lower())


@dataclass(frozen=True, eq=False)
class EventGraph:
    """Edges sorted by the node that they lead to; nodes in an order in which causes come first."""

    begins: Ints  # where the edges into each node begin
    source: Codes  # the node that each edge comes from
    kind: npt.NDArray[np.int8]
    subject: Codes
    call: Codes  # the call at whose end the edge leads, -1 of others
    arrival: Codes  # nodes of arrivals and ends of calls, and of last records
    end: Codes
    last: Codes
    dropped: tuple[tuple[int, int], ...]  # kind and subject of edges that were left out, since they went in circles


def event_graph(communication: Communication, rules: Rules) -> EventGraph:
    """Return the graph of a run."""
    n_calls, n_locations = len(communication.calls), len(communication.locations)
    n_joined = len(communication.collectives)
    joined, last = 2 * n_calls, 2 * n_calls + n_joined
    n_nodes = last + 2 * n_locations  # last records, then beginnings
    columns: list[tuple[npt.NDArray[np.integer], ...]] = []

    def add(kind: int, source: Ints, target: Ints, subject: Ints, call: Ints | None = None) -> None:
        of_call = np.full(len(source), -1) if call is None else call
        numbered = (each.astype(np.int32) for each in (source, target, subject, of_call))
        columns.append((np.full(len(source), kind, np.int8), *numbered))

    calls, location = np.arange(n_calls), np.arange(n_locations)
    first = communication.first_call
    begins = np.full(n_locations, last + n_locations) + location
    before = 2 * (calls - 1) + 1
    has_calls = first[1:] > first[:-1]
    before[first[:-1][has_calls]] = begins[has_calls]
    add(BURST, before, 2 * calls, calls)
    add(BURST, np.where(has_calls, 2 * (first[1:] - 1) + 1, begins), last + location, n_calls + location)
    add(CALL, 2 * calls, 2 * calls + 1, calls, calls)
    messages = communication.messages
    numbers = np.arange(len(messages))
    add(MESSAGE, 2 * messages.send_call, 2 * messages.receive_call + 1, numbers, messages.receive_call)
    waiting = numbers[must_be_posted(communication, rules)]
    done_call = messages.send_done_call[waiting]
    add(POSTED, 2 * messages.post_call[waiting], 2 * done_call + 1, waiting, done_call)
    if n_joined:
        together, names = communication.collectives, communication.calls.operations
        member, entered = together.member_of, together.member_call
        waits = np.array([rules.waits.get(name, "nobody") for name in names])[together.operation][member]
        toward = np.array([_TOWARD.get(_plain(name), "") for name in names])[together.operation][member]
        of_all, by_root = waits == "all", waits == "the root"
        causes = of_all | (by_root & ((toward == "to") | together.member_is_root))
        waiting = of_all | (by_root & ((toward == "from") | together.member_is_root))
        add(GATHERING, 2 * entered[causes], joined + member[causes], member[causes])
        add(COLLECTIVE, joined + member[waiting], 2 * entered[waiting] + 1, member[waiting], entered[waiting])

    kind, source, target, subject, call = (np.concatenate(each) for each in zip(*columns, strict=True))
    columns.clear()
    dropped: list[tuple[int, int]] = []
    place, edge_begins, order, n_done = graph_kernels.arrange(n_nodes, source, target)
    for kinds in _DROPPED_FIRST:
        if n_done == n_nodes:
            break
        backwards, *_ = graph_kernels.arrange(n_nodes, target, source)
        on_circle = (place < 0) & (backwards < 0)
        circular = np.isin(kind, kinds) & on_circle[source] & on_circle[target]
        dropped += zip(kind[circular].tolist(), subject[circular].tolist(), strict=True)
        kind, source, target, subject, call = (column[~circular] for column in (kind, source, target, subject, call))
        place, edge_begins, order, n_done = graph_kernels.arrange(n_nodes, source, target)
    return EventGraph(
        edge_begins, place[source[order]], kind[order], subject[order], call[order], place[0 : 2 * n_calls : 2],
        place[1 : 2 * n_calls : 2], place[last : last + n_locations], tuple(dropped),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Path:
    """The chain of events that took as long as the run."""

    runtime_ns: int  # of the run
    kind: npt.NDArray[np.int8]  # the edges in order of time; see `perf_traces.messages.replay.EventGraph`
    subject: Codes
    call: Codes
    cost_ns: Ints  # they sum to ``runtime_ns``

    @property
    def n_messages(self) -> int:
        """Messages by which the path goes from one location to another."""
        return int((self.kind == MESSAGE).sum())


def startup_calls(communication: Communication) -> Booleans:
    """Return which calls are MPI_Init, (n_calls,)."""
    names = communication.calls.operations
    codes = [code for code, name in enumerate(names) if _INIT.fullmatch(name)]
    return np.isin(communication.calls.operation, codes)


class Replay:
    """A run that can be repeated under other conditions.

    MPI_Init takes as long on another network if ``keeps_startup``: processes are started meanwhile.
    """

    def __init__(
        self, communication: Communication, rules: Rules | None = None, *, keeps_startup: bool = False
    ) -> None:
        if not len(communication.calls):
            raise DataError(f"{communication.source}: has no calls of a communication library; a replay needs them")
        if communication.not_replayed:
            raise DataError(f"{communication.source}: cannot be replayed: {communication.not_replayed}")
        self.communication, self.rules = communication, observed_rules(communication) if rules is None else rules
        self.graph: EventGraph = event_graph(communication, self.rules)
        self.kept = startup_calls(communication) & keeps_startup
        self._n_calls = len(communication.calls)
        start, end = communication.bursts()
        self.burst_ns: Ints = end - start
        self._runtime_ns = int(end[self._n_calls :].max()) - communication.start_ns
        self.residual_ns, self.waiting_ns = self._residuals()
        self.n_contradictions = int((self.residual_ns < 0).sum())  # calls that left before what they waited for
        # A table of costs, one for each burst, call and nothing, into which every edge points.
        graph = self.graph
        nothing = len(self.burst_ns) + self._n_calls
        index = np.where(graph.kind == BURST, graph.subject, len(self.burst_ns) + graph.call)
        self._index = np.where(graph.kind == GATHERING, nothing, index).astype(np.int32)
        self._check()

    def runtime_ns(
        self, transfer: float = 1.0, *, burst_ns: Ints | None = None, edge_cost_ns: Ints | None = None
    ) -> int:
        """Return how long the run takes with other transfers, bursts, or costs of all edges."""
        return int(self._times(transfer, burst_ns, edge_cost_ns)[self.graph.last].max())

    def runtimes_ns(self, burst_ns: Ints, transfer: float = 1.0) -> Ints:
        """Return how long the run takes with each of several other bursts, (n, n_calls + n_locations), at once."""
        several, n_bursts = burst_ns.shape
        cost = np.zeros((n_bursts + self._n_calls + 1, several), np.int64)
        cost[:n_bursts] = burst_ns.T
        cost[n_bursts:-1] = self._residual(transfer)[:, None]
        times = np.empty((len(self.graph.begins) - 1, several), np.int64)
        graph_kernels.longest_of_several(self.graph.begins, self.graph.source, self._index, cost, times)
        return np.asarray(times[self.graph.last].max(axis=0))

    def path(self, transfer: float = 1.0, *, burst_ns: Ints | None = None, edge_cost_ns: Ints | None = None) -> Path:
        """Return the critical path; parameters as of `runtime_ns`. Of causes that tie the location's own counts."""
        index, cost = self._table(transfer, burst_ns, edge_cost_ns)
        graph = self.graph
        n_nodes = len(graph.begins) - 1
        times, cause = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int32)
        graph_kernels.longest_with_causes(graph.begins, graph.source, index, cost, times, cause)
        end = int(graph.last[times[graph.last].argmax()])
        edges = graph_kernels.path_to(end, graph.source, cause)[::-1]
        return Path(int(times[end]), graph.kind[edges], graph.subject[edges], graph.call[edges], cost[index[edges]])

    def edge_costs(self, transfer: float = 1.0, burst_ns: Ints | None = None) -> Ints:
        """Return costs of all edges, for a caller that changes some of them."""
        index, cost = self._table(transfer, burst_ns, None)
        return cost[index]

    def times_ns(self, transfer: float = 1.0) -> tuple[Ints, Ints]:
        """Return when each call is entered and left in the replay; from the begin of the run."""
        times = self._times(transfer)
        return times[self.graph.arrival], times[self.graph.end]

    def _times(self, transfer: float, burst_ns: Ints | None = None, edge_cost_ns: Ints | None = None) -> Ints:
        index, cost = self._table(transfer, burst_ns, edge_cost_ns)
        times = np.empty(len(self.graph.begins) - 1, np.int64)
        graph_kernels.longest(self.graph.begins, self.graph.source, index, cost, times)
        return times

    def remarks(self) -> list[str]:
        """Return what was wrong with the trace, and what the replay did with it."""
        communication = self.communication
        lines = communication.remark_lines()
        if communication.unmatched and any(communication.unmatched.values()):
            lines.append("the replay does not wait for omitted messages; the calls keep their recorded time")
        names = {MESSAGE: "messages", POSTED: "sends that wait for their receive"}
        for kind in sorted({kind for kind, _ in self.graph.dropped}):
            subjects = sorted({subject for dropped, subject in self.graph.dropped if dropped == kind})
            named = "; ".join(self._named(kind, subject) for subject in subjects[:3])
            lines.append(
                f"{len(subjects)} {names.get(kind, 'collectives')} wait in a circle; the replay ignores "
                f"them: {named}{', ...' if len(subjects) > 3 else ''}"
            )
        silent = int((communication.first_call[1:] == communication.first_call[:-1]).sum())
        if silent:
            lines.append(f"{silent} of {len(communication.locations)} locations never call: they keep their times")
        return lines

    def _named(self, kind: int, subject: int) -> str:
        run = self.communication
        if kind not in (MESSAGE, POSTED):
            return str(run.calls.operations[run.collectives.operation[subject]])
        sender, receiver = (run.locations[ends[subject]] for ends in (run.sender, run.receiver))
        return f"{sender} to {receiver}, tag {run.messages.tag[subject]}, {run.messages.bytes[subject]} bytes"

    def _table(self, transfer: float, burst_ns: Ints | None, edge_cost_ns: Ints | None) -> tuple[Codes, Ints]:
        if edge_cost_ns is not None:
            return np.arange(len(edge_cost_ns), dtype=np.int32), edge_cost_ns
        bursts = self.burst_ns if burst_ns is None else burst_ns
        return self._index, np.concatenate([bursts, self._residual(transfer), [0]])

    def _residual(self, transfer: float) -> Ints:
        if transfer == 1:
            return self.residual_ns
        return np.where(self.kept, self.residual_ns, np.rint(self.residual_ns * transfer).astype(np.int64))

    def _residuals(self) -> tuple[Ints, Ints]:
        communication, graph = self.communication, self.graph
        start, calls = communication.start_ns, communication.calls
        times = np.zeros(len(graph.begins) - 1, np.int64)
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
        calls, start = self.communication.calls, self.communication.start_ns
        entered, left = self.times_ns()
        same = np.array_equal(entered, calls.enter_ns - start) and np.array_equal(left, calls.leave_ns - start)
        if not same or self.runtime_ns() != self._runtime_ns:
            raise DataError(f"{self.communication.source}: the replay does not give the run's own times; calls overlap")
