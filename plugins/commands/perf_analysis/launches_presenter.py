"""How launches and queues are shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perf_analysis.launches import LaunchTimes
from perf_io.traces.gpu_activity import WAITING
from perf_views.names import existing_file
from perfcore.data.units import readable
from perfcore.results import Column, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd

_FULL, _LATE, _MOST_SHORT = 1000, 1 / 3, 0.2
_MOST_STREAMS = 8
_COLUMNS = [
    Column("GPU / stream", "stream"),
    Column("pieces", "pieces"),
    Column("delay", "median_delay_ns", "ns", "time"),
    Column("p95", "p95_delay_ns", "ns", "time"),
    Column("max", "most_delay_ns", "ns", "time"),
    Column("call", "median_call_ns", "ns", "time"),
    Column("under 10 us", lambda row: row["short"] / row["pieces"], format=".0%", key="short_share"),
    Column("queue", "mean_queued", format=".3g"),
    Column("max", "most_queued", key="most_queued"),
    Column("empty", "empty_share", format=".1%"),
]
_FURTHER = (
    "mean_time_ns", "mean_delay_ns", "negative_delays", "mean_call_ns", "long_calls", "long_calls_ns", "short",
    "short_ns", "shorter_than_call", "queue_window_ns",
)  # fmt: skip


class LaunchTimesPresenter(Presenter):
    """A row for each stream, and idle time by cause."""

    def title(self, result: LaunchTimes) -> str:
        return f"Launches and queues: {result.sources[0]}"

    def answer(self, result: LaunchTimes) -> str:
        whole, first = result.all, result.streams[0]
        n = len(result.sources)
        name = Path(result.sources[0]).name if n == 1 else f"{n} files"
        call, time = (readable(whole[key], "ns", 2) for key in ("mean_call_ns", "mean_time_ns"))
        mean, empty = first["mean_queued"] or 0.0, f"the queue is empty {first['empty_share'] or 0.0:.0%} of the time"
        waiting = result.idle_ns[WAITING] / max(result.span_ns, 1)
        if first["most_queued"] >= _FULL:
            verdict = (
                f"the launch queue is full: {mean:.4g} pieces wait on average, {whole['long_calls']} long launches"
            )
        elif waiting >= _LATE:
            verdict = f"the host is late: {call} to launch, kernels of {time}; {empty}"
        else:
            verdict = f"the GPU waits {waiting:.0%} of the time for the host; {mean:.3g} pieces are queued, {empty}"
        return f"{name}: {verdict}"

    def caveats(self, result: LaunchTimes) -> dict[str, Sequence[str]]:
        short, pieces = result.all["shorter_than_call"], result.all["pieces"]
        hint = ": CUDA graphs or fusing would help" if short >= _MOST_SHORT * pieces else ""
        idle = {**result.idle_ns, "busy": result.busy_ns}
        parts = [f"{time / max(result.span_ns, 1):.1%} {cause}" for cause, time in idle.items() if time]
        return {
            "Short": [f"{short:,} of {pieces:,} pieces are shorter than their launch{hint}"] if short else [],
            f"GPU ({readable(result.span_ns, 'ns', 4)})": [", ".join(reversed(parts))],
            "Not recorded": result.notes,
        }

    def next_command(self, result: LaunchTimes) -> str:
        file = existing_file(result.sources[0])
        return f"perf profile {file} --by {result.finer}" if file and len(result.sources) == 1 else ""

    def tables(self, result: LaunchTimes) -> Tables:
        return [
            Table(_COLUMNS, result.streams, "", "brief", _MOST_STREAMS),
            Table(_COLUMNS, result.streams, "", "verbose"),
        ]

    def plain_tables(self, result: LaunchTimes) -> Tables:
        return [Table([*_COLUMNS, *(Column(name, name, key=name) for name in _FURTHER)], result.streams)]

    def frame(self, result: LaunchTimes) -> pd.DataFrame:
        return self.plain_tables(result)[0].frame()
