"""Tasks by an executor or here: the same answers for any number of workers, whatever ends first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any

from perfcore.base.errors import DataError

Task = Callable[..., bytes]


def as_they_end(
    executor: Executor | None, task: Task, arguments: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, bytes]]:
    """Which arguments a task was called with, by their position, and its answer; for sums, which need no order."""
    if executor is None:
        for position, args in enumerate(arguments):
            yield position, task(*args)
        return
    futures: dict[Future[bytes], int] = {}
    try:
        for position, args in enumerate(arguments):
            futures[executor.submit(task, *args)] = position
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenExecutor as error:
        raise DataError(f"what does the work elsewhere ended: {error}") from error
    finally:
        for future in futures:
            future.cancel()


def in_order(executor: Executor | None, task: Task, arguments: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """The answers in the order of the arguments; see `as_they_end`."""
    early: dict[int, bytes] = {}
    following = 0
    for position, answer in as_they_end(executor, task, arguments):
        early[position] = answer
        while following in early:
            yield early.pop(following)
            following += 1
