"""Histories of benchmarks: a file that grows with each commit, and the verdict whether any became slower lately."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_gate.benchmark_files import rows_of
from perf_gate.benchmark_runs import (
    TABLES,
    TEXTS,
    LongTable,
    better_of,
    case_columns,
    computed_rows,
    conversion,
    names_of_rows,
    of_others,
)
from perf_gate.change_detection import (
    DOUBLE,
    FEWEST_AFTER,
    FEWEST_VALUES,
    LEVEL,
    WINDOW,
    Detected,
    Found,
    Step,
    change_of,
    gradual_change,
    look_elsewhere,
    look_for_steps,
    newest_step,
)
from perf_statistics.gating import Outcome, benjamini_hochberg, holm
from perfcore.base import pd, progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.base.files import alone, check_folder, write_bytes
from perfcore.report import Result

_SPACINGS = 3.0  # times the usual distance between its commits, after which a benchmark has ended
_FEWEST_OF_SUITE = 3  # benchmarks
_TOGETHER, _OWN = 6, 2.0  # commits from the suite's step and times its size, up to which a benchmark's step is the same


@dataclass(frozen=True, repr=False)
class Added(Result):
    """What was added to a history."""

    reporter: ClassVar[str] = "perf_gate.answers:report_of_added"
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
    prefixes = [f"{key}=" if table.labels[key].dtype.kind in "iuf" else "" for key in table.keys]
    names = names_of_rows(table, table.keys, prefixes)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    groups = table.runs["value"].groupby([names, table.runs["machine"]], sort=False, observed=True)
    first, medians = table.runs.loc[groups.head(1).index, TEXTS].astype(str), groups.median()
    return [
        {
            **{"commit": commit, "benchmark": str(name), "value": float(median)},
            **{"unit": about[0], "better": better_of(*about)},
            **{"machine": machine or str(where), "started": now},
        }
        for (name, where), median, about in zip(medians.index, medians, first.to_numpy().tolist(), strict=True)
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
    machines: tuple[str, ...]  # empty texts if they are not named

    @cached_property
    def logs(self) -> Floats:
        """Logarithms in which slower is larger (T,)."""
        logs: Floats = np.log(self.values)
        return -logs if self.larger_is_better else logs

    @property
    def machine_effects(self) -> Floats | None:
        """Indicators of all machines but the most used (q, T); None for one machine."""
        names, counts = np.unique(self.machines, return_counts=True)
        if len(names) < 2:
            return None
        others = names[np.argsort(-counts, kind="stable")][1:]
        return np.stack([np.array(self.machines) == name for name in others]).astype(float)

    def window(self, begin: int) -> int:
        """Return how many values are of the commit at `begin` or later ones."""
        return int((self.places >= begin).sum())

    def has_ended(self, commits: int) -> bool:
        """Whether none of the newest of so many commits measured it, nor by its own spacing should have."""
        spacing = float(np.median(np.diff(self.places))) if len(self.places) > 1 else 1.0
        return bool(commits - 1 - self.places[-1] >= max(WINDOW, _SPACINGS * spacing))


def series_of(table: LongTable, commit: str) -> tuple[list[CommitSeries], list[str], list[str]]:
    """Return the series of all benchmarks, all commits in order, and what is left out because its units differ.

    Commits are in the order of time if a column has it, otherwise in that of the file; several runs of a commit on a
    machine become their median.
    """
    if commit not in table.labels.columns:
        raise UnknownNameError(f"column of {table.source}", commit, table.labels.columns)
    names = names_of_rows(table, [commit], [""], several=False)
    if (blank := names == "").any():
        raise DataError(f"{table.source}: row {int(blank.to_numpy().argmax())} names no {commit}")
    runs = table.runs.assign(commit=names, benchmark=_benchmarks(table, commit))
    commits = _in_order(runs, table.source)
    place_of = {name: place for place, name in enumerate(commits)}
    runs["place"] = np.array([place_of[name] for name in names.cat.categories])[names.cat.codes]
    runs["machine"] = runs["machine"].astype(str)
    left_out: list[str] = []
    runs = _in_one_unit(runs, left_out)
    ordered = runs[["benchmark", "place"]].sort_values("place", kind="stable")
    newest = runs.loc[ordered.drop_duplicates("benchmark", keep="last").index]
    about = dict(zip(newest["benchmark"].astype(str), newest[TEXTS].astype(str).to_numpy().tolist(), strict=True))
    order = {name: place for place, name in enumerate(runs["benchmark"].unique().tolist())}
    keys = ["benchmark", "place", "machine"]
    runs = runs[[*keys, "value"]]
    if runs.duplicated(keys).any():
        runs = runs.groupby(keys, sort=False, observed=True)["value"].median().reset_index()
    runs = runs.sort_values(["place", "machine"], kind="stable")
    values, places, machines = (runs[key].to_numpy() for key in ("value", "place", "machine"))
    all_series = []
    for name, rows in runs.groupby("benchmark", sort=False, observed=True).indices.items():
        unit, better, metric = about[str(name)]
        own = places[rows].astype(np.int64)
        larger = better_of(unit, better, metric) == "larger"
        own_commits, own_machines = tuple(commits[k] for k in own.tolist()), tuple(machines[rows].tolist())
        all_series.append(
            CommitSeries(str(name), own_commits, own, values[rows].astype(float), larger, unit, own_machines)
        )
    return sorted(all_series, key=lambda series: order[series.name]), commits, left_out


def _in_one_unit(runs: pd.DataFrame, left_out: list[str]) -> pd.DataFrame:
    """Return values in the newest unit of their benchmark; those of other quantities are left out and listed."""
    several = runs.groupby("benchmark", sort=False, observed=True)["unit"].nunique()
    for name in several[several > 1].index:
        own = runs["benchmark"] == name
        units = runs.loc[own].sort_values("place", kind="stable")["unit"].unique().tolist()
        factors = {unit: conversion(unit, units[-1]) for unit in units}
        if None in factors.values():
            left_out.append(f"{name} ({listing([unit or 'no unit' for unit in units], 3)})")
            runs = runs[~own]
            continue
        runs.loc[own, "value"] *= runs.loc[own, "unit"].map(factors).astype(float)
        runs.loc[own, "unit"] = units[-1]
    return runs


def _benchmarks(table: LongTable, commit: str) -> pd.Series:
    """Return the name of each row's benchmark: by columns that differ, and by the metric if there are several."""
    candidates = [key for key in table.keys if key != commit]
    if table.reader in TABLES and commit in table.labels:
        ends = table.labels[commit].iloc[[0, -1]]
        sides = [table.labels[table.labels[commit] == end] for end in ends]
        candidates += case_columns(sides, candidates, {commit, *table.runs["metric"].astype(str)})
    keys = [key for key in candidates if table.labels[key].nunique(dropna=False) > 1]
    texts = [key for key in candidates if table.labels[key].dtype.kind not in "iuf"]
    keys = keys or [key for key in texts if key.lower() == "benchmark"] or texts[:1]
    return names_of_rows(table, keys, [""] * len(keys))


def _in_order(runs: pd.DataFrame, source: str) -> list[str]:
    """Return commits in the order of time, or of the file."""
    listed: list[str] = runs["commit"].unique().tolist()
    if not runs["order"].notna().all():
        changes = int((runs["commit"] != runs["commit"].shift()).groupby(runs["benchmark"], observed=True).sum().max())
        if changes > 2 * len(listed):
            raise DataError(
                f"{source}: commits are mixed and have no order. Add a column with dates, such as timestamp"
            )
        if changes > len(listed):
            progress.note(
                f"{source}: commits come back; assumed the order of their first rows. A column of dates sets it"
            )
        return listed
    first = runs.groupby("commit", observed=True)["order"].min()
    ordered: list[str] = first.sort_values(kind="stable").index.tolist()
    if ordered != listed:
        progress.note(f"{source}: commits are not in the order of time, and were put into it")
    return ordered


@dataclass(frozen=True)
class JudgedSeries:
    """A benchmark's history and what it holds."""

    series: CommitSeries
    detected: Detected | None  # None if there are fewer values than can be judged
    alarm: Step | None  # the newest change to slower that is new, a step or gradual
    newest: tuple[float, float]  # how many times as slow the newest value is as expected, and in standard deviations
    outcome: Outcome
    unclear: Step | None = None  # a step that a random walk explains equally well

    @property
    def changes(self) -> tuple[Step, ...]:
        """Steps, and the gradual change to the newest value."""
        steps = () if self.detected is None else self.detected.steps
        return (*steps, self.alarm) if self.alarm is not None and self.alarm.is_gradual else steps

    def commit_of(self, step: Step) -> str:
        """First commit after a step."""
        return self.series.commits[step.place]

    def between(self, step: Step) -> tuple[str, str]:
        """Commits between which a step is, with 95% confidence."""
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

    reporter: ClassVar[str] = "perf_gate.answers:report_of_history"
    json_kind: ClassVar[str] = "gate"

    source: str
    commits: tuple[str, ...]  # all, in order
    judged: tuple[JudgedSeries, ...]  # those that fail first
    suite: JudgedSeries | None  # the median over all benchmarks, commit by commit
    ended: tuple[tuple[str, str], ...]  # benchmarks that are no longer measured, and their last commits
    left_out: tuple[str, ...]  # benchmarks whose values are of different quantities
    computed: tuple[str, ...]  # rows that the others give, such as a total
    since: str | None  # changes after this commit are new; None for the last 12 commits
    threshold: float  # how many times as slow a change must be to fail
    missing_fails: bool  # whether a benchmark that ended fails
    undecided: Outcome  # what undecided counts as

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def outcome(self) -> Outcome:
        """Verdict on all benchmarks and their suite; inconclusive if none can be judged."""
        if self.missing_fails and self.ended:
            return Outcome.FAILED
        judged = [*self.judged, *([] if self.suite is None else [self.suite])]
        outcomes = {each.outcome for each in judged if each.detected is not None}
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
        for each in [*([] if self.suite is None else [self.suite]), *self.judged]:
            change = f"newest value {each.newest[0] - 1.0:+z.1%}, {each.newest[1]:.1f} sigma"
            if (step := each.alarm or each.unclear) is not None:
                change = f"{change_of(step.size):+z.1%} since {each.commit_of(step)}"
            cases.append((each.series.name, each.outcome.value, change))
        return cases

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome.value,
            "since": self.since,
            "slower_than": self.threshold,
            "suite": None if self.suite is None else self.suite.to_dict(),
            "series": [each.to_dict() for each in self.judged],
            "ended": [{"benchmark": name, "last": commit} for name, commit in self.ended],
            "left_out": list(self.left_out),
            "computed": list(self.computed),
        }


def gate_series(
    table: LongTable,
    commit: str,
    *,
    since: str | None = None,
    threshold: float = 1.0,
    missing_fails: bool = False,
    undecided: Outcome = Outcome.UNDECIDED,
    parallel: str | None = None,
) -> HistoryGate:
    """Judge whether benchmarks became slower lately."""
    every, commits, left_out = series_of(table, commit)
    if not every:
        raise DataError(f"{table.source}: holds no history{' in one unit' if left_out else ''}")
    begin = len(commits) - WINDOW if since is None else commits.index(_commit(since, commits, table.source)) + 1
    ended = {series.name: series.commits[-1] for series in every if series.has_ended(len(commits))}
    sides: dict[tuple[int, str], dict[str, float]] = {}
    for series in every if any(of_others(series.name) for series in every) else ():
        for place, machine, value in zip(series.places.tolist(), series.machines, series.values.tolist(), strict=True):
            sides.setdefault((place, machine), {})[series.name] = value
    computed = computed_rows(sides.values())
    live = [series for series in every if series.name not in ended and series.name not in computed]
    judged, suite = judge_all(live, commits, begin, threshold, parallel)
    rank = {Outcome.FAILED: 0, Outcome.UNDECIDED: 1, Outcome.PASSED: 2}
    effects = {each.series.name: each.alarm.size if each.alarm else math.log(each.newest[0]) for each in judged}
    judged.sort(key=lambda each: (each.detected is None, rank[each.outcome], -effects[each.series.name]))
    return HistoryGate(
        source=table.source,
        commits=tuple(commits),
        judged=tuple(judged),
        suite=suite,
        ended=tuple(ended.items()),
        left_out=tuple(left_out),
        computed=computed,
        since=since,
        threshold=threshold,
        missing_fails=missing_fails,
        undecided=undecided,
    )


def judge_all(
    all_series: list[CommitSeries], commits: list[str], begin: int, threshold: float, parallel: str | None = None
) -> tuple[list[JudgedSeries], JudgedSeries | None]:
    """Judge each benchmark and all together, whose step is no benchmark's own; changes from a commit on are new."""
    series = _suite(all_series, commits, begin)
    suite = None if series is None else _judge([series], begin, threshold, len(commits), is_suite=True)[0]
    judged = _judge(all_series, begin, threshold, len(commits), parallel=parallel)
    return [_without_common_step(each, suite) for each in judged], suite


def _suite(all_series: list[CommitSeries], commits: list[str], begin: int) -> CommitSeries | None:
    """Return the median over benchmarks of their changes from their own levels, for each commit that most have."""
    if len(all_series) < _FEWEST_OF_SUITE:
        return None
    changes = np.full((len(all_series), len(commits)), np.nan)
    for k, series in enumerate(all_series):
        machines = np.array(series.machines)
        for machine in np.unique(machines):
            own = machines == machine
            places, logs = series.places[own], series.logs[own]
            is_old = places < begin
            changes[k, places] = logs - np.median(logs[is_old] if is_old.sum() >= _FEWEST_OF_SUITE else logs)
    counts = np.isfinite(changes).sum(axis=0)
    places = np.flatnonzero(counts >= max(_FEWEST_OF_SUITE, 0.5 * float(np.median(counts))))
    if len(places) < FEWEST_VALUES:
        return None
    values = np.exp(np.nanmedian(changes[:, places], axis=0))
    names = tuple(commits[k] for k in places.tolist())
    return CommitSeries("all benchmarks", names, places, values, False, "", ("",) * len(places))


def _judge(
    all_series: list[CommitSeries], begin: int, threshold: float, commits: int, *, is_suite: bool = False,
    parallel: str | None = None,
) -> list[JudgedSeries]:  # fmt: skip
    """Judge changes from the commit at `begin` on: of one benchmark lasting ones, of all together also passing ones."""
    limit = math.log(threshold)
    found = _found(all_series, begin, parallel)
    judged_at = list(found)
    steps = {k: newest_step(found[k][0], all_series[k].window(begin), limit) for k in judged_at}
    probabilities = np.array([1.0 if (step := steps[k]) is None else step.probability for k in judged_at])
    sure = dict(zip(judged_at, (benjamini_hochberg(probabilities) <= LEVEL).tolist(), strict=True))
    newest = {k: _newest_value(all_series[k], found[k][0]) for k in judged_at}
    at_newest = [k for k in judged_at if all_series[k].places[-1] == commits - 1]
    unusual = {k for k, p in zip(at_newest, holm(np.array([newest[k][2] for k in at_newest])), strict=True)
               if p <= LEVEL}  # fmt: skip
    judged = []
    for k, series in enumerate(all_series):
        if k not in found:
            judged.append(JudgedSeries(series, None, None, (math.nan, math.nan), Outcome.UNDECIDED))
            continue
        detected, unclear = found[k]
        alarm = steps[k] if sure[k] else None
        if alarm is not None and not is_suite:
            few = len(series.values) - alarm.place < FEWEST_AFTER
            if few and alarm.size < DOUBLE:  # it may be a disturbance that passes
                unclear, alarm = alarm, None
        unclear = unclear if unclear is not None and unclear.size > limit else None
        if alarm is None and series.places[-1] >= begin:
            slope = gradual_change(series.logs, detected, LEVEL / len(judged_at), series.machine_effects)
            alarm = slope if slope is not None and slope.size > limit else None
        ratio, sigma, _ = newest[k]
        is_open = unclear is not None or (k in unusual and ratio > threshold)
        outcome = Outcome.FAILED if alarm is not None else Outcome.UNDECIDED if is_open else Outcome.PASSED
        judged.append(
            JudgedSeries(series, detected, alarm, (ratio, sigma), outcome, unclear if alarm is None else None)
        )
    return judged


def _without_common_step(judged: JudgedSeries, suite: JudgedSeries | None) -> JudgedSeries:
    """Return a series without the alarm of a step that all benchmarks make together, which is the suite's."""
    alarm, common = judged.alarm, None if suite is None else suite.alarm
    if alarm is None or suite is None or common is None:
        return judged
    distance = int(judged.series.places[alarm.place] - suite.series.places[common.place])
    if abs(distance) > _TOGETHER or alarm.size > _OWN * common.size:
        return judged
    return replace(judged, alarm=None, outcome=Outcome.PASSED)


def _found(all_series: list[CommitSeries], begin: int, parallel: str | None) -> dict[int, tuple[Detected, Step | None]]:
    """Return what series hold that can be judged, by number, found here or by workers."""
    effects = (each.machine_effects for each in all_series)
    tasks = (  # one at a time
        (each.logs.tolist(), None if own is None else own.tolist(), each.window(begin))
        for each, own in zip(all_series, effects, strict=True)
    )
    if parallel is None:
        found = [look_for_steps(*task) for task in tasks]
    else:
        from perf_tables.executors import executor_of, in_order

        names = [each.name for each in all_series]
        with executor_of(parallel) as executor:
            answers = in_order(executor, look_elsewhere, tasks, names)
            found = [msgspec.json.decode(answer, type=Found, dec_hook=lambda _, x: np.array(x)) for answer in answers]
    return {k: one for k, one in enumerate(found) if one is not None}


def _newest_value(series: CommitSeries, detected: Detected) -> tuple[float, float, float]:
    """Return the ratio of the newest value to its expectation, in standard deviations, and the probability of more."""
    from scipy.special import stdtr

    noise, memory = detected.noise, detected.noise.autocorrelation
    rest = series.logs[-2:] - detected.levels[-2:]
    before = 0.0 if len(series.logs) - 2 in detected.outliers else memory * float(rest[0])
    distance = float(rest[1]) - before
    sigma = distance / max(noise.spread * math.sqrt(max(1.0 - memory**2, 0.05)), 1e-9)
    return math.exp(distance), sigma, float(stdtr(max(3, len(series.logs) - 4), -sigma))


def _commit(commit: str, commits: list[str], source: str) -> str:
    """A commit by its name, or by how it alone begins."""
    if commit in commits:
        return commit
    like = [name for name in commits if name.startswith(commit)]
    if commit and len(like) == 1:
        return like[0]
    raise UnknownNameError(f"commit of {source}", commit, commits)
