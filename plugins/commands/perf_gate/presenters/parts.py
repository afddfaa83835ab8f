"""How verdicts on phases and categories are shown."""

from __future__ import annotations

from perf_gate.parts.gate import PartsGate
from perf_gate.presenters.versions import VersionGatePresenter
from perf_gate.versions.gate import VersionGate
from perf_statistics.gating.judging import Outcome
from perfcore.base.errors import listing

__all__ = ["PartsGatePresenter"]

_MOST_NAMED = 4
_SEVERAL = {"phase": "phases", "category": "categories"}


class PartsGatePresenter(VersionGatePresenter):
    """How many times as slow each part is, and which have no partner."""

    def summary(self, result: VersionGate) -> list[str]:
        """The verdict; where all that has a partner passes, what keeps it open."""
        lines = super().summary(result)
        if not isinstance(result, PartsGate) or not result.unmatched:
            return lines
        several = f"{listing(result.unmatched, _MOST_NAMED)}: not in all runs, so not compared"
        if result.judged.outcome is Outcome.PASSED:
            plural = _SEVERAL.get(result.what, result.what)
            lines[0] = (
                f"{result.outcome.value}: of the {plural} that all runs have none is slower than "
                f"{result.judged.threshold:g}x, but {several}"
            )
            return lines
        return [*lines, several]
