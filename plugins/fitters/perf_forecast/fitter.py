"""The fitter `forecast`: a series to its next values, by whichever simple predictor has erred least so far."""

from __future__ import annotations

import contextlib
import hashlib
import math
import shlex
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

import perfcore
from perf_forecast.model import COVERAGE, ForecastModel, PredictorError
from perf_forecast.options import ForecastOptions
from perf_series.window import Window, take_window
from perfcore import Series, UtilizationCurve
from perfcore.base.errors import DataError
from perfcore.contracts import Fitter
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

__all__ = ["ForecastFitter"]

Floats = npt.NDArray[np.float64]

_FEWEST = 3  # samples: two errors, the least that have a spread


class ForecastFitter(Fitter):
    """Forecasts the next values of a series with their spread.

    Choose it where a run will start soon and what a machine does now says more than what it did on average. Many
    simple predictors compete (last value, means, medians, trimmed means, exponential smoothings); the one whose past
    errors are least gives the forecast, and its errors give the spread of a normal distribution.

    Missing samples are left out; a step is the time between samples.

    Source: R. Wolski, "Dynamically Forecasting Network Performance Using the Network Weather Service", 1998.

    Examples
    --------
    >>> series = Series([0, 1, 2, 3, 4], {"cpu": [0.5, 0.5, 0.5, 0.5, 0.5]}, "s")
    >>> perfcore.fit(series, fitter="forecast").predict([1, 2])
    array([0.5, 0.5])
    """

    Options = ForecastOptions
    model_type = ForecastModel
    takes = (Series, UtilizationCurve)

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        """What to try, of several columns with the first that has samples enough; see `Fitter.facts`."""
        columns = list(data.columns) if isinstance(data, Series) else [None]
        for column in columns:
            with contextlib.suppress(DataError):
                if len(take_window(data, ForecastOptions().window, column).values) >= _FEWEST:
                    chosen = f" --column {shlex.quote(str(column))}" if len(columns) > 1 else ""
                    return {"next": [f"--fitter forecast{chosen} --plot forecast.png"]}
        return {"next": []}

    def fit(self, data: Any, options: ForecastOptions, **parts: Any) -> ForecastModel:
        """Fit; see `perfcore.fit`.

        Raises
        ------
        DataError
            Fewer than three samples.
        OptionError
            The column is not known, or there are several and none was named.
        """
        window = take_window(data, options.window, options.column)
        values = window.values
        if len(values) < _FEWEST:
            raise DataError(
                f"{window.source}: {len(values)} samples of {window.column!r}; a forecast needs {_FEWEST} or more, "
                "since its spread comes from past errors"
            )
        # Imported here, with pandas: help and completion ask this module for its options only.
        from perf_forecast.forecasts import best_so_far, errors_ahead, one_step_forecasts

        forecasts = one_step_forecasts(values)
        predictors = [
            PredictorError(name, float(forecast[-1]), *_mean_errors(errors_ahead(forecast, values, 1)))
            for name, forecast in forecasts.items()
        ]
        best = min(predictors, key=lambda predictor: getattr(predictor, options.criterion))
        again = best_so_far(forecasts, values, options.criterion)
        spreads = [
            _spread(errors_ahead(forecasts[best.name], values, steps), options.criterion)
            for steps in range(1, min(options.horizon, len(values) - 2) + 1)
        ]
        return ForecastModel(
            origin=Origin(
                fitter="forecast",
                options=to_dict(options),
                source=window.source,
                fingerprint=_fingerprint(window),
                version=perfcore.__version__,
            ),
            column=window.column,
            time_unit=window.time_unit,
            last_time=float(window.times[-1]),
            step=float(np.median(np.diff(window.times))),
            n_samples=len(values),
            n_missing=window.missing,
            criterion=options.criterion,
            predictors=tuple(sorted(predictors, key=lambda predictor: getattr(predictor, options.criterion))),
            chosen_anew=PredictorError("best so far", float(again[-1]), *_mean_errors(errors_ahead(again, values, 1))),
            spread=tuple(spreads),
            covered=_covered(errors_ahead(forecasts[best.name], values, 1), spreads[0]),
        )


def _mean_errors(errors: Floats) -> tuple[float, float]:
    """Mean squared and mean absolute error."""
    return float(np.mean(errors**2)), float(np.mean(np.abs(errors)))


def _spread(errors: Floats, criterion: str) -> float:
    """Standard deviation of a normal distribution around the forecast that has the mean error of the criterion.

    The mean absolute deviation of a normal distribution is sqrt(2/pi) times its standard deviation.
    """
    squared, absolute = _mean_errors(errors)
    return math.sqrt(squared) if criterion == "mse" else math.sqrt(math.pi / 2.0) * absolute


def _covered(errors: Floats, spread: float) -> float:
    """Share of the errors within the normal bounds of `COVERAGE`."""
    return float(np.mean(np.abs(errors) <= NormalDist().inv_cdf(0.5 + 0.5 * COVERAGE) * spread))


def _fingerprint(window: Window) -> str:
    digest = hashlib.sha256(f"{window.column} {window.time_unit}".encode())
    digest.update(np.ascontiguousarray(window.times).tobytes())
    digest.update(np.ascontiguousarray(window.values).tobytes())
    return f"sha256:{digest.hexdigest()[:32]}"
