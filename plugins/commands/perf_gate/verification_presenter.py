"""How a verification is shown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.verification import Verification
from perf_views.colours import RULE, SERIES
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_COLOURS = {"not fitted": SERIES[1], "fitted": SERIES[0], "all points": SERIES[0]}


def _draw_values(verification: Verification, axes: Axes) -> None:
    """The points of each group, with their bounds."""
    from perf_views.style import set_plain

    for name, kept in reversed(verification.groups.items()):  # the new points lie on top
        measured, predicted = verification.measured[kept], verification.predicted[kept]
        bounds = np.abs(np.stack([verification.lower[kept], verification.upper[kept]]) - predicted)
        axes.errorbar(
            measured, predicted, bounds if np.isfinite(bounds).all() else None, fmt="o", color=_COLOURS[name],
            markersize=3, elinewidth=0.5, alpha=0.8, label=name,
        )  # fmt: skip
    positive = np.concatenate([verification.measured, verification.predicted[verification.predicted > 0.0]])
    limits = positive.min() / 1.4, positive.max() * 1.4
    axes.axline((limits[1], limits[1]), slope=1.0, color=RULE, linewidth=0.7)
    unit = f" ({verification.unit})" if verification.unit else ""
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel=f"measured{unit}")
    axes.set_ylabel(f"predicted{unit}, with {verification.interval:.0%} bounds")
    if len(verification.groups) > 1:
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    set_plain(axes)


def _draw_errors(verification: Verification, axes: Axes) -> None:
    from perf_views.style import set_plain

    for name, kept in reversed(verification.groups.items()):
        order = np.sort(np.abs(verification.errors[kept]))
        axes.step(order, np.arange(1, len(order) + 1) / len(order), where="post", color=_COLOURS[name], label=name)
    axes.set(xlabel="absolute relative error", ylabel="share of the points", ylim=(0.0, 1.02))
    axes.set_xlim(left=0.0)
    axes.legend(frameon=False, fontsize=8)
    set_plain(axes)


_MOST_ROWS = 40


class VerificationPresenter(Presenter):
    """Figures of each group of points, the worst categories and points, and measured over predicted values."""

    def title(self, result: Verification) -> str:
        """One line over a picture."""
        return f"{result.model}, against {result.source}"

    def summary(self, result: Verification) -> list[str]:
        """What was verified, and the figures of each group of points."""
        lines = [result.title]
        for name, kept in result.groups.items():
            figures = result.figures(kept)
            r2 = "-" if figures["r2_centered"] is None else f"{figures['r2_centered']:.4f}"
            text = (
                f"{name} ({figures['n_points']:,}): R^2 centered {r2}; relative error: median "
                f"{figures['median_relative_error']:.1%}, largest {figures['max_relative_error']:.1%}"
            )
            if figures["coverage"] is not None:
                text += f"; {figures['coverage']:.1%} within the {result.interval:.0%} bounds"
            lines.append(text)
        return lines

    def tables(self, result: Verification) -> Tables:
        """Categories and points of the first group, the points that are new to the model where there are any."""
        name, kept = next(iter(result.groups.items()))
        categories = [
            Column("category", "category"),
            Column("share", "share", format=".1%"),
            Column("R^2 centered", "r2_centered", format=".4f"),
            Column("error of total", "error_of_total", format=".2%"),
        ]
        order = np.flatnonzero(kept)[np.argsort(-np.abs(result.errors[kept]), kind="stable")]
        points = [
            Column("point", [result.labels[k] for k in order.tolist()]),
            Column("measured", result.measured[order], format=".6g"),
            Column("predicted", result.predicted[order], format=".6g"),
            Column("lower", result.lower[order], format=".6g"),
            Column("upper", result.upper[order], format=".6g"),
            Column("error", result.errors[order], format="+.1%"),
        ]
        worst = Table(categories, result.category_figures(kept), f"Categories, {name}, worst first", limit=_MOST_ROWS)
        every = [Column(symbol, values, key=symbol) for symbol, values in result.points.items()]
        every += [Column(name, getattr(result, name)) for name in ("measured", "predicted", "lower", "upper")]
        every += [Column("error", result.errors)]
        every += [] if result.fitted is None else [Column("fitted", result.fitted)]
        return [
            *([worst] if result.categories else []),
            Table(points, title=f"Points, {name}, worst first", limit=_MOST_ROWS),
            Table(every, importance="data"),
        ]

    def panels(self, result: Verification, data: Any = None) -> Panels:
        """Measured over predicted values, and the relative errors."""
        return {"values": partial(_draw_values, result), "errors": partial(_draw_errors, result)}
