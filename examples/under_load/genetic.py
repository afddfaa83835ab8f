"""Look for a short round trip through all cities by a genetic algorithm with one population, bred by several processes.

In a generation the master sends the population to all slaves, each slave breeds and measures its children, and the
master collects all of them, sorts, and keeps the best: section 4.2 of J. M. Schopf, "A Practical Methodology for
Defining Histograms for Predictions and Scheduling" (1999).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Self

import numpy as np
import numpy.typing as npt
from workers import Timing, Workers

__all__ = ["Breeding", "Problem", "breed", "select"]

Floats = npt.NDArray[np.float64]
Tours = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Problem:
    """Cities that lie evenly on a circle, in random order, and how many tours there are.

    Parameters
    ----------
    cities : int, 4 to 32767
    population : int, >= 2
        Tours that are kept.
    children : int, >= 1
        Of each slave in a generation.
    slaves : int, >= 1
    seed : int
        Of the order of the cities, the first population and all children.
    bred : int, optional
        Children that are bred; the others are copies of these. Fewer than all tell what everything else takes.
    """

    cities: int
    population: int
    children: int
    slaves: int
    seed: int = 0
    bred: int | None = None

    def distances(self) -> Floats:
        """(cities, cities) lengths of the ways from city to city."""
        places = np.exp(2j * np.pi * np.random.default_rng(self.seed).permutation(self.cities) / self.cities)
        return np.asarray(np.abs(places[:, None] - places[None, :]))

    @property
    def shortest(self) -> float:
        """Length of the best round trip: along the circle."""
        return float(2.0 * self.cities * np.sin(np.pi / self.cities))

    def first(self) -> Tours:
        """(population, cities) random tours."""
        tours = np.tile(np.arange(self.cities, dtype=np.int16), (self.population, 1))
        return np.random.default_rng(self.seed).permuted(tours, axis=1)


def lengths(tours: Tours, distances: Floats) -> Floats:
    """Length of each round trip.

    Parameters
    ----------
    tours : (n, cities) int
    distances : (cities, cities) float

    Returns
    -------
    (n,) float
    """
    return np.asarray(distances[tours, np.roll(tours, -1, axis=1)].sum(axis=1))


def breed(population: Tours, count: int, rng: np.random.Generator) -> Tours:
    """Children of a sorted population: ordered crossover of two parents, then a stretch of the tour is reversed.

    Parents near the front are taken more often. A child has a stretch of the first parent, and the other cities in the
    second parent's order (Davis, 1985).

    Parameters
    ----------
    population : (n, cities) int
    count : int
    rng : Generator

    Returns
    -------
    (count, cities) int
    """
    size, cities = population.shape
    parents = (size * rng.random((count, 2)) ** 2).astype(int)
    cuts = np.sort(rng.integers(0, cities + 1, (count, 4)).reshape(count, 2, 2), axis=2)
    children = np.empty((count, cities), np.int16)
    taken = np.empty(cities, bool)
    for child, (one, other), ((low, high), (left, right)) in zip(children, parents, cuts, strict=True):
        stretch = population[one, low:high]
        taken[:] = False
        taken[stretch] = True
        rest = population[other][~taken[population[other]]]
        child[:low], child[low:high], child[high:] = rest[:low], stretch, rest[low:]
        child[left:right] = child[left:right][::-1].copy()
    return children


def select(tours: Tours, lengths_of_tours: Floats, count: int) -> tuple[Tours, Floats]:
    """The shortest tours, sorted, and their lengths."""
    order = np.argsort(lengths_of_tours, kind="stable")[:count]
    return tours[order], lengths_of_tours[order]


class Breeding:
    """The slaves of a problem and the population, which stay between runs; a context manager.

    Parameters
    ----------
    problem : Problem
    processors : sequence of int, optional
        The processor of each slave; without it the system places them.

    Attributes
    ----------
    population : (population, cities) int
        Sorted; `run` goes on from what stands there.
    lengths : (population,) float
    """

    def __init__(self, problem: Problem, processors: Sequence[int] | None = None) -> None:
        self._problem = problem
        first = problem.first()
        self.population, self.lengths = select(first, lengths(first, problem.distances()), problem.population)
        self._generation = 0
        pins = [None] * problem.slaves if processors is None else processors
        self._slaves = Workers(_slave, [(problem, rank, pin) for rank, pin in enumerate(pins)])
        for channel in self._slaves.channels:
            channel.recv()  # it is ready

    def run(self, generations: int) -> Timing:
        """Breed some generations.

        Raises
        ------
        EOFError
            A slave ended; its own message says why.
        """
        compute_s = np.zeros(self._problem.slaves)
        start_s = time.monotonic()
        for _ in range(generations):
            for channel in self._slaves.channels:
                channel.send((self._generation, self.population))
            tours, measured, spent_s = zip(*(channel.recv() for channel in self._slaves.channels), strict=True)
            everyone = np.concatenate([self.population, *tours])
            self.population, self.lengths = select(
                everyone, np.concatenate([self.lengths, *measured]), len(self.lengths)
            )
            self._generation += 1
            compute_s += spent_s
        return Timing(start_s, time.monotonic() - start_s, tuple(compute_s.tolist()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._slaves.__exit__(*reason)


def _slave(problem: Problem, rank: int, processor: int | None, channel: Connection) -> None:
    """What a slave executes: children of each population that comes."""
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    distances = problem.distances()
    channel.send(None)
    while True:
        generation, population = channel.recv()
        before_s = time.process_time()
        rng = np.random.default_rng([problem.seed, generation, rank])
        children = breed(population, problem.bred or problem.children, rng)
        measured = lengths(children, distances)
        spent_s = time.process_time() - before_s
        shape = problem.children, problem.cities
        channel.send((np.resize(children, shape), np.resize(measured, problem.children), spent_s))


def main() -> int:
    """Run as a program; the exit status says whether the trip came near the shortest."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--cities", type=int, default=40)
    parser.add_argument("--slaves", type=int, default=2, help="processes")
    parser.add_argument("--generations", type=int, default=100)
    given = parser.parse_args()
    if not 4 <= given.cities <= np.iinfo(np.int16).max or given.slaves < 1 or given.generations < 1:
        parser.error("4 to 32767 cities, at least one slave and one generation are needed")
    problem = Problem(given.cities, population=100, children=200, slaves=given.slaves)
    with Breeding(problem) as breeding:
        timing = breeding.run(given.generations)
        excess = breeding.lengths[0] / problem.shortest - 1.0
    print(f"{given.generations} generations in {timing.time_s:.3f} s; {excess:.1%} longer than the shortest trip")
    if excess > 0.5:
        print("the trip is far from the shortest; more --generations are needed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
