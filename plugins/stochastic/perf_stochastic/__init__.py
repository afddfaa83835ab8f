"""Quantities that are not one number: point, interval, normal, histogram, and families with a formula."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the bundled representations."""
    none = "perfcore.hooks.options:NoOptions"
    for name, home, options, help_text, default_for in (
        ("point", "interval:Point", none, "one number", ("number",)),
        ("normal", "normal:Normal", none, "mean and standard deviation", ("moments",)),
        (
            "histogram",
            "histogram:Histogram",
            "perf_stochastic.options:HistogramOptions",
            "bins with probabilities, and exact arithmetic",
            ("samples", "distributions"),
        ),
        (
            "interval",
            "interval:Interval",
            "perf_stochastic.options:IntervalOptions",
            "bounds, and nothing about what lies between",
            ("bounds",),
        ),
        (
            "lognormal",
            "families:Lognormal",
            none,
            "positive, with a long tail: mean and standard deviation of the logarithm",
            (),
        ),
        ("gamma", "families:Gamma", none, "sums of waiting times: mean and standard deviation", ()),
        ("exponential", "families:Exponential", none, "a least value and a delay without memory", ()),
    ):
        register(name, f"perf_stochastic.{home}", options=options, help=help_text, default_for=default_for)
