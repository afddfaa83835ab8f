"""Time axes, and curves drawn over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_views.colours import DARK, FAINT
from perf_views.names import shortened
from perfcore.base.arrays import Floats
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import DAY_NS, NANOSECONDS, moment_text, shown_origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A curve of more steps than this is drawn as the band between its extremes: more than one value falls on each pixel.
_MOST_STEPS = 1000
_BAND_BINS = 2000
_MEAN_BINS = 300


def time_axis(axes: Axes, start: float, end: float, time_unit: str) -> Callable[[npt.ArrayLike], Floats]:
    """Label the time axis in a readable unit; returns what turns times into places on it."""
    origin = shown_origin(start, end)
    factor, unit = readable_unit(max(abs(start - origin), abs(end - origin)), time_unit)

    def place(times: npt.ArrayLike) -> Floats:
        return (np.asarray(times, dtype=np.float64) - origin) * factor

    axes.set_xlim(*place([start, end]))
    since = f" since {moment_text(origin, time_unit)}" if origin else ""
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
