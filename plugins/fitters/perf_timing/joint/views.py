"""Views of the joint model: those of all scaling models, and work and speed with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_timing.joint.model import JointModel
from perf_timing.pictures.parameters import draw_parameters
from perf_timing.pictures.selection import select
from perf_timing.views import ScalingViews
from perf_views.contents import Block, Chart
from perf_views.drawable import parameter_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class JointViews(ScalingViews):
    """Views of a joint model."""

    def __init__(self, model: JointModel, data: Any = None) -> None:
        super().__init__(model, data)
        self._joint = model

    def parameter_blocks(self) -> tuple[Block, ...]:
        """Work w of the codes and speed r of the systems with error bars."""
        selection = select(self._joint, self._data)

        def draw(figure: Figure) -> None:
            draw_parameters(selection, self._joint, figure)

        stacked = 2 if len(self._joint.functions) > 2 else 1
        height = stacked * (0.9 + 0.19 * max(len(selection.codes), len(selection.systems)))
        alternative = "Work of the codes and speed of the systems for each function, with standard errors"
        return Chart(draw, alternative, (), size=(11.0, max(height, 2.2))), parameter_table(self._joint)
