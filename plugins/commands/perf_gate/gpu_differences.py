"""Which operators, kernels or shapes make two GPU traces differ: ``perf compare old.json new.json --by operator``.

Times of rows add up to the difference of GPU work; with those of overlap and of idle time by cause they add up to that
of the elapsed time. Steps, where markers tell them, give Welch's interval of each row, judged by Holm's procedure.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from perf_io.traces.gpu_activity import GpuActivity, read_gpu_activity
from perf_statistics.gating import holm
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError
from perfcore.data.units import readable
from perfcore.report import Figure, Note, Report, Result
from perfcore.tables import Column, Table

_LEVEL, _LEAST_STEPS = 0.05, 3
_MOST_ROWS, _LETTERS = 9, 60


@dataclass(frozen=True, eq=False, repr=False)
class GpuDifference(Result):
    """Differences of two GPU traces; times in nanoseconds."""

    reporter: ClassVar[str] = "perf_gate.gpu_differences:_report"
    json_kind: ClassVar[str] = "gpu_difference"

    by: str
    names: tuple[str, str]
    files: tuple[str, str]
    rows: tuple[dict[str, Any], ...]  # by the size of the difference
    elapsed: tuple[float, float]
    parts: dict[str, tuple[float, float]]  # GPU work, overlap (negative) and idle times: they add up to elapsed
    work_interval: tuple[float, float, float] | None  # difference of work of each step, with its 95% interval
    steps: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, tuple[int, float]]:
        """Number of names that are new, gone or in both, and their differences."""
        found = dict.fromkeys(("new", "gone", "in both"), (0, 0.0))
        for row in self.rows:
            change = "in both" if row["change"] == "changed" else row["change"]
            found[change] = found[change][0] + 1, found[change][1] + row["difference_ns"]
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by, "old": self.files[0], "new": self.files[1], "rows": list(self.rows),
            "totals_ns": {name: list(pair) for name, pair in self.totals.items()},
            "elapsed_ns": list(self.elapsed), "parts_ns": {name: list(pair) for name, pair in self.parts.items()},
            "work_per_step_ns": self.work_interval and list(self.work_interval), "steps": list(self.steps),
            "notes": list(self.notes),
        }  # fmt: skip


def compare_gpu_traces(old: Any, new: Any, names: tuple[str, str], by: str | None) -> GpuDifference | None:
    """Compare two files; None where they are no GPU traces and nothing asks for them to be."""
    paths = [side for side in (old, new) if isinstance(side, (str, os.PathLike))]
    read = [read_gpu_activity(path) for path in paths]
    first, second = read if len(read) == 2 else (None, None)
    if first is None or second is None:
        if by is None:
            return None
        lacking = [os.fspath(path) for path, activity in zip(paths, read, strict=True) if activity is None]
        raise DataError(f"{(lacking or ['data in memory'])[0]}: --by {by} needs files of two GPU traces")
    notes = [f"{name}: {note}" for name, side in zip(("old", "new"), read, strict=True) if side for note in side.notes]
    if by is None:
        by = "operator" if first.has_operators and second.has_operators else "kernel"
    elif by != "kernel" and not (first.has_operators and second.has_operators):
        raise DataError(f"--by {by}: operators are not recorded in both; use --by kernel")
    return differences((first, second), names, by, tuple(notes))


def differences(
    sides: tuple[GpuActivity, GpuActivity], names: tuple[str, str], by: str, notes: tuple[str, ...]
) -> GpuDifference:
    """The difference of two activities."""
    steps = [side.steps() for side in sides]
    counts = tuple(len(lengths) for _, lengths in steps)
    tables = [_sums(side, by, step, count) for side, (step, _), count in zip(sides, steps, counts, strict=True)]
    enough = min(counts) >= _LEAST_STEPS
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys([*tables[0], *tables[1]]):
        (n1, t1, each1), (n2, t2, each2) = (
            table.get(name, (0, 0, np.zeros(count))) for table, count in zip(tables, counts, strict=True)
        )
        row: dict[str, Any] = {"name": name, "old_calls": n1, "new_calls": n2, "old_ns": t1, "new_ns": t2}
        row |= {"difference_ns": t2 - t1, "change": "new" if not n1 else "gone" if not n2 else "changed"}
        if n1 and n2:
            count = (n2 - n1) * t1 / n1
            row |= {"count_ns": count, "each_ns": t2 - t1 - count}
        if enough:
            row["per_step_ns"], row["p_value"] = welch(each1, each2)
        rows.append(row)
    if enough:
        for row, p in zip(rows, holm(np.array([row["p_value"] for row in rows])).tolist(), strict=True):
            row |= {"p_holm": p, "real": bool(p < _LEVEL)}
    rows.sort(key=lambda row: (-abs(row["difference_ns"]), row["name"]))
    sums = [_parts(side) for side in sides]
    gpus = [side.n_devices for side in sides]
    parts = {name: (sums[0].get(name, 0) / gpus[0], sums[1].get(name, 0) / gpus[1]) for name in sums[0] | sums[1]}
    elapsed = tuple(sum(part.values()) / n for part, n in zip(sums, gpus, strict=True))
    if max(gpus) > 1:
        notes = (*notes, "single GPUs: the times of the sentence are means of several")
    work = None
    if enough:
        work = welch(*(sum((each for _, _, each in table.values()), np.zeros(count))
                       for table, count in zip(tables, counts, strict=True)))[0]  # fmt: skip
    return GpuDifference(
        by, names, (sides[0].source, sides[1].source), tuple(rows), (elapsed[0], elapsed[1]), parts, work,
        (counts[0], counts[1]), notes,
    )  # fmt: skip


def _sums(side: GpuActivity, by: str, step: Ints, n_steps: int) -> dict[str, tuple[int, int, Floats]]:
    """Pieces or calls, time, and time of each step, by name."""
    labels, group = side.keys(by)
    time, owner = side.time_ns, side.pieces["owner"]
    sums = np.zeros(len(labels), np.int64)
    np.add.at(sums, group, time)
    pieces = np.bincount(group, minlength=len(labels))
    calls = pieces
    if by != "kernel":
        owners = np.unique(np.stack([group, owner])[:, owner >= 0], axis=1)[0]
        calls = np.bincount(owners, minlength=len(labels))
        calls = np.where(calls > 0, calls, pieces)
    each = np.zeros((len(labels), n_steps))
    np.add.at(each, (group[step >= 0], step[step >= 0]), time[step >= 0])
    return {labels[k]: (int(calls[k]), int(sums[k]), each[k]) for k in np.flatnonzero(pieces).tolist()}


def _parts(side: GpuActivity) -> dict[str, int]:
    busy, work = side.busy_ns, int(side.time_ns.sum())
    parts = {"GPU work": work, "overlap of GPU work": busy - work, **side.idle_ns()}
    if sum(parts.values()) != side.elapsed_ns():
        raise AssertionError(f"{side.source}: {parts} do not add up to {side.elapsed_ns()} ns")
    return parts


def welch(first: Floats, second: Floats) -> tuple[tuple[float, float, float], float]:
    """Difference of the means with its 95% interval, and the two-sided probability, of unequal variances."""
    from scipy.stats import ttest_ind

    difference = float(np.mean(second) - np.mean(first))
    if np.ptp(first) == 0.0 == np.ptp(second):
        return (difference, difference, difference), float(difference == 0.0)
    test = ttest_ind(second, first, equal_var=False)
    low, high = test.confidence_interval(1.0 - _LEVEL)
    return (difference, float(low), float(high)), float(test.pvalue)


def _report(result: GpuDifference, data: Any = None) -> Report:
    """Return what differs most, and what adds up to the difference of the runs."""
    old, new = result.elapsed
    change = f"{readable(abs(new - old), 'ns', 4)} {'longer' if new > old else 'less'} than"
    change = change if new != old else "as long as"
    idle = sum(pair[1] - pair[0] for name, pair in result.parts.items() if "GPU work" not in name)
    changes = {name: two[1] - two[0] for name, two in result.parts.items() if "GPU work" in name} | {"idle": idle}
    causes = ", ".join(f"{name} {_signed(change)}" for name, change in changes.items() if change)
    if result.work_interval is None:
        why = "one run cannot tell differences from noise (fewer than 3 steps are marked)"
    else:
        middle, low, high = result.work_interval
        why = f"GPU work per step {_signed(middle)} (95% CI {_signed(low)} to {_signed(high)}); significant: Holm, 5%"
    counts = ", ".join(f"{n} {name} {_signed(change)}" for name, (n, change) in result.totals.items() if n)
    parts = [f"{name} {_signed(b - a)}" for name, (a, b) in result.parts.items() if "GPU work" not in name]
    parts = [part for part in parts if not part.endswith("+0 ns")]
    return Report(
        title=f"{result.names[1]} against {result.names[0]}, by {result.by}",
        answer=f"{result.names[1]} takes {change} {result.names[0]} "
        f"({readable(old, 'ns', 4)} -> {readable(new, 'ns', 4)}){': ' if causes else ''}{causes}",
        figures=[Figure("difference", (new - old) / 1e9, "s"), Figure("old", old / 1e9, "s"),
                 Figure("new", new / 1e9, "s")],
        tables=_tables(result),
        notes=[Note("Uncertain", why), *(Note("Note", f"idle: {part}") for part in parts),
               Note("Note", f"old = {Path(result.files[0]).name}, new = {Path(result.files[1]).name}; {counts}"),
               *(Note("Not recorded", note) for note in result.notes)],
    )  # fmt: skip


def _tables(result: GpuDifference) -> list[Table]:
    """Return the rows that differ most, and all of them as data."""
    from perf_views.names import plain_names, shortened_apart

    shown, rest = list(result.rows[:_MOST_ROWS]), result.rows[_MOST_ROWS:]
    full = [row["name"] for row in shown]
    labels = shortened_apart(plain_names(full) if result.by == "kernel" else full, _LETTERS)
    rows = [{**row, "label": label} for row, label in zip(shown, labels, strict=True)]
    for label, some in ((f"{len(rest)} other{'s' * (len(rest) > 1)}", rest), ("sum (GPU work)", result.rows)):
        if some:
            total = {key: sum(row[key] for row in some) for key in ("old_ns", "new_ns", "difference_ns")}
            rows.append({"label": label, **total})
    unit, size = ("ms", 1e6) if max(result.elapsed) >= 1e8 else ("us", 1e3)

    def scaled(key: str) -> Callable[[dict[str, Any]], float | None]:
        return lambda row: row[key] / size if row.get(key) is not None else None

    def difference(name: str, key: str) -> Column:
        return Column(name, scaled(key), unit, "+.4g")

    counted = [difference("of that count", "count_ns"), difference("each", "each_ns")]
    counted = counted if any(row.get("count_ns") for row in shown) else []
    columns = [
        Column(result.by, "label"),
        Column("calls", lambda row: f"{row['old_calls']:g} -> {row['new_calls']:g}" if "old_calls" in row else ""),
        Column("old", scaled("old_ns"), unit),
        Column("new", scaled("new_ns"), unit),
        difference("difference", "difference_ns"),
        *counted,
        Column("change", lambda row: "" if row.get("change") == "changed" else row.get("change", "")),
        Column("significant", lambda row: {True: "yes", False: "no"}.get(row.get("real"), "")),
        Column("per step", lambda row: next(iter(_per_step(row, size)), None), unit, importance="verbose"),
        Column("95% CI", lambda row: _per_step(row, size)[1:] or None, unit, importance="verbose"),
    ]  # fmt: skip
    keys = dict.fromkeys(key for row in result.rows for key in row if key != "per_step_ns")
    data = [Column(key, [row.get(key) for row in result.rows], key=key) for key in keys]
    return [Table(columns, rows), Table(data, importance="data")]


def _signed(time_ns: float) -> str:
    return f"{'+' if time_ns >= 0 else '-'}{readable(abs(time_ns), 'ns', 4)}"


def _per_step(row: dict[str, Any], size: float) -> tuple[float, ...]:
    return tuple(value / size for value in row.get("per_step_ns", ()))
