"""Iterations that the program names itself: markers and states that count, such as ``ProfilerStep#7``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_traces.markers import CUT, families, occurrences
from perfcore.base.errors import DataError
from perfcore.data.trace import Trace


_FEWEST = 3
_GAP = 1.5  # of the median distance between two starts: beyond it, no iteration lasts until the next one

Integers = npt.NDArray[np.int64]


def named_iterations(trace: Trace, marker: str) -> tuple[tuple[str, ...], Integers, Integers]:
    """Labels, starts and ends of the iterations that a marker names: from where it begins to where it ends."""
    marks = occurrences(trace, marker)
    starts, ends = marks.starts, marks.ends.copy()
    ends[:-1] = np.minimum(ends[:-1], starts[1:])  # of several ranks: until the first one begins the next
    kept = np.flatnonzero((ends > starts) & ~marks.cut)
    if not len(kept):
        raise DataError(f"{trace.source}: no {marker!r} lies within it as a whole")
    return tuple(marks.labels[index] for index in kept.tolist()), starts[kept], ends[kept]


def marked_iterations(trace: Trace) -> tuple[str, Integers, Integers] | None:
    """Name, starts and ends of the iterations that markers or states count; None where none count.

    An iteration begins when its name first occurs anywhere, and lasts until the next one begins; the last one, and one
    before a gap, until its own name ends.
    """
    cut = frozenset(trace.facts.get(CUT, ()))
    markers = [marker for index, marker in enumerate(trace.markers) if index not in cut]
    names = [*trace.states, *sorted({name for name, _, _ in markers} - set(trace.states))]
    counted = {name: members for name, members in families(names).items() if len(members) >= _FEWEST}
    if not counted:
        return None
    first = np.full(len(names), np.iinfo(np.int64).max)
    last = np.full(len(names), np.iinfo(np.int64).min)
    np.minimum.at(first, trace.state, trace.start_ns)
    np.maximum.at(last, trace.state, trace.end_ns)
    code_of = {name: code for code, name in enumerate(names)}
    for name, start, end in markers:
        code = code_of[name]
        first[code], last[code] = min(first[code], start), max(last[code], end)
    best: tuple[int, str, Integers, Integers] | None = None
    for name, members in counted.items():
        codes = np.array([code_of[members[number]] for number in sorted(members)])
        codes = codes[last[codes] > first[codes]]
        starts, own_ends = first[codes], last[codes]
        if len(codes) < _FEWEST or (np.diff(starts) <= 0).any() or (own_ends[:-1] > starts[1:]).any():
            continue  # numbers that do not count in time: threads, sizes, versions
        usual = float(np.median(np.diff(starts)))
        ends = np.where(np.diff(starts) <= _GAP * usual, starts[1:], own_ends[:-1])
        ends = np.append(ends, own_ends[-1])
        covered = int((ends - starts).sum())
        if best is None or covered > best[0]:
            best = covered, name, starts, ends
    return None if best is None else best[1:]
