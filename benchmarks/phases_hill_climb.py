"""How near hill climbing comes to the exact least sum of squares on curves that are hard for a local search.

Run ``python benchmarks/phases_hill_climb.py``. ``--steps`` is far above 5,000, up to which the search is exact. Each
start of the search is compared with the dynamic programme over all edges; number of phases and degree are drawn.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from perf_worley.moment_tree import MomentTree
from perf_worley.segmenters import HillClimb, LeastSquares
from perfcore import UtilizationCurve
from perfcore.contracts import Basis

Floats = npt.NDArray[np.float64]
METHODS = {"exact": LeastSquares(), "hill-climb": HillClimb()}


def _telegraph(rng: np.random.Generator, n: int) -> Floats:
    """Many levels, far more than phases."""
    return np.repeat(rng.uniform(0, 50, n), rng.geometric(min(1.0, rng.uniform(20, 200) / n), n))[:n]


def _bursts(rng: np.random.Generator, n: int) -> Floats:
    """Short bursts on a level: each is worth two breaks or none."""
    values = 10.0 + rng.normal(0, 1, n)
    for at in rng.integers(0, n, 12):
        values[at : at + int(rng.integers(1, 40))] += rng.uniform(5, 60)
    return values


def _walk(rng: np.random.Generator, n: int) -> Floats:
    return np.cumsum(rng.normal(0, 1, n))


def _levels(rng: np.random.Generator, n: int) -> Floats:
    """Levels of very different lengths in noise."""
    cuts = np.sort((n * rng.uniform(0, 1, 14) ** 3).astype(int))
    return np.asarray(np.repeat(rng.uniform(0, 30, 15), np.diff([0, *cuts, n])) + rng.normal(0, 6, n))


def _waves(rng: np.random.Generator, n: int) -> Floats:
    at = np.linspace(0, 1, n)
    return 20 * np.sin(rng.uniform(20, 60) * at**2) + 10 * np.sin(rng.uniform(5, 20) * at) + rng.normal(0, 2, n)


def _noise(rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(0, 5, n)


def _stairs(rng: np.random.Generator, n: int) -> Floats:
    """Equal steps up and down: more of them than phases, all worth the same."""
    return np.asarray(np.abs(np.arange(n) // (n // 24) % 8 - 4.0) * 5 + rng.normal(0, 0.5, n))


def _heavy(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray(rng.standard_t(2, n) + np.repeat(rng.uniform(0, 6, 10), -(-n // 10))[:n])


FAMILIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "telegraph": _telegraph,
    "bursts": _bursts,
    "random walk": _walk,
    "levels": _levels,
    "waves": _waves,
    "noise": _noise,
    "stairs": _stairs,
    "heavy tails": _heavy,
}


def make(seed: int, steps: int) -> tuple[str, UtilizationCurve, int, int]:
    """Family, curve, number of phases and degree of one case."""
    rng = np.random.default_rng([seed, 2026, 11])
    family = list(FAMILIES)[seed % len(FAMILIES)]
    n = int(rng.integers(steps, steps + steps // 3))
    values = FAMILIES[family](rng, n)
    widths = rng.integers(1, 5, len(values)) if seed % 3 else np.ones(len(values))
    if seed % 5 == 0:
        widths = rng.pareto(1.2, len(values)) + 0.01  # some steps are as long as thousands of others
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    curve = UtilizationCurve(edges, values - values.min()).merged()
    return family, curve, int(rng.integers(2, 21)), int(rng.integers(0, 3))


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=200)
    parser.add_argument("--steps", type=int, default=9000, help="fewest; the most are a third more")
    parser.add_argument("--first", type=int, default=500_000, help="first seed")
    given = parser.parse_args()
    above: dict[str, list[float]] = {}
    seconds = dict.fromkeys(METHODS, 0.0)
    for seed in range(given.first, given.first + given.curves):
        family, curve, n, degree = make(seed, given.steps)
        tree, sums = MomentTree(curve), {}
        for name, method in METHODS.items():
            started = time.process_time()
            found = method.segment(curve, n, Basis(degree)).breaks
            seconds[name] += time.process_time() - started
            sums[name] = sum(tree.error(tree.interval(a, b), degree) for a, b in itertools.pairwise(found))
        excess = sums["hill-climb"] / sums["exact"] - 1.0
        above.setdefault(family, []).append(excess)
        if excess > 0.01:
            print(seed, family, n, degree, f"{excess:.2%}", file=sys.stderr, flush=True)
    print(f"| {' | '.join(FAMILIES)} | worst | above 1 % | CPU s a curve |")
    print(f"|{' ---: |' * (len(FAMILIES) + 3)}")
    every = [x for family in FAMILIES for x in above.get(family, [])]
    cells = [f"{max(above.get(family, [0.0])):.2%}" for family in FAMILIES]
    cells += [f"{max(every):.2%}", f"{sum(x > 0.01 for x in every)}", f"{seconds['hill-climb'] / given.curves:.2f}"]
    print(f"| {' | '.join(cells)} |")
    print(f"\nThe exact sum takes {seconds['exact'] / given.curves:.2f} s a curve.")


if __name__ == "__main__":
    main()
