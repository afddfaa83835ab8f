"""How well a least-squares fit does, from its sum of squares; arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-13  # of the sums of squares, whose difference says nothing below it


def r_squared(sum_of_squares: Any, total: Any) -> Any:
    """Determination coefficient ``1 - SSE/SST`` (...,); NaN where the total is 0.

    With ``total`` the sum of the squared values it is the uncentered one, which Strohmaier prints (Table 1: 1 -
    26.13/3677.85 = 0.99289); with the sum of squares about the mean the centered one.
    """
    sum_of_squares, total = np.asarray(sum_of_squares, dtype=np.float64), np.asarray(total, dtype=np.float64)
    share = np.divide(
        sum_of_squares, total, out=np.full(np.broadcast(sum_of_squares, total).shape, np.nan), where=total > 0
    )
    r2 = 1.0 - share
    return np.where(np.abs(r2) < _ROUNDING, 0.0, r2)


def information(sum_of_squares: Any, n_observations: Any, n_parameters: Any) -> tuple[Floats, Floats]:
    """AICc and BIC of normal errors of unknown variance; infinite where there are too few observations.

    -2 log-likelihood and 2 k (Akaike, 1974) with the correction of Hurvich and Tsai (1989), or k log n (Schwarz, 1978).
    """
    n = np.asarray(n_observations, dtype=np.float64)
    counted = np.asarray(n_parameters, dtype=np.float64) + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = n * (np.log(2.0 * np.pi * np.asarray(sum_of_squares, dtype=np.float64) / n) + 1.0)
        correction = 2.0 * counted * (counted + 1.0) / (n - counted - 1.0)
        corrected, bayes = deviance + 2.0 * counted + correction, deviance + counted * np.log(n)
    enough = np.broadcast_to(n - counted - 1.0 > 0.0, np.shape(corrected))
    return np.where(enough, corrected, np.inf), np.where(enough, bayes, np.inf)


def relative_errors(predicted: Floats, measured: Floats) -> Floats:
    """Absolute relative errors of predictions (n,)."""
    return np.abs(predicted - measured) / measured
