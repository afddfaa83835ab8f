"""Compiled look-ups of calls by location and time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.base.kernels import kernel

Integers = npt.NDArray[np.int64]


@kernel
def last_not_after(
    first: Integers, times: Integers, location: Integers, when: Integers
) -> Integers:  # pragma: no cover
    """Index of the last of a location's times that is not after a moment, -1 where there is none."""
    indices = np.full(len(when), -1, np.int64)
    for k in range(len(when)):
        if not 0 <= location[k] < len(first) - 1:
            continue
        begin, low, high = first[location[k]], first[location[k]], first[location[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if times[middle] <= when[k]:
                low = middle + 1
            else:
                high = middle
        if low > begin:
            indices[k] = low - 1
    return indices
