"""What makes iterations differ: the time of each class of state in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_worley.names.activity import Activity


@dataclass(frozen=True)
class Differences:
    """Processor time of iterations by class of state; of each it adds up to duration x locations, to the nanosecond."""

    categories: tuple[str, ...]  # computing first, then those that take the longest
    times_ns: npt.NDArray[np.int64]

    @property
    def slowest(self) -> int:
        """Which iteration takes the longest, counted from 0."""
        return int(np.argmax(self.times_ns.sum(axis=1)))

    @property
    def mean_shares(self) -> dict[str, float]:
        """Share of each category in the mean iteration."""
        means = self.times_ns.mean(axis=0)
        return dict(zip(self.categories, (means / means.sum()).tolist(), strict=True))

    @property
    def shares_of_variance(self) -> dict[str, float]:
        """What part of the variance of durations each category makes; below 0 where it evens differences out."""
        stray = self.times_ns - self.times_ns.mean(axis=0)
        totals = stray.sum(axis=1)
        variance = float(totals @ totals)
        # Below a nanosecond of each iteration there is nothing but rounding.
        if len(self.times_ns) < 2 or variance <= len(totals):
            return {}
        return dict(zip(self.categories, (totals @ stray / variance).tolist(), strict=True))

    @property
    def shares_of_slowest(self) -> dict[str, float]:
        """What part each category makes of how much longer than the mean the slowest iteration is; they add up to 1."""
        stray = (self.times_ns - self.times_ns.mean(axis=0))[self.slowest]
        return dict(zip(self.categories, (stray / stray.sum()).tolist(), strict=True)) if stray.sum() >= 1.0 else {}

    def to_dict(self) -> dict[str, Any]:
        """Times and shares, JSON-ready."""
        return {
            "processor_ns": {name: self.times_ns[:, index].tolist() for index, name in enumerate(self.categories)},
            "mean_shares": self.mean_shares,
            "shares_of_variance": self.shares_of_variance,
            "slowest": self.slowest + 1,
            "shares_of_slowest": self.shares_of_slowest,
        }


def differences_of(activities: Sequence[Activity]) -> Differences:
    """What makes iterations differ."""
    total: dict[str, int] = {}
    for activity in activities:
        for name, time in activity.categories_ns.items():
            total[name] = total.get(name, 0) + time
    names = sorted(total, key=lambda name: (name != "computing", name == "no state", -total[name]))
    times = [[activity.categories_ns.get(name, 0) for name in names] for activity in activities]
    return Differences(tuple(names), np.array(times, dtype=np.int64).reshape(len(times), len(names)))
