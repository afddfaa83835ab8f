"""Pictures of phases, in the manner of the paper's figures: data, model with vertical connectors, breakpoints."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgba
from matplotlib.ticker import MaxNLocator

from perf_views.colours import AREAS, DATA, FAINT, LIGHT, MODEL, PAPER, RULE, SERIES
from perf_views.data_pictures import draw_curve, readable_unit, time_axis
from perf_views.names import plain_names
from perf_views.style import legend_below
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError
from perfcore.results import Panel, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_worley.phase_model import PhaseModel

_MOST_COMPUTING, _MOST_IDLE = 5, 2
_GREYS = (LIGHT, FAINT)


def draw_activity(model: PhaseModel, span: tuple[float, float], axes: Axes) -> None:
    """Draw what runs, on a time axis with the ends of the panel that it stands below."""
    place = time_axis(axes, *span, model.time_unit)
    edges = place([phase.start for phase in model.phases] + [model.end])
    activities = [phase.activity for phase in model.phases if phase.activity is not None]
    totals: dict[tuple[str, bool], int] = {}
    for each in activities:
        for state in each.states:
            key = state.state, state.computing
            totals[key] = totals.get(key, 0) + state.time_ns
    ordered = sorted(totals, key=lambda key: -totals[key])
    computing = [name for name, computes in ordered if computes][:_MOST_COMPUTING]
    idle = [name for name, computes in ordered if not computes][:_MOST_IDLE]
    short = dict(zip((*computing, *idle), plain_names([*computing, *idle]), strict=True))
    durations = np.array([max(each.duration_ns, 1) for each in activities])

    def mean_of(names: list[str]) -> npt.NDArray[np.float64]:
        times = [sum(state.time_ns for state in each.states if state.state in names) for each in activities]
        means: npt.NDArray[np.float64] = np.array(times) / durations
        return means

    mean_computing = np.array([each.computing_ns for each in activities]) / durations
    layers = [(short[name], mean_of([name]), colour) for name, colour in zip(computing, SERIES, strict=False)]
    mean_others = mean_computing - mean_of(computing)
    if (mean_others > 1e-9 * mean_computing.max(initial=1.0)).any():
        layers.append(("others", mean_others, AREAS[-1]))
    layers += [(f"{short[name]} (idle)", mean_of([name]), grey) for name, grey in zip(idle, _GREYS, strict=False)]
    below = np.zeros(len(activities))
    for name, heights, colour in layers:
        axes.stairs(below + heights, edges, baseline=below, fill=True, color=colour, linewidth=0, label=name)
        below += heights
    for edge in edges[1:-1]:
        axes.axvline(edge, color=PAPER, linewidth=0.8)
    axes.set_ylim(0.0, min(activities[0].n_locations, 1.15 * float(below.max(initial=0.0))) or 1.0)
    axes.set_ylabel("locations (mean)")
    axes.set_title("activity by phase", fontsize=9, loc="left")
    legend_below(axes)


_POINTS_PER_PHASE = 101
_ROOM = 0.011  # of the picture's width for a digit


def phase_panels(model: PhaseModel, data: Any = None) -> Panels:
    """``model``, and as far as it has them ``activity``, ``breaks`` and ``errors``; each has the whole width, so that a
    time is at the same place in all.
    """
    curve = None if data is None else _curve_of(model, data)
    span = _span(model, curve)
    panels = {"model": Panel(partial(_draw_model, model, curve), 4.5, 1.0)}
    if all(phase.activity is not None for phase in model.phases):
        panels["activity"] = Panel(partial(draw_activity, model, span), 2.5, 1.0)
    if model.sequence:
        panels["breaks"] = Panel(partial(_draw_breaks, model, span), 3.0, 1.0)
        panels["errors"] = Panel(partial(_draw_errors, model), 2.1, 1.0)
    return panels


def sequence_panels(model: PhaseModel) -> Panels:
    """How breakpoints and errors change with the number of phases."""
    breaks = partial(_draw_breaks, model, _span(model, None))
    return {"breaks": Panel(breaks, width=0.75), "errors": Panel(partial(_draw_errors, model), width=0.25)}


def _span(model: PhaseModel, curve: UtilizationCurve | None) -> tuple[float, float]:
    """Ends of all time axes of a picture."""
    return (model.start, model.end) if curve is None else (curve.start, curve.end)


def _draw_model(model: PhaseModel, curve: UtilizationCurve | None, axes: Axes) -> None:
    if curve is None:
        axes.set_ylabel("busy processors")
    else:
        draw_curve(axes, curve)
    place = time_axis(axes, *_span(model, curve), model.time_unit)
    intervals = place([phase.break_interval for phase in model.phases if phase.break_interval is not None])
    if len(intervals):
        mark_intervals(axes, intervals)
    number_phases(axes, place([phase.start for phase in model.phases] + [model.end]))
    for i, phase in enumerate(model.phases[1:]):
        label = "breakpoint" if i == 0 else None
        axes.axvline(float(place(phase.start)), color=RULE, linewidth=0.7, linestyle=":", label=label)
    times, values = [], []
    for phase in model.phases:
        phase_times = np.linspace(phase.start, phase.end, _POINTS_PER_PHASE)
        times.append(phase_times)
        values.append(model.evaluate(phase, phase_times))
    most = np.inf if model.n_locations is None else float(model.n_locations)
    polynomials = np.concatenate(values)
    drawn = np.clip(polynomials, 0.0, most)  # no processors compute beyond all of them, nor fewer than none
    is_cut = not np.allclose(drawn, polynomials, rtol=1e-6, atol=1e-6 * float(drawn.max()))
    ends = "0" if np.isinf(most) else f"0 and {most:g}"
    # One line through all phases: it connects them vertically at the breakpoints.
    label = f"model, cut at {ends}" if is_cut else "model"
    axes.plot(place(np.concatenate(times)), drawn, color=MODEL, linewidth=1.4, label=label)
    axes.set_ylim(0.0, max(axes.get_ylim()[1], 1.05 * float(drawn.max())))
    # Above the axes, where no data can lie behind it.
    axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=5, fontsize=8, frameon=False)


def mark_intervals(axes: Axes, intervals: npt.NDArray[np.float64]) -> None:
    """Shade intervals of breaks; a bar with ends above the shade shows also those that are a line wide."""
    for i, (begin, end) in enumerate(intervals):
        axes.axvspan(
            begin, end, color=DATA, alpha=0.13, linewidth=0, zorder=0, label="start 95% CI" if i == 0 else None
        )
    middle, half = intervals.mean(axis=1), 0.5 * np.diff(intervals, axis=1)[:, 0]
    axes.errorbar(
        middle, np.full(len(middle), 1.0), xerr=half, fmt="none", ecolor=DATA, elinewidth=2.5, capsize=4, capthick=1.2,
        transform=axes.get_xaxis_transform(), clip_on=False, zorder=5,
    )  # fmt: skip


def number_phases(axes: Axes, edges: npt.NDArray[np.float64]) -> None:
    """Write the number of each phase into its upper end, where it has room."""
    length = edges[-1] - edges[0]
    for number, (begin, end) in enumerate(itertools.pairwise(edges), 1):
        if len(edges) > 2 and end - begin > _ROOM * length * len(str(number)):
            axes.text(
                0.5 * (begin + end), 0.965, str(number), transform=axes.get_xaxis_transform(), ha="center", va="top",
                fontsize=9, fontweight="bold", color=MODEL, clip_on=True,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.75},
            )  # fmt: skip


def _curve_of(model: PhaseModel, data: Any) -> UtilizationCurve:
    if isinstance(data, Trace):
        options = model.origin.options
        return data.utilization(options.get("busy"), idle=options.get("idle")).counted_from_start()
    if isinstance(data, Series):
        return data.curve(model.origin.options.get("column"))
    if not isinstance(data, UtilizationCurve):
        raise DataError(f"phases are drawn over a trace, a curve or a time series, not over {type(data).__name__}")
    return data.counted_from_start()


def _draw_breaks(model: PhaseModel, span: tuple[float, float], axes: Axes) -> None:
    """Breakpoints of each model; the darker, the more of the following models keep them."""
    place = time_axis(axes, *span, model.time_unit)
    for entry in model.sequence:
        if not entry.breaks:
            continue
        share = np.array(entry.kept) / entry.following if entry.following else np.zeros(len(entry.kept))
        colours = [to_rgba(DATA, 0.15 + 0.85 * value) for value in share]
        axes.scatter(place(entry.breaks), [entry.n_phases] * len(entry.breaks), c=colours, s=14, linewidths=0)
    axes.axhline(len(model.phases), color=MODEL, linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("phases")
    starts = [phase.start for phase in model.phases[1:]]
    moved = any(entry.n_phases == len(model.phases) and list(entry.breaks) != starts for entry in model.sequence)
    before = " before they were refined" if moved else ""
    axes.set_title(f"breakpoints{before}; dark: kept when phases are added", fontsize=9)


def _draw_errors(model: PhaseModel, axes: Axes) -> None:
    counts = [entry.n_phases for entry in model.sequence]
    factor, unit = readable_unit(model.end - model.start, model.time_unit)  # that of the panels over time
    unit = f"height² · {unit}"  # in processors only if the curve is of them
    if model.sequence[0].tolerance is not None:  # of L2 errors, which are roots of integrals
        factor, unit = factor**0.5, unit.replace("² · ", " · √")
    bounds = [factor * entry.bound for entry in model.sequence]
    axes.plot(counts, bounds, color=DATA, marker=".", linewidth=1)
    axes.axvline(len(model.phases), color=MODEL, linewidth=0.8)
    axes.set_ylim(0.0, 1.05 * max(bounds) or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("phases")
    axes.set_ylabel(unit)
    axes.set_title(model.sequence[0].bound_name, fontsize=9)
