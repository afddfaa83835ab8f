"""Pictures of categories over one factor: measured points, every default model, and the one that was chosen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from perf_lost_cycles.figures import category_figures, shares
from perf_lost_cycles.lca.categories import term_values
from perf_views.colours import DARK, INK, LIGHT, PAPER, RULE, SERIES
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MARKERS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    set_logarithmic,
    set_plain,
    set_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perf_lost_cycles.lca.categories import CategoryFit
    from perf_lost_cycles.lca.model import LcaModel
    from perf_lost_cycles.modgen.model import ModgenModel


_MOST_PANELS = 12
_DRAWN_POINTS = 200
_WIDEST_TITLE = 42  # letters in a line over one of three panels beside one another


def draw_lca(model: LcaModel, figure: Figure) -> None:
    """Draw a panel for each of the largest categories, or the one that ``show`` names alone and large."""
    selected, fits = _shown(model)
    columns = min(len(fits), 3 if len(fits) > 4 else 2)
    rows = -(-len(fits) // columns)
    figure.set_size_inches(10.0 if selected else 11.0, 5.0 if selected else 2.7 * rows + 0.9)
    left = len(model.fits) - len(fits)
    more = "" if selected or not left else f" (the {len(fits)} largest; {left} more)"
    figure.suptitle(shortened(model.title, 100) + more, x=0.01, ha="left", fontsize=10, parse_math=False)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for unused in panels.flat[len(fits) :]:
        unused.remove()
    for number, (axes, fit) in enumerate(zip(panels.flat, fits, strict=False)):
        _draw_panel(model, axes, fit, names=bool(selected))
        if number % columns == 0:
            unit = f" ({model.unit})" if model.unit else ""
            axes.set_ylabel(shortened(model.value_name, 24) + unit, fontsize=LABEL_POINTS, parse_math=False)
        if number + columns >= len(fits):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(shortened(model.column), fontsize=LABEL_POINTS, parse_math=False)
    if not selected:
        labelled = [line for line in panels.flat[0].get_lines() if not str(line.get_label()).startswith("_")]
        handles = [labelled[0], *labelled[-2:]]  # the caps of error bars are lines without a label
        names = ["other default models", "chosen model", "measured"]
        if len(fits[0].candidates) == 1:
            handles, names = handles[-2:], names[1:]
        add_legend(figure, names, handles, loc="outside upper right", ncols=3, fontsize=SMALL_POINTS)


def lca_panels(model: LcaModel) -> dict[str, Callable[[Axes], None]]:
    """Panels by name: ``curves`` is that of the largest category or of the one of ``show``, ``curves-2`` the next."""
    unit = f" ({model.unit})" if model.unit else ""
    selected, fits = _shown(model)

    def draw(axes: Axes, fit: CategoryFit) -> None:
        _draw_panel(model, axes, fit, names=bool(selected))
        axes.set_xlabel(shortened(model.column), fontsize=LABEL_POINTS, parse_math=False)
        axes.set_ylabel(shortened(model.value_name, 24) + unit, fontsize=LABEL_POINTS, parse_math=False)

    return {f"curves-{k}" if k > 1 else "curves": partial(draw, fit=fit) for k, fit in enumerate(fits, 1)}


def _shown(model: LcaModel) -> tuple[list[CategoryFit], list[CategoryFit]]:
    """The category that is asked for, if one is, and what is drawn."""
    part = shares(model)
    selected = [fit for fit in model.fits if fit.category == model.origin.options.get("show")]
    largest = sorted(range(len(part)), key=lambda k: -part[k])[:_MOST_PANELS]
    return selected, selected or [model.fits[k] for k in largest]


def _draw_panel(model: LcaModel, axes: Axes, fit: CategoryFit, names: bool) -> None:
    """One category; with `names` each model has its own colour and its formula in a legend."""
    levels = np.array(model.levels_of_factor)
    over = np.geomspace(levels.min(), levels.max(), _DRAWN_POINTS)
    measured = np.array(fit.measured, dtype=np.float64)
    usable = [c for c in fit.candidates if None not in c.coefficients]
    for number in range(len(usable) - 1, -1, -1):
        candidate = usable[number]
        values = term_values(candidate.terms, over) @ np.array(candidate.coefficients, dtype=np.float64)
        colour = SERIES[number % len(SERIES)] if names or number == 0 else LIGHT
        label = f"{candidate.text(model.factor_name)}   R^2 " + ("-" if candidate.r2 is None else f"{candidate.r2:.3f}")
        axes.plot(over, values, color=colour, linewidth=2.0 if number == 0 else 0.8,
                  linestyle="--" if names and number >= len(SERIES) else "-", label=label)  # fmt: skip
    spread = np.array([0.0 if value is None else value for value in fit.spread])
    if spread.any():
        axes.errorbar(levels, measured, yerr=spread, fmt="none", ecolor=DARK, elinewidth=0.8, capsize=2)
    axes.plot(levels, measured, "o", color=INK, markersize=4, markeredgecolor=PAPER, markeredgewidth=0.4, zorder=3,
              label="measured")  # fmt: skip
    top = np.nanmax(measured + spread)
    bottom = min(0.0, float(np.nanmin(measured - spread)))
    if top > 0:
        axes.set_ylim(bottom - 0.03 * top, 1.15 * top)
    set_logarithmic(axes, "x", levels.min() / 1.1, levels.max() * 1.1, base=2)
    set_plain(axes)
    share = "" if fit.model.r2 is None else f"R^2 centered {fit.model.r2:.4f}"
    formula = shortened(fit.model.text(model.factor_name), 40)
    gap = "   " if len(formula) + len(share) <= _WIDEST_TITLE else "\n"
    title = f"{shortened(fit.category)}\n{formula}{gap if share else ''}{share}"
    axes.set_title(title, fontsize=SMALL_POINTS, parse_math=False)
    if names:
        lines = axes.get_lines()
        labelled = [line for line in reversed(lines) if not str(line.get_label()).startswith("_")]
        legend = axes.legend(labelled, [str(k) for k in range(len(labelled))], fontsize=TINY_POINTS, frameon=False)
        for text, line in zip(legend.get_texts(), labelled, strict=True):
            text.set(text=str(line.get_label()), parse_math=False)


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

    set_size(figure, 11.0, 4.6)
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
