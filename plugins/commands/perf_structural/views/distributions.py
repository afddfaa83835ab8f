"""Pictures of distributions: density and cumulative distribution beside one another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perf_views.colours import SERIES
from perf_views.names import shortened
from perfcore.stochastic import StochasticValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_POINTS = 2000  # more than a picture has pixels
_BEYOND = 1e-4  # probability beyond each end of the axis, where a value has no bounds
_MARGIN = 0.05  # of the range, left and right


def draw_distributions(figure: Figure, values: Mapping[str, StochasticValue], unit: str) -> None:
    """Draw the densities on the left and the cumulative distributions on the right of an empty figure.

    Parameters
    ----------
    figure : Figure
    values : mapping of str to StochasticValue
        At least one. What has bounds and no density is drawn as a bar over its range.
    unit : str
        Of all; empty where there is none.
    """
    named = next(iter(values)) if len(values) == 1 else "value"
    density, cumulative = figure.subplots(1, 2)
    ends = [end for value in values.values() for end in _ends(value)]
    low, high = min(ends), max(ends)
    margin = _MARGIN * (high - low) or 0.5 * max(abs(low), 1.0)
    places = np.linspace(low - margin, high + margin, _POINTS)
    # Bars stand at the top of the densities; without any of these, heights mean nothing.
    has_density = any(not _is_bar(value) for value in values.values())
    bar_place = density.get_xaxis_transform() if has_density else density.transData
    for number, ((name, value), colour) in enumerate(zip(values.items(), itertools.cycle(SERIES), strict=False)):
        bounds = _ends(value)
        if _is_bar(value):
            level = (0.97 if has_density else 0.6) - 0.04 * number
            density.plot(bounds, [level, level], color=colour, transform=bar_place, marker="|", label=name)
        else:
            heights = np.asarray(value.pdf(places), dtype=np.float64)
            density.fill_between(places, heights, color=colour, alpha=0.25, linewidth=0.0, step="mid")
            density.plot(places, heights, color=colour, linewidth=1.2, drawstyle="steps-mid", label=name)
        if math.isnan(value.mean):  # nothing is known between the bounds
            cumulative.fill_between(
                places, places >= bounds[1], places >= bounds[0], color=colour, alpha=0.25, linewidth=0.0, step="mid",
                label=name,
            )  # fmt: skip
        else:
            cumulative.plot(places, value.cdf(places), color=colour, linewidth=1.2, label=name)
    if has_density:
        density.set_ylim(bottom=0.0)
        density.set_ylabel(f"density (1/{unit})" if unit else "density")
    else:
        density.set_ylim(0.0, 1.0)
        density.set_yticks([])
    cumulative.set_ylim(0.0, 1.02)
    cumulative.set_ylabel("probability of at most this")
    for axes in (density, cumulative):
        axes.set_xlim(places[0], places[-1])
        axes.set_xlabel(f"{shortened(named)} ({unit})" if unit else shortened(named), parse_math=False)
    if len(values) > 1:
        density.legend(fontsize="small")


def _is_bar(value: StochasticValue) -> bool:
    """Whether it is one number, or nothing is known of it between its bounds."""
    low, high = _ends(value)
    return low == high or math.isnan(value.mean)


def _ends(value: StochasticValue) -> tuple[float, float]:
    """The range to show: all of what has bounds."""
    low, high = value.support
    return (
        low if math.isfinite(low) else float(value.quantile(_BEYOND)),
        high if math.isfinite(high) else float(value.quantile(1.0 - _BEYOND)),
    )
