"""Solve Laplace's equation by red-black successive over-relaxation, with a strip of the grid for each process.

In an iteration every worker relaxes the red points of its strip, posts its first and last row to its neighbours, waits
until all have done so, and takes their rows as its ghost rows; then the same with the black points. J. M. Schopf, "A
Practical Methodology for Defining Histograms for Predictions and Scheduling" (1999), section 4.1, predicts a program of
this kind.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Barrier
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["Problem", "Team", "Timing", "harmonic_boundary", "relax"]

Floats = npt.NDArray[np.float64]

RED, BLACK = 0, 1
FIRST, LAST = 0, 1  # which row of a strip was posted
# Rows that are relaxed together, so that what a step reads and writes stays in a processor's cache.
BLOCK_ROWS = 32


@dataclass(frozen=True)
class Problem:
    """A grid and its strips.

    Parameters
    ----------
    rows, columns : int, >= 1
        Inner points; the boundary comes on top.
    workers : int, 1 to ``rows``
        Strips.
    """

    rows: int
    columns: int
    workers: int

    @property
    def shape(self) -> tuple[int, int]:
        """Of the grid with its boundary."""
        return self.rows + 2, self.columns + 2

    @property
    def omega(self) -> float:
        """Relaxation factor that is best for Laplace's equation on a rectangle (Young, 1954)."""
        radius = 0.5 * (math.cos(math.pi / (self.rows + 1)) + math.cos(math.pi / (self.columns + 1)))
        return 2.0 / (1.0 + math.sqrt(1.0 - radius**2))

    def strip(self, rank: int) -> range:
        """Rows of a worker, counted with the boundary; their numbers differ by at most one."""
        return range(1 + rank * self.rows // self.workers, 1 + (rank + 1) * self.rows // self.workers)


@dataclass(frozen=True)
class Timing:
    """One run.

    Parameters
    ----------
    start_s, time_s : float, seconds
        Start on the clock that all processes share (`time.monotonic`), and duration until the last worker's end.
    compute_s : tuple of float, seconds
        Processor time that each worker spent on its points: without what it waited, and without what others got.
    """

    start_s: float
    time_s: float
    compute_s: tuple[float, ...]


class Shared:
    """The grid and the posted rows, in one piece of shared memory.

    Attributes
    ----------
    grid : (rows + 2, columns + 2) float
        What is to be solved, then the solution.
    posted : (2, workers, 2, columns + 2) float
        By colour, worker, and first or last row. Each colour has its own place, so that one barrier for each half of
        an iteration is enough: nobody posts red rows again before all have met at the black barrier.
    """

    def __init__(self, problem: Problem, name: str | None = None) -> None:
        shapes = (problem.shape, (2, problem.workers, 2, problem.columns + 2))
        sizes = [8 * math.prod(shape) for shape in shapes]
        self.memory = SharedMemory(name, create=name is None, size=sum(sizes))
        self.grid: Floats = np.ndarray(shapes[0], np.float64, self.memory.buf)
        self.posted: Floats = np.ndarray(shapes[1], np.float64, self.memory.buf, sizes[0])

    def close(self) -> None:
        """Give the views back, then the memory, which cannot be unmapped while they live."""
        del self.grid, self.posted
        self.memory.close()


class Team:
    """Worker processes that stay between runs; a context manager.

    Parameters
    ----------
    problem : Problem
    processors : sequence of int, optional
        The processor of each worker; without it the system places them.

    Attributes
    ----------
    grid : (rows + 2, columns + 2) float
        Shared by all; `run` goes on from what stands there.
    """

    def __init__(self, problem: Problem, processors: Sequence[int] | None = None) -> None:
        self._shared = Shared(problem)
        self.grid = self._shared.grid
        self.grid[:] = 0.0
        # Spawned, not forked: numpy has threads of its own, which a fork would lose.
        context = multiprocessing.get_context("spawn")
        # Kept, since its semaphores go when it goes, and a spawned process takes a while to ask for them.
        self._barrier = context.Barrier(problem.workers)
        self._channels: list[Connection] = []
        self._processes: list[BaseProcess] = []
        for rank in range(problem.workers):
            ours, theirs = context.Pipe()
            pin = None if processors is None else processors[rank]
            words = (problem, self._shared.memory.name, rank, pin, self._barrier, theirs)
            process = context.Process(target=_work, args=words, daemon=True)
            process.start()
            theirs.close()  # so that a worker's end is noticed
            self._channels.append(ours)
            self._processes.append(process)

    def run(self, iterations: int) -> Timing:
        """Make some iterations.

        Raises
        ------
        EOFError
            A worker ended; its own message says why.
        """
        for channel in self._channels:
            channel.send(iterations)
        starts, ends, compute = zip(*(channel.recv() for channel in self._channels), strict=True)
        return Timing(min(starts), max(ends) - min(starts), compute)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # They wait for work or, where one has failed, for that one.
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for channel in self._channels:
            channel.close()
        del self.grid
        self._shared.close()
        self._shared.memory.unlink()


def _work(
    problem: Problem, memory: str, rank: int, processor: int | None, barrier: Barrier, channel: Connection
) -> None:
    """What a worker process executes: one run for each number of iterations that comes."""
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    shared = Shared(problem, memory)
    while True:
        channel.send(_iterate(problem, shared, rank, barrier, channel.recv()))


def _iterate(
    problem: Problem, shared: Shared, rank: int, barrier: Barrier, iterations: int
) -> tuple[float, float, float]:
    """Start and end of the iterations and the processor time of the relaxations, in seconds."""
    mine = problem.strip(rank)
    strip = shared.grid[mine.start - 1 : mine.stop + 1].copy()
    compute_s = 0.0
    barrier.wait()
    start_s = time.monotonic()
    for _ in range(iterations):
        for colour in (RED, BLACK):
            before_s = time.process_time()
            # A colour alternates with the rows of the whole grid, of which the strip's first ghost row is one.
            relax(strip, (colour + mine.start - 1) % 2, problem.omega)
            compute_s += time.process_time() - before_s
            shared.posted[colour, rank] = strip[1], strip[-2]
            barrier.wait()
            if rank > 0:
                strip[0] = shared.posted[colour, rank - 1, LAST]
            if rank < problem.workers - 1:
                strip[-1] = shared.posted[colour, rank + 1, FIRST]
    end_s = time.monotonic()
    barrier.wait()  # nobody still copies its strip from the grid
    shared.grid[mine.start : mine.stop] = strip[1:-1]
    return start_s, end_s, compute_s


def relax(strip: Floats, parity: int, omega: float) -> None:
    """Relax in place the inner points whose row and column add up to an even number plus ``parity``.

    Each becomes ``(1 - omega)`` times itself plus ``omega`` times the mean of its four neighbours.

    Parameters
    ----------
    strip : (rows + 2, columns + 2) float
        With ghost rows and boundary, which stay.
    parity : int, 0 or 1
        Of the colour, in the strip's own numbers.
    omega : float, 0 to 2
    """
    rows, columns = strip.shape[0] - 2, strip.shape[1] - 2
    sums = np.empty(((BLOCK_ROWS + 1) // 2, (columns + 1) // 2))
    for top in range(1, rows + 1, BLOCK_ROWS):
        bottom = min(top + BLOCK_ROWS, rows + 1)
        # Neighbouring rows begin with points of different colours.
        for row in range(top, min(top + 2, bottom)):
            column = 2 - (row + parity) % 2
            above, at, below = (slice(row + step, bottom + step, 2) for step in (-1, 0, 1))
            left, here, right = (slice(column + step, columns + 1 + step, 2) for step in (-1, 0, 1))
            points = strip[at, here]
            total = np.add(strip[above, here], strip[below, here], out=sums[: points.shape[0], : points.shape[1]])
            total += strip[at, left]
            total += strip[at, right]
            total *= omega / 4.0
            points *= 1.0 - omega
            points += total


def harmonic_boundary(problem: Problem) -> tuple[Floats, Floats]:
    """A grid that is zero within its boundary, and its solution x y, for which the five-point stencil is exact."""
    solution = np.outer(np.linspace(0.0, 1.0, problem.rows + 2), np.linspace(0.0, 1.0, problem.columns + 2))
    start = solution.copy()
    start[1:-1, 1:-1] = 0.0
    return start, solution


def main() -> int:
    """Run as a program; the exit status says whether the iterations came to the solution."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--size", type=int, default=200, help="inner rows and columns of the grid")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--iterations", type=int, default=1000)
    given = parser.parse_args()
    if not 1 <= given.workers <= given.size or given.iterations < 1:
        parser.error("at least one worker, a row for each of them and one iteration are needed")
    problem = Problem(given.size, given.size, given.workers)
    start, solution = harmonic_boundary(problem)
    with Team(problem) as team:
        team.grid[:] = start
        timing = team.run(given.iterations)
        error = float(np.abs(team.grid - solution).max())
    print(f"{given.iterations} iterations in {timing.time_s:.3f} s; largest error {error:.2g}")
    if error > 1e-6:
        print("the solution has not been reached; more --iterations are needed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
