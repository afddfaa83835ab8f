"""Three verdicts: what is surely slower, what is surely not, and what the data leave open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import SURE, Estimates
from perf_statistics.gating.multiple_tests import adjusted

__all__ = ["Judged", "Outcome", "judge"]

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


class Outcome(StrEnum):
    """What a gate says."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judged:
    """Verdicts on n benchmarks.

    Parameters
    ----------
    threshold : float
        How many times as slow is too slow.
    p_slow : (n,) float
        Adjusted for their number.
    p_not_slower : (n,) float
        Not adjusted: that all are not slower is said only if each is surely not, which needs no correction (R. L.
        Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982).
    slower, not_slower : (n,) bool
    """

    threshold: float
    p_slow: Floats
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
    """Say which benchmarks are slower than the threshold.

    Parameters
    ----------
    estimates : Estimates
    threshold : float, >= 1
        Such as 1.05.
    errors : {"fwer", "fdr"}
        What is to be rare: any false alarm, or false ones among the alarms.

    Examples
    --------
    >>> from perf_statistics.gating.rounds import in_turn
    >>> rng = np.random.default_rng(1)
    >>> old = [rng.normal(0.0, 0.01, 10) for _ in range(3)]
    >>> new = [rng.normal(shift, 0.01, 10) for shift in (0.0, 0.0, 0.1)]
    >>> [judge(in_turn(old, new), 1.05).outcome_of(k).value for k in range(3)]
    ['passed', 'passed', 'failed']
    """
    log_threshold = math.log(threshold)
    level = 1.0 - SURE
    p_slow = adjusted(estimates.p_slow(log_threshold), errors)
    p_not_slower = estimates.p_not_slower(log_threshold)
    return Judged(threshold, p_slow, p_not_slower, p_slow <= level, p_not_slower <= level)
