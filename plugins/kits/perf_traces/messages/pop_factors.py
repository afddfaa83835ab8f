"""The two factors of POP that need a replay: serialisation and transfer, whose product is communication efficiency.

Choose ``strict`` to see what the run loses: serialisation is the longest computation over the time on an ideal network,
with the rules that the trace itself shows. Choose ``bsc`` to compare with published tables: its rules, and every time
between calls in place of computation, also that before the program began and in which the tracer wrote.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis"; that ``bsc`` gives the figures of BSC's tools
was tested with the published ones of EPOCH.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from perf_traces.messages.communication import Communication, communication_of
from perf_traces.messages.replay import Replay, bsc_rules
from perfcore.data.trace import Trace

Definition = Literal["strict", "bsc"]


@dataclass(frozen=True)
class PopFactors:
    """Factors of one run, each in [0, 1]."""

    definition: Definition
    runtime_ns: int  # of the run, and on a network that takes no time
    ideal_ns: int
    load_balance: float  # mean over longest computation of a location
    serialisation: float  # their product is ``communication``
    transfer: float
    contradictions: int  # calls that left before what the rules say they waited for, of how many
    calls: int

    @property
    def communication(self) -> float:
        """Longest computation over the run's time."""
        return self.serialisation * self.transfer

    @property
    def parallel(self) -> float:
        """Mean computation over the run's time."""
        return self.load_balance * self.communication


def pop_factors(
    trace: Trace, definition: Definition = "strict", processes: Sequence[str] | None = None
) -> PopFactors | None:
    """Factors of a run from its trace alone; None where the trace has no calls of a communication library."""
    communication = communication_of(trace)
    if communication is None or not len(communication.calls):
        return None
    if processes is not None:
        communication = _without_helpers(communication, processes)
    replay = Replay(communication, bsc_rules(communication) if definition == "bsc" else None)
    elapsed = trace.span_ns[1] - trace.span_ns[0]
    silent = elapsed - replay.runtime_ns()  # after the last record; no network makes it shorter
    ideal = replay.runtime_ns(0) + silent
    useful = computing_ns(trace)
    longest = int(useful.max())
    if not longest:
        return None
    outside = _between_calls(replay) if definition == "bsc" and processes is None else longest
    serialisation = outside / ideal
    return PopFactors(
        definition, elapsed, ideal, float(useful.mean() / longest), serialisation, longest / elapsed / serialisation,
        replay.n_contradictions, len(communication.calls),
    )  # fmt: skip


def computing_ns(trace: Trace) -> npt.NDArray[np.int64]:
    """How long each location of a trace computes."""
    busy = np.array([name in trace.busy_states for name in trace.states])[trace.state]
    useful = np.zeros(len(trace.locations), np.int64)
    np.add.at(useful, trace.location[busy], trace.end_ns[busy] - trace.start_ns[busy])
    return useful


def _without_helpers(communication: Communication, processes: Sequence[str]) -> Communication:
    """Without the threads that never call beside one of their process that does."""
    first = communication.first_call
    calling = first[1:] > first[:-1]
    with_caller = {process for process, calls in zip(processes, calling.tolist(), strict=True) if calls}
    kept = calling | np.array([process not in with_caller for process in processes])
    place = (np.cumsum(kept) - 1).astype(np.int32)
    return replace(
        communication,
        locations=tuple(name for name, keep in zip(communication.locations, kept.tolist(), strict=True) if keep),
        end_ns=communication.end_ns[kept],
        calls=replace(communication.calls, location=place[communication.calls.location]),
    )


def _between_calls(replay: Replay) -> int:
    """The longest time that a location is outside of calls."""
    communication = replay.communication
    location = np.concatenate([communication.calls.location, np.arange(len(communication.locations))])
    outside = np.zeros(len(communication.locations), np.int64)
    np.add.at(outside, location, replay.burst_ns)
    return int(outside.max())
