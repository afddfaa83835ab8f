"""Phases of a run that is still going on: which of them have ended, said once each."""

from __future__ import annotations

from perf_worley.matching.comparison import side_of
from perf_worley.phase_model import PhaseModel
from perf_worley.trees.error_trees import extend_tree
from perf_worley.trees.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.data.units import readable

_NEAR = 0.02  # of the run: breaks of two models that are as near are the same


class GrowingTree:
    """The moment tree of a curve that grows: what it already joined is kept."""

    def __init__(self) -> None:
        self._tree: MomentTree | None = None

    def extend(self, curve: UtilizationCurve) -> None:
        """Make the tree of the curve, which whoever fits it then uses."""
        self._tree = extend_tree(curve, self._tree)


class EndedPhases:
    """Says when a phase has ended: when two models, one after the other, have a break there."""

    def __init__(self) -> None:
        self._said: list[float] = []
        self._before: tuple[float, ...] = ()

    def look(self, model: PhaseModel) -> list[str]:
        """One line for each phase that is seen to have ended now."""
        near = _NEAR * (model.end - model.start)
        lines = []
        for number, phase in enumerate(model.phases[:-1], 1):
            seen_before = any(abs(phase.end - time) <= near for time in self._before)
            if seen_before and not any(abs(phase.end - time) <= near for time in self._said):
                self._said.append(phase.end)
                length, unit = phase.end - phase.start, model.time_unit
                level = side_of(model, range(number - 1, number)).level
                lines.append(
                    f"phase {number} ended at {readable(phase.end - model.start, unit)} after "
                    f"{readable(length, unit)}, {level:.4g} processors on average"
                )
        self._before = model.breaks
        for line in lines:
            progress.note(line)
        return lines
