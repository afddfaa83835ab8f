"""Observations that do not go with the rest: by leaving each out, and by a robust scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SIGNIFICANCE = 0.05  # that any point is called an outlier where none is (Bonferroni)
# Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993: beyond 3.5 robust standard deviations.
_ROBUST_LIMIT = 3.5
# In standard errors of the fit: with hardly more points than parameters most residuals are almost 0.
_LEAST_SPREAD = 0.1


@dataclass(frozen=True)
class Outliers:
    """Residuals by which outliers are told, and which they are."""

    studentized: Floats
    robust: Floats  # residual over the normal-consistent median absolute deviation
    flagged: npt.NDArray[np.bool_]


def find_outliers(
    residuals: Floats,
    leave_out: Floats,
    degrees_of_freedom: npt.ArrayLike,
    sum_of_squares: npt.ArrayLike | None = None,
) -> Outliers:
    """Judge the residuals of a fit."""
    from scipy.stats import median_abs_deviation, t

    squares = np.sum(residuals**2) if sum_of_squares is None else np.asarray(sum_of_squares, dtype=np.float64)
    freedom = np.asarray(degrees_of_freedom, dtype=np.float64)
    judged = freedom > 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        standardized = np.where(judged, residuals / np.sqrt(squares / freedom), np.nan)
        # e^2 / (1 - h) is what the sum of squares falls by when the point is left out.
        fall = residuals * leave_out
        variance = np.maximum(squares - fall, 0.0) / (freedom - 1.0)
        studentized = np.where(judged, np.sign(residuals) * np.sqrt(fall / variance), np.nan)
    spread = (
        float(median_abs_deviation(standardized, scale="normal", nan_policy="omit"))
        if np.isfinite(standardized).any()
        else 0.0
    )
    robust = np.nan_to_num(standardized / max(spread, _LEAST_SPREAD))
    size = np.nan_to_num(np.abs(studentized), nan=0.0, posinf=np.inf)  # infinite where all others fit exactly
    by_chance = np.where(judged, 2.0 * t.sf(size, np.where(judged, freedom - 1.0, 1.0)), 1.0)
    too_far = by_chance <= _SIGNIFICANCE / max(len(by_chance), 1)  # of n residuals, by Bonferroni
    flagged = too_far | ((np.abs(robust) > _ROBUST_LIMIT) & (size > 3.0))
    return Outliers(np.where(np.isfinite(studentized), studentized, np.nan), robust, flagged)
