"""How long a run would take if something were different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perf_analysis.whatif.path_shares import PathShares
from perf_traces.messages.replay import Rules
from perfcore.results import Result
from perfcore.stochastic import StochasticValue


@dataclass(frozen=True, eq=False)
class Answer:
    """One question and its answer."""

    question: str  # what is different
    runtime_ns: int  # of the run then; with noise the mean
    path: PathShares  # the critical path then; with noise without it
    assumptions: tuple[str, ...]  # what is taken for true
    otherwise_ns: Mapping[str, int] = field(default_factory=dict)
    is_bound: bool = False  # whether it takes at least that long
    value: StochasticValue | None = None  # with noise the runtime, in seconds

    @property
    def carried_by(self) -> tuple[str, float] | None:
        """The alternative that moves the answer most, and by which share of it."""
        if not self.otherwise_ns or not self.runtime_ns:
            return None
        name = max(self.otherwise_ns, key=lambda each: abs(self.otherwise_ns[each] - self.runtime_ns))
        return name, self.otherwise_ns[name] / self.runtime_ns - 1.0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "question": self.question,
            "runtime_ns": self.runtime_ns,
            "is_bound": self.is_bound,
            "assumptions": list(self.assumptions),
            "otherwise_ns": dict(self.otherwise_ns),
            "value": None if self.value is None else self.value.to_dict(),
            "critical_path": self.path.to_dict(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Result):
    """A run as it was, and what it would be.

    Parameters
    ----------
    source : str
    n_ranks, n_calls, n_messages, n_collectives : int
        What was replayed.
    runtime_ns : int, nanoseconds
        Of the run as it was.
    path : PathShares
        Its critical path.
    answers : tuple of Answer
    rules : Rules
        Whom calls wait for, and how the trace shows it.
    contradictions : int
        Calls that left before what the rules say they waited for.
    network : str
        Latency and bandwidth that the trace shows, in words; empty where it does not.
    remarks : tuple of str
        What was wrong with the trace.
    """

    source: str
    n_ranks: int
    n_calls: int
    n_messages: int
    n_collectives: int
    runtime_ns: int
    path: PathShares
    answers: tuple[Answer, ...]
    rules: Rules
    contradictions: int
    network: str
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "source": self.source,
            "ranks": self.n_ranks,
            "calls": self.n_calls,
            "messages": self.n_messages,
            "collectives": self.n_collectives,
            "runtime_ns": self.runtime_ns,
            "critical_path": self.path.to_dict(),
            "answers": [answer.to_dict() for answer in self.answers],
            "contradictions": self.contradictions,
            "eager_bytes": self.rules.eager_bytes,
            "rules": [
                {"operation": each.operation, "calls": each.calls, "tested": each.tested, "refuted": each.refuted,
                 "waits_for": each.waits}
                for each in self.rules.refutations
            ],
            "network": self.network,
            "remarks": list(self.remarks),
        }  # fmt: skip
