"""What data report: their answer in a sentence, the key numbers, and plots as marks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base.arrays import Floats
from perfcore.base.errors import PerfError, counted, listing
from perfcore.data.observations import Observations
from perfcore.data.units import moment_text, readable, shown_origin
from perfcore.report import Axis, Band, Figure, Line, Mark, Note, Plot, Points, Report, Steps
from perfcore.tables import Column, Table, shorten

if TYPE_CHECKING:
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.measurements import Measurements
    from perfcore.data.series import Series
    from perfcore.data.trace import Trace

# A curve of more steps than this is drawn as the band between its extremes: more than one value falls on each pixel.
_SERIES_BINS, _MOST_COLUMNS = 1500, 8  # of a series
_MOST_NAMED, _MOST_LINES = 30, 200  # series that a legend can name, and that a plot can distinguish
_COLOURS, _SHAPES = 7, ("circle", "square", "triangle", "diamond", "cross")
_ROWS, _LABEL_LETTERS, _NAMES = 20, 34, 6


def report_of_curve(curve: UtilizationCurve, data: Any = None) -> Report:
    """Return the report of a utilization curve: its mean, its extremes and its plot."""
    duration, number = readable(curve.duration, curve.time_unit, 4), curve.n_locations
    share = f" ({curve.mean / number:.0%} of {number})" if number else ""
    lowest, highest = float(curve.heights.min()), float(curve.heights.max())
    heights = {"mean": curve.mean, "lowest": lowest, "highest": highest}
    columns = [
        Column("steps", [curve.n_steps], format=","),
        Column("duration", [float(curve.duration)], curve.time_unit, "time", f"duration_{curve.time_unit}"),
        *(Column(name, [value], format=".6g") for name, value in heights.items()),
    ]
    return Report(
        title=f"Utilization: {Path(curve.source).name}",
        answer=f"{curve.quantity}: mean {curve.mean:.4g}{share}, highest {highest:g}, over {duration}",
        figures=[Figure("mean", curve.mean, format=".4g"), Figure("highest", highest, format="g")],
        tables=[Table(columns, title=curve.quantity.capitalize())],
        draw=lambda: [plot_of_curve(curve)],
        notes=[Note("Note", note) for note in curve.notes],
    )


def report_of_trace(trace: Trace, data: Any = None) -> Report:
    """Return the report of a trace: its size, the time in each state, and its utilization."""
    times = trace.state_times()
    total = (trace.span_ns[1] - trace.span_ns[0]) * len(trace.locations)
    columns = [
        Column("state", lambda k: trace.states[k]),
        Column("counts as", lambda k: "computing" if trace.states[k] in trace.busy_states else None),
        Column("total time", lambda k: int(times[k]), "ns", "time"),
        Column("share", lambda k: float(times[k] / total) if total else None, format=".2%"),
    ]
    parts = [counted(len(trace.locations), "location"), counted(len(trace.states), "state")]
    duration = readable(float(trace.span_ns[1] - trace.span_ns[0]), "ns", 4)
    return Report(
        title=f"Trace: {Path(trace.source).name}",
        answer=f"{counted(trace.n_intervals, 'state interval')} of {' in '.join(parts)}, over {duration}",
        figures=[Figure("intervals", trace.n_intervals, format=","), Figure("locations", len(trace.locations))],
        tables=[Table(columns, np.argsort(-times, kind="stable").tolist(), "Total time by state")],
        draw=lambda: [plot_of_curve(trace.utilization())],
        notes=[Note("Note", note) for note in trace.notes],
    )


def report_of_series(series: Series, data: Any = None) -> Report:
    """Return the report of a time series: the statistics of its columns, and these over time."""
    finite = {name: values[np.isfinite(values)] for name, values in series.columns.items()}
    statistics: dict[str, Any] = {"mean": np.mean, "standard deviation": np.std, "lowest": np.min, "highest": np.max}
    columns = [
        Column("column", list(finite)),
        Column("samples", [len(values) for values in finite.values()]),
        *(
            Column(name, [float(of(values)) if len(values) else None for values in finite.values()], format=".5g")
            for name, of in statistics.items()
        ),
    ]
    duration = readable(float(series.times[-1] - series.times[0]) if len(series.times) else 0.0, series.time_unit, 4)
    known = [name for name, values in finite.items() if len(values)]
    command = ["perf", "stochastic", "summarize", series.source, "--column", *known[:1]]
    return Report(
        title=f"Series: {Path(series.source).name}",
        answer=f"{counted(len(series.times), 'sample')} of {listing(finite, _NAMES)} over {duration}",
        figures=[Figure("samples", len(series.times), format=",")],
        tables=[Table(columns, title="Columns")],
        draw=lambda: [_plot_of_series(series)],
        notes=[Note("Note", note) for note in series.notes],
        next=shlex.join(command) if known and os.path.isfile(series.source) else "",  # noqa: PTH113 (very long names raise)
    )


def report_of_measurements(data: Measurements, below: Any = None) -> Report:
    """Return the report of a table of runs: what was measured over what, its first rows, and its plot."""
    roles, table = data.roles, data.table
    head = table.head(_ROWS)
    columns = [
        Column(str(name), head[name], format=".6g" if head[name].dtype.kind == "f" else "", key=str(name))
        for name in head.columns
    ]
    title = f"The first {len(head)} of {len(table):,} rows" if len(head) < len(table) else "All rows"
    over = f" over {', '.join(roles.parameters.values())}" if roles.parameters else ""
    by = "".join(f", {role} by {' '.join(getattr(roles, role))}" for role in ("code", "system") if getattr(roles, role))
    try:
        observed, problem = data.observations(duplicates="keep"), ""
    except PerfError as error:
        observed, problem = None, str(error)
    return Report(
        title=f"Measurements: {Path(data.source).name}",
        answer=f"{counted(len(table), 'measurement')}{f' of {roles.value}' if roles.value else ''}{over}{by}",
        figures=[Figure("measurements", len(table), format=",")],
        tables=[Table(columns, title=title, drops_empty=False)],
        draw=lambda: [] if observed is None else [_plot_of_observations(observed)],
        notes=[Note("Check", f"no plot: {problem}")] * bool(problem) + [Note("Note", note) for note in data.notes],
    )


def plot_of_curve(curve: UtilizationCurve) -> Plot:
    """Return a curve over time; a renderer shows a long one as extremes and means of short times."""
    axis, origin = time_axis(curve.start, curve.end, curve.time_unit)
    steps = Steps(np.subtract(curve.edges, origin), curve.heights, "measured", "dark", width=0.8)
    top = max(float(curve.heights.max()) * 1.05, 1e-9)
    return Plot("data", [steps], axis, Axis(curve.quantity, limits=(0.0, top)))


def time_axis(start: float, end: float, time_unit: str) -> tuple[Axis, float]:
    """Return the axis of a stretch of time, and the time from which it counts."""
    origin = shown_origin(start, end)
    since = f" since {moment_text(origin, time_unit)}" if origin else ""
    return Axis(f"time{since}", time_unit, "time", (float(start - origin), float(end - origin))), origin


def _plot_of_series(series: Series) -> Plot:
    """The first columns over time; of a long one also the band between the extremes of short stretches."""
    names = list(series.columns)[:_MOST_COLUMNS]
    times = series.times - series.times[0]
    step = -(-len(times) // _SERIES_BINS)
    first = np.arange(0, len(times), step)
    labels = shorten(names, _LABEL_LETTERS) if len(names) > 1 else [""]
    marks: list[Mark] = []
    for number, (name, label) in enumerate(zip(names, labels, strict=True)):
        # Extremes, not means: nothing that stands out is left out.
        low, high = (extreme.reduceat(series.columns[name], first) for extreme in (np.fmin, np.fmax))
        colour = f"series:{number}"
        marks.append(Line(times[first], 0.5 * (low + high), label, colour, width=0.9))
        if step > 1:
            marks.append(Band(times[first], low, high, colour=colour, opacity=0.3))
    axis = Axis("time since the first sample", series.time_unit, "time")
    return Plot("data", marks, axis, Axis(names[0] if len(names) == 1 else ""))


def _plot_of_observations(observed: Observations) -> Plot:
    """Plot codes on systems over the first parameter, of hundreds some; lines join aggregates of repeated runs."""
    symbol = next(iter(observed.points))
    points = observed.points[symbol]
    all_cells = np.unique(observed.cell)
    cells = all_cells[:: -(-len(all_cells) // _MOST_LINES)]
    chosen = f"{len(cells)} of {len(all_cells):,}, evenly chosen" if len(cells) < len(all_cells) else ""
    names = [""] * len(cells)
    if 1 < len(cells) <= _MOST_NAMED:
        names = shorten([observed.cell_name(int(cell)) for cell in cells], _LABEL_LETTERS)
    base = 2 if (np.log2(points) % 1.0 == 0.0).all() else 10
    x, y = Axis(observed.columns[symbol], scale="log", base=base), Axis(observed.value_name, observed.unit or "", "log")
    return Plot("data", list(_lines(observed, points, cells, names)), x, y, title=chosen)


def _lines(observed: Observations, points: Floats, cells: npt.NDArray[np.int64], names: list[str]) -> Iterator[Mark]:
    """Points and lines: a colour for each code and a shape for each system, as far as there are as many."""
    code, system = np.divmod(cells, len(observed.systems))
    by_code = 1 < len(np.unique(code)) <= _COLOURS < len(cells)
    for number, (cell, name) in enumerate(zip(cells.tolist(), names, strict=True)):
        colour = f"size:{0.9 * number / max(len(cells) - 1, 1):.3f}"
        if by_code or len(cells) <= _COLOURS:
            colour = f"series:{code[number] if by_code else number}"
        rows = np.flatnonzero(observed.cell == cell)
        rows = rows[np.argsort(points[rows], kind="stable")]
        yield Line(points[rows], observed.value[rows], colour=colour, width=0.8)
        shape = _SHAPES[(int(system[number]) if by_code else number) % len(_SHAPES)]
        yield Points(points[rows], observed.value[rows], name, colour, shape=shape, size=3.0)  # type: ignore[arg-type]
