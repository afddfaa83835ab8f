"""Solve Poisson's equation on a cube by lower and upper triangular sweeps: a wavefront through the processes.

An iteration is one of symmetric successive over-relaxation: the residual, a sweep that solves the lower triangle of the
equations plane by plane, and one that solves the upper triangle on the way back. Each process has some rows of every
plane. In a sweep it waits for the edge of the process before it, does its block of the plane, and sends its own edge
on: many short messages. The LU benchmark of the NAS Parallel Benchmarks, which section 4.3 of J. M. Schopf, "A
Practical Methodology for Defining Histograms for Predictions and Scheduling" (1999), predicts, goes through its planes
like this, with five unknowns at each point and processes along two axes.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Self

import numpy as np
import numpy.typing as npt
from workers import Timing, Workers

__all__ = ["Problem", "Sweeping", "residual", "sweep"]

Floats = npt.NDArray[np.float64]

OMEGA = 1.5  # relaxation; 0 to 2 converges
DIAGONAL = 6.0  # of the seven-point stencil


@dataclass(frozen=True)
class Problem:
    """Inner points of a box whose boundary is 0, with random right-hand sides.

    Parameters
    ----------
    planes, rows, columns : int, >= 1
    workers : int, 1 to ``rows``
    """

    planes: int
    rows: int
    columns: int
    workers: int

    def strip(self, rank: int) -> slice:
        """Rows of a worker; their numbers differ by at most one."""
        return slice(rank * self.rows // self.workers, (rank + 1) * self.rows // self.workers)

    def right_hand_side(self) -> Floats:
        """(planes, rows, columns)."""
        return np.random.default_rng(0).random((self.planes, self.rows, self.columns))


def residual(grid: Floats, right: Floats) -> Floats:
    """What is left of the right-hand side.

    Parameters
    ----------
    grid : (planes + 2, rows + 2, columns + 2) float
        With what lies around it.
    right : (planes, rows, columns) float

    Returns
    -------
    (planes, rows, columns) float
    """
    inner = slice(1, -1)
    around = grid[:-2, inner, inner] + grid[2:, inner, inner]
    around += grid[inner, :-2, inner]
    around += grid[inner, 2:, inner]
    around += grid[inner, inner, :-2]
    around += grid[inner, inner, 2:]
    around += right
    around -= DIAGONAL * grid[inner, inner, inner]
    return around


def inverse_of_a_line(columns: int) -> Floats:
    """Inverse of the lower triangle of one line of points, ``DIAGONAL`` with ``-OMEGA`` below."""
    below = np.subtract.outer(np.arange(columns), np.arange(columns))
    return np.where(below >= 0, (OMEGA / DIAGONAL) ** np.maximum(below, 0) / DIAGONAL, 0.0)


def sweep(
    right: Floats, line: Floats, receive: Callable[[], Floats | None], send: Callable[[Floats], None]
) -> tuple[Floats, float]:
    """Solve the lower triangle, plane by plane and row by row; of reversed axes it is the upper one.

    Parameters
    ----------
    right : (planes, rows, columns) float
    line : (columns, columns) float
        Of `inverse_of_a_line`.
    receive, send : callable
        The edge that comes before a plane's first row, and where its last row goes.

    Returns
    -------
    solution : (planes, rows, columns) float
    compute_s : float, seconds
        Processor time without messages.
    """
    solution = np.empty_like(right)
    below = np.zeros(right.shape[1:])
    compute_s = 0.0
    for plane, target in zip(right, solution, strict=True):
        edge = receive()
        before_s = time.process_time()
        known = plane + OMEGA * below
        row = np.zeros(right.shape[2]) if edge is None else edge
        for here, solved in zip(known, target, strict=True):
            row = np.matmul(line, here + OMEGA * row, out=solved)
        below = target
        compute_s += time.process_time() - before_s
        send(row)
    return solution, compute_s


class Sweeping:
    """Worker processes that stay between runs; a context manager.

    Parameters
    ----------
    problem : Problem
    processors : sequence of int, optional
        The processor of each worker; without it the system places them.
    """

    def __init__(self, problem: Problem, processors: Sequence[int] | None = None) -> None:
        pins = [None] * problem.workers if processors is None else processors
        joints = [multiprocessing.get_context("spawn").Pipe() for _ in range(problem.workers - 1)]
        before = [None, *(right for _, right in joints)]
        after = [*(left for left, _ in joints), None]
        words = [(problem, rank, pins[rank], before[rank], after[rank]) for rank in range(problem.workers)]
        # Multiplying matrices as small as these is no work for several threads.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self._workers = Workers(_work, words)
        for end in itertools.chain.from_iterable(joints):
            end.close()
        self._grids = tuple(channel.recv() for channel in self._workers.channels)  # when they are ready

    def run(self, iterations: int) -> Timing:
        """Make some iterations, from where the last run ended.

        Raises
        ------
        EOFError
            A worker ended; its own message says why.
        """
        for channel in self._workers.channels:
            channel.send(iterations)
        answers = [channel.recv() for channel in self._workers.channels]
        starts, ends, compute, self._grids = zip(*answers, strict=True)
        return Timing(min(starts), max(ends) - min(starts), compute)

    def solution(self) -> Floats:
        """(planes, rows, columns) after the last run."""
        return np.concatenate(self._grids, axis=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._workers.__exit__(*reason)


def _work(
    problem: Problem,
    rank: int,
    processor: int | None,
    before: Connection | None,
    after: Connection | None,
    channel: Connection,
) -> None:
    """What a worker process executes: one run for each number of iterations that comes."""
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    right = problem.right_hand_side()[:, problem.strip(rank)]
    line = inverse_of_a_line(problem.columns)
    grid = np.zeros([length + 2 for length in right.shape])
    inner = grid[1:-1, 1:-1, 1:-1]
    back = (slice(None, None, -1),) * 3
    channel.send(inner.copy())
    while True:
        iterations = channel.recv()
        compute_s = 0.0
        _exchange(grid, before, after)
        start_s = time.monotonic()
        for _ in range(iterations):
            before_s = time.process_time()
            left = residual(grid, right)
            compute_s += time.process_time() - before_s
            lower, spent_s = sweep(left, line, *_messages(before, after))
            lower *= DIAGONAL * OMEGA * (2.0 - OMEGA)
            upper, spent_back_s = sweep(lower[back], line, *_messages(after, before))
            inner += upper[back]
            compute_s += spent_s + spent_back_s
            _exchange(grid, before, after)
        channel.send((start_s, time.monotonic(), compute_s, inner.copy()))


def _messages(
    source: Connection | None, target: Connection | None
) -> tuple[Callable[[], Floats | None], Callable[[Floats], None]]:
    """How edges come from one neighbour and go to the other; there may be none."""

    def receive() -> Floats | None:
        return None if source is None else np.frombuffer(source.recv_bytes())

    def send(edge: Floats) -> None:
        if target is not None:
            target.send_bytes(edge.tobytes())

    return receive, send


def _exchange(grid: Floats, before: Connection | None, after: Connection | None) -> None:
    """Send the outer rows to the neighbours and take theirs; first along the workers, then back."""
    shape = grid[:, 0].shape
    for source, target, ghost, edge in ((before, after, 0, -2), (after, before, -1, 1)):
        receive, send = _messages(source, target)
        rows = receive()
        if rows is not None:
            grid[:, ghost] = rows.reshape(shape)
        send(grid[:, edge])


def main() -> int:
    """Run as a program; the exit status says whether the iterations came to the solution."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20, help="inner points along each axis")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--iterations", type=int, default=200)
    given = parser.parse_args()
    if not 1 <= given.workers <= given.size or given.iterations < 1:
        parser.error("at least one worker, a row for each of them and one iteration are needed")
    problem = Problem(given.size, given.size, given.size, given.workers)
    right = problem.right_hand_side()
    with Sweeping(problem) as sweeping:
        timing = sweeping.run(given.iterations)
        left = float(np.abs(residual(np.pad(sweeping.solution(), 1), right)).max())
    print(f"{given.iterations} iterations in {timing.time_s:.3f} s; largest residual {left:.2g}")
    if left > 1e-6:
        print("the solution has not been reached; more --iterations are needed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
