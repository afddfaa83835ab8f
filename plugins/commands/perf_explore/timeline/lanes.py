"""The lanes of a timeline: locations below their nodes, processes and devices, which can be folded."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from perf_traces.levels import level_names
from perf_traces.windows import ends_in, moment_text, stretch_ns
from perf_views.contents import Query
from perfcore.base.errors import OptionError
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per, shown_origin

_LEVELS = ("node", "process", "device")
_SEPARATOR = " / "  # of the parts of a location's name
_MOST_OPEN = 64  # lanes that are shown unasked; of more, the inner ones are folded
MOST_COLUMNS, MOST_ROWS = 4096, 200  # of one answer; a screen is about as wide, and lower
ROWS = 32  # that are shown unasked


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
    """All lanes of a trace, each group before what it holds.

    A level is left out where it is not known, or where it adds nothing: one group of all, or one for each location.
    """

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

    def _add(
        self,
        names: tuple[str, ...],
        kinds: list[str],
        columns: list[tuple[str, ...]],
        locations: range | list[int],
        depth: int,
    ) -> None:
        level = depth
        groups: dict[str, list[int]] = {}
        for location in locations:
            groups.setdefault(columns[level][location] if level < len(columns) else "", []).append(location)
        for name, members in groups.items():
            if not name:
                shared = _shared_beginning([names[location] for location in members])
                for location in members:
                    label, end = names[location][shared:], len(self.all) + 1
                    self.all.append(Lane(names[location], depth, (location,), end, "location", label))
                continue
            place = len(self.all)
            self.all.append(Lane(name, depth, tuple(members), 0, kinds[level], name))
            self._add(names, kinds, columns, members, depth + 1)
            self.all[place] = replace(self.all[place], end=len(self.all))

    @functools.cached_property
    def deepest_open(self) -> int:
        """Groups of this depth and deeper ones are folded unless the user opens them."""
        depths = np.array([lane.depth for lane in self.all])
        return next((depth for depth in range(len(_LEVELS), 0, -1) if (depths <= depth).sum() <= _MOST_OPEN), 0)

    def is_group(self, position: int) -> bool:
        """Return whether a lane has others below it."""
        return self.all[position].kind != "location"

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

    def path_to(self, location: int) -> list[int]:
        """Return the groups around a location, outermost first, and its own lane."""
        return [position for position, lane in enumerate(self.all) if location in lane.locations]


def _shared_beginning(names: Sequence[str]) -> int:
    """Return how many letters all names have in common, up to a separator; 0 for a single name."""
    parts = zip(*(name.split(_SEPARATOR)[:-1] for name in names), strict=False) if len(names) > 1 else ()
    shared = itertools.takewhile(lambda part: len(set(part)) == 1, parts)
    return sum(len(part[0]) + len(_SEPARATOR) for part in shared)


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
            query.get("from") or None, query.get("to") or None, run, trace.time_unit, ends_in(trace)
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
