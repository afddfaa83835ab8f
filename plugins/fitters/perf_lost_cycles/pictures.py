"""Pictures of categories over one factor: measured points, every default model, and the one that was chosen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_lost_cycles.lca.categories import term_values
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel, mean_r2
from perf_views.colours import DARK, INK, LIGHT, PAPER, RULE, SERIES
from perf_views.names import shortened
from perf_views.style import (
    LABEL_POINTS,
    MARKERS,
    SMALL_POINTS,
    TINY_POINTS,
    add_legend,
    legend_below,
    set_logarithmic,
    set_plain,
)
from perfcore.base.arrays import Floats
from perfcore.results import Panel, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_lost_cycles.lca.categories import CategoryFit


POOR_R2 = 0.9  # the paper's final models reach 0.93 or better


def shares(model: LcaModel) -> list[float]:
    """The part of all measured time that each category took."""
    times = [float(np.nansum(np.array(fit.measured, dtype=np.float64))) for fit in model.fits]
    total = sum(model.total)
    return [time / total if total > 0 else 0.0 for time in times]


def overview(model: ModgenModel) -> dict[str, list[float | None]]:
    """Average R^2 of each category (C,): by factor over its lines, and under ``tuples`` over the cross-tuples."""
    averages: dict[str, list[float | None]] = {
        name: [None] * len(model.categories) for name in [*model.columns, "tuples"]
    }
    for each in model.generations:
        tables = {**{factor.symbol: factor.r2 for factor in each.factors}, "tuples": each.tuple_r2}
        for name, rows in tables.items():
            for category, value in zip(each.categories, mean_r2(rows), strict=True):
                averages[name][category] = value
    return averages


def category_figures(model: ModgenModel) -> tuple[Floats, Floats]:
    """Share of the total time, and median absolute error as a share of the total of its point, of categories (C,)."""
    measured, total = model.measured()
    each, _ = model.predicted()
    filled = np.where(np.isfinite(measured), measured, 0.0)
    shares = filled.sum(axis=0) / total.sum()
    return np.asarray(shares), np.nanmedian(np.abs(each - measured) / total[:, None], axis=0)


_MOST_PANELS = 12
_DRAWN_POINTS = 200
_WIDEST_TITLE = 42  # letters in a line over one of three panels next to one another


def left_out_text(model: LcaModel) -> str:
    """How many of the categories are drawn, where not all are."""
    selected, fits = _shown(model)
    left = len(model.fits) - len(fits)
    return "" if selected or not left else f" (the {len(fits)} largest; {left} more)"


def lca_panels(model: LcaModel) -> Panels:
    """Panels by name: ``curves`` is that of the largest category or of the one of ``show``, ``curves-2`` the next.

    Measured points, all default models of the category, the chosen one heavy.
    """
    unit = f" [{model.unit}]" if model.unit else ""
    selected, fits = _shown(model)

    def draw(axes: Axes, fit: CategoryFit) -> None:
        _draw_panel(model, axes, fit, names=bool(selected))
        axes.set_xlabel(shortened(model.column), fontsize=LABEL_POINTS, parse_math=False)
        axes.set_ylabel(shortened(model.value_name, 24) + unit, fontsize=LABEL_POINTS, parse_math=False)

    height = 4.1 if selected else 2.7 if len(fits) > 2 else 0.0
    return {
        f"curves-{k}" if k > 1 else "curves": Panel(partial(draw, fit=fit), height) for k, fit in enumerate(fits, 1)
    }


def _shown(model: LcaModel) -> tuple[list[CategoryFit], list[CategoryFit]]:
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
    labelled = [line for line in reversed(axes.get_lines()) if not str(line.get_label()).startswith("_")]
    if names:
        add_legend(axes, [str(line.get_label()) for line in labelled], labelled, fontsize=TINY_POINTS)
    else:
        others = {"other default models": labelled[-1]} if len(fit.candidates) > 1 else {}
        handles = {"measured": labelled[0], "chosen model": labelled[1], **others}
        add_legend(axes, list(handles), list(handles.values()), fontsize=TINY_POINTS)


_MOST_NAMED = 6  # categories with a colour of their own: the largest


def modgen_panels(model: ModgenModel) -> Panels:
    """Model over its own observations, relative errors of the total, and the categories' shares over a factor."""
    return {
        "against": partial(_draw_against, model),
        "residuals": partial(_draw_errors, model),
        "shares": partial(_draw_shares, model),
    }


def _parts(model: ModgenModel) -> list[tuple[Any, str, str, str]]:
    """Which categories, their name, colour and marker: the largest by themselves, and all others."""
    order = np.argsort(-category_figures(model)[0], kind="stable")
    named, rest = order[:_MOST_NAMED], order[_MOST_NAMED:]
    parts = [(named[k : k + 1], shortened(model.names[named[k]]), SERIES[k], MARKERS[k]) for k in range(len(named))]
    return [*parts, (rest, f"{len(rest)} more", LIGHT, ".")] if len(rest) else parts


def _totals(model: ModgenModel) -> list[tuple[Any, dict[str, Any]]]:
    """Which observations count, and how their totals are drawn: those that were set aside are hollow."""
    aside = np.zeros(len(model.measured()[1]), dtype=np.bool_)
    aside[list(model.set_aside)] = True
    style = {"color": INK, "markersize": 4, "linestyle": "none", "marker": MARKERS[min(_MOST_NAMED, len(model.names))]}
    kinds = ((~aside, INK, "total"), (aside, PAPER, "total, set aside"))
    return [(rows, {**style, "label": name, "markerfacecolor": fill}) for rows, fill, name in kinds if rows.any()]


def _draw_against(model: ModgenModel, axes: Axes) -> None:
    (measured, total), (each, predicted_total) = model.measured(), model.predicted()
    for members, name, colour, marker in _parts(model):
        axes.plot(
            measured[:, members].ravel(), each[:, members].ravel(), marker, color=colour, markersize=3, alpha=0.7,
            linestyle="none", label=name,
        )  # fmt: skip
    for chosen, style in _totals(model):
        axes.plot(total[chosen], predicted_total[chosen], **style)
    positive = np.concatenate([measured[measured > 0.0], total])
    limits = float(positive.min()) / 1.5, float(positive.max()) * 1.5
    if limits[1] / limits[0] > 1e6:  # the smallest categories would squeeze all others into a corner
        limits = limits[1] / 1e6, limits[1]
    axes.axline((limits[1], limits[1]), slope=1.0, color=RULE, linewidth=0.7)
    unit = f" [{model.unit}]" if model.unit else ""
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    axes.set_xlabel(f"measured{unit}", fontsize=LABEL_POINTS)
    axes.set_ylabel(f"model{unit}", fontsize=LABEL_POINTS)
    set_plain(axes)
    legend_below(axes)


def _draw_errors(model: ModgenModel, axes: Axes) -> None:
    total, predicted_total = model.measured()[1], model.predicted()[1]
    for chosen, style in _totals(model):
        axes.plot(predicted_total[chosen], predicted_total[chosen] / total[chosen] - 1.0, **style)
    axes.axhline(0.0, color=RULE, linewidth=0.7)
    axes.set(xscale="log")
    axes.set_xlabel(f"model, total{f' [{model.unit}]' if model.unit else ''}", fontsize=LABEL_POINTS)
    axes.set_ylabel("relative error of the total", fontsize=LABEL_POINTS)
    set_plain(axes)
    legend_below(axes)


def _draw_shares(model: ModgenModel, axes: Axes) -> None:
    symbol, parts = next(iter(model.columns)), _parts(model)
    levels, level = np.unique(np.array(model.observations.points[symbol]), return_inverse=True)
    sums = np.zeros((len(levels), len(model.categories)))
    np.add.at(sums, level, np.nan_to_num(model.measured()[0]))
    portions = sums / sums.sum(axis=1, keepdims=True)
    heights = [portions[:, members].sum(axis=1) for members, *_ in parts]
    names, colours = [name for _, name, _, _ in parts], [colour for _, _, colour, _ in parts]
    axes.stackplot(levels, heights, colors=colours, labels=names)
    axes.set(ylim=(0.0, 1.0), xlim=(levels[0], levels[-1]))
    if levels[-1] / levels[0] > 8.0:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(shortened(model.columns[symbol], 40), fontsize=LABEL_POINTS, parse_math=False)
    axes.set_ylabel("measured share of the time", fontsize=LABEL_POINTS)
    set_plain(axes)
    legend_below(axes)
