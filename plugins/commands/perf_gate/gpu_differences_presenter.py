"""How differences of GPU traces are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perf_gate.gpu_differences import GpuDifference
from perf_views.names import plain_names, shortened_apart
from perfcore.data.units import readable
from perfcore.results import Column, Presenter, Table, Tables

_MOST_ROWS, _LETTERS = 9, 40


class GpuDifferencePresenter(Presenter):
    """What differs most, and what adds up to the difference of the runs."""

    def title(self, result: GpuDifference) -> str:
        return f"{result.names[1]} against {result.names[0]}, by {result.by}"

    def answer(self, result: GpuDifference) -> str:
        old, new = result.elapsed
        change = f"{readable(abs(new - old), 'ns', 4)} {'longer' if new > old else 'less'} than"
        change = change if new != old else "as long as"
        unit = " per step" if result.per_step else ""
        idle = sum(pair[1] - pair[0] for name, pair in result.parts.items() if "GPU work" not in name)
        changes = {name: two[1] - two[0] for name, two in result.parts.items() if "GPU work" in name} | {"idle": idle}
        causes = ", ".join(f"{name} {_signed(change)}" for name, change in changes.items() if change)
        return (
            f"{result.names[1]} takes {change} {result.names[0]}{unit} "
            f"({readable(old, 'ns', 4)} -> {readable(new, 'ns', 4)}){': ' if causes else ''}{causes}"
        )

    def caveats(self, result: GpuDifference) -> dict[str, Sequence[str]]:
        idle = [f"{name} {_signed(new - old)}" for name, (old, new) in result.parts.items() if "GPU work" not in name]
        counts = ", ".join(f"{n} {name} {_signed(change)}" for name, (n, change) in result.totals.items() if n)
        if result.work_interval is None:
            why = "one run cannot tell differences from noise (fewer than 3 steps are marked)"
        else:
            middle, low, high = result.work_interval
            why = (
                f"GPU work per step {_signed(middle)} (95% CI {_signed(low)} to {_signed(high)}); significant: Holm, 5%"
            )
        return {
            "Compared": [f"old = {Path(result.files[0]).name}, new = {Path(result.files[1]).name}; {counts}"],
            "Idle": [part for part in idle if not part.endswith("+0 ns")], "Uncertain": [why],
            "Not recorded": result.notes,
        }  # fmt: skip

    def tables(self, result: GpuDifference) -> Tables:
        shown, rest = list(result.rows[:_MOST_ROWS]), result.rows[_MOST_ROWS:]
        full = [row["name"] for row in shown]
        if result.by == "kernel":
            ends = [plain_names([row.get("old_name", ""), row.get("new_name", "")]) for row in shown]
            full = [f"{row['operator']}: {old} -> {new}" if "operator" in row else name
                    for row, name, (old, new) in zip(shown, plain_names(full), ends, strict=True)]  # fmt: skip
        labels = shortened_apart(full, _LETTERS)
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
        return [Table(columns, rows)]

    def plain_tables(self, result: GpuDifference) -> Tables:
        keys = dict.fromkeys(key for row in result.rows for key in row if key != "per_step_ns")
        return [Table([Column(key, [row.get(key) for row in result.rows], key=key) for key in keys])]


def _signed(time_ns: float) -> str:
    return f"{'+' if time_ns >= 0 else '-'}{readable(abs(time_ns), 'ns', 4)}"


def _per_step(row: dict[str, Any], size: float) -> tuple[float, ...]:
    return tuple(value / size for value in row.get("per_step_ns", ()))
