"""A long table with commits becomes one series for each benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_gate.reading.cases import case_columns
from perf_gate.reading.long_table import TABLES, LongTable, better_of
from perf_gate.reading.matching import text_of
from perfcore.base import progress
from perfcore.base.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CommitSeries:
    """Values of one benchmark, commit by commit."""

    name: str
    commits: tuple[str, ...]
    places: npt.NDArray[np.int64]  # of these commits in the order of all
    values: Floats  # medians of the runs of a commit on a machine
    larger_is_better: bool
    unit: str
    machines: tuple[str, ...]  # empty texts where nobody names them

    @property
    def logs(self) -> Floats:
        """Logarithms in which slower is larger (T,)."""
        logs: Floats = np.log(self.values)
        return -logs if self.larger_is_better else logs

    @property
    def machine_effects(self) -> Floats | None:
        """Indicators of all machines but the most used (q, T); None of one."""
        names, counts = np.unique(self.machines, return_counts=True)
        if len(names) < 2:
            return None
        others = names[np.argsort(-counts, kind="stable")][1:]
        return np.stack([np.array(self.machines) == name for name in others]).astype(float)


def series_of(
    table: LongTable, commit: str, machine: str | None = None, better: str | None = None
) -> tuple[list[CommitSeries], list[str]]:
    """The series of all benchmarks, and all commits in order.

    Commits are in the order of time where a column says it, otherwise in that of the file; several runs of a commit on
    a machine become their median.
    """
    for column in (commit, machine):
        if column is not None and column not in table.labels.columns:
            raise UnknownNameError(f"column of {table.source}", column, table.labels.columns)
    blank = table.labels[commit].isna() | (table.labels[commit].astype(str).str.strip() == "")
    if blank.any():
        raise DataError(f"{table.source}: row {int(blank.to_numpy().argmax())} names no {commit}")
    names = table.labels[commit].map(text_of)
    runs = table.runs.assign(
        commit=names,
        benchmark=_benchmarks(table, commit, machine),
        machine=table.runs["machine"] if machine is None else table.labels[machine].astype(str),
    )
    commits = _in_order(runs, table.source)
    places = {name: place for place, name in enumerate(commits)}
    all_series = []
    for name, group in runs.groupby("benchmark", sort=False):
        units = group["unit"].unique().tolist()
        if len(units) > 1:
            raise DataError(f"{table.source}: {name} is in {units[0] or 'no unit'} and {units[1] or 'no unit'}")
        medians = group.groupby(["commit", "machine"], sort=False)["value"].median().reset_index()
        medians = medians.assign(place=medians["commit"].map(places)).sort_values(["place", "machine"], kind="stable")
        all_series.append(
            CommitSeries(
                name=str(name),
                commits=tuple(medians["commit"]),
                places=medians["place"].to_numpy(dtype=np.int64),
                values=medians["value"].to_numpy(dtype=float),
                larger_is_better=(better or better_of(group)) == "larger",
                unit=str(units[0]),
                machines=tuple(medians["machine"].astype(str)),
            )
        )
    return all_series, commits


def _benchmarks(table: LongTable, commit: str, machine: str | None) -> pd.Series:
    """What each row's benchmark is called: by columns that differ, and by the metric where there are several."""
    candidates = [key for key in table.keys if key not in (commit, machine)]
    if table.reader in TABLES and commit in table.labels:
        ends = table.labels[commit].iloc[[0, -1]]
        sides = [table.labels[table.labels[commit] == end] for end in ends]
        candidates += case_columns(sides, candidates, {commit, machine or "", *table.runs["metric"].astype(str)})
    keys = [key for key in candidates if table.labels[key].nunique(dropna=False) > 1]
    keys = keys or [key for key in candidates if table.labels[key].dtype.kind not in "iuf"][:1]
    several = table.runs["metric"].nunique() > 1
    parts = [table.labels[key].map(text_of) for key in keys] + ([table.runs["metric"]] if several or not keys else [])
    names: pd.Series = parts[0]
    for part in parts[1:]:
        names = names + " " + part
    return names


def _in_order(runs: pd.DataFrame, source: str) -> list[str]:
    """Commits in the order of time, or of the file."""
    listed = list(dict.fromkeys(runs["commit"]))
    changes = int((runs["commit"] != runs["commit"].shift()).groupby(runs["benchmark"]).sum().max())
    if not runs["order"].notna().all():
        if changes > 2 * len(listed):
            progress.note(f"{source}: runs of a commit stand apart; commits are taken in the order of their first rows")
        return listed
    ordered: list[str] = runs.groupby("commit")["order"].min().sort_values(kind="stable").index.tolist()
    if ordered != listed:
        progress.note(f"{source}: commits are not in the order of time, and were put into it")
    return ordered
