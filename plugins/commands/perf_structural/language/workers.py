"""Workers of unequal speed: a loop that they share by taking chunks.

Source: C. D. Polychronopoulos and D. J. Kuck, "Guided self-scheduling", IEEE Transactions on Computers 36, 1987,
section II (self-scheduling with a fixed size of chunks): whoever is free takes the next chunk.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_structural.language.copies import whole
from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]

_MOST_ITERATIONS = 2.0**53


def loop_time(*arguments: npt.ArrayLike) -> Floats:
    """Time until a loop is done whose iterations workers take in chunks, each as soon as it is free."""
    *times, iterations, chunk = arguments
    total = whole("number of iterations", iterations, 0, _MOST_ITERATIONS)
    size = whole("size of a chunk", chunk, 1, _MOST_ITERATIONS)
    spread = np.broadcast_arrays(total, size, *times)
    total, size, each = spread[0], spread[1], np.array(spread[2:], dtype=np.float64)
    if not np.all((each > 0.0) & np.isfinite(each)):
        raise DataError(
            f"the time of an iteration came to {each.min():.4g} to {each.max():.4g}; more than 0 is accepted"
        )
    chunks = np.ceil(total / size)
    of_chunk = each * size
    # Chunks begin at multiples of each worker's time. Before this moment fewer than all have begun, and few are left.
    moment = np.maximum(chunks - len(each), 0.0) / (1.0 / of_chunk).sum(axis=0)
    begun = np.ceil(moment / of_chunk)
    free = begun * of_chunk
    missing = chunks - begun.sum(axis=0)
    last_size = total - (chunks - 1.0) * size
    for number in range(int(missing.max(initial=0.0))):
        taker = np.argmin(free, axis=0)[None]
        takes = np.where(number < missing, np.where(number + 1 == missing, last_size, size), 0.0)
        ends = np.take_along_axis(free, taker, axis=0) + takes * np.take_along_axis(each, taker, axis=0)
        np.put_along_axis(free, taker, ends, axis=0)
    return np.asarray(free.max(axis=0), dtype=np.float64)
