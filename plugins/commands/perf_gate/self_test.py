"""Runs of one version become a statement about the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from perf_gate.benchmark_runs import Benchmark, LongTable, Runs, match
from perf_gate.versions import detect_run_order
from perf_statistics.gating import Estimates, Sessions, judge, paired_test, session_test
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError
from perfcore.data.units import seconds_per
from perfcore.report import Result

FEWEST_RUNS = 6  # three pairs of neighbours
_SPLITS = 400  # of pairs at random; the standard error of 5 % is 1 %
_LONGEST = 10  # runs of each side of a split into one and then the other
_MAD = 1.482602  # of a normal distribution's standard deviation
_SURE, _LIKELY = 0.95, 0.8
_OF_ONE_PROCESS = ("pytest-benchmark",)  # values of a file are iterations, which say nothing of how runs differ


def _split_at_random(series: Sequence[Floats], limit: float) -> tuple[Estimates, Floats, float]:
    """Return what neighbours say of no change, and shares of splits of them at random that are called slower.

    Of each benchmark (n,), and of any.
    """
    rng = np.random.default_rng(0)
    pairs = [np.asarray(y)[: len(y) // 2 * 2].reshape(-1, 2) for y in series]
    called, together = np.zeros(len(series)), 0
    for _ in range(_SPLITS):
        # Two benchmarks of a round meet the same machine: versions swap for all of them at once.
        swaps = rng.random(max(map(len, pairs))) < 0.5
        sides = [np.where(swaps[: len(each), None], each[:, ::-1], each) for each in pairs]
        slower = judge(paired_test([each[:, 0] for each in sides], [each[:, 1] for each in sides]), limit).slower
        called += slower
        together += bool(slower.any())
    estimates = paired_test([each[:, 0] for each in pairs], [each[:, 1] for each in pairs])
    return replace(estimates, log_ratio=np.zeros(len(series))), called / _SPLITS, together / _SPLITS


def _spread(differences: Floats) -> float:
    """Standard deviation, hardly moved by single outliers; of mostly equal values the usual one."""
    middle = _MAD * float(np.median(np.abs(differences)))
    return middle if middle > 0.0 else float(np.std(differences))


def _welch(y: Floats, log_limit: float) -> float:
    """Share of splits into some runs and the next ones that are called slower than the limit, in either direction."""
    from scipy.special import stdtr

    size = min(_LONGEST, len(y) // 2)
    windows = np.lib.stride_tricks.sliding_window_view(y, 2 * size)
    first, second = windows[:, :size], windows[:, size:]
    squares = [side.var(axis=1, ddof=1) / size for side in (first, second)]
    error = np.sqrt(squares[0] + squares[1])
    freedom = (squares[0] + squares[1]) ** 2 * (size - 1) / np.maximum(squares[0] ** 2 + squares[1] ** 2, 1e-300)
    distance = np.abs(second.mean(axis=1) - first.mean(axis=1)) - log_limit
    p = stdtr(np.maximum(freedom, 1.0), -distance / np.maximum(error, 1e-12))
    return 0.5 * float(np.mean(p <= 1.0 - _SURE))  # of either direction one is "slower"


@dataclass(frozen=True, repr=False)
class SelfTest(Result):
    """What runs of one version say about the machine, benchmark by benchmark."""

    reporter: ClassVar[str] = "perf_gate.answers:report_of_self_test"
    json_kind: ClassVar[str] = "gate"
    status: ClassVar[int] = 0
    cases: ClassVar[list[tuple[str, str, str]]] = []

    source: str
    slower_than: float  # how many times as slow is too slow
    any_in_turn: float  # share of splits in which any benchmark is called slower
    # Noise and ``noise_of_neighbours`` are standard deviations of single runs, as a share; ``slower_in_turn`` and
    # ``slower_one_after_other`` shares of splits; ``rounds`` decide the limit where nothing changed, 90 % likely, and
    # ``smallest_effect`` is the slowdown of two separate sessions that fails with 80 % probability.
    benchmarks: list[dict[str, Any]]
    left_out: list[str]  # benchmarks of fewer runs than are needed

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


def self_test(table: LongTable, limit: float) -> SelfTest:
    """Split the runs of each benchmark in two, as if they were versions."""
    benchmarks = match(table, table).benchmarks
    values = {name: _in_order(each.runs[0], table.reader) for name, each in benchmarks.items()}
    chosen = {name: each for name, each in benchmarks.items() if len(values[name]) >= FEWEST_RUNS}
    series = [(-1.0 if each.larger_is_better else 1.0) * np.log(values[name]) for name, each in chosen.items()]
    if not series:
        most = max(map(len, values.values()))
        raise DataError(
            f"{table.source}: {most} run{'s' if most != 1 else ''} of a benchmark, and {FEWEST_RUNS} at least are "
            "needed to see how they differ; --self-test --run measures them"
        )
    estimates, in_turn, any_in_turn = _split_at_random(series, limit)
    columns = {
        "benchmark": chosen,
        "runs": [len(y) for y in series],
        "noise": [_spread(y - np.median(y)) for y in series],
        "noise_of_neighbours": [_spread(np.diff(y)) / math.sqrt(2.0) for y in series],
        "slower_in_turn": in_turn.tolist(),
        "slower_one_after_other": [_welch(y, math.log(limit)) for y in series],
        "rounds": [rounds or None for rounds in estimates.rounds_that_decide(math.log(limit)).tolist()],
        "smallest_effect": _smallest_effects(list(chosen.values()), math.log(limit)).tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return SelfTest(table.source, limit, any_in_turn, rows, [name for name in benchmarks if name not in chosen])


def _smallest_effects(benchmarks: list[Benchmark], log_limit: float) -> Floats:
    """Slowdown that a further session shows with 80% probability against all sessions so far."""
    from scipy.special import stdtrit

    orders = [detect_run_order(*each.runs, False, "sessions") for each in benchmarks]
    noise, number = np.array([[order.noise[0], order.runs[0]] for order in orders]).T
    times = np.array([np.median(each.runs[0].value) * (seconds_per(each.unit) or 0.0) or 1e-3 for each in benchmarks])
    one, other = (Sessions([order.first[:most] for order in orders], noise, number) for most in (None, 1))
    estimates, _ = session_test(one, other, times)
    quantiles = stdtrit(estimates.freedom, _SURE) + stdtrit(estimates.freedom, _LIKELY)
    return np.expm1(np.maximum(log_limit, estimates.least) + quantiles * estimates.standard_error)


def _in_order(runs: Runs, reader: str) -> Floats:
    """Values of the runs in order of time, or of rounds and files; of many files the medians."""
    sessions = len(np.unique(runs.session))
    if sessions >= FEWEST_RUNS or (reader in _OF_ONE_PROCESS and sessions > 1):
        return runs.medians(runs.session)[1]
    if np.isfinite(runs.order).all() or np.isnan(runs.round).any():
        return runs.in_time().value
    return runs.medians(runs.round)[1]
