"""Cycles within the markers of a trace: the stretches that are marked, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.devices import Unions
from perf_analysis.overheads.unions import union
from perf_traces.joined_trace import run_of
from perfcore.data.trace import Trace

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MarkerTimes:
    """What lies within the markers of one name."""

    name: str
    count: int
    elapsed_ns: int  # of the run within them; where they overlap, once
    cycles_ns: tuple[int, ...]  # of all locations, by category
    hidden_communication_ns: int = 0  # of all GPUs, beside computing
    hidden_copies_ns: int = 0

    @classmethod
    def sum(cls, parts: Sequence[MarkerTimes]) -> MarkerTimes:
        """Those of several GPUs as one."""
        first = parts[0]
        return cls(
            first.name,
            first.count,
            first.elapsed_ns,
            tuple(map(sum, zip(*(part.cycles_ns for part in parts), strict=True))),
            sum(part.hidden_communication_ns for part in parts),
            sum(part.hidden_copies_ns for part in parts),
        )


@dataclass(frozen=True)
class Stretches:
    """The run, cut wherever a marker begins or ends."""

    edges_ns: Integers  # on the clock of the trace
    windows: dict[str, tuple[int, Integers, Integers]]

    @classmethod
    def of(cls, trace: Trace) -> Stretches:
        """Those of a trace's markers, as far as they lie within the run."""
        start, end = run_of(trace)
        intervals: dict[str, list[tuple[int, int]]] = {}
        for name, first, last in trace.markers:
            if min(last, end) > max(first, start):
                intervals.setdefault(name, []).append((max(first, start), min(last, end)))
        windows = {name: (len(each), *union(*np.array(each, dtype=np.int64).T)) for name, each in intervals.items()}
        edges = np.unique(np.concatenate([[start, end], *(part for _, *parts in windows.values() for part in parts)]))
        return cls(edges, windows)

    def times(self, pieces_ns: Integers, unions: Sequence[Unions]) -> tuple[MarkerTimes, ...]:
        """What lies within markers, by name, the longest first."""
        until = np.concatenate([np.zeros((len(pieces_ns), 1), np.int64), pieces_ns.cumsum(axis=1)], axis=1)
        marker_times = []
        for name, (count, starts, ends) in self.windows.items():
            first, last = np.searchsorted(self.edges_ns, starts), np.searchsorted(self.edges_ns, ends)
            marker_times.append(
                MarkerTimes(
                    name,
                    count,
                    int((ends - starts).sum()),
                    tuple((until[:, last] - until[:, first]).sum(axis=1).tolist()),
                    *(int(sum(each.hidden(activity, starts, ends).sum() for each in unions)) for activity in _HIDDEN),
                )
            )
        return tuple(sorted(marker_times, key=lambda each: -each.elapsed_ns))


_HIDDEN = ("communicating", "copying")
