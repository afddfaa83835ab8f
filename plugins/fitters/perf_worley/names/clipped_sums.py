"""Time of each state, or of each location, within stretches of a run: one pass over the intervals of a trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_CHUNK = 1 << 18  # intervals at a time: temporaries stay within the cache


def clipped_sums(
    start_ns: Integers, end_ns: Integers, edges_ns: Integers, codes: Sequence[tuple[npt.NDArray[np.integer], int]]
) -> list[Integers]:
    """Sum up the intervals' time by stretch and code, to the nanosecond."""
    n_stretches = len(edges_ns) - 1
    sums = [np.zeros(n_stretches * n_codes, np.int64) for _, n_codes in codes]
    for begin in range(0, len(start_ns), _CHUNK):
        start, end = (np.clip(times[begin : begin + _CHUNK], edges_ns[0], edges_ns[-1]) for times in (start_ns, end_ns))
        first = np.searchsorted(edges_ns, start, side="right") - 1
        np.minimum(first, n_stretches - 1, out=first)
        last = np.maximum(np.searchsorted(edges_ns, end, side="left") - 1, first)
        crossing = last > first
        # Of one location only one interval crosses an edge: few are cut into pieces.
        inner = np.where(crossing, edges_ns[first + 1], end)
        inner -= start
        cut = np.flatnonzero(crossing)
        repeats = last[cut] - first[cut]
        owner = np.repeat(cut, repeats)
        stretch = first[owner] + 1 + np.arange(len(owner)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        pieces = np.minimum(end[owner], edges_ns[stretch + 1]) - edges_ns[stretch]
        for total, (code, n_codes) in zip(sums, codes, strict=True):
            chunk_codes = code[begin : begin + _CHUNK]
            np.add.at(total, first * n_codes + chunk_codes, inner)
            np.add.at(total, stretch * n_codes + chunk_codes[owner], pieces)
    return [total.reshape(n_stretches, n_codes) for total, (_, n_codes) in zip(sums, codes, strict=True)]
