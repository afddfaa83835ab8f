"""Forecasts by regression on earlier samples, several steps ahead, as anybody would have made them at the time.

The coefficients are least squares of a constant and the lags, as statsmodels' `AutoReg` has them. They are found anew
a few times in the course of the series, from samples before alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


Floats = npt.NDArray[np.float64]

_FITS = 8  # in the course of the origins: a least-squares fit costs more than the forecasts of a hundred samples
_MOST_FITTED = 2000  # samples before a fit that it is made of
_FEWEST_ROWS = 3  # for each coefficient


def autoregression(values: Floats, lags: Sequence[int], steps: int, first: int) -> Floats:
    """Forecasts of the samples one to ``steps`` after each origin."""
    count, longest = len(values), lags[-1]
    forecasts = np.full((steps, count - first), np.nan)
    start = max(first, longest + _FEWEST_ROWS * (len(lags) + 1))
    if start >= count:
        return forecasts
    fits = np.unique(np.linspace(start, count, _FITS, endpoint=False).astype(int)).tolist()
    for fitted, after in zip(fits, [*fits[1:], count], strict=True):
        history = values[max(0, fitted + 1 - _MOST_FITTED - longest) : fitted + 1]
        coefficients = _coefficients(history, lags)
        paths = _continued(values, np.arange(fitted, after), lags, coefficients, steps)
        # A root outside of the unit circle must not lead far beyond what was seen.
        reach = np.ptp(history)
        forecasts[:, fitted - first : after - first] = np.clip(paths, history.min() - reach, history.max() + reach)
    return forecasts


def _coefficients(history: Floats, lags: Sequence[int]) -> Floats:
    """A constant and a coefficient for each lag, by least squares (k + 1,)."""
    longest = lags[-1]
    rows = [history[longest - lag : len(history) - lag] for lag in lags]
    design = np.column_stack([np.ones(len(history) - longest), *rows])
    return np.asarray(np.linalg.lstsq(design, history[longest:], rcond=1e-8)[0], dtype=np.float64)


def _continued(
    values: Floats, origins: npt.NDArray[np.intp], lags: Sequence[int], coefficients: Floats, steps: int
) -> Floats:
    """Each forecast takes the ones before it for the samples that are not known yet (steps, origins)."""
    paths = np.empty((steps, len(origins)))
    for step in range(1, steps + 1):
        paths[step - 1] = coefficients[0]
        for coefficient, lag in zip(coefficients[1:], lags, strict=True):
            paths[step - 1] += coefficient * (paths[step - lag - 1] if lag < step else values[origins + step - lag])
    return paths
