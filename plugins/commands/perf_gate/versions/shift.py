"""A shift that all benchmarks share: the machine, the compiler, a library; told, and never subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_statistics.gating.estimates import FEWEST_ROUNDS


Floats = npt.NDArray[np.float64]

_FEWEST = 3  # benchmarks


class CommonShift(NamedTuple):
    """By how much all benchmarks together are slower."""

    ratio: float
    lower: float  # 95 % bounds
    upper: float
    benchmarks: int


def common_shift(differences: Sequence[Floats], ratios: Floats) -> CommonShift | None:
    """The shift, where the data say that there is one.

    By rounds where all benchmarks have the same number of them: the median over benchmarks of each round is one value,
    so that what a round's state does to all of them counts once. Otherwise by benchmarks.
    """
    from scipy.stats import t

    values = ratios[np.isfinite(ratios)]
    if len(values) < _FEWEST:
        return None
    sample = values
    if len(differences) == len(ratios) and len({len(each) for each in differences}) == 1:
        sample = np.median(np.stack(list(differences)), axis=0)
    if len(sample) < FEWEST_ROUNDS:
        return None
    middle = float(np.mean(sample))
    side = float(t.ppf(0.975, len(sample) - 1) * np.std(sample, ddof=1) / np.sqrt(len(sample)))
    if abs(middle) <= side:
        return None
    ratio, lower, upper = np.exp([middle, middle - side, middle + side]).tolist()
    return CommonShift(ratio, lower, upper, len(values))
