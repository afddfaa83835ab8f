"""The lanes of a timeline: locations below their nodes, processes and devices, which can be folded."""

from __future__ import annotations

import functools
from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_traces.levels import level_names
from perfcore.data.trace import Trace

_LEVELS = ("node", "process", "device")
_MOST_OPEN = 64  # lanes that are shown unasked; of more, the inner ones are folded


@dataclass(frozen=True)
class Lane:
    """One line of the timeline."""

    name: str
    depth: int  # how many groups it is in
    locations: tuple[int, ...]  # its own, or those of all lanes below it
    end: int  # position after the last lane below it, among all lanes
    kind: str  # ``node``, ``process``, ``device`` or ``location``


class Lanes:
    """All lanes of a trace, each group before what it holds.

    A level is left out where it is not known, or where it tells nothing: one group of all, or one for each location.
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
                for location in members:
                    self.all.append(Lane(names[location], depth, (location,), len(self.all) + 1, "location"))
                continue
            place = len(self.all)
            self.all.append(Lane(name, depth, tuple(members), 0, kinds[level]))
            self._add(names, kinds, columns, members, depth + 1)
            self.all[place] = Lane(name, depth, tuple(members), len(self.all), kinds[level])

    @functools.cached_property
    def deepest_open(self) -> int:
        """Groups of this depth and deeper ones are folded unless the user opens them."""
        depths = np.array([lane.depth for lane in self.all])
        return next((depth for depth in range(len(_LEVELS), 0, -1) if (depths <= depth).sum() <= _MOST_OPEN), 0)

    def is_group(self, position: int) -> bool:
        """Whether a lane has others below it."""
        return self.all[position].kind != "location"

    def is_open(self, position: int, toggled: Set[int]) -> bool:
        """Whether the lanes below a group are shown."""
        return (self.all[position].depth < self.deepest_open) != (position in toggled)

    def shown(self, toggled: Set[int]) -> list[int]:
        """Positions of the lanes that are not folded away."""
        positions, position = [], 0
        while position < len(self.all):
            positions.append(position)
            position = position + 1 if self.is_open(position, toggled) else self.all[position].end
        return positions

    def path_to(self, location: int) -> list[int]:
        """The groups around a location, outermost first, and its own lane."""
        return [position for position, lane in enumerate(self.all) if location in lane.locations]

    def ranks(self) -> list[npt.NDArray[np.int64]]:
        """Locations of each process, or of each by itself where none are known."""
        processes = [lane.locations for lane in self.all if lane.kind == "process"]
        groups = processes or [lane.locations for lane in self.all if lane.kind == "location"]
        return [np.array(group, dtype=np.int64) for group in groups]
