"""Picture of a verification: measured against predicted values, and the errors, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_gate.compare.verification.verification import Verification
from perf_views.colours import GRID, RULE, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLOURS = {"not fitted": SERIES[1], "fitted": SERIES[0], "all points": SERIES[0]}


def draw_verification(verification: Verification, figure: Figure) -> None:
    """Draw the points of each group, with their bounds."""
    figure.suptitle(verification.title, x=0.01, ha="left", fontsize=10, parse_math=False)
    against, errors = figure.subplots(1, 2)
    unit = f" ({verification.unit})" if verification.unit else ""
    for name, kept in reversed(verification.groups.items()):  # the new points lie on top
        measured, predicted = verification.measured[kept], verification.predicted[kept]
        bounds = np.abs(np.stack([verification.lower[kept], verification.upper[kept]]) - predicted)
        against.errorbar(
            measured, predicted, bounds if np.isfinite(bounds).all() else None, fmt="o", color=_COLOURS[name],
            markersize=3, elinewidth=0.5, alpha=0.8,
        )  # fmt: skip
        order = np.sort(np.abs(verification.errors[kept]))
        errors.step(order, np.arange(1, len(order) + 1) / len(order), where="post", color=_COLOURS[name], label=name)
    positive = np.concatenate([verification.measured, verification.predicted[verification.predicted > 0.0]])
    limits = positive.min() / 1.4, positive.max() * 1.4
    against.axline((limits[1], limits[1]), slope=1.0, color=RULE, linewidth=0.7)
    against.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel=f"measured{unit}")
    against.set_ylabel(f"predicted{unit}, with {verification.interval:.0%} bounds")
    errors.set(xlabel="absolute relative error", ylabel="share of the points", ylim=(0.0, 1.02))
    errors.set_xlim(left=0.0)
    errors.legend(frameon=False, fontsize=8)
    for axes in (against, errors):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
