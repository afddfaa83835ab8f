"""Exact nonnegative least squares for every hypothesis, from the unconstrained fits of its subsets.

Times are sums of nonnegative shares: a negative coefficient has no meaning there. The least sum of squares with
coefficients >= 0 is reached with linearly independent functions whose coefficients are positive, and on these
functions it is the unconstrained fit; conversely each unconstrained fit without negative coefficients is admissible.
So the best admissible one among the subsets of a hypothesis, the empty one included, is the optimum: no iteration.
With all subsets of up to three functions fitted anyway, this costs a comparison of at most eight numbers.

Source of the optimality conditions: C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", 1974, chapter 23;
their active-set iteration visits a few of these subsets, the batched fits hold them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_statistics.least_squares.batched import Floats, Ints, SubsetFits


@dataclass(frozen=True)
class NonnegativeFits:
    """Nonnegative fits of K series with H hypotheses of m functions each."""

    subsets: Ints  # the functions of each hypothesis
    coefficients: Floats  # >= 0, in the order of `subsets`
    active: npt.NDArray[np.bool_]  # functions that the fit uses; the coefficients of the others are zero
    standard_errors: Floats  # of the fit with the active functions alone, as if they had been chosen beforehand
    sum_of_squares: Floats  # squared residuals, summed up
    leave_one_out: Floats  # PRESS of the fit with the active functions alone


def fit_nonnegative(fits: Sequence[SubsetFits], values: npt.ArrayLike) -> NonnegativeFits:
    """Constrain the hypotheses of m functions to coefficients >= 0."""
    if [fit.subsets.shape[1] for fit in fits] != list(range(1, len(fits) + 1)) or not fits:
        raise ValueError("fits with one function, with two, and so on are expected")
    subsets = fits[-1].subsets
    (n_subsets, m), n_series = subsets.shape, len(fits[-1].coefficients)
    empty = np.sum(np.square(np.asarray(values, dtype=np.float64)), axis=1)
    # The empty subset comes first: it is always admissible, and predicts zero whatever is left out.
    best = NonnegativeFits(
        subsets=subsets,
        coefficients=np.zeros((n_series, n_subsets, m)),
        active=np.zeros((n_series, n_subsets, m), dtype=bool),
        standard_errors=np.full((n_series, n_subsets, m), np.nan),
        sum_of_squares=np.repeat(empty[:, None], n_subsets, axis=1),
        leave_one_out=np.repeat(empty[:, None], n_subsets, axis=1),
    )
    for fit in fits:
        for members in itertools.combinations(range(m), fit.subsets.shape[1]):
            _take_better(best, fit, list(members))
    return best


def _take_better(best: NonnegativeFits, fit: SubsetFits, members: list[int]) -> None:
    """Where the fit with some members of each hypothesis is admissible and better, keep it."""
    column, order = _find(best.subsets[:, members], fit.subsets)
    coefficients = np.take_along_axis(fit.coefficients[:, column], order[None], axis=2)
    full_rank = (fit.rank == len(members))[fit.group[:, None], column]
    sum_of_squares = fit.sum_of_squares[:, column]
    better = full_rank & (coefficients >= 0.0).all(axis=2) & (sum_of_squares < best.sum_of_squares)
    errors = np.take_along_axis(fit.standard_errors[:, column], order[None], axis=2)
    best.coefficients[better] = 0.0
    best.standard_errors[better] = np.nan
    best.active[better] = False
    for position, member in enumerate(members):
        best.coefficients[better, member] = coefficients[better, position]
        best.standard_errors[better, member] = errors[better, position]
        best.active[better, member] = True
    best.sum_of_squares[better] = sum_of_squares[better]
    best.leave_one_out[better] = fit.leave_one_out[:, column][better]


def _find(wanted: Ints, available: Ints) -> tuple[Ints, Ints]:
    """Rows of ``available`` with the functions of each wanted row, and where each of these stands there."""
    both = np.concatenate([np.sort(available, axis=1), np.sort(wanted, axis=1)])
    different, number = np.unique(both, axis=0, return_inverse=True)
    number = number.reshape(-1)  # numpy 2.0 alone returns a column
    row = np.full(len(different), -1, dtype=np.int64)
    row[number[: len(available)]] = np.arange(len(available))
    column = row[number[len(available) :]]
    if (column < 0).any():
        missing = wanted[np.argmin(column)].tolist()
        raise ValueError(f"functions {missing} have no fit of their own; all subsets of a hypothesis are needed")
    ranks = np.argsort(np.argsort(wanted, axis=1, kind="stable"), axis=1)
    order = np.take_along_axis(np.argsort(available[column], axis=1, kind="stable"), ranks, axis=1)
    return column, order
