"""Parameters of a joint model in a picture: work w and speed r with their standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from perf_timing.joint.model import JointModel
from perf_timing.pictures.selection import MOST_FUNCTIONS, Selection
from perf_views.colours import DARK, PAPER, RULE, SERIES
from perf_views.names import shortened
from perf_views.style import LABEL_POINTS, TINY_POINTS, set_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


def draw_parameters(selection: Selection, model: JointModel, area: FigureBase) -> None:
    """Draw work of the codes and speed of the systems with their standard errors, function by function."""
    unit = f" ({model.coefficient_unit})" if model.coefficient_unit else ""
    systems = [model.systems[system] for system in selection.systems if model.systems[system] != model.reference]
    blocks = [("w", [model.codes[code] for code in selection.codes], f"work{unit}")]
    if systems:
        blocks.append(("r", systems, f"speed over that of {shortened(model.reference)}"))
    functions = model.functions[:MOST_FUNCTIONS]
    # Names of systems are often the longer ones; beside each other each block gets the width that it needs.
    widths = [80 + max(len(shortened(name)) for name in names) for _, names, _ in blocks]
    if len(functions) > 2:
        grid = area.subfigures(len(blocks), 1, squeeze=False)
    else:
        grid = area.subfigures(1, len(blocks), width_ratios=widths, squeeze=False)
    place = {name: k for k, name in enumerate(model.parameter_names)}
    for part, (letter, names, label) in zip(grid.flat, blocks, strict=True):
        panels = part.subplots(1, len(functions), sharey=True, squeeze=False)[0]
        for i, (axes, function) in enumerate(zip(panels, functions, strict=True), 1):
            _draw_estimates(model, axes, [place[f"{letter}_{i}^{name}"] for name in names])
            axes.set_title(f"{letter}_{i}: {shortened(function, 24)}", fontsize=LABEL_POINTS, parse_math=False)
        panels[0].set_yticks(range(len(names)), [shortened(name) for name in names], parse_math=False)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
        part.supxlabel(label, fontsize=LABEL_POINTS, parse_math=False)


def _draw_estimates(model: JointModel, axes: Axes, places: list[int]) -> None:
    """Estimates with their standard errors, one below the other.

    The axis is that of estimates which are larger than their errors, up to three times as long for the others; what
    lies beyond it is printed at its end.
    """
    parameters = [model.parameters[k] for k in places]
    value = np.array([parameter.estimate for parameter in parameters])
    error = np.array([parameter.standard_error or 0.0 for parameter in parameters])
    is_open = np.array([model.undetermined[k] for k in places])
    is_endless = np.array([parameter.name.startswith("1/r_") for parameter in parameters])
    determined = ~is_open & ~is_endless
    sure = determined & (error <= np.abs(value))
    ends = np.array([0.0, *(value - error)[sure], *(value + error)[sure]])
    reach = np.ptp(ends) if sure.any() else np.inf
    ends = np.array([*ends, *value[determined & (np.abs(value) <= 3.0 * reach)]])
    margin = 0.06 * float(np.ptp(ends) or 1.0)
    left, right = float(ends.min()) - margin, float(ends.max()) + margin
    for row, (x, e) in enumerate(zip(value, error, strict=True)):
        if determined[row] and left <= x <= right:
            axes.errorbar(x, row, xerr=e, fmt="o", color=SERIES[0], markersize=4, elinewidth=1.0, capsize=2)
            continue
        if not determined[row]:
            place, side, text = 0.5, "center", "not determined" if is_open[row] else "without end"
        elif x < left:
            place, side, text = 0.02, "left", f"← {x:.3g} ± {e:.3g}"
        else:
            place, side, text = 0.98, "right", f"{x:.3g} ± {e:.3g} →"
        axes.text(place, row, text, transform=axes.get_yaxis_transform(), ha=side, va="center", fontsize=TINY_POINTS,
                  color=DARK, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5})  # fmt: skip
    axes.axvline(0.0, color=RULE, linewidth=0.7, zorder=1.0)
    axes.set_xlim(left, right)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    set_plain(axes)
