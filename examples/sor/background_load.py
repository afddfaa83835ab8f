"""Background load that comes in bursts, and probes that measure how much of a processor it leaves.

The load is processes that compute for a random time, then sleep for a random time. What a new process would get beside
them cannot be read off counters: a processor that is always busy is shared with whoever else wants it. So a probe does
what a new process would do. It computes, and compares the processor time that it got with the time that passed; the
active sensor of the Network Weather Service does the same (R. Wolski, N. Spring and J. Hayes, "Predicting the CPU
availability of time-shared Unix systems on the computational grid", 1999).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Self

__all__ = ["HIGH", "MEDIUM", "Burst", "Load", "Probes"]


@dataclass(frozen=True)
class Burst:
    """How one process loads its processor.

    Parameters
    ----------
    busy_s, idle_s : float, seconds, > 0
        Mean lengths of bursts and pauses; both are exponentially distributed.
    nice : int, 0 to 19
        How far it stands back. Linux weighs 0 by 1024 and 3 by 526 (``sched_prio_to_weight`` in kernel/sched/core.c).
    """

    busy_s: float
    idle_s: float
    nice: int = 0


# Bursts are longer than most runs, so that a run meets one load or the other. Named after the variation of what is left
# for another process: two equal ones leave 1, 1/2 or 1/3, the one that stands back 1 or 1024/(1024 + 526) = 0.66.
HIGH = (Burst(4.0, 4.0), Burst(3.0, 9.0))
MEDIUM = (Burst(3.0, 6.0, nice=3),)


class Load:
    """Processes that load processors; a context manager that ends them.

    Parameters
    ----------
    bursts : sequence of sequence of Burst
        The processes of each processor.
    processors : sequence of int
    seed : int
        Of the lengths of bursts and pauses.
    """

    def __init__(self, bursts: Sequence[Sequence[Burst]], processors: Sequence[int], seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._processes: list[BaseProcess] = []
        for processor, hogs in zip(processors, bursts, strict=True):
            for burst in hogs:
                words = (burst, processor, seed + len(self._processes), os.getpid())
                process = context.Process(target=_burn, args=words, daemon=True)
                process.start()
                self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._processes)


def _burn(burst: Burst, processor: int, seed: int, parent: int) -> None:
    """What a load process executes, until it is ended or its parent is no longer there."""
    os.sched_setaffinity(0, {processor})
    os.nice(burst.nice)
    lengths = random.Random(seed)
    while os.getppid() == parent:
        _compute_until(time.monotonic() + lengths.expovariate(1.0 / burst.busy_s))
        time.sleep(lengths.expovariate(1.0 / burst.idle_s))


def _compute_until(end_s: float) -> None:
    while time.monotonic() < end_s:
        pass


class Probes:
    """A process on each processor that measures what it gets; a context manager that ends them.

    Parameters
    ----------
    processors : sequence of int
    """

    def __init__(self, processors: Sequence[int]) -> None:
        context = multiprocessing.get_context("spawn")
        self._channels: list[Connection] = []
        self._processes: list[BaseProcess] = []
        for processor in processors:
            ours, theirs = context.Pipe()
            process = context.Process(target=_probe, args=(processor, theirs), daemon=True)
            process.start()
            theirs.close()  # so that its end is noticed
            ours.recv()  # it has started
            self._channels.append(ours)
            self._processes.append(process)

    def sample(self, duration_s: float) -> list[float]:
        """Share of each processor that a computing process got, from now for a while.

        Parameters
        ----------
        duration_s : float, seconds, > 0

        Returns
        -------
        list of float
            For each processor, above 0 and at most 1.
        """
        for channel in self._channels:
            channel.send(duration_s)
        return [channel.recv() for channel in self._channels]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._processes)
        for channel in self._channels:
            channel.close()


def _end(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _probe(processor: int, channel: Connection) -> None:
    """What a probe executes: one measurement for each duration that comes."""
    os.sched_setaffinity(0, {processor})
    channel.send(None)
    while True:
        duration_s = channel.recv()
        start_s, before_s = time.monotonic(), time.process_time()
        _compute_until(start_s + duration_s)
        # The two clocks are not read at the same moment.
        channel.send(min(1.0, (time.process_time() - before_s) / (time.monotonic() - start_s)))
