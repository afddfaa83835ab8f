"""Locations of the level that is asked: a GPU for its streams, a process for its threads, a node for all on it.

A merged location is at each time in the state that counts most of those that its recorded ones are in: computing
before communicating before waiting for data before copying, and so on down to idle. So it computes while any of them
does, which says whether the GPU, the process or the node gets on; how many of them compute at once is another question,
which the recorded level answers. States that overlap the shown one stay in `LocatedTrace.recorded`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.joined_trace import COLUMNS, JoinedTrace, LazyTrace, run_of
from perf_traces.messages.communication import FACT, carry, on_locations
from perf_traces.nesting import mark_nested, merged_states
from perf_traces.states import state_classes
from perf_traces.windows import cut_trace
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace, busy_mask

WAITING_FOR_HOST, NOT_STARTED = "(waiting for the host)", "(launched, not started)"
_OF_HOST = (NOT_STARTED, WAITING_FOR_HOST)

KIND = "kind"  # a level of traces whose locations are of several kinds: threads, and streams of GPUs
_AS_RECORDED = ("stream", "thread", "both")
_WORDS = {"device": "GPU", "process": "process", "node": "node"}
_PLURALS = {"device": "GPUs", "process": "processes", "node": "nodes"}
_MEMBERS = {"device": "streams", "process": "locations", "node": "locations"}
# What the names of locations say where no reader does.
_NAMES = {
    "device": (
        re.compile(r"(?P<name>.+) / .*\bstream\b.*", re.IGNORECASE),
        re.compile(r"(?P<name>(?:.+ / )?GPU \d+)"),  # as a merged one is called, in tables too
    ),
    "process": (
        re.compile(r"(?P<name>.+) / .*\bthread\b.*", re.IGNORECASE),
        re.compile(r"(?P<name>\d+\.\d+)\.\d+"),  # application, task and thread, as Paraver numbers them
        re.compile(r"(?P<name>rank \d+) / .*"),
    ),
}
_AT_ONCE = ": each computes while any of its members does"
# Of two states of one time that before the other is shown; what counts as computing is before all.
_ORDER = (
    "(computing)", "communicating", "waiting", "transferring", "io", "contending", "runtime", "synchronizing",
    "unknown", "computing", "other", "marker", *_OF_HOST, "idle", "not_running",
)  # fmt: skip


class LocatedTrace(LazyTrace):
    """A trace whose locations are several recorded ones each; see `perfcore.Trace` for what it offers."""

    def __init__(
        self, recorded: Trace, place: Ints, locations: Sequence[str], level: str, merged: Trace | None = None
    ) -> None:
        self.recorded, self.place, self.level = recorded, place, level
        self._merged = _merged(recorded, place, locations, level, _ranks(recorded)) if merged is None else merged
        notes = [note for note in recorded.notes if _AT_ONCE not in note]
        super().__init__(
            locations, recorded.states, time_unit=recorded.time_unit, busy_states=recorded.busy_states,
            span_ns=run_of(self._merged), source=recorded.source, notes=notes, markers=recorded.markers,
            levels=self._merged.levels, facts=recorded.facts,
        )  # fmt: skip
        if (calls := recorded.facts.get(FACT)) is not None:
            carry(self, lambda: on_locations(calls(), place, locations))
        self.notes = (*self.notes, _how_many_at_once(self))
        if len(place) > len(locations):
            mark_nested(self)

    @property
    def n_intervals(self) -> int:
        return self._merged.n_intervals

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self._merged, name) for name in COLUMNS}

    def rank_traces(self) -> Iterator[Trace]:
        """Yield the ranks of a run one after the other, each with its locations; the trace itself if it has none."""
        if not isinstance(self.recorded, JoinedTrace) or not isinstance(self._merged, JoinedTrace):
            yield self
            return
        last = 0
        for recorded, merged in zip(self.recorded.rank_traces(), self._merged.rank_traces(), strict=True):
            first, last = last, last + len(recorded.locations)
            place = self.place[first:last]
            yield LocatedTrace(recorded, place - place.min(), merged.locations, self.level, merged)

    def cut(
        self, first: int, stop: int, locations: Sequence[int], states: Sequence[int], **facts: Any
    ) -> LocatedTrace | None:
        """Return its part from ``first`` until before ``stop``, with these locations and states; see `part_of`."""
        of_part = {place: k for k, place in enumerate(locations)}
        kept = [k for k, place in enumerate(self.place.tolist()) if place in of_part]
        levels = {name: [values[k] for k in kept] for name, values in self.recorded.levels.items()}
        part = cut_trace(self.recorded, first, stop, kept, states, {**facts, "levels": levels})
        if part is None or not _lasts(part):
            return None
        names = [self.locations[place] for place in locations]
        return LocatedTrace(part, np.array([of_part[self.place[k]] for k in kept]), names, self.level)

    def utilization(self, busy: Sequence[str] | None = None, *, idle: Sequence[str] | None = None) -> UtilizationCurve:
        """Return how many locations have a recorded one that computes; see `perfcore.Trace.utilization`."""
        if busy is None and idle is None:
            return self._merged.utilization()
        mask = busy_mask(self.states, self.busy_states, busy, idle)
        merged = _merged(self.recorded, self.place, self.locations, self.level, np.where(mask, 0, 1))
        return merged.utilization(busy, idle=idle)


def located(trace: Trace, level: str) -> Trace:
    """Return a trace with locations of a level."""
    locate: Callable[[str], Trace] | None = getattr(trace, "located", None)
    if locate is not None:
        return locate(level)
    if level in _AS_RECORDED:
        return trace
    which = "device" if level == "auto" else level
    names = level_names(trace, which)
    if not any(names):
        if level == "auto":
            return trace
        known_levels = [each for each in _WORDS if any(level_names(trace, each))]
        hint = f"; known: {listing([f'--locations {each}' for each in known_levels])}" if known_levels else ""
        raise DataError(
            f"{trace.source}: of none of its locations ({listing(trace.locations, 3)}) is the {_WORDS[which]} known"
            f"{hint}; leave out --locations {level}"
        )
    if not _lasts(trace):
        return trace
    chosen = [name or location for name, location in zip(names, trace.locations, strict=True)]
    if level == "auto" and tuple(chosen) == trace.locations:
        return trace
    merged = list(dict.fromkeys(chosen))
    codes = {name: code for code, name in enumerate(merged)}
    return LocatedTrace(trace, np.array([codes[name] for name in chosen]), merged, which)


def level_names(trace: Trace, level: str) -> tuple[str, ...]:
    """Return the device, process or node of each location, as its reader says or else its name; empty if unknown."""
    if level in trace.levels:
        return tuple(trace.levels[level])
    matches = [
        next((match for pattern in _NAMES.get(level, ()) if (match := pattern.fullmatch(name))), None)
        for name in trace.locations
    ]
    return tuple("" if match is None else match["name"] for match in matches)


def parts_of(trace: Trace) -> Iterator[tuple[int, Trace]]:
    """Yield the ranks of a run, or the trace itself, each with the position of its first location."""
    first = 0
    for part in trace.rank_traces() if isinstance(trace, (JoinedTrace, LocatedTrace)) else (trace,):
        yield first, part
        first += len(part.locations)


def _merged(recorded: Trace, place: Ints, locations: Sequence[str], level: str, order: Ints) -> Trace:
    """Return the same with merged locations; of a run rank by rank if no place is of several."""
    levels = _levels_above(recorded, place)
    if isinstance(recorded, JoinedTrace) and level in ("device", "process"):
        return recorded.merged(place, locations, order, levels)
    columns = recorded.location, recorded.state, recorded.start_ns, recorded.end_ns
    return Trace(
        *merged_states(*columns, place=place, rank=order), locations, recorded.states, time_unit=recorded.time_unit,
        busy_states=recorded.busy_states, span_ns=run_of(recorded), source=recorded.source, levels=levels,
    )  # fmt: skip


def _ranks(trace: Trace) -> Ints:
    """Of two states of one time that with the lower number is shown."""
    busy = frozenset(trace.busy_states)
    kinds = zip(trace.states, state_classes(trace.states), strict=True)
    return np.array(
        [0 if state in busy else _ORDER.index(state if state in _OF_HOST else kind) for state, kind in kinds]
    )


def _levels_above(trace: Trace, place: Ints) -> dict[str, Sequence[str]]:
    """Return levels of merged locations, as far as all that make up one agree."""
    first = np.unique(place, return_index=True)[1].tolist()
    levels: dict[str, Sequence[str]] = {}
    for level in ("device", "process", "node"):
        names = np.array(level_names(trace, level), dtype=object)
        if any(names):
            levels[level] = tuple(
                names[k] if (names[place == code] == names[k]).all() else "" for code, k in enumerate(first)
            )
    return levels


def _lasts(trace: Trace) -> bool:
    return any((part.end_ns > part.start_ns).any() for _, part in parts_of(trace))


def _how_many_at_once(trace: LocatedTrace) -> str:
    recorded = trace.recorded
    busy = np.array([*map(set(trace.busy_states).__contains__, trace.states)])
    time, covered = (sum(int((part.end_ns - part.start_ns)[busy[part.state]].sum()) for _, part in parts_of(each))
                     for each in (recorded, trace._merged))  # fmt: skip
    n, level = len(trace.locations), trace.level
    members = f"{len(recorded.locations)} {_MEMBERS[level]} as {n} {_PLURALS[level] if n > 1 else _WORDS[level]}"
    at_once = f"; where one computes, {time / covered:.2f} of them do at once" if covered else ""
    finest = "stream" if level == "device" else "thread"
    return f"{members}{_AT_ONCE}{at_once} (--locations {finest} separates them)"
