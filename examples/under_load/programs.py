"""The three programs as the experiments run them: how large, with which inputs of their models, and with little to do.

All of them go in steps that a worker begins only once the others have done theirs, so that one equation holds for all:

    time = steps * (work of a step * benchmark / progress + exchange)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from genetic import Breeding
from genetic import Problem as Cities
from lu import Problem as Box
from lu import Sweeping
from workers import Timing

from sor import Problem as Grid  # isort: skip (workers.py says where it is)
from sor import Team  # isort: skip

__all__ = ["NAMES", "Program", "program_named"]

NAMES = ("sor", "genetic", "lu")
WORKERS = 2


@dataclass(frozen=True)
class Program:
    """A program of two workers, of a size.

    Parameters
    ----------
    inputs : mapping of str to number
        Of its model: what is known without measuring.
    steps : int
        How often the workers wait for one another in a run.
    work : float
        Units of work of a worker in a step.
    done : float
        Units of work of a worker in a run; less than ``steps * work`` where workers wait to be filled.
    started : callable
        Takes the processors of the workers, and whether there is to be as little work as possible; a context manager
        that gives the function which makes a run.
    """

    inputs: Mapping[str, Any]
    steps: int
    work: float
    done: float
    started: Callable[[Sequence[int], bool], Any]

    def progress(self, time_s: float, benchmark_s: float, thin_s: float) -> float:
        """Share of full speed that a run made.

        Parameters
        ----------
        time_s : float, seconds
            Of the run.
        benchmark_s : float, seconds
            Processor time of a unit of work.
        thin_s : float, seconds
            Of a run without work.
        """
        return self.steps * self.work * benchmark_s / (time_s - thin_s)


def program_named(name: str, scale: float = 1.0) -> Program:
    """One of `NAMES`.

    Parameters
    ----------
    name : str
    scale : float, > 0
        1 for runs of about 0.8 s without load; smaller for fewer iterations.
    """
    return {"sor": _sor, "genetic": _genetic, "lu": _lu}[name](scale)


def _scaled(count: int, scale: float) -> int:
    return max(1, round(count * scale))


def _sor(scale: float) -> Program:
    # The size of the recorded runs of examples/sor.
    iterations, size = _scaled(60, scale), 2000 if scale >= 1.0 else 200

    @contextmanager
    def started(processors: Sequence[int], thin: bool) -> Iterator[Callable[[], Timing]]:
        problem = Grid(2 * WORKERS if thin else size, size, WORKERS)
        with Team(problem, processors) as team:
            team.grid[:] = np.random.default_rng(0).random(problem.shape)
            yield lambda: team.run(iterations)

    steps, work = 2 * iterations, size / WORKERS * size / 2
    inputs = {"iterations": iterations, "columns": size, "rows": size / WORKERS}
    return Program(inputs, steps, work, steps * work, started)


def _genetic(scale: float) -> Program:
    generations, children = _scaled(60, scale), 600 if scale >= 1.0 else 20

    @contextmanager
    def started(processors: Sequence[int], thin: bool) -> Iterator[Callable[[], Timing]]:
        problem = Cities(100, population=200, children=children, slaves=WORKERS, bred=1 if thin else None)
        with Breeding(problem, processors) as breeding:
            yield lambda: breeding.run(generations)

    inputs = {"generations": generations, "children": children}
    return Program(inputs, generations, children, generations * children, started)


def _lu(scale: float) -> Program:
    iterations, size = _scaled(60, scale), 48 if scale >= 1.0 else 12

    @contextmanager
    def started(processors: Sequence[int], thin: bool) -> Iterator[Callable[[], Timing]]:
        with Sweeping(Box(size, WORKERS if thin else size, size, WORKERS), processors) as sweeping:
            yield lambda: sweeping.run(iterations)

    rows, fill = size / WORKERS, WORKERS - 1
    inputs = {"iterations": iterations, "planes": size, "fill": fill, "rows": rows}
    steps = 2 * iterations * (size + fill)
    return Program(inputs, steps, rows, math.prod((2, iterations, size, rows)), started)
