"""Another network, as the user says it: none that takes time, one so many times as fast, or latency and bandwidth."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_traces.messages.replay import CALL, COLLECTIVE, MESSAGE, POSTED, Replay
from perfcore.base.errors import OptionError
from perfcore.data.units import readable, split_unit

_AMOUNT = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>[^\s0-9].*?)\s*")
_FEWEST = 20  # messages of which a latency and a bandwidth are told
_FAR = 4.0  # times as long or as short: beyond, other limits than latency and bandwidth would hold

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """A network in place of the run's own."""

    factor: float = 1.0  # on what calls take beyond waiting; 0 where they take no time
    latency_ns: float | None = None  # instead, what messages and collectives take: latency + bytes / bandwidth
    bytes_per_ns: float | None = None

    @property
    def text(self) -> str:
        """What it is, in words."""
        if self.latency_ns is not None and self.bytes_per_ns is not None:
            return f"a network of {readable(self.latency_ns, 'ns')} and {self.bytes_per_ns:.4g} GB/s"
        if self.factor == 0:
            return "a network that takes no time"
        return f"a network {1 / self.factor:.4g} times as fast"

    @property
    def assumption(self) -> str:
        """What is taken for true."""
        if self.latency_ns is not None:
            return (
                "a message takes latency + bytes/bandwidth, a collective of n members that ceil(log2 n) times; calls "
                "that wait for nobody take as long as they did"
            )
        if self.factor == 0:
            return "no call takes longer than what it waits for"
        return f"what calls take beyond waiting is divided by {1 / self.factor:.4g}, whatever their sizes"

    def edge_costs(self, replay: Replay, burst_ns: Integers) -> Integers | None:
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
        of = graph.subject[joined]
        steps = np.ceil(np.log2(np.maximum(communication.collectives.size[of], 2)))
        costs[joined] = np.rint(
            steps * (self.latency_ns + communication.collectives.bytes[of] / self.bytes_per_ns)
        ).astype(np.int64)
        return costs


def network_from_text(text: str) -> Network:
    """Read ``0``, ``x2`` or ``2us,10GB/s``."""
    expected = "0, x2 (twice as fast) or latency,bandwidth such as 2us,10GB/s is expected"
    plain = text.strip()
    if plain == "0":
        return Network(0.0)
    if plain.lower().startswith("x"):
        try:
            times = float(plain[1:])
        except ValueError:
            times = 0.0
        if not 0 < times < np.inf:
            raise OptionError(f"--network {text}: {expected}")
        return Network(1.0 / times)
    parts = plain.split(",")
    if len(parts) != 2:
        raise OptionError(f"--network {text}: {expected}")
    latency, bandwidth = _amount(parts[0], "time"), _amount(parts[1], "rate")
    if latency is None or not bandwidth:
        raise OptionError(f"--network {text}: {expected}")
    return Network(1.0, latency * 1e9, bandwidth / 1e9)


def _amount(text: str, kind: str) -> float | None:
    """In seconds, or bytes per second."""
    match = _AMOUNT.fullmatch(text)
    unit = None if match is None else split_unit(f"amount [{match['unit']}]")[1]
    if (
        match is None
        or unit is None
        or unit.kind != kind
        or (kind == "rate" and not unit.label.endswith(("B/s", "bit/s")))
    ):
        return None
    return float(match["number"]) * unit.factor


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
        """In words."""
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
    into = np.bincount(
        graph.call[np.isin(graph.kind, (MESSAGE, POSTED, COLLECTIVE))], minlength=len(communication.calls)
    )
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
