"""Which phases of two runs are the same: the cheapest pairing that keeps their order.

A phase is what runs in it, where that is known, and its shape: its share of the run, its level as a share of the
processors, and how far it rises from its first half to its second. Phases with nothing in common that runs in them are
never the same. Pairs are of one phase with one, two or three neighbours of the other run, or a phase has no partner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

# Measured on simulated pairs of runs of one program, and on recorded ones.
_RISE, _SHARE, _JOINED, _ALONE = 0.5, 0.15, 0.03, 0.5
_RUNS = 0.5  # of two phases with nothing in common: as dear as both without partner
_MOST_JOINED = 3
ALIKE = 0.25  # cost above which two runs are not one program's: one program's cost 0.03 to 0.22, others' 0.24 to 0.82


class Shape(NamedTuple):
    """One phase, or some neighbouring ones together."""

    share: float  # of the run's duration
    level: float  # mean, as a share of the processors
    rise: float  # mean of the second half less that of the first, likewise
    runs: Mapping[str, float] | None = None  # share of each state in the computing time


class Pair(NamedTuple):
    """Phases of the first run and the same of the second, counted from 0; one of both may be empty."""

    first: range
    second: range


def match_phases(
    counts: tuple[int, int], shapes: tuple[Callable[[int, int], Shape], Callable[[int, int], Shape]], ratio: float = 1.0
) -> tuple[list[Pair], float]:
    """Match the phases of two runs."""
    n, m = counts
    spans = [(1, 1), *((1, q) for q in range(2, _MOST_JOINED + 1)), *((q, 1) for q in range(2, _MOST_JOINED + 1))]
    all_shapes = [
        {(i, j): shape(i, j) for j in range(1, count + 1) for i in range(max(0, j - _MOST_JOINED), j)}
        for count, shape in zip(counts, shapes, strict=True)
    ]
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    before: dict[tuple[int, int], tuple[int, int]] = {}
    of_names: dict[tuple[int, int, int, int], float] = {}  # what a pair costs beside its shape
    for i in range(n + 1):
        for j in range(m + 1):
            options = []
            if i:
                options.append((cost[i - 1, j] + _ALONE * all_shapes[0][i - 1, i].share, (i - 1, j)))
            if j:
                options.append((cost[i, j - 1] + _ALONE * all_shapes[1][j - 1, j].share, (i, j - 1)))
            for k, q in spans:
                if i >= k and j >= q:
                    one, other = all_shapes[0][i - k, i], all_shapes[1][j - q, j]
                    size = one.share + other.share
                    price = (_distance(one, other, ratio) + _JOINED * (k + q - 2)) * size
                    named = of_names[i - k, j - q, i, j] = _RUNS * unlike(one.runs, other.runs) * size
                    options.append((cost[i - k, j - q] + price + named, (i - k, j - q)))
            if options:
                cost[i, j], before[i, j] = min(options)
    pairs, cell, names = [], (n, m), 0.0
    while cell != (0, 0):
        earlier = before[cell]
        names += of_names.get((*earlier, *cell), 0.0)
        pairs.append(Pair(range(earlier[0], cell[0]), range(earlier[1], cell[1])))
        cell = earlier
    return pairs[::-1], max(float(cost[n, m]) - names, 0.0)


def unlike(one: Mapping[str, float] | None, other: Mapping[str, float] | None) -> float:
    """How much two stretches differ in what runs: total variation, 1 with nothing in common; 0 where one is not
    known.
    """
    if not one or not other:
        return 0.0
    return 0.5 * sum(abs(one.get(name, 0.0) - other.get(name, 0.0)) for name in one.keys() | other.keys())


def _distance(one: Shape, other: Shape, ratio: float) -> float:
    level = abs(one.level - other.level)
    if ratio != 1.0:
        level = min(level, abs(one.level * ratio - other.level) / max(1.0, ratio))
    return level + _RISE * abs(one.rise - other.rise) + _SHARE * abs(math.log(one.share / other.share))
