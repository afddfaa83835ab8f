"""Work on parts of many paths by threads: compiled kernels run side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from perf_statistics.executors.threads import thread_count

Result = TypeVar("Result")

_MOST_THREADS = 8


def in_parts(work: Callable[[slice], Result], count: int, longest: int) -> list[Result]:
    """Do work on parts of so many items, by threads: compiled kernels run side by side."""
    threads = thread_count(_MOST_THREADS)
    length = max(1, min(longest, -(-count // threads)))
    parts = [slice(begin, begin + length) for begin in range(0, count, length)]
    if threads == 1 or len(parts) == 1:
        return list(map(work, parts))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
