"""Quantities that are not one number: point, interval, normal and histogram."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hookspecs import Register

__all__ = ["register_fitters", "register_representations"]


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the bundled representations."""
    register("point", "perf_stochastic.point:Point", help="one number")
    register("normal", "perf_stochastic.normal:Normal", help="mean and standard deviation")
    register("histogram", "perf_stochastic.histogram:Histogram", help="bins with probabilities, and exact arithmetic")
    register("interval", "perf_stochastic.interval:Interval", help="bounds, and nothing about what lies between")


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the bundled fitters of series."""
    register("forecast", "perf_stochastic.forecast_fitter:ForecastFitter", help="the next values of a series")
