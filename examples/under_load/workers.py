"""Processes that work for this one, each on a processor of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

__all__ = ["Timing", "Workers"]


@dataclass(frozen=True)
class Timing:
    """One run of a program.

    Parameters
    ----------
    start_s, time_s : float, seconds
        Start on the clock that all processes share (`time.monotonic`), and duration until the last worker's end.
    compute_s : tuple of float, seconds
        Processor time that each worker spent on its work: without messages, and without what it waited.
    """

    start_s: float
    time_s: float
    compute_s: tuple[float, ...]


class Workers:
    """Processes joined to this one by pipes; a context manager that ends them.

    Parameters
    ----------
    target : callable
        What each executes: it is called with the worker's words and its end of the pipe.
    words : sequence of tuple
        Of each worker.

    Attributes
    ----------
    channels : list of Connection
        Our ends of the pipes.
    """

    def __init__(self, target: Callable[..., None], words: Sequence[tuple[Any, ...]]) -> None:
        # Spawned, not forked: numpy has threads of its own, which a fork would lose.
        context = multiprocessing.get_context("spawn")
        self.channels: list[Connection] = []
        self._processes = []
        for own in words:
            ours, theirs = context.Pipe()
            process = context.Process(target=target, args=(*own, theirs), daemon=True)
            process.start()
            theirs.close()  # so that a worker's end is noticed
            self.channels.append(ours)
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # They wait for work or, where one has failed, for that one.
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for channel in self.channels:
            channel.close()
