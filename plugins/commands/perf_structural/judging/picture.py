"""Pictures of predictions against what happened, in the manner of the paper's Figures 6 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_structural.judging.judgement import PIT_BINS
from perf_views.colours import DARK, MODEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_structural.judging.judgement import Judgement

__all__ = ["draw_judgement"]

_OUTER, _INNER = 0.95, 0.5  # central intervals: the outer one stands in where a prediction has no bounds


def draw_judgement(judgement: Judgement, figure: Figure) -> None:
    """Draw bounds and actual values over the runs and, where predictions are distributions, the places in them.

    Parameters
    ----------
    judgement : Judgement
    figure : matplotlib Figure
        Empty.
    """
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
    axes.fill_between(positions, *outer.T, color=MODEL, alpha=0.15, linewidth=0.0, label=label)
    for side in outer.T:
        axes.plot(positions, side, color=MODEL, linewidth=0.8)
    if np.isfinite(inner).any():
        axes.fill_between(positions, *inner.T, color=MODEL, alpha=0.3, linewidth=0.0, label=f"{_INNER:.0%}")
    axes.plot(positions, judgement.actual[order], "o-", color=DARK, markersize=3, linewidth=0.8, label=judgement.name)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(judgement.at_name)
    axes.set_ylabel(judgement.name)
    axes.set_title(judgement.title, fontsize=10, loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=8, frameon=False)


def _draw_places(judgement: Judgement, axes: Axes) -> None:
    """Even where the predicted distributions are right; a valley where too narrow, a hill where too wide."""
    counts = judgement.place_counts()
    axes.stairs(counts, np.linspace(0.0, 1.0, PIT_BINS + 1), fill=True, color=MODEL, alpha=0.4)
    axes.axhline(counts.sum() / PIT_BINS, color=DARK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("place in the prediction")
    axes.set_ylabel("runs")
