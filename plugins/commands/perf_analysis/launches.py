"""Launches and queues of GPU work: ``perf overheads --by launch``.

The delay of a piece of work is the time from the end of its launch call to its begin; where it begins before the call
returns, the delay counts as 0. A queue holds what was launched to a stream and has not begun.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from perf_analysis.operators import paths_of
from perf_io.traces.gpu_activity import require_gpu_activity
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError
from perfcore.results import Result

_SHORT_NS, _LONG_CALL_NS = 10_000, 50_000


@dataclass(frozen=True, eq=False, repr=False)
class LaunchTimes(Result):
    """Delays, launch calls and queues of each stream of one or several traces, times in nanoseconds."""

    reporter: ClassVar[str] = "perf_analysis.operator_answers:report_of_launches"
    json_kind: ClassVar[str] = "launches"

    sources: tuple[str, ...]
    streams: tuple[dict[str, Any], ...]  # those with most pieces first
    all: dict[str, Any]  # the same of all streams together, without a queue
    idle_ns: dict[str, int]  # of the GPU between pieces, by cause
    busy_ns: int
    span_ns: int
    notes: tuple[str, ...] = ()
    finer: str = "operator"  # what a profile can be by

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "sources": list(self.sources), "streams": list(self.streams), "notes": list(self.notes)}

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the table of streams to a .csv file."""
        from perf_traces.reading import write_csv

        write_csv(self.to_frame(), path)
        return [f"table: {path}"]


def launch_times(sources: Sequence[Any], how: Mapping[str, Any]) -> LaunchTimes:
    """Delays and queues of traces; several are ranks of one run, whose GPUs are told apart."""
    paths = paths_of(sources, "launch", how)
    streams: list[dict[str, Any]] = []
    columns: list[tuple[Ints, Ints, Floats]] = []
    calls: list[Ints] = []
    notes: list[str] = []
    idle: dict[str, int] = {}
    busy = span = 0
    finer = "kernel"
    for path in paths:
        activity, mark = require_gpu_activity(path), f"{path.name}: " if len(paths) > 1 else ""
        if not (activity.pieces["launch"] >= 0).any():
            raise DataError(f"{path}: no launch has the correlation number of a piece of GPU work; record activities="
                            "[CPU, CUDA] (PyTorch, with args) or `rocprofv3 --hip-trace`")  # fmt: skip
        launch, begin = activity.pieces["launch"], activity.pieces["start"]
        for place in np.unique(activity.pieces["location"][launch >= 0]).tolist():
            rows = np.flatnonzero((activity.pieces["location"] == place) & (launch >= 0))
            called, returned = (activity.host[name][launch[rows]] for name in ("start", "end"))
            call, of_call, pieces = np.unique(launch[rows], return_inverse=True, return_counts=True)
            lasting = activity.host["end"][call] - activity.host["start"][call]
            times = begin[rows] - returned, activity.time_ns[rows], (lasting / pieces)[of_call]
            device, stream = activity.locations[place]
            queue = _queue(called, np.maximum(called, begin[rows]))
            streams.append({"stream": f"{mark}{device} / {stream}", **_figures(lasting, *times), **queue})
            columns.append(times)
            calls.append(lasting)
        for cause, time in activity.idle_ns().items():
            idle[cause] = idle.get(cause, 0) + time
        finer = "operator" if activity.has_operators else finer
        busy += int((activity.busy[1] - activity.busy[0]).sum())
        span += activity.elapsed_ns()
        notes += [f"{mark}{note}" for note in activity.notes]
    streams.sort(key=lambda row: -row["pieces"])
    total = _figures(np.concatenate(calls), *(np.concatenate(column) for column in zip(*columns, strict=True)))
    return LaunchTimes(tuple(map(str, paths)), tuple(streams), total, idle, busy, span, tuple(notes), finer)


def _figures(call: Ints, delay: Ints, time: Ints, call_of_each: Floats) -> dict[str, Any]:
    """Figures of launch calls and pieces; pieces of a CUDA graph share their call."""
    late, short = np.maximum(delay, 0), time < _SHORT_NS
    return {
        "pieces": len(delay), "mean_time_ns": float(time.mean()), "mean_delay_ns": float(late.mean()),
        "median_delay_ns": float(np.median(late)), "p95_delay_ns": float(np.percentile(late, 95)),
        "most_delay_ns": int(late.max()), "negative_delays": int((delay < 0).sum()),
        "mean_call_ns": float(call.mean()), "median_call_ns": float(np.median(call)),
        "long_calls": int((call > _LONG_CALL_NS).sum()), "long_calls_ns": int(call[call > _LONG_CALL_NS].sum()),
        "short": int(short.sum()), "short_ns": int(time[short].sum()),
        "shorter_than_call": int((time < call_of_each).sum()),
    }  # fmt: skip


def _queue(called: Ints, begin: Ints) -> dict[str, Any]:
    """Length over time, from the first launch to the last begin."""
    moments, change = np.concatenate([begin, called]), np.repeat([-1, 1], len(called))
    order = np.lexsort((change, moments))
    length, widths = np.cumsum(change[order])[:-1], np.diff(moments[order])
    whole = int(widths.sum())
    return {
        "most_queued": int(length.max()), "mean_queued": float(length @ widths / whole) if whole else None,
        "empty_share": float(widths[length == 0].sum() / whole) if whole else None, "queue_window_ns": whole,
    }  # fmt: skip
