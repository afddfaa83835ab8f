"""Processes that work for this one, each on a processor of its own."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

sys.path.append(str(Path(__file__).resolve().parents[1] / "sor"))

from sor import Timing

__all__ = ["Timing", "Workers"]


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
