"""Views of individual fits: those of all scaling models, with R^2 by pair."""

from __future__ import annotations

from typing import Any

from perf_timing.individual.model import IndividualModel
from perf_timing.views import ScalingViews
from perf_views.contents import Cell

_POOR = 0.9  # uncentered R^2 that gets the darkest colour; it is high for nearly all that grows


class IndividualViews(ScalingViews):
    """Views of individual fits."""

    def __init__(self, model: IndividualModel, data: Any = None) -> None:
        super().__init__(model, data)
        self._individual = model

    def pair_quality(self) -> tuple[str, str, dict[tuple[str, str], Cell]]:
        """Determination coefficients."""
        cells = {}
        for pair in self._individual.pairs:
            value = pair.r2_uncentered
            cells[pair.code, pair.system] = Cell(f"{value:.4f}", shade=max(value - _POOR, 0.0) / (1.0 - _POOR))
        return "R^2 (uncentered) of each code on each system", "bright is good; a click shows the pair", cells
