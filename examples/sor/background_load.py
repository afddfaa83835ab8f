"""Background load that comes in bursts, and probes that measure how much of a processor it leaves.

The load is processes that compute for a random time, then sleep for a random time. What a new process would get beside
them cannot be read off counters: a processor that is always busy is shared with whoever else wants it. So a probe does
what a new process would do. It computes, and compares the processor time that it got with the time that passed; the
active sensor of the Network Weather Service does the same (R. Wolski, N. Spring and J. Hayes, "Predicting the CPU
availability of time-shared Unix systems on the computational grid", 1999).
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from typing import Self

__all__ = ["HIGH", "MEDIUM", "Burst", "Load", "Probes", "stretches"]


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
    begin_s : float, seconds, >= 0
        How far into the load to begin: a load that was ended after 20 s goes on with 20.
    """

    def __init__(
        self, bursts: Sequence[Sequence[Burst]], processors: Sequence[int], seed: int, begin_s: float = 0.0
    ) -> None:
        context = multiprocessing.get_context("spawn")
        running = context.Semaphore(0)
        self._processes: list[BaseProcess] = []
        for processor, hogs in zip(processors, bursts, strict=True):
            for burst in hogs:
                words = (burst, processor, seed + len(self._processes), begin_s, running, os.getpid())
                process = context.Process(target=_burn, args=words, daemon=True)
                process.start()
                self._processes.append(process)
        for _ in self._processes:
            running.acquire()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._processes)


def _burn(burst: Burst, processor: int, seed: int, begin_s: float, running: Semaphore, parent: int) -> None:
    """What a load process executes, until it is ended or its parent is no longer there."""
    os.sched_setaffinity(0, {processor})
    os.nice(burst.nice)
    running.release()
    for busy, length_s in stretches(burst, seed, begin_s):
        if os.getppid() != parent:
            return
        if busy:
            _compute_until(time.monotonic() + length_s)
        else:
            time.sleep(length_s)


def stretches(burst: Burst, seed: int, begin_s: float) -> Iterator[tuple[bool, float]]:
    """Bursts (true) and pauses in turn, with their lengths in seconds, without end; what is before ``begin_s`` is over.

    Examples
    --------
    >>> whole = list(itertools.islice(stretches(Burst(4.0, 4.0), 1, 0.0), 3))
    >>> [(busy, round(length_s, 2)) for busy, length_s in whole]
    [(True, 0.58), (False, 7.52), (True, 5.77)]
    >>> [(busy, round(length_s, 2)) for busy, length_s in itertools.islice(stretches(Burst(4.0, 4.0), 1, 2.0), 2)]
    [(False, 6.1), (True, 5.77)]
    """
    lengths = random.Random(seed)
    for busy, mean_s in itertools.cycle(((True, burst.busy_s), (False, burst.idle_s))):
        length_s = lengths.expovariate(1.0 / mean_s)
        over_s = min(begin_s, length_s)
        begin_s -= over_s
        if length_s > over_s:
            yield busy, length_s - over_s


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
            self._channels.append(ours)
            self._processes.append(process)
        for channel in self._channels:
            channel.recv()  # it has started

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
