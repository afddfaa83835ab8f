"""A trace as its timeline shows it: what each lane does in each pixel, what stands at one place, and where to jump."""

from __future__ import annotations

import fnmatch
import functools
import itertools
import threading
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.joined_trace import run_of
from perf_traces.levels import LocatedTrace, level_names
from perf_traces.states import CLASSES, OTHER, state_classes
from perf_traces.windows import ends_of, moment_text, stretch_ns
from perf_views.contents import Query
from perf_views.names import shortened
from perfcore.base import grouped
from perfcore.base.arrays import Ints
from perfcore.base.errors import OptionError, PerfError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, readable, shown_origin

_MOST_RADIX = 1 << 16  # keys below it are sorted in linear time
CLASS_PREFIX, OR = "class:", " | "
_MOST_CELLS = 500_000  # of locations and columns in an answer, some 20 ms; of more, columns are wider
_FEWEST_COLUMNS = 100
_MOST_STATES = 6  # of a place where there are several
_MOST_TOLD = 200_000  # intervals of one place that are looked at one by one, a few ms
_MOST_SEARCHES = 4  # that are remembered
_LETTERS = 200  # of a name; some are as long as a page

_LEVELS = ("node", "process", "device")
_SEPARATOR = " / "  # of the parts of a location's name
_MOST_OPEN = 64  # lanes that are shown unasked; of more, the inner ones are folded
MOST_COLUMNS, MOST_ROWS = 4096, 200  # of one answer; a screen is about as wide, and lower
ROWS = 32  # that are shown unasked


@dataclass(frozen=True, eq=False)
class SortedIntervals:
    """Intervals that last, sorted by location, group of states and start, with the sum of durations up to each.

    The time of a group within a window is the difference of two sums, less what hangs over the two edges.
    """

    n_groups: int  # groups of states, such as their classes
    first: Ints  # where the intervals of each location and group begin
    start_ns: Ints
    before_ns: Ints  # durations of all intervals before each one
    state: npt.NDArray[np.int32]

    @classmethod
    def of(cls, trace: Trace, group_of_state: Ints, n_groups: int) -> SortedIntervals:
        """Sort the intervals of a trace."""
        lasting: Any = trace.end_ns > trace.start_ns
        lasting = slice(None) if lasting.all() else lasting
        location, state = trace.location[lasting], trace.state[lasting]
        start, end = trace.start_ns[lasting], trace.end_ns[lasting]
        n_keys = len(trace.locations) * n_groups
        key = location.astype(np.int64) * n_groups + group_of_state[state]
        if (np.diff(location) >= 0).all() and (np.diff(start)[np.diff(location) == 0] >= 0).all():
            order = np.argsort(key.astype(np.uint16) if n_keys < _MOST_RADIX else key, kind="stable")
        else:
            order = np.lexsort((start, key))
        start, state = start[order], state[order]
        before = np.zeros(len(start) + 1, dtype=np.int64)
        np.subtract(end[order], start, out=before[1:])
        np.cumsum(before, out=before)
        first = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n_keys))])
        return cls(n_groups, first.astype(np.int64), start, before, state)

    def __len__(self) -> int:
        return len(self.start_ns)

    def only(self, states: npt.NDArray[np.bool_]) -> SortedIntervals:
        """Return those in some states."""
        kept = np.flatnonzero(states[self.state])
        before = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum(self.before_ns[kept + 1] - self.before_ns[kept], out=before[1:])
        first, start_ns, state = np.searchsorted(kept, self.first), self.start_ns[kept], self.state[kept]
        return replace(self, first=first, start_ns=start_ns, before_ns=before, state=state)

    def time_in(self, edges_ns: Ints, locations: Ints, rows: Ints, n_rows: int) -> Ints:
        """Return how long locations are in each group, between neighbouring edges."""
        time = np.zeros((n_rows, self.n_groups, len(edges_ns) - 1), dtype=np.int64)
        order = np.argsort(locations, kind="stable")
        places, begins = np.unique(np.asarray(locations, np.int64)[order], return_index=True)
        rows_of = np.append(begins, len(order)).astype(np.int64), np.asarray(rows, np.int64)[order]
        _add_time(
            self.first, self.start_ns, self.before_ns, np.asarray(edges_ns, np.int64), places, *rows_of, time
        )  # fmt: skip
        return time

    def within(self, location: int, start_ns: int, end_ns: int) -> Ints:
        """Return which intervals of a location overlap a stretch, group by group."""
        indices = []
        for segment in range(location * self.n_groups, (location + 1) * self.n_groups):
            low, high = self.first[segment], self.first[segment + 1]
            last = low + np.searchsorted(self.start_ns[low:high], end_ns)
            begin = low + np.searchsorted(self.start_ns[low:high], start_ns, side="right")
            if begin > low and self.end_ns(begin - 1) > start_ns:
                begin -= 1
            indices.append(np.arange(begin, last))
        return np.concatenate(indices)

    def end_ns(self, which: Any) -> Any:
        return self.start_ns[which] + self.before_ns[which + 1] - self.before_ns[which]

    def location_of(self, which: int) -> int:
        return int(np.searchsorted(self.first, which, side="right") - 1) // self.n_groups

    def longest(self) -> int:
        """Return the longest interval, of several the first one in the order kept here."""
        return int(np.argmax(np.diff(self.before_ns)))

    def longest_of_groups(self) -> list[int | None]:
        """Return the longest interval of each group; None if it has none."""
        segments = np.flatnonzero(np.diff(self.first))
        durations = np.diff(self.before_ns)
        longest = np.maximum.reduceat(durations, self.first[segments]) if len(segments) else durations
        positions: list[int | None] = []
        for group in range(self.n_groups):
            members = np.flatnonzero(segments % self.n_groups == group)
            if not len(members):
                positions.append(None)
                continue
            segment = segments[members[np.argmax(longest[members])]]
            begin, end = self.first[segment], self.first[segment + 1]
            positions.append(int(begin + np.argmax(durations[begin:end])))
        return positions


@kernel(small=20_000)
def _add_time(
    first: Ints, start: Ints, before: Ints, edges: Ints, locations: Ints, first_row: Ints, rows: Ints, time: Ints
) -> None:
    n_groups = time.shape[1]
    for place in range(len(locations)):
        for group in range(n_groups):
            segment = locations[place] * n_groups + group
            begin, end = first[segment], first[segment + 1]
            if begin == end:
                continue
            position, until_last_edge = begin, 0
            for column in range(len(edges)):
                edge = edges[column]
                # How many begin before the edge: steps that double, since the next edge is near, then halves.
                high, step = position, 1
                while high < end and start[high] < edge:
                    position = high + 1
                    high += step
                    step *= 2
                high = min(high, end)
                while position < high:
                    middle = (position + high) // 2
                    if start[middle] < edge:
                        position = middle + 1
                    else:
                        high = middle
                until = before[position] - before[begin]
                if position > begin:
                    until -= max(start[position - 1] + before[position] - before[position - 1] - edge, 0)
                if column:
                    for row in range(first_row[place], first_row[place + 1]):
                        time[rows[row], group, column - 1] += until - until_last_edge
                until_last_edge = until


def state_name(name: str) -> str:
    """Return a name of a state or a place as the page says it: on one line, and not longer than that."""
    return shortened(name, _LETTERS) or "(no name)"


@dataclass(frozen=True, eq=False)
class Bins:
    """What lanes do, pixel by pixel."""

    window: Window
    lanes: tuple[tuple[int, Lane], ...]  # with their positions among all
    n_lanes: int  # that are not folded away, seen or not
    edges_ns: Ints  # on the trace's clock
    top: npt.NDArray[np.uint8]  # the class of which there is most; 255 where a lane is in no state
    share: npt.NDArray[np.float64]  # of the lane's time in the pixel that is of that class
    matching: npt.NDArray[np.float64]  # share of the states that are searched; empty if nothing is
    busy: npt.NDArray[np.float64]  # locations that compute, on average


class TimelineData:
    """A trace, ready to be asked for any part of it; several threads may ask."""

    def __init__(self, trace: Trace) -> None:
        self.given = trace
        self.trace = trace.recorded if isinstance(trace, LocatedTrace) else trace
        self.run_ns = run_of(trace)
        self.shown_from_ns = shown_start_ns(self.run_ns)
        self.duration_ns = self.run_ns[1] - self.run_ns[0]
        self.time_unit = trace.time_unit
        self.lanes = Lanes(self.trace)
        self.class_of_state = state_classes(self.trace.states, self.trace.busy_states)
        present = dict.fromkeys(self.class_of_state)
        self.classes = tuple(name for name in (*CLASSES, OTHER) if name in present)
        self._lock = threading.Lock()
        self._index: SortedIntervals | None = None
        self._searches: dict[str, tuple[SortedIntervals, str]] = {}

    @property
    def index(self) -> SortedIntervals:
        """All intervals, by location and class."""
        with self._lock:
            if self._index is None:
                groups = np.array([self.classes.index(name) for name in self.class_of_state], dtype=np.int64)
                self._index = SortedIntervals.of(self.trace, groups, len(self.classes))
            return self._index

    @functools.cached_property
    def curve(self) -> UtilizationCurve | None:
        try:
            return self.given.utilization()
        except PerfError:
            return None

    @functools.cached_property
    def _area(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Edges of the curve, nanoseconds since the run's start, and what lies below it up to each."""
        if self.curve is None:
            return np.array([0.0, float(self.duration_ns)]), np.zeros(2)
        factor = nanoseconds_per(self.curve.time_unit)
        offset = float(self.curve.start) * factor - self.run_ns[0]
        edges = self.curve.relative_edges * factor + offset
        return edges, np.concatenate([[0.0], np.cumsum(np.diff(edges) * self.curve.heights)])

    def states_like(self, find: str) -> npt.NDArray[np.bool_]:
        """Return states with a text in their names, or by a pattern or ``class:NAME``; `` | `` stands between
        several.
        """
        pattern = find.strip().casefold()
        names = [state.strip().casefold() for state in self.trace.states]
        if any(name == pattern for name in names):
            return np.array([name == pattern for name in names], dtype=bool)
        if OR in pattern:
            matching: npt.NDArray[np.bool_] = np.any([self.states_like(part) for part in pattern.split(OR)], axis=0)
            return matching
        if pattern.startswith(CLASS_PREFIX):
            kind = pattern.removeprefix(CLASS_PREFIX).strip()
            return np.array([name == kind for name in self.class_of_state], dtype=bool)
        if "*" in pattern or "?" in pattern:
            return np.array([fnmatch.fnmatchcase(name, pattern) for name in names], dtype=bool)
        return np.array([pattern in name for name in names], dtype=bool)

    def search(self, find: str) -> tuple[SortedIntervals, str]:
        """Return intervals of the states that a search finds, and in words how many there are."""
        index = self.index
        with self._lock:
            if find not in self._searches:
                states = self.states_like(find)
                intervals = index.only(states)
                names = [name for name, is_found in zip(self.trace.states, states, strict=True) if is_found]
                label = f"{len(names)} states" if len(names) != 1 else state_name(names[0])
                text = f"{label}: {len(intervals):,} intervals, {readable(float(intervals.before_ns[-1]), 'ns')} in all"
                self._searches[find] = intervals, text if names else f"no state is called {state_name(find)!r}"
                while len(self._searches) > _MOST_SEARCHES:
                    self._searches.pop(next(iter(self._searches)))
            return self._searches[find]

    def bins(self, window: Window, n_columns: int) -> Bins:
        """Return what the lanes of a window do, in columns of equal width."""
        positions = self.lanes.shown(window.toggled)
        visible = [(k, self.lanes.all[k]) for k in positions[window.top : window.top + window.rows]]
        locations = np.array([each for _, lane in visible for each in lane.locations], dtype=np.int64)
        rows = np.repeat(np.arange(len(visible)), [len(lane.locations) for _, lane in visible])
        width = window.end_ns - window.start_ns
        most = max(_MOST_CELLS // max(len(locations), 1), _FEWEST_COLUMNS)
        n_columns = max(min(n_columns, most, width), 1)
        cuts = np.rint(np.arange(n_columns + 1) * (width / n_columns)).astype(np.int64) + window.start_ns
        edges = cuts + self.run_ns[0]
        time = self.index.time_in(edges, locations, rows, len(visible))
        total_time = np.diff(edges) * np.array([[len(lane.locations)] for _, lane in visible]).reshape(-1, 1)
        top = time.argmax(axis=1) if self.classes else np.zeros(total_time.shape, np.int64)
        most_time = np.take_along_axis(time, top[:, None, :], axis=1)[:, 0, :]
        match_share = np.empty((0, n_columns))
        if window.find:
            found, _ = self.search(window.find)
            match_share = found.time_in(edges, locations, rows, len(visible)).sum(axis=1) / total_time
        places, below = self._area
        busy = np.diff(np.interp(cuts, places, below)) / np.diff(cuts)
        return Bins(
            window, tuple(visible), len(positions), edges, np.where(most_time > 0, top, 255).astype(np.uint8),
            most_time / total_time, match_share, busy,
        )  # fmt: skip

    def lines_at(self, lane: Lane, start_ns: int, end_ns: int) -> list[str]:
        """Return what a lane does in a stretch since the run's start, in lines: the state, how long, and its class."""
        start, end = start_ns + self.run_ns[0], max(end_ns, start_ns + 1) + self.run_ns[0]
        index, overlapping = self.index, []
        for location in lane.locations:
            overlapping.append(index.within(location, start, end))
            if sum(map(len, overlapping)) > _MOST_TOLD:
                members = np.array(lane.locations, dtype=np.int64)
                in_class = index.time_in(np.array([start, end]), members, np.zeros_like(members), 1)[0, :, 0]
                shares = in_class / ((end - start) * len(members))
                present = [number for number in np.argsort(-shares, kind="stable").tolist() if shares[number] > 0]
                return [*(f"{self.classes[k]}: {shares[k]:.1%}" for k in present), self._where(lane, start, end)]
        which = np.concatenate(overlapping)
        if not len(which):
            return ["in no state", self._where(lane, start, end)]
        if len(which) == 1 and len(lane.locations) == 1:
            state, start, end = int(index.state[which[0]]), int(index.start_ns[which[0]]), int(index.end_ns(which[0]))
            name = f"{state_name(self.trace.states[state])} ({self.class_of_state[state]})"
            return [name, readable(float(end - start), "ns"), self._where(lane, start, end)]
        inside = np.minimum(index.end_ns(which), end) - np.maximum(index.start_ns[which], start)
        time = np.bincount(index.state[which], weights=inside, minlength=len(self.trace.states))
        order = [state for state in np.argsort(-time, kind="stable")[:_MOST_STATES].tolist() if time[state] > 0]
        total_time = (end - start) * len(lane.locations)
        lines = [
            f"{state_name(self.trace.states[state])}: {time[state] / total_time:.1%} ({self.class_of_state[state]})"
            for state in order
        ]
        left = int((time > 0).sum()) - len(order)
        more = [f"and {left} more states"] if left else []
        return [*lines, *more, f"{len(which):,} intervals", self._where(lane, start, end)]

    def _where(self, lane: Lane, start: int, end: int) -> str:
        since = self.run_ns[0] - self.shown_from_ns
        return f"{state_name(lane.name)}, {readable(start - since, 'ns')} .. {readable(end - since, 'ns')}"

    def longest(self, find: str) -> tuple[int, int, int, str]:
        """Return the longest interval of the states that a search finds, or of all; see `longest_at`."""
        intervals = self.search(find)[0] if find else self.index
        if not len(intervals):
            raise OptionError(self.search(find)[1] if find else "no interval lasts")
        return self.longest_at(intervals, intervals.longest())

    def longest_at(self, intervals: SortedIntervals, which: int) -> tuple[int, int, int, str]:
        """Return location, start, end since the run's start, and text of an interval that is the longest of some."""
        location, start = intervals.location_of(which), int(intervals.start_ns[which])
        end = int(intervals.end_ns(which))
        name = state_name(self.trace.states[int(intervals.state[which])])
        text = f"longest: {name}, {readable(float(end - start), 'ns')} on {state_name(self.trace.locations[location])}"
        return location, start - self.run_ns[0], end - self.run_ns[0], text


@dataclass(frozen=True)
class Lane:
    """One line of the timeline."""

    name: str
    depth: int  # how many groups it is in
    locations: tuple[int, ...]  # its own, or those of all lanes below it
    end: int  # position after the last lane below it, among all lanes
    kind: str  # ``node``, ``process``, ``device`` or ``location``
    label: str  # the name, without what all locations of its group begin with


class Lanes:
    """All lanes of a trace, each group before what it holds; a level that is unknown or adds nothing is left out."""

    def __init__(self, trace: Trace) -> None:
        kinds: list[str] = []
        columns: list[tuple[str, ...]] = []
        finer = len(trace.locations)
        for level in reversed(_LEVELS):
            names = level_names(trace, level)
            count = len(set(names) - {""})
            if 1 < count < finer:
                kinds.insert(0, level)
                columns.insert(0, names)
                finer = count
        self.all: list[Lane] = []
        self._add(trace.locations, kinds, columns, range(len(trace.locations)), 0)
        # Groups of this depth and deeper ones are folded unless the user opens them.
        depths = np.array([lane.depth for lane in self.all])
        self.deepest_open = next((d for d in range(len(_LEVELS), 0, -1) if (depths <= d).sum() <= _MOST_OPEN), 0)

    def _add(
        self, names: tuple[str, ...], kinds: list[str], columns: list[tuple[str, ...]],
        locations: range | list[int], depth: int,
    ) -> None:  # fmt: skip
        level = depth
        groups = ((columns[level][location] if level < len(columns) else "", location) for location in locations)
        for name, members in grouped(groups).items():
            if not name:
                # How many letters all names have in common, up to a separator; 0 of a single name.
                parts = zip(*(names[location].split(_SEPARATOR)[:-1] for location in members), strict=False)
                common = itertools.takewhile(lambda part: len(set(part)) == 1, parts if len(members) > 1 else ())
                shared = sum(len(part[0]) + len(_SEPARATOR) for part in common)
                for location in members:
                    label, end = names[location][shared:], len(self.all) + 1
                    self.all.append(Lane(names[location], depth, (location,), end, "location", label))
                continue
            place = len(self.all)
            self.all.append(Lane(name, depth, tuple(members), 0, kinds[level], name))
            self._add(names, kinds, columns, members, depth + 1)
            self.all[place] = replace(self.all[place], end=len(self.all))

    def is_open(self, position: int, toggled: Set[int]) -> bool:
        """Return whether the lanes below a group are shown."""
        return (self.all[position].depth < self.deepest_open) != (position in toggled)

    def shown(self, toggled: Set[int]) -> list[int]:
        """Positions of the lanes that are not folded away."""
        positions, position = [], 0
        while position < len(self.all):
            positions.append(position)
            position = position + 1 if self.is_open(position, toggled) else self.all[position].end
        return positions


def shown_start_ns(run_ns: tuple[int, int]) -> int:
    """Return what addresses and tables show for the run's start: its time, or 0 if that is a date."""
    return 0 if shown_origin(*run_ns) else run_ns[0]


@dataclass(frozen=True)
class Window:
    """A state of the timeline, as the address of its page has it."""

    start_ns: int  # since the run's start; ``end_ns`` is beyond ``start_ns``
    end_ns: int
    top: int = 0  # the first lane of those that are shown
    toggled: frozenset[int] = frozenset()  # groups of lanes that were folded or opened
    find: str = ""  # pattern of states; empty for none
    rows: int = ROWS  # lanes that are shown at once

    @classmethod
    def of(cls, query: Query, trace: Trace, run: tuple[int, int]) -> Window:
        """From an address, whose times are those that ``--from`` and ``--to`` take. By default all of the run."""
        try:
            top, rows = int(query.get("top") or 0), int(query.get("rows") or ROWS)
            toggled = frozenset(int(part) for part in (query.get("toggled") or "").split(".") if part)
        except (ValueError, OverflowError):
            raise OptionError(
                "the address of a timeline takes numbers: top, rows, and toggled such as 0.4; open the view again"
            ) from None
        begin, stop = stretch_ns(
            query.get("from") or None, query.get("to") or None, run, trace.time_unit, functools.partial(ends_of, trace)
        )
        start, end = max(round(begin), run[0]) - run[0], min(round(stop), run[1]) - run[0]
        if not start < end:
            shown_from = shown_start_ns(run)
            ends = " to ".join(moment_text(time + shown_from) for time in (0, run[1] - run[0]))
            raise OptionError(
                f"from {query.get('from')!r} to {query.get('to')!r}: no part of the run, which goes from {ends}"
            )
        rows = min(max(rows, 1), MOST_ROWS)
        return cls(start, end, max(top, 0), toggled, query.get("find", ""), rows)

    def query(self, run_ns: tuple[int, int], time_unit: str) -> Mapping[str, str]:
        """Return the same as an address has it, without what is so unasked."""
        factor, shown_from = nanoseconds_per(time_unit), shown_start_ns(run_ns)
        fields = {
            "from": f"{(self.start_ns + shown_from) / factor:.15g}" if self.start_ns else "",
            "to": f"{(self.end_ns + shown_from) / factor:.15g}" if self.end_ns < run_ns[1] - run_ns[0] else "",
            "top": str(self.top) if self.top else "",
            "toggled": ".".join(map(str, sorted(self.toggled))),
            "find": self.find,
            "rows": str(self.rows) if self.rows != ROWS else "",
        }
        return {name: text for name, text in fields.items() if text}

    def stretched(self, factor: float, shift: float, duration_ns: int) -> Window:
        """Return one of ``factor`` times the width around the same middle, moved by ``shift`` of this width."""
        width = self.end_ns - self.start_ns
        middle = (self.start_ns + self.end_ns) / 2 + shift * width
        wide = min(max(round(width * factor), 1), duration_ns)
        start = min(max(round(middle - wide / 2), 0), duration_ns - wide)
        return replace(self, start_ns=start, end_ns=start + wide)
