"""Cells of a summary that are too many for memory: they stay in the file, and are read part by part when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

_AT_ONCE = 1 << 20  # of a part, which is a member of a summary file: another number is another format

Integers = npt.NDArray[np.int64]


class StoredCells:
    """Cells of a file."""

    def __init__(self, count: int, read: Callable[[int, int], Integers]) -> None:
        self.shape = (count,)
        self._read = read

    def __len__(self) -> int:
        return self.shape[0]

    def parts(self) -> Iterator[tuple[int, Integers]]:
        """Where each part begins, and its cells."""
        for number, first in enumerate(range(0, len(self), _AT_ONCE)):
            yield first, self._read(number, min(_AT_ONCE, len(self) - first))


def n_parts(count: int) -> int:
    """How many parts so many cells have."""
    return -(-count // _AT_ONCE)


def parts_of(sums: StoredCells | npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Where each part of sums begins, and the part."""
    if isinstance(sums, StoredCells):
        yield from sums.parts()
    else:
        for first in range(0, len(sums), _AT_ONCE):
            yield first, sums[first : first + _AT_ONCE]
