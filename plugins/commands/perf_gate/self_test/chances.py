"""Runs of one version, split as if they were two: how often a gate cries wolf, and how many rounds a limit needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.judging import judge
from perf_statistics.gating.rounds import in_turn


Floats = npt.NDArray[np.float64]

FEWEST_RUNS = 6  # three pairs of neighbours
_SPLITS = 400  # of pairs at random; the standard error of 5 % is 1 %
_LONGEST = 10  # runs of each side of a split into one and then the other
_MAD = 1.482602  # of a normal distribution's standard deviation
_SURE = 0.95


class Chances(NamedTuple):
    """What runs of n benchmarks say."""

    noise: Floats  # standard deviation of single runs, as a share
    next_noise: Floats
    in_turn: Floats  # share of splits of neighbours at random that are called slower
    any_in_turn: float  # share of splits in which any benchmark is
    one_after_other: Floats
    rounds: npt.NDArray[np.int64]  # that decide the limit where nothing changed, 90 % likely; 0 where none do


def chances_of(series: Sequence[Floats], limit: float, seed: int = 0) -> Chances:
    """Split runs of one version in two, again and again."""
    rng = np.random.default_rng(seed)
    pairs = [np.asarray(y)[: len(y) // 2 * 2].reshape(-1, 2) for y in series]
    called, together = np.zeros(len(series)), 0
    for _ in range(_SPLITS):
        # Two benchmarks of a round meet the same machine: versions swap for all of them at once.
        swaps = rng.random(max(map(len, pairs))) < 0.5
        sides = [
            np.where(swaps[: len(benchmark_pairs), None], benchmark_pairs[:, ::-1], benchmark_pairs)
            for benchmark_pairs in pairs
        ]
        slower = judge(
            in_turn(
                [benchmark_pairs[:, 0] for benchmark_pairs in sides],
                [benchmark_pairs[:, 1] for benchmark_pairs in sides],
            ),
            limit,
        ).slower
        called += slower
        together += bool(slower.any())
    estimates = in_turn(
        [benchmark_pairs[:, 0] for benchmark_pairs in pairs], [benchmark_pairs[:, 1] for benchmark_pairs in pairs]
    )
    unchanged = replace(estimates, log_ratio=np.zeros(len(series)))
    steps = [np.diff(y) for y in series]
    return Chances(
        noise=np.array([_spread(np.asarray(y) - np.median(y)) for y in series]),
        next_noise=np.array([_spread(step) / math.sqrt(2.0) for step in steps]),
        in_turn=called / _SPLITS,
        any_in_turn=together / _SPLITS,
        one_after_other=np.array([_welch(np.asarray(y), math.log(limit)) for y in series]),
        rounds=unchanged.rounds_that_decide(math.log(limit)),
    )


def _spread(differences: Floats) -> float:
    """Standard deviation, hardly moved by single outliers; of mostly equal values the usual one."""
    middle = _MAD * float(np.median(np.abs(differences)))
    return middle if middle > 0.0 else float(np.std(differences))


def _welch(y: Floats, log_limit: float) -> float:
    """Share of splits into some runs and the next ones that are called slower than the limit, in either direction."""
    from scipy.stats import t

    size = min(_LONGEST, len(y) // 2)
    windows = np.lib.stride_tricks.sliding_window_view(y, 2 * size)
    first, second = windows[:, :size], windows[:, size:]
    squares = [side.var(axis=1, ddof=1) / size for side in (first, second)]
    error = np.sqrt(squares[0] + squares[1])
    freedom = (squares[0] + squares[1]) ** 2 * (size - 1) / np.maximum(squares[0] ** 2 + squares[1] ** 2, 1e-300)
    distance = np.abs(second.mean(axis=1) - first.mean(axis=1)) - log_limit
    p = t.sf(distance / np.maximum(error, 1e-12), np.maximum(freedom, 1.0))
    return 0.5 * float(np.mean(p <= 1.0 - _SURE))  # of either direction one is "slower"
