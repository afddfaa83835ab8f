"""How iterations are shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_views.colours import CAREFUL, DATA, FAINT, RULE
from perf_worley.iterations.iterations import Iterations, in_a_line, ordinal, rounded
from perfcore.data.units import readable, shown_origin
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_ROWS = 40
_LEAST_SHARE = 0.01


class IterationsPresenter(Presenter):
    """Text, table and picture of `Iterations`."""

    def title(self, result: Iterations) -> str:
        """One line over a picture."""
        return f"Iterations of {Path(result.source).name or result.source}"

    def summary(self, result: Iterations) -> list[str]:
        """How many, how long, which one differs; how they were found."""
        if not result.count:
            return [f"{result.source}: no iterations: no section repeats itself at least four times"]
        assert result.period is not None
        line = in_a_line(result.count, result.period, result.spread, result.time_unit, result.unusual)
        how = (
            f"{'marked' if result.labels else 'counted'} by {result.marker!r}"
            if result.marker is not None
            else f"found by their likeness: the others explain {result.explained:.0%} of the variance in one"
        )
        lines = [f"{result.source}: {line}", how]
        origin, (first, last) = shown_origin(*result.run), (float(result.starts[0]), float(result.ends[-1]))
        begin, end = (readable(time - origin, result.time_unit) for time in (first, last))
        inside = min(last, result.run[1]) - max(first, result.run[0])  # markers may begin before the first state
        lines.append(f"from {begin} to {end}, {inside / (result.run[1] - result.run[0]):.0%} of the run")
        share = float(result.durations.sum()) / (last - first)
        if share < 0.99:
            lines.append(f"{1.0 - share:.0%} of the time between the first and the last lies between iterations")
        if result.activity is not None:
            lines.append(f"mean iteration: {result.activity.name}")
        return lines if result.marker is None or result.differences is None else [*lines, *_differences(result)]

    def tables(self, result: Iterations) -> Tables:
        """The iterations; of many those that differ most."""
        every = shown = np.arange(result.count)
        title = ""
        if result.count > _MOST_ROWS:
            most = np.argsort(-np.abs(result.durations - np.median(result.durations)), kind="stable")[:_MOST_ROWS]
            shown, title = np.sort(most), f"the {_MOST_ROWS} iterations that differ most"
        tables = [Table(_columns(result, shown), title=title)] if result.count else []
        return [*tables, Table(_columns(result, every), importance="data")]

    def heading(self, result: Iterations, data: Any = None) -> str:
        """The title, how many there are, how long, and which one differs."""
        return self.summary(result)[0].replace(result.source, self.title(result), 1)

    def panels(self, result: Iterations, data: Any = None) -> Panels:
        """The mean iteration, and the duration of each."""
        if not result.count or result.period is None:
            return {"mean": lambda axes: None}
        return {
            "mean": Panel(partial(_draw_mean, result), width=0.42),
            "durations": Panel(partial(_draw_durations, result), width=0.58),
        }


def _draw_mean(result: Iterations, axes: Axes) -> None:
    axes.stairs(result.profile, np.linspace(0.0, 100.0, len(result.profile) + 1), color=DATA, linewidth=1.4)
    axes.set(xlabel="% of an iteration", ylabel="processors computing", xlim=(0.0, 100.0))
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
    axes.set(xlabel="iteration", ylabel=f"duration ({unit})", ylim=(0.0, 1.15 * float(durations.max())))
    axes.set_title("duration of each; dotted: the mean", fontsize=9)


def _columns(result: Iterations, index: Any) -> list[Column]:
    unit, starts, durations = result.time_unit, result.starts[index], result.durations[index]
    labels = [result.labels[k] for k in index.tolist()] if len(set(result.labels)) > 1 else None
    columns = [
        Column("iteration", index + 1, importance="data" if labels else "default"),
        Column("start", starts - shown_origin(*result.run), unit, "time", key=()),
        Column("start", starts, unit, importance="data"),
        Column("duration", durations, unit, "time", key=f"duration_{unit}"),
        Column("over median", durations / (np.median(result.durations) if result.count else 1.0) - 1.0, format="+.1%"),
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
    lines.append(f"what makes the difference: of the variance of durations {_in_words(differences.shares_of_variance)}")
    return lines


def _in_words(shares: Mapping[str, float]) -> str:
    """Shares of categories, the largest first, without those that are hardly any."""
    ordered = sorted(shares.items(), key=lambda each: -abs(each[1]))
    parts = [f"{share:.0%} {name}" for name, share in ordered if abs(share) >= _LEAST_SHARE]
    return ", ".join(parts)
