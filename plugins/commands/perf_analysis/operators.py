"""GPU time by operator, by operator with its shapes, or by kernel: ``perf profile --by operator``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perf_analysis.rooflines import OPERATORS, Peak, add_rates, add_work
from perf_io.traces.gpu_activity import GpuActivity, require_gpu_activity
from perf_traces.reading import next_step
from perf_traces.runs import fields_of, known_files, symbols_of
from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.reading.many_files import NamePattern
from perfcore.reading.recognise import write
from perfcore.results import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class OperatorTimes(Result):
    """Own and total GPU time of every operator, shape or kernel of one or several runs."""

    json_kind: ClassVar[str] = "operators"

    by: str
    sources: tuple[str, ...]
    parameters: tuple[Mapping[str, Any], ...]  # of each run, as the names of the files say
    rows: tuple[dict[str, Any], ...]  # name, run, own_ns, total_ns, calls, pieces; by own time
    busy_ns: int
    elapsed_ns: int
    notes: tuple[str, ...] = ()

    @property
    def own_ns(self) -> int:
        """All GPU work, which the own times add up to."""
        return sum(row["own_ns"] for row in self.rows)

    @property
    def last_rows(self) -> list[dict[str, Any]]:
        """Rows of the last run."""
        return [row for row in self.rows if row["run"] == len(self.parameters) - 1]

    @property
    def measurements(self) -> Measurements:
        """Own times of each run, which `perfcore.fit` takes."""
        return Measurements(self.table(), symbols_of(self.parameters), "time_s", code=[], system=(),
                            category="function", source=self.sources[0])  # fmt: skip

    def table(self) -> pd.DataFrame:
        """A row for each name and run."""
        import pandas as pd

        rows = [{"function": row["name"], **self.parameters[row["run"]], "time_s": row["own_ns"] / 1e9, **row,
                 "file": self.sources[row["run"]]} for row in self.rows]  # fmt: skip
        return pd.DataFrame(rows).drop(columns="name").assign(run=lambda frame: frame["run"] + 1)

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table, a row for each name and run."""
        if not self.parameters[0] or len(self.parameters) < 2:
            self.table().to_csv(path, index=False) if str(path).endswith(".csv") else self.table().to_json(
                path, orient="records", lines=True)  # fmt: skip
            return [f"table: {os.fspath(path)}"]
        write(self.measurements, path)
        return [f"table: {os.fspath(path)}", next_step(os.fspath(path), self.parameters, symbols_of(self.parameters))]

    def to_dict(self) -> dict[str, Any]:
        """All as plain data; times in whole nanoseconds."""
        return {
            "by": self.by, "sources": list(self.sources), "parameters": [dict(each) for each in self.parameters],
            "busy_ns": self.busy_ns, "elapsed_ns": self.elapsed_ns, "own_ns": self.own_ns, "rows": list(self.rows),
            "notes": list(self.notes),
        }  # fmt: skip


def operator_times(
    sources: Sequence[Any],
    by: str,
    from_name: str | None = None,
    how: Mapping[str, Sequence[str]] | None = None,
    peak: str | None = None,
) -> OperatorTimes:
    """Own and total GPU time by operator, shape or kernel; with ``from_name`` files are runs, else ranks of one."""
    paths = paths_of(sources, by, how)
    pattern = None if from_name is None else NamePattern(from_name)
    parameters = [dict(fields_of(path, pattern)) for path in paths]
    rows: list[dict[str, Any]] = []
    busy = elapsed = 0
    notes: list[str] = []
    for run, path in enumerate(paths):
        activity = require_gpu_activity(path, OPERATORS if by == "shape" else None)
        if by != "kernel" and not activity.has_operators:
            raise DataError(
                f"{path}: no operators around the launches; use --by kernel, or record activities=[CPU, CUDA]"
            )
        rows += [{**row, "run": run if pattern else 0} for row in rows_of(activity, by)]
        busy = int((activity.busy[1] - activity.busy[0]).sum()) + (0 if pattern else busy)
        elapsed = activity.elapsed_ns() + (0 if pattern else elapsed)
        notes += activity.notes if len(paths) == 1 else [f"{path.name}: {note}" for note in activity.notes]
        if by == "shape" and len(activity.shapes) == 1:
            notes.append("shapes are not recorded; record_shapes=True of the profiler records them")
    if pattern is None and len(paths) > 1:
        summed: dict[str, dict[str, Any]] = {}
        for row in rows:
            total = summed.setdefault(row["name"], {"name": row["name"], "run": 0})
            total |= {
                key: total.get(key, 0) + value for key, value in row.items() if key not in ("name", "run", "type")
            }
            total |= {"type": row["type"]} if "type" in row else {}
        rows, parameters = list(summed.values()), [{}]
        notes.append(f"sum of {len(paths)} files")
    add_rates(rows, None if peak is None else Peak.parsed(peak))
    rows.sort(key=lambda row: (-row["own_ns"], -row["total_ns"], row["name"]))
    return OperatorTimes(by, tuple(map(str, paths)), tuple(parameters), tuple(rows), busy, elapsed, tuple(notes))


def paths_of(sources: Sequence[Any], by: str, how: Mapping[str, Sequence[str]] | None = None) -> list[Path]:
    """The files that are named; refuse traces in memory, and options that ask for parts."""
    if used := {"since", "until", "only", "region", "locations"} & set(how or ()):
        raise OptionError(f"--by {by} is of whole traces; leave out {(how or {})[min(used)][0]}")
    paths: list[Path] = []
    for item in sources:
        if not isinstance(item, (str, os.PathLike)):
            raise OptionError(f"--by {by} reads what host and GPU do from the file; give its path")
        paths += known_files(os.fsdecode(item)) or [Path(item)]
    return paths


def rows_of(activity: GpuActivity, by: str) -> list[dict[str, Any]]:
    """Own and total time, calls and pieces of everything that has or encloses GPU work."""
    labels, group = activity.keys(by)
    n, time = len(labels), activity.time_ns
    own, pieces = _sums(group, time, n), np.bincount(group, minlength=n)
    total, calls = own, pieces
    if by != "kernel":
        piece, around, call = activity.within(by)
        once, around_piece = np.unique(np.stack([piece, around]), axis=1)
        total = _sums(around_piece, time[once], n)
        total[-2:] = own[-2:]
        owner = activity.pieces["owner"]
        mine = np.unique(np.stack([group, owner])[:, owner >= 0], axis=1)[0]
        outer = np.bincount(np.unique(np.stack([around, call]), axis=1)[0], minlength=n)
        calls = np.where(own > 0, np.bincount(mine, minlength=n), outer)
    shown = np.flatnonzero((total > 0) | (pieces > 0)).tolist()
    rows: list[dict[str, Any]] = [
        {"name": labels[k], "own_ns": int(own[k]), "total_ns": int(total[k]), "calls": int(calls[k]),
         "pieces": int(pieces[k])}
        for k in shown
    ]  # fmt: skip
    if by == "shape":
        add_work(activity, rows, activity.groups_of_host, {k: row for row, k in enumerate(shown)})
    return rows


def _sums(group: Any, time: Any, n: int) -> Any:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, group, time)
    return sums
