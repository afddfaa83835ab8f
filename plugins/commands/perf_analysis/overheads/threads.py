"""What the threads of each process do while it is outside of MPI: the times behind the factors of MPI x OpenMP.

A process is where its calling thread is: inside a call, or outside, where it computes or its threads start, wait, and
end. A parallel region is a stretch outside of calls in which any other thread is at work or waits in the run-time
system; several that follow one another without a break are one. The rest is serial.

Source: POP CoE, "Hybrid metrics" (co-design.pop-coe.eu/metrics): time outside MPI is that of the first thread; and the
NAG's PyPOP for serial and parallel regions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.unions import Stretches, covered, overlap, rest, union
from perf_traces.levels import level_names
from perf_traces.messages.communication import Communication
from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]

# Classes in which a thread has nothing to do with the others', and those in which it is with them or at work.
_ABSENT = ("idle", "not_running")
_OUTSIDE = ("computing", "synchronizing", "contending", "runtime", "idle")


@dataclass(frozen=True)
class ThreadTimes:
    """One process, times in nanoseconds."""

    process: str
    n_threads: int
    computing_ns: int  # of all its threads
    outside_ns: int  # while the process is outside of calls
    regions_ns: int  # of these, in parallel regions
    longest_ns: int  # in each parallel region the computing of the thread that computes longest, summed
    serial_ns: int  # computing outside of calls and of parallel regions


def threads_beside(trace: Trace, communication: Communication | None) -> tuple[str, ...] | None:
    """The process of each location, where a run that calls MPI has several threads in some; else None."""
    if communication is None or not len(communication.calls) or any(level_names(trace, "device")):
        return None
    processes = level_names(trace, "process")
    return processes if all(processes) and len(set(processes)) < len(processes) else None


def thread_times(
    trace: Trace, communication: Communication, processes: Sequence[str], states: Mapping[str, Sequence[str]]
) -> tuple[ThreadTimes, ...]:
    """Times of each process."""
    by_state = {name: kind for kind, names in states.items() for name in names}
    kinds = np.array([by_state[name] for name in trace.states], object)
    masks = {
        "computing": kinds == "computing",
        "elsewhere": ~np.isin(kinds, _OUTSIDE),
        "present": ~np.isin(kinds, _ABSENT),
    }
    order = np.argsort(trace.location, kind="stable")
    first = np.searchsorted(trace.location[order], np.arange(len(trace.locations) + 1))
    rows = [order[a:b] for a, b in itertools.pairwise(first)]

    def stretches(location: int, mask: str) -> Stretches:
        selected = rows[location][masks[mask][trace.state[rows[location]]]]
        return union(trace.start_ns[selected], trace.end_ns[selected])

    calls = communication.first_call
    of_process: dict[str, list[int]] = {}
    for location, process in enumerate(processes):
        of_process.setdefault(process, []).append(location)
    times = []
    for process, threads in of_process.items():
        caller = next((each for each in threads if calls[each + 1] > calls[each]), threads[0])
        own_calls = (
            communication.calls.enter_ns[calls[caller] : calls[caller + 1]],
            (communication.calls.leave_ns[calls[caller] : calls[caller + 1]]),
        )
        inside = union(*map(np.concatenate, zip(own_calls, stretches(caller, "elsewhere"), strict=True)))
        computing = [stretches(each, "computing") for each in threads]
        others = [stretches(each, "present") for each in threads if each != caller]
        times.append(_of_process(process, inside, computing, threads.index(caller), others, trace.span_ns))
    return tuple(times)


def _of_process(
    process: str,
    inside: Stretches,
    computing: Sequence[Stretches],
    caller: int,
    others: Sequence[Stretches],
    span_ns: tuple[int, int],
) -> ThreadTimes:
    """Times of one process from the stretches inside calls, and those of its threads."""
    caller_computing = computing[caller]
    free = rest(inside, *span_ns)
    outside = union(
        np.concatenate([free[0], caller_computing[0]]), np.concatenate([free[1], caller_computing[1]])
    )  # computing is outside
    at_work = (
        union(*map(np.concatenate, zip(*others, strict=True)))
        if others
        else (caller_computing[0][:0], caller_computing[1][:0])
    )
    regions = overlap(outside, at_work, *span_ns)
    by_thread = np.array([covered(each, *regions) for each in computing])
    return ThreadTimes(
        process,
        len(computing),
        sum(_lasting(each) for each in computing),
        _lasting(outside),
        _lasting(regions),
        int(by_thread.max(axis=0).sum()),
        _lasting(caller_computing) - int(by_thread[caller].sum()),
    )


def _lasting(stretches: Stretches) -> int:
    return int((stretches[1] - stretches[0]).sum())
