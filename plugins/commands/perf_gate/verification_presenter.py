"""How a verification is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.verification import Verification
from perf_views.colours import RULE, SERIES
from perfcore.results import Column, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GROUPS = {"not fitted": "held-out points", "fitted": "training points", "all points": "points"}
_COLOURS = {"not fitted": SERIES[1], "fitted": SERIES[0], "all points": SERIES[0]}


def _draw_values(verification: Verification, axes: Axes) -> None:
    """The points of each group, with their bounds."""
    from perf_views.style import set_plain

    for name, kept in reversed(verification.groups.items()):  # the new points lie on top
        measured, predicted = verification.measured[kept], verification.predicted[kept]
        bounds = np.abs(np.stack([verification.lower[kept], verification.upper[kept]]) - predicted)
        axes.errorbar(
            measured, predicted, bounds if np.isfinite(bounds).all() else None, fmt="o", color=_COLOURS[name],
            markersize=3, elinewidth=0.5, alpha=0.8, label=_GROUPS[name],
        )  # fmt: skip
    positive = np.concatenate([verification.measured, verification.predicted[verification.predicted > 0.0]])
    limits = positive.min() / 1.4, positive.max() * 1.4
    axes.axline((limits[1], limits[1]), slope=1.0, color=RULE, linewidth=0.7)
    unit = f" [{verification.unit}]" if verification.unit else ""
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel=f"measured{unit}")
    axes.set_ylabel(f"predicted{unit}, {verification.interval:.0%} PI")
    if len(verification.groups) > 1:
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    set_plain(axes)


def _draw_errors(verification: Verification, axes: Axes) -> None:
    from perf_views.style import set_plain

    for name, kept in reversed(verification.groups.items()):
        order = np.sort(np.abs(verification.errors[kept]))
        axes.step(
            order, np.arange(1, len(order) + 1) / len(order), where="post", color=_COLOURS[name], label=_GROUPS[name]
        )
    axes.set(xlabel="absolute relative error", ylabel="share of points", ylim=(0.0, 1.02))
    axes.set_xlim(left=0.0)
    axes.legend(frameon=False, fontsize=8)
    set_plain(axes)


_MOST_ROWS = 40


class VerificationPresenter(Presenter):
    """Figures of each group of points, the worst categories and points, and measured over predicted values."""

    def title(self, result: Verification) -> str:
        return f"{result.model}, against {result.source}"

    def answer(self, result: Verification) -> str:
        return self._scores(result)[0]

    def summary(self, result: Verification) -> list[str]:
        return [*self._scores(result), result.title]

    def caveats(self, result: Verification) -> dict[str, Sequence[str]]:
        if set(result.groups) == {"fitted"}:
            return {"Uncertain": ["training points only: errors of held-out points are larger"]}
        return {"Training": self._scores(result)[1:]}

    @staticmethod
    def _scores(result: Verification) -> list[str]:
        lines = []
        for name, kept in result.groups.items():
            figures = result.figures(kept)
            r2 = "" if figures["r2_centered"] is None else f", R^2 {figures['r2_centered']:.4f}"
            points = _GROUPS[name] if figures["n_points"] != 1 else _GROUPS[name].removesuffix("s")
            text = (
                f"{figures['n_points']:,} {points}: median error {figures['median_relative_error']:.1%}, max "
                f"{figures['max_relative_error']:.1%}{r2}"
            )
            if figures["coverage"] is not None:
                text += f", {figures['coverage']:.1%} inside the {result.interval:.0%} prediction interval"
            lines.append(text)
        return lines

    def tables(self, result: Verification) -> Tables:
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
            Column("measured", result.measured[order], result.unit or "", ".6g"),
            Column("predicted", result.predicted[order], result.unit or "", ".6g"),
            Column(f"{result.interval:.0%} PI", np.stack([result.lower, result.upper], axis=1)[order], format=".4g"),
            Column("error", result.errors[order], format="+.1%"),
        ]
        title = f"Categories, {_GROUPS[name]}, largest error first"
        worst = Table(categories, result.category_figures(kept), title, limit=_MOST_ROWS)
        every = [Column(symbol, values, key=symbol) for symbol, values in result.points.items()]
        every += [Column(name, getattr(result, name)) for name in ("measured", "predicted", "lower", "upper")]
        every += [Column("error", result.errors)]
        every += [] if result.fitted is None else [Column("fitted", result.fitted)]
        return [
            *([worst] if result.categories else []),
            Table(points, title=f"{_GROUPS[name].capitalize()}, largest error first", limit=_MOST_ROWS),
            Table(every, importance="data"),
        ]

    def panels(self, result: Verification, data: Any = None) -> Panels:
        return {"values": partial(_draw_values, result), "errors": partial(_draw_errors, result)}
