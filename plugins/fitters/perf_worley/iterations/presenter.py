"""How iterations are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_views.colours import CAREFUL, DATA, FAINT, RULE
from perf_views.names import existing_file
from perf_worley.iterations.iterations import Iterations, in_a_line, ordinal, rounded
from perfcore.data.units import readable, shown_origin
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables
from perfcore.tables import Importance

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_FEW_ROWS, _MOST_ROWS = 12, 40
_LEAST_SHARE = 0.01


class IterationsPresenter(Presenter):
    """Text, table and picture of `Iterations`."""

    def title(self, result: Iterations) -> str:
        return f"Iterations of {Path(result.source).name or result.source}"

    def answer(self, result: Iterations) -> str:
        name = Path(result.source).name or result.source
        if not result.count:
            return f"{name}: 0 iterations (no section repeats at least 4 times)"
        assert result.period is not None
        return f"{name}: {in_a_line(result.count, result.period, result.spread, result.time_unit, result.unusual)}"

    def caveats(self, result: Iterations) -> dict[str, Sequence[str]]:
        if not result.count:
            return {}
        if result.marker is not None:
            return {"Assumed": [f"{'marked' if result.labels else 'counted'} by {result.marker!r}"]}
        return {"Assumed": [f"detected by self-similarity (leave-one-out R^2 {result.explained:.2f})"]}

    def next_command(self, result: Iterations) -> str:
        file = existing_file(result.source)
        if not file or not result.count:
            return ""
        return f"perf profile {file}" if result.activity is not None else f"perf fit {file} --fitter phases"

    def summary(self, result: Iterations) -> list[str]:
        lines = [self.answer(result)]
        if not result.count:
            return lines
        origin, (first, last) = shown_origin(*result.run), (float(result.starts[0]), float(result.ends[-1]))
        begin, end = (readable(time - origin, result.time_unit) for time in (first, last))
        inside = min(last, result.run[1]) - max(first, result.run[0])  # markers may begin before the first state
        lines.append(f"from {begin} to {end}, {inside / (result.run[1] - result.run[0]):.0%} of the run")
        share = float(result.durations.sum()) / (last - first)
        if share < 0.99:
            lines.append(f"{1.0 - share:.0%} of the time between the first and the last is between iterations")
        if result.activity is not None:
            lines.append(f"mean iteration: {result.activity.name}")
        return lines if result.marker is None or result.differences is None else [*lines, *_differences(result)]

    def tables(self, result: Iterations) -> Tables:
        every = np.arange(result.count)
        tables: Tables = []
        kinds: tuple[tuple[int, Importance], ...] = ((_FEW_ROWS, "brief"), (_MOST_ROWS, "verbose"))
        for count, importance in kinds:
            shown, title = every, ""
            if result.count > count:
                most = np.argsort(-np.abs(result.durations - np.median(result.durations)), kind="stable")[:count]
                shown, title = np.sort(most), f"{count} largest deviations"
            tables += [Table(_columns(result, shown), title=title, importance=importance)] if result.count else []
        return [*tables, Table(_columns(result, every), importance="data")]

    def panels(self, result: Iterations, data: Any = None) -> Panels:
        if not result.count or result.period is None:
            return {"mean": lambda axes: None}
        return {
            "mean": Panel(partial(_draw_mean, result), width=0.42),
            "durations": Panel(partial(_draw_durations, result), width=0.58),
        }


def _draw_mean(result: Iterations, axes: Axes) -> None:
    axes.stairs(result.profile, np.linspace(0.0, 100.0, len(result.profile) + 1), color=DATA, linewidth=1.4)
    axes.set(xlabel="position in the iteration [%]", ylabel="busy processors", xlim=(0.0, 100.0))
    axes.set_ylim(bottom=0.0)
    axes.set_title("mean iteration", fontsize=9)


def _draw_durations(result: Iterations, axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    from perf_views.data_pictures import readable_unit

    assert result.period is not None
    numbers = np.arange(1, result.count + 1)
    factor, unit = readable_unit(result.period, result.time_unit)
    durations = result.durations * factor
    axes.vlines(numbers, 0.0, durations, color=FAINT, linewidth=1)
    axes.plot(numbers, durations, ".", color=DATA, markersize=5)
    if result.unusual is not None:
        index = result.unusual.number - 1
        axes.plot(numbers[index], durations[index], "o", color=CAREFUL, markersize=6)
        label = ordinal(index + 1) + (f": {result.unusual.reason}" if result.unusual.reason else "")
        right = index > result.count / 2
        axes.annotate(
            label, (numbers[index], durations[index]), xytext=(-8 if right else 8, 4), textcoords="offset points",
            ha="right" if right else "left", fontsize=8, color=CAREFUL,
        )  # fmt: skip
    axes.axhline(result.period * factor, color=RULE, linewidth=0.8, linestyle=":")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="iteration", ylabel=f"duration [{unit}]", ylim=(0.0, 1.15 * float(durations.max())))
    axes.set_title("duration (dotted line: mean)", fontsize=9)


def _columns(result: Iterations, index: Any) -> list[Column]:
    unit, starts, durations = result.time_unit, result.starts[index], result.durations[index]
    labels = [result.labels[k] for k in index.tolist()] if len(set(result.labels)) > 1 else None
    columns = [
        Column("iteration", index + 1, importance="data" if labels else "default"),
        Column("start", starts - shown_origin(*result.run), unit, "time", key=()),
        Column("start", starts, unit, importance="data"),
        Column("duration", durations, unit, "time", key=f"duration_{unit}"),
        Column(
            "vs median",
            key="over_median",
            value=durations / (np.median(result.durations) if result.count else 1.0) - 1.0,
            format="+.1%",
        ),
    ]
    if labels:
        columns.insert(0, Column("iteration", labels, key="label"))
    if result.marker is not None and result.differences is not None and result.count:
        shares = result.differences.times_ns[index] / result.differences.times_ns[index].sum(axis=1, keepdims=True)
        columns += [
            Column(name, share, format=".1%")
            for name, share in zip(result.differences.categories, shares.T, strict=True)
        ]
    return columns


def _differences(result: Iterations) -> list[str]:
    """The mean iteration by category, the slowest one, and what makes the difference."""
    differences = result.differences
    assert differences is not None
    assert result.period is not None
    lines = [f"by category: {_in_words(differences.mean_shares)}"]
    if result.count < 2 or not differences.shares_of_variance:
        return lines
    slowest = differences.slowest
    label = ordinal(slowest + 1) + (f" ({result.labels[slowest]})" if len(set(result.labels)) > 1 else "")
    length, longer = float(result.durations[slowest]), result.durations[slowest] / result.period - 1.0
    excess = length - result.period
    parts = sorted(differences.shares_of_slowest.items(), key=lambda part: -abs(part[1]))
    texts = [
        f"{name} {'+' if share > 0.0 else '-'}{rounded(abs(share) * excess, result.time_unit)}"
        for name, share in parts
        if abs(share) >= _LEAST_SHARE
    ]
    lines.append(
        f"slowest: the {label}, {rounded(length, result.time_unit)}, {longer:.1%} above the mean: "
        f"{rounded(excess, result.time_unit)}, of which on a location {', '.join(texts)}"
    )
    lines.append(f"variance of durations explained by: {_in_words(differences.shares_of_variance)}")
    return lines


def _in_words(shares: Mapping[str, float]) -> str:
    """Shares of categories, the largest first, without those that are hardly any."""
    ordered = sorted(shares.items(), key=lambda each: -abs(each[1]))
    parts = [f"{share:.0%} {name}" for name, share in ordered if abs(share) >= _LEAST_SHARE]
    return ", ".join(parts)
