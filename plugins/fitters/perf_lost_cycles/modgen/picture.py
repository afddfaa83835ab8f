"""Picture of a sum of categories: measured against predicted, residuals, and shares over the first factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_lost_cycles.modgen.tables import category_figures
from perf_views.colours import INK, LIGHT, PAPER, RULE, SERIES
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, MARKERS, SMALL_POINTS, add_legend, set_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_lost_cycles.modgen.model import ModgenModel


_MOST_NAMED = 6  # categories with a colour of their own: the largest


def draw_modgen(model: ModgenModel, figure: Figure) -> None:
    """Draw the model over its own observations.

    Parameters
    ----------
    model : ModgenModel
    figure : matplotlib Figure
        Empty.
    """
    from matplotlib.lines import Line2D

    figure.set_size_inches(11.0, 4.6)
    figure.suptitle(shortened(model.title, 110), x=0.01, ha="left", fontsize=10, parse_math=False)
    against, residuals, shares = figure.subplots(1, 3)
    (measured, total), (each, predicted_total) = model.measured(), model.predicted()
    order = np.argsort(-category_figures(model)[0], kind="stable")
    named, rest = order[:_MOST_NAMED], order[_MOST_NAMED:]
    aside = np.zeros(len(total), dtype=np.bool_)
    aside[list(model.set_aside)] = True
    unit = f" ({model.unit})" if model.unit else ""
    parts = [(named[k : k + 1], model.names[named[k]], SERIES[k], MARKERS[k]) for k in range(len(named))]
    if len(rest):
        parts.append((rest, f"{len(rest)} more", LIGHT, "."))
    for members, name, colour, marker in parts:
        measured_times, model_times = measured[:, members].ravel(), each[:, members].ravel()
        against.plot(
            measured_times, model_times, marker, color=colour, markersize=3, alpha=0.7, linestyle="none", label=name
        )
    for chosen, fill, name in ((~aside, INK, "total"), (aside, PAPER, "total, set aside")):
        style = {"label": name, "color": INK, "markerfacecolor": fill, "markersize": 4, "linestyle": "none"}
        against.plot(total[chosen], predicted_total[chosen], MARKERS[len(named)], **style)
        residuals.plot(
            predicted_total[chosen], predicted_total[chosen] / total[chosen] - 1.0, MARKERS[len(named)], **style
        )
    positive = np.concatenate([measured[measured > 0.0], total])
    limits = float(positive.min()) / 1.5, float(positive.max()) * 1.5
    if limits[1] / limits[0] > 1e6:  # the smallest categories would squeeze all others into a corner
        limits = limits[1] / 1e6, limits[1]
    against.axline((limits[1], limits[1]), slope=1.0, color=RULE, linewidth=0.7)
    against.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    against.set_xlabel(f"measured{unit}", fontsize=LABEL_POINTS)
    against.set_ylabel(f"model{unit}", fontsize=LABEL_POINTS)
    residuals.axhline(0.0, color=RULE, linewidth=0.7)
    residuals.set(xscale="log")
    residuals.set_xlabel(f"model, total{unit}", fontsize=LABEL_POINTS)
    residuals.set_ylabel("relative error of the total", fontsize=LABEL_POINTS)
    symbol = next(iter(model.columns))
    x = np.array(model.observations.points[symbol])
    levels, level = np.unique(x, return_inverse=True)
    sums = np.zeros((len(levels), len(model.categories)))
    np.add.at(sums, level, np.nan_to_num(measured))
    portions = sums / sums.sum(axis=1, keepdims=True)
    shares.stackplot(
        levels,
        [portions[:, members].sum(axis=1) for members, *_ in parts],
        colors=[c for _, _, c, _ in parts],
        labels=[name for _, name, _, _ in parts],
    )
    shares.set(ylim=(0.0, 1.0), xlim=(levels[0], levels[-1]))
    if levels[-1] / levels[0] > 8.0:
        shares.set_xscale("log", base=2)
        shares.xaxis.set_major_formatter("{x:g}")
    shares.set_xlabel(shortened(model.columns[symbol], 40), fontsize=LABEL_POINTS, parse_math=False)
    shares.set_ylabel("measured share of the time", fontsize=LABEL_POINTS)
    for axes in (against, residuals, shares):
        set_plain(axes)
    handles = [Line2D([], [], color=colour, marker=marker, linestyle="none") for _, _, colour, marker in parts]
    names = [shortened(name) for _, name, _, _ in parts]
    handles.append(Line2D([], [], color=INK, marker=MARKERS[len(named)], linestyle="none"))
    names.append("total")
    if aside.any():
        handles.append(Line2D([], [], color=INK, markerfacecolor=PAPER, marker=MARKERS[len(named)], linestyle="none"))
        names.append("total, set aside")
    add_legend(figure, names, handles, loc="outside lower center", ncols=5, fontsize=SMALL_POINTS)
