"""A small program whose functions grow in known ways: n bodies on a ring in m steps.

``python bodies.py --bodies 64 --steps 8`` prints the processor time of each function in seconds, over all steps. They
need this many operations; the times are up to the machine:

| function | operations |
|---|---|
| set_up | as many for all n and m |
| load | n |
| transform | m n log2 n, for n a power of 2 |
| pairs | m n^2 |
| correlate | n^3 |
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

__all__ = ["FUNCTIONS", "correlate", "load", "pairs", "run", "set_up", "transform"]

Result = TypeVar("Result")

FUNCTIONS = ("set_up", "load", "transform", "pairs", "correlate")
_TABLE = 20_000

# Other programs on the machine only add to a time, so a short call is made again, and the least time counts.
_MOST_CALLS = 5
_SHORT_S = 0.1


def set_up() -> list[float]:
    """A table of sines, of the same size for every run."""
    return [math.sin(k * math.tau / _TABLE) for k in range(_TABLE)]


def load(text: str) -> list[float]:
    """Places of the bodies, one in each line."""
    return [float(line) for line in text.splitlines()]


def transform(places: list[float]) -> list[float]:
    """Walsh-Hadamard transform: sums and differences of neighbours at the distances 1, 2, 4, ..."""
    found = places
    distance = 1
    while distance < len(found):
        found = [
            found[k ^ distance] - here if k & distance else here + found[k ^ distance] for k, here in enumerate(found)
        ]
        distance *= 2
    return found


def pairs(places: list[float], table: list[float]) -> float:
    """Energy of all bodies with all others."""
    energy = 0.0
    for here, there in itertools.product(places, repeat=2):
        energy += table[int((there - here) % 1.0 * _TABLE)]
    return energy


def correlate(matrix: list[list[float]]) -> list[list[float]]:
    """Product of a square matrix with itself."""
    product = []
    for row in matrix:
        found = [0.0] * len(row)
        for factor, other in zip(row, matrix, strict=True):
            for j, value in enumerate(other):
                found[j] += factor * value
        product.append(found)
    return product


def run(bodies: int, steps: int, seed: int = 0) -> dict[str, float]:
    """Processor time in seconds that each function took.

    Parameters
    ----------
    bodies : int
        A power of 2.
    steps : int, > 0
    seed : int
        Of the places.
    """
    rng = random.Random(seed)
    text = "\n".join(str(rng.random()) for _ in range(bodies))
    spent: dict[str, float] = defaultdict(float)

    def timed(function: Callable[..., Result], *arguments: object) -> Result:
        times = list[float]()
        while len(times) < _MOST_CALLS and sum(times) < _SHORT_S:
            begin = time.process_time()
            result = function(*arguments)
            times.append(time.process_time() - begin)
        spent[function.__name__] += min(times)
        return result

    table = timed(set_up)
    places = timed(load, text)
    for _ in range(steps):
        waves = timed(transform, places)
        energy = timed(pairs, places, table)
        places = [
            (place + wave / bodies + 0.1 * math.sin(energy)) % 1.0 for place, wave in zip(places, waves, strict=True)
        ]
    timed(correlate, [[here * there for there in places] for here in places])
    return dict(spent)


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bodies", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    given = parser.parse_args()
    for name, time_s in run(given.bodies, given.steps).items():
        print(f"{name} {time_s:.9f}")


if __name__ == "__main__":
    main()
