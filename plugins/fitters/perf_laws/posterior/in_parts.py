"""Work on parts of many paths by threads: compiled kernels run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_parts"]

Result = TypeVar("Result")

_MOST_THREADS = 8


def in_parts(work: Callable[[slice], Result], count: int, longest: int) -> list[Result]:
    """Do work on parts of so many items, by threads: compiled kernels run side by side."""
    threads = min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    length = max(1, min(longest, -(-count // threads)))
    parts = [slice(begin, begin + length) for begin in range(0, count, length)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
