"""What the calls of a communication library add to a profile: serialisation and transfer, bursts, threads."""

from __future__ import annotations

from dataclasses import replace

from perf_analysis.overheads.pop_efficiencies import COMPUTING
from perf_analysis.overheads.profile import OverheadProfile
from perf_analysis.overheads.threads import ThreadTimes, thread_times, threads_beside
from perf_traces.messages.bursts import Definition, burst_classes, pop_factors
from perf_traces.messages.communication import communication_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace


def with_calls(trace: Trace, profile: OverheadProfile, pop: Definition = "strict") -> OverheadProfile:
    """A profile of a whole run, also with what its messages, calls and counters say, as far as the trace has them.

    They are of what the trace counts as computing: of other classes they say nothing. What is wrong with them is noted.
    """
    if isinstance(trace, SummarizedTrace):
        return profile
    if set(profile.states.get(COMPUTING, ())) != set(trace.busy_states):
        return profile
    notes: list[str] = []
    replayed, bursts = None, None
    threads: tuple[ThreadTimes, ...] = ()
    try:
        calls = communication_of(trace)
        processes = threads_beside(trace, calls)
        if calls is not None and processes is not None:
            threads = thread_times(trace, calls, processes, profile.states)
        replayed = pop_factors(trace, pop, processes)
    except DataError as error:
        notes.append(f"serialisation and transfer are not known: {error}")
    try:
        bursts = burst_classes(trace)
    except DataError as error:
        notes += [] if notes else [f"bursts between calls are not known: {error}"]
    if bursts is not None:
        notes += bursts.notes
    return replace(profile, replayed=replayed, bursts=bursts, threads=threads, notes=(*profile.notes, *notes))
