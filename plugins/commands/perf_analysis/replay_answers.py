"""How long a run would take if something were different."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_tables.arguments import parse_values
from perf_traces.messages.bursts import BurstTimes
from perf_traces.messages.communication import sums_of
from perf_traces.messages.replay import BURST, CALL, COLLECTIVE, MESSAGE, POSTED, Path, Replay, Rules
from perf_traces.options import parse_compute, parse_factor
from perf_traces.states import COMPUTING
from perfcore.base.arrays import Ints
from perfcore.base.errors import OptionError
from perfcore.data.units import readable, split_unit
from perfcore.report import Result
from perfcore.stochastic import StochasticValue, from_dict

_IN_MESSAGES, _NO_STATE, _SILENT = "messages", "no state", "after the last record"
_MOST_MESSAGES = 5


Change = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]
_AMOUNT = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>[^\s0-9].*?)\s*")
_FEWEST = 20  # messages that an estimate of latency and bandwidth needs
_FAR = 4.0  # times as long or as short: beyond, other limits than latency and bandwidth would hold


@dataclass(frozen=True)
class PathShares:
    """Nanoseconds of a critical path."""

    total_ns: int
    by_class_ns: dict[str, int]  # classes of states between calls
    by_rank_ns: dict[str, int]  # a message counts to who receives it
    n_messages: int  # all by which the path goes from one rank to another
    by_message: list[dict[str, Any]]  # sender, receiver, messages and time_ns of pairs of ranks


def path_shares(
    path: Path, replay: Replay, times: BurstTimes, classes: Sequence[str], changes: Sequence[Change] = (),
    silent_ns: int = 0,
) -> PathShares:  # fmt: skip
    """Sum up a path."""
    communication = replay.communication
    bursts = path.kind == BURST
    number, cost = path.subject[bursts], path.cost_ns[bursts].astype(np.float64)
    by_class: dict[str, float] = {}
    rest = cost.sum()
    changed = [(mask, delta[number], times.within(mask, number)) for mask, delta in changes]
    covered, before = np.zeros(len(classes), bool), 0  # threads of a process compute while others wait
    for name in sorted(dict.fromkeys(classes), key=lambda name: name != COMPUTING):
        mask = np.array([each == name for each in classes])
        covered = covered | mask
        until_here = int(times.within(covered, number).sum())
        spent, before = float(until_here - before), until_here
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
    calls = communication.calls
    in_operation = np.bincount(calls.operation[path.call[is_call]], path.cost_ns[is_call], len(calls.operations))
    by_class |= {f"in {calls.operations[k]}": float(in_operation[k]) for k in np.flatnonzero(in_operation)}
    rank = np.where(bursts, times.location[np.where(bursts, path.subject, 0)], 0)
    in_calls = path.call >= 0
    rank[in_calls] = calls.location[path.call[in_calls]]
    of_rank = sums_of(rank, path.cost_ns, len(communication.locations))
    by_rank = {communication.locations[k]: int(of_rank[k]) for k in np.argsort(-of_rank, kind="stable") if of_rank[k]}
    ordered = dict(sorted(by_class.items(), key=lambda item: -item[1]))
    rounded = {name: round(spent) for name, spent in ordered.items()}
    return PathShares(path.runtime_ns + silent_ns, rounded, by_rank, path.n_messages, _pairs(path, replay))


def _pairs(path: Path, replay: Replay) -> list[dict[str, Any]]:
    """Pairs of ranks whose messages take longest on the path."""
    communication = replay.communication
    rows = path.kind == MESSAGE
    sender, receiver = communication.sender[path.subject[rows]], communication.receiver[path.subject[rows]]
    pair, which, count = np.unique(np.stack([sender, receiver], 1), axis=0, return_inverse=True, return_counts=True)
    spent = sums_of(which.reshape(-1), path.cost_ns[rows], len(pair))
    order = np.lexsort((-count, -spent))[:_MOST_MESSAGES]
    ends = zip(order.tolist(), pair[order].tolist(), strict=True)
    names = communication.locations
    return [
        {"sender": names[one], "receiver": names[other], "messages": int(count[k]), "time_ns": int(spent[k])}
        for k, (one, other) in ends
    ]


@dataclass(frozen=True)
class Network:
    """A network in place of the run's own."""

    factor: float = 1.0  # on what calls take beyond waiting; 0 where they take no time
    latency_ns: float | None = None  # instead, what messages and collectives take: latency + bytes / bandwidth
    bytes_per_ns: float | None = None

    @property
    def text(self) -> str:
        if self.latency_ns is not None and self.bytes_per_ns is not None:
            return f"network {readable(self.latency_ns, 'ns')} and {self.bytes_per_ns:.4g} GB/s"
        if self.factor == 0:
            return "ideal network"
        return f"network {1 / self.factor:.4g}x faster"

    @property
    def assumption(self) -> str:
        if self.latency_ns is not None:
            return (
                "a message takes latency + bytes/bandwidth, a collective of n members that ceil(log2 n) times; calls "
                "without dependencies are unchanged"
            )
        if self.factor == 0:
            return "calls complete as soon as their dependencies are met"
        return f"transfer time divided by {1 / self.factor:.4g} for all message sizes"

    def edge_costs(self, replay: Replay, burst_ns: Ints) -> Ints | None:
        """Costs of all edges of a replay; None where a factor says all."""
        if self.latency_ns is None or self.bytes_per_ns is None:
            return None
        costs = replay.edge_costs(1.0, burst_ns)
        graph, communication = replay.graph, replay.communication
        links = (graph.kind == MESSAGE) | (graph.kind == POSTED)
        joined = graph.kind == COLLECTIVE
        waits = np.zeros(len(communication.calls), bool)
        waits[graph.call[links | joined]] = True
        costs[(graph.kind == CALL) & waits[graph.call]] = 0
        size = communication.messages.bytes[graph.subject[links]]
        costs[links] = np.rint(self.latency_ns + size / self.bytes_per_ns).astype(np.int64)
        of, together = graph.subject[joined], communication.collectives
        steps = np.ceil(np.log2(np.maximum(together.size[of], 2)))
        costs[joined] = np.rint(steps * (self.latency_ns + together.bytes[of] / self.bytes_per_ns)).astype(np.int64)
        kept = (links | joined | (graph.kind == CALL)) & replay.kept[graph.call]
        costs[kept] = replay.residual_ns[graph.call[kept]]
        return costs


def questions_from_text(
    network: str | None, compute: Mapping[str, float] | Sequence[str] | str | None
) -> tuple[list[tuple[str | None, dict[str, float]]], str, list[float]]:
    """Return the network and what else is faster of each question; also what is swept, and by which factors.

    A range is ``1x..8x`` (by doubling) or ``1x..2x:0.25``.
    """
    words = (
        [] if compute is None or isinstance(compute, Mapping) else [compute] if isinstance(compute, str) else compute
    )
    ranges = [("network", network)] if network is not None and ".." in network else []
    ranges += [(name, times) for name, _, times in (word.rpartition("=") for word in words) if ".." in times]
    if len(ranges) > 1:
        raise OptionError(f"{' and '.join(times for _, times in ranges)}: one range is swept at a time")
    if not ranges:
        if network is not None:
            network_from_text(network)
        return [(network, parse_compute(compute))], "", []
    ((swept, text),) = ranges
    bare = text.lower().replace("x", "")
    try:
        factors = parse_values(bare if set(bare) & set(":*,") else f"{bare}*2")
    except (ValueError, ZeroDivisionError):
        factors = []
    if not factors or not 0 < min(factors) <= max(factors) < math.inf:
        option = f"--{swept}" if text is network else f"--compute {swept}=".removesuffix(" =")
        raise OptionError(f"{option} {text}: a rising range above 0 such as 1x..8x or 1x..2x:0.25 is expected")
    if text is network:
        return [(f"{factor:g}x", parse_compute(compute)) for factor in factors], swept, list(factors)
    if network is not None:
        network_from_text(network)
    asked = [[word.replace(text, f"{factor!r}") for word in words] for factor in factors]
    return [(network, parse_compute(each)) for each in asked], swept, list(factors)


def network_from_text(text: str) -> Network:
    """Read ``2x``, ``0`` (ideal) or ``2us,10GB/s``."""
    expected = "2x (twice as fast), 1x..8x, 0 (ideal) or latency,bandwidth such as 2us,10GB/s is expected"
    plain = text.strip()
    if plain == "0":
        return Network(0.0)
    if "," not in plain:
        with contextlib.suppress(OptionError):
            return Network(1.0 / parse_factor(plain, "--network"))
    first, _, second = plain.partition(",")
    latency, bandwidth = _amount(first, "time"), _amount(second, "rate")
    if latency is None or not bandwidth:
        raise OptionError(f"--network {text}: {expected}")
    return Network(1.0, latency * 1e9, bandwidth / 1e9)


def _amount(text: str, kind: str) -> float | None:
    """In seconds, or bytes per second."""
    match = _AMOUNT.fullmatch(text)
    unit = None if match is None else split_unit(f"amount [{match['unit']}]")[1]
    is_meant = unit is not None and unit.kind == kind and (kind != "rate" or unit.label.endswith(("B/s", "bit/s")))
    return float(match["number"]) * unit.factor if match is not None and unit is not None and is_meant else None


@dataclass(frozen=True)
class Measured:
    """What messages of the run took: latency and bandwidth by least squares over the medians of each size."""

    latency_ns: float
    bytes_per_ns: float | None
    n_messages: int
    usual_bytes: float
    usual_ns: float

    @property
    def text(self) -> str:
        took = f"{readable(self.usual_ns, 'ns')}, most of {self.usual_bytes:.6g} bytes"
        if self.bytes_per_ns is not None:
            took = f"{readable(self.latency_ns, 'ns')} + bytes / ({self.bytes_per_ns:.4g} GB/s)"
        return f"{took} (of {self.n_messages} messages that somebody waited for)"

    def is_far(self, network: Network) -> bool:
        """Whether a usual message takes so much less or more on a network that the trace says little of that."""
        if network.latency_ns is None or network.bytes_per_ns is None or not self.usual_ns:
            return False
        return not 1 / _FAR <= (network.latency_ns + self.usual_bytes / network.bytes_per_ns) / self.usual_ns <= _FAR


def measured(replay: Replay) -> Measured | None:
    """Latency and bandwidth of the messages that were waited for alone; None where there are too few."""
    communication, graph = replay.communication, replay.graph
    messages = communication.messages
    joins = np.isin(graph.kind, (MESSAGE, POSTED, COLLECTIVE))
    into = np.bincount(graph.call[joins], minlength=len(communication.calls))
    receive = messages.receive_call
    alone = (into[receive] == 1) & (replay.waiting_ns[receive] > 0) & (replay.residual_ns[receive] >= 0)
    if alone.sum() < _FEWEST:
        return None
    took, size = replay.residual_ns[receive[alone]], messages.bytes[alone]
    sizes, which, count = np.unique(size, return_inverse=True, return_counts=True)
    median = np.array([np.median(took[which == k]) for k in range(len(sizes))]) if len(sizes) <= 1000 else None
    facts = int(alone.sum()), float(np.median(size)), float(np.median(took))
    if len(sizes) < 2 or median is None:
        return Measured(facts[-1], None, *facts)
    slope, latency = np.polyfit(sizes.astype(float), median, 1, w=np.sqrt(count))
    if slope <= 0 or latency <= 0:
        return Measured(facts[-1], None, *facts)
    return Measured(float(latency), float(1 / slope), *facts)


@dataclass(frozen=True, eq=False)
class Answer:
    """One question and its answer."""

    question: str  # what is different
    runtime_ns: int  # of the run then; with noise the mean
    path: PathShares  # the critical path then; with noise without it
    assumptions: tuple[str, ...]  # what it assumes
    otherwise_ns: Mapping[str, int] = field(default_factory=dict)
    is_bound: bool = False  # whether it takes at least that long
    value: StochasticValue | None = None  # with noise the runtime, in seconds

    def to_dict(self) -> dict[str, Any]:
        return {
            "question": self.question, "runtime_ns": self.runtime_ns, "is_bound": self.is_bound,
            "assumptions": list(self.assumptions), "otherwise_ns": dict(self.otherwise_ns),
            "value": None if self.value is None else self.value.to_dict(), "critical_path": asdict(self.path),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Answer:
        """Return the answer that `to_dict` wrote, such as one of another process."""
        path, value = PathShares(**content["critical_path"]), content["value"]
        return cls(
            content["question"], content["runtime_ns"], path, tuple(content["assumptions"]), content["otherwise_ns"],
            content["is_bound"], None if value is None else from_dict(value),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Result):
    """The baseline, and scenarios."""

    reporter: ClassVar[str] = "perf_analysis.whatif_answers:report_of_messages"
    json_kind: ClassVar[str] = "whatif"
    questions: ClassVar[tuple[str, ...]] = ("network", "computing", "balance", "noise")  # for the sliders of its page

    source: str
    n_ranks: int  # what was replayed
    n_calls: int
    n_messages: int
    n_collectives: int
    runtime_ns: int  # of the baseline
    path: PathShares  # its critical path
    answers: tuple[Answer, ...]
    rules: Rules  # whom calls wait for, and how the trace shows it
    contradictions: int  # calls that left before what the rules say they waited for
    network: str  # latency and bandwidth that the trace shows, in words; empty where it does not
    remarks: tuple[str, ...]  # what was wrong with the trace
    sweep: tuple[float, ...] = ()  # how many times as fast what `swept` names is, of each answer
    swept: str = ""

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the runtime with noise, in seconds, as a value; gives what the command line says of it."""
        if (value := self.answers[0].value) is None:
            raise OptionError("--output FILE belongs to --noise SHARE, whose runtimes are a value")
        return value.save(path)

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source, "ranks": self.n_ranks, "calls": self.n_calls, "messages": self.n_messages,
            "collectives": self.n_collectives, "runtime_ns": self.runtime_ns, "critical_path": asdict(self.path),
            "answers": [answer.to_dict() for answer in self.answers], "contradictions": self.contradictions,
            "eager_bytes": self.rules.eager_bytes,
            "rules": [asdict(each) for each in self.rules.refutations],
            "network": self.network, "remarks": list(self.remarks), "sweep": list(self.sweep), "swept": self.swept,
        }  # fmt: skip
