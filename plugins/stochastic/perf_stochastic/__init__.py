"""Quantities that are not one number: point, interval, normal, histogram, and families with a formula."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

# Name, class, description, and the kinds of quantities that become it unless another is chosen.
_REPRESENTATIONS = (
    ("point", "interval:Point", "one number", "number"),
    ("normal", "normal:Normal", "mean and standard deviation", "moments"),
    ("histogram", "histogram:Histogram", "bins with probabilities, and exact arithmetic", "samples distributions"),
    ("interval", "interval:Interval", "bounds, and nothing about what lies between", "bounds"),
    ("lognormal", "families:Lognormal", "positive, with a long tail: mean and standard deviation of the logarithm", ""),
    ("gamma", "families:Gamma", "sums of waiting times: mean and standard deviation", ""),
    ("exponential", "families:Exponential", "a least value and a delay without memory", ""),
)


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the bundled representations."""
    for name, target, text, kinds in _REPRESENTATIONS:
        options = (
            "perf_stochastic.options:HistogramOptions" if name == "histogram" else "perfcore.hooks.options:NoOptions"
        )
        register(name, f"perf_stochastic.{target}", options=options, help=text, default_for=tuple(kinds.split()))
