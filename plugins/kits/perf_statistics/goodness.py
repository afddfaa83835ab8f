"""How well a least-squares fit does, what models are compared by, and observations that do not go with the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore.base import special
from perfcore.base.arrays import Booleans, Floats

_ROUNDING = 1e-13  # of the sums of squares, whose difference says nothing below it
_SIGNIFICANCE = 0.05  # that any point is called an outlier where none is (Bonferroni)
# Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993: beyond 3.5 robust standard deviations.
_ROBUST_LIMIT = 3.5
# In standard errors of the fit: with hardly more points than parameters most residuals are almost 0.
_NORMAL_MEDIAN_DEVIATION = 0.6744897501960817
_LEAST_SPREAD = 0.1


def finite(value: float | None) -> float | None:
    """Return the number, or None if it is not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def r_squared(sum_of_squares: Any, total: Any) -> Any:
    """Return the determination coefficient ``1 - SSE/SST`` (...,); NaN if the total is 0.

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
    """Return AICc and BIC of normal errors of unknown variance; infinite if there are too few observations.

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
    """Return absolute relative errors of predictions (n,)."""
    return np.abs(predicted - measured) / measured


def normal_quantiles(values: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Return the normal quantile of each value (n,), the line where normal values lie, and the correlation.

    The line is given by its ends, as two arrays; both and the correlation are undefined (empty, NaN) of constants.
    """
    n, quantiles = len(values), np.zeros(len(values))
    if n > 1:  # medians of order statistics: J. J. Filliben, Technometrics 17, 1975, as `scipy.stats.probplot` has them
        levels = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
        levels[[0, -1]] = 1.0 - 0.5 ** (1.0 / n), 0.5 ** (1.0 / n)
        quantiles[np.argsort(values, kind="stable")] = special.ndtri(levels)
    if n < 3 or np.ptp(values) == 0.0:
        return quantiles, np.empty(0), np.empty(0), np.nan
    correlation = float(np.corrcoef(quantiles, values)[0, 1])
    ends = np.array([quantiles.min(), quantiles.max()])
    slope = correlation * np.std(values) / np.std(quantiles)
    return quantiles, ends, np.mean(values) + slope * (ends - np.mean(quantiles)), correlation


@dataclass(frozen=True)
class Outliers:
    """Residuals that identify outliers, and the outliers."""

    studentized: Floats
    robust: Floats  # residual over the normal-consistent median absolute deviation
    flagged: Booleans


def median_deviation(values: Floats) -> float:
    """Return the median absolute deviation, as a normal distribution's standard deviation; NaN does not count."""
    return float(np.nanmedian(np.abs(values - np.nanmedian(values)))) / _NORMAL_MEDIAN_DEVIATION


def find_outliers(
    residuals: Floats, leave_out: Floats, degrees_of_freedom: npt.ArrayLike, sum_of_squares: npt.ArrayLike | None = None
) -> Outliers:
    """Judge the residuals of a fit."""
    squares = np.sum(residuals**2) if sum_of_squares is None else np.asarray(sum_of_squares, dtype=np.float64)
    freedom = np.asarray(degrees_of_freedom, dtype=np.float64)
    judged = freedom > 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        standardized = np.where(judged, residuals / np.sqrt(squares / freedom), np.nan)
        # e^2 / (1 - h) is what the sum of squares falls by when the point is left out.
        fall = residuals * leave_out
        variance = np.maximum(squares - fall, 0.0) / (freedom - 1.0)
        studentized = np.where(judged, np.sign(residuals) * np.sqrt(fall / variance), np.nan)
    spread = median_deviation(standardized) if np.isfinite(standardized).any() else 0.0
    robust = np.nan_to_num(standardized / max(spread, _LEAST_SPREAD))
    size = np.nan_to_num(np.abs(studentized), nan=0.0, posinf=np.inf)  # infinite where all others fit exactly
    by_chance = np.where(judged, 2.0 * special.stdtr(np.where(judged, freedom - 1.0, 1.0), -size), 1.0)
    too_far = by_chance <= _SIGNIFICANCE / max(len(by_chance), 1)  # of n residuals, by Bonferroni
    flagged = too_far | ((np.abs(robust) > _ROBUST_LIMIT) & (size > 3.0))
    return Outliers(np.where(np.isfinite(studentized), studentized, np.nan), robust, flagged)
