"""The picture of what runs in each phase: mean numbers of locations in each state, on top of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.transforms import ScaledTranslation

from perf_views.colours import AREAS, FAINT, LIGHT, PAPER, SERIES
from perf_views.function_names import plain_names
from perf_views.pictures.data_pictures import time_axis
from perf_views.pictures.style import SMALL_POINTS
from perf_views.short_names import shortened_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_worley.phase_model import PhaseModel


_MOST_COMPUTING, _MOST_IDLE = 5, 2
_COLUMNS, _LETTERS, _LINE = 3, 40, 130  # of the legend; letters of a name in it, and of a line
_BELOW = 0.38  # inches, of the time axis with its label
_GREYS = (LIGHT, FAINT)


def draw_activity(model: PhaseModel, axes: Axes, span: tuple[float, float]) -> None:
    """Draw what runs; a model whose phases have no activity has no such picture.

    Parameters
    ----------
    model : PhaseModel
    axes : matplotlib Axes
        Empty.
    span : (float, float)
        Ends of the time axis, those of the panel that it stands below.
    """
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
    axes.set_title("what runs in each phase", fontsize=9, loc="left")
    handles, names = axes.get_legend_handles_labels()
    names = shortened_apart(names, _LETTERS)
    anchor = axes.transAxes + ScaledTranslation(0.0, -_BELOW, axes.figure.dpi_scale_trans)
    legend = axes.legend(
        handles, [str(number) for number in range(len(names))], loc="upper left", bbox_to_anchor=(-0.01, 0.0),
        bbox_transform=anchor,
        fontsize=SMALL_POINTS, frameon=False, ncols=min(_COLUMNS, max(1, _LINE // max(map(len, names), default=1))),
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)
