"""Sums over stretches of time whose borders are multiples of a power of two nanoseconds since time 0.

Any two such sums become comparable by joining pairs of neighbours, which adds whole numbers: so sums of parts of a run
need not agree beforehand on where the run begins and ends, nor on how fine they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["coarsest", "joined_pairs", "n_stretches", "placed"]

Integers = npt.NDArray[np.int64]


def n_stretches(span_ns: tuple[int, int], bits: int) -> int:
    """How many stretches of 2^bits nanoseconds a span touches.

    Examples
    --------
    >>> n_stretches((3, 9), 2), n_stretches((4, 8), 2)
    (3, 1)
    """
    return (max(span_ns[1] - 1, span_ns[0]) >> bits) - (span_ns[0] >> bits) + 1


def coarsest(span_ns: tuple[int, int], most: int) -> int:
    """The least bits with which a span touches at most so many stretches.

    A span within another one never has more bits: sums of a part are as fine as those of the whole, or finer.

    Examples
    --------
    >>> coarsest((0, 1000), 16), coarsest((0, 10), 16)
    (6, 0)
    """
    bits = max(0, ((span_ns[1] - span_ns[0]) // most).bit_length() - 1)
    while n_stretches(span_ns, bits) > most:
        bits += 1
    return bits


def joined_pairs(first: int, sums: npt.NDArray[Any], times: int) -> tuple[int, npt.NDArray[Any]]:
    """Number of the first stretch, and the sums (along the first axis), after neighbours were joined so many times.

    Examples
    --------
    >>> joined_pairs(3, np.array([1, 2, 4]), 1)
    (1, array([1, 6]))
    """
    for _ in range(times):
        before, after = first & 1, (first + len(sums)) & 1
        if before or after:
            sums = np.concatenate([np.zeros_like(sums[:before]), sums, np.zeros_like(sums[:after])])
        sums = sums[0::2] + sums[1::2]
        first >>= 1
    return first, sums


def placed(first: int, sums: npt.NDArray[Any], begin: int, count: int) -> npt.NDArray[Any]:
    """The sums within as many stretches from ``begin`` on, which hold all of them; a copy unless they are those."""
    if (first, len(sums)) == (begin, count):
        return sums
    extended = np.zeros((count, *sums.shape[1:]), sums.dtype)
    extended[first - begin : first - begin + len(sums)] = sums
    return extended
