"""Quantities that are not one number: point, interval, normal, histogram, and families with a formula."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_representations"]


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the bundled representations."""
    register(
        "point",
        "perf_stochastic.point:Point",
        options="perfcore.hooks.options:NoOptions",
        help="one number",
        default_for=("number",),
    )
    register(
        "normal",
        "perf_stochastic.normal:Normal",
        options="perfcore.hooks.options:NoOptions",
        help="mean and standard deviation",
        default_for=("moments",),
    )
    register(
        "histogram",
        "perf_stochastic.histogram:Histogram",
        options="perf_stochastic.options:HistogramOptions",
        help="bins with probabilities, and exact arithmetic",
        default_for=("samples", "distributions"),
    )
    register(
        "interval",
        "perf_stochastic.interval:Interval",
        options="perf_stochastic.options:IntervalOptions",
        help="bounds, and nothing about what lies between",
        default_for=("bounds",),
    )
    register(
        "lognormal",
        "perf_stochastic.families:Lognormal",
        options="perfcore.hooks.options:NoOptions",
        help="positive, with a long tail: mean and standard deviation of the logarithm",
    )
    register(
        "gamma",
        "perf_stochastic.families:Gamma",
        options="perfcore.hooks.options:NoOptions",
        help="sums of waiting times: mean and standard deviation",
    )
    register(
        "exponential",
        "perf_stochastic.families:Exponential",
        options="perfcore.hooks.options:NoOptions",
        help="a least value and a delay without memory",
    )
    register(
        "empirical",
        "perf_stochastic.empirical:Empirical",
        options="perfcore.hooks.options:NoOptions",
        help="the quantiles of samples, and a generalized Pareto tail",
    )
