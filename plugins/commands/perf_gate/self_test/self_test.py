"""Runs of one version become a statement about the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_gate.reading.long_table import LongTable
from perf_gate.reading.matching import match
from perf_gate.self_test.chances import FEWEST_RUNS, Chances, chances_of
from perfcore.base.errors import DataError
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


Floats = npt.NDArray[np.float64]

_OF_ONE_PROCESS = ("pytest-benchmark",)  # values of a file are iterations, which say nothing of how runs differ


@dataclass(frozen=True, repr=False)
class SelfTest(Result):
    """What runs of one version say about the machine, benchmark by benchmark.

    Parameters
    ----------
    source : str
    benchmarks : tuple of str
    runs : (n,) int
        Of each.
    limit : float
        How many times as slow is too slow.
    chances : Chances
    left_out : tuple of str
        Benchmarks of fewer runs than are needed.
    """

    source: str
    benchmarks: tuple[str, ...]
    runs: npt.NDArray[np.int64]
    limit: float
    chances: Chances
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        """How many benchmarks."""
        return len(self.benchmarks)

    @property
    def status(self) -> int:
        """Exit status: it is no verdict."""
        return 0

    @property
    def cases(self) -> list[tuple[str, str, str]]:
        """None: it is no verdict."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        chances = self.chances
        return {
            "source": self.source,
            "slower_than": self.limit,
            "any_in_turn": chances.any_in_turn,
            "benchmarks": [
                {
                    "benchmark": name,
                    "runs": int(self.runs[k]),
                    "noise": float(chances.noise[k]),
                    "noise_of_neighbours": float(chances.next_noise[k]),
                    "slower_in_turn": float(chances.in_turn[k]),
                    "slower_one_after_other": float(chances.one_after_other[k]),
                    "rounds": int(chances.rounds[k]) or None,
                }
                for k, name in enumerate(self.benchmarks)
            ],
            "left_out": list(self.left_out),
        }


def self_test(table: LongTable, limit: float) -> SelfTest:
    """Split the runs of each benchmark in two, as if they were versions."""
    matched = match(table, table)
    series, counts, left_out = {}, {}, []
    for name in matched.names:
        values = _in_order(matched.runs[0][name], table.reader)
        counts[name] = len(values)
        if len(values) < FEWEST_RUNS:
            left_out.append(name)
            continue
        logs = np.log(values)
        series[name] = -logs if matched.larger_is_better[name] else logs
    if not series:
        most = max(counts.values())
        raise DataError(
            f"{table.source}: {most} run{'s' if most != 1 else ''} of a benchmark, and {FEWEST_RUNS} at least are "
            "needed to see how they differ; --self-test --run measures them"
        )
    return SelfTest(
        source=table.source,
        benchmarks=tuple(series),
        runs=np.array([counts[name] for name in series]),
        limit=limit,
        chances=chances_of(list(series.values()), limit),
        left_out=tuple(left_out),
    )


def _in_order(runs: pd.DataFrame, reader: str) -> Floats:
    """Values of the runs in order of time, or of rounds and files; iterations of a file or round are one run."""
    if reader in _OF_ONE_PROCESS or runs["session"].nunique() > 1:
        values = runs.groupby("session")["value"].median()
    elif runs["order"].notna().all():
        values = runs.sort_values("order", kind="stable")["value"]
    elif runs["round"].notna().all():
        values = runs.groupby("round")["value"].median()
    else:
        values = runs["value"]
    return np.asarray(values, dtype=np.float64)
