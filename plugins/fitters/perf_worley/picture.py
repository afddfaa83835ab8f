"""Pictures of phases, in the manner of the paper's figures: data, model with vertical connectors, breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from perf_pictures.picture import draw_curve, time_axis
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_worley.phase_model import PhaseModel

__all__ = ["draw_phases", "draw_sequence"]

_POINTS_PER_PHASE = 101
_MODEL = "#c1272d"
_KEPT = "#1f5fa8"


def draw_phases(model: PhaseModel, figure: Figure, data: Any = None) -> None:
    """Draw a phase model.

    Parameters
    ----------
    model : PhaseModel
    figure : matplotlib Figure
        Empty; it grows when the model comes from a sequence of numbers of phases.
    data : Trace, UtilizationCurve or Series, optional
        What the model was fitted to.
    """
    if not model.sequence:
        _draw_model(model, figure.add_subplot(), data)
        return
    figure.set_size_inches(10, 8)
    grid = figure.add_gridspec(2, 2, width_ratios=[3, 1], height_ratios=[3, 2])
    above = figure.add_subplot(grid[0, :])
    _draw_model(model, above, data)
    _draw_breaks(model, figure.add_subplot(grid[1, 0]))
    _draw_errors(model, figure.add_subplot(grid[1, 1]))


def draw_sequence(model: PhaseModel, figure: Figure) -> None:
    """Draw how breakpoints and errors change with the number of phases, into an empty figure."""
    breaks, errors = figure.subplots(1, 2, width_ratios=[3, 1])
    _draw_breaks(model, breaks)
    _draw_errors(model, errors)


def _draw_model(model: PhaseModel, axes: Axes, data: Any) -> None:
    if data is None:
        place = time_axis(axes, model.start, model.end, model.time_unit)
        axes.set_ylabel("processors computing")
    else:
        curve = _curve_of(model, data)
        draw_curve(axes, curve)
        place = time_axis(axes, curve.start, curve.end, curve.time_unit)
    intervals = [phase.break_interval for phase in model.phases if phase.break_interval is not None]
    for i, interval in enumerate(intervals):
        begin, end = (float(place(at)) for at in interval)
        axes.axvspan(begin, end, color="0.85", linewidth=0, zorder=0, label="95% of a break" if i == 0 else None)
    for i, phase in enumerate(model.phases[1:]):
        axes.axvline(
            float(place(phase.start)),
            color="0.6",
            linewidth=0.7,
            linestyle=":",
            label="breakpoint" if i == 0 else None,
        )
    times, values = [], []
    for phase in model.phases:
        at = np.linspace(phase.start, phase.end, _POINTS_PER_PHASE)
        times.append(at)
        values.append(model.evaluate(phase, at))
    # One line through all phases: it connects them vertically at the breakpoints.
    axes.plot(
        place(np.concatenate(times)),
        np.concatenate(values),
        color=_MODEL,
        linewidth=1.4,
        label="model",
    )
    drawn = np.concatenate(values)
    bottom, top = axes.get_ylim()
    axes.set_ylim(min(bottom, 1.05 * float(drawn.min())), max(top, 1.05 * float(drawn.max())))
    axes.set_title(model.title, fontsize=10, loc="left")
    # Above the axes, where no data can lie behind it.
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, fontsize=8, frameon=False)


def _curve_of(model: PhaseModel, data: Any) -> UtilizationCurve:
    if isinstance(data, Trace):
        options = model.origin.options
        return data.utilization(options.get("busy"), idle=options.get("idle"))
    if isinstance(data, Series):
        return data.curve(model.origin.options.get("column"))
    if not isinstance(data, UtilizationCurve):
        raise DataError(f"phases are drawn over a trace, a curve or a time series, not over {type(data).__name__}")
    return data


def _draw_breaks(model: PhaseModel, axes: Axes) -> None:
    """Breakpoints of each model; the darker, the more of the following models keep them."""
    place = time_axis(axes, model.start, model.end, model.time_unit)
    for entry in model.sequence:
        if not entry.breaks:
            continue
        share = np.array(entry.kept) / entry.following if entry.following else np.zeros(len(entry.kept))
        axes.scatter(
            place(entry.breaks),
            np.full(len(entry.breaks), entry.n_phases),
            c=[(*_rgb(_KEPT), 0.15 + 0.85 * value) for value in share],
            s=14,
            linewidths=0,
        )
    axes.axhline(len(model.phases), color=_MODEL, linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("phases")
    axes.set_title("breakpoints; dark: kept when phases are added", fontsize=9)


def _draw_errors(model: PhaseModel, axes: Axes) -> None:
    counts = [entry.n_phases for entry in model.sequence]
    axes.plot(counts, [entry.bound for entry in model.sequence], color=_KEPT, marker=".", linewidth=1)
    axes.axvline(len(model.phases), color=_MODEL, linewidth=0.8)
    axes.set_ylim(bottom=0.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("phases")
    axes.set_title(model.sequence[0].bound_name, fontsize=9)


def _rgb(color: str) -> tuple[float, ...]:
    return tuple(int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
