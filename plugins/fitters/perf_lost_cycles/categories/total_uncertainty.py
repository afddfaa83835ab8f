"""How sure the sum of the categories' models is, whose errors are correlated: all are measured in the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FormSum", "TotalUncertainty", "total_uncertainty"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NUMBERS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class FormSum:
    """The sum of the categories that have one form and were measured at the same points.

    Parameters
    ----------
    terms : (m,) int
        Place of each term among the terms of the total.
    points : (r,) int
    solution : (m, r) float
        What weighted values are multiplied by to give coefficients.
    residuals : (r,) float
        Weighted.
    """

    terms: Ints
    points: Ints
    solution: Floats
    residuals: Floats


@dataclass(frozen=True)
class TotalUncertainty:
    """Errors of the total.

    Parameters
    ----------
    covariance : (F, F) float
        Of the coefficients of the total's terms.
    noise : float
        Standard deviation of a weighted total about the model.
    freedom : int
        Degrees of freedom of it; 0 where there are none.
    """

    covariance: Floats
    noise: float
    freedom: int


def total_uncertainty(sums: Sequence[FormSum], n_terms: int, n_points: int) -> TotalUncertainty:
    """Covariance of the total's coefficients from the covariance of the residuals of its parts.

    Each part's coefficients are linear in its values, ``beta_f = A_f y_f``. With errors that are independent from point
    to point and have the covariance S between parts, the total's coefficients have

        Cov = sum over f, g of S_fg B_f B_g',

    where B_f holds the rows of A_f in the places of the part's terms. S is estimated from the residuals, each part's
    divided by the root of its degrees of freedom, so that its diagonal is unbiased and it is positive semidefinite; the
    double sum is then a single one over points.

    Parameters
    ----------
    sums : sequence of FormSum
    n_terms, n_points : int
        F terms in the total; n points.
    """
    freedoms = [len(part.points) - len(part.terms) for part in sums]
    if min(freedoms) <= 0:
        return TotalUncertainty(np.full((n_terms, n_terms), np.nan), float("nan"), 0)
    errors = np.zeros((n_points, len(sums)))
    solutions = np.zeros((len(sums), n_terms, n_points))
    for number, (part, freedom) in enumerate(zip(sums, freedoms, strict=True)):
        errors[part.points, number] = part.residuals / np.sqrt(freedom)
        solutions[number][np.ix_(part.terms, part.points)] = part.solution
    covariance = np.zeros((n_terms, n_terms))
    length = max(1, _NUMBERS_AT_ONCE // (n_terms * n_points))
    for begin in range(0, n_points, length):
        mixed = np.tensordot(errors[begin : begin + length], solutions, axes=1)
        flat = mixed.transpose(1, 0, 2).reshape(n_terms, -1)
        covariance += flat @ flat.T
    noise = float(np.linalg.norm(errors.sum(axis=1)))
    return TotalUncertainty(covariance, noise, min(freedoms))
