"""Picture of a comparison: both models along a parameter, and the parts that make the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perf_gate.compare.comparison.comparison import Comparison
from perf_gate.compare.comparison.tables import where
from perf_views.colours import DARK, GRID, INK, LIGHT, PAPER, RULE, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# M. Okabe and K. Ito, "Color Universal Design", 2008; without yellow, which is faint on white paper.
_MOST_PARTS = 15  # beside one another at the last point
_LONGEST_NAME = 32
_FINE, _COARSE = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0), (1.0, 3.0)  # ticks of ratios in each decade
_NARROW = 8.0  # below, the fine ticks have room
_WIDEST = 100.0  # ratios further from 1 than this are at the side


def draw_comparison(comparison: Comparison, figure: Figure) -> None:
    """Draw the totals of both models and, where they have parts, what each adds to the difference.

    A few parts are drawn along the parameter. Where they are more, or there is one point only, those that make most of
    the difference are drawn at the last point: what both models say, and the ratio with its bounds.
    """
    figure.suptitle(comparison.title, x=0.01, ha="left", fontsize=10, parse_math=False)
    few = bool(comparison.along) and len(comparison.parts) <= len(SERIES)
    with_totals = bool(comparison.along) or not comparison.parts
    count = int(with_totals) + (0 if not comparison.parts else 1 if few else 2)
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    if with_totals:
        axes = panels.pop(0)
        _draw_totals(axes, comparison)
        _label(axes, comparison)
    if comparison.parts and few:
        _draw_differences(panels[0], comparison)
        _label(panels[0], comparison)
    elif comparison.parts:
        order = np.argsort(-np.abs(comparison.difference(-1)), kind="stable")[:_MOST_PARTS][::-1].tolist()
        _draw_values(panels[0], comparison, order)
        _draw_ratios(panels[1], comparison, order)


def _draw_totals(axes: Axes, comparison: Comparison) -> None:
    x = comparison.points[comparison.along] if comparison.along else np.arange(1.0, len(comparison) + 1.0)
    fixed_values = [values for name, values in comparison.points.items() if name != comparison.along]
    keys = list(zip(*(values.tolist() for values in fixed_values), strict=True)) if fixed_values else [()] * len(x)
    bounds = np.quantile(comparison.totals.draws, [0.025, 0.975], axis=2)
    for key in dict.fromkeys(keys):
        on_line = np.array([other == key for other in keys])
        order = np.flatnonzero(on_line)[np.argsort(x[on_line], kind="stable")]
        for number, style in enumerate(("o-", "s--")):
            name = comparison.names[number] if key == keys[0] else None
            axes.plot(x[order], comparison.totals.values[number, order], style, color=SERIES[number], ms=3, label=name)
            extrapolated = order[comparison.predicted[number, order]]
            axes.plot(
                x[extrapolated],
                comparison.totals.values[number, extrapolated],
                style[0],
                color=SERIES[number],
                ms=5,
                mfc=PAPER,
            )
            if np.isfinite(bounds[:, number, order]).all():
                axes.fill_between(x[order], *bounds[:, number, order], color=SERIES[number], alpha=0.15, linewidth=0.0)
    for crossing in comparison.crossings:
        axes.plot(crossing.at, crossing.value, "x", color=INK)
    axes.set(yscale="log", ylabel=f"total{_unit(comparison)}")
    if comparison.predicted.any():
        axes.plot([], [], "o", color=DARK, ms=5, mfc=PAPER, label="predicted: beyond what was measured")
    axes.legend(frameon=False, fontsize=8)


def _draw_differences(axes: Axes, comparison: Comparison) -> None:
    """What each part adds to the difference, along the parameter; the other variables as at the last point."""
    x = comparison.points[comparison.along]
    difference = comparison.of_part.values[1] - comparison.of_part.values[0]
    fixed_names = [name for name in comparison.points if name != comparison.along]
    chosen = np.all(
        [np.ones(len(x)), *(comparison.points[name] == comparison.points[name][-1] for name in fixed_names)], axis=0
    )
    order = np.flatnonzero(chosen)[np.argsort(x[chosen], kind="stable")]
    largest = np.argsort(-np.abs(difference).max(axis=1), kind="stable").tolist()
    for colour, part in zip(SERIES, largest, strict=False):
        axes.plot(x[order], difference[part, order], "o-", color=colour, ms=3)
    legend = axes.legend(axes.get_lines(), [str(k) for k in largest], frameon=False, fontsize=8)
    for text, part in zip(legend.get_texts(), largest, strict=True):
        text.set(text=comparison.parts[part], parse_math=False)
    axes.axhline(0.0, color=RULE, linewidth=0.7)
    axes.set_ylabel(f"{comparison.names[1]} less {comparison.names[0]}{_unit(comparison)}", parse_math=False)


def _draw_values(axes: Axes, comparison: Comparison, order: list[int]) -> None:
    """Both values of some parts and of the total at the last point, joined by a line; one that a model lacks is not."""
    values = np.append(comparison.of_part.values[:, order, -1], comparison.totals.values[:, -1:], axis=1)
    has = np.append(comparison.has[:, order], [[True], [True]], axis=1)
    rows, joined = np.arange(len(order) + 1), has.all(axis=0)
    axes.hlines(rows[joined], *values[:, joined], color=LIGHT, linewidth=2.0, zorder=1)
    for number, marker in enumerate("os"):
        present = has[number]
        axes.plot(values[number, present], rows[present], marker, color=SERIES[number], ms=5, label=str(number))
    legend = axes.legend(frameon=False, fontsize=8)
    for text, name in zip(legend.get_texts(), comparison.names, strict=True):
        text.set(text=name, parse_math=False)
    axes.set_xlabel(f"at {where(comparison, -1)}{_unit(comparison)}", parse_math=False)
    _rows(axes, [*(_short(comparison.parts[k]) for k in order), "total"])


def _draw_ratios(axes: Axes, comparison: Comparison, order: list[int]) -> None:
    """The ratio of some parts and of the total at the last point, with bounds; coloured where these leave out 1."""
    from matplotlib.ticker import LogLocator, NullLocator

    total = comparison.total_draws().rows([len(comparison) - 1]).bounds()
    ratio = np.append(comparison.part_ratio(-1)[order], comparison.ratio[-1])
    bounds = np.concatenate([comparison.part_draws(-1).rows(order).bounds(), total])
    rows = np.arange(len(ratio))
    colours = np.where(bounds[:, 0] > 1.0, SERIES[1], np.where(bounds[:, 1] < 1.0, SERIES[0], RULE))
    clipped, finite = np.clip(bounds, 1.0 / _WIDEST, _WIDEST), np.isfinite(bounds).all(axis=1)
    axes.hlines(rows[finite], *clipped[finite].T, color=colours[finite].tolist(), linewidth=1.5)
    axes.scatter(np.clip(ratio, 1.0 / _WIDEST, _WIDEST), rows, color=colours.tolist(), s=16, zorder=3)
    axes.axvline(1.0, color=DARK, linewidth=0.8)
    axes.set_xlabel(f"{comparison.names[1]} / {comparison.names[0]}, 95% bounds", parse_math=False)
    _rows(axes, [""] * len(rows))
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=_FINE if high < _NARROW * low else _COARSE))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _rows(axes: Axes, names: list[str]) -> None:
    """One row for each name, the same in every panel."""
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=7, parse_math=False)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _label(axes: Axes, comparison: Comparison) -> None:
    x = comparison.points[comparison.along] if comparison.along else np.empty(0)
    if len(x) and x.min() > 0.0 and x.max() > 8.0 * x.min():
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(comparison.called.get(comparison.along, comparison.along) or "point", parse_math=False)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _unit(comparison: Comparison) -> str:
    return f" ({comparison.unit})" if comparison.unit else ""


def _short(name: str) -> str:
    """The end of a long name, which in call paths tells most."""
    return name if len(name) <= _LONGEST_NAME else f"...{name[-(_LONGEST_NAME - 3) :]}"
