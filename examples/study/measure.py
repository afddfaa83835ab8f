"""Run one of the example programs and print how much of its time went where.

The categories are complete: a worker, on average, either computes, or waits for others (at a barrier, for a message, or
for a processor that somebody else has), or does something else: processes are started and ended, memory is set up. They
add up to the total. That the result is right is checked afterwards, outside of the total.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

_EXAMPLES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_EXAMPLES / "sor"), str(_EXAMPLES / "cholesky")]

import cholesky  # noqa: E402 (these two lie beside this folder)
import problem  # noqa: E402
import sor  # noqa: E402

__all__ = ["measure_cholesky", "measure_sor"]


def measure_sor(size: int, workers: int, iterations: int) -> tuple[float, float, float]:
    """Seconds in all, and those that a worker computes and waits, on average, in ``iterations`` of SOR.

    Raises
    ------
    ArithmeticError
        The grid has not come nearer to the solution.
    """
    started = time.perf_counter()
    grid = sor.Problem(size, size, workers)
    start, solution = sor.harmonic_boundary(grid)
    with sor.Team(grid) as team:
        team.grid[:] = start
        timing = team.run(iterations)
        found = team.grid.copy()
    total_s = time.perf_counter() - started
    if not np.abs(found - solution).mean() < np.abs(start - solution).mean():
        raise ArithmeticError("the grid has not come nearer to the solution")
    # Some machines count processor time in ticks, so that a worker who never waits may seem to compute a little longer
    # than it ran.
    compute_s = min(sum(timing.compute_s) / workers, timing.time_s)
    return total_s, compute_s, timing.time_s - compute_s


def measure_cholesky(size: int, workers: int) -> tuple[float, float, float]:
    """Seconds in all, and those that a worker computes and waits, on average, to solve A X = B for as many X as rows.

    Raises
    ------
    ArithmeticError
        The solution is wrong.
    """
    started = time.perf_counter()
    system = problem.Problem(size, block=16, right_hand_sides=size, workers=workers, seed=0)
    arena = problem.Arena(system)
    try:
        arena.solution[:] = system.right_hand_side()
        cholesky.solve(system, arena)
        total_s = time.perf_counter() - started
        residual = cholesky.scaled_residual(system, arena.solution)
        states = cholesky.intervals(arena)
    finally:
        arena.close()
        arena.memory.unlink()
    if not residual < 1.0:
        raise ArithmeticError(f"wrong solution: scaled residual {residual:.3g}, below 1 expected")
    seconds = [sum(end - start for start, end, _, state in states if state == kind) / 1e9 for kind in (0, 1)]
    return total_s, seconds[cholesky.COMPUTING] / workers, seconds[cholesky.WAITING] / workers


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", choices=["sor", "cholesky"])
    parser.add_argument("--size", type=int, required=True, help="inner rows of the grid, or rows of the matrix")
    parser.add_argument("--workers", type=int, required=True, help="processes")
    parser.add_argument("--iterations", type=int, default=400, help="of sor (default 400)")
    given = parser.parse_args()
    try:
        if given.program == "sor":
            total_s, compute_s, waiting_s = measure_sor(given.size, given.workers, given.iterations)
        else:
            total_s, compute_s, waiting_s = measure_cholesky(given.size, given.workers)
    except ArithmeticError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"total {total_s:.6f}")
    print(f"compute {compute_s:.6f}")
    print(f"waiting {waiting_s:.6f}")
    print(f"other {total_s - compute_s - waiting_s:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
