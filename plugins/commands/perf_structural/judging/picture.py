"""Pictures of predictions against what happened, in the manner of the paper's Figures 6 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.judging.judgement import PIT_BINS
from perf_views.colours import DARK, MODEL
from perf_views.names import shortened
from perf_views.style import add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_structural.judging.judgement import Judgement


_OUTER, _INNER = 0.95, 0.5  # central intervals: the outer one stands in where a prediction has no bounds


def draw_judgement(judgement: Judgement, figure: Figure) -> None:
    """Draw bounds and actual values over the runs and, where predictions are distributions, the places in them."""
    figure.suptitle(judgement.title, x=0.01, ha="left", fontsize=10, parse_math=False)
    if not judgement.place_counts().sum():
        _draw_runs(judgement, figure.add_subplot())
        return
    runs, places = figure.subplots(1, 2, width_ratios=[3, 1])
    _draw_runs(judgement, runs)
    _draw_places(judgement, places)


def _draw_runs(judgement: Judgement, axes: Axes) -> None:
    count = len(judgement.actual)
    positions = np.arange(1, count + 1) if judgement.at is None else judgement.at
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    finite = np.isfinite(judgement.support)
    outer = np.where(finite, judgement.support, judgement.bounds[_OUTER])[order]
    inner = judgement.bounds[_INNER][order]
    label = "bounds" if finite.all() else f"bounds or {_OUTER:.0%}"
    handles: list[Any] = [axes.fill_between(positions, *outer.T, color=MODEL, alpha=0.15, linewidth=0.0, label=label)]
    for side in outer.T:
        axes.plot(positions, side, color=MODEL, linewidth=0.8)
    if np.isfinite(inner).any():
        band = axes.fill_between(positions, *inner.T, color=MODEL, alpha=0.3, linewidth=0.0, label=f"{_INNER:.0%}")
        handles.append(band)
    actual = judgement.actual[order]
    handles += axes.plot(positions, actual, "o-", color=DARK, markersize=3, linewidth=0.8, label=judgement.name)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(shortened(judgement.at_name))
    axes.set_ylabel(shortened(judgement.name))
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3}
    add_legend(axes, [shortened(handle.get_label()) for handle in handles], handles, fontsize=8, **place)


def _draw_places(judgement: Judgement, axes: Axes) -> None:
    """Even where the predicted distributions are right; a valley where too narrow, a hill where too wide."""
    counts = judgement.place_counts()
    axes.stairs(counts, np.linspace(0.0, 1.0, PIT_BINS + 1), fill=True, color=MODEL, alpha=0.4)
    axes.axhline(counts.sum() / PIT_BINS, color=DARK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("place in the prediction")
    axes.set_ylabel("runs")
