"""One-step forecasts of a sequence by many simple predictors at once, each from the samples before.

Source: R. Wolski, "Dynamically Forecasting Network Performance Using the Network Weather Service", Cluster Computing 1
(1998): means, medians and exponential smoothings compete, and past errors decide. Two things differ. The windows and
gains are a selection of those there. And where his adaptive windows grow or shrink by one sample at a time, ours choose
at each step among the fixed windows the one with the least recent error, which needs no loop over samples.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats


Floats = npt.NDArray[np.float64]

_MEAN_WINDOWS = (5, 10, 20, 50)
_MEDIAN_WINDOWS = (5, 11, 21, 51)  # odd, so that the median is a sample
_TRIMMED_WINDOWS = (11, 31, 51)
_TRIMMED_SHARE = 0.3  # of the window, cut off at each end
_GAINS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.9)
_RECENT_GAIN = 0.1  # of the smoothing that says which window did best lately: the last ten errors count most
_CHUNK = 20_000  # windows that are sorted at a time: bounded memory


def one_step_forecasts(values: npt.ArrayLike) -> dict[str, Floats]:
    """What each predictor says of each sample, knowing only those before it, and of the sample after the last.

    Windows that reach back before the first sample use what there is.
    """
    history: Floats = np.asarray(values, dtype=np.float64)
    samples = pd.Series(history)
    after: dict[str, npt.ArrayLike] = {"last value": samples, "running mean": samples.expanding().mean()}
    means = {f"mean of {width}": samples.rolling(width, min_periods=1).mean() for width in _MEAN_WINDOWS}
    medians = {f"median of {width}": samples.rolling(width, min_periods=1).median() for width in _MEDIAN_WINDOWS}
    trimmed = {f"trimmed mean of {width}": _trimmed_mean(history, width) for width in _TRIMMED_WINDOWS}
    # Without adjustment this is simple exponential smoothing from the first sample on.
    smoothed = {f"smoothing {gain:g}": samples.ewm(alpha=gain, adjust=False).mean() for gain in _GAINS}
    forecasts = {
        name: np.concatenate([[np.nan], np.asarray(forecast, dtype=np.float64)])
        for name, forecast in (after | means | medians | trimmed | smoothed).items()
    }
    for name, group in (("adaptive mean", means), ("adaptive median", medians)):
        forecasts[name] = _best_lately({member: forecasts[member] for member in group}, history)
    return forecasts


def _trimmed_mean(values: Floats, width: int) -> Floats:
    """Mean of the middle of each window that ends at a sample (n,)."""
    starting = min(width - 1, len(values))
    means = np.empty(len(values))
    for size in range(1, starting + 1):
        means[size - 1] = stats.trim_mean(values[:size], _TRIMMED_SHARE)
    if len(values) >= width:
        windows = np.lib.stride_tricks.sliding_window_view(values, width)
        for first in range(0, len(windows), _CHUNK):
            middle: Floats = np.asarray(stats.trim_mean(windows[first : first + _CHUNK], _TRIMMED_SHARE, axis=1))
            means[starting + first : starting + first + len(middle)] = middle
    return means


def _best_lately(forecasts: Mapping[str, Floats], values: Floats) -> Floats:
    """At each step the forecast of the predictor whose recent squared errors are least (n + 1,)."""
    table = np.array(list(forecasts.values()))
    errors = pd.DataFrame((table[:, 1:-1] - values[1:]).T ** 2)
    return _chosen(table, errors.ewm(alpha=_RECENT_GAIN).mean())


def _chosen(table: Floats, known_errors: pd.DataFrame) -> Floats:
    """From (m, n + 1) forecasts those of the predictor with the least of (n - 1, m) errors before each step."""
    choice = np.zeros(table.shape[1], dtype=np.intp)  # the first two steps have no errors before them
    choice[2:] = known_errors.to_numpy().argmin(axis=1)
    chosen: Floats = table[choice, np.arange(table.shape[1])]
    return chosen
