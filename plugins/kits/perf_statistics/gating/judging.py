"""Three verdicts: what is surely slower, what is surely not, and what the data leave open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import SURE, Estimates
from perf_statistics.gating.multiple_tests import adjusted

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


class Outcome(StrEnum):
    """What a gate says."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"

    @property
    def status(self) -> int:
        """Exit status."""
        return {"passed": 0, "failed": 1, "undecided": 3}[self.value]


@dataclass(frozen=True)
class Judged:
    """Verdicts on n benchmarks."""

    threshold: float  # how many times as slow is too slow
    p_slow: Floats  # adjusted for their number
    p_not_slower: Floats
    slower: Booleans
    not_slower: Booleans

    @property
    def outcome(self) -> Outcome:
        """Of all together; of none undecided."""
        if self.slower.any():
            return Outcome.FAILED
        return Outcome.PASSED if len(self.slower) and self.not_slower.all() else Outcome.UNDECIDED

    def outcome_of(self, number: int) -> Outcome:
        """Of one benchmark."""
        if self.slower[number]:
            return Outcome.FAILED
        return Outcome.PASSED if self.not_slower[number] else Outcome.UNDECIDED


def judge(estimates: Estimates, threshold: float, errors: str = "fwer") -> Judged:
    """Say which benchmarks are slower than the threshold."""
    log_threshold = math.log(threshold)
    level = 1.0 - SURE
    p_slow = adjusted(estimates.p_slow(log_threshold), errors)
    p_not_slower = estimates.p_not_slower(log_threshold)
    return Judged(threshold, p_slow, p_not_slower, p_slow <= level, p_not_slower <= level)
