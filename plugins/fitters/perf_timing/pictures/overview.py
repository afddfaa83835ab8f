"""Pictures of codes on systems: points with the model and its bounds, residuals, and a joint model's numbers.

This file lays the parts out; `selection` chooses what is drawn, and each part has a file of its own.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from perf_timing.joint.model import JointModel
from perf_timing.pictures.diagnostics import draw_residuals
from perf_timing.pictures.panels import draw_panels, legend_columns
from perf_timing.pictures.parameters import draw_parameters
from perf_timing.pictures.selection import Selection, select
from perf_timing.scaling_model import ScalingModel
from perf_views.names import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_scaling_model(model: ScalingModel, figure: Figure, data: Any = None) -> None:
    """Draw a panel for each code, the residuals, their quantiles, and the parameters of a joint model."""
    selection = select(model, data)
    count = len(selection.codes)
    rows, columns, height = _layout(selection)
    heights = [height]
    if count > 1:
        heights.append(2.9)
    if isinstance(model, JointModel):
        stacked = 2 if len(model.functions) > 2 else 1
        heights.append(stacked * (0.9 + 0.19 * max(count, len(selection.systems))))
    figure.set_size_inches(11.0, sum(heights) + 0.6)
    title = [shortened(model.title, 110), *textwrap.wrap("; ".join(selection.remarks), 150)]
    figure.suptitle("\n".join(title), x=0.01, ha="left", fontsize=10, parse_math=False)
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    above, below = parts[:2] if count > 1 else parts[0].subfigures(1, 2, width_ratios=[1.5, 1.0])
    draw_panels(selection, above, above.subplots(rows, columns, sharex=True, squeeze=False))
    ratios = {"width_ratios": [1.5, 1.0]} if count > 1 else {}
    residuals, quantiles = below.subplots(*((1, 2) if count > 1 else (2, 1)), **ratios)
    draw_residuals(selection, below, residuals, quantiles)
    if isinstance(model, JointModel):
        draw_parameters(selection, model, parts[-1])


def draw_curves(selection: Selection, figure: Figure) -> None:
    """Draw the panels of the codes alone, into an empty figure whose size is set."""
    rows, columns, height = _layout(selection)
    figure.set_size_inches(11.0, height + 0.3)
    draw_panels(selection, figure, figure.subplots(rows, columns, sharex=True, squeeze=False))


def _layout(selection: Selection) -> tuple[int, int, float]:
    """Rows and columns of the panels, and the height in inches that they and their legends need."""
    count = len(selection.codes)
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4
    rows = -(-count // columns)
    legend = 0.17 * -(-len(selection.systems) // legend_columns(selection))
    return rows, columns, {1: 4.4, 2: 3.4}.get(columns, 2.3) * rows + 0.9 + legend
