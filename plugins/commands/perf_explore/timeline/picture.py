"""A timeline by matplotlib: for paper, for reports, and where no script runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_explore.timeline.shown import Bins, TimelineData, state_name
from perf_views.colours import CLASS_COLOURS, DARK, FOUND
from perf_views.pictures.data_pictures import time_axis
from perf_views.pictures.style import SMALL_POINTS, add_legend
from perf_views.short_names import shortened_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLUMNS = 1200  # of the lanes in a picture
_ROW, _CURVE, _FRAME = 0.18, 1.1, 1.1  # inches: a lane, the curve, and what stands around them
_FAINTEST = 0.25  # of a colour where a lane is in its state for a small part of a pixel


def draw_timeline(figure: Figure, data: TimelineData, bins: Bins) -> None:
    """Draw the lanes of a window, and below them how many locations compute."""
    from matplotlib.patches import Patch

    n_rows = max(len(bins.lanes), 1)
    figure.set_size_inches(figure.get_size_inches()[0], _ROW * n_rows + _CURVE + _FRAME)
    lanes, curve = figure.subplots(2, 1, height_ratios=[max(_ROW * n_rows, 0.3), _CURVE], sharex=True)
    times = (bins.edges_ns - data.run_ns[0] + data.shown_from_ns).astype(np.float64)
    place = time_axis(curve, times[0], times[-1], "ns")
    left, right = place(times[[0, -1]])
    lanes.imshow(painted(data, bins), extent=(left, right, n_rows - 0.5, -0.5), aspect="auto", interpolation="nearest")
    lanes.set_yticks(range(len(bins.lanes)))
    names = shortened_apart([state_name("  " * lane.depth + lane.name) for _, lane in bins.lanes], 40)
    lanes.set_yticklabels(names, fontsize=SMALL_POINTS, parse_math=False)
    lanes.tick_params(axis="x", labelbottom=False)
    lanes.set_xlim(left, right)
    curve.stairs(bins.busy, place(times), color=DARK, linewidth=0.8, baseline=0.0, fill=False, label="computing")
    curve.set_ylim(bottom=0.0, top=max(float(bins.busy.max(initial=0.0)) * 1.05, 1e-9))
    curve.set_ylabel(f"of {len(data.given.locations)}\ncomputing")
    names = [name.replace("_", " ") for name in data.classes]
    add_legend(
        figure, names, [Patch(color=CLASS_COLOURS[name]) for name in data.classes], loc="outside upper left",
        ncols=6, fontsize=SMALL_POINTS,
    )  # fmt: skip


def painted(data: TimelineData, bins: Bins) -> npt.NDArray[np.float64]:
    """Red, green and blue of each lane and column, 0 to 1, on white paper."""
    from matplotlib.colors import to_rgb

    colours = np.array([*(to_rgb(CLASS_COLOURS[name]) for name in data.classes), (1.0, 1.0, 1.0)])
    chosen = colours[np.where(bins.top == 255, len(data.classes), bins.top)]
    strength = np.where(bins.share > 0, _FAINTEST + (1.0 - _FAINTEST) * bins.share, 0.0)[..., None]
    if bins.matching.size:
        chosen = np.where(bins.matching[..., None] > 0, to_rgb(FOUND), chosen)
        strength = np.where(
            bins.matching[..., None] > 0, np.maximum(bins.matching, 0.5)[..., None], _FAINTEST * strength
        )
    image: npt.NDArray[np.float64] = 1.0 - strength * (1.0 - chosen)
    return image if len(image) else np.ones((1, 1, 3))
