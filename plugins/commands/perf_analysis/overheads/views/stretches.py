"""Where of a run its categories of cycles are, for the timeline beside their table."""

from __future__ import annotations

import numpy as np

from perf_analysis.overheads.category_set import CategorySet
from perf_analysis.overheads.profile import OverheadProfile
from perf_analysis.overheads.state_classes import NO_STATE
from perf_traces.levels import parts_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_views.contents import RunStretch
from perfcore.data.trace import Trace


def class_stretches(trace: Trace, profile: OverheadProfile) -> dict[str, RunStretch]:
    """The longest interval of each class of states that lasts at all; none of a summary, which has no intervals."""
    if isinstance(trace, SummarizedTrace):
        return {}
    code_of = {state: code for code, name in enumerate(profile.classes) for state in profile.states[name]}
    class_of = np.array([code_of[state] for state in trace.states], dtype=np.int64)
    longest: dict[str, RunStretch] = {}
    for first, part in parts_of(trace):
        lasting, classes = part.end_ns - part.start_ns, class_of[part.state]
        for code in np.unique(classes[lasting > 0]).tolist():
            rows = np.flatnonzero(classes == code)
            row = rows[np.argmax(lasting[rows])]
            name = profile.classes[code]
            location = trace.locations[first + int(part.location[row])]
            stretch = RunStretch(int(part.start_ns[row]), int(part.end_ns[row]), location, _states(profile, (name,)))
            if name not in longest or stretch.duration_ns > longest[name].duration_ns:
                longest[name] = stretch
    return longest


def category_stretches(
    profile: OverheadProfile, rules: CategorySet, of_classes: dict[str, RunStretch]
) -> dict[str, RunStretch]:
    """The longest interval of each category; of one that depends on other locations, where there is most of it.

    So it is also of what no state tells, such as a location that is idle since it is in no state.
    """
    stretches = {}
    for index in np.flatnonzero(profile.by_category_ns).tolist():
        category = rules.categories[index]
        states = _states(profile, category.classes)
        told = [of_classes[name] for name in category.classes if name in of_classes]
        if category.predicate is None and told:
            longest = max(told, key=lambda each: each.duration_ns)
            stretches[category.name] = RunStretch(longest.start_ns, longest.end_ns, longest.location, states)
        elif of_classes:
            most = int(np.argmax(profile.timeline_ns[index]))
            start, end = profile.timeline_edges_ns[most : most + 2].tolist()
            stretches[category.name] = RunStretch(start, end, states=states)
    return stretches


def _states(profile: OverheadProfile, classes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(state for name in classes for state in profile.states[name] if state != NO_STATE)
