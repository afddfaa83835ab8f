"""Iterations that the program names itself: states that count, such as ``ProfilerStep#7``."""

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
    """Name, starts and ends of the iterations that states count; None where no states count.

    An iteration begins when its state first occurs anywhere, and lasts until the next one begins; the last one, and one
    before a gap, until its own state ends.

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
    for code, state in enumerate(trace.states):
        found = _COUNTED.fullmatch(state.strip())
        if found:
            families.setdefault(found[1].strip(" #:_([") or found[1], {})[int(found[2])] = code
    families = {name: members for name, members in families.items() if len(members) >= _FEWEST}
    if not families:
        return None
    first = np.full(len(trace.states), np.iinfo(np.int64).max)
    last = np.full(len(trace.states), np.iinfo(np.int64).min)
    np.minimum.at(first, trace.state, trace.start_ns)
    np.maximum.at(last, trace.state, trace.end_ns)
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
