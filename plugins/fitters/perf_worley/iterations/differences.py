"""What makes iterations differ: the time of each class of state in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_worley.names.activity import Activity

__all__ = ["Differences", "differences_of"]


@dataclass(frozen=True)
class Differences:
    """Processor time of iterations by class of state; of each it adds up to duration x locations, to the nanosecond.

    Attributes
    ----------
    categories : tuple of str
        Computing first, then those that take the longest.
    times_ns : (n, n_categories) int64
    """

    categories: tuple[str, ...]
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
        """What part of the variance of durations each category makes; below 0 where it evens differences out.

        The covariance of a category's time with the whole duration, over the variance of that: they add up to 1. Empty
        where all durations are equal.
        """
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
    """What makes iterations differ.

    Parameters
    ----------
    activities : sequence of Activity
        What runs in each iteration.

    Examples
    --------
    >>> from perf_worley.names.activity import activities
    >>> from perfcore import Trace
    >>> trace = Trace([0] * 4, [0, 1, 0, 1], [0, 8, 10, 18], [8, 10, 18, 30], ["a"], ["run", "MPI_Send"])
    >>> found = differences_of(activities(trace, [0, 10, 30]))
    >>> found.categories, found.slowest, found.shares_of_variance
    (('computing', 'communicating'), 1, {'computing': 0.0, 'communicating': 1.0})
    """
    total: dict[str, int] = {}
    for activity in activities:
        for name, time in activity.categories_ns.items():
            total[name] = total.get(name, 0) + time
    names = sorted(total, key=lambda name: (name != "computing", name == "no state", -total[name]))
    times = [[activity.categories_ns.get(name, 0) for name in names] for activity in activities]
    return Differences(tuple(names), np.array(times, dtype=np.int64).reshape(len(times), len(names)))
