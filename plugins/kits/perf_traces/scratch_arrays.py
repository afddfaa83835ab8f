"""Large arrays are mapped from files that have no name: the system loads what is touched, and writes back what is not.

A file without a name is gone as soon as it is unmapped, whatever ends the program. Its place on the disk is reserved
when it is made: a disk that becomes full while pages are written back would kill the program without a word.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import InputError

_IN_MEMORY_BYTES = 1 << 26  # of an array; a fit of a curve has some ten that are as long as it
_CHUNK = 1 << 20  # numbers that are looked at together


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return an array of zeros, in memory up to 64 MiB, else mapped from a file in the folder for temporary files."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes <= _IN_MEMORY_BYTES:
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            else:
                file.truncate(n_bytes)
            return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
    except OSError as error:
        problem = f"{n_bytes / 1e9:.2g} GB of working space cannot be had: {error.strerror or error}"
        raise InputError(
            tempfile.gettempdir(), f"{problem}; make room, or name another folder for temporary files in TMPDIR"
        ) from error


def chunks(count: int) -> Iterator[slice]:
    """Yield stretches of an array of so many numbers that are looked at one by one."""
    for first in range(0, count, _CHUNK):
        yield slice(first, min(first + _CHUNK, count))
