"""What iterations report: how many, how long, which differ, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_views.names import existing_file
from perfcore.data.units import readable, shown_origin
from perfcore.report import Axis, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Steps, Table, Text
from perfcore.tables import Importance

if TYPE_CHECKING:
    from perf_worley.iterations import Iterations

_FEW_ROWS, _MOST_ROWS = 12, 40
_LEAST_SHARE = 0.01


def report_of(found: Iterations) -> Report:
    """Return the number and mean duration of the iterations, each of them, and the mean iteration."""
    name = Path(found.source).name or found.source
    title = f"Iterations of {name}"
    if not found.count or found.period is None:
        none = Figure("iterations", 0, format="d")
        return Report(title, f"{name}: {none.text} iterations (no section repeats at least 4 times)", [none],
                      [_durations(found, np.arange(0))])  # fmt: skip
    spread = [] if found.spread is None else [Figure("variation (CV)", found.spread, format=".1%", key="spread")]
    how = f"detected by self-similarity (leave-one-out R^2 {found.explained or 0.0:.2f})"
    if found.marker is not None:
        how = f"{'marked' if found.labels else 'counted'} by {found.marker!r}"
    file = existing_file(found.source)
    following = f"perf profile {file}" if found.activity is not None else f"perf fit {file} --fitter phases"
    return Report(
        title=title,
        answer=f"{name}: {in_a_line(found.count, found.period, found.spread, found.time_unit, found.unusual)}",
        figures=[
            Figure("iterations", found.count, format=",d", key="count"),
            Figure("mean duration", found.period, found.time_unit, format=".4g", key="period"),
            *spread,
        ],
        tables=_tables(found),
        draw=lambda: _plots(found),
        notes=[Note("Assumed", how)],
        next=following if file else "",
        details=_details(found),
    )


def _durations(found: Iterations, index: Any, title: str = "", importance: Importance = "data") -> Table:
    return Table(_columns(found, index), title=title, importance=importance)


def _details(found: Iterations) -> list[str]:
    lines: list[str] = []
    origin, (first, last) = shown_origin(*found.run), (float(found.starts[0]), float(found.ends[-1]))
    begin, end = (readable(time - origin, found.time_unit) for time in (first, last))
    inside = min(last, found.run[1]) - max(first, found.run[0])  # markers may begin before the first state
    lines.append(f"from {begin} to {end}, {inside / (found.run[1] - found.run[0]):.0%} of the run")
    share = float(found.durations.sum()) / (last - first)
    if share < 0.99:
        lines.append(f"{1.0 - share:.0%} of the time between the first and the last is between iterations")
    if found.activity is not None:
        lines.append(f"mean iteration: {found.activity.name}")
    return lines if found.marker is None or found.differences is None else [*lines, *_differences(found)]


def _tables(found: Iterations) -> list[Table]:
    every = np.arange(found.count)
    tables: list[Table] = []
    kinds: tuple[tuple[int, Importance], ...] = ((_FEW_ROWS, "brief"), (_MOST_ROWS, "verbose"))
    for count, importance in kinds:
        shown, title = every, ""
        if found.count > count:
            most = np.argsort(-np.abs(found.durations - np.median(found.durations)), kind="stable")[:count]
            shown, title = np.sort(most), f"{count} largest deviations"
        tables.append(_durations(found, shown, title, importance))
    return [*tables, _durations(found, every)]


def _plots(found: Iterations) -> list[Plot]:
    """Return the mean iteration, and the duration of each."""
    assert found.period is not None
    shape = Steps(np.linspace(0.0, 100.0, len(found.profile) + 1), found.profile, colour="series:0", width=1.4)
    y = Axis("busy processors", limits=(0.0, 1.1 * float(found.profile.max()) or 1.0))
    mean = Plot("mean", [shape], Axis("position in the iteration", "%", limits=(0.0, 100.0)), y, "mean iteration",
                width=0.42)  # fmt: skip
    numbers = np.arange(1, found.count + 1)
    marks: list[Mark] = [
        Line(np.repeat(numbers, 3), np.ravel(np.stack([np.zeros(found.count), found.durations,
             np.full(found.count, np.nan)], 1)), colour="faint", width=1.0),
        Points(numbers, found.durations, colour="series:0", size=2.5),
        Rule([found.period], "y", "mean"),
    ]  # fmt: skip
    if found.unusual is not None:
        index = found.unusual.number - 1
        label = _ordinal(index + 1) + (f": {found.unusual.reason}" if found.unusual.reason else "")
        place, duration, is_right = [numbers[index]], [found.durations[index]], index > found.count / 2
        text = f"{label}  " if is_right else f"  {label}"
        marks += [
            Points(place, duration, colour="careful", size=6.0),
            Text(place, duration, [text], "careful", "right" if is_right else "left"),
        ]
    top = 1.15 * float(found.durations.max())
    durations = Axis("duration", found.time_unit, "time", (0.0, top))
    return [mean, Plot("durations", marks, Axis("iteration"), durations, "duration of each iteration", width=0.58)]


def _columns(found: Iterations, index: Any) -> list[Column]:
    unit, starts, durations = found.time_unit, found.starts[index], found.durations[index]
    labels = [found.labels[k] for k in index.tolist()] if len(set(found.labels)) > 1 else None
    columns = [
        Column("iteration", index + 1, importance="data" if labels else "default"),
        Column("start", starts - shown_origin(*found.run), unit, "time", key=()),
        Column("start", starts, unit, importance="data"),
        Column("duration", durations, unit, "time", key=f"duration_{unit}"),
        Column(
            "vs median",
            key="over_median",
            value=durations / (np.median(found.durations) if found.count else 1.0) - 1.0,
            format="+.1%",
        ),
    ]
    if labels:
        columns.insert(0, Column("iteration", labels, key="label"))
    if found.marker is not None and found.differences is not None and found.count:
        shares = found.differences.times_ns[index] / found.differences.times_ns[index].sum(axis=1, keepdims=True)
        columns += [
            Column(name, share, format=".1%")
            for name, share in zip(found.differences.categories, shares.T, strict=True)
        ]
    return columns


def _differences(found: Iterations) -> list[str]:
    """Return the mean iteration by category, the slowest one, and what makes the difference."""
    differences = found.differences
    assert differences is not None
    assert found.period is not None
    lines = [f"by category: {_in_words(differences.mean_shares)}"]
    if found.count < 2 or not differences.shares_of_variance:
        return lines
    slowest = differences.slowest
    label = _ordinal(slowest + 1) + (f" ({found.labels[slowest]})" if len(set(found.labels)) > 1 else "")
    length, longer = float(found.durations[slowest]), found.durations[slowest] / found.period - 1.0
    excess = length - found.period
    parts = sorted(differences.shares_of_slowest.items(), key=lambda part: -abs(part[1]))
    texts = [
        f"{name} {'+' if share > 0.0 else '-'}{_rounded(abs(share) * excess, found.time_unit)}"
        for name, share in parts
        if abs(share) >= _LEAST_SHARE
    ]
    lines.append(
        f"slowest: the {label}, {_rounded(length, found.time_unit)}, {longer:.1%} above the mean: "
        f"{_rounded(excess, found.time_unit)}, of which on a location {', '.join(texts)}"
    )
    lines.append(f"variance of durations explained by: {_in_words(differences.shares_of_variance)}")
    return lines


def _in_words(shares: Mapping[str, float]) -> str:
    """Return shares of categories, the largest first, without those that are hardly any."""
    ordered = sorted(shares.items(), key=lambda each: -abs(each[1]))
    parts = [f"{share:.0%} {name}" for name, share in ordered if abs(share) >= _LEAST_SHARE]
    return ", ".join(parts)


def _ordinal(number: int) -> str:
    """Return a number in an order."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def in_a_line(count: int, period: float, spread: float | None, unit: str, unusual: Any = None) -> str:
    """Return number, duration, spread, and the iteration that differs."""
    text = f"{count} iterations, mean {_rounded(period, unit)}"
    if spread is not None:
        text += f", CV {spread:.1%}"
    if unusual is not None:
        reason = f", {unusual.reason}" if unusual.reason else ""
        text += f"; outlier: {_ordinal(unusual.number)} ({unusual.difference:+.0%} vs median{reason})"
    return text


def _rounded(duration: float, unit: str) -> str:
    """Return a duration in a readable unit, with four digits."""
    return readable(float(f"{duration:.4g}"), unit)
