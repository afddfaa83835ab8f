"""How GPU time by operator is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_analysis.launches import LaunchTimes
from perf_analysis.operators import GpuMemory, OperatorTimes
from perf_io.traces.gpu_activity import WAITING
from perf_views.colours import DATA, FAINT
from perf_views.names import existing_file, plain_names, shortened_apart
from perfcore.data.units import readable
from perfcore.results import Column, Panels, Presenter, Table, Tables
from perfcore.tables import Importance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_UNITS, _MOST_STACK = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")), 3
_MOST_ROWS, _MOST_RATED, _LETTERS = 10, 6, 44
_RATES = [
    Column("shape", "label"),
    Column("calls", "calls"),
    Column("time", "flop_ns", "ns", "time"),
    Column("TFLOP/s", lambda row: row["flop_s"] / 1e12, format=".4g"),
    Column("FLOP/B", "flop_per_byte", format=".4g"),
    Column("roof", lambda row: row["roof_flop_s"] / 1e12 if row["roof_flop_s"] else None, format=".4g"),
    Column("of roof", "share_of_roof", format=".1%"),
]


class OperatorTimesPresenter(Presenter):
    """The largest own times, and the sum of the others."""

    def title(self, result: OperatorTimes) -> str:
        return f"GPU time by {result.by}: {result.sources[0]}"

    def answer(self, result: OperatorTimes) -> str:
        rows = result.last_rows
        first, whole = rows[0], sum(row["own_ns"] for row in rows)
        name, calls = Path(result.sources[-1]).name, first["calls"]
        if len(result.sources) > 1:
            name = (
                f"{len(result.sources)} runs, last {name}" if result.parameters[0] else f"{len(result.sources)} files"
            )
        rated = [row for row in rows if row.get("flop")]
        time = sum(row["flop_ns"] for row in rated)
        busy = f"{result.busy_ns / max(result.elapsed_ns, 1):.1%} of {readable(result.elapsed_ns, 'ns', 4)}"
        rate = (
            ""
            if not rated
            else f"; {sum(row['flop'] for row in rated) / time / 1e3:.4g} TFLOP/s in {time / max(whole, 1):.0%} of it"
        )
        return (
            f"{name}: {first['own_ns'] / max(whole, 1):.0%} of the GPU work ({readable(whole, 'ns', 4)}) is "
            f"{_labels(result.by, [first['name']])[0]} ({calls} call{'s' * (calls != 1)}); GPU busy "
            f"{busy}{rate}"
        )

    def caveats(self, result: OperatorTimes) -> dict[str, Sequence[str]]:
        return {"Not recorded": result.notes}

    def next_command(self, result: OperatorTimes) -> str:
        file = existing_file(result.sources[0])
        finer = {"operator": "shape", "shape": "kernel"}.get(result.by, "")
        return f"perf profile {file} --by {finer}" if file and finer and len(result.sources) == 1 else ""

    def tables(self, result: OperatorTimes) -> Tables:
        last = result.last_rows
        whole = max(sum(row["own_ns"] for row in last), 1)
        rated = sorted((row for row in last if row.get("flop")), key=lambda row: -row["flop_ns"])[:_MOST_RATED]
        n_shown = min(_MOST_RATED if rated else _MOST_ROWS, max(sum(row["own_ns"] > 0 for row in last), 1))
        shown, rest = last[:n_shown], last[n_shown:]
        names = _labels(result.by, [row["name"] for row in shown])
        rows = [{**row, "label": name} for row, name in zip(shown, names, strict=True)]
        if rest:
            own, pieces = (sum(row[key] for row in rest) for key in ("own_ns", "pieces"))
            rows.append({"label": f"{len(rest)} other{'s' * (len(rest) > 1)}", "own_ns": own, "pieces": pieces})
        pieces = sum(row["pieces"] for row in last)
        rows.append({"label": "sum", "own_ns": sum(row["own_ns"] for row in last), "pieces": pieces})
        columns = [
            Column(result.by, "label"),
            Column("own", "own_ns", "ns", "time"),
            Column("share", lambda row: row["own_ns"] / whole, format=".1%"),
            *([] if result.by == "kernel" else [Column("total", "total_ns", "ns", "time")]),
            Column("calls", "calls"),
            Column("pieces", "pieces"),
            Column("mean", lambda row: row["own_ns"] / row["pieces"] if row["pieces"] else None, "ns", "time"),
        ]  # fmt: skip
        labels = [{**row, "label": name} for row, name in zip(
            rated, _labels("shape", [row["name"] for row in rated]), strict=True)]  # fmt: skip
        return [
            Table(columns, rows),
            *([Table(_RATES, labels, "Matrix products, convolutions, attention")] * bool(rated)),
        ]

    def plain_tables(self, result: OperatorTimes) -> Tables:
        frame = result.table()
        return [Table([Column(name, frame[name].tolist(), key=name) for name in map(str, frame.columns)])]

    def frame(self, result: OperatorTimes) -> pd.DataFrame:
        return result.table()


def _labels(by: str, names: Sequence[str]) -> list[str]:
    return plain_names(names) if by == "kernel" else shortened_apart(names, _LETTERS)


class GpuMemoryPresenter(Presenter):
    """The peak, and what each operator allocates and frees."""

    def title(self, result: GpuMemory) -> str:
        return f"Memory of {result.device}: {Path(result.source).name}"

    def answer(self, result: GpuMemory) -> str:
        at, where = result.peak, " < ".join(result.stack[:_MOST_STACK]) or "no operator"
        peak, reserved, lost = (_amount(int(amount)) for amount in (
            result.allocated[at], result.reserved.max(), result.reserved[at] - result.allocated[at]))  # fmt: skip
        when = readable(int(result.time_ns[at]), "ns")
        head = (
            f"{Path(result.source).name}: {result.device} has at most {peak} allocated, {when} after the first change"
        )
        return f"{head}, in {where}; at most {reserved} reserved, {lost} of it unused at the peak"

    def caveats(self, result: GpuMemory) -> dict[str, Sequence[str]]:
        blocks, live = result.live
        allocated, freed = map(_amount, result.totals)
        return {
            "Assumed": result.chosen,
            "Total": [f"{allocated} allocated, {freed} freed; {blocks} blocks of {_amount(live)} still live"],
            "Not recorded": result.notes,
        }

    def tables(self, result: GpuMemory) -> Tables:
        columns = [
            Column("operator", "name"),
            Column("allocated [B]", "allocated", key="allocated"),
            Column("freed [B]", "freed", key="freed"),
            Column("changes", "changes"),
        ]
        return [Table(columns, result.operators)]

    def panels(self, result: GpuMemory, data: Any = None) -> Panels:
        return {"memory": partial(_draw_memory, result)}


def _draw_memory(result: GpuMemory, axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter

    for name, colour in (("reserved", FAINT), ("allocated", DATA)):
        axes.step(result.time_ns / 1000, getattr(result, name), where="post", color=colour, label=name)
    axes.set(xlabel="time [us]", ylabel="memory")
    axes.yaxis.set_major_formatter(EngFormatter("B"))
    axes.legend(frameon=False)


def _amount(amount: int) -> str:
    """Bytes in the largest decimal unit that keeps them at least 1."""
    unit, name = next(((size, name) for size, name in _UNITS if amount >= size), (1, "B"))
    return f"{amount / unit:.4g} {name}"


_FULL, _LATE, _MOST_SHORT, _MOST_STREAMS = 1000, 1 / 3, 0.2, 8
_STREAMS = [
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


class LaunchTimesPresenter(Presenter):
    """A row for each stream, and idle time by cause."""

    def title(self, result: LaunchTimes) -> str:
        return f"Launches and queues: {result.sources[0]}"

    def answer(self, result: LaunchTimes) -> str:
        whole, first = result.all, result.streams[0]
        n = len(result.sources)
        name = Path(result.sources[0]).name if n == 1 else f"{n} files"
        call, time = (readable(whole[key], "ns", 2) for key in ("mean_call_ns", "mean_time_ns"))
        mean, empty = first["mean_queued"] or 0.0, f"queue empty {first['empty_share'] or 0.0:.0%} of the time"
        waiting = result.idle_ns[WAITING] / max(result.span_ns, 1)
        if first["most_queued"] >= _FULL:
            verdict = f"the launch queue is full: mean queue length {mean:.4g}, {whole['long_calls']} calls are long"
        elif waiting >= _LATE:
            verdict = f"the host is late: {call} to launch, kernels of {time}; {empty}"
        else:
            verdict = f"the GPU waits {waiting:.0%} of the time for the host; mean queue length {mean:.3g}, {empty}"
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
        kinds: tuple[tuple[Importance, int | None], ...] = (("brief", _MOST_STREAMS), ("verbose", None))
        return [Table(_STREAMS, result.streams, "", importance, most) for importance, most in kinds]

    def plain_tables(self, result: LaunchTimes) -> Tables:
        return [Table([Column(name, name, key=name) for name in result.streams[0]], result.streams)]
