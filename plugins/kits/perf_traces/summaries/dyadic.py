"""Sums over stretches of time whose borders are multiples of a power of two nanoseconds since time 0.

Any two such sums become comparable by joining pairs of neighbours, which adds whole numbers: so sums of parts of a run
need not agree beforehand on where the run begins and ends, nor on how fine they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perf_traces.summaries.stored_cells import StoredCells, parts_of

Integers = npt.NDArray[np.int64]


def n_stretches(span_ns: tuple[int, int], bits: int) -> int:
    """How many stretches of 2^bits nanoseconds a span touches."""
    return (max(span_ns[1] - 1, span_ns[0]) >> bits) - (span_ns[0] >> bits) + 1


def coarsest(span_ns: tuple[int, int], most: int) -> int:
    """The least bits with which a span touches at most so many stretches."""
    bits = max(0, ((span_ns[1] - span_ns[0]) // most).bit_length() - 1)
    while n_stretches(span_ns, bits) > most:
        bits += 1
    return bits


def joined_pairs(first: int, sums: npt.NDArray[Any], times: int) -> tuple[int, npt.NDArray[Any]]:
    """Number of the first stretch, and the sums (along the first axis), after neighbours were joined so many times."""
    for _ in range(times):
        before, after = first & 1, (first + len(sums)) & 1
        if before or after:
            sums = np.concatenate([np.zeros_like(sums[:before]), sums, np.zeros_like(sums[:after])])
        sums = sums[0::2] + sums[1::2]
        first >>= 1
    return first, sums


def add_joined(
    total: npt.NDArray[Any],
    begin: int,
    first: int,
    sums: StoredCells | npt.NDArray[Any],
    times: int,
    columns: npt.NDArray[np.int64] | None = None,
) -> None:
    """Add sums, whose neighbours are joined so many times, to those of the stretches from ``begin`` on."""
    for start, part in parts_of(sums):
        # Parts that meet within a stretch add to it one after the other.
        place, joined = joined_pairs(first + start, part, times)
        rows = slice(place - begin, place - begin + len(joined))
        total[rows if columns is None else (rows, columns)] += joined
