"""Groups of one trace that are runs of their own: applications, or host threads and GPU streams; silent locations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from perf_traces.joined_trace import JoinedTrace, run_of
from perf_traces.levels import KIND, LocatedTrace, parts_of
from perf_traces.messages.bursts import FACT as COUNTERS
from perf_traces.messages.communication import FACT, carry
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.windows import CUT, cut_trace
from perfcore.base.arrays import Ints
from perfcore.base.errors import listing
from perfcore.data.trace import Trace

LEFT_OUT = "are left out"
GROUP = "group"  # fact that names one of several groups of a trace
_NUMBERED = re.compile(r"(\d+)\.\d+\.\d+")  # application, task and thread, as Paraver numbers them


def applications(trace: Trace) -> list[str]:
    """Return the application of each location, or whether it is a thread or a stream; empty where neither is known."""
    matches = [_NUMBERED.fullmatch(name) for name in trace.locations]
    return list(trace.levels.get(KIND) or [f"application {match[1]}" if match else "" for match in matches])


def groups_of(trace: Trace) -> Iterator[tuple[Trace, str]]:
    """Yield each group of a trace with its name, without locations that are never in a state.

    A trace of one group whose locations all have states is yielded as it is, with an empty name.
    """
    summed = trace if isinstance(trace, SummarizedTrace) else None
    if isinstance(trace, (LocatedTrace, JoinedTrace)) or (summed and len(summed.summary.facts.run.files) > 1):
        yield trace, ""
        return
    with_states = np.full(len(trace.locations), CUT in trace.facts)  # one may be silent in a part of a run
    for first, part in () if summed else parts_of(trace):
        with_states[np.unique(part.location[part.end_ns > part.start_ns]) + first] = True
    if summed:
        with_states |= summed.times_and_entries()[0].any(axis=1)
    names = applications(trace)
    distinct = list(dict.fromkeys(name for name, lasts in zip(names, with_states, strict=True) if lasts))
    if not with_states.any() or (with_states.all() and len(distinct) == 1):
        yield trace, ""
        return
    for application in distinct:
        members = np.array([name == application for name in names])
        part = _only(trace, np.flatnonzero(members & with_states), np.flatnonzero(members & ~with_states))
        if len(distinct) > 1:
            part.facts[GROUP] = application
        yield part, part.facts.get(GROUP, "")


def _only(trace: Trace, chosen: Ints, silent: Ints) -> Trace:
    """A trace with these locations, in its whole span; a note names those that are left out."""
    span, notes = run_of(trace), trace.notes
    if len(silent):
        names = listing([trace.locations[place] for place in silent.tolist()], 4)
        n = len(silent)
        notes = (*notes, f"{n} location{'s' * (n != 1)} without states {LEFT_OUT}: {names}")
    if isinstance(trace, SummarizedTrace):
        summary = trace.at(chosen)
        summary.notes = notes
        return summary
    facts = {
        "time_unit": trace.time_unit, "busy_states": trace.busy_states, "span_ns": trace.span_ns,
        "source": trace.source, "notes": notes, "markers": trace.markers,
        "levels": {name: [values[place] for place in chosen.tolist()] for name, values in trace.levels.items()},
        "facts": dict(trace.facts),
    }  # fmt: skip
    part = cut_trace(trace, span[0], span[1] + 1, chosen.tolist(), range(len(trace.states)), facts)
    assert part is not None  # each of its locations is in a state
    if (read := trace.facts.get(FACT)) is not None:
        carry(part, lambda: read().at(chosen))
    if (counters := trace.facts.get(COUNTERS)) is not None:
        part.facts[COUNTERS] = counters.at(chosen)
    return part
