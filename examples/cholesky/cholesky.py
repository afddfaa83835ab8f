"""Solve A X = B for a dense symmetric positive-definite A with several processes, and record them.

The matrix is factored as A = L L^T by the fan-out algorithm (Geist and Heath, "Matrix
factorization on a hypercube multiprocessor", 1986) on blocks of columns dealt cyclically to the
workers; then L Y = B and L^T X = Y are solved. Worley's second example ("Modeling histogram data
with piecewise polynomials", section 4.2) is a program of this kind.

A worker is a process. The numbers lie in shared memory, so a message carries no data: it is one
permit on the semaphore that leads from the sender to the receiver. Who finds no permit sleeps,
and that is its state ``waiting``; all the other time it is ``computing``.
"""

from __future__ import annotations

import argparse
import gzip
import io
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.synchronize import Barrier, Semaphore
from pathlib import Path

import numpy as np
from problem import Arena, Floats, Problem

COMPUTING, WAITING = 0, 1
STATE_NAMES = ("computing", "waiting")
PHASE_NAMES = ("generation", "factorization", "forward solve")  # the backward solve ends the run


class Worker:
    """One process: its share of the blocks, its channels to the others, and its record.

    Parameters
    ----------
    problem : Problem
    arena : Arena
    rank : int
        0 to workers - 1; it owns the blocks ``rank``, ``rank + workers``, ...
    channels : sequence of sequences of Semaphore
        ``channels[sender][receiver]`` holds one permit for each message that has not been received.
    barrier : Barrier
        Ends each phase.
    """

    def __init__(
        self,
        problem: Problem,
        arena: Arena,
        rank: int,
        channels: Sequence[Sequence[Semaphore]],
        barrier: Barrier,
    ) -> None:
        self.problem, self.arena, self.rank = problem, arena, rank
        self.channels, self.barrier = channels, barrier

    def run(self) -> None:
        """Generate, factor, solve forward, solve backward."""
        self.change(COMPUTING)
        blocks = range(self.problem.n_blocks)
        self.generate()
        self.meet(0)
        self.factor()
        self.meet(1)
        self.substitute(blocks, transposed=False)
        self.meet(2)
        self.substitute(blocks[::-1], transposed=True)
        self.change(WAITING)  # closes the last computing interval

    def generate(self) -> None:
        """Make the worker's own columns of A."""
        for block in self.mine(range(self.problem.n_blocks)):
            columns = self.problem.columns(block)
            self.arena.matrix[:, columns] = self.problem.matrix_columns(columns)

    def factor(self) -> None:
        """Overwrite the lower triangle of A with L.

        At step k the owner of block k finishes its columns and announces them; everyone then
        takes their share out of the columns that it owns to the right.
        """
        matrix, problem = self.arena.matrix, self.problem
        for k in range(problem.n_blocks):
            pivot = problem.columns(k)
            if self.owner(k) == self.rank:
                matrix[pivot, pivot] = np.linalg.cholesky(matrix[pivot, pivot])
                below = matrix[pivot.stop :, pivot]
                # numpy has no triangular solve; on one small block the general one costs little.
                below[:] = np.linalg.solve(matrix[pivot, pivot], below.T).T
                self.announce()
            else:
                self.receive(self.owner(k))
            for j in self.mine(range(k + 1, problem.n_blocks)):
                columns = problem.columns(j)
                matrix[columns.start :, columns] -= matrix[columns.start :, pivot] @ matrix[columns, pivot].T

    def substitute(self, order: range, *, transposed: bool) -> None:
        """Solve with L (forward) or L^T (backward) in place, block after block in ``order``.

        The owner of a block solves for its unknowns once all earlier blocks have been taken out
        of its right-hand side, and announces them; everyone takes them out of the blocks that it
        owns and that come later.
        """
        triangle = self.arena.matrix.T if transposed else self.arena.matrix
        unknowns = self.arena.solution
        for step, k in enumerate(order):
            rows = self.problem.columns(k)
            if self.owner(k) == self.rank:
                unknowns[rows] = np.linalg.solve(triangle[rows, rows], unknowns[rows])
                self.announce()
            else:
                self.receive(self.owner(k))
            for j in self.mine(order[step + 1 :]):
                later = self.problem.columns(j)
                unknowns[later] -= triangle[later, rows] @ unknowns[rows]

    def owner(self, block: int) -> int:
        """Who works on a block: blocks are dealt like cards."""
        return block % self.problem.workers

    def mine(self, blocks: range) -> Iterator[int]:
        """Those of ``blocks`` that this worker owns."""
        return (block for block in blocks if self.owner(block) == self.rank)

    def announce(self) -> None:
        """Tell every other worker that the next block of this one is ready."""
        for receiver, channel in enumerate(self.channels[self.rank]):
            if receiver != self.rank:
                channel.release()

    def receive(self, sender: int) -> None:
        """Sleep until ``sender`` has announced its next block; a sender's blocks come in order."""
        channel = self.channels[sender][self.rank]
        if not channel.acquire(block=False):  # a message that is there already costs no waiting
            self.change(WAITING)
            channel.acquire()
            self.change(COMPUTING)

    def meet(self, phase: int) -> None:
        """Sleep until all workers have ended this phase."""
        self.change(WAITING)
        self.barrier.wait()
        now = self.change(COMPUTING)
        if self.rank == 0:
            self.arena.phase_ends_ns[phase] = now

    def change(self, state: int) -> int:
        """Record that the worker's state is now ``state``, on the clock that all share."""
        row, at = self.rank, self.arena.changes[self.rank]
        now = time.perf_counter_ns()
        self.arena.times_ns[row, at] = now
        self.arena.states[row, at] = state
        self.arena.changes[row] = at + 1
        return now


def work(
    problem: Problem,
    memory: str,
    rank: int,
    channels: Sequence[Sequence[Semaphore]],
    barrier: Barrier,
) -> None:
    """What a worker process executes."""
    arena = Arena(problem, memory)
    Worker(problem, arena, rank, channels, barrier).run()
    arena.close()


def solve(problem: Problem, arena: Arena) -> None:
    """Run the workers until all have ended.

    Raises
    ------
    RuntimeError
        A worker failed; the others, which would wait for it forever, have been ended.
    """
    # One BLAS thread for each worker, so that a worker is what the trace says it is. A spawned
    # process imports numpy anew and finds these then.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    context = multiprocessing.get_context("spawn")
    ranks = range(problem.workers)
    channels = [[context.Semaphore(0) for _ in ranks] for _ in ranks]
    barrier = context.Barrier(problem.workers)
    name = arena.memory.name
    processes = [context.Process(target=work, args=(problem, name, rank, channels, barrier)) for rank in ranks]
    for process in processes:
        process.start()
    running = {process.sentinel: process for process in processes}
    while running:
        ready = multiprocessing.connection.wait(list(running))
        for ended in [running.pop(sentinel) for sentinel in list(running) if sentinel in ready]:
            ended.join()
            if ended.exitcode:
                for process in running.values():
                    process.terminate()
                raise RuntimeError(f"{ended.name} ended with exit status {ended.exitcode}")


def scaled_residual(problem: Problem, solution: Floats) -> float:
    """Largest ``|A X - B|``, divided by ``eps size (|A| |X| + |B|)`` in the maximum norm.

    Rounding errors alone keep it well below 1.
    """
    right = problem.right_hand_side()
    norm = error = 0.0
    for block in range(problem.n_blocks):
        rows = problem.columns(block)
        matrix_rows = problem.matrix_columns(rows).T  # A is symmetric
        norm = max(norm, np.abs(matrix_rows).sum(axis=1).max())
        error = max(error, np.abs(matrix_rows @ solution - right[rows]).max())
    scale = norm * np.abs(solution).max() + np.abs(right).max()
    return float(error / (np.finfo(float).eps * problem.size * scale))


def intervals(arena: Arena) -> list[tuple[int, int, int, int]]:
    """Start and end in ns since the first event, worker and state, in order of the starts."""
    found = []
    first = int(arena.times_ns[:, 0].min())
    for rank, n_changes in enumerate(arena.changes):
        times = arena.times_ns[rank, :n_changes] - first
        states = arena.states[rank, :n_changes]
        found += [
            (int(start), int(end), rank, int(state))
            for start, end, state in zip(times[:-1], times[1:], states[:-1], strict=True)
        ]
    return sorted(found)


def write_trace(path: Path, rows: Sequence[tuple[int, int, int, int]]) -> None:
    """Write intervals as CSV, times in microseconds; compressed if the name ends in ``.gz``."""
    text = io.StringIO()
    text.write("start,end,location,state\n")
    for start, end, rank, state in rows:
        text.write(f"{start / 1000:.3f},{end / 1000:.3f},worker {rank},{STATE_NAMES[state]}\n")
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def positive(text: str) -> int:
    """A whole number of at least 1, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def main() -> int:
    """Run as a program; the exit status says whether the solution is right."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--workers", type=positive, default=4, help="processes")
    parser.add_argument("--size", type=positive, default=768, help="rows of the matrix")
    parser.add_argument("--block", type=positive, default=16, help="columns of a block")
    parser.add_argument("--rhs", type=positive, default=1, help="right-hand sides")
    parser.add_argument("--seed", type=int, default=0, help="of the matrix and the right-hand sides")
    parser.add_argument("--out", type=Path, required=True, help="trace: NAME.csv or NAME.csv.gz")
    given = parser.parse_args()
    if not given.out.parent.is_dir():
        parser.error(f"--out {given.out}: there is no folder {given.out.parent}")
    problem = Problem(given.size, given.block, given.rhs, given.workers, given.seed)
    arena = Arena(problem)
    try:
        arena.solution[:] = problem.right_hand_side()
        solve(problem, arena)
        residual = scaled_residual(problem, arena.solution)
        rows = intervals(arena)
        ends = (arena.phase_ends_ns - arena.times_ns[:, 0].min()) / 1000
    finally:
        arena.close()
        arena.memory.unlink()
    if not residual < 1:
        print(f"wrong solution: scaled residual {residual:.3g}, below 1 expected", file=sys.stderr)
        return 1
    write_trace(given.out, rows)
    print(f"{given.out}: {len(rows)} intervals; scaled residual {residual:.3g}")
    for name, end in zip(PHASE_NAMES, ends, strict=True):
        print(f"{name} ended at {end:.3f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
