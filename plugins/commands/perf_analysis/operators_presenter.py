"""How GPU time by operator is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_analysis.memory import GpuMemory
from perf_analysis.operators import OperatorTimes
from perf_views.colours import DATA, FAINT
from perf_views.names import existing_file, plain_names, shortened_apart
from perfcore.data.units import readable
from perfcore.results import Column, Panels, Presenter, Table, Tables

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
