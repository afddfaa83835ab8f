"""Forecasts that change with the steps ahead: trends, seasons and autoregressions, beside those that are held.

Sources: C. C. Holt (1957) and E. S. Gardner, E. McKenzie, "Forecasting Trends in Time Series" (1985) for damped
trends, with gains that compete as those of the Network Weather Service's smoothings do, instead of being optimised;
P. R. Winters (1960) for seasons, whose profile is the mean of the last cycles here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from perf_forecast.autoregression import autoregression
from perf_forecast.forecasts import one_step_forecasts
from perf_forecast.seasons import mean_of_cycles


Floats = npt.NDArray[np.float64]

_TRENDS = ((0.3, 0.1, 0.9), (0.5, 0.3, 0.9), (0.8, 0.3, 0.8), (0.2, 0.05, 0.98), (0.1, 0.1, 0.98))
_LAGS = (1, 2, 4, 12)  # of autoregressions without a season: so many each
_CYCLES = (1, 3)  # that a season's profile is the mean of
_DRIFT_GAINS = (0.1, 0.5, 1.0)  # of the smoothing that says how far the series is off its profile lately
_DRIFT_KEPT = (0.9, 0.97, 1.0)  # from one step to the next


def forecasts_ahead(values: npt.ArrayLike, steps: int, seasons: Sequence[int], first: int) -> Mapping[str, Floats]:
    """What each predictor says of the samples one to ``steps`` after each origin, knowing no later one."""
    history: Floats = np.asarray(values, dtype=np.float64)
    forecasts: dict[str, Floats] = {
        name: np.broadcast_to(forecast[first + 1 :], (steps, len(history) - first))
        for name, forecast in one_step_forecasts(history).items()
    }
    for level_gain, trend_gain, kept in _TRENDS:
        name = f"damped trend {level_gain:g}, {trend_gain:g}, {kept:g}"
        forecasts[name] = damped_trend(history, level_gain, trend_gain, kept, steps, first)
    for count in _LAGS:
        forecasts[f"autoregression of {count}"] = autoregression(history, range(1, count + 1), steps, first)
    for season in seasons:
        forecasts.update(_seasonal(history, season, steps, first))
        for cycles in (1, 2):
            around = [cycle * season + by for cycle in range(1, cycles + 1) for by in (-1, 0, 1)]
            lags = sorted({1, 2, 3, *around})
            name = f"autoregression of 3 and {cycles} season{'s' if cycles > 1 else ''} of {season}"
            forecasts[name] = autoregression(history, lags, steps, first)
    return forecasts


def damped_trend(
    values: Floats, level_gain: float, trend_gain: float, kept: float, steps: int, first: int = 0
) -> Floats:
    """Exponential smoothing of level and trend, of which a share is kept from step to step."""
    differences = np.diff(values, prepend=values[0])
    both = level_gain * trend_gain
    errors = lfilter(
        [1.0, -kept], [1.0, -(1.0 - level_gain + kept - kept * both), kept * (1.0 - level_gain)], differences
    )
    level = values - (1.0 - level_gain) * errors
    trend = lfilter([both], [1.0, -kept], errors)
    shares = np.cumsum(kept ** np.arange(1.0, steps + 1.0))
    forecasts: Floats = level[first:] + shares[:, None] * trend[first:]
    return forecasts


def _seasonal(values: Floats, season: int, steps: int, first: int) -> Iterator[tuple[str, Floats]]:
    """The profile of the last cycles, and how far the series has been off it lately, which fades out."""
    import pandas as pd

    count = len(values)
    ahead = np.arange(1, steps + 1)[:, None]
    targets = np.arange(first, count) + ahead
    for cycles in _CYCLES:
        profile = mean_of_cycles(values, season, cycles)
        # Beyond one season the profile repeats itself: what would be needed of the next cycle is not known yet.
        expected = profile[targets - season * ((ahead - 1) // season)]
        off = pd.Series(values - profile[:count])
        yield f"season of {season}, mean of {cycles}", expected
        for gain in _DRIFT_GAINS:
            lately = off.ewm(alpha=gain, adjust=False).mean().to_numpy()[first:]
            for kept in _DRIFT_KEPT:
                name = f"season of {season}, mean of {cycles}, off by smoothing {gain:g}, {kept:g} kept"
                yield name, expected + kept**ahead * lately
