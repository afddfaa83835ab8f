"""Pictures of data: curves and series over time, and tables of runs over their first parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_tables.confounders import refuse_unnamed_of_codes
from perf_tables.series import moment_in_words
from perf_views.colours import DARK, FAINT, SERIES, SIZES
from perf_views.names import shortened
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of, numbers_of, values_of
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import DAY_NS, NANOSECONDS, shown_origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A curve of more steps than this is drawn as the band between its extremes: more than one value falls on each pixel.
_MOST_STEPS = 1000
_BAND_BINS = 2000
_MEAN_BINS = 300
_SERIES_BINS, _MOST_COLUMNS = 1500, 8  # of a series
_MOST_NAMED, _MOST_LINES = 30, 200  # codes on systems that a legend can name, and that a picture can tell apart


def draw_data(axes: Axes, data: Any) -> None:
    """Draw a trace's or another curve, a series, or a table of runs."""
    if data is None:
        raise OptionError("there is nothing to draw: give a model or data")
    if isinstance(data, Measurements):
        draw_measurements(axes, data)
        return
    if isinstance(data, Series):
        draw_series(axes, data)
        return
    curve = data.utilization() if isinstance(data, Trace) else data
    if not isinstance(curve, UtilizationCurve):
        raise DataError(f"{type(data).__name__} has no picture; fit a model and plot that")
    draw_curve(axes, curve)


def time_axis(axes: Axes, start: float, end: float, time_unit: str) -> Callable[[npt.ArrayLike], Floats]:
    """Label the time axis in a readable unit; returns what turns times into places on it."""
    origin = shown_origin(start, end)
    factor, unit = readable_unit(max(abs(start - origin), abs(end - origin)), time_unit)

    def place(times: npt.ArrayLike) -> Floats:
        return (np.asarray(times, dtype=np.float64) - origin) * factor

    axes.set_xlim(*place([start, end]))
    since = f" since {moment_in_words(origin, time_unit)}" if origin else ""
    axes.set_xlabel(f"time{since} [{unit}]")
    return place


def readable_unit(longest: float, time_unit: str) -> tuple[float, str]:
    """Factor to the unit of an axis, and its name, in which the longest of durations is at least 1, as tables write
    it.
    """
    amount = abs(longest) * NANOSECONDS[time_unit]
    if amount >= 2 * DAY_NS:
        return NANOSECONDS[time_unit] / DAY_NS, "d"
    unit = next((name for name in ("s", "ms", "us") if amount >= NANOSECONDS[name]), "ns")
    return NANOSECONDS[time_unit] / NANOSECONDS[unit], "µs" if unit == "us" else unit


def draw_curve(axes: Axes, curve: UtilizationCurve) -> None:
    """Draw a utilization curve; a long one as the band between its extremes, with its mean over short times."""
    place = time_axis(axes, curve.start, curve.end, curve.time_unit)
    if curve.n_steps <= _MOST_STEPS:
        axes.stairs(curve.heights, place(curve.edges), color=DARK, linewidth=0.8, baseline=None, label="data")
    else:
        edges, low, high = curve.envelope(_BAND_BINS)
        # The outline keeps runs visible in which lowest and highest agree.
        axes.stairs(
            high, place(edges), baseline=low, fill=True, facecolor=FAINT, edgecolor=FAINT, linewidth=0.5,
            label="range",
        )  # fmt: skip
        cuts, means = curve.averaged(_MEAN_BINS)
        axes.stairs(means, place(cuts), color=DARK, linewidth=0.8, baseline=None, label="mean over short intervals")
    axes.set_ylim(bottom=0.0, top=max(float(curve.heights.max()) * 1.05, 1e-9))
    axes.set_ylabel(shortened(curve.quantity), parse_math=False)


def draw_series(axes: Axes, data: Series) -> None:
    """Draw the first columns over time; of a long one the band between the extremes of short stretches."""
    from perf_views.names import LABEL_LETTERS, shortened_apart
    from perf_views.style import add_legend

    names = list(data.columns)[:_MOST_COLUMNS]
    times = data.times - data.times[0]
    step = -(-len(times) // _SERIES_BINS)
    first = np.arange(0, len(times), step)
    for name in names:
        # Extremes, not means: nothing that stands out is left out.
        low, high = (extreme.reduceat(data.columns[name], first) for extreme in (np.fmin, np.fmax))
        (line,) = axes.plot(times[first], 0.5 * (low + high), linewidth=0.9, label=name)
        if step > 1:
            axes.fill_between(times[first], low, high, color=line.get_color(), alpha=0.3, linewidth=0.0)
    axes.set_xlabel(f"time since the first sample [{data.time_unit}]")
    if len(names) == 1:
        axes.set_ylabel(shortened(names[0]), parse_math=False)
    else:
        # Above the panel: lines of samples leave no place free.
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3}
        add_legend(axes, shortened_apart(names, LABEL_LETTERS), axes.get_lines(), fontsize=8, **place)


def draw_measurements(axes: Axes, data: Measurements) -> None:
    """Draw every code on every system over the first parameter, on logarithmic axes; of hundreds some, evenly chosen.

    Lines join points, and the median of repeated runs stands for them; where something else was varied at a point, all
    runs are drawn, and no line joins them.
    """
    import matplotlib as mpl

    from perf_views.names import LABEL_LETTERS, shortened_apart
    from perf_views.style import MARKERS, add_legend, set_logarithmic, tick_base

    observed = data.observations(duplicates="keep")
    symbol = next(iter(observed.points))
    points, values, cell_of, line = observed.points[symbol], observed.value, observed.cell, "-"
    try:
        refuse_unnamed_of_codes(data)
    except OptionError:
        points, values, cell_of = _every_run(data, symbol)
        line = ""
    all_cells = np.unique(cell_of)
    cells = all_cells[:: -(-len(all_cells) // _MOST_LINES)]
    if len(cells) < len(all_cells):
        axes.set_title(f"{len(cells)} of {len(all_cells):,}, evenly chosen", fontsize="small", loc="left")
    code, system = np.divmod(cells, len(observed.systems))
    by_code = 1 < len(np.unique(code)) <= len(SERIES) < len(cells)  # a colour for each code, a marker for each system
    colours = np.array(SERIES)[code % len(SERIES)] if by_code else mpl.colormaps[SIZES](np.linspace(0, 0.9, len(cells)))
    marks = system if by_code else np.arange(len(cells))
    for cell, colour, mark in zip(cells, colours, marks.tolist(), strict=True):
        marker = MARKERS[mark % len(MARKERS)]
        rows = cell_of == cell
        order = np.argsort(points[rows], kind="stable")
        axes.plot(
            points[rows][order], values[rows][order], f"{marker}{line}", color=colour, markersize=3, linewidth=0.8,
            label=observed.cell_name(int(cell)),
        )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    set_logarithmic(axes, "x", *axes.get_xlim(), base=tick_base(points))
    set_logarithmic(axes, "y", *axes.get_ylim())
    axes.set_xlabel(shortened(observed.columns[symbol]), parse_math=False)
    unit = f" [{observed.unit}]" if observed.unit else ""
    axes.set_ylabel(shortened(observed.value_name) + unit, parse_math=False)
    if 1 < len(cells) <= _MOST_NAMED:
        names = shortened_apart([observed.cell_name(int(cell)) for cell in cells], LABEL_LETTERS)
        add_legend(axes, names, axes.get_lines(), fontsize="x-small", ncols=2)


def _every_run(data: Measurements, symbol: str) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Parameter, value and cell of each run, as `Measurements.observations` numbers the cells."""
    values = values_of(data, [])
    kept = ~np.isnan(values)
    points = numbers_of(data, data.roles.parameters[symbol], kept)
    _, code = labels_of(data, "code", kept)
    systems, system = labels_of(data, "system", kept)
    return points[kept], values[kept], code * len(systems) + system
