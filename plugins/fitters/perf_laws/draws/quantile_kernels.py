"""Compiled walks along weighted draws: quantiles, draws of equal weight instead of them, and sums of these.

Sorting is left to numpy, which is faster at it and releases the interpreter as kernels do.
"""

from __future__ import annotations

import numpy as np

from perfcore.base.kernels import kernel

__all__ = ["add_taken", "take_evenly", "weighted_quantiles"]


@kernel
def weighted_quantiles(values, order, weights, levels, found):  # type: ignore[no-untyped-def]
    """Quantiles between draws, each of which stands at the middle of its weight.

    Parameters
    ----------
    values : (K, T, N) float
    order : (K, T, N) int
        Sorts the draws.
    weights : (K, N) float
        Add up to 1 for each row.
    levels : (Q,) float
        Between 0 and 1.
    found : (K, T, Q) float
        Written.
    """
    n_paths, n_places, n_draws = values.shape
    middle = np.empty(n_draws)
    for k in range(n_paths):
        for place in range(n_places):
            reached = 0.0
            for i in range(n_draws):
                mass = weights[k, order[k, place, i]]
                middle[i] = reached + 0.5 * mass
                reached += mass
            for number in range(len(levels)):
                level = levels[number]
                after = np.searchsorted(middle, level)
                low, high = max(after - 1, 0), min(after, n_draws - 1)
                gap = middle[high] - middle[low]
                share = min(max((level - middle[low]) / gap, 0.0), 1.0) if gap > 0.0 else 0.0
                below, above = values[k, place, order[k, place, low]], values[k, place, order[k, place, high]]
                found[k, place, number] = below * (1.0 - share) + above * share


@kernel
def take_evenly(order, weights, taken):  # type: ignore[no-untyped-def]
    """Draws that stand at the middles of so many equal probabilities.

    Parameters
    ----------
    order : (K, N) int
        In which the draws of each row are gone through.
    weights : (K, N) float
        Add up to 1 for each row.
    taken : (K, C) int
        Written: numbers of draws.
    """
    n_paths, count = taken.shape
    last = weights.shape[1] - 1
    for k in range(n_paths):
        at, reached = 0, weights[k, order[k, 0]]
        for i in range(count):
            wanted = (i + 0.5) / count
            while reached < wanted and at < last:
                at += 1
                reached += weights[k, order[k, at]]
            taken[k, i] = order[k, at]


@kernel
def add_taken(values, taken, sums):  # type: ignore[no-untyped-def]
    """Add draws of one row after the other to sums.

    Parameters
    ----------
    values : (K, N, T) float
    taken : (K, C) int
        Which draw of a row goes to which sum.
    sums : (C, T) float
        Added to.
    """
    for k in range(len(values)):
        for i in range(len(sums)):
            for place in range(sums.shape[1]):
                sums[i, place] += values[k, taken[k, i], place]
