"""What one more measurement leaves open of a prediction, from draws of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfcore.base.arrays import Floats, Ints

_BINS = 16  # of simulated measurements, of equal probability


@dataclass(frozen=True)
class DrawnOutcomes:
    """Draws of a model that is no weighted sum: logarithms at a target, and of measurements at C candidates."""

    target: Floats  # (K, N) of K independent parts
    measured: Floats  # (K, N, C)
    shares: Floats  # of the parts in the value at the target (K,)
    beyond: Floats  # further variance by what may change between the data and the target (K,)
    beyond_with_one: Floats  # the same after a measurement at each candidate (K, C)

    @property
    def variance(self) -> float:
        """Of the logarithm at the target."""
        return float(self.shares**2 @ (self.target.var(axis=1) + self.beyond))

    def variances_with_one(self) -> Floats:
        """Return the same as expected after one more measurement at each candidate (C,).

        Draws are sorted into bins by the simulated measurement; within a bin the target is what a measurement of that
        size leaves open. Source: K. Chaloner and I. Verdinelli, "Bayesian experimental design: a review", 1995.
        """
        left = self.beyond_with_one.copy()
        for candidate in range(left.shape[1]):
            order = np.argsort(self.measured[:, :, candidate], axis=1)
            binned = np.take_along_axis(self.target, order, axis=1).reshape(len(self.target), _BINS, -1)
            left[:, candidate] += binned.var(axis=2).mean(axis=1)
        return np.asarray(self.shares**2 @ left)

    def with_one(self, number: int) -> DrawnOutcomes:
        """Return what is open after a measurement at one candidate: draws without their bin means."""
        order = np.argsort(self.measured[:, :, number], axis=1)
        target = _without_bins(self.target[:, :, None], order)[:, :, 0]
        beyond = self.beyond_with_one[:, number]
        after = np.minimum(self.beyond_with_one, beyond[:, None])
        return DrawnOutcomes(target, _without_bins(self.measured, order), self.shares, beyond, after)


def _without_bins(draws: Floats, order: Ints) -> Floats:
    """Return draws (K, N, C) less the mean of their bin."""
    sorted_draws = np.take_along_axis(draws, order[:, :, None], axis=1)
    binned = sorted_draws.reshape(len(draws), _BINS, -1, draws.shape[2])
    centred = (binned - binned.mean(axis=2, keepdims=True)).reshape(draws.shape)
    result = np.empty_like(draws)
    np.put_along_axis(result, order[:, :, None], centred, axis=1)
    return result
