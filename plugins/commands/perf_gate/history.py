"""Histories of benchmarks: a file that grows with each commit, and the verdict whether any became slower lately."""

from __future__ import annotations

import datetime
import functools
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_gate.benchmark_files import rows_of
from perf_gate.benchmark_runs import TABLES, TEXTS, LongTable, better_of, case_columns, text_of
from perf_gate.change_detection import FEWEST_VALUES, Detected, Step, change_of, detect, gradual_change
from perf_statistics.gating import Outcome, benjamini_hochberg, holm
from perfcore.base import progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.base.files import alone, check_folder, write_bytes
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Added(Result):
    """What was added to a history."""

    json_kind: ClassVar[str] = "history"

    path: str
    commit: str
    benchmarks: tuple[str, ...]
    values: int  # that the file holds now

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


def rows_to_add(table: LongTable, commit: str, machine: str = "") -> list[dict[str, Any]]:
    """A row for each benchmark and machine of a long table: the median of its runs.

    Benchmarks are called by all columns that name them, so that a name does not depend on what else was measured.
    """
    parts = []
    for key in table.keys:
        texts = table.labels[key].map(text_of)
        parts.append(f"{key}=" + texts if table.labels[key].dtype.kind in "iuf" else texts)
    names = joined_names(table, parts)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    return [
        {
            **{"commit": commit, "benchmark": str(name), "value": float(runs["value"].median())},
            **{"unit": str(runs["unit"].iloc[0]), "better": better_of(*runs[TEXTS].astype(str).iloc[0])},
            **{"machine": machine or str(where), "started": now},
        }
        for (name, where), runs in table.runs.assign(benchmark=names).groupby(["benchmark", "machine"], sort=False)
    ]


def append_rows(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> Added:
    """Append rows to a file of JSON lines, all or none of them; it is made where it is not there."""
    new = [dict(row) for row in rows]
    if not new:
        raise DataError(f"{os.fspath(path)}: there is nothing to add")
    target = Path(path)
    if target.suffix.lower() not in (".jsonl", ".ndjson"):
        raise OptionError(f"{os.fspath(path)}: a history is kept in a file that ends in .jsonl")
    check_folder(path)
    with alone(path):
        old = [row for _, row in rows_of(target)] if target.is_file() else []
        units = {row.get("benchmark"): row.get("unit", "") for row in old}
        for row in new:
            if (unit := units.get(row["benchmark"], row["unit"])) != row["unit"]:
                raise DataError(f"{os.fspath(path)}: {row['benchmark']} is in {unit or 'no unit'}, not {row['unit']}")
        before = target.read_bytes() if target.is_file() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"
        write_bytes(path, before + b"".join(msgspec.json.encode(row) + b"\n" for row in new))
    names = tuple(dict.fromkeys(str(row["benchmark"]) for row in new))
    return Added(os.fspath(path), str(new[0]["commit"]), names, len(old) + len(new))


@dataclass(frozen=True)
class CommitSeries:
    """Values of one benchmark, commit by commit."""

    name: str
    commits: tuple[str, ...]
    places: npt.NDArray[np.int64]  # of these commits in the order of all
    values: Floats  # medians of the runs of a commit on a machine
    larger_is_better: bool
    unit: str
    machines: tuple[str, ...]  # empty texts where not named

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


def series_of(table: LongTable, commit: str, machine: str | None = None) -> tuple[list[CommitSeries], list[str]]:
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
                larger_is_better=better_of(*group[TEXTS].astype(str).iloc[0]) == "larger",
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
    return joined_names(table, [table.labels[key].map(text_of) for key in keys])


def joined_names(table: LongTable, parts: list[pd.Series]) -> pd.Series:
    """Parts of names row by row, with the metric where there are several or no parts."""
    if not parts or table.runs["metric"].nunique() > 1:
        parts = [*parts, table.runs["metric"]]
    return functools.reduce(lambda names, part: names + " " + part, parts)


def _in_order(runs: pd.DataFrame, source: str) -> list[str]:
    """Commits in the order of time, or of the file."""
    listed = list(dict.fromkeys(runs["commit"]))
    changes = int((runs["commit"] != runs["commit"].shift()).groupby(runs["benchmark"]).sum().max())
    if not runs["order"].notna().all():
        if changes > 2 * len(listed):
            raise DataError(
                f"{source}: commits are mixed and have no order. Add a column with dates, such as timestamp"
            )
        return listed
    ordered: list[str] = runs.groupby("commit")["order"].min().sort_values(kind="stable").index.tolist()
    if ordered != listed:
        progress.note(f"{source}: commits are not in the order of time, and were put into it")
    return ordered


WINDOW = 12  # of the last values, in which a change is new
LEVEL = 0.01  # of alarms of one look: 3 to 7 % of series without a change alarm in a hundred


@dataclass(frozen=True)
class JudgedSeries:
    """A benchmark's history and what it holds."""

    series: CommitSeries
    detected: Detected | None  # none of fewer values than can be judged
    alarm: Step | None  # the newest change to slower that is new, a step or gradual
    newest: tuple[float, float]  # how many times as slow the newest value is as expected, and in standard deviations
    outcome: Outcome

    @property
    def changes(self) -> tuple[Step, ...]:
        """Steps, and the gradual change to the newest value."""
        steps = () if self.detected is None else self.detected.steps
        return (*steps, self.alarm) if self.alarm is not None and self.alarm.is_gradual else steps

    def commit_of(self, step: Step) -> str:
        """First commit after a step."""
        return self.series.commits[step.place]

    def between(self, step: Step) -> tuple[str, str]:
        """Commits between which a step is, 95 % sure."""
        return self.series.commits[step.first], self.series.commits[step.last]

    def to_dict(self) -> dict[str, Any]:
        series, detected = self.series, self.detected
        content: dict[str, Any] = {"benchmark": series.name, "outcome": self.outcome.value, "values": len(series.logs)}
        if detected is None:
            return content
        steps = [
            {
                "commit": self.commit_of(step),
                "between": self.between(step),
                "change": change_of(step.size),
                "bounds": [change_of(step.lower), change_of(step.upper)],
                "p": step.probability,
                "new": step == self.alarm,
                "gradual": step.is_gradual,
            }
            for step in self.changes
        ]
        return {
            **content,
            "steps": steps,
            "outliers": [series.commits[k] for k in detected.outliers],
            "noise": detected.noise.spread,
            "autocorrelation": detected.noise.autocorrelation,
            "level_drifts": detected.noise.drifts,
            "would_be_seen": change_of(detected.sight),
            "newest": {"change": self.newest[0] - 1.0, "sigma": self.newest[1]},
        }


@dataclass(frozen=True, repr=False)
class HistoryGate(Result):
    """Verdicts on the histories of n benchmarks."""

    json_kind: ClassVar[str] = "gate"

    source: str
    judged: tuple[JudgedSeries, ...]  # those that fail first
    since: str | None  # changes after this commit are new; None for the last 12 values
    threshold: float  # how many times as slow a change must be to fail
    undecided: Outcome  # what undecided counts as

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def outcome(self) -> Outcome:
        """Of all that can be judged together; inconclusive where none can."""
        outcomes = {each.outcome for each in self.judged if each.detected is not None}
        order = (Outcome.FAILED, Outcome.UNDECIDED, Outcome.PASSED)
        return next((outcome for outcome in order if outcome in outcomes), Outcome.UNDECIDED)

    @property
    def status(self) -> int:
        """Exit status: 0 pass, 1 fail, 3 inconclusive."""
        return (self.undecided if self.outcome is Outcome.UNDECIDED else self.outcome).status

    @property
    def cases(self) -> list[tuple[str, str, str]]:
        """Name, outcome and change of each benchmark, as a test of a suite."""
        cases = []
        for each in self.judged:
            step = each.alarm
            change = f"newest value {each.newest[0] - 1.0:+.1%}, {each.newest[1]:.1f} sigma"
            if step is not None:
                change = f"{change_of(step.size):+.1%} since {each.commit_of(step)}"
            cases.append((each.series.name, each.outcome.value, change))
        return cases

    def to_dict(self) -> dict[str, Any]:
        series = [each.to_dict() for each in self.judged]
        facts = {"outcome": self.outcome.value, "since": self.since, "slower_than": self.threshold}
        return {**facts, "series": series}


def gate_history(
    table: LongTable,
    commit: str,
    *,
    since: str | None = None,
    threshold: float = 1.0,
    machine: str | None = None,
    undecided: Outcome = Outcome.UNDECIDED,
) -> HistoryGate:
    """Judge whether benchmarks became slower lately."""
    all_series, commits = series_of(table, commit, machine)
    if not all_series:
        raise DataError(f"{table.source}: holds no history")
    after = None if since is None else commits.index(_commit(since, commits, table.source)) + 1
    detections = [
        detect(each.logs, LEVEL, each.machine_effects) if len(each.logs) >= FEWEST_VALUES else None
        for each in all_series
    ]
    steps = [
        None if one is None else _newest(one, each, after, threshold)
        for one, each in zip(detections, all_series, strict=True)
    ]
    judged_at = [k for k, one in enumerate(detections) if one is not None]
    probabilities = np.array([1.0 if (s := steps[k]) is None else s.probability for k in judged_at])
    sure = dict(zip(judged_at, (benjamini_hochberg(probabilities) <= LEVEL).tolist(), strict=True))
    newest = {k: _newest_value(all_series[k], one) for k, one in enumerate(detections) if one is not None}
    unusual = dict(zip(newest, holm(np.array([each[2] for each in newest.values()])) <= LEVEL, strict=True))
    judged = []
    for k, (series, one, step) in enumerate(zip(all_series, detections, steps, strict=True)):
        if one is None:
            judged.append(JudgedSeries(series, None, None, (math.nan, math.nan), Outcome.UNDECIDED))
            continue
        alarm = step if sure[k] else None
        if alarm is None and (
            slope := gradual_change(series.logs, one, LEVEL / len(judged_at), series.machine_effects)
        ):
            is_new = after is None or series.places[-1] >= after
            alarm = slope if is_new and slope.size > math.log(threshold) else None
        ratio, sigma, _ = newest[k]
        outcome = Outcome.FAILED if alarm is not None else Outcome.PASSED
        if alarm is None and unusual[k] and ratio > threshold:
            outcome = Outcome.UNDECIDED
        judged.append(JudgedSeries(series, one, alarm, (ratio, sigma), outcome))
    rank = {Outcome.FAILED: 0, Outcome.UNDECIDED: 1, Outcome.PASSED: 2}
    judged.sort(key=lambda each: (each.detected is None, rank[each.outcome], -_effect(each)))
    return HistoryGate(table.source, tuple(judged), since, threshold, undecided)


def _effect(each: JudgedSeries) -> float:
    return math.log(each.newest[0]) if each.alarm is None else each.alarm.size


def _newest_value(series: CommitSeries, detected: Detected) -> tuple[float, float, float]:
    """Ratio of the newest value to its expectation, in standard deviations, and the probability of more."""
    from scipy.special import stdtr

    noise, memory = detected.noise, detected.noise.autocorrelation
    rest = series.logs[-2:] - detected.levels[-2:]
    before = 0.0 if len(series.logs) - 2 in detected.outliers else memory * float(rest[0])
    distance = float(rest[1]) - before
    sigma = distance / max(noise.spread * math.sqrt(max(1.0 - memory**2, 0.05)), 1e-9)
    return math.exp(distance), sigma, float(stdtr(max(3, len(series.logs) - 4), -sigma))


def _newest(detected: Detected, series: CommitSeries, after: int | None, threshold: float) -> Step | None:
    """The newest change to slower that is new."""
    begin = len(series.logs) - WINDOW if after is None else int(np.searchsorted(series.places, after))
    new = [step for step in detected.steps if step.place >= begin and step.size > math.log(threshold)]
    return max(new, key=lambda step: step.place, default=None)


def _commit(commit: str, commits: list[str], source: str) -> str:
    """A commit by its name, or by how it alone begins."""
    if commit in commits:
        return commit
    like = [name for name in commits if name.startswith(commit)]
    if commit and len(like) == 1:
        return like[0]
    raise UnknownNameError(f"commit of {source}", commit, commits)
