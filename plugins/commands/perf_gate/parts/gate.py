"""Parts of runs of two versions become verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perf_gate.parts.table import PartTimes, long_tables
from perf_gate.versions.gate import VersionGate, gate_versions
from perf_statistics.gating.judging import Outcome

__all__ = ["PartsGate", "gate_parts"]


@dataclass(frozen=True, repr=False)
class PartsGate(VersionGate):
    """Verdicts on the phases, or the categories of lost cycles, of two versions; a benchmark each, and the whole run.

    Parameters
    ----------
    what : str
        What a part is: ``"phase"``, ``"category"``.
    unmatched : tuple of str
        What not all runs have, which keeps the verdict open.
    """

    what: str = ""
    unmatched: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Of all together; nothing passes while a part has no partner."""
        matched_outcome = super().outcome
        if self.unmatched and self.missing_fails:
            return Outcome.FAILED
        return Outcome.UNDECIDED if self.unmatched and matched_outcome is Outcome.PASSED else matched_outcome

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready but for NaN."""
        return {**super().to_dict(), "parts": self.what, "unmatched": list(self.unmatched)}


def gate_parts(times: PartTimes, sources: tuple[str, str], names: tuple[str, str], **options: Any) -> PartsGate:
    """Judge whether any part of the second version is slower.

    Parameters
    ----------
    times : PartTimes
    sources, names : pair of str
        What the runs and the versions are called.
    **options
        Of `perf_gate.versions.gate.gate_versions`.
    """
    first, second, lacking = long_tables(times, sources)
    verdict = gate_versions(first, second, names, **options)
    # A shift of all is the whole run's.
    return PartsGate(**{**vars(verdict), "shift": None}, what=times.what, unmatched=(*times.unmatched, *lacking))
