"""Forecasts of a series in the manner of the Network Weather Service."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitter of series."""
    register(
        "forecast",
        "perf_forecast.model:ForecastFitter",
        options="perf_forecast.options:ForecastOptions",
        help="the next values of a series",
        default_for=("series",),
    )


@hookimpl
def register_models(register: Register) -> None:
    """Announce the forecasts of several series."""
    register("forecasts", "perf_forecast.model:SeriesForecasts", help="forecasts of several series of one quantity")
