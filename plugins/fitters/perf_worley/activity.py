"""Time of each state, or of each location, within stretches of a run: one pass over the intervals of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_traces.states import COMPUTING, OTHER, state_classes
from perf_views.names import plain_names
from perfcore.base.arrays import Ints
from perfcore.data.trace import Trace, busy_mask

_CHUNK = 1 << 18  # intervals at a time: temporaries stay within the cache
_MOST_STATES = 20  # that are kept by name
_MOST_NAMED = 3
_NAMED = 0.95  # share of the computing time that a name need not exceed
_LEAST = 0.05  # share of what a name mentions after its first word
_REASON = 0.2  # share of the idle time that a state must take to be mentioned
_ALONE = 0.995  # share from which on a state is all there is
_NEVER = 0.01  # of a stretch: who computes less is idle in it
_WHOLE = 0.8  # of the idle time: when so much is of idle locations, they are counted
_NO_STATE = "no state"


def clipped_sums(
    start_ns: Ints, end_ns: Ints, edges_ns: Ints, codes: Sequence[tuple[npt.NDArray[np.integer], int]]
) -> list[Ints]:
    """Sum up the intervals' time by stretch and code, to the nanosecond."""
    n_stretches = len(edges_ns) - 1
    sums = [np.zeros((n_stretches, n_codes), np.int64) for _, n_codes in codes]
    crossings = [np.zeros((n_stretches, n_codes), np.int32) for _, n_codes in codes]  # of whole stretches: changes
    for begin in range(0, len(start_ns), _CHUNK):
        start, end = (np.clip(times[begin : begin + _CHUNK], edges_ns[0], edges_ns[-1]) for times in (start_ns, end_ns))
        first = np.searchsorted(edges_ns, start, side="right") - 1
        np.minimum(first, n_stretches - 1, out=first)
        last = np.maximum(np.searchsorted(edges_ns, end, side="left") - 1, first)
        cut = np.flatnonzero(last > first)
        inner = np.minimum(end, edges_ns[first + 1]) - start
        last, outer = last[cut], end[cut] - edges_ns[last[cut]]
        for total, whole, (code, _) in zip(sums, crossings, codes, strict=True):
            chunk_codes = code[begin : begin + _CHUNK]
            np.add.at(total, (first, chunk_codes), inner)
            np.add.at(total, (last, chunk_codes[cut]), outer)
            np.add.at(whole, (first[cut] + 1, chunk_codes[cut]), 1)
            np.subtract.at(whole, (last, chunk_codes[cut]), 1)
    widths = np.diff(edges_ns)[:, None]
    return [total + np.cumsum(whole, axis=0) * widths for total, whole in zip(sums, crossings, strict=True)]


class StateTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Processor time of one state."""

    state: str
    time_ns: int
    computing: bool  # whether it counts as computing


class Activity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all locations do in a stretch: every nanosecond of each is in exactly one of the fields."""

    name: str  # in a line, as ``"84% dgemm, 12% dtrsm
    states: tuple[StateTime, ...]  # the longest, at most 20
    others_computing_ns: int  # of further states that compute, and that do not
    others_ns: int
    no_state_ns: int  # of locations that are in no state
    duration_ns: int  # ``idle_locations`` hardly compute at all: less than 1 % of the stretch
    n_locations: int
    idle_locations: int
    categories_ns: dict[str, int]  # the same time by class of state, computing first, and ``"no state"`` last

    @property
    def computing_ns(self) -> int:
        """Processor time of all states that compute."""
        return self.others_computing_ns + sum(each.time_ns for each in self.states if each.computing)

    @property
    def processor_ns(self) -> int:
        """Duration x locations."""
        return self.duration_ns * self.n_locations

    @property
    def shares(self) -> dict[str, float]:
        """Share of each computing state in the computing time, of further ones as ``""``; empty without any."""
        total = self.computing_ns
        if not total:
            return {}
        named = {each.state: each.time_ns / total for each in self.states if each.computing}
        return {**named, "": self.others_computing_ns / total}


def activities(
    trace: Trace, edges_ns: Sequence[int] | Ints, busy: Sequence[str] | None = None, idle: Sequence[str] | None = None
) -> list[Activity]:
    """Return what runs in each stretch of a trace."""
    computes = busy_mask(trace.states, trace.busy_states, busy, idle)
    # States that count as computing are of that class, whatever they are called, and no others.
    categories = [
        COMPUTING if counts else OTHER if name == COMPUTING else name.replace("_", " ")
        for name, counts in zip(state_classes(trace.states), computes.tolist(), strict=True)
    ]
    edges = np.asarray(edges_ns, np.int64)
    n_states, n_locations = len(trace.states), len(trace.locations)
    computing_at = np.where(computes[trace.state], trace.location, n_locations)
    by_state, by_location = clipped_sums(
        trace.start_ns, trace.end_ns, edges, [(trace.state, n_states), (computing_at, n_locations + 1)]
    )
    short = dict(zip(trace.states, plain_names(trace.states), strict=True))
    stretch_activities = []
    stretches = zip(by_state, by_location[:, :n_locations], np.diff(edges).tolist(), strict=True)
    for times, location_times, duration in stretches:
        order = np.argsort(-times, kind="stable")[:_MOST_STATES]
        present = [code for code in order.tolist() if times[code]]
        states = tuple(StateTime(trace.states[code], int(times[code]), bool(computes[code])) for code in present)
        other_times = times.copy()
        other_times[order] = 0
        activity = Activity(
            name="",
            states=states,
            others_computing_ns=int(other_times[computes].sum()),
            others_ns=int(other_times[~computes].sum()),
            no_state_ns=duration * n_locations - int(times.sum()),
            duration_ns=duration,
            n_locations=n_locations,
            idle_locations=int((location_times < _NEVER * duration).sum()),
            categories_ns=summed({category: time} for category, time in zip(categories, times.tolist(), strict=True)),
        )
        stretch_activities.append(_named(activity, short))
    return stretch_activities


def joined(parts: Sequence[Activity]) -> Activity:
    """Return what runs in neighbouring stretches of one run together."""
    if len(parts) == 1:
        return parts[0]
    times: Counter[tuple[str, bool]] = Counter()
    for part in parts:
        times.update({(each.state, each.computing): each.time_ns for each in part.states})
    ordered = times.most_common()
    states = tuple(StateTime(state, time, computing) for (state, computing), time in ordered[:_MOST_STATES])
    rest = ordered[_MOST_STATES:]
    further = {does: sum(time for (_, computes), time in rest if computes is does) for does in (True, False)}
    activity = Activity(
        name="",
        states=states,
        others_computing_ns=further[True] + sum(part.others_computing_ns for part in parts),
        others_ns=further[False] + sum(part.others_ns for part in parts),
        no_state_ns=sum(part.no_state_ns for part in parts),
        duration_ns=sum(part.duration_ns for part in parts),
        n_locations=parts[0].n_locations,
        idle_locations=min(part.idle_locations for part in parts),
        categories_ns=summed(part.categories_ns for part in parts),
    )
    names = [state.state for state in states]
    return _named(activity, dict(zip(names, plain_names(names), strict=True)))


def _named(activity: Activity, short: Mapping[str, str]) -> Activity:
    """With its name, and the time in no state as a category."""
    states, total = activity.states, activity.processor_ns
    computing = activity.computing_ns
    idle = total - computing
    parts = []
    if computing > _NEVER * total or not idle:
        parts.append(_listed([(short[s.state], s.time_ns) for s in states if s.computing], computing))
    if activity.n_locations and idle > 0.5 * _LEAST * total:
        parts.append(_idle_text(idle / activity.duration_ns, activity.idle_locations, activity.n_locations))
        waiting = [(short[s.state], s.time_ns) for s in states if not s.computing and s.time_ns > _REASON * idle]
        if waiting:
            parts[-1] += f" ({_listed(waiting, idle)})"
    categories = summed([activity.categories_ns | {_NO_STATE: activity.no_state_ns}])
    return replace(activity, name="; ".join(part for part in parts if part), categories_ns=categories)


def summed(times: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sum up the time of each category that has any: computing, then the longest, and what is in no state last."""
    sums: Counter[str] = Counter()
    for each in times:
        sums.update(each)
    ordered = sorted(sums.items(), key=lambda item: (item[0] != COMPUTING, item[0] == _NO_STATE, -item[1]))
    return {category: time for category, time in ordered if time}


def _listed(times: Sequence[tuple[str, int]], total: int) -> str:
    """Return the states that take most of a time, with their shares."""
    if not times or not total:
        return ""
    if times[0][1] >= _ALONE * total:
        return times[0][0]
    words: list[str] = []
    named_time = 0
    for name, time in times[:_MOST_NAMED]:
        if words and (named_time > _NAMED * total or time < _LEAST * total):
            break
        words.append(f"{time / total:.0%} {name}")
        named_time += time
    return ", ".join(words if times[0][1] >= _LEAST * total else [*words, "many others"])


def _idle_text(mean: float, idle_locations: int, n_locations: int) -> str:
    """Return how many locations do not compute: whole ones where they do so throughout."""
    if n_locations == 1:
        return f"{mean:.0%} idle"
    if mean > (1.0 - 0.5 * _NEVER) * n_locations:
        return f"all {n_locations} idle"
    if idle_locations >= _WHOLE * mean and round(mean) == idle_locations:
        return f"{idle_locations} of {n_locations} idle"
    return f"{mean:.1f} of {n_locations} idle"
