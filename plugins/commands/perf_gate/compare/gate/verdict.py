"""What a comparison says about a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from perf_gate.compare.gate.conditions import Gate

__all__ = ["Finding", "Verdict"]


class Finding(NamedTuple):
    """One part, or the total, by a gate.

    Attributes
    ----------
    part : str
    failed : bool
        The data say with the gate's confidence that there is too much of it.
    probability : float
        That there is; NaN where there are no bounds.
    numbers : mapping of str to object
        What it was judged by, JSON-ready.
    text : str
    """

    part: str
    failed: bool
    probability: float
    numbers: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Verdict:
    """What a comparison says about a gate.

    Parameters
    ----------
    gate : Gate
    outcome : {"passed", "failed", "open"}
        Open where nothing can be said: a part that one version lacks, or models without bounds.
    reason : str
    findings : tuple of Finding
        What failed, and what is above by prediction though the data leave it open whether it is, surest first; the
        total or a part that was named in any case.
    """

    gate: Gate
    outcome: str
    reason: str
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        findings = [
            {"part": one.part, "failed": one.failed, "probability": one.probability, **one.numbers}
            for one in self.findings
        ]
        return {"gate": self.gate.text, "outcome": self.outcome, "reason": self.reason, "findings": findings}

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.outcome}: {self.gate.text}: {self.reason}"
