"""Picture of a comparison: both models along a parameter, and the difference by category."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfcore.comparison import Comparison

__all__ = ["draw_comparison"]

# M. Okabe and K. Ito, "Color Universal Design", 2008; without yellow, which is faint on white paper.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def draw_comparison(found: Comparison, figure: Figure) -> None:
    """Draw the totals of both models and, where they have categories, what each adds to the difference.

    Parameters
    ----------
    found : Comparison
    figure : matplotlib Figure
        Empty.
    """
    figure.suptitle(found.title, x=0.01, ha="left", fontsize=10, parse_math=False)
    panels = figure.subplots(1, 2 if found.categories else 1, squeeze=False)[0]
    label = found.along or "point"
    x = found.points[found.along] if found.along else np.arange(1.0, len(found.totals) + 1.0)
    unit = f" ({found.unit})" if found.unit else ""
    held = [values for name, values in found.points.items() if name != found.along]
    keys = list(zip(*(values.tolist() for values in held), strict=True)) if held else [()] * len(x)
    for key in dict.fromkeys(keys):
        mine = np.array([other == key for other in keys])
        order = np.flatnonzero(mine)[np.argsort(x[mine], kind="stable")]
        for number, style in enumerate(("o-", "s--")):
            name = found.names[number] if key == keys[0] else None
            panels[0].plot(x[order], found.totals[order, number], style, color=_COLOURS[number], ms=3, label=name)
    for crossing in found.crossings:
        panels[0].plot(crossing.at, crossing.value, "x", color="black")
    panels[0].set(yscale="log", ylabel=f"total{unit}")
    panels[0].legend(frameon=False, fontsize=8)
    if found.categories:
        difference = found.of_category[:, :, 1] - found.of_category[:, :, 0]
        largest = np.argsort(-np.abs(difference).max(axis=0), kind="stable")[: len(_COLOURS)]
        chosen = np.array([key == keys[-1] for key in keys])
        order = np.flatnonzero(chosen)[np.argsort(x[chosen], kind="stable")]
        for colour, category in zip(_COLOURS, largest.tolist(), strict=False):
            panels[1].plot(x[order], difference[order, category], "o-", color=colour, ms=3)
        names = [found.categories[k] for k in largest.tolist()]
        legend = panels[1].legend(panels[1].get_lines(), [str(k) for k in range(len(names))], frameon=False, fontsize=8)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set(text=name, parse_math=False)
        panels[1].axhline(0.0, color="0.6", linewidth=0.7)
        panels[1].set_ylabel(f"{found.names[1]} less {found.names[0]}{unit}", parse_math=False)
    for axes in panels:
        if found.along and x.min() > 0.0 and x.max() > 8.0 * x.min():
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(label, parse_math=False)
        axes.grid(color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
