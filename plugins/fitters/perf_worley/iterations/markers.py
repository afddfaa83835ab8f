"""Iterations that the program names itself: markers and states that count, such as ``ProfilerStep#7``."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from perfcore.data.trace import Trace

__all__ = ["marked_iterations"]

_COUNTED = re.compile(r"(.*?\D)[#:\s_(\[]*(\d{1,9})[)\]\s]*")
_FEWEST = 3
_GAP = 1.5  # of the median distance between two starts: beyond it, no iteration lasts until the next one

Integers = npt.NDArray[np.int64]


def marked_iterations(trace: Trace) -> tuple[str, Integers, Integers] | None:
    """Name, starts and ends of the iterations that markers or states count; None where none count.

    An iteration begins when its name first occurs anywhere, and lasts until the next one begins; the last one, and one
    before a gap, until its own name ends.

    Parameters
    ----------
    trace : Trace

    Examples
    --------
    >>> names = ["step#1", "work", "step#2", "step#3"]
    >>> trace = Trace([0] * 6, [0, 1, 2, 1, 3, 1], [0, 5, 20, 25, 40, 45], [5, 20, 25, 40, 45, 60], ["cpu"], names)
    >>> name, starts, ends = marked_iterations(trace)
    >>> name, starts.tolist(), ends.tolist()
    ('step', [0, 20, 40], [20, 40, 45])
    """
    families: dict[str, dict[int, int]] = {}
    marked = sorted({name for name, _, _ in trace.markers} - set(trace.states))
    names = [*trace.states, *marked]
    for code, name in enumerate(names):
        found = _COUNTED.fullmatch(name.strip())
        if found:
            families.setdefault(found[1].strip(" #:_([") or found[1], {})[int(found[2])] = code
    families = {name: members for name, members in families.items() if len(members) >= _FEWEST}
    if not families:
        return None
    first = np.full(len(names), np.iinfo(np.int64).max)
    last = np.full(len(names), np.iinfo(np.int64).min)
    np.minimum.at(first, trace.state, trace.start_ns)
    np.maximum.at(last, trace.state, trace.end_ns)
    code_of = {name: code for code, name in enumerate(names)}
    for name, start, end in trace.markers:
        code = code_of[name]
        first[code], last[code] = min(first[code], start), max(last[code], end)
    best: tuple[int, str, Integers, Integers] | None = None
    for name, members in families.items():
        codes = np.array([members[number] for number in sorted(members)])
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
